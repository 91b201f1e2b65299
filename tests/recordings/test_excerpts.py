"""Excerpts of bodies: what of them a report shows."""

from __future__ import annotations

import json

from mockserver.report.excerpts import excerpt, without_phones
from tests.harness.rows import each_row

PHONE = "+55 11 98888-7777"


def test_names_texts_numbers_of_persons_and_unknown_fields_are_left_out() -> None:
    body = {
        "name": "Ana",
        "sender": {"displayPhone": PHONE, "phone": 5511988887777, "nick": "ana"},
        "tags": ["vip"],
        "text": "",
    }

    assert (
        '{"name": "...", "sender": {"displayPhone": "...", "phone": "...", "nick": "..."}, "tags": ["..."], "text": ""}'
        == excerpt(json.dumps(body).encode())
    )


def test_ids_dates_numbers_flags_and_words_of_the_document_stay() -> None:
    body = json.dumps(
        {
            "campaignId": "campaign_1",
            "status": "draft",
            "cadence": 60,
            "isMe": True,
            "createdAt": "2026-03-01T12:00:00.000Z",
        }
    )

    assert body == excerpt(body.encode())


def test_of_a_body_that_is_not_json_only_the_size_is_shown() -> None:
    assert "" == excerpt(None) == excerpt(b"")
    assert "8 bytes that are not JSON" == excerpt(b"Ana Lima")


@each_row(
    "written, shown",
    [
        ("/v1/messaging/chats/5511988887777@c.us?limit=50", "/v1/messaging/chats/551...@c.us?limit=50"),
        (f"chat of {PHONE}", "chat of +55..."),
        ("2026-03-01T12:00:00.000Z", "2026-03-01T12:00:00.000Z"),
        (
            "campaign_ab12cd34ef56, execution_12345678901234567890",
            "campaign_ab12cd34ef56, execution_12345678901234567890",
        ),
        ("sentCount 120", "sentCount 120"),
    ],
)
def test_of_a_phone_number_only_the_beginning_is_shown(written: str, shown: str) -> None:
    assert shown == without_phones(written)
