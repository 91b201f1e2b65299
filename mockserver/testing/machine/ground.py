"""The ground that the examples of a machine stand on: one sandbox, made once, and taken back after each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer


class Ground:
    """
    A sandbox and, where none was given, the server that it lives on. Closed by whoever made it.

    An example begins where `prepare` left the sandbox; what it does never happened once it is over.
    """

    def __init__(self, server: MockServer | None, **settings: Any) -> None:
        self._own = MockServer() if server is None else None
        self.sandbox: Sandbox = (server or self._own or MockServer()).sandbox(**settings)
        self.sandbox.taken_back = True
        self.settings: Mapping[str, Any] = settings

    @contextmanager
    def example(self) -> Iterator[Sandbox]:
        """The sandbox as it was prepared."""
        with self.sandbox.checkpoint():
            yield self.sandbox

    def close(self) -> None:
        """End the sandbox, and the server where it is its own."""
        self.sandbox.close()
        if self._own is not None:
            self._own.close()
