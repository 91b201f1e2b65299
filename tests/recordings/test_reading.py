"""Reading of recordings: which entries are exchanges, what their fields are, and how several files become one history."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from mockserver._json import JSON
from mockserver.trace.entries import RecordingError
from mockserver.trace.order import precedes
from mockserver.trace.reading import read_recording
from tests.harness.rows import each_row
from tests.recordings.hars import ADDRESS, KEY, entry, har, write

LIST: JSON = {"data": [], "pagination": {}}
HASH = "sk_" + hashlib.sha256(KEY.encode()).hexdigest()[:12]


def test_an_entry_is_an_exchange_with_its_operation(tmp_path: Path) -> None:
    file = write(
        tmp_path, entry("GET /v1/campaigns/campaign_1?a=b", 200, LIST, at="2026-03-01T09:00:00.0005-03:00", time=1.25)
    )

    (exchange,) = read_recording(file).exchanges

    assert (1, "recording.har", "GET", "/v1/campaigns/campaign_1?a=b") == (
        exchange.number, exchange.source, exchange.method, exchange.path,
    )  # fmt: skip
    assert ("readCampaign", {"id": "campaign_1"}) == (exchange.operation, exchange.params)
    assert (1772366400000000, 1772366400002000) == (exchange.sent_at, exchange.ended_at)  # rounded outwards
    assert (200, LIST, b"") == (exchange.status, exchange.response_json, exchange.request_body)


def test_a_key_is_its_hash_wherever_it_is(tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Cookie": f"session=abc; key={KEY}"}
    call = entry(f"POST /v1/campaigns/{KEY}/start?key={KEY}", 201, {"id": KEY}, sent={"key": KEY}, headers=headers)
    event = {"event": "entrypoints.chatapp.connected", "data": {"sessionId": KEY}}
    delivery = entry(f"POST /hooks/{KEY}", 204, sent=event, address="https://me.example")
    recording = read_recording(write(tmp_path, call, delivery))

    (exchange,), (attempt,) = recording.exchanges, recording.deliveries
    assert KEY not in repr((vars(exchange), vars(attempt)))
    assert (HASH, HASH) == (exchange.request_headers["authorization"], exchange.request_headers["cookie"])
    assert ({"id": HASH}, {"key": HASH}, {"id": HASH}) == (
        exchange.params, exchange.request_json, exchange.response_json,
    )  # fmt: skip
    assert f"/v1/campaigns/{HASH}/start?key={HASH}" == exchange.path
    assert (f"https://me.example/hooks/{HASH}", HASH) == (attempt.endpoint, attempt.session_id)


@pytest.mark.parametrize(
    "name",
    ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-CSRF-Token", "X-Auth-Token", "X-Session-Id"],
)
def test_no_value_of_a_secret_header_is_stored(tmp_path: Path, name: str) -> None:
    row = entry("GET /v1/campaigns", 200, LIST, headers={name: "tok_1"})
    row["response"]["headers"].append({"name": name, "value": "tok_2"})
    (exchange,) = read_recording(write(tmp_path, row)).exchanges

    assert ("...", "...") == (exchange.request_headers[name.lower()], exchange.response_headers[name.lower()])


def test_the_prefix_is_that_of_most_operations_and_the_rest_is_left_out_by_kind(tmp_path: Path) -> None:
    other = "https://other.example"
    file = write(
        tmp_path,
        entry("GET /v1/campaigns", 200, LIST),
        entry("GET /v1/unknown", 404, {}),
        entry("GET /v1/campaigns", 200, LIST, address=other),
        entry("GET /logo.png", 200, "png", address=other),
        entry("OPTIONS /v1/campaigns", 204),
        entry("GET /v1/campaigns", 200, LIST, _fromCache="disk"),
        entry("POST /v1/campaigns", 201, {}, sent={}),
    )

    recording = read_recording(file)

    assert ADDRESS == recording.prefix
    assert ["listCampaigns", None, "createCampaign"] == [each.operation for each in recording.exchanges]
    assert {"other": 2, "preflight": 1, "cached": 1} == recording.left_out
    assert 1 == len(read_recording(file, url=f"{other}/v1/").exchanges)


def test_several_files_are_one_history_in_order_of_their_clocks(tmp_path: Path) -> None:
    late = write(tmp_path, entry("GET /v1/campaigns", 200, LIST, at="2026-03-01T12:00:01Z"), name="late.har")
    early = write(
        tmp_path, entry("GET /v1/message-templates", 200, {}, at="2026-03-01T12:00:00Z"),
        entry("GET /v1/campaigns", 200, LIST, at="2026-03-01T12:00:02Z", key="sk_of_another_tenant"), name="early.har",
    )  # fmt: skip

    recording = read_recording(late, early)

    assert ["early.har", "late.har", "early.har"] == [each.source for each in recording.exchanges]
    assert [2, 1] == [len(history) for history in recording.by_key.values()]


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (0, None, "no-answer"),
        (200, "<html>Sign in</html>", "proxy-page"),
        (502, "<html>Bad gateway</html>", "other-failure"),
        (503, {"error": "down"}, "other-failure"),
        (200, '{"data": [', "broken-body"),
        (500, {"statusCode": 500, "code": "INTERNAL_ERROR", "message": "x"}, None),
        (404, {"statusCode": 404, "code": "CAMPAIGN_NOT_FOUND", "message": "x"}, None),
        (200, LIST, None),
    ],
)
def test_an_answer_that_is_not_the_services_word_has_its_kind(
    tmp_path: Path, status: int, answer: object, kind: str | None
) -> None:
    file = write(tmp_path, entry("GET /v1/campaigns", 200, LIST), entry("GET /v1/campaigns", status, answer))
    exchange = read_recording(file).exchanges[1]

    assert (kind, kind is None) == (exchange.trouble, exchange.is_answered)


def test_an_event_of_a_receiver_is_a_delivery(tmp_path: Path) -> None:
    event = {"event": "entrypoints.chatapp.connected", "data": {"tenantId": "t", "sessionId": "s"}}
    received = entry("POST /hooks", 204, sent=event, address="https://me.example", headers={"webhook-id": "evt_1"})
    recording = read_recording(write(tmp_path, entry("GET /v1/campaigns", 200, LIST), received))

    (delivery,) = recording.deliveries
    assert (event, 204, "https://me.example/hooks", "evt_1") == (
        delivery.json, delivery.status, delivery.endpoint, delivery.headers["webhook-id"],
    )  # fmt: skip
    assert {} == recording.left_out


def test_a_body_that_the_recorder_left_out_is_none_and_an_encoded_one_is_decoded(tmp_path: Path) -> None:
    without = entry("POST /v1/campaigns", 201, {"campaignId": "c"}, sent={"name": "x"})
    del without["request"]["postData"], without["response"]["content"]["text"]
    encoded = entry("GET /v1/campaigns", 200, LIST)
    encoded["response"]["content"] |= {
        "text": base64.b64encode(json.dumps(LIST).encode()).decode(),
        "encoding": "base64",
    }
    empty = entry("POST /v1/campaigns/campaign_1/cancel", 204)

    first, second, third = read_recording(write(tmp_path, without, encoded, empty)).exchanges

    assert (None, None, True) == (first.request_body, first.response_body, first.is_answered)
    assert LIST == second.response_json
    assert (b"", b"") == (third.request_body, third.response_body)


CASSETTE = """
interactions:
- request:
    body: '{"name": "x"}'
    headers:
      Content-Type: [application/json]
      X-API-Key: [sk_jewlrcunwropxcywym25ish2mrruiboh]
    method: POST
    uri: https://crm.example/api/v1/campaigns
  response:
    body:
      string: !!binary |
        eyJjYW1wYWlnbklkIjogImMifQ==
    headers:
      Content-Type: [application/json]
    status: {code: 201, message: Created}
