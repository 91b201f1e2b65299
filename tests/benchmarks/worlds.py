"""The seed data of the benchmarks: a tenant with one template, and a number of chats."""

from __future__ import annotations

from typing import Any

from mockserver import MockServer, Sandbox

FILTERS = [
    {
        "combinator": "and",
        "statements": [
            {"field": "chat.platform", "operator": "equals", "value": "chatapp"},
            {"field": "chat.monetization", "operator": "greater-than", "value": 100},
            {"field": "chat.tagIds", "operator": "has-any", "value": ["tag_a", "tag_b"]},
            {"field": "chat.virtual.dm-participant.contact", "operator": "starts-with", "value": "+55"},
        ],
    }
]


def given(chats: int) -> dict[str, Any]:
    """Seed data: a template and chats whose fields cycle through a few values."""
    return {
        "templates": [{"id": "template_one", "items": [{"type": "text", "text": "Olá {{1}}"}]}],
        "chats": {
            "count": chats,
            "each": {"contact": "+5511999990000", "lastMessageAt": "2026-02-01T00:00:00Z"},
            "vary": {
                "monetization": [0, 50, 150, 250.5, 1000],
                "tagIds": [["tag_a"], ["tag_b", "tag_c"], ["tag_c"], []],
                "status": ["open", "closed", "open"],
            },
        },
    }


def world(server: MockServer, chats: int) -> Sandbox:
    """A sandbox of this many chats, with no limit on audiences."""
    limits = {"size-limit-values": {"chatapp": None}, "throughput-ceilings": {"chatapp": None}}
    return server.sandbox(given=given(chats), choices=limits, now="2026-03-01T12:00:00Z")


def draft(sandbox: Sandbox, name: str = "Campanha", **more: Any) -> str:
    """A draft over every chat; answers its id."""
    body = {"name": name, "platform": "chatapp", "templateId": "template_one", "cadence": 600, **more}
    campaign_id: str = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    return campaign_id


def running(server: MockServer, chats: int) -> tuple[Sandbox, str]:
    """A sandbox with a campaign that has sent for ten seconds, and that campaign's id."""
    sandbox = world(server, chats)
    campaign_id = draft(sandbox)
    assert sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start").status == 202
    sandbox.advance("10s")
    return sandbox, campaign_id
