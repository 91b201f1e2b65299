"""Assertions on a sandbox's calls: which there were, in what order, and the message of a mismatch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from freezegun import freeze_time

from mockserver import MockServer, Sandbox
from mockserver.testing.calls import CallMismatch
from tests.harness.lines import lacking

TEMPLATE = {"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}
BODY = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    server = MockServer()
    yield server.sandbox(given={"templates": [TEMPLATE], "chats": [{"id": "one"}]}, now="2026-03-01T12:00:00Z")
    server.close()


def create(sandbox: Sandbox, **other: Any) -> str:
    found: str = sandbox.call("POST", "/v1/campaigns", json={**BODY, **other}).json().get("campaignId")
    return found


def missed(ask: Any) -> list[str]:
    with pytest.raises(CallMismatch) as miss:
        ask()
    return str(miss.value).splitlines()


def test_one_is_the_only_call_with_its_body_and_answer(sandbox: Sandbox) -> None:
    campaign = create(sandbox, name="promo")

    call = sandbox.calls("createCampaign").one()

    assert (1, "createCampaign", "POST", 201) == (call.n, call.operation, call.method, call.status)
    assert "promo" == call.body["name"]
    assert campaign == call.answer["campaignId"]
    assert sandbox.now == call.at
    assert (True, None, None, None) == (call.applied, call.code, call.reason, call.fault)


def test_an_operation_is_named_by_id_by_its_path_or_by_a_star(sandbox: Sandbox) -> None:
    create(sandbox)
    sandbox.call("GET", "/v1/campaigns")

    assert [1] == [each.n for each in sandbox.calls("POST /v1/campaigns")]
    assert [1, 2] == [each.n for each in sandbox.calls("*")]
    with pytest.raises(ValueError, match="did you mean 'createCampaign'"):
        sandbox.calls("createCampain")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({"name": "promo"}, [1]),
        ({"cadence": ">=2"}, [2]),
        ({"body": {"name": "promo", "cadence": 1}}, [1]),
        ({"body": {"filters": [{"combinator": "and", "statements": []}]}}, [2]),
        ({"header": {"x-try": "1"}}, []),
        ({"status": 201}, [1]),
        ({"body.name": "~o"}, [1, 2]),
        ({"name": "nobody"}, []),
    ],
)
def test_where_takes_values_of_the_body_by_name_and_anything_by_path(
    sandbox: Sandbox, conditions: dict[str, Any], found: list[int]
) -> None:
    create(sandbox, name="promo")
    create(sandbox, name="outro", cadence=2, filters=[{"combinator": "and", "statements": []}])

    assert found == [each.n for each in sandbox.calls("createCampaign").where(**conditions)]


def test_where_matches_path_and_query_and_narrows_step_by_step(sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/messaging/chats/one?limit=2")
    sandbox.call("GET", "/v1/messaging/chats/none?limit=2")

    calls = sandbox.calls("listMessages").where({"query.limit": "2"})

    assert 2 == len(calls)
    assert [1] == [each.n for each in calls.where({"path.chatId": "one"})]
    assert 404 == calls.last.status
    with pytest.raises(ValueError, match="got the path 'pth.id'; expected status, or one that begins with path"):
        calls.where({"pth.id": "one"})


def test_none_and_times_pass_or_report_the_count(sandbox: Sandbox) -> None:
    sandbox.calls("startCampaign").none()
    create(sandbox)
    sandbox.calls("createCampaign").times(1)

    assert "expected no call of createCampaign, got 1" == missed(sandbox.calls("createCampaign").none)[0]
    assert (
        "expected exactly 2 calls of createCampaign, got 1"
        == missed(lambda: sandbox.calls("createCampaign").times(2))[0]
    )
    assert "expected at least 1 call of startCampaign, got 0" == missed(lambda: sandbox.calls("startCampaign").last)[0]


def test_a_miss_shows_the_nearest_call_its_differences_and_the_journal(sandbox: Sandbox) -> None:
    create(sandbox, name="other", cadence=7)
    create(sandbox, name="promo ", cadence=0)

    lines = missed(sandbox.calls("createCampaign").where(name="promo", cadence=0, description="d").one)
    assert [] == lacking(
        lines,
        [
            ("1 call of createCampaign", "body.name = 'promo'", "body.cadence = 0", "body.description = 'd'", "got 0"),
            ("#2", "createCampaign", "400 VALIDATION_ERROR"),
            ("body.name", "'promo '", "'promo'"),
            ("body.description", "no value", "'d'"),
            ("campaigns.cadence", "/cadence", "0", "at least 1"),
            ("all calls",),
            ("#1", "createCampaign", "201"),
            ("#2", "createCampaign", "400 VALIDATION_ERROR"),
        ],
    )


def test_no_exchange_or_mismatch_contains_a_key(sandbox: Sandbox) -> None:
    create(sandbox, name=sandbox.secret_key)

    call = sandbox.calls("createCampaign").one()

    assert ("sk_...", "sk_...") == (call.headers["x-api-key"], call.body["name"])
    assert sandbox.secret_key not in repr(call)


def test_the_body_of_a_refused_call_is_an_assertion_error_with_the_reason(sandbox: Sandbox) -> None:
    create(sandbox, templateId="nope")
    call = sandbox.calls("createCampaign").one()

    assert "MESSAGE_TEMPLATE_NOT_FOUND" == call.code == call.body_received["code"]
    with pytest.raises(AssertionError, match="expected a success, got #1 createCampaign .* because campaigns.template"):
        _ = call.answer


def test_a_call_without_an_answer_has_its_fault(sandbox: Sandbox) -> None:
    sandbox.on("createCampaign").drop("after")
    with pytest.raises(ConnectionError):
        create(sandbox)

    call = sandbox.calls("createCampaign").one()

    assert (None, True, "rule_1") == (call.status, call.applied, (call.fault or {})["rule"])
    assert "#1 createCampaign POST /v1/campaigns -> no answer   [rule_1: drop after]" == str(call)


def test_the_order_is_a_subsequence_or_exact(sandbox: Sandbox) -> None:
    campaign = create(sandbox)
    sandbox.call("GET", f"/v1/campaigns/{campaign}")
    sandbox.call("POST", f"/v1/campaigns/{campaign}/start")

    sandbox.calls.assert_order("createCampaign", "startCampaign")
    sandbox.calls.assert_order("createCampaign", "readCampaign", "startCampaign", exact=True)
    backwards = missed(lambda: sandbox.calls.assert_order("startCampaign", "createCampaign"))
    too_many = missed(lambda: sandbox.calls.assert_order("createCampaign", "startCampaign", exact=True))

    assert (
        f"expected the order startCampaign, createCampaign: no createCampaign after #3 startCampaign POST /v1/campaigns/{campaign}/start -> 202; it was called before, as #1"
        == backwards[0]
    )
    assert (
        f"expected the order createCampaign, startCampaign: got #2 readCampaign GET /v1/campaigns/{campaign} -> 200;"
        " expected startCampaign after #1 createCampaign POST /v1/campaigns -> 201" == too_many[0]
    )


@pytest.mark.parametrize("frozen", [False, True])
def test_wait_for_notices_the_call_of_another_thread_under_a_frozen_clock(sandbox: Sandbox, frozen: bool) -> None:
    waiting = threading.Event()

    def client() -> None:
        waiting.wait(10)
        for number in range(3):
            create(sandbox, name=f"n{number}")

    worker = threading.Thread(target=client)
    worker.start()
    waiting.set()
    with freeze_time("2026-01-01") if frozen else threading.Lock():
        found = sandbox.calls.wait_for("createCampaign", {"body.name": "n2"}, timeout=10)
    worker.join()

    assert "n2" == found.one().body["name"]


def test_wait_for_ends_after_its_own_time_also_under_a_frozen_clock(sandbox: Sandbox) -> None:
    with freeze_time("2026-01-01"):
        lines = missed(lambda: sandbox.calls.wait_for("createCampaign", times=2, timeout=0.02))

    assert ["expected at least 2 calls of createCampaign within 0.02 s, got 0", "no call reached the sandbox"] == lines


def test_wait_for_within_moves_the_sandboxs_clock_from_one_due_thing_to_the_next(sandbox: Sandbox) -> None:
    sandbox.on("createCampaign").delay("90s")
    with pytest.raises(TimeoutError):
        sandbox.call("POST", "/v1/campaigns", json=BODY, timeout=1)

    assert 1 == len(sandbox.calls.wait_for("createCampaign", within="20m"))
    assert "2026-03-01T12:01:30+00:00" == sandbox.now.isoformat()
    assert (
        "expected at least 1 call of startCampaign within 20m, got 0"
        == missed(lambda: sandbox.calls.wait_for("startCampaign", within="20m"))[0]
    )
    assert "2026-03-01T12:21:30+00:00" == sandbox.now.isoformat()
