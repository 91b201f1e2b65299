"""
Front controller: from a request's path to its sandbox, and to the API, the control plane, its pages, the media or the hosted page.

`PARTS` has a row for each part of the server, and each request goes through `respond`: one of Flask or in process by
`handle_request`, one of a socket by the socket's handler. The API takes every path that no other part takes, so that a client
with a wrong base path gets the documented error and an entry in the journal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Final, NamedTuple
from urllib.parse import quote

from mockserver.core.operations import dispatch
from mockserver.core.redaction import Redactor
from mockserver.server.control import access, page_paths
from mockserver.server.errors import STATUSES, ControlError
from mockserver.server.exchange import NO_TIMEOUT, ClientWait, Response, Step, Steps, api_steps, response_of
from mockserver.server.hosted_page import handler
from mockserver.server.hosting.closed import closed_message, unknown_message
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.hosting.log_lines import LogContext, command_line
from mockserver.wire import browsing, cross_origin, formats
from mockserver.wire.request import SANDBOXES, HttpRequest, parse_call
from mockserver.wire.response import HttpResponse, Waited, redactor, without_body

After = Callable[[], None]


class ServerPart(NamedTuple):
    """
    A part of the server.

    Attributes:
        serves: True for the requests of the part that no earlier row of `PARTS` serves.
        respond: returns the response to a request for a sandbox, or the steps of one that may wait.
        is_control: True if a token opens it.
        sends_early: True if a rule can send webhooks before its response.
    """

    serves: Callable[[HttpRequest], bool]
    respond: Callable[[SandboxHost, HostedSandbox, HttpRequest, ClientWait], Response | Steps]
    is_control: bool = False
    sends_early: bool = False


class RoutedRequest(NamedTuple):
    """
    A request with its place in the server.

    Attributes:
        request: below the prefix of its sandbox.
        hosted: the sandbox; None if it does not exist.
        part: responds to it.
        refusal: of the name that the request gives the server; None if it is one of the server's.
    """

    request: HttpRequest
    hosted: HostedSandbox | None
    part: ServerPart
    refusal: ControlError | None


def _call(host: SandboxHost, hosted: HostedSandbox, request: HttpRequest, client: ClientWait) -> Steps:
    """Return the response of the API, as a browser may get it; it gets a line in the log."""
    begun_us = host.monotonic_us()
    to = browsing.destination(request.headers)
    steps = api_steps(hosted.sandbox, request, host.response_options, client)
    request = request._replace(body=b"")  # a wait would hold it
    response = yield from steps
    if to:
        response = browsing.confined(response, to)
    hosted.log_call(request, begun_us, response)
    return response


def _routes() -> ModuleType:
    from mockserver.server.control import routes  # late: it is slow to import, and many clients call the API alone

    return routes


def _control(
    host: SandboxHost,
    hosted: HostedSandbox | None,
    request: HttpRequest,
    client: ClientWait = NO_TIMEOUT,
    *,
    is_page: bool = False,
) -> HttpResponse:
    """Return the response of the control plane, or a page of it for a browser."""
    if is_page:
        from mockserver.server.control.page_access import PageAccess  # late, as the commands that it runs
        from mockserver.server.dashboard import handler as dashboard  # late: it loads Jinja

        page = dashboard.respond(PageAccess(host, hosted, request))
        if page is not None:
            return page
    routes = _routes()
    begun_us = host.monotonic_us()
    response: HttpResponse = routes.handle_control_request(host, hosted, request)
    if host.log is not None and request.method not in ("GET", "HEAD"):
        context = hosted.log_context() if hosted is not None else LogContext(Redactor(host.tokens()))
        took, command = host.monotonic_us() - begun_us, routes.command_of(request)
        host.log.write(command_line, context, request, response, took, command)
    if request.method == "GET" and page_paths.is_shared(request.target):
        return response._replace(headers=(*response.headers, ("Vary", "Accept")))
    return response


def _media(host: SandboxHost, hosted: HostedSandbox, request: HttpRequest, client: ClientWait) -> HttpResponse:
    """Return the bytes of an uploaded file, without a key, with headers that keep a browser from running it."""
    media_id = request.target[len("/media/") :].partition("?")[0]
    with hosted.sandbox.lock:
        match = hosted.sandbox.find("media", media_id)
        hide, now = redactor(hosted.sandbox), hosted.sandbox.read_clock()
    date = ("Date", formats.http_date(now))
    if match is None:
        expected = "the id of a file that was uploaded to this sandbox"
        refusal = _refusal("MOCK_NOT_FOUND", f"media: got {hide.brief(media_id, 60)!r}; expected {expected}")
        return refusal._replace(headers=(*refusal.headers, date))
    media = match[1]
    headers = (
        ("Content-Type", media.mime_type),
        ("Content-Length", str(len(media.content))),
        ("Content-Disposition", f"inline; filename*=UTF-8''{quote(media.name, safe='')}"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; sandbox"),
        ("Cross-Origin-Resource-Policy", "cross-origin"),
        date,
    )
    return HttpResponse(200, headers, media.content)


def _visit(host: SandboxHost, hosted: HostedSandbox, request: HttpRequest, client: ClientWait) -> HttpResponse:
    """Return a page of the hosted flow; a visit is not an exchange of the journal, and yet moves a session."""
    if not handler.is_static_asset(request.target):
        with hosted.sandbox.lock:
            hosted.sandbox.journal.add_command("visit", {"call": parse_call(request)}, *hosted.sandbox.position())
    return handler.serve(hosted, request)


def _is_page(request: HttpRequest) -> bool:
    is_own = request.target.startswith("/_mock/") and page_paths.is_of_dashboard(request)
    return is_own or page_paths.is_redirected(request) or page_paths.is_icon_of_page(request)


DASHBOARD = ServerPart(_is_page, partial(_control, is_page=True), is_control=True)
CONTROL = ServerPart(lambda request: request.target.startswith("/_mock/"), _control, is_control=True)
MEDIA = ServerPart(lambda request: request.target.startswith("/media/") and request.method in ("GET", "HEAD"), _media)
PAGE = ServerPart(lambda request: request.target.startswith("/connect/"), _visit, sends_early=True)
API = ServerPart(lambda request: True, _call, sends_early=True)
PARTS: Final = (DASHBOARD, CONTROL, MEDIA, PAGE, API)


def respond(host: SandboxHost, routed: RoutedRequest, client: ClientWait) -> Steps:
    """
    Respond to a request: the one way through the server, from its sandbox and its part to what follows its response.

    It begins with the webhooks that an earlier call in process has made due: its caller has its response by now.

    Any step may block its thread, but for the first step of a call of the API, if the caller holds the sandbox's lock and
    nothing is to be sent.

    Args:
        host: the server's sandboxes.
        routed: the request, its sandbox and its part.
        client: how a wait of a rule is spent.
    """
    request, hosted, part, _ = routed
    if hosted is not None:
        hosted.dispatch_webhooks()
    is_head = request.method == "HEAD"
    origin = cross_origin.allowed_origin(request) if host.is_shared else None
    response: Response | None = cross_origin.preflight(request, origin) if origin is not None else None
    if response is None:
        answer = _answer(host, routed, client)
        del request, routed  # a wait would hold the body
        response = (yield from answer) if isinstance(answer, Generator) else answer
        if origin is not None:
            response = cross_origin.shared(response, origin)
        if is_head:
            response = without_body(response)
    if hosted is not None:
        yield from _follow(hosted, part)
    return response


def _follow(hosted: HostedSandbox, part: ServerPart) -> Generator[Step, Waited | None, None]:
    """Do what goes between a request and its response: send webhooks that a rule sends early, and notify who listens."""
    if hosted.listeners or not hosted.sandbox.outbox.is_idle:
        yield "may-block"
    if part.sends_early and not hosted.sandbox.outbox.is_idle:
        hosted.dispatch.send_early()
    hosted.notify_listeners()


def _answer(host: SandboxHost, routed: RoutedRequest, client: ClientWait) -> Response | Steps:
    """Return the response of the part that a request is for, or its steps; or the refusal of one that reaches no part."""
    request, hosted, part, refusal = routed
    if refusal is not None:
        return _refusal(refusal.code, refusal.message)
    if request.body_failure is not None and part is not API:
        return _refusal("MOCK_INTERNAL_ERROR", request.body_failure)
    if hosted is None:
        return _no_sandbox(host, request, part)
    hosted.usage.is_called = True
    return part.respond(host, hosted, request, client)


def handle_request(
    host: SandboxHost,
    request: HttpRequest,
    root: HostedSandbox | None = None,
    client: ClientWait = NO_TIMEOUT,
) -> tuple[Response, After]:
    """
    Return the response to a request, and what the caller runs once the response is sent.

    Args:
        host: the server's sandboxes.
        request: its target is the whole path.
        root: the sandbox at the root, by default the host's default one. If it has a port of its own, no prefix reaches
            another sandbox.
        client: how a wait of a rule is spent; not a client on a connection, whose server spends it.

    Returns:
        The response, and a function that sends the webhooks which the request has made due. A caller in process need not
        call it: the sandbox's next request does.
    """
    routed = route(host, request, root)
    response = response_of(respond(host, routed, client))
    return response, (lambda: None) if routed.hosted is None else routed.hosted.dispatch_webhooks


def route(
    host: SandboxHost, request: HttpRequest, root: HostedSandbox | None = None, *, is_of_connection: bool = False
) -> RoutedRequest:
    """
    Return the request with its sandbox, and the part of the server that it is for.

    Args:
        host: the server's sandboxes.
        request: its target is the whole path.
        root: as above.
        is_of_connection: refuse one that names a server on loopback by a foreign name. A page whose name was rebound to this
            machine calls the API with a key that is well known; a call in process has the name that its client likes. The
            control plane has the same check of its own.
    """
    hosted: HostedSandbox | None
    if root is not None and host.sandboxes.get(root.id) is not root:
        hosted, request = None, request._replace(target=f"{SANDBOXES}{root.id}{request.target}")
    elif request.target.startswith(SANDBOXES) and (root is None or root.own_origin is None):
        hosted, request = _strip_prefix(host, request)
    else:
        hosted = root or host.sandboxes.get(DEFAULT_ID)
        if root is not None and request.base_url == host.origin:  # for a client that has named no host
            request = request._replace(base_url=root.base_url)
    part = API if request.target.startswith("/v1/") else _part(request)
    is_checked = is_of_connection and not part.is_control
    return RoutedRequest(request, hosted, part, access.name_refusal(host, request) if is_checked else None)


def _part(request: HttpRequest) -> ServerPart:
    return next(part for part in PARTS if part.serves(request))


def may_read_body(host: SandboxHost, request: HttpRequest, root: HostedSandbox | None = None) -> bool:
    """
    Return False if the response to a request follows from its head: its name, sandbox, key or token is unknown.

    The arguments are as above; the request's own body is not looked at. Takes no lock.
    """
    below, hosted, part, refusal = route(host, request, root, is_of_connection=True)
    if refusal is not None:
        return False
    if part.is_control:
        return access.is_open_to(host, DEFAULT_ID if hosted is None else hosted.id, below)
    return hosted is not None and (part is not API or dispatch.may_read_body(hosted.sandbox, parse_call(below)))


def _below_prefix(request: HttpRequest) -> tuple[str, HttpRequest]:
    """Return the id in the prefix of a path, and the request below that prefix."""
    sandbox_id, slash, rest = request.target[len(SANDBOXES) :].partition("/")
    return sandbox_id, request._replace(target=slash + rest, base_url=request.base_url + SANDBOXES + sandbox_id)


def _strip_prefix(host: SandboxHost, request: HttpRequest) -> tuple[HostedSandbox | None, HttpRequest]:
    """Return the sandbox of the path's prefix with the request below that prefix; without one the request itself."""
    sandbox_id, below = _below_prefix(request)
    hosted = host.sandboxes.get(sandbox_id)
    if hosted is not None:
        return hosted, below
    if host.shard is None or sandbox_id != host.shard.name or not below.target.startswith("/_mock/"):
        return None, request
    # The control plane of this shard itself: links of its pages have its name.
    is_page = _part(below) is DASHBOARD
    return host.sandboxes.get(DEFAULT_ID), below if is_page else below._replace(base_url=request.base_url)


