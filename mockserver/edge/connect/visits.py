"""A visit: one request to the hosted page, decided with the lock held and kept in the sandbox's `visits`."""

from __future__ import annotations

from mockserver.core import hosted
from mockserver.core.hosted import Found
from mockserver.core.sandbox import Sandbox
from mockserver.core.settle import settle
from mockserver.edge.connect.asking import Asked, is_our_form
from mockserver.edge.connect.scenes import ALLOWED, Scene, at_link, at_walk, gone, refused, sent_to, walk_path

_SIMULATE = "simulate-"


def meet(sandbox: Sandbox, asked: Asked) -> Scene:
    """What the request meets, after letting time pass up to now; it is a visit when this returns."""
    settle(sandbox, sandbox.read_clock())
    find = hosted.by_walk if asked.is_walk else hosted.by_link
    found = find(sandbox, asked.key)
    scene = _met(sandbox, asked, found)
    hosted.note(sandbox, found, asked.method, scene.step, asked.headers, scene.status)
    return scene


def _met(sandbox: Sandbox, asked: Asked, found: Found | None) -> Scene:
    if asked.method not in ALLOWED:
        return refused(405)
    if found is None or not (asked.is_walk or hosted.is_good(sandbox, found)):
        return gone()
    if asked.method == "POST":
        return _sent(sandbox, asked, found)
    return at_walk(sandbox, asked, found) if asked.is_walk else _opened(sandbox, asked, found)


def _opened(sandbox: Sandbox, asked: Asked, found: Found) -> Scene:
    """The good link, looked at; HEAD uses nothing up."""
    walk = hosted.opened(sandbox, found) if asked.method == "GET" else None
    return at_link(sandbox, asked, found) if walk is None else sent_to(walk_path(asked, walk), walk.step)


def _sent(sandbox: Sandbox, asked: Asked, found: Found) -> Scene:
    """A form of the link or the walk: refused, or the step that it answers, and on to what comes then."""
    form = asked.form
    if form is None:
        return refused(asked.wrong)
    if asked.foreign or not is_our_form(sandbox, asked):
        return refused(403)
    press, step = form.get("press", ""), form.get("step", "")
    if press not in ("continue", "back", "cancel", *(_SIMULATE + end for end in hosted.SIMULATED)):
        return refused(400)
    walk = found.walk if asked.is_walk and found.walk else hosted.begin(sandbox, found)
    problem = _pressed(sandbox, asked, found, press, step)
    now = Found(found.tenant, found.tenant.sessions[found.session.id], found.tenant.walks[found.session.id])
    if problem is not None:
        return at_walk(sandbox, asked, now, step=step, problem=problem, given=form)
    return sent_to(hosted.way_back(sandbox, now.session) or walk_path(asked, walk), step[:20])


def _pressed(sandbox: Sandbox, asked: Asked, found: Found, press: str, step: str) -> str | None:
    """Do what the button says; answers the field that is wrong, if one is."""
    tenant, session, _ = found
    if press == "continue":
        return hosted.take(sandbox, tenant, session, step, asked.form or {})
    if press == "back":
        hosted.go_back(sandbox, tenant, session, step)
    elif press == "cancel":
        hosted.cancel(sandbox, tenant, session)
    else:
        hosted.simulate(sandbox, tenant, session, press.removeprefix(_SIMULATE))
    return None
