"""Sessions, entrypoints, media, messages, forms and events as the document shows them."""

from __future__ import annotations

from collections.abc import Sequence

from mockserver.contract.lifecycles import CONNECTED
from mockserver.core.media import Result
from mockserver.core.messages import Listed, Page
from mockserver.core.records import Entrypoint, Event, Form, Session
from mockserver.edge import spelling
from mockserver.edge.reasons import SESSION_TEXTS
from mockserver.edge.represent.view import JSON, View, absent_null_or

# The documented optional fields of a message record, in the document's order (choice message-absent-vs-null).
_OPTIONAL_MESSAGE_FIELDS = (
    "sender", "isOfficialTemplate", "templateCharged", "text", "transcription", "forward", "replyToId", "photoapp", "media", "location", "templateComponents", "ad",
)  # fmt: skip


def created_session(view: View, session: Session) -> JSON:
    return {
        "sessionId": session.id,
        "status": session.status,
        "url": session_url(view, session),
        "expiresAt": spelling.promised_date_time(view.choices, session.expires_at),
    }


def session_url(view: View, session: Session) -> str:
    """The one-use link of the end user, under the sandbox's own prefix."""
    return f"{view.base_url}/connect/{session.token}"


def session_read(view: View, shown: tuple[Session, Entrypoint | None]) -> JSON:
    session, entrypoint = shown
    body: JSON = {"sessionId": session.id, "status": session.status}
    if view.choices["session-read-fields"] == "all":
        body |= {key: value for key, value in created_session(view, session).items() if key not in body}
    if entrypoint is not None:
        body["entrypoint"] = connected_entrypoint(view, entrypoint)
    elif session.status == "pending" or view.choices["entrypoint-when-failed"] == "null":
        body["entrypoint"] = None
    if session.reason is not None:
        body |= {"reason": session.reason, "message": SESSION_TEXTS[str(view.choices["message-text"])][session.reason]}
    elif view.choices["reason-when-none"] == "null":
        body |= {"reason": None, "message": None}
    return body


def _funnel(view: View, **ids: str | None) -> JSON:
    """The ids of funnel and step; one that is not linked is null or absent, by choice."""
    return {key: value for key, value in ids.items() if value is not None or view.choices["funnel-null"] == "null"}


def connected_entrypoint(view: View, entrypoint: Entrypoint) -> JSON:
    """The shape of completed sessions and of the connected event."""
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


def _read_shape(view: View, entrypoint: Entrypoint) -> JSON:
    return {
        "id": entrypoint.id,
        "name": entrypoint.name,
        "platform": spelling.enum_value(view.choices, "platform", entrypoint.platform),
        **_funnel(view, funnelStepId=entrypoint.funnel_step_id),
        "displayName": entrypoint.display_name,
        "isCoexistence": entrypoint.is_coexistence,
    }


def entrypoint_read(view: View, entrypoint: Entrypoint) -> JSON:
    union = view.choices["entrypoint-two-shapes"] == "union" and entrypoint.display_phone is not None
    shape = connected_entrypoint(view, entrypoint) if union else _read_shape(view, entrypoint)
    return {"entrypoint": shape}


def uploaded(view: View, results: Sequence[Result]) -> list[JSON]:
    shown = [_upload(view, each) for each in results]
    return shown[::-1] if view.choices["media-result-order"] == "reversed" else shown


def _upload(view: View, result: Result) -> JSON:
    if result.media is None:
        nothing = (absent_null_or(view, "media-failed-item-shape", key) for key in ("id", "url"))
        return {"success": False, "name": result.name} | next(nothing) | next(nothing)
    return {"success": True, "name": result.name, "id": result.media.id, "url": media_url(view, result.media.id)}


def media_url(view: View, media_id: str) -> str:
    """Where the mock serves a file's bytes, without a key."""
    return f"{view.base_url}/media/{media_id}"


def message_page(view: View, page: Page) -> JSON:
    body: JSON = {"records": [message(view, each) for each in page.records]}
    if page.next_cursor is not None:
        return body | {"nextCursor": page.next_cursor}
    return body | absent_null_or(view, "next-cursor-end", "nextCursor")


def message(view: View, listed: Listed) -> JSON:
    """A message record: the fields that it has, and by choice null or a blank text for those that it has not."""
    body: JSON = {"id": listed.id, **listed.fields, "createdAt": spelling.date_time(view.choices, listed.created_at)}
    body["type"] = spelling.enum_value(view.choices, "messageType", body["type"])
    body["status"] = spelling.enum_value(view.choices, "messageStatus", body["status"])
    if "id" in body.get("media", {}) and "url" not in body["media"]:
        body["media"] = body["media"] | {"url": media_url(view, body["media"]["id"])}
    if view.choices["message-required-fields"] == "text-always":
        body.setdefault("text", "")
    if view.choices["message-absent-vs-null"] == "null":
        body = dict.fromkeys(_OPTIONAL_MESSAGE_FIELDS) | body
    return body


def form_policy(view: View, form: Form) -> JSON:
    return {"iframeEmbedAllowedOrigins": list(form.origins)}


def event(view: View, happened: Event) -> JSON:
    """The envelope of an event: the connected one tells its tenant, moment and entrypoint, the failed one its reason."""
    session = happened.session
    occurrence: JSON = {
        "tenantId": happened.tenant_id,
        "sessionId": session.id,
        "occurredAt": spelling.date_time(view.choices, happened.at),
    }
    if happened.kind == CONNECTED and happened.entrypoint is not None:
        return {
            "event": happened.kind,
            "data": occurrence | {"entrypoint": connected_entrypoint(view, happened.entrypoint)},
        }
    data: JSON = {"status": session.status, "reason": session.reason, "sessionId": session.id}
    if view.choices["wh-data-asymmetry"] == "same-keys":
        data |= occurrence | {"entrypoint": None}
    return {"event": happened.kind, "data": data}
