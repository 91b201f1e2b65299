"""
The front door: a path leads to a sandbox by its prefix, then to its API, its control plane, its media or its hosted page.

Flask and the in-process transports come in here alike. What is no other door's belongs to the API, so that a client
with a wrong base path meets the documented error and stands in the journal.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from mockserver.contract.text import printable
from mockserver.core.redaction import masked_excerpt
from mockserver.core.state.records import Media
from mockserver.server.api import formats, request
from mockserver.server.api.exchange import NO_TIMEOUT, ClientWait
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import HttpResponse, redactor
from mockserver.server.control import routes
from mockserver.server.hosted_page import handler
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost

_SANDBOXES = "/sandboxes/"


def handle_request(
    host: SandboxHost,
    wire: HttpRequest,
    root: HostedSandbox | None = None,
    door: ClientWait = NO_TIMEOUT,
) -> HttpResponse:
    """
    The answer to a request whose target is the whole path.

    `root` is the sandbox at the root, the default one where it is left out; where it has a port of its own, no prefix leads
    to another one. `door` is how a scripted wait is spent.
    """
    answer = _responded(host, wire, root, door)
    if wire.method != "HEAD" or not answer.body:
        return answer
    is_sized = any(name == "Content-Length" for name, _ in answer.headers)
    size = () if is_sized else (("Content-Length", str(len(answer.body))),)
    return answer._replace(headers=(*answer.headers, *size), body=b"")  # as GET would have it, refusals too


def _responded(host: SandboxHost, wire: HttpRequest, root: HostedSandbox | None, door: ClientWait) -> HttpResponse:
    if root is not None and host.sandboxes.get(root.id) is not root:
        return _no_sandbox(host, wire._replace(target=f"{_SANDBOXES}{root.id}{wire.target}"))
    hosted, wire = _resolve_sandbox(host, wire, root)
    if hosted is None:
        return _no_sandbox(host, wire)
    outbox = hosted.sandbox.outbox
    if (
        outbox.queues or outbox.unordered
    ):  # what an earlier call in process has made due: its caller has the answer by now
        hosted.dispatch_webhooks()
    is_api = wire.target.startswith("/v1/")
    answer = _handle_api(host, hosted, wire, door) if is_api else _route(host, hosted, wire, door)
    if hosted.listeners:
        hosted.notify_listeners()
    if host.on_exchange is not None:
        host.on_exchange(hosted)
    return answer


def _route(host: SandboxHost, hosted: HostedSandbox, wire: HttpRequest, door: ClientWait) -> HttpResponse:
    """The answer of the door that the path leads to."""
    if wire.target.startswith("/_mock/"):
        return routes.handle_control_request(host, hosted, wire)
    if wire.target.startswith("/media/") and wire.method in ("GET", "HEAD"):
        return _media(hosted, wire)
    if not wire.target.startswith("/connect/"):
        return _handle_api(host, hosted, wire, door)
    if not handler.is_static_asset(wire.target):
        with hosted.sandbox.lock:  # a page's visit is no exchange of the journal, and yet moves a session
            hosted.sandbox.journal.add_command("visit", {"call": request.parse_call(wire)}, *hosted.sandbox.position())
    answer = handler.serve(hosted, wire)
    hosted.dispatch.deliver_early()
    return answer


def _handle_api(host: SandboxHost, hosted: HostedSandbox, wire: HttpRequest, door: ClientWait) -> HttpResponse:
    answer = request.handle_api_request(hosted.sandbox, wire, host.response_options, door)
    outbox = hosted.sandbox.outbox  # as it is now: a reset may have come meanwhile
    if outbox.queues or outbox.unordered:
        hosted.dispatch.deliver_early()
    if host.log is not None:
        host.log(_access_log_line(hosted, wire, answer))
    return answer


def _resolve_sandbox(
    host: SandboxHost, wire: HttpRequest, root: HostedSandbox | None
) -> tuple[HostedSandbox | None, HttpRequest]:
    """The sandbox of the path's prefix, and the request as it looks from inside that prefix."""
    if not wire.target.startswith(_SANDBOXES) or (root is not None and root.own_origin is not None):
        return root or host.sandboxes.get(DEFAULT_ID), wire
    sandbox_id, slash, rest = wire.target[len(_SANDBOXES) :].partition("/")
    hosted = host.sandboxes.get(sandbox_id)
    if hosted is None:
        return None, wire
    return hosted, wire._replace(target=slash + rest, base_url=wire.base_url + _SANDBOXES + sandbox_id)


