"""Fixtures of the tests that open a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, NamedTuple

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import DEFAULTS
from mockserver.server.control import routes
from mockserver.server.errors import ControlError
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import error_body
from tests.documents import reading
from tests.documents.control_calls import undocumented
from tests.server.control_calls import NOON, Made, control, make
from tests.server.ways import Way, open_ways
from tests.server.wsgi import WsgiHandler

Serve = Callable[..., Server]
Handle = Callable[[Any, Any, Any], Any]


class CheckedControl(NamedTuple):
    """The handler of the control plane, and what in its answers was not in the document."""

    handle: Handle
    wrong: list[str]


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


@pytest.fixture(scope="module")
def ways() -> Iterator[Mapping[str, Way]]:
    """The ways to ask the mock, by name."""
    with open_ways() as made:
        yield made


@pytest.fixture
def recipe() -> JSON:
    """What `made` is created with, in addition to its clock; a module may have another one."""
    return {}


@pytest.fixture
def made(mockserver_server: MockServer, recipe: JSON) -> Iterator[Made]:
    """A sandbox made over HTTP, frozen at noon."""
    fresh = make(mockserver_server.url, clock={"freeze": NOON}, **recipe)
    yield fresh
    control(fresh.server, "DELETE", f"/sandboxes/{fresh.id}")


@pytest.fixture(scope="session")
def checked_control() -> CheckedControl:
    """One for all tests: the caches of the documents compare the handler that makes their examples."""
    reading.control()  # made now: its examples are answers of the control plane too
    handle: Handle = routes.handle_control_request
    wrong: list[str] = []

    def handle_and_check(host: Any, hosted: Any, request: Any) -> Any:
        response = handle(host, hosted, request)
        if hosted is None or dict(hosted.sandbox.choices) == dict(DEFAULTS):
            wrong.extend(_undocumented(request, response))
        return response

    return CheckedControl(handle_and_check, wrong)


@pytest.fixture(autouse=True)
def documented_answers(checked_control: CheckedControl, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold every answer of the control plane to its document; a sandbox with choices of its own shows records otherwise."""
    checked_control.wrong.clear()
    monkeypatch.setattr(routes, "handle_control_request", checked_control.handle)
    yield
    assert [] == checked_control.wrong


def _undocumented(request: Any, response: Any) -> list[str]:
    """Return what in an answer of JSON is not in the document; nothing for a path or a method that no command has."""
    try:
        row, _ = routes._match(request)
    except ControlError:
        return []
    media_type = dict(response.headers).get("Content-Type", "").partition(";")[0]
    if media_type == "application/yaml":
        return []  # it takes long to read, and a test of the documents does
    return list(_undocumented_body(row.id, response.status, media_type, response.body))


@lru_cache(maxsize=500)  # many answers are the same bytes, the documents of 300 kB among them
def _undocumented_body(command: str, status: int, media_type: str, content: bytes) -> tuple[str, ...]:
    is_text = media_type.startswith("text/")
    body = content.decode() if is_text else json.loads(content) if content else None
    return tuple(undocumented(command, status, media_type, body))
