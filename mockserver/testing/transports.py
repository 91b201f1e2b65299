"""
In-process transports for requests and httpx: the same front door, no socket, public extension points only.

A call to any other host is an error, never a real call.
"""

from __future__ import annotations

import io
import json as jsonlib
from collections.abc import Mapping
from http.client import IncompleteRead
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.core.instants import SECOND
from mockserver.edge import front, loops
from mockserver.edge.doors import BROKEN, PATIENT, InProcess
from mockserver.edge.gateway import Wire, body_limit_bytes
from mockserver.edge.hosting import IN_PROCESS_ORIGIN, Hosted
from mockserver.edge.replies import Answer, pieces
from mockserver.edge.spelling import reason_phrase

if TYPE_CHECKING:
    import httpx
    import requests


class Reply(NamedTuple):
    """The answer to `Sandbox.call`; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return jsonlib.loads(self.body)


def ask(
    hosted: Hosted,
    method: str,
    origin: str,
    target: str,
    headers: dict[str, str],
    body: bytes,
    patience: float | None = None,
) -> Answer:
    """
    The front door's answer to a target under an origin, for a client that waits `patience` seconds for it (None: for ever).

    Refuses with ValueError an origin that is not the sandbox's host.
    """
    root = hosted if origin == hosted.own_origin else None
    if root is None and origin not in (hosted.host.origin, IN_PROCESS_ORIGIN):
        mine = hosted.own_origin or hosted.host.origin
        raise ValueError(f"{origin} is not this mock, which is {mine}: an in-process client reaches no other host")
    read = None if body and len(body) > body_limit_bytes(target.removeprefix(hosted.prefix)) else body
    door = PATIENT if patience is None else InProcess(round(patience * SECOND))
    return front.respond(hosted.host, Wire(method, target, headers, read, origin), root, door)


def whole(answer: Answer) -> bytes:
    """The body once it has come whole; the standard library's exception where it does not, or never comes."""
    play = answer.play
    if play is None:
        return answer.body
    if play.ends is not None and play.ends in BROKEN:
        raise BROKEN[play.ends]()
    body = b""
    for piece in pieces(answer):
        if piece is None:
            raise BROKEN["timeout"]()
        body += piece
    if len(body) < len(answer.body):
        raise IncompleteRead(body, len(answer.body) - len(body))
    return body


def requests_session(hosted: Hosted) -> requests.Session:
    """A requests session whose every http and https url is answered in process."""
    import requests
    from requests.adapters import BaseAdapter
    from requests.exceptions import ConnectionError as RequestsConnectionError

    from mockserver.testing.broken_requests import played, read_timeout_s

    class Adapter(BaseAdapter):
        def send(  # type: ignore[override]  # the stubs name each argument
            self, request: requests.PreparedRequest, stream: bool = False, timeout: Any = None, **kwargs: Any
        ) -> requests.Response:
            headers = {name.lower(): _text(value) for name, value in request.headers.items()}
            patience = read_timeout_s(timeout)
            url = urlsplit(request.url or "")
            origin, path = f"{url.scheme}://{url.netloc}", url.path or "/"
            target = f"{path}?{url.query}" if url.query else path
            try:
                answer = ask(hosted, request.method or "GET", origin, target, headers, _bytes(request.body), patience)
            except ValueError as refusal:
                raise RequestsConnectionError(str(refusal), request=request) from None
            return played(request, answer) if answer.play else _requests_response(request, answer)

        def close(self) -> None:
            """Nothing is held open."""

    session = requests.Session()
    session.trust_env = False
    for scheme in ("http://", "https://"):
        session.mount(scheme, Adapter())
    return session


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _bytes(body: Any) -> bytes:
    """A requests body, which may be absent, text, bytes, a file or a generator."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray) else b"".join(body)


def _requests_response(request: requests.PreparedRequest, answer: Answer) -> requests.Response:
    import requests
    from requests.structures import CaseInsensitiveDict
    from urllib3 import HTTPResponse

    response = requests.Response()
    response.status_code = answer.status
    response.reason = reason_phrase(answer.status)
    response.headers = CaseInsensitiveDict(answer.headers)
    response.url = request.url or ""
    response.request = request
    response.encoding = "utf-8"
    response.raw = HTTPResponse(
        body=io.BytesIO(answer.body), status=answer.status, headers=dict(answer.headers), preload_content=False
    )
    response._content = answer.body
    return response


def httpx_client(hosted: Hosted) -> httpx.Client:
    """An httpx client with the sandbox's base url, answered in process; it loads no TLS context."""
    import httpx

    class Transport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return _answered(hosted, request, request.read())

    return httpx.Client(transport=Transport(), base_url=hosted.base_url)


def httpx_async_client(hosted: Hosted) -> httpx.AsyncClient:
    """The same for asyncio. Where a receiver may be called on the way, the loop goes on meanwhile."""
    import httpx

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = await request.aread()
            has_webhooks = any(tenant.webhooks for tenant in hosted.sandbox.tenants.values())
            if not has_webhooks or loops.running() is None:  # nothing is sent on the way, or the loop is not asyncio's
                return _answered(hosted, request, body)
            return await loops.in_thread(lambda: _answered(hosted, request, body))

    return httpx.AsyncClient(transport=Transport(), base_url=hosted.base_url)


def _answered(hosted: Hosted, request: httpx.Request, body: bytes) -> httpx.Response:
    import httpx

    url = request.url  # its raw parts, since to write it out costs as much as the answer
    origin, target = f"{url.scheme}://{url.netloc.decode()}", url.raw_path.decode()
    patience = request.extensions.get("timeout", {}).get("read")
    try:
        answer = ask(hosted, request.method, origin, target, _headers(request), body, patience)
    except ValueError as refusal:
        raise httpx.ConnectError(str(refusal), request=request) from None
    if answer.play is not None:
        from mockserver.testing.broken_httpx import played

        return played(request, answer)
    phrase = {"reason_phrase": reason_phrase(answer.status).encode()}
    return httpx.Response(
        answer.status, headers=list(answer.headers), content=answer.body, request=request, extensions=phrase
    )


def _headers(request: httpx.Request) -> dict[str, str]:
    """Names in lower case; what came twice is joined, as the server joins it."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers.raw:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