- request: {body: null, headers: {}, method: GET, uri: 'https://crm.example/api/v1/campaigns/c'}
  response:
    body: {string: '{"id": "c"}'}
    headers: {}
    status: {code: 200, message: OK}
version: 1
"""


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_cassette_is_a_recording_without_times(tmp_path: Path, form: str) -> None:
    rows = YAML(typ="safe").load(CASSETTE)
    rows["interactions"][0]["response"]["body"]["string"] = '{"campaignId": "c"}'
    (tmp_path / "cassette").write_text(CASSETTE if form == "yaml" else json.dumps(rows), encoding="utf-8")

    recording = read_recording(tmp_path / "cassette")
    created, read = recording.exchanges

    assert (HASH, {"name": "x"}, 201, {"campaignId": "c"}) == (
        created.key, created.request_json, created.status, created.response_json,
    )  # fmt: skip
    assert ("readCampaign", None, False, True) == (read.operation, read.key, read.is_timed, precedes(created, read))


HTTPX_CASSETTE = """
interactions:
- request: {body: '{"name": "x"}', headers: {x-api-key: [sk_secret]}, method: POST, uri: 'https://crm.example/v1/campaigns'}
  response:
    content: '{"campaignId": "c"}'
    headers: {content-type: [application/json], content-encoding: [gzip]}
    http_version: HTTP/1.1
    status_code: 201