def _no_sandbox(host: SandboxHost, request: HttpRequest, part: ServerPart) -> HttpResponse:
    if not request.target.startswith(SANDBOXES):
        if part.is_control:
            return _control(host, None, request, is_page=part is DASHBOARD)
        host.note_call_without_prefix()
        return _refusal(
            "MOCK_NOT_FOUND",
            "this server has no default sandbox; create one with POST /_mock/sandboxes and use its baseUrl, "
            'with its path: urljoin(baseUrl, "/v1/...") drops that',
        )
    sandbox_id, below = _below_prefix(request)
    is_closed, shard = sandbox_id in host.closed, host.shard
    part = _part(below)
    has_restarted = not is_closed and shard is not None and shard.ended_before(sandbox_id)  # so has its token
    if part.is_control and not has_restarted and not access.is_open_to(host, sandbox_id, below):
        return _control(host, None, below, is_page=part is DASHBOARD)
    if is_closed:
        if not handler.is_static_asset(request.target):
            host.note_late_call(sandbox_id)
        ended = host.closed.get(sandbox_id)
        return _closed(closed_message(sandbox_id, ended), None if ended is None else ended.limit)
    if shard is not None and has_restarted:
        message = f"sandbox {sandbox_id!r} has ended with its process: shard {shard.number} was restarted; create another sandbox"
        return _closed(message, "restart")
    return _refusal("MOCK_NOT_FOUND", unknown_message(sandbox_id))


def _closed(message: str, limit: str | None) -> HttpResponse:
    """Return the refusal of a sandbox that has ended, with the limit that has ended it, if one has."""
    return _refusal("MOCK_SANDBOX_CLOSED", message, details={} if limit is None else {"limit": limit})


def _refusal(code: str, message: str, *, details: Mapping[str, str] = MappingProxyType({})) -> HttpResponse:
    """Return a refusal of the server itself."""
    status = STATUSES[code]
    body = json.dumps({"statusCode": status, "code": code, "message": message, **details}).encode()
    return HttpResponse(status, (("Content-Type", "application/json; charset=utf-8"), *browsing.OWN_TYPE), body)
