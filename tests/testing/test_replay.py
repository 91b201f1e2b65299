"""A failing run's document, sent again: the same answers byte for byte, and words where one differs."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox, cli
from mockserver.scenario import documents
from mockserver.scenario.documents import read_file
from mockserver.testing.report.replay import ReplayedEntry, print_replay, replay
from tests.clients.operations import SESSIONS
from tests.harness.lines import lacking
from tests.harness.rows import each_row
from tests.testing.conftest import Suite

NOW = "2026-03-01T12:00:00Z"
TEMPLATE = {"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}
GIVEN = {"templates": [TEMPLATE], "chats": [{"id": f"chat_{number}"} for number in range(3)]}
BODY = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}


def create(sandbox: Sandbox, **how: Any) -> Any:
    return sandbox.call("POST", "/v1/campaigns", json=BODY, **how).json().get("campaignId")


def campaigning(sandbox: Sandbox) -> None:
    campaign = create(sandbox)
    sandbox.call("POST", f"/v1/campaigns/{campaign}/start", json={"commonVariables": {"var1": "ç"}})
    sandbox.advance("90s")
    sandbox.call("GET", f"/v1/campaigns/{campaign}")
    sandbox.admin.fail_campaign(campaign)
    sandbox.call("GET", f"/v1/campaigns/{campaign}")
    sandbox.call("GET", "/v1/campaigns?x=a%20b&x=2", headers={"x-own": "header"})


def setting(sandbox: Sandbox) -> None:
    sandbox.choose({"dual-status": "guide"})
    sandbox.call("POST", "/v1/campaigns", json={})
    sandbox.apply(
        {"scenario": "more", "given": {"forms": [{"id": "f", "iframeEmbedAllowedOrigins": ["https://a.example"]}]}}
    )
    sandbox.call("GET", "/v1/forms/f/embed-frame-policy", key=sandbox.public_key)
    sandbox.admin.set_tenant(subscription="suspended")
    sandbox.call("GET", "/v1/campaigns")
    sandbox.freeze("2026-03-02T00:00:00Z")
    sandbox.admin.set_tenant(subscription="active")
    sandbox.call("GET", "/v1/campaigns")


def keys(sandbox: Sandbox) -> None:
    applied = sandbox.apply({"given": {"tenants": [{"id": "tenant_b", "secretKey": "sk_a_key_of_the_test"}]}})
    for key in ("", "sk_unknown", sandbox.public_key, applied["tenants"][0]["secretKey"]):
        sandbox.call("GET", "/v1/campaigns", key=key)


def keys_that_end(sandbox: Sandbox) -> None:
    sandbox.on("createCampaign").rotate_key()
    sandbox.on("listTemplates").nth(1).revoke_key(kind="public")
    former, public = sandbox.secret_key, sandbox.public_key
    sandbox.call("GET", "/v1/campaigns", key=former)
    sandbox.call("GET", "/v1/forms/f/embed-frame-policy", key=public)
    create(sandbox, key=former)
    sandbox.call("GET", "/v1/message-templates")
    for key in (former, public, sandbox.secret_key):
        sandbox.call("GET", "/v1/campaigns", key=key)


def bodies(sandbox: Sandbox) -> None:
    for body in (b"{", b"\xff\x00\r\n", b"", "ã\n".encode()):
        sandbox.call("POST", "/v1/campaigns", body=body, headers={"content-type": "application/json"})
    form = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n\x89PNG\r\n\x1a\n\x00\r\n--x--\r\n'
    sandbox.call("POST", "/v1/messaging/media", body=form, headers={"content-type": "multipart/form-data; boundary=x"})
    sandbox.call("POST", "/v1/campaigns", json={**BODY, "description": "x" * 30_000})


def scripted(sandbox: Sandbox) -> None:
    sandbox.on("createCampaign").nth(1).drop("after")
    sandbox.on("createCampaign").nth(2).truncate(10)
    sandbox.on("listCampaigns").nth(1).error("INTERNAL_ERROR")
    sandbox.on("listCampaigns").nth(2).dribble(3, over="9s")
    sandbox.on("listTemplates").delay_after("30s")
    for call in (create, create, lambda each: each.call("GET", "/v1/message-templates", timeout=2)):
        with pytest.raises(Exception, match=r"closed|IncompleteRead|timed out"):
            call(sandbox)
    sandbox.call("GET", "/v1/campaigns")
    sandbox.call("GET", "/v1/campaigns", timeout=20)


def parked(sandbox: Sandbox) -> None:
    sandbox.on("createCampaign").nth(1).delay("30s")
    with pytest.raises(TimeoutError):
        create(sandbox, timeout=4)
    sandbox.call("GET", "/v1/campaigns")
    sandbox.advance("1m")
    sandbox.call("GET", "/v1/campaigns")


def visiting(sandbox: Sandbox) -> None:
    session = sandbox.call("POST", SESSIONS, json={}).json()
    sandbox.end_user(session).connect()
    sandbox.call("GET", f"{SESSIONS}/{session['sessionId']}")


RUNS: tuple[Callable[[Sandbox], None], ...] = (
    campaigning,
    setting,
    keys,
    keys_that_end,
    bodies,
    scripted,
    parked,
    visiting,
)


def received(sandbox: Sandbox) -> list[tuple[int | None, bytes]]:
    return [(each.status, each.answer) for each in sandbox._hosted.sandbox.journal.exchanges]


def again(document: Any) -> list[ReplayedEntry]:
    return list(replay(document))


@each_row("run", RUNS)
@each_row("settings", [{"now": NOW}, {"now": NOW, "seed": 7, "profile": "hostile"}])
def test_a_document_repeats_its_run_byte_for_byte(
    tmp_path: Path, run: Callable[[Sandbox], None], settings: dict[str, Any]
) -> None:
    sandbox = MockServer().sandbox(given=GIVEN, **settings)
    run(sandbox)
    file = tmp_path / "run.yaml"
    file.write_text(documents.dump(sandbox.log.replay_document() or {}), encoding="utf-8")

    outcomes = again(read_file(file))

    assert [] == [each for each in outcomes if each.differences]
    answered = [(each.answer["status"], each.body) for each in outcomes if each.answer and " /v1/" in each.label]
    assert answered == [each for each in received(sandbox) if each[0] is not None]


def test_a_run_whose_clock_followed_the_processs_is_repeated_at_its_own_instants() -> None:
    sandbox = MockServer().sandbox(given=GIVEN, clock="follow")
    campaign = create(sandbox)
    sandbox.call("POST", f"/v1/campaigns/{campaign}/start")
    sandbox.advance("90s")
    sandbox.call("GET", f"/v1/campaigns/{campaign}")

    document = sandbox.log.replay_document() or {}

    assert all("at" in entry for entry in document["calls"])
    assert [] == [each for each in again(document) if each.differences]


def test_a_run_over_a_socket_is_repeated_without_its_real_waits() -> None:
    with MockServer() as server:
        sandbox = server.sandbox(given=GIVEN, now=NOW)
        sandbox.on("createCampaign").delay(0.01)
        answer = requests.post(
            f"{sandbox.base_url}/v1/campaigns", json=BODY, headers={"X-API-Key": sandbox.secret_key}, timeout=10
        )
        session = requests.post(
            f"{sandbox.base_url}{SESSIONS}", json={}, headers={"X-API-Key": sandbox.secret_key}, timeout=10
        )
        document = sandbox.log.replay_document() or {}

    outcomes = again(document)
    assert "socket" == document["calls"][1]["waits"]
    assert "{base_url}" in document["calls"][2]["answer"]["body"]["url"]
    assert [] == [each.differences for each in outcomes if each.differences]
    assert [answer.status_code, session.status_code] == [each.answer["status"] for each in outcomes if each.answer]


def test_calls_undone_by_a_restored_checkpoint_are_not_replayed() -> None:
    sandbox = MockServer().sandbox(given=GIVEN, now=NOW)
    sandbox.call("GET", "/v1/campaigns")
    with sandbox.checkpoint():
        sandbox.advance("1h")
        create(sandbox)
    sandbox.choose({"dual-status": "guide"})

    calls = (sandbox.log.replay_document() or {})["calls"]

    assert ["GET /v1/campaigns", "choose"] == [each.get("call") or each["do"] for each in calls]


def test_a_different_response_is_reported_by_leaf_and_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox = MockServer().sandbox(given=GIVEN, now=NOW)
    create(sandbox)
    document = sandbox.log.replay_document() or {}
    document["calls"][0]["answer"]["body"]["status"] = "processing"
    document["calls"].append({"call": "GET /v1/campaigns", "answer": None})
    document["calls"].append({"do": "advance", "with": {"by": "-1m"}})
    file = tmp_path / "run.yaml"
    file.write_text(documents.dump(document), encoding="utf-8")

    assert 1 == cli.main(["replay-calls", str(file)])

    lines = [each for each in capsys.readouterr().out.splitlines() if not each.startswith("  {")]
    assert [] == lacking(
        lines,
        [
            ("POST /v1/campaigns", "201"),
            ("answer.body.status", "'draft'", "'processing'"),
            ("GET /v1/campaigns", "200"),
            ("200", "no answer"),
            ("advance", "-1m"),
            ("refused", "by: got '-1m'"),
            ("3 calls and commands", "3 with another outcome"),
        ],
    )


@pytest.mark.parametrize("calls", [{}, {"calls": []}])
def test_a_document_without_calls_is_refused_since_it_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], calls: dict[str, Any]
) -> None:
    file = tmp_path / "machine.yaml"
    script = [{"on": "startCampaign", "nth": 1, "do": {"drop": "after"}}]
    file.write_text(documents.dump({"scenario": "machine", "script": script, **calls}), encoding="utf-8")

    assert 2 == cli.main(["replay-calls", str(file)])
    out, err = capsys.readouterr()
    assert "" == out
    assert err.startswith("mockserver: got the document 'machine' without calls; expected calls to send again: ")


def test_a_failing_tests_document_repeats_it_and_is_a_scenario_for_a_mark(suite: Suite) -> None:
    suite.run(
        f"""
        import pytest

        @pytest.mark.mockserver(given={GIVEN!r}, seed=7, now="{NOW}", choices={{"success-status": "all-200"}})
        def test_it(mockserver):
            assert 201 == mockserver.call("POST", "/v1/campaigns", json={BODY!r}).status
        """
    )
    file = suite.file(".mockserver/failures/test_mine.py.test_it.yaml")
    document = read_file(file)

    assert [200] == [each.answer["status"] for each in again(document) if each.answer and not each.differences]
    result = suite.run(
        f"""
        import pytest

        @pytest.mark.mockserver(scenario={str(file)!r})
        def test_it(mockserver):
            assert "2026-03-01T12:00:00+00:00" == mockserver.now.isoformat()
            assert 7 == mockserver.state()["seed"]
            assert 200 == mockserver.call("POST", "/v1/campaigns", json={BODY!r}).status
        """
    )
    result.assert_outcomes(passed=1)


def test_commands_on_endpoints_are_left_out_since_a_repeated_run_has_no_receivers(mockserver: Sandbox) -> None:
    receiver = mockserver.receive_webhooks(lambda _: 204)
    mockserver.fail_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.webhooks.rotate(receiver.id, "whsec_" + "A" * 32)
    mockserver.webhooks.redeliver(mockserver.events[0]["id"])
    mockserver.webhooks.recover(receiver.id)

    document = mockserver.log.replay_document("events")

    assert ["POST", "fail_session"] == [each.get("do") or each["call"].split()[0] for each in document["calls"]]
    assert 0 == print_replay(document, io.StringIO())
