"""What a client of any language reads to repeat a run: the history, the replay document, and late calls."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, cli
from mockserver._json import JSON
from mockserver.testing.report.replay import replay
from tests.clients.operations import SESSIONS
from tests.server.control_calls import NOON, Made

TEMPLATE = {"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi, ção 🦷"}], "variables": []}
GIVEN = {"templates": [TEMPLATE], "chats": {"count": 2}}
BODY = {"name": "Ação 🦷", "platform": "chatapp", "templateId": "t", "cadence": 1}
SECRET, PUBLIC = "sk_test_secret_of_the_default_tenant", "pk_test_public_of_the_default_tenant"
KEYS = {"tenants": [{"id": "tenant_default", "secretKey": SECRET, "publicKey": PUBLIC}]}


@pytest.fixture
def recipe() -> JSON:
    return {"given": GIVEN}


@pytest.fixture
def sandbox() -> Sandbox:
    return MockServer().sandbox(given=GIVEN, now=NOON)


def test_the_steps_contain_what_was_done_and_what_is_due(made: Made) -> None:
    made.control("POST", "/clock/advance", {"by": "20m"})
    campaign = made.api("POST", "/v1/campaigns", BODY).json()["campaignId"]
    execution = made.api("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]
    made.control("PATCH", "/choices", {"dual-status": "guide"})

    shown = made.control("GET", "/steps").json()

    first = {"at": "2026-03-01T12:00:00.000Z", "exchanges": 0, "transitions": 0, "command": "advance"}
    second = {"at": "2026-03-01T12:20:00.000Z", "exchanges": 2, "transitions": 3, "command": "choose"}
    due = {"at": "2026-03-01T12:21:00.000Z", "what": "execution.finish", "id": execution}
    assert {
        "now": "2026-03-01T12:20:00.000Z",
        "exchanges": 2,
        "steps": [first | {"arguments": {"by": "20m"}}, second | {"arguments": {"dual-status": "guide"}}],
        "dropped": 0,
        "deferred": [],
        "due": due,
        "failing": [],
        "coming": [due],
        "unmoved": None,
        "apart": None,
    } == shown


def test_the_link_of_a_hosted_page_is_only_for_the_end_user(sandbox: Sandbox) -> None:
    session = sandbox.call("POST", SESSIONS, json={}).json()
    sandbox.end_user(session).connect()

    shown = sandbox.call("GET", "/_mock/steps")

    assert {"visit"} == {step["command"] for step in shown.json()["steps"]}
    assert session["url"].rpartition("/")[2].encode() not in shown.body


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("ascii_alone", [True, False])
def test_the_document_that_is_saved_as_json_is_sent_again(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], indent: Any, ascii_alone: bool
) -> None:
    campaign = made.api("POST", "/v1/campaigns", BODY).json()["campaignId"]
    made.api("POST", f"/v1/campaigns/{campaign}/start")
    made.control("POST", "/clock/advance", {"by": "1s"})
    made.api("GET", f"/v1/campaigns/{campaign}")
    made.api("POST", SESSIONS, {})
    document = made.control("GET", "/replay?name=mine").json()
    file = tmp_path / "failed.json"
    file.write_text(json.dumps(document, indent=indent, ensure_ascii=ascii_alone), encoding="utf-8")

    assert 0 == cli.main(["replay-calls", str(file)])

    assert "mine" == document["scenario"]
    assert capsys.readouterr().out.endswith("5 calls and commands, none with another outcome than recorded\n")


@pytest.mark.parametrize(("size_chars", "replayed"), [(20, []), (100_000, ["not sent"])])
def test_a_number_that_no_double_represents_is_replayed_exactly(
    sandbox: Sandbox, size_chars: int, replayed: list[str]
) -> None:
    """A cadence a little above 1 is refused; the double next to it is 1, which is taken."""
    body = BODY | {"cadence": 2}
    written = json.dumps(body).replace('"cadence": 2', f'"cadence": 1.{"0" * size_chars}1').encode()
    refused = sandbox.call("POST", "/v1/campaigns", body=written, headers={"content-type": "application/json"})

    document = sandbox.call("GET", "/_mock/replay")

    assert (400, 200) == (refused.status, document.status)
    assert replayed == [each.label.rpartition(", ")[2] for each in replay(document.json()) if each.differences]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f'{{"name": "{SECRET}'.encode(), "application/json"),
        (f'{{"name": NaN, "k": "{SECRET}"}}'.encode(), "application/json"),
        (b"\xff\x00" + SECRET.encode() + b"\xff", "multipart/form-data; boundary=x"),
        (b"\xff%E2%82%AC sk_live_of_the_default_of_another " + SECRET.encode(), "application/octet-stream"),
        (f"a={SECRET}&b={PUBLIC}".encode(), "application/x-www-form-urlencoded"),
        (f"a={SECRET.replace('_', '%5F')}".encode(), "application/x-www-form-urlencoded"),
    ],
)
def test_no_key_is_in_a_body_that_is_not_json(body: bytes, kind: str) -> None:
    sandbox = MockServer().sandbox(given=KEYS, now=NOON)
    sandbox.call("POST", "/v1/campaigns", body=body, headers={"content-type": kind})

    written = sandbox.call("GET", "/_mock/replay").body.decode()

    hidden = [base64.b64decode(each).decode("latin-1") for each in re.findall(r'"base64":"([^"]*)"', written)]
    text = "".join([written, *hidden]).replace("%5F", "_")
    assert "of_the_default" not in text
    assert "sk_..." in text
