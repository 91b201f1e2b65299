"""
Handler of the hosted page behind a session's url.

A visit: one request to the hosted page, decided with the lock held and kept in the sandbox's `visits`.

The hosted page behind a session's url: `serve` answers every request below `{base}/connect/`.

1. `/connect/{token}` is the one-use link; `/connect/walk/{secret}` is the walk that goes on from it.
2. What a request decides is decided in `core.hosted` with the lock held; the page is drawn once the lock is free again.
3. A request here is a visit, never an exchange of the public API.
4. A link that is used up, expired or unknown gives the same page, byte for byte: a stranger learns nothing from it.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from mockserver.core.operations import hosted_flow
from mockserver.core.operations.hosted_flow import FlowTarget
from mockserver.core.scheduler import run_until
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api import formats
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import HttpResponse
from mockserver.server.hosted_page import pages
from mockserver.server.hosted_page.pages import (
    ALLOWED,
    PageView,
    error_page,
    flow_page,
    gone_page,
    link_page,
    redirect,
    walk_path,
)
from mockserver.server.hosted_page.request import PageRequest, has_valid_form_token, read
from mockserver.server.hosting.host import HostedSandbox

_SIMULATE = "simulate-"


def handle_visit(sandbox: SandboxState, asked: PageRequest) -> PageView:
    """What the request meets, after letting time pass up to now; it is a visit when this returns."""
    run_until(sandbox, sandbox.read_clock())
    find = hosted_flow.find_by_flow if asked.is_walk else hosted_flow.find_by_link
    found = find(sandbox, asked.key)
    scene = _met(sandbox, asked, found)
    hosted_flow.record_visit(sandbox, found, asked.method, scene.step, asked.headers, scene.status)
    return scene


def _met(sandbox: SandboxState, asked: PageRequest, found: FlowTarget | None) -> PageView:
    if asked.method not in ALLOWED:
        return error_page(405)
    if found is None or not (asked.is_walk or hosted_flow.is_link_valid(sandbox, found)):
        return gone_page()
    if asked.method == "POST":
        return _sent(sandbox, asked, found)
    return flow_page(sandbox, asked, found) if asked.is_walk else _opened(sandbox, asked, found)


def _opened(sandbox: SandboxState, asked: PageRequest, found: FlowTarget) -> PageView:
    """The good link, looked at; HEAD uses nothing up."""
    walk = hosted_flow.open_link(sandbox, found) if asked.method == "GET" else None
    return link_page(sandbox, asked, found) if walk is None else redirect(walk_path(asked, walk), walk.step)


def _sent(sandbox: SandboxState, asked: PageRequest, found: FlowTarget) -> PageView:
    """A form of the link or the walk: refused, or the step that it answers, and on to what comes then."""
    form = asked.form
    if form is None:
        return error_page(asked.wrong)
    if asked.foreign or not has_valid_form_token(sandbox, asked):
        return error_page(403)
    press, step = form.get("press", ""), form.get("step", "")
    if press not in ("continue", "back", "cancel", *(_SIMULATE + end for end in hosted_flow.SIMULATED)):
        return error_page(400)
    walk = found.walk if asked.is_walk and found.walk else hosted_flow.start_flow(sandbox, found)
    problem = _apply_button(sandbox, asked, found, press, step)
    now = FlowTarget(found.tenant, found.tenant.sessions[found.session.id], found.tenant.hosted_flows[found.session.id])
    if problem is not None:
        return flow_page(sandbox, asked, now, step=step, problem=problem, given=form)
    return redirect(hosted_flow.return_redirect(sandbox, now.session) or walk_path(asked, walk), step[:20])


def _apply_button(sandbox: SandboxState, asked: PageRequest, found: FlowTarget, press: str, step: str) -> str | None:
    """Do what the button says; answers the field that is wrong, if one is."""
    tenant, session, _ = found
    if press == "continue":
        return hosted_flow.submit_step(sandbox, tenant, session, step, asked.form or {})
    if press == "back":
        hosted_flow.go_back(sandbox, tenant, session, step)
    elif press == "cancel":
        hosted_flow.cancel(sandbox, tenant, session)
    else:
        hosted_flow.simulate(sandbox, tenant, session, press.removeprefix(_SIMULATE))
    return None


__all__ = ["is_static_asset", "serve"]

_LOG = logging.getLogger("mockserver")
_STATIC = Path(__file__).parent / "static"
_FILES = {"/connect/style.css": "text/css; charset=utf-8", "/connect/icon.svg": "image/svg+xml"}


def is_static_asset(target: str) -> bool:
    """True for what a browser fetches by itself to draw a page; nobody visits that."""
    return target.partition("?")[0].endswith(tuple(_FILES))


def serve(hosted: HostedSandbox, wire: HttpRequest) -> HttpResponse:
    """The answer to one request to the hosted page, after letting time pass up to now."""
    path = wire.target.partition("?")[0]
    if path in _FILES:
        return _file(hosted, wire.method, path)
    asked = read(wire)
    try:
        with hosted.sandbox.lock:
            scene = handle_visit(hosted.sandbox, asked)
            date = pages.date(hosted.sandbox)
        answer = pages.render_page(scene, asked.prefix, date)
    except Exception:  # noqa: BLE001 - a bug of the mock is told as one, on a page
        _LOG.exception("unexpected failure in the hosted page")
        answer = pages.render_page(error_page(500), asked.prefix, pages.date(hosted.sandbox))
    return _without_body(answer) if asked.method == "HEAD" else answer


def _file(hosted: HostedSandbox, method: str, path: str) -> HttpResponse:
    """The stylesheet or the icon: they are the same for everyone, and can be kept."""
    with hosted.sandbox.lock:
        date = ("Date", formats.http_date(hosted.sandbox.read_clock()))
    if method not in ("GET", "HEAD"):
        return HttpResponse(
            405, (("Allow", "GET, HEAD"), ("Content-Type", "text/plain"), date, *pages.SECURITY_HEADERS), b""
        )
    kept = (("Cache-Control", "max-age=300"), ("X-Content-Type-Options", "nosniff"))
    answer = HttpResponse(200, (("Content-Type", _FILES[path]), date, *kept), _read(path.rpartition("/")[2]))
    return _without_body(answer) if method == "HEAD" else answer


@cache
def _read(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


def _without_body(answer: HttpResponse) -> HttpResponse:
    """What HEAD gets: the headers that GET would have."""
    return HttpResponse(answer.status, (*answer.headers, ("Content-Length", str(len(answer.body)))), b"")
