"""
Serializers: records as the JSON that the document shows, one function per operation, in the table `SERIALIZERS`.

Absent or null, and which of two documented shapes, are choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mockserver._json import JSON
from mockserver.contract.errors import SESSION_MESSAGES
from mockserver.contract.lifecycles import CONNECTED, CONNECTION_FAILED, EXECUTION
from mockserver.core.instants import Instant
from mockserver.core.operations import sending
from mockserver.core.operations.campaigns import CampaignDetail
from mockserver.core.operations.messaging import ListedMessage, MessagePage, UploadResult
from mockserver.core.state.records import Campaign, Entrypoint, Event, Execution, Form, Session, Template
from mockserver.wire import formats
from mockserver.wire.formats import SerializationContext, empty_value


def template_list(view: SerializationContext, templates: Sequence[Template]) -> JSON:
    return {
        "templates": [
            _template_entry(view, template) for template in formats.sort_listing(view.choices, view.seed, templates)
        ]
    }


def _template_entry(view: SerializationContext, template: Template) -> JSON:
    status = template.provider_status
    entry: JSON = {
        "id": template.id,
        "name": template.name,
        "description": template.description,
        "isOfficial": template.is_official,
    }
    if status is None:
        entry |= empty_value(view, "provider-status-internal", "providerTemplateStatus")
    elif template.is_official:
        entry["providerTemplateStatus"] = status
    else:
        entry["providerTemplateStatus"] = formats.enum_value(view.choices, "providerTemplateStatus", status)
    entry["createdAt"] = formats.date_time(view.choices, template.created_at)
    entry["updatedAt"] = formats.date_time(view.choices, template.updated_at)
    return entry


def template_detail(view: SerializationContext, template: Template) -> JSON:
    return {
        "id": template.id,
        "name": template.name,
        "isOfficial": template.is_official,
        "items": [
            {
                "id": item.id,
                "order": item.order,
                "type": formats.enum_value(view.choices, "itemType", item.type),
                "text": item.text or "",
                "mediaId": item.media_id,
            }
            for item in template.items
        ],
        "commonVariables": [
            {"key": variable.key, "label": variable.label, "required": variable.required}
            for variable in template.variables
            if variable.source is None
        ],
    }


def preview(view: SerializationContext, count: int) -> JSON:
    return {"estimatedCount": count}


def created_campaign(view: SerializationContext, campaign: Campaign) -> JSON:
    return {"campaignId": campaign.id, "status": campaign.status}


def campaign_list(view: SerializationContext, campaigns: Sequence[Campaign]) -> JSON:
    rows = formats.sort_listing(view.choices, view.seed, campaigns)
    return {"campaigns": [_campaign_entry(campaign) for campaign in rows]}


def _campaign_entry(campaign: Campaign) -> JSON:
    return {
        "id": campaign.id,
        "name": campaign.name,
        "description": campaign.description,
        "status": campaign.status,
        "platform": campaign.platform,
        "templateId": campaign.template_id,
        "cadence": campaign.cadence,
    }


def campaign_detail(view: SerializationContext, detail: CampaignDetail) -> JSON:
    """Return a campaign; with description and filters by the option `full` of detail-fields only."""
    body = _campaign_entry(detail.campaign)
    if view.choices["detail-fields"] == "literal":
        del body["description"]
    else:
        keys = ("field", "operator", "value", "value2")  # a client may have sent others
        body["filters"] = [
            {
                "combinator": group["combinator"],
                "statements": [{key: row[key] for key in keys if key in row} for row in group["statements"]],
            }
            for group in detail.campaign.filters or ()
        ]
    body["executions"] = [
        {
            **_counted(execution, sending.counts(execution.schedule, view.now)),
            "startedAt": formats.date_time(view.choices, execution.started_at),
            "completedAt": _completed_at(view, execution),
        }
        for execution in detail.executions
    ]
    return body


def _counted(execution: Execution, counts: sending.Counts) -> JSON:
    """Return the fields that an execution has both in its campaign and in its own response."""
    return {
        "id": execution.id,
        "status": execution.status,
        "targetCount": counts.target,
        "sentCount": counts.sent,
        "failedCount": counts.failed,
    }


def _completed_at(view: SerializationContext, execution: Execution) -> str | None:
    """Return null while it runs; the instant of a cancel or failure, or null, by choice."""
    if execution.ended_at is None:
        return None
    if execution.status != "completed" and view.choices["completedAt-on-cancel-fail"] == "null":
        return None
    return formats.date_time(view.choices, _displayed_end(execution))


def _displayed_end(execution: Execution) -> Instant:
    """Return the instant of the last send, cut, if it is less than a microsecond before the recorded end."""
    last = sending.displayed_at(execution.schedule, execution.schedule.total - 1) if execution.schedule.total else None
    ended = execution.ended_at or 0
    return last if execution.status == "completed" and last is not None and last + 1 == ended else ended


def execution_progress(view: SerializationContext, execution: Execution) -> JSON:
    counts = sending.counts(execution.schedule, view.now)
    return _counted(execution, counts) | {"progress": progress(view.choices, execution.status, counts)}


def progress(choices: Mapping[str, object], status: str, counts: sending.Counts) -> int:
    """Return 0 to 100, processed over target, rounded by choice; by default 100 only if all are processed."""
    if status == "canceled" and choices["progress-after-cancel"] == "hundred":
        return 100
    if counts.target == 0:
        return 100 if status == "completed" or choices["progress-zero-target"] == "hundred" else 0
    done = 100 * counts.processed
    return {
        "floor": done // counts.target,
        "half-up": (2 * done + counts.target) // (2 * counts.target),
        "ceil": -(-done // counts.target),
    }[str(choices["progress-rounding"])]


def started(view: SerializationContext, execution: Execution) -> JSON:
    return {"executionId": execution.id, "status": EXECUTION.initial}


# The documented optional fields of a message record, in the document's order (choice message-absent-vs-null).
_OPTIONAL_MESSAGE_FIELDS = (
    "sender", "isOfficialTemplate", "templateCharged", "text", "transcription", "forward", "replyToId", "photoapp", "media", "location", "templateComponents", "ad",
)  # fmt: skip


def created_session(view: SerializationContext, session: Session) -> JSON:
    return {
        "sessionId": session.id,
        "status": session.status,
        "url": session_url(session),
        "expiresAt": formats.session_date_time(view.choices, session.expires_at),
    }


def session_url(session: Session) -> str:
    """Return the one-use link of the end user, at the address that created the session."""
    return f"{session.base_url}/connect/{session.token}"


def session_read(view: SerializationContext, outcome: tuple[Session, Entrypoint | None]) -> JSON:
    session, entrypoint = outcome
    body: JSON = {"sessionId": session.id, "status": session.status}
    if view.choices["session-read-fields"] == "all":
        body |= {key: value for key, value in created_session(view, session).items() if key not in body}
    if entrypoint is not None:
        body["entrypoint"] = connected_entrypoint(view, entrypoint)
    elif session.status == "pending" or view.choices["entrypoint-when-failed"] == "null":
        body["entrypoint"] = None
    if session.reason is not None:
        body |= {
            "reason": session.reason,
            "message": formats.message_text(view.choices, *SESSION_MESSAGES[session.reason]),
        }
    elif view.choices["reason-when-none"] == "null":
        body |= {"reason": None, "message": None}
    return body


def _funnel(view: SerializationContext, **ids: str | None) -> JSON:
    """Return the ids of funnel and step; without a link null or absent, by choice."""
    return {key: value for key, value in ids.items() if value is not None or view.choices["funnel-null"] == "null"}


def connected_entrypoint(view: SerializationContext, entrypoint: Entrypoint) -> JSON:
    """Return the shape of completed sessions and of the connected event."""
    body: JSON = {
        "id": entrypoint.id,
        "name": entrypoint.name,
        "displayPhone": entrypoint.display_phone,
        "phoneNumberId": entrypoint.phone_number_id,
        "businessAccountId": entrypoint.business_account_id,
        **_funnel(view, funnelId=entrypoint.funnel_id, funnelStepId=entrypoint.funnel_step_id),
        "isCoexistence": entrypoint.is_coexistence,
    }
    return _read_shape(view, entrypoint) | body if view.choices["entrypoint-two-shapes"] == "union" else body


def _read_shape(view: SerializationContext, entrypoint: Entrypoint) -> JSON:
    return {
        "id": entrypoint.id,
        "name": entrypoint.name,
        "platform": formats.enum_value(view.choices, "platform", entrypoint.platform),
        **_funnel(view, funnelStepId=entrypoint.funnel_step_id),
        "displayName": entrypoint.display_name,
        "isCoexistence": entrypoint.is_coexistence,
    }


def entrypoint_read(view: SerializationContext, entrypoint: Entrypoint) -> JSON:
    union = view.choices["entrypoint-two-shapes"] == "union" and entrypoint.display_phone is not None
    shape = connected_entrypoint(view, entrypoint) if union else _read_shape(view, entrypoint)
    return {"entrypoint": shape}


def uploaded(view: SerializationContext, results: Sequence[UploadResult]) -> list[JSON]:
    entries = [_upload(view, result) for result in results]
    return entries[::-1] if view.choices["media-result-order"] == "reversed" else entries


def _upload(view: SerializationContext, result: UploadResult) -> JSON:
    if result.media is None:
        no_id, no_url = (empty_value(view, "media-failed-item-shape", key) for key in ("id", "url"))
        return {"success": False, "name": result.name, **no_id, **no_url}
    return {"success": True, "name": result.name, "id": result.media.id, "url": media_url(view, result.media.id)}


def media_url(view: SerializationContext, media_id: str) -> str:
    """Return the url at which the mock serves a file's bytes, without a key."""
    return f"{view.base_url}/media/{media_id}"


