"""The HAR of a sandbox: what HAR 1.2 requires of it, what it shows, and that it reads back as the same calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox, sample_file
from mockserver._json import JSON
from mockserver.trace.order import precedes
from mockserver.trace.reading import read_recording

_MESSAGE = "httpVersion cookies headers headersSize bodySize"
# What HAR 1.2 requires: http://www.softwareishard.com/blog/har-12-spec
HAR_12 = {
    "log": "version creator entries",
    "creator": "name version",
    "entries": "startedDateTime time request response cache timings",
    "request": f"method url queryString {_MESSAGE}",
    "response": f"status statusText content redirectURL {_MESSAGE}",
    "content": "size mimeType",
    "timings": "send wait receive",
    "postData": "mimeType params",
    "headers": "name value",
    "queryString": "name value",
}


def missing(value: Any, name: str = "") -> Iterator[str]:
    """Yield the members that an object of a HAR lacks, with its own name."""
    if isinstance(value, list):
        for each in value:
            yield from missing(each, name)
    elif isinstance(value, dict):
        yield from (f"{name}.{member}" for member in HAR_12.get(name, "").split() if member not in value)
        for member, each in value.items():
            yield from missing(each, member)


def live(sandbox: Sandbox) -> None:
    """A life with a wait, an upload, a refusal, a lost answer, an event, and a second tenant's call."""
    sandbox.freeze("2026-03-01T12:00:00Z")
    sandbox.apply({"given": {"templates": [{"id": "template_hello"}], "chats": {"count": 3}}})
    sandbox.receive_webhooks(lambda request: 204)
    headers, url = {"X-API-Key": sandbox.secret_key}, f"{sandbox.base_url}/v1"
    draft = {"name": "Olá", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}
    campaign = requests.post(f"{url}/campaigns", json=draft, headers=headers, timeout=60).json()["campaignId"]
    sandbox.on("startCampaign").drop("after")
    try:
        requests.post(f"{url}/campaigns/{campaign}/start", headers=headers, timeout=60)
    except requests.ConnectionError:
        sandbox.advance(minutes=1)
    requests.get(f"{url}/campaigns/{campaign}?note=a%20b", headers=headers, timeout=60)
    session = requests.post(f"{url}/entrypoints/chatapp/connection-sessions", headers=headers, timeout=60).json()
    sandbox.complete_session(session["sessionId"])
    requests.post(
        f"{url}/messaging/media",
        files={"files": ("a.png", sample_file("image/png"), "image/png")},
        headers=headers,
        timeout=60,
    )
    requests.get(f"{url}/campaigns/none", headers={"X-API-Key": "sk_of_no_tenant_at_all"}, timeout=60)


def test_a_sandbox_has_its_calls_and_deliveries_as_har_1_2() -> None:
    with MockServer() as server:
        sandbox = server.sandbox()
        live(sandbox)
        document: JSON = sandbox.log.har()

        assert ("1.2", []) == (document["log"]["version"], list(missing(document)))
        for row in document["log"]["entries"]:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", row["startedDateTime"])
            assert re.match("https?://[^/]+/", row["request"]["url"])
            assert row["time"] >= 0
        rows = [
            (row["request"]["method"], row["response"]["status"], row["_mockserver"])
            for row in document["log"]["entries"]
        ]

    calls, (delivery,) = rows[:-1], rows[-1:]
    operations = "createCampaign startCampaign readCampaign createConnectionSession uploadMedia readCampaign"
    assert operations.split() == [note["operation"] for *_, note in calls]
    assert [201, 0, 200, 202, 201, 401] == [status for _, status, _ in calls]
    assert ("POST", 204, True) == (*delivery[:2], delivery[2]["event"].startswith("event_"))


@pytest.mark.parametrize("form", ["har", "journal"])
def test_an_export_reads_back_as_the_same_calls_in_their_order(form: str, tmp_path: Path) -> None:
    file = tmp_path / form
    with MockServer() as server:
        sandbox = server.sandbox()
        live(sandbox)
        file.write_text(json.dumps(sandbox.log.har() if form == "har" else sandbox.log.journal), encoding="utf-8")
        entries: list[Any] = list(sandbox._backend.local("the journal").hosted.sandbox.journal.exchanges)
        secret = sandbox.secret_key

    recording = read_recording(file)

    assert [(entry.operation, entry.status) for entry in entries] == [
        (each.operation, each.status) for each in recording.exchanges
    ]
    first, read = recording.exchanges[0], recording.exchanges[2]
    assert ("Olá", *(json.loads(entries[n].answer) for n in (0, 2))) == (
        first.request_json["name"], first.response_json, read.response_json,
    )  # fmt: skip
    if form == "har":
        assert [entry.call.body for entry in entries] == [each.request_body for each in recording.exchanges]
    assert precedes(*recording.exchanges[:2])
    assert 60_000_000 == read.sent_at - first.sent_at
    assert 2 == len(recording.by_key)
    assert secret not in file.read_text(encoding="utf-8")
    assert (form == "har", {}) == (len(recording.deliveries) == 1, recording.left_out)
