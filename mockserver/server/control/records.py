"""Commands that move a session or a campaign into a state, as the lifecycle table permits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver._json import JSON
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.text import closest_match_hint
from mockserver.core.lifecycle import Kind, can_transition
from mockserver.core.operations import campaigns, connections
from mockserver.core.phone_numbers import EXPECTED, normalize_phone
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


def _forced(hosted: HostedSandbox, kind: Kind, record_id: str, trigger: str, cause: str = "") -> tuple[Scope, Any]:
    """Return a record that the trigger may move, with the scope of a command that does; `cause` is by default the trigger."""
    tenant, record = owned(hosted, kind, record_id)
    if not can_transition(kind, record, trigger):
        sources = " or ".join(LIFECYCLES[kind].sources(trigger))
        raise ControlError(
            "MOCK_ILLEGAL_MOVE",
            f"{trigger}: got the {kind} {record.id} in the state {record.status}; expected {sources}; nothing was changed",
        )
    return Scope(hosted.sandbox, tenant, {"forced": cause or trigger}), record


def _view(hosted: HostedSandbox) -> formats.SerializationContext:
    sandbox = hosted.sandbox
    return formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, hosted.base_url)


def _session(hosted: HostedSandbox, tenant: Tenant, session_id: str) -> JSON:
    return serializers.session_read(_view(hosted), connections.with_entrypoint(tenant, tenant.sessions[session_id]))


def complete_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the end user finish the flow, with this number or an unused one."""
    scope, session = _forced(hosted, "session", args["sessionId"], "complete")
    tenant, received = scope.tenant, args.get("phone")
    if received is None:
        phone: str | None = connections.unused_phone(hosted.sandbox)
    else:
        phone = normalize_phone(received)
    if phone is None:
        raise ControlError("MOCK_BAD_PHONE", f"phone: got {received!r}; expected {EXPECTED}")
    connections.complete(scope, session, phone, args.get("name") or tenant.name)
    return _session(hosted, tenant, session.id)


def fail_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the connection fail for a documented reason."""
    owned(hosted, "session", args["sessionId"])
    if args["reason"] not in FAILURE_REASONS:
        hint = closest_match_hint(args["reason"], FAILURE_REASONS)
        raise ControlError(
            "MOCK_BAD_REASON",
            f"reason: got {args['reason']!r}; expected {', '.join(FAILURE_REASONS)}{hint}",
        )
    scope, session = _forced(hosted, "session", args["sessionId"], "fail")
    connections.fail(scope, session, args["reason"])
    return _session(hosted, scope.tenant, session.id)


def cancel_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the end user cancel the flow on the hosted page."""
    scope, session = _forced(hosted, "session", args["sessionId"], "fail", "cancel")
    connections.cancel(scope, session)
    return _session(hosted, scope.tenant, session.id)


def expire_session(hosted: HostedSandbox, args: Arguments) -> answers.SessionAnswer:
    """Let the session expire now, also before its deadline."""
    scope, session = _forced(hosted, "session", args["sessionId"], "expire")
    connections.expire(scope, session)
    return _session(hosted, scope.tenant, session.id)


def fail_campaign(hosted: HostedSandbox, args: Arguments) -> answers.CampaignAnswer:
    """Let a running campaign fail with an unrecoverable error."""
    scope, campaign = _forced(hosted, "campaign", args["id"], "fail")
    campaigns.fail(scope, campaign)
    tenant = scope.tenant
    return serializers.campaign_detail(_view(hosted), campaigns.detail(tenant, tenant.campaigns[campaign.id]))
