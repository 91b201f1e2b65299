"""
Requests to a sandbox in this process, without a socket.

A request to any other host is an error, never a real request.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Awaitable, Callable, Mapping
from http.client import IncompleteRead
from typing import Any, NamedTuple, Protocol

from mockserver.core.instants import SECOND
from mockserver.server import front_controller
from mockserver.server.exchange import NO_TIMEOUT, VirtualWait
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.server.webhooks import event_loops
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse, iter_chunks

__tracebackhide__ = True  # pytest shows the frames of the client, whose library raises as over a socket


class Response(NamedTuple):
    """The response to `Sandbox.call`; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body's JSON value."""
        return jsonlib.loads(self.body)


class Send(Protocol):
    """Sends one request of a client library, given the origin and the target of its url; ValueError for another origin."""

    def __call__(
        self,
        method: str,
        origin: str,
        target: str,
        headers: dict[str, str],
        body: bytes,
        timeout_s: float | None = None,
    ) -> HttpResponse | NoResponse: ...


class ClientRoute(NamedTuple):
    """
    The way of a test's HTTP clients to a sandbox.

    Attributes:
        send: sends a request of theirs.
        base_url: of the sandbox.
        may_block: returns True if a request may wait for a receiver in this process.
        in_thread: runs a request that may block, for a client of asyncio, whose loop continues.
    """

    send: Send
    base_url: str
    may_block: Callable[[], bool]
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = event_loops.in_thread


def send_in_process(
    hosted: HostedSandbox,
    method: str,
    origin: str,
    target: str,
    headers: dict[str, str],
    body: bytes,
    timeout_s: float | None = None,
) -> HttpResponse | NoResponse:
    """
    Return the response to a request of a client library.

    Args:
        hosted: the sandbox that the client belongs to.
        method: as the client sends it.
        origin: scheme and authority of the request's url.
        target: raw path and query of the url, with the sandbox's prefix.
        headers: values by lower-case name.
        body: the whole body.
        timeout_s: the client's timeout in seconds; None if it has none.

    Raises:
        ValueError: the origin is not the sandbox's host.
        RuntimeError: this process is a fork of the sandbox's.
    """
    hosted.refuse_fork()
    root = hosted if origin == hosted.own_origin else None
    if root is None and origin not in (hosted.host.origin, IN_PROCESS_ORIGIN):
        own = hosted.own_origin or hosted.host.origin
        is_alike = origin.partition("://")[2] in (own.partition("://")[2], IN_PROCESS_ORIGIN.partition("://")[2])
        why = "the sandbox has no TLS" if is_alike else "an in-process client reaches no other host"
        raise ValueError(f"got {origin}; expected {own}: {why}")
    base_url = IN_PROCESS_ORIGIN if root is None else hosted.in_process_url
    request = HttpRequest.create(method, target, headers, body, base_url)
    client = NO_TIMEOUT if timeout_s is None else VirtualWait(round(timeout_s * SECOND))
    return front_controller.handle_request(hosted.host, request, root, client)[0]


def complete_body(answer: HttpResponse) -> bytes:
    """
    Return the whole body.

    Raises:
        IncompleteRead: the body is truncated.
        TimeoutError: the client gives up while the body is sent.
    """
    body = b"".join(iter_chunks(answer))
    if len(body) < len(answer.body):
        raise IncompleteRead(body, len(answer.body) - len(body))
    return body


def received(answer: HttpResponse | NoResponse) -> Response:
    """Return the response that a client gets; the standard library's exception if it breaks off, or if there is none."""
    if isinstance(answer, NoResponse):
        raise answer.as_error()
    body = complete_body(answer)
    return Response(answer.status, {name.lower(): value for name, value in answer.headers}, body)
