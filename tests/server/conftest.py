"""Fixtures of the tests that open a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import error_body
from tests.server.wsgi import WsgiHandler

Serve = Callable[..., Server]


@pytest.fixture(scope="session")
def mockserver_server() -> Iterator[MockServer]:
    """A server whose clocks start where a test puts them: what is tested here is the clock itself."""
    server = MockServer(strict=True)
    yield server
    server.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a WSGI app, or a handler, until the test is over."""
    with ExitStack() as servers:

        def serve(app: Any, **options: Any) -> Server:
            handler = app if hasattr(app, "respond") else WsgiHandler(app)
            return servers.enter_context(Server(handler, **{"error_body": error_body} | options))

        yield serve
