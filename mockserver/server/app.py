"""The Flask application: a thin shell that turns WSGI requests into the front door's, and its answers back."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import IncompleteRead
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from flask import Flask, Request, Response, request
from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge

from mockserver.server import front_controller
from mockserver.server.api.exchange import TRANSPORT_ERRORS, ClientWait, RealTimeWait, VirtualWait
from mockserver.server.api.request import HttpRequest, body_limit_bytes
from mockserver.server.api.response import HttpResponse, iter_chunks
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxConfig, SandboxHost
from mockserver.server.http1 import reason_phrases
from mockserver.server.http1.connection import RawSocket
from mockserver.server.http1.request import is_authority, origin_form

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_URLS: Final = frozenset({"location", "content-location"})


class _Request(Request):
    """Flask's request, whose bound on the body each call sets for its target; Flask 3.0 has it in its config alone."""

    max_content_length: int | None = None


class _Response(Response):
    """Flask's response with urls letter for letter; werkzeug would write them anew, and raises at some hosts."""

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        written = self.headers
        self.headers = Headers([pair for pair in written if pair[0].lower() not in _URLS])
        try:
            headers = super().get_wsgi_headers(environ)
        finally:
            self.headers = written
        headers.extend([pair for pair in written if pair[0].lower() in _URLS])
        return headers


def build(host: SandboxHost, root: HostedSandbox | None = None) -> Flask:
    """The application over a host's sandboxes; sandboxes are data behind it, so it is built once a process."""
    app = Flask("mockserver", static_folder=None)
    app.request_class = _Request
    app.config["PROPAGATE_EXCEPTIONS"] = True  # a broken answer without a socket of ours is an exception

    # Before routing has its say: every method and every path is the front door's.
    @app.before_request
    def serve() -> Response:
        # Flask's routing has found nothing, and its exception would hold this call in a cycle of frames.
        request.routing_exception = None
        raw: RawSocket | None = request.environ.get("mockserver.socket")
        door: ClientWait = RealTimeWait(raw) if raw is not None else VirtualWait()
        wire = read(request, host.origin)
        answer = front_controller.handle_request(host, wire, root, door)
        if answer.transmission is not None and answer.transmission.termination in ("drop", "reset", "timeout"):
            response = _broken(answer.transmission.termination, raw)
        else:
            response = _response(answer, raw)
        target = wire.target  # not the request itself, whose body may be large
        response.call_on_close(lambda: front_controller.after_response(host, target, root))
        return response

    return app


def create_app(scenario: str | None = None, *, seed: int = 0) -> Flask:
    """A WSGI application with a default sandbox of its own, for any WSGI server."""
    host = SandboxHost()
    host.create(SandboxConfig(scenario=scenario, seed=seed), id=DEFAULT_ID)
    return build(host)


def read(incoming: Request, origin: str) -> HttpRequest:
    """The request as the front door takes it; the body is read up to the bound of its target."""
    target = _raw_target(incoming)
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    host_header = headers.get("host", "")
    # A host that is none is in no url that an answer hands out; servers other than ours let it pass.
    named = bool(host_header) and is_authority(host_header)
    base = f"{incoming.scheme}://{host_header}{incoming.script_root}" if named else origin
    method = incoming.environ["REQUEST_METHOD"]  # as it came: werkzeug would make `get` a GET
    return HttpRequest(method, target, headers, _body(incoming, target), base)


def _raw_target(incoming: Request) -> str:
    """The path and query as they came, below where the application is mounted."""
    environ = incoming.environ
    raw: str = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    raw = raw if raw.startswith("/") else origin_form(raw)[1]
    mount = quote(environ.get("SCRIPT_NAME", ""), safe="/")
    if raw.startswith(mount + "/"):
        return raw[len(mount) :]
    query = environ.get("QUERY_STRING", "")
    path = quote(environ.get("PATH_INFO", "/").encode("latin-1"), safe="/:@!$&'()*+,;=~")
    return f"{path}?{query}" if query else path


def _body(incoming: Request, target: str) -> bytes | None:
    """The whole body, or None where it is larger than its target takes: then it is not read."""
    if incoming.environ.get("CONTENT_LENGTH") in (None, "", "0") and not incoming.environ.get("wsgi.input_terminated"):
        return b""
    inner = target if not target.startswith("/sandboxes/") else "/" + target.split("/", 3)[-1]
    incoming.max_content_length = body_limit_bytes(inner)
    try:
        return incoming.get_data(cache=False)
    except RequestEntityTooLarge:
        return None


def _broken(ends: str, raw: RawSocket | None) -> Response:
    """No answer at all: the connection ends or breaks; without a socket of ours, as the exception of that."""
    if raw is None:
        raise TRANSPORT_ERRORS[ends]()
    if ends == "reset":
        raw.reset()
    else:
        raw.close()
    return Response()


def _played(answer: HttpResponse, raw: RawSocket | None) -> Iterator[bytes]:
    """The body piece by piece; without a socket of ours one that breaks off is the exception of that."""
    sent = 0
    for piece in iter_chunks(answer):
        if piece is None:
            raise TRANSPORT_ERRORS["timeout"]()
        sent += len(piece)
        yield piece
    if sent < len(answer.body) and raw is None:
        raise IncompleteRead(b"", len(answer.body) - sent)


def _response(answer: HttpResponse, raw: RawSocket | None) -> Response:
    status = f"{answer.status} {reason_phrases.reason_phrase(answer.status)}"
    response = _Response(answer.body if answer.transmission is None else _played(answer, raw), status=status)
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name, value)
    if answer.status != 204 and "Content-Length" not in response.headers:
        response.headers["Content-Length"] = str(len(answer.body))
    if (
        answer.transmission is not None
        and answer.transmission.termination == "cut"
        and answer.transmission.truncate_bytes >= len(answer.body)
    ):
        response.headers["Connection"] = "close"  # a body that comes whole has to say so; a shorter one ends with it
    return response
