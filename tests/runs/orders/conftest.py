"""The server whose clients are interleaved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mockserver import MockServer


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    server = MockServer()
    yield server
    server.close()
