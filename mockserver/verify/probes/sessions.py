"""Probes of connection sessions: created, read while pending, and left to lapse. The one-use link is never opened."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from mockserver.contract.limits import RETURN_URL_MAX_CHARS, SESSION_LIFETIME
from mockserver.contract.text import http_date
from mockserver.verify.context import Exchange, RunContext, succeeded

# The Date header has whole seconds, and the answer takes a moment.
_SLACK: Final = timedelta(seconds=10)
_UNKNOWN_CODES: Final = {"RESOURCE_NOT_FOUND": "resource-not-found", "ENTRYPOINT_NOT_FOUND": "entrypoint-not-found"}
_LONGEST: Final = "https://mockserver.example/".ljust(RETURN_URL_MAX_CHARS, "r")
_REFUSED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("session.no-extra", {"mockserverVerify": True}),
    ("session.no-extra", {"funnelStep": "funnel_step_mockserver_verify"}),
    ("session.funnel-pair", {"funnelStepId": ""}),
    ("session.funnel-pair", {"funnelStepId": "funnel_step_mockserver_verify", "funnelId": ""}),
    ("session.coexistence", {"coexistence": "yes"}),
    ("session.return-url", {"returnUrl": ""}),
    ("session.return-url", {"returnUrl": "http://mockserver.example/"}),
    ("session.return-url", {"returnUrl": "/mockserver-verify"}),
    ("session.return-url", {"returnUrl": "https://user:word@mockserver.example/"}),
    ("session.return-url", {"returnUrl": _LONGEST + "r"}),
)


def unknown(visit: RunContext) -> None:
    exchange = visit.call("readConnectionSession", f"connection_session_mockserver_verify_{visit.settings.tag}")
    visit.refused("session.read", exchange, *_UNKNOWN_CODES)
    options = [_UNKNOWN_CODES[exchange.code]] if exchange.code in _UNKNOWN_CODES else []
    visit.observe("session-unknown-code", options, exchange)


def create(visit: RunContext, body: dict[str, Any]) -> Exchange:
    """The creation, whatever it answers; a session that came of it is noted, and its link is kept out of every output."""
    exchange = visit.call("createConnectionSession", json=body)
    if exchange.succeeded and isinstance(exchange.json, dict):
        visit.sessions.append(str(exchange.json.get("sessionId")))
        visit.links.append(str(exchange.json.get("url", "")))
    return exchange


def pending(visit: RunContext) -> None:
    """A session as it is created and as it is read while nobody has used its link."""
    exchange = create(visit, {"coexistence": True, "returnUrl": _LONGEST})
    for clause in ("session.create", "session.coexistence", "session.return-url"):
        visit.judge(clause, exchange.status == 202, exchange, "202")
    session = succeeded(exchange)
    visit.judge("session.create", session["status"] == "pending", exchange, "the status pending")
    url, id = str(session["url"]), str(session["sessionId"])
    visit.judge("session.url", url.startswith("http") and id not in url, exchange, "a link that differs from sessionId")
    _expiry(visit, exchange, str(session["expiresAt"]))
    read = visit.call("readConnectionSession", id)
    shown = succeeded(read)
    fits = shown["sessionId"] == id and shown["status"] == "pending" and shown.get("entrypoint", "absent") is None
    visit.judge("session.read", fits, read, "the session, pending, its entrypoint null")
    visit.observe("session-read-fields", ["all" if "url" in shown or "expiresAt" in shown else "literal"], read)
    reason = shown.get("reason", "absent")
    visit.observe("reason-when-none", {None: ["null"], "absent": ["absent"]}.get(reason, []), read)


def _expiry(visit: RunContext, exchange: Exchange, expires_at: str) -> None:
    """Twenty minutes after creation by the service's own clock, which its Date header tells, in UTC with Z."""
    visit.judge("session.expires-at", expires_at.endswith("Z"), exchange, "expiresAt in UTC, with Z")
    created = http_date(exchange.headers.get("date", ""))
    try:
        lifetime = datetime.fromisoformat(expires_at) - created if created is not None else None
    except (ValueError, TypeError):
        return
    if lifetime is None:
        return
    near = abs(lifetime - SESSION_LIFETIME) <= _SLACK
    visit.judge("session.expires-at", near, exchange, f"expiresAt 20 minutes after {created:%H:%M:%S}, not {lifetime}")


def refused_bodies(visit: RunContext) -> None:
    for clause, body in _REFUSED:
        exchange = create(visit, body)
        holds = exchange.code == "VALIDATION_ERROR" and exchange.status == 400
        visit.judge(clause, holds, exchange, "VALIDATION_ERROR 400")


def funnels(visit: RunContext) -> None:
    """A funnel without its step, and a step that no funnel has."""
    alone = create(visit, {"funnelId": "funnel_mockserver_verify"})
    by_code = {"VALIDATION_ERROR": "validation-error", "INVALID_REQUEST": "invalid-request"}
    for clause in ("session.funnel-pair", "base.invalid-request"):
        visit.refused(clause, alone, *by_code)
    visit.observe("funnelId-alone", [by_code[alone.code]] if alone.code in by_code else [], alone)
    nowhere = create(visit, {"funnelStepId": f"funnel_step_mockserver_verify_{visit.settings.tag}"})
    option = "completion" if nowhere.succeeded else "creation" if nowhere.status in (400, 404, 422) else None
    visit.judge("session.funnel-checked-late", option is not None, nowhere, "202, or a refusal of the unknown step")
    visit.observe("funnel-checked-when", [option] if option else [], nowhere)


def nulls(visit: RunContext) -> None:
    exchange = create(visit, {"coexistence": None})
    option = "omit" if exchange.succeeded else "reject" if exchange.code == "VALIDATION_ERROR" else None
    visit.observe("null-for-optional", [option] if option else [], exchange)


def across_tenants(visit: RunContext) -> None:
    """Another tenant's key does not read a session."""
    for id in visit.sessions[:1]:
        exchange = visit.call("readConnectionSession", id, key="other")
        wanted = dict.fromkeys(_UNKNOWN_CODES, "not-found") | {"RESOURCE_ACCESS_DENIED": "access-denied"}
        for clause in ("base.tenant-scope", "auth.denied"):
            visit.refused(clause, exchange, *wanted)
        visit.observe("cross-tenant-code", [wanted[exchange.code]] if exchange.code in wanted else [], exchange)
