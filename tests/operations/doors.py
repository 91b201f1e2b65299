"""The two ways in, called alike: in process, and byte by byte over a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.contract.errors import ERRORS
from tests.server.rawclient import RawClient

if TYPE_CHECKING:
    from mockserver import Sandbox

Headers = Sequence[tuple[str, str]]


class Got(NamedTuple):
    """An answer, whichever way it came; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Door = Callable[["Sandbox", str, str, Headers, bytes], Got]


def in_process(sandbox: Sandbox, method: str, path: str, headers: Headers, body: bytes) -> Got:
    """Headers of one name are joined with a comma, as HTTP has it."""
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name.lower()] = f"{joined[name.lower()]},{value}" if name.lower() in joined else value
    reply = sandbox.call(method, path, key="", body=body, headers=joined)
    return Got(reply.status, dict(reply.headers), reply.body)


def over_socket(sandbox: Sandbox, method: str, path: str, headers: Headers, body: bytes) -> Got:
    base = urlsplit(sandbox.base_url)
    assert base.port is not None
    with RawClient(base.port) as client:
        lines = [f"{method} {base.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        client.say(*lines, f"Content-Length: {len(body)}", body=body)
        answer = client.answer(method)
    return Got(answer.status, answer.headers, answer.body)


DOORS: dict[str, Door] = {"in process": in_process, "socket": over_socket}


def verdict(got: Got) -> tuple[int, str]:
    """The status and code of a refusal, which is the documented body and no page; the catalogue has the pair."""
    body = got.json()

    assert "application/json" == got.headers["content-type"].partition(";")[0]
    assert {"statusCode", "code", "message"} == set(body)
    assert (got.status, ERRORS[body["code"]].status) == (body["statusCode"], got.status)
    return got.status, body["code"]
