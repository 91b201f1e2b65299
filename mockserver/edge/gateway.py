"""
The gateway: `serve` takes a request to the public API and gives its answer. It is the whole of `/v1`.

The Flask view and the in-process transports are shells around it, so the two ways in cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from mockserver.contract.limits import FORM_BODY_MAX_BYTES, JSON_BODY_MAX_BYTES, UPLOAD_MAX_BYTES
from mockserver.core.calls import Call
from mockserver.core.sandbox import Sandbox
from mockserver.core.settle import settle
from mockserver.edge import exchanging, multipart, routing
from mockserver.edge.doors import PATIENT, Door
from mockserver.edge.replies import Answer, Manner


class Wire(NamedTuple):
    """
    A request as it came: the raw target after the sandbox's prefix, headers with lower-case names, the whole body.

    `body` is None where it was larger than `body_limit` of its target and was not read.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    base_url: str

    def __repr__(self) -> str:  # headers, target and body may hold a key
        return f"Wire(method={self.method!r}, base_url={self.base_url!r})"


def body_limit_bytes(target: str) -> int:
    """How large a body of this target may be."""
    if target.startswith("/connect/"):
        return FORM_BODY_MAX_BYTES
    return UPLOAD_MAX_BYTES if target.startswith("/v1/messaging/media") else JSON_BODY_MAX_BYTES


def serve(
    sandbox: Sandbox,
    wire: Wire,
    manner: Manner = Manner(),  # noqa: B008 - an immutable default
    door: Door = PATIENT,
) -> Answer:
    """
    The answer to one request, after letting time pass up to now; the exchange is in the journal when this returns.

    Whatever comes, the answer is the documented one or the documented error, unless a script bends it; an unexpected
    failure is INTERNAL_ERROR. `door` is how a scripted wait is spent.
    """
    call = read_call(wire)
    if sandbox.script.rules and call.endpoint is not None:
        answer = exchanging.under_script(sandbox, call, manner, door)
    else:
        with sandbox.lock:
            settle(sandbox, sandbox.read_clock())
            answer = exchanging.exchange(sandbox, call, manner)
    if call.method != "HEAD" or not answer.status:
        return answer
    length = ("Content-Length", str(len(answer.body)))  # as GET would have it
    return answer._replace(headers=(*answer.headers, length), body=b"")


def read_call(wire: Wire) -> Call:
    """The request as the core takes it; nothing of it is believed yet."""
    path, _, query = wire.target.partition("?")
    found = routing.route(wire.method, path)
    content_type = wire.headers.get("content-type", "")
    return Call(
        wire.method,
        path,
        found.endpoint,
        found.allow,
        found.params,
        _pairs(query) if query else (),
        wire.headers,
        wire.body,
        multipart.reader(content_type, wire.body or b""),
        wire.base_url,
    )


def _pairs(query: str) -> Sequence[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="replace", max_num_fields=200)
    except ValueError:  # more pairs than any operation could want: none of them counts
        return ()
