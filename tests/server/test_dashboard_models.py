"""The plain JSON that the macros of the pages take: rows in order, drawings, snippets that run, and checks of signatures."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.contract.clauses import sentence_of
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.report import pages
from mockserver.server.control.page_access import PageAccess
from mockserver.server.dashboard import calls, events, objects, timeline
from mockserver.wire.request import HttpRequest

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": "template_atualizacao_cadastro", "cadence": 10}


def journal(sandbox: Sandbox) -> Any:
    return sandbox.call("GET", "/_mock/journal").json()


@pytest.mark.mockserver(scenario="demo")
def plane_of(sandbox: Sandbox) -> PageAccess:
    """The control plane of a request for a page of a sandbox."""
    hosted = sandbox._hosted
    request = HttpRequest.create("GET", "/_mock/", {}, b"", "http://127.0.0.1:5055")
    return PageAccess(hosted.host, hosted, request)


def copies(sandbox: Sandbox, number: int) -> Mapping[str, str]:
    """A call in the forms in which its page has it to copy."""
    plane = plane_of(sandbox)
    call = plane.call(number)
    assert call is not None
    return calls.snippets(plane, call)


@pytest.mark.mockserver(scenario="demo")
def test_the_python_snippet_is_a_test_that_passes(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN)
    mockserver.call("GET", "/v1/campaigns?limit=3&cursor='%22")
    mockserver.call("POST", "/v1/campaigns", body=b'{"name": "\xc3\xa9')
    for text in [copies(mockserver, number)["Python test"] for number in (1, 2, 3)]:
        mockserver.call("POST", "/_mock/reset")
        defined: dict[str, Any] = {}
        exec(text, defined)  # noqa: S102 - the snippet is the mock's own
        next(value for name, value in defined.items() if name.startswith("test_"))(mockserver)


@pytest.mark.mockserver(scenario="demo")
def test_the_curl_of_a_call_has_its_address_its_body_and_the_key(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns?x='$(id)'", json={**CAMPAIGN, "name": "a'b $(id)"})
    words = shlex.split(copies(mockserver, 1)["curl"])

    assert ["curl", "-X", "POST", "http://127.0.0.1:5055/v1/campaigns?x=%27%24%28id%29%27"] == words[:4]
    assert f"X-API-Key: {mockserver.secret_key}" in words
    assert {**CAMPAIGN, "name": "a'b $(id)"} == json.loads(words[words.index("--data-raw") + 1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on the PATH")
def test_the_curl_of_a_call_sends_it_again() -> None:
    with MockServer() as server:
        sandbox = server.sandbox(scenario="demo")
        refused = requests.post(
            f"{sandbox.base_url}/v1/campaigns",
            json={**CAMPAIGN, "cadence": 0},
            headers={"X-API-Key": sandbox.secret_key},
            timeout=60,
        )
        text = requests.get(f"{sandbox.base_url}/_mock/now", headers={"Accept": "text/html"}, timeout=60).text
        (shown,) = re.findall(r'aria-label="curl">(.*?)</pre>', text, re.DOTALL)
        done = subprocess.run(["sh", "-c", f"{unescape(shown)} -s"], capture_output=True, timeout=60, check=True)

    assert refused.status_code == 400
    assert refused.json() == json.loads(done.stdout)


@pytest.mark.mockserver(scenario="demo")
def test_a_call_has_its_clause_its_sentence_and_its_changes(mockserver: Sandbox) -> None:
    campaign = mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    for _ in range(2):
        mockserver.call("POST", f"/v1/campaigns/{campaign}/start", json={})
    plane = plane_of(mockserver)
    _, started, refused = (calls.call_model(plane.call(number) or {}, {}) for number in (1, 2, 3))

    assert {("draft", "processing"), (None, "processing")} == {(row["from"], row["to"]) for row in started["changes"]}
    assert [] == refused["changes"]
    assert refused["sentence"] is not None
    assert sentence_of(refused["clause"]) == refused["sentence"]
    assert refused["reason"].startswith(refused["clause"])


@pytest.mark.mockserver(scenario="demo")
@pytest.mark.parametrize("forge", [None, "wrong-secret", "no-signature", "changed-body", "junk-header"])
def test_a_signature_is_checked_part_by_part(mockserver: Sandbox, forge: str | None) -> None:
    mockserver.receive_webhooks(lambda request: 204)
    if forge is not None:
        mockserver.apply(script=[{"on": "delivery", "do": {"deliver": {"forge": forge}}}])
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    event = mockserver.call("GET", f"/_mock/events/{mockserver.events[0]['id']}").json()
    (delivery,) = events.event_model(event)["deliveries"]
    by_fault = {attempt["fault"]: attempt["checks"] for attempt in delivery["attempts"]}
    holds = {fault: all(check["holds"] for check in checks) for fault, checks in by_fault.items()}

    assert {None: True} | ({forge: False} if forge else {}) == holds
    assert {"id", "timestamp", "body", "signature"} == {check["part"] for check in by_fault[None]}


@pytest.mark.mockserver(scenario="demo")
@pytest.mark.parametrize("scheme", ["standard-webhooks", "svix", "stripe", "hub-sha256"])
def test_each_scheme_is_checked_and_a_former_secret_is_named(mockserver: Sandbox, scheme: str) -> None:
    mockserver.choose({"wh-signature": scheme})
    mockserver.receive_webhooks(lambda request: 204)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    event = mockserver.events[0]["id"]
    webhook = mockserver.call("GET", "/_mock/state").json()["tenants"][0]["webhooks"][0]["id"]
    mockserver.call("POST", f"/_mock/webhooks/{webhook}/rotate", json={"secret": "whsec_bmV3LXNlY3JldA=="})
    (delivery,) = mockserver.call("GET", f"/_mock/events/{event}").json()["deliveries"]

    assert [(scheme, "former")] == [
        (attempt["signature"]["scheme"], attempt["signature"]["signatures"][0]["secret"])
        for attempt in delivery["attempts"]
    ]


@pytest.mark.mockserver(scenario="demo")
def test_a_session_has_its_legal_steps_and_the_link_of_its_end_user(mockserver: Sandbox) -> None:
    created = mockserver.call("POST", SESSIONS, json={}).json()
    seen = journal(mockserver)
    state = mockserver.call("GET", "/_mock/state").json()
    kind = next(kind for kind in objects.KINDS if kind.name == "session")
    row = next(iter(objects._rows(state, kind)))
    model = objects.object_model(kind, row, seen, seen["exchanges"][0])

    assert {"complete", "fail", "cancel as the end user", "expire"} == {step["label"] for step in model["steps"]}
    assert created["url"].endswith(model["hosted_page"])
    mockserver.expire_session(created["sessionId"])
    state = mockserver.call("GET", "/_mock/state").json()
    ended = objects.object_model(kind, next(iter(objects._rows(state, kind))), journal(mockserver), None)
    assert [] == ended["steps"]


def model_of_timeline(sandbox: Sandbox) -> Any:
    history = sandbox.call("GET", "/_mock/steps").json()
    names = plane_of(sandbox).names(row["id"] for row in history["coming"])
    return timeline.timeline_model(journal(sandbox), history["coming"], names, history["now"])


@pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z")
def test_what_is_to_come_is_to_the_right_of_now_on_the_row_of_its_record(mockserver: Sandbox) -> None:
    campaign = mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{campaign}/start", json={})
    mockserver.call("POST", SESSIONS, json={})
    model = model_of_timeline(mockserver)
    coming = {row["kind"]: row["marks"][-1] for row in model["rows"] if row["marks"][-1]["state"] == "coming"}

    assert {"execution", "session"} == coming.keys()
    assert all(mark["x"] > model["now_x"] for mark in coming.values())
    assert "the last message of Março" in coming["execution"]["words"]
    assert "execution Março" in {row["label"] for row in model["rows"]}


@pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z")
def test_the_timeline_folds_long_gaps_and_keeps_the_order(mockserver: Sandbox) -> None:
    for wait in ("10s", "30d", "10s"):
        mockserver.call("POST", SESSIONS, json={})
        mockserver.advance(wait)
    model = model_of_timeline(mockserver)
    begins = [row["begin"] for row in reversed(model["rows"]) if row["last"] == "expired"]

    assert ["20m", "29d 23h"] == [fold["text"] for fold in model["folds"]] or len(model["folds"]) >= 1
    assert sorted(begins) == begins
    assert model["width"] < 1_500
    assert 3 == model["total"]
    assert ["2026-03-01", "2026-03-31"] == [tick["day"] for tick in model["ticks"] if tick["day"]]


@pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z")
def test_the_line_of_a_thing_ends_at_its_last_state_or_at_the_present(mockserver: Sandbox) -> None:
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance("5s")
    mockserver.call("POST", SESSIONS, json={})
    mockserver.advance("5s")
    model = model_of_timeline(mockserver)
    ends = {row["last"]: row["end"] for row in model["rows"]}

    assert ends["completed"] < ends["pending"] == model["now_x"]


@pytest.mark.parametrize("kind", ["campaign", "execution", "session"])
def test_each_legal_step_has_a_command_or_what_causes_it(kind: str) -> None:
    steps = [step for state in LIFECYCLES[kind].states for step in objects._steps(kind, state, "id_1")]

    assert [] == [step for step in steps if not step["path"] and not step["remark"]]


@pytest.mark.parametrize(
    ("span", "text"),
    [(0, "0s"), (1_500_000, "1.5s"), (90_000_000, "1m 30s"), (1_200_000_000, "20m"), (90_061_000_000, "1d 1h")],
)
def test_a_span_has_its_two_largest_units(span: int, text: str) -> None:
    assert text == pages.duration(span)


def test_characters_that_hide_or_reorder_text_are_shown() -> None:
    assert "a\\u202eb\\u0000\\u001b[31m" == pages.visible("a\u202eb\0\x1b[31m")


@pytest.mark.parametrize(("chars", "text"), [(7, "ab...ij"), (9, "abc...hij"), (10, "abcdefghij")])
def test_a_long_text_keeps_its_begin_and_its_end(chars: int, text: str) -> None:
    assert text == timeline.shortened("abcdefghij", chars)


@pytest.mark.mockserver(scenario="demo")
def test_an_event_that_cannot_be_sent_again_has_the_reason(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 500)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    event = mockserver.call("GET", f"/_mock/events/{mockserver.events[0]['id']}").json()

    assert (
        "Its deliveries have not ended yet: waiting. Advance to the next attempt."
        == events.event_model(event)["why_not"]
    )
    assert "No endpoint is registered for it." == events.event_model({**event, "deliveries": []})["why_not"]
