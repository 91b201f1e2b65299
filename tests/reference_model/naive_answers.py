"""The response of the naive model to each read."""

from __future__ import annotations

from typing import Any

from tests.reference_model.naive import Campaign, Chat, Entrypoint, Execution, Refused, Service, Session, Tenant, shown


def campaign_list(service: Service, tenant: Tenant) -> dict[str, Any]:
    service.advance(0)
    newest_first = tenant.campaigns[::-1]
    return {"campaigns": [_head(each) | {"description": each.body.get("description")} for each in newest_first]}


def _head(campaign: Campaign) -> dict[str, Any]:
    sent_as = {key: campaign.body[key] for key in ("name", "platform", "templateId", "cadence")}
    return {"id": campaign.id, "status": campaign.status, **sent_as}


def campaign_detail(service: Service, tenant: Tenant, campaign: Campaign | None) -> dict[str, Any]:
    campaign = service.known(tenant, campaign)
    executions = [] if campaign.execution is None else [_entry(campaign.execution)]
    return _head(campaign) | {"executions": executions}


def _counts(execution: Execution) -> dict[str, Any]:
    return {
        "id": execution.id,
        "status": execution.status,
        "targetCount": execution.target,
        "sentCount": execution.sent,
        "failedCount": execution.failed,
    }


def _entry(execution: Execution) -> dict[str, Any]:
    ended = None if execution.ended is None else shown(execution.ended)
    return _counts(execution) | {"startedAt": shown(execution.started), "completedAt": ended}


def execution_progress(service: Service, tenant: Tenant, campaign: Campaign | None, wanted: str) -> dict[str, Any]:
    campaign = service.known(tenant, campaign)
    execution = campaign.execution
    if execution is None or wanted != execution.id:
        raise Refused(404, "RESOURCE_NOT_FOUND")
    processed = execution.sent + execution.failed
    empty = 100 if execution.status == "completed" else 0
    progress = processed * 100 // execution.target if execution.target else empty
    return _counts(execution) | {"progress": progress}


def session_read(service: Service, tenant: Tenant, session: Session | None) -> dict[str, Any]:
    service.advance(0)
    if session is None or session.tenant is not tenant:
        raise Refused(404, "RESOURCE_NOT_FOUND")
    body: dict[str, Any] = {"sessionId": session.id, "status": session.status, "entrypoint": None}
    if session.entrypoint is not None:
        body["entrypoint"] = {
            "id": session.entrypoint.id,
            "name": session.entrypoint.name,
            "displayPhone": session.entrypoint.phone,
            "funnelId": session.body.get("funnelId"),
            "funnelStepId": session.body.get("funnelStepId"),
            "isCoexistence": session.body.get("coexistence", False),
        }
    return body | ({"reason": session.reason} if session.reason else {})


def entrypoint_read(service: Service, tenant: Tenant, entrypoint: Entrypoint | None) -> dict[str, Any]:
    service.advance(0)
    if entrypoint is None or entrypoint.session.tenant is not tenant:
        raise Refused(404, "ENTRYPOINT_NOT_FOUND")
    return {
        "entrypoint": {
            "id": entrypoint.id,
            "name": entrypoint.name,
            "platform": "chatapp",
            "funnelStepId": entrypoint.session.body.get("funnelStepId"),
            "displayName": entrypoint.name,
            "isCoexistence": entrypoint.session.body.get("coexistence", False),
        }
    }


def message_list(service: Service, tenant: Tenant, chat: Chat) -> list[dict[str, Any]]:
    """The chat's records, newest first."""
    service.advance(0)
    if chat not in tenant.chats:
        raise Refused(404, "CHAT_NOT_FOUND")
    return [each["record"] for each in reversed(chat.inbox)]


def preview(service: Service, tenant: Tenant, body: dict[str, Any]) -> dict[str, Any]:
    service.advance(0)
    return {"estimatedCount": len(service.audience(tenant, body))}
