"""
Commands for a client that calls the API: a call as a client in the server's process makes it, and a file for an upload.

A client on a connection waits in real time for what a rule delays. The command `sendCall` moves the sandbox's clock instead,
and returns immediately what such a client gets in the end: a response, its truncated body, no response, or its own timeout.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from mockserver.contract.durations import parse_duration
from mockserver.contract.samples import sample_file
from mockserver.contract.text import brief
from mockserver.server.errors import ControlError
from mockserver.server.exchange import NO_TIMEOUT, VirtualWait, api_steps, response_of
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse, iter_chunks

if TYPE_CHECKING:
    from mockserver.server.control import answers


def send_call(hosted: HostedSandbox, args: Mapping[str, Any], base_url: str) -> answers.CallAnswer:
    """Call the API with the sandbox's clock as the client's, and return what the client gets."""
    headers = {name.lower(): value for name, value in args.get("headers", {}).items()}
    request = HttpRequest.create(args["method"], args["path"], headers, _body(args), base_url)
    begun_us = hosted.host.monotonic_us()
    response = response_of(api_steps(hosted.sandbox, request, hosted.host.response_options, _client(args)))
    hosted.log_call(request, begun_us, response)
    if not hosted.sandbox.outbox.is_idle:
        hosted.dispatch.send_early()
    if isinstance(response, NoResponse):
        return {"noResponse": response.reason}
    body, end = _received(response)
    return {
        "status": response.status,
        "headers": [list(header) for header in response.headers],
        "bodyBase64": base64.b64encode(body).decode("ascii"),
        "wholeBytes": len(response.body),
        "end": end,
    }


def read_sample(hosted: HostedSandbox, args: Mapping[str, Any]) -> HttpResponse:
    """Return the file of the media type that `type` names."""
    media_type = args.get("type", "")
    try:
        content = sample_file(media_type)
    except ValueError as refusal:
        raise ControlError("MOCK_BAD_QUERY", f"type: {refusal}") from None
    headers = (("Content-Type", media_type), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
    return HttpResponse(200, headers, content)


def _body(args: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(args.get("bodyBase64", ""), validate=True)
    except (binascii.Error, ValueError):
        raise ControlError(
            "MOCK_BAD_CALL", f"bodyBase64: got {brief(args['bodyBase64'], 80)!r}; expected base64"
        ) from None


def _client(args: Mapping[str, Any]) -> VirtualWait:
    if "timeout" not in args:
        return NO_TIMEOUT
    timeout = parse_duration(args["timeout"])
    if timeout is None:
        expected = "20m, 1h30m, 3500ms or seconds, not negative"
        raise ControlError("MOCK_BAD_DURATION", f"timeout: got {args['timeout']!r}; expected {expected}")
    return VirtualWait(timeout)


def _received(response: HttpResponse) -> tuple[bytes, Literal["whole", "cut", "timeout"]]:
    """Return the part of the body that the client receives, and how the body ends for it: whole, cut or by a timeout."""
    received = b""
    try:
        for piece in iter_chunks(response):
            received += piece
    except TimeoutError:
        return received, "timeout"
    return received, "whole" if len(received) == len(response.body) else "cut"