def message_page(view: SerializationContext, page: MessagePage) -> JSON:
    body: JSON = {"records": [message(view, record) for record in page.records]}
    if page.next_cursor is not None:
        return body | {"nextCursor": page.next_cursor}
    return body | empty_value(view, "next-cursor-end", "nextCursor")


def message(view: SerializationContext, listed: ListedMessage) -> JSON:
    """Return a message's fields; for those without a value null or a blank text, by choice."""
    body: JSON = {"id": listed.id, **listed.fields, "createdAt": formats.date_time(view.choices, listed.created_at)}
    body["type"] = formats.enum_value(view.choices, "messageType", body["type"])
    body["status"] = formats.enum_value(view.choices, "messageStatus", body["status"])
    if "id" in body.get("media", {}) and "url" not in body["media"]:
        body["media"] = body["media"] | {"url": media_url(view, body["media"]["id"])}
    if view.choices["message-required-fields"] == "text-always":
        body.setdefault("text", "")
    if view.choices["message-absent-vs-null"] == "null":
        body = dict.fromkeys(_OPTIONAL_MESSAGE_FIELDS) | body
    return body


def form_policy(view: SerializationContext, form: Form) -> JSON:
    return {"iframeEmbedAllowedOrigins": list(form.origins)}


def event(view: SerializationContext, record: Event) -> JSON:
    """Return the envelope of an event, with the data of its kind."""
    return {"event": record.kind, "data": EVENT_DATA[record.kind](view, record)}


