"""Campaigns through the API in few words: create, start, read, and what a refusal looks like."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response

NOON = "2026-03-01T12:00:00Z"
NOBODY: list[JSON] = [
    {"combinator": "and", "statements": [{"field": "chat.status", "operator": "equals", "value": "none"}]}
]
EXACT_NOON = "2026-03-01T12:00:00.000000Z"  # its microseconds are meant (see the root conftest)
TEMPLATE = {"id": "template_plain", "items": [{"type": "text", "text": "Oi"}]}


def create(sandbox: Sandbox, name: str = "Promo", **changes: Any) -> str:
    """The id of a new draft on chatapp, one message a second, to everyone."""
    body = {"name": name, "platform": "chatapp", "templateId": "template_plain", "cadence": 60} | changes
    reply = sandbox.call("POST", "/v1/campaigns", json=body)
    assert 201 == reply.status, reply
    return str(reply.json()["campaignId"])


def start(sandbox: Sandbox, campaign_id: str, variables: Mapping[str, Any] | None = None) -> Response:
    """The answer to a start, without a body where no variables are given."""
    body = None if variables is None else {"commonVariables": variables}
    return sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start", json=body)


def run(sandbox: Sandbox, variables: Mapping[str, Any] | None = None, **changes: Any) -> tuple[str, str]:
    """A campaign that was created and started: its id and its execution's."""
    campaign_id = create(sandbox, **changes)
    reply = start(sandbox, campaign_id, variables)
    assert 202 == reply.status, reply
    return campaign_id, str(reply.json()["executionId"])


def cancel(sandbox: Sandbox, campaign_id: str) -> Any:
    return sandbox.call("POST", f"/v1/campaigns/{campaign_id}/cancel")


def end(sandbox: Sandbox, campaign_id: str, how: str) -> None:
    """Bring a running campaign to this status; one that completes has its clock at the last send."""
    if how == "canceled":
        cancel(sandbox, campaign_id)
    elif how == "failed":
        sandbox.admin.fail_campaign(campaign_id)
    else:
        sandbox.advance(until="idle")
    assert how == read(sandbox, campaign_id)["status"]


def read(sandbox: Sandbox, campaign_id: str) -> dict[str, Any]:
    """The campaign's detail."""
    reply = sandbox.call("GET", f"/v1/campaigns/{campaign_id}")
    assert 200 == reply.status, reply
    found: dict[str, Any] = reply.json()
    return found


def entry(sandbox: Sandbox, campaign_id: str) -> dict[str, Any]:
    """The one execution in the campaign's detail."""
    (found,) = read(sandbox, campaign_id)["executions"]
    return dict(found)


def progress(sandbox: Sandbox, ids: tuple[str, str]) -> dict[str, Any]:
    """The single-execution response."""
    reply = sandbox.call("GET", f"/v1/campaigns/{ids[0]}/executions/{ids[1]}")
    assert 200 == reply.status, reply
    found: dict[str, Any] = reply.json()
    return found


def counts(sandbox: Sandbox, ids: tuple[str, str]) -> tuple[int, int, int]:
    """Target, sent and failed."""
    found = progress(sandbox, ids)
    return found["targetCount"], found["sentCount"], found["failedCount"]


def statuses(sandbox: Sandbox, ids: tuple[str, str]) -> tuple[str, str]:
    """The campaign's status and its execution's."""
    return read(sandbox, ids[0])["status"], progress(sandbox, ids)["status"]


def messages(sandbox: Sandbox, chat_id: str) -> list[dict[str, Any]]:
    """The chat's messages, newest first."""
    reply = sandbox.call("GET", f"/v1/messaging/chats/{chat_id}?limit=100")
    assert 200 == reply.status, reply
    found: list[dict[str, Any]] = reply.json()["records"]
    return found


def due_us(position: int, per_minute: int) -> Fraction:
    """When the send of a position is due, in microseconds from the start, exactly."""
    return Fraction(60_000_000 * position, per_minute)
