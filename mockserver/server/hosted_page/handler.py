"""
Handler of the hosted page behind a session's url: `serve` takes every request below `{base}/connect/`.

1. `/connect/{token}` is the one-use link; `/connect/walk/{secret}/{page}` is a page of the flow that follows it. A page
   that the flow does not have now leads to its current page.
2. `core/operations/hosted_flow.py` decides with the lock held; the page is rendered without it.
3. A form is answered with a redirect, so that reloading a page and going back to it send no form again; one with a wrong
   field with its page and the error.
4. A request is recorded in the sandbox's `visits`, and is not an exchange of the API.
5. A link that is used up, expired or unknown has the same page, byte for byte, which reveals nothing about the link.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Final

from mockserver.core.operations import hosted_flow
from mockserver.core.operations.hosted_flow import FlowTarget
from mockserver.core.scheduler import run_until
from mockserver.core.state.sandbox import SandboxState, Scope
from mockserver.server.hosted_page import pages
from mockserver.server.hosted_page.pages import (
    ALLOWED,
    PageView,
    error_page,
    flow_page,
    flow_path,
    gone_page,
    link_page,
    redirect,
)
from mockserver.server.hosted_page.request import PageRequest, has_valid_form_token, read
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire import formats
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse

_LOG = logging.getLogger("mockserver")
_SIMULATE = "simulate-"
_STATIC = Path(__file__).parent / "static"
# Content types of the static assets, by path.
STATIC_ASSETS: Final = {"/connect/style.css": "text/css; charset=utf-8", "/connect/icon.svg": "image/svg+xml"}


def is_static_asset(target: str) -> bool:
    """Return True for a static asset, which a browser requests by itself: that is not a visit."""
    return target.partition("?")[0].endswith(tuple(STATIC_ASSETS))


def serve(hosted: HostedSandbox, request: HttpRequest) -> HttpResponse:
    """Run the timers that are due, then one request to the hosted page, and return its response."""
    path = request.target.partition("?")[0]
    if path in STATIC_ASSETS:
        # The stylesheet and the icon are the same for all, and may be cached.
        with hosted.sandbox.lock:
            date = ("Date", formats.http_date(hosted.sandbox.read_clock()))
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(
                405, (("Allow", "GET, HEAD"), ("Content-Type", "text/plain"), date, *pages.SECURITY_HEADERS), b""
            )
        caching = (("Cache-Control", "max-age=300"), ("X-Content-Type-Options", "nosniff"))
        headers = (("Content-Type", STATIC_ASSETS[path]), date, *caching)
        return HttpResponse(200, headers, _read(path.rpartition("/")[2]))
    page_request = read(request)
    try:
        with hosted.sandbox.lock:
            view = handle_visit(hosted.sandbox, page_request)
            date = pages.date(hosted.sandbox)
        return pages.render_page(view, page_request.prefix, date)
    except Exception:  # noqa: BLE001 - a bug of the mock has its own page
        _LOG.exception("unexpected failure in the hosted page")
        return pages.render_page(error_page(500), page_request.prefix, pages.date(hosted.sandbox))


def handle_visit(sandbox: SandboxState, page_request: PageRequest) -> PageView:
    """Run the timers that are due, then the request; record it as a visit and return its page. Lock: the caller holds it."""
    run_until(sandbox, sandbox.read_clock())
    find = hosted_flow.find_by_flow if page_request.is_flow else hosted_flow.find_by_link
    target = find(sandbox, page_request.key)
    view = _page(sandbox, page_request, target)
    hosted_flow.record_visit(sandbox, target, page_request.method, view.step, page_request.headers, view.status)
    return view


def _page(sandbox: SandboxState, page_request: PageRequest, target: FlowTarget | None) -> PageView:
    if page_request.method not in ALLOWED:
        return error_page(405)
    if target is None or not (page_request.is_flow or hosted_flow.is_link_valid(sandbox, target)):
        return gone_page()
    if page_request.method == "POST":
        return _submit_form(sandbox, page_request, target)
    return (_show_page if page_request.is_flow else _open_link)(sandbox, page_request, target)


def _show_page(sandbox: SandboxState, page_request: PageRequest, target: FlowTarget) -> PageView:
    """Show the page in the url, or redirect to the current page if the flow does not have that one now."""
    assert target.flow is not None
    page = hosted_flow.shown_page(sandbox, target.session, target.flow, page_request.page)
    if page != page_request.page:
        return redirect(flow_path(page_request, target.flow, page), page)
    return flow_page(sandbox, page_request, target, page)


def _open_link(sandbox: SandboxState, page_request: PageRequest, target: FlowTarget) -> PageView:
    """Open a valid link; HEAD does not use it up."""
    flow = hosted_flow.open_link(sandbox, target) if page_request.method == "GET" else None
    if flow is None:
        return link_page(sandbox, page_request, target)
    return redirect(flow_path(page_request, flow, flow.step), flow.step)


def _submit_form(sandbox: SandboxState, page_request: PageRequest, target: FlowTarget) -> PageView:
    """Refuse a form of the link or the flow, or apply it: redirect to the next page, or show the error of a field."""
    form = page_request.form
    if form is None:
        return error_page(page_request.error_status)
    if page_request.is_foreign or not has_valid_form_token(sandbox, page_request):
        return error_page(403)
    button, step = form.get("press", ""), form.get("step", "")
    simulated = hosted_flow.SIMULATED if sandbox.choices["simulate-panel"] == "shown" else ()
    if button not in ("continue", "back", "cancel", *(_SIMULATE + end for end in simulated)):
        return error_page(400)
    if not page_request.is_flow:
        hosted_flow.start_flow(sandbox, target)
    wrong_field = _apply_button(sandbox, page_request, target, button, step)
    session, flow = target.tenant.sessions[target.session.id], target.tenant.hosted_flows[target.session.id]
    if wrong_field is not None:
        return flow_page(sandbox, page_request, FlowTarget(target.tenant, session, flow), step, form, wrong_field)
    path = flow_path(page_request, flow, hosted_flow.current_page(sandbox, session, flow))
    return redirect(hosted_flow.return_redirect(sandbox, session) or path, step[:20])


def _apply_button(
    sandbox: SandboxState, page_request: PageRequest, target: FlowTarget, button: str, step: str
) -> str | None:
    """Run the action of the button; return the field that is wrong, if one is."""
    session = target.session
    cause = {"continue": step, "cancel": "cancel"}.get(button, "simulate")
    scope = Scope(sandbox, target.tenant, {"page": cause})
    if button == "continue":
        return hosted_flow.submit_step(scope, session, step, page_request.form or {})
    if button == "back":
        hosted_flow.go_back(scope, session, step)
    elif button == "cancel":
        hosted_flow.cancel(scope, session)
    else:
        hosted_flow.simulate(scope, session, button.removeprefix(_SIMULATE))
    return None


@cache
def _read(name: str) -> bytes:
    return (_STATIC / name).read_bytes()
