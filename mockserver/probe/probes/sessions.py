"""Probes of connection sessions, which are created, read while pending, and left to expire; no probe opens their url."""

from __future__ import annotations

from typing import Final

from mockserver._json import JSON
from mockserver.contract.limits import RETURN_URL_MAX_CHARS
from mockserver.probe.context import RunContext, require_success
from mockserver.trace.exchange import Exchange

_LONGEST: Final = "https://mockserver.example/".ljust(RETURN_URL_MAX_CHARS, "r")
_REFUSED: Final[tuple[JSON, ...]] = (
    {"mockserverProbe": True},
    {"funnelStep": "funnel_step_mockserver_probe"},
    {"funnelStepId": ""},
    {"funnelStepId": "funnel_step_mockserver_probe", "funnelId": ""},
    {"coexistence": "yes"},
    {"returnUrl": ""},
    {"returnUrl": "http://mockserver.example/"},
    {"returnUrl": "/mockserver-probe"},
    {"returnUrl": "https://user:word@mockserver.example/"},
    {"returnUrl": _LONGEST + "r"},
)


def create(context: RunContext, body: JSON) -> Exchange:
    """Create a session and return the exchange, also of a refusal; note its id."""
    exchange: Exchange = context.create_connection_session(json=body)
    if exchange.succeeded and isinstance(exchange.response_json, dict):
        context.sessions.append(str(exchange.response_json.get("sessionId")))
    return exchange


def pending(context: RunContext) -> None:
    """A session as the creation returns it, and as a read returns it before the link is used."""
    session = require_success(create(context, {"coexistence": True, "returnUrl": _LONGEST}))
    context.read_connection_session(str(session["sessionId"]))


def refused_bodies(context: RunContext) -> None:
    for body in _REFUSED:
        create(context, body)


def funnels(context: RunContext) -> None:
    """A funnel without its step, and a step that no funnel has."""
    create(context, {"funnelId": "funnel_mockserver_probe"})
    create(context, {"funnelStepId": context.unknown_id("funnel_step")})


def across_tenants(context: RunContext) -> None:
    """Another tenant's key reads a session."""
    for id in context.sessions[:1]:
        context.read_connection_session(id, key="other")
