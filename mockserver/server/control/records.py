"""Commands that move a session or a campaign into a state, as the lifecycle table permits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver._json import JSON
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.text import closest_match_hint
from mockserver.core import phone_numbers
from mockserver.core.lifecycle import Kind, can_transition
from mockserver.core.operations import campaigns, connections
from mockserver.core.state.sandbox import Scope
from mockserver.core.state.tenant import Tenant
from mockserver.server.errors import ControlError, unknown_id
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire import formats, serializers

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]


def owned(hosted: HostedSandbox, kind: str, record_id: str) -> tuple[Tenant, Any]:
    """Return a record of this kind with its tenant; ControlError for an unknown id."""
    match = hosted.sandbox.find(kind, record_id)
    if match is None:
        raise unknown_id(kind, record_id, (record.id for _, record in hosted.sandbox.records(kind)))
    return match


def _refuse_illegal(kind: Kind, record: Any, trigger: str) -> None:
    if not can_transition(kind, record, trigger):
        sources = " or ".join(LIFECYCLES[kind].sources(trigger))
        raise ControlError(
            "MOCK_ILLEGAL_MOVE",
            f"{trigger}: got the {kind} {record.id} in the state {record.status}; expected {sources}; nothing was changed",
        )


def _session(hosted: HostedSandbox, tenant: Tenant, session_id: str) -> JSON:
    sandbox = hosted.sandbox
    view = formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, hosted.base_url)
    return serializers.session_read(view, connections.with_entrypoint(tenant, tenant.sessions[session_id]))


def complete_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the end user finish the flow, with this number or an unused one."""
    sandbox = hosted.sandbox
    tenant, session = owned(hosted, "session", args["sessionId"])
    _refuse_illegal("session", session, "complete")
    received = args.get("phone")
    phone = (
        phone_numbers.normalize_phone(received, tenant.country)
        if received is not None
        else connections.unused_phone(sandbox)
    )
    if phone is None:
        reason = f"phone: got {received!r}; expected {phone_numbers.expected(tenant.country)}"
        raise ControlError("MOCK_BAD_PHONE", reason)
    connections.complete(
        Scope(sandbox, tenant, {"forced": "complete"}), session, phone, args.get("name") or tenant.name
    )
    return _session(hosted, tenant, session.id)


def fail_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the connection fail for a documented reason."""
    tenant, session = owned(hosted, "session", args["sessionId"])
    if args["reason"] not in FAILURE_REASONS:
        hint = closest_match_hint(args["reason"], FAILURE_REASONS)
        raise ControlError(
            "MOCK_BAD_REASON",
            f"reason: got {args['reason']!r}; expected {', '.join(FAILURE_REASONS)}{hint}",
        )
    _refuse_illegal("session", session, "fail")
    connections.fail(Scope(hosted.sandbox, tenant, {"forced": "fail"}), session, args["reason"])
    return _session(hosted, tenant, session.id)


def cancel_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the end user cancel the flow on the hosted page."""
    tenant, session = owned(hosted, "session", args["sessionId"])
    _refuse_illegal("session", session, "fail")
    connections.cancel(Scope(hosted.sandbox, tenant, {"forced": "cancel"}), session)
    return _session(hosted, tenant, session.id)


def expire_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the session expire now, also before its deadline."""
    tenant, session = owned(hosted, "session", args["sessionId"])
    _refuse_illegal("session", session, "expire")
    connections.expire(Scope(hosted.sandbox, tenant, {"forced": "expire"}), session)
    return _session(hosted, tenant, session.id)


def fail_campaign(hosted: HostedSandbox, args: Arguments) -> answers.CampaignAnswer:
    """Let a running campaign fail with an unrecoverable error."""
    sandbox = hosted.sandbox
    tenant, campaign = owned(hosted, "campaign", args["id"])
    _refuse_illegal("campaign", campaign, "fail")
    campaigns.fail(Scope(sandbox, tenant, {"forced": "fail"}), campaign)
    view = formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, hosted.base_url)
    return serializers.campaign_detail(view, campaigns.detail(tenant, tenant.campaigns[campaign.id]))