version: 1
"""


def test_a_cassette_that_vcrpy_4_and_5_wrote_of_httpx_is_a_recording(tmp_path: Path) -> None:
    (tmp_path / "cassette.yaml").write_text(HTTPX_CASSETTE, encoding="utf-8")

    (created,) = read_recording(tmp_path / "cassette.yaml").exchanges

    assert ("createCampaign", {"name": "x"}, 201, {"campaignId": "c"}, None) == (
        created.operation, created.request_json, created.status, created.response_json, created.trouble,
    )  # fmt: skip


ELSEWHERE = entry("GET /pixel.gif", 200, "gif", address="https://other.example")


ODD: dict[str, object] = {
    "no response": {key: value for key, value in ELSEWHERE.items() if key != "response"},
    "a null response": ELSEWHERE | {"response": None},
    "null": None,
    "no request": {"startedDateTime": "2026-03-01T12:00:00Z"},
    "a data: address": ELSEWHERE
    | {"request": {"method": "GET", "url": "data:image/png;base64,/v1/iVBORw0K"}, "time": "0"},
    "an address that is none": ELSEWHERE | {"request": {"method": "GET", "url": "https://[/v1/campaigns"}, "time": "0"},
    "a status as text": ELSEWHERE | {"response": {"status": "200"}},
    "a start that is no date": ELSEWHERE | {"startedDateTime": "yesterday"},
    "a time as text": ELSEWHERE | {"time": "5 ms"},
    "no timings": {key: value for key, value in ELSEWHERE.items() if key not in ("time", "timings")},
    "a status as text below /v1": entry("GET /v1/pixels", 200, "gif", address="https://other.example")
    | {"response": {"status": "200"}},
}


API = entry("GET /v1/campaigns/c", 200, {})
UNREADABLE: dict[str, object] = {
    "a null response of the API": API | {"response": None},
    "a status of the API as text": API | {"response": {"status": "200"}},
    "a start of the API that is no date": API | {"startedDateTime": "yesterday"},
    "a time of the API as text": API | {"time": "5 ms"},
}


@pytest.mark.parametrize("odd", [*ODD, *UNREADABLE])
def test_an_odd_entry_is_left_out_and_counted(tmp_path: Path, odd: str) -> None:
    document = har(entry("GET /v1/campaigns", 200, LIST), entry("GET /v1/message-templates", 200, {}))
    document["log"]["entries"].insert(1, (ODD | UNREADABLE)[odd])
    (tmp_path / "recording.har").write_text(json.dumps(document), encoding="utf-8")

    recording = read_recording(tmp_path / "recording.har")

    assert ["listCampaigns", "listTemplates"] == [each.operation for each in recording.exchanges]
    assert {"unfinished" if odd in UNREADABLE else "other": 1} == recording.left_out


WHOLE = json.dumps(har(entry("GET /v1/campaigns", 200, LIST)))
WRONG_DATE = entry("GET /v1/campaigns", 200, LIST, at="2026-13-45")
ENDLESS = json.dumps(har(entry("GET /v1/campaigns", 200, LIST, time=1))).replace('"time": 1,', '"time": 1e400,')
BODILESS = entry("GET /v1/campaigns", 200, LIST)
del BODILESS["response"]["content"]["text"]


GO_VCR = '{"version": 2, "interactions": [{"request": {"method": "GET", "url": "https://crm.example/v1/campaigns"}, "response": {"code": 200, "body": ""}}]}'


@each_row(
    ("content", "message"),
    [
        ("", "with nothing that a recording has; expected a HAR"),
        ("a: [1", "neither JSON nor YAML"),
        ("<!doctype html><title>HAR</title>", "with nothing that a recording has; expected a HAR"),
        (
            WHOLE.replace('"status": 200', '"status": 1e999'),
            "entry 1: got the status inf; expected a number such as 200, or 0",
        ),
        (
            WHOLE.replace('"status": 200', '"status": "200"'),
            "entry 1: got the status '200'; expected a number such as 200",
        ),
        ('{"log": {"entries": ' + "[" * 100_000, "which cannot be read (maximum recursion depth exceeded"),
        ("interactions: " + "[" * 20_000, "neither JSON nor YAML"),
        ("\0" * 1_000, "neither JSON nor YAML"),
        (
            WHOLE.replace("crm.example", "crm\0example"),
            "which cannot be read (Invalid control character at: line 1 column",
        ),
        (json.dumps(har({**entry("GET /v1/campaigns", 200, LIST), "response": None})), "entry 1: got no response"),
        (WHOLE.replace("2026-03-01", "99999-03-01"), "entry 1: got the start '99999-03-01T12:00:00.000Z'"),
        (WHOLE.replace('"time": 5', '"time": NaN'), "entry 1: got the time nan; expected milliseconds"),
        ("hello", "with nothing that a recording has; expected a HAR (log.entries), a cassette"),
        ('{"openapi": "3.1.0", "paths": {}}', "with openapi, paths; expected a HAR (log.entries), a cassette"),
        (json.dumps(har(BODILESS))[:-40], "which cannot be read ("),
        ('{"log": {"entries": [' + "9" * 5000 + "]}}", "which cannot be read (Exceeds the limit"),
        (json.dumps(har(WRONG_DATE)), "entry 1: got the start '2026-13-45'; expected a date and time of ISO 8601"),
        (ENDLESS, "entry 1: got the time inf; expected milliseconds"),
        (
            json.dumps(har(entry("GET /logo.png", 200, "png"))),
            "without a call of this API; its addresses begin with https://crm.example",
        ),
        (json.dumps(har()), "without a call of this API"),
        (json.dumps(har(BODILESS)), "without the bodies of answers"),
        (
            '{"exchanges": [{"at": "2026-03-01T12:00:00Z", "request": {"path": "/v1/campaigns", "headers": 1}}]}',
            "exchange 1: got headers of type int; expected an object",
        ),
        (
            '{"exchanges": [{"at": "2026-03-01T12:00:00Z", "request": {"path": "/v1/campaigns"}, "response": {"status": [200]}}]}',
            "exchange 1: got the status [200]; expected a number",
        ),
        (
            '{"exchanges": [{"at": "2026-03-01T12:00:00Z", "givenUp": true, "request": {"path": "/v1/campaigns"}}]}',
            "expected an export as its tool wrote it",
        ),
        ('{"interactions": [{}]}', "interaction 1: got no request with a response"),
        (
            GO_VCR,
            "interaction 1: got a request of method, url and a response of code, body; expected method, uri and status code",
        ),
        (
            "a: !!python/object:betamax.Cassette {}",
            "could not determine a constructor for the tag",
        ),
        ("http_interactions: []", "with http_interactions; expected a HAR (log.entries), a cassette (interactions)"),
        ('{"log": {"entries": [{"startedDateTime": 1}]}}', "entry 1: got no request; expected an entry of HAR 1.2"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "recording.har"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(RecordingError) as refused:
        read_recording(file)

    refusal = str(refused.value)
    assert refusal.startswith(("got recording.har", "recording.har, "))
    assert "\n" not in refusal
    assert message in refusal


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (gzip.compress(WHOLE.encode()), "is neither JSON nor YAML of plain values"),
        (b"PK\x03\x04" + bytes(30), "is neither JSON nor YAML of plain values"),
        (WHOLE.replace("crm", "cr\xe9").encode("latin-1"), "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_has_to_be_unpacked_or_encoded_is_named_so(tmp_path: Path, content: bytes, form: str) -> None:
    (tmp_path / "recording.har").write_bytes(content)

    with pytest.raises(RecordingError, match=rf"^got recording.har, which {form} \(.*\); expected a"):
        read_recording(tmp_path / "recording.har")


@pytest.mark.parametrize("status", ["null", "0", "-1"])
def test_an_entry_of_which_no_answer_arrived_has_the_status_of_any_recorder(tmp_path: Path, status: str) -> None:
    lost = json.dumps(entry("GET /v1/campaigns", 200, LIST)).replace('"status": 200', f'"status": {status}')
    (exchange, _) = read_recording(write(tmp_path, json.loads(lost), entry("GET /v1/campaigns", 200, LIST))).exchanges

    assert (None, "no-answer") == (exchange.status, exchange.trouble)


def test_answers_of_any_depth_are_read(tmp_path: Path) -> None:
    (exchange,) = read_recording(write(tmp_path, entry("GET /v1/campaigns", 200, "[" * 100_000))).exchanges

    assert "broken-body" == exchange.trouble


def test_a_body_that_has_a_length_was_left_out_even_if_its_size_is_zero(tmp_path: Path) -> None:
    """Playwright writes neither the text nor the size of a form with files."""
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "328"}
    (exchange,) = read_recording(
        write(tmp_path, entry("POST /v1/messaging/media", 201, "[]", headers=headers))
    ).exchanges

    assert exchange.request_body is None
