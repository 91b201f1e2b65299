"""Stand-ins for what is private: what stays, what does not, and that relations stay as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mockserver._json import JSON
from mockserver.trace.masking import Masker, salt_of
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.recordings.hars import KEY, entry, write

PHONE = "+55 11 98888-7777"
PRIVATE = [
    "Ana Souza",
    "Olá, Ana",
    "5511988887777",
    "98888-7777",
    "Natal da Ana",
    "cookie-of-ana",
    "tok_secret",
    KEY,
    "photo-of-ana",
    "PIXELS",
]


@pytest.fixture
def recording(tmp_path: Path) -> Trace:
    message = {
        "id": "message_1", "chatId": "5511988887777@c.us", "type": "text", "text": "Olá, Ana", "createdAt": "2026-03-01T12:00:00.000Z",
        "sender": {"name": "Ana Souza", "displayPhone": PHONE, "isMe": True}, "location": {"latitude": -23.5, "longitude": -46.6},
    }  # fmt: skip
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="photo-of-ana.png"\r\nContent-Type: image/png\r\n\r\n'
    upload = entry("POST /v1/messaging/media", 201, [{"name": "photo-of-ana.png", "success": True}])
    upload["request"]["headers"].append({"name": "Content-Type", "value": "multipart/form-data; boundary=b"})
    upload["request"]["postData"] = {
        "mimeType": "multipart/form-data",
        "text": (part + b"\x7fPNG\r\n\x1a\n IHDR  " + b"PIXELS" * 9 + b"\r\n--b--\r\n").decode(),
    }
    draft = {"name": "Natal da Ana", "platform": "chatapp", "cadence": 60, "templateId": "template_1"}
    headers = {"Cookie": "id=cookie-of-ana", "Authorization": "Bearer tok_secret", "X-Person": "Ana Souza"}
    return read_recording(
        write(
            tmp_path,
            entry("GET /v1/messaging/chats/5511988887777@c.us?limit=50", 200, {"records": [message], "nextCursor": "c2"}, headers=headers),
            entry("POST /v1/campaigns", 201, {"campaignId": "campaign_1", "status": "draft"}, sent=draft),
            entry("GET /v1/campaigns/campaign_1", 200, {"id": "campaign_1", **draft}),
            upload,
        )
    )  # fmt: skip


def masked(recording: Trace, *keep: str) -> Trace:
    return Masker(salt_of(recording), keep).recording(recording)


def text_of(recording: Trace) -> str:
    """Return everything that a recording has, as one text."""
    rows: list[Any] = [vars(exchange) for exchange in recording.exchanges]
    return json.dumps(
        rows, ensure_ascii=False, default=lambda value: value.decode() if isinstance(value, bytes) else dict(value)
    )


def test_nothing_private_is_left(recording: Trace) -> None:
    left = text_of(masked(recording))

    assert [] == [private for private in PRIVATE if private in left]


def test_ids_dates_numbers_and_the_words_of_the_document_stay(recording: Trace) -> None:
    draft: JSON = masked(recording).exchanges[1].request_json
    record: JSON = masked(recording).exchanges[0].response_json["records"][0]

    assert ("chatapp", 60, "template_1") == (draft["platform"], draft["cadence"], draft["templateId"])
    assert ("message_1", "text", "2026-03-01T12:00:00.000Z", True) == (
        record["id"], record["type"], record["createdAt"], record["sender"]["isMe"],
    )  # fmt: skip
    assert "/v1/campaigns/campaign_1" == masked(recording).exchanges[2].path


def test_a_stand_in_has_the_form_of_its_value_and_equal_values_stay_equal(recording: Trace) -> None:
    read, created, read_again, upload = masked(recording).exchanges
    record = read.response_json["records"][0]

    phone = record["sender"]["displayPhone"]
    assert (len(PHONE), "+", " ", "-") == (len(phone), phone[0], phone[3], phone[12])
    assert created.request_json["name"] == read_again.response_json["name"]
    assert [5, 2, 3] == [len(word) for word in created.request_json["name"].split()]
    assert record["chatId"] == read.params["chatId"]
    assert record["chatId"].endswith("@c.us")
    assert upload.response_json[0]["name"].encode() in (upload.request_body or b"")
    assert upload.response_json[0]["name"].endswith(".png")
    assert b"\x7fPNG" in (upload.request_body or b"")
    assert len(upload.request_body or b"") == len(recording.exchanges[3].request_body or b"")


def test_a_field_can_be_allowed_by_name(recording: Trace) -> None:
    assert "Natal da Ana" == masked(recording, "name").exchanges[1].request_json["name"]
    assert "Olá, Ana" not in text_of(masked(recording, "name"))


def test_stand_ins_are_the_same_for_the_same_recording_and_others_for_another(recording: Trace) -> None:
    other = replace(recording, exchanges=recording.exchanges[1:])

    assert masked(recording) == masked(recording)
    assert masked(recording).exchanges[1].request_body != masked(other).exchanges[0].request_body


@pytest.mark.parametrize(
    "text",
    ["2026-03-01T12:00:00.000Z", "2026-03-01", "campaign_ab12cd34ef56", "1234567", "execution_12345678901234567890"],
)
def test_what_looks_like_digits_and_is_no_phone_number_stays(text: str) -> None:
    assert text == Masker(b"").value(text, "id")


def test_a_path_keeps_what_follows_a_key(tmp_path: Path) -> None:
    (exchange,) = masked(read_recording(write(tmp_path, entry(f"POST /v1/campaigns/{KEY}/start", 404, {})))).exchanges

    assert f"/v1/campaigns/{exchange.key}/start" == exchange.path