def after_response(host: SandboxHost, target: str, root: HostedSandbox | None = None) -> None:
    """The answer to a request of this target is out: see to what the request has made due."""
    hosted = _resolve_sandbox(host, HttpRequest("", target, {}, None, ""), root)[0]
    if hosted is not None:
        hosted.dispatch_webhooks()


def _no_sandbox(host: SandboxHost, wire: HttpRequest) -> HttpResponse:
    if not wire.target.startswith(_SANDBOXES):
        if wire.target.startswith("/_mock/"):
            return routes.handle_control_request(host, None, wire)
        host.note_call_without_prefix()
        return _refusal(
            404,
            "MOCK_NOT_FOUND",
            "this server has no default sandbox; make one with POST /_mock/sandboxes and use its baseUrl, "
            'with its path: urljoin(baseUrl, "/v1/...") drops that',
        )
    sandbox_id = wire.target[len(_SANDBOXES) :].partition("/")[0]
    named = masked_excerpt(sandbox_id, _secrets(host), 60)
    if host.is_closed(sandbox_id):
        if not handler.is_static_asset(wire.target):
            host.note_late_call(sandbox_id)
        return _refusal(
            410,
            "MOCK_SANDBOX_CLOSED",
            f"sandbox {named!r} is closed; this call came after its test had ended",
        )
    return _refusal(404, "MOCK_NOT_FOUND", f"no sandbox {named!r}; make one with POST /_mock/sandboxes")


def _secrets(host: SandboxHost) -> list[str]:
    """The keys and signing secrets of every open sandbox."""
    secrets: list[str] = []
    for hosted in list(host.sandboxes.values()):
        with hosted.sandbox.lock:
            secrets += hosted.sandbox.secrets()
    return secrets


def _refusal(status: int, code: str, message: str) -> HttpResponse:
    body = json.dumps({"statusCode": status, "code": code, "message": message}).encode()
    return HttpResponse(status, (("Content-Type", "application/json; charset=utf-8"),), body)


def _media(hosted: HostedSandbox, wire: HttpRequest) -> HttpResponse:
    """The bytes of an uploaded file, without a key, in a way that no browser runs or guesses at."""
    media_id = wire.target[len("/media/") :].partition("?")[0]
    with hosted.sandbox.lock:
        found = hosted.sandbox.find("media", media_id)
        hide, now = redactor(hosted.sandbox), hosted.sandbox.read_clock()
    date = ("Date", formats.http_date(now))
    if found is None:
        refused = _refusal(404, "MOCK_NOT_FOUND", f"no media {hide.brief(media_id, 60)!r} in this sandbox")
        return refused._replace(headers=(*refused.headers, date))
    media = found[1]
    return HttpResponse(200, (*_media_headers(media), date), b"" if wire.method == "HEAD" else media.content)


def _media_headers(media: Media) -> tuple[tuple[str, str], ...]:
    return (
        ("Content-Type", media.mime_type),
        ("Content-Length", str(len(media.content))),
        ("Content-Disposition", f"inline; filename*=UTF-8''{quote(media.name, safe='')}"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; sandbox"),
        ("Cross-Origin-Resource-Policy", "cross-origin"),
    )


def _access_log_line(hosted: HostedSandbox, wire: HttpRequest, answer: HttpResponse) -> str:
    """One readable line: when by the sandbox's clock, what was called, what came of it and, of a refusal, why."""
    told = {name: value for name, value in answer.headers if name == "X-Mock-Reason"}
    why = f"  {told['X-Mock-Reason']}" if told else ""
    with hosted.sandbox.lock:
        hide, now = redactor(hosted.sandbox), hosted.sandbox.now
    target, what = hide.text(wire.target), answer.status or (answer.transmission and answer.transmission.termination)
    time_of_day = formats.http_date(now)[17:25]
    return printable(f"{time_of_day} {what} {wire.method[:20]} {hosted.prefix}{target}{_code(answer)}{why}")


def _code(answer: HttpResponse) -> str:
    """The code of a refusal in the API's words, after a space; nothing where a script has said something else."""
    try:
        said = answer.json() if answer.status >= 400 and answer.body else {}
    except ValueError:
        return ""
    return f" {said['code']}" if isinstance(said, dict) and "code" in said else ""