def _occurrence(view: SerializationContext, record: Event) -> JSON:
    return {
        "tenantId": record.tenant_id,
        "sessionId": record.record.id,
        "occurredAt": formats.date_time(view.choices, record.at),
    }


def _with_entrypoint(view: SerializationContext, record: Event) -> JSON:
    """Return tenant, instant and entrypoint of a session that completed."""
    assert record.entrypoint is not None
    return _occurrence(view, record) | {"entrypoint": connected_entrypoint(view, record.entrypoint)}


def _with_status(view: SerializationContext, record: Event) -> JSON:
    """Return status and reason of a session that failed or expired."""
    session = record.record
    assert isinstance(session, Session)
    data: JSON = {"status": session.status, "reason": session.reason, "sessionId": session.id}
    if view.choices["wh-data-asymmetry"] == "same-keys":
        data |= _occurrence(view, record) | {"entrypoint": None}
    return data


# The data of an event, by its kind.
EVENT_DATA: Mapping[str, Callable[[SerializationContext, Event], JSON]] = MappingProxyType(
    {CONNECTED: _with_entrypoint, CONNECTION_FAILED: _with_status}
)


def _unchanged(view: SerializationContext, body: Any) -> Any:
    return body


SERIALIZERS: Mapping[str, Callable[[SerializationContext, Any], Any]] = MappingProxyType(
    {
        "listTemplates": template_list,
        "readTemplate": template_detail,
        "readFilterSchema": _unchanged,
        "previewAudience": preview,
        "createCampaign": created_campaign,
        "listCampaigns": campaign_list,
        "readCampaign": campaign_detail,
        "readExecution": execution_progress,
        "startCampaign": started,
        "createConnectionSession": created_session,
        "readConnectionSession": session_read,
        "readEntrypoint": entrypoint_read,
        "uploadMedia": uploaded,
        "listMessages": message_page,
        "readFormPolicy": form_policy,
    }
)
