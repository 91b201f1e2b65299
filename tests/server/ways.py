"""The ways to ask the mock: in process, over a socket and by Flask, each with a host of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from mockserver.server.app import build
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from tests.server import hosts
from tests.server.hostile import Request, send
from tests.server.rawclient import RawClient

CONFIG = SandboxConfig(scenario="demo", seed=3, clock={"freeze": "2026-03-01T12:00:00Z"})
_DATE = "Sun, 01 Mar 2026 12:00:00 GMT"  # of a sandbox; the socket dates by its own clock what has none
_POLLED = re.compile(rb"<p>A client has polled for [^<]*</p>")
_OF_THE_CONNECTION = {"connection", "content-length", "keep-alive", "server"}


class Answer(NamedTuple):
    """An answer without what a connection adds, and without what a dashboard shows of real time."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Way(NamedTuple):
    """A host, and a way to ask it; `port` is that of the socket."""

    host: SandboxHost
    send: Callable[[Request], tuple[int, Mapping[str, str], bytes]]
    port: int | None = None

    def ask(self, request: Request) -> Answer:
        status, headers, body = self.send(request)
        own = {name: value for name, value in headers.items() if name not in _OF_THE_CONNECTION}
        if own.get("date") != _DATE:
            own.pop("date", None)
        return Answer(status, own, _POLLED.sub(b"", body))

    def played(self, sandbox_id: str, asked: list[Request]) -> tuple[list[Answer], list[Any]]:
        """The answers to requests of a fresh sandbox, and the calls that are recorded there."""
        hosted = self.host.create(CONFIG, id=sandbox_id)
        key = {"Host": "localhost", "X-API-Key": hosted.tenant.secret_key}
        answers = [self.ask(request._replace(headers=key | dict(request.headers))) for request in asked]
        exchanges = hosted.sandbox.journal.exchanges
        recorded = [(each.call.method, each.call.path, each.operation, each.status) for each in exchanges]
        self.host.close(sandbox_id)
        return answers, recorded


def _send_in_process(host: SandboxHost, request: Request) -> tuple[int, Mapping[str, str], bytes]:
    headers = {name.lower(): value for name, value in request.headers.items()}
    response = hosts.send(host, request.method, request.target, request.body, **headers)
    return response.status, {name.lower(): value for name, value in response.headers}, response.body


def _send_over_socket(port: int, request: Request) -> tuple[int, Mapping[str, str], bytes]:
    with RawClient(port) as client:
        lines = [f"{request.method} {request.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        head = "\r\n".join([*lines, f"Content-Length: {len(request.body)}", "", ""])
        client.socket.sendall(head.encode("latin-1") + request.body)
        answer = client.answer(request.method)
    return answer.status, answer.headers, answer.body


def _host() -> SandboxHost:
    host = SandboxHost()
    host.create(CONFIG, id=DEFAULT_ID)
    return host


@contextmanager
def open_ways() -> Iterator[Mapping[str, Way]]:
    """Yield the ways by name; the first host has a socket until then."""
    served, called, mounted = _host(), _host(), _host()
    with Server(SocketHandler(served), error_body=error_body) as server:
        yield {
            "in process": Way(called, partial(_send_in_process, called)),
            "socket": Way(served, partial(_send_over_socket, server.port), server.port),
            "Flask": Way(mounted, partial(send, build(mounted))),
        }
