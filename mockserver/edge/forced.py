"""Forced moves: the commands that end a session or a campaign by hand, through the lifecycle table like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.nearest import nearest_hint
from mockserver.core import campaigns, entrypoints, phones, sessions
from mockserver.core.tenant import Tenant
from mockserver.core.transitions import Kind, can
from mockserver.edge import represent
from mockserver.edge.hosting import Hosted
from mockserver.edge.refusals import ControlError

JSON = dict[str, Any]
Arguments = Mapping[str, Any]


def _owned(hosted: Hosted, table: str, record_id: str) -> tuple[Tenant, Any]:
    for tenant in hosted.sandbox.tenants.values():
        record = getattr(tenant, table).get(record_id)
        if record is not None:
            return tenant, record
    known = [each for tenant in hosted.sandbox.tenants.values() for each in getattr(tenant, table)]
    raise ControlError(
        404, "MOCK_NOT_FOUND", f"no {table} record {record_id!r}; there is {', '.join(known[:5]) or 'none'}"
    )


def _refuse_illegal(kind: Kind, record: Any, trigger: str) -> None:
    if not can(kind, record, trigger):
        sources = " or ".join(LIFECYCLES[kind].sources(trigger))
        raise ControlError(
            409,
            "MOCK_ILLEGAL_MOVE",
            f"the {kind} {record.id} is {record.status}; only {sources} has the move '{trigger}'; nothing was changed",
        )


def _session(hosted: Hosted, tenant: Tenant, session_id: str) -> JSON:
    sandbox = hosted.sandbox
    view = represent.View(sandbox.choices, sandbox.seed, sandbox.now, hosted.base_url)
    return represent.channels.session_read(view, sessions.shown(tenant, tenant.sessions[session_id]))


def complete_session(hosted: Hosted, args: Arguments) -> JSON:
    """The end user finishes the flow, with this number or an unused one."""
    sandbox = hosted.sandbox
    tenant, session = _owned(hosted, "sessions", args["sessionId"])
    _refuse_illegal("session", session, "complete")
    given = args.get("phone")
    phone = phones.e164(given, tenant.country) if given is not None else entrypoints.unused_phone(sandbox)
    if phone is None:
        reason = f"phone: got {given!r}; expected {phones.expected(tenant.country)}"
        raise ControlError(400, "MOCK_BAD_PHONE", reason)
    sessions.complete(sandbox, tenant, session, phone, args.get("name") or tenant.name, {"forced": "complete"})
    return _session(hosted, tenant, session.id)


def fail_session(hosted: Hosted, args: Arguments) -> JSON:
    """The connection fails for a documented reason."""
    tenant, session = _owned(hosted, "sessions", args["sessionId"])
    if args["reason"] not in sessions.REASONS:
        hint = nearest_hint(args["reason"], sessions.REASONS)
        raise ControlError(
            400,
            "MOCK_BAD_REASON",
            f"reason came as {args['reason']!r}; wanted one of {', '.join(sessions.REASONS)}{hint}",
        )
    _refuse_illegal("session", session, "fail")
    sessions.fail(hosted.sandbox, tenant, session, args["reason"], {"forced": "fail"})
    return _session(hosted, tenant, session.id)


def cancel_session(hosted: Hosted, args: Arguments) -> JSON:
    """The end user cancels the flow on the hosted page."""
    tenant, session = _owned(hosted, "sessions", args["sessionId"])
    _refuse_illegal("session", session, "fail")
    sessions.cancel(hosted.sandbox, tenant, session, {"forced": "cancel"})
    return _session(hosted, tenant, session.id)


def expire_session(hosted: Hosted, args: Arguments) -> JSON:
    """The session expires now, also before its deadline."""
    tenant, session = _owned(hosted, "sessions", args["sessionId"])
    _refuse_illegal("session", session, "expire")
    sessions.expire(hosted.sandbox, tenant, session, {"forced": "expire"})
    return _session(hosted, tenant, session.id)


def fail_campaign(hosted: Hosted, args: Arguments) -> JSON:
    """A running campaign meets an unrecoverable error."""
    sandbox = hosted.sandbox
    tenant, campaign = _owned(hosted, "campaigns", args["id"])
    _refuse_illegal("campaign", campaign, "fail")
    campaigns.fail(sandbox, tenant, campaign, {"forced": "fail"})
    view = represent.View(sandbox.choices, sandbox.seed, sandbox.now, hosted.base_url)
    return represent.campaigns.campaign_detail(view, campaigns.detail(tenant, tenant.campaigns[campaign.id]))
