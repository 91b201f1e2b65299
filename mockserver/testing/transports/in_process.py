"""
In-process transports for requests and httpx: the same front door, no socket, public extension points only.

A call to any other host is an error, never a real call.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from http.client import IncompleteRead
from typing import Any, NamedTuple

from mockserver.core.instants import SECOND
from mockserver.server import front_controller
from mockserver.server.api.exchange import NO_TIMEOUT, TRANSPORT_ERRORS, VirtualWait
from mockserver.server.api.request import HttpRequest, body_limit_bytes
from mockserver.server.api.response import HttpResponse, iter_chunks
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox


class Response(NamedTuple):
    """The answer to `Sandbox.call`; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return jsonlib.loads(self.body)


def send_in_process(
    hosted: HostedSandbox,
    method: str,
    origin: str,
    target: str,
    headers: dict[str, str],
    body: bytes,
    patience: float | None = None,
) -> HttpResponse:
    """
    The front door's answer to a target under an origin, for a client that waits `patience` seconds for it (None: for ever).

    Refuses with ValueError an origin that is not the sandbox's host.
    """
    root = hosted if origin == hosted.own_origin else None
    if root is None and origin not in (hosted.host.origin, IN_PROCESS_ORIGIN):
        mine = hosted.own_origin or hosted.host.origin
        raise ValueError(f"{origin} is not this mock, which is {mine}: an in-process client reaches no other host")
    read = None if body and len(body) > body_limit_bytes(target.removeprefix(hosted.prefix)) else body
    door = NO_TIMEOUT if patience is None else VirtualWait(round(patience * SECOND))
    return front_controller.handle_request(hosted.host, HttpRequest(method, target, headers, read, origin), root, door)


def complete_body(answer: HttpResponse) -> bytes:
    """The body once it has come whole; the standard library's exception where it does not, or never comes."""
    play = answer.transmission
    if play is None:
        return answer.body
    if play.termination is not None and play.termination in TRANSPORT_ERRORS:
        raise TRANSPORT_ERRORS[play.termination]()
    body = b""
    for piece in iter_chunks(answer):
        if piece is None:
            raise TRANSPORT_ERRORS["timeout"]()
        body += piece
    if len(body) < len(answer.body):
        raise IncompleteRead(body, len(answer.body) - len(body))
    return body
