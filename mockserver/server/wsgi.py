"""
Messages of WSGI: Flask's requests to those of the front controller, and its responses to Flask's.

A response that a rule breaks is the exception that the standard library's HTTP client raises: WSGI has no connection that
could be ended or reset.
"""

from __future__ import annotations

from collections.abc import Iterator
from http.client import IncompleteRead
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from flask import Request, Response
from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge

from mockserver.server.http1 import reason_phrases
from mockserver.server.http1.request import is_authority, origin_form
from mockserver.wire.request import HttpRequest, body_limit_bytes, equal_target
from mockserver.wire.response import HttpResponse, NoResponse, iter_chunks

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_URLS: Final = frozenset({"location", "content-location"})


class WsgiRequest(Request):
    """Flask's request; each call sets the limit of its body, which Flask 3.0 has in its config only."""

    max_content_length: int | None = None


class _Response(Response):
    """Flask's response with its urls unchanged; werkzeug encodes them again, and raises for some hosts."""

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        all_headers = self.headers
        self.headers = Headers([pair for pair in all_headers if pair[0].lower() not in _URLS])
        try:
            headers = super().get_wsgi_headers(environ)
        finally:
            self.headers = all_headers
        headers.extend([pair for pair in all_headers if pair[0].lower() in _URLS])
        return headers


def read_request(incoming: Request, origin: str) -> HttpRequest:
    """
    Return the request; its body is read up to the limit of its target.

    Args:
        incoming: Flask's request.
        origin: the server's own address, for a request without a valid Host header.
    """
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    host_header = headers.get("host", "")
    # An invalid host is in no url that a response contains; WSGI servers other than ours let it pass.
    is_named = bool(host_header) and is_authority(host_header)
    base = f"{incoming.scheme}://{host_header}{incoming.script_root}" if is_named else origin
    method = incoming.environ["REQUEST_METHOD"]  # as received: werkzeug would make `get` a GET
    target = raw_target(incoming)
    body = _body(incoming, body_limit_bytes(equal_target(target)))
    return HttpRequest.create(method, target, headers, body, base)


def raw_target(incoming: Request) -> str:
    """Return the path and query, encoded as in `equal_target`, below the place where the application is mounted."""
    environ = incoming.environ
    raw: str = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    raw = equal_target(raw if raw.startswith("/") else origin_form(raw)[1])
    mount = quote(environ.get("SCRIPT_NAME", ""), safe="/")
    if raw.startswith(mount + "/"):
        return raw[len(mount) :]
    query = environ.get("QUERY_STRING", "")
    path = quote(environ.get("PATH_INFO", "/").encode("latin-1"), safe="/:@!$&'()*+,;=~")
    return f"{path}?{query}" if query else path


def _body(incoming: Request, limit_bytes: int) -> bytes | None:
    """Return the whole body, or None for a larger one, which is then not read."""
    if incoming.environ.get("CONTENT_LENGTH") in (None, "", "0") and not incoming.environ.get("wsgi.input_terminated"):
        return b""
    incoming.max_content_length = limit_bytes
    try:
        return incoming.get_data(cache=False)
    except RequestEntityTooLarge:
        return None


def _pieces(response: HttpResponse) -> Iterator[bytes]:
    """Yield the body piece by piece; raise IncompleteRead at a truncated one."""
    sent = 0
    for piece in iter_chunks(response):
        sent += len(piece)
        yield piece
    if sent < len(response.body):
        raise IncompleteRead(b"", len(response.body) - sent)


def flask_response(response: HttpResponse | NoResponse) -> Response:
    """Return Flask's response; raise the error of a client that gets none."""
    if isinstance(response, NoResponse):
        raise response.as_error()
    status = f"{response.status} {reason_phrases.reason_phrase(response.status)}"
    transmission = response.transmission
    outgoing = _Response(response.body if transmission is None else _pieces(response), status=status)
    outgoing.headers.clear()
    for name, value in response.headers:
        outgoing.headers.add(name, value)
    if response.status != 204 and "Content-Length" not in outgoing.headers:
        outgoing.headers["Content-Length"] = str(len(response.body))
    return outgoing
