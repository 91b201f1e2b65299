"""Probes of connection sessions, which are created, read while pending, and left to expire; no probe opens their url."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from mockserver._json import JSON
from mockserver.contract.limits import RETURN_URL_MAX_CHARS, SESSION_LIFETIME
from mockserver.contract.text import http_date
from mockserver.verify.context import Exchange, RunContext, require_success

# The Date header has whole seconds, and the response takes a moment.
_SLACK: Final = timedelta(seconds=10)
_UNKNOWN_CODES: Final = {"RESOURCE_NOT_FOUND": "resource-not-found", "ENTRYPOINT_NOT_FOUND": "entrypoint-not-found"}
_LONGEST: Final = "https://mockserver.example/".ljust(RETURN_URL_MAX_CHARS, "r")
_REFUSED: Final[tuple[tuple[str, JSON], ...]] = (
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


def unknown(context: RunContext) -> None:
    exchange = context.call("readConnectionSession", f"connection_session_mockserver_verify_{context.settings.tag}")
    context.judge_refusal("session.read", exchange, *_UNKNOWN_CODES)
    options = [_UNKNOWN_CODES[exchange.code]] if exchange.code in _UNKNOWN_CODES else []
    context.observe("session-unknown-code", options, exchange)


def create(context: RunContext, body: JSON) -> Exchange:
    """Create a session and return the exchange, also of a refusal; record its id, and its url to redact it in any output."""
    exchange = context.call("createConnectionSession", json=body)
    if exchange.succeeded and isinstance(exchange.json, dict):
        context.sessions.append(str(exchange.json.get("sessionId")))
        context.session_urls.append(str(exchange.json.get("url", "")))
    return exchange


def pending(context: RunContext) -> None:
    """A session as the creation returns it, and as a read returns it before the link is used."""
    exchange = create(context, {"coexistence": True, "returnUrl": _LONGEST})
    for clause in ("session.create", "session.coexistence", "session.return-url"):
        context.judge(clause, exchange.status == 202, exchange, "202")
    session = require_success(exchange)
    context.judge("session.create", session["status"] == "pending", exchange, "the status pending")
    url, id = str(session["url"]), str(session["sessionId"])
    context.judge(
        "session.url", url.startswith("http") and id not in url, exchange, "a link that differs from sessionId"
    )
    _judge_expires_at(context, exchange, str(session["expiresAt"]))
    read = context.call("readConnectionSession", id)
    session_read = require_success(read)
    is_pending = session_read["sessionId"] == id and session_read["status"] == "pending"
    fits = is_pending and session_read.get("entrypoint", "absent") is None
    context.judge("session.read", fits, read, "the session, pending, its entrypoint null")
    context.observe(
        "session-read-fields", ["all" if "url" in session_read or "expiresAt" in session_read else "literal"], read
    )
    reason = session_read.get("reason", "absent")
    context.observe("reason-when-none", {None: ["null"], "absent": ["absent"]}.get(reason, []), read)


def _judge_expires_at(context: RunContext, exchange: Exchange, expires_at: str) -> None:
    """expiresAt is in UTC with Z, twenty minutes after the creation by the Date header of the service."""
    context.judge("session.expires-at", expires_at.endswith("Z"), exchange, "expiresAt in UTC, with Z")
    created = http_date(exchange.headers.get("date", ""))
    try:
        lifetime = datetime.fromisoformat(expires_at) - created if created is not None else None
    except (ValueError, TypeError):
        return
    if lifetime is None:
        return
    is_near = abs(lifetime - SESSION_LIFETIME) <= _SLACK
    context.judge(
        "session.expires-at", is_near, exchange, f"expiresAt 20 minutes after {created:%H:%M:%S}, not {lifetime}"
    )


def refused_bodies(context: RunContext) -> None:
    for clause, body in _REFUSED:
        exchange = create(context, body)
        holds = exchange.code == "VALIDATION_ERROR" and exchange.status == 400
        context.judge(clause, holds, exchange, "VALIDATION_ERROR 400")


def funnels(context: RunContext) -> None:
    """A funnel without its step, and a step that no funnel has."""
    alone = create(context, {"funnelId": "funnel_mockserver_verify"})
    by_code = {"VALIDATION_ERROR": "validation-error", "INVALID_REQUEST": "invalid-request"}
    for clause in ("session.funnel-pair", "base.invalid-request"):
        context.judge_refusal(clause, alone, *by_code)
    context.observe("funnelId-alone", [by_code[alone.code]] if alone.code in by_code else [], alone)
    unknown_step = create(context, {"funnelStepId": f"funnel_step_mockserver_verify_{context.settings.tag}"})
    option = "completion" if unknown_step.succeeded else "creation" if unknown_step.status in (400, 404, 422) else None
    context.judge(
        "session.funnel-checked-late", option is not None, unknown_step, "202, or a refusal of the unknown step"
    )
    context.observe("funnel-checked-when", [option] if option else [], unknown_step)


def nulls(context: RunContext) -> None:
    exchange = create(context, {"coexistence": None})
    option = "omit" if exchange.succeeded else "reject" if exchange.code == "VALIDATION_ERROR" else None
    context.observe("null-for-optional", [option] if option else [], exchange)


def across_tenants(context: RunContext) -> None:
    """Another tenant's key does not read a session."""
    for id in context.sessions[:1]:
        exchange = context.call("readConnectionSession", id, key="other")
        expected = dict.fromkeys(_UNKNOWN_CODES, "not-found") | {"RESOURCE_ACCESS_DENIED": "access-denied"}
        for clause in ("base.tenant-scope", "auth.denied"):
            context.judge_refusal(clause, exchange, *expected)
        context.observe("cross-tenant-code", [expected[exchange.code]] if exchange.code in expected else [], exchange)
