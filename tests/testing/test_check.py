"""`POST /_mock/rules` and `GET /_mock/check`: a test in any language fails at its end where one of pytest does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS
from tests.testing.conftest import Suite

LOST = {"on": "listCampaigns", "nth": 1, "do": {"drop": "before"}}


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of no test of the plugin, which would fail the tests whose rules do not fire."""
    with MockServer() as server:
        yield server.sandbox(now="2026-03-01T12:00:00Z")


def add(sandbox: Sandbox, rules: Any) -> Any:
    return sandbox.call("POST", "/_mock/rules", json=rules)


def check(sandbox: Sandbox, query: str = "") -> Any:
    return sandbox.call("GET", f"/_mock/check{query}").json()


def kinds(sandbox: Sandbox, query: str = "") -> list[str]:
    return [failure["kind"] for failure in check(sandbox, query)["failures"]]


@pytest.mark.parametrize(("rules", "ids"), [(LOST, ["rule_1"]), ([LOST, {**LOST, "nth": 2}], ["rule_1", "rule_2"])])
def test_one_rule_or_a_list_of_rules_is_added_and_returned(sandbox: Sandbox, rules: Any, ids: list[str]) -> None:
    response = add(sandbox, rules)

    assert (201, ids) == (response.status, [rule["id"] for rule in response.json()["rules"]])
    assert response.json()["rules"] == sandbox.call("GET", "/_mock/rules").json()["rules"]


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ({**LOST, "on": "listCampaign"}, "/on"),
        ([LOST, {**LOST, "on": "listCampaign"}], "/1/on"),
        (["drop"], "/0"),
        ({"rules": 5}, "/do"),
        ({}, "/do"),
    ],
)
def test_a_wrong_rule_is_refused_at_its_place_and_none_is_added(sandbox: Sandbox, rules: Any, place: str) -> None:
    refusal = add(sandbox, rules)

    assert (400, "MOCK_BAD_SCENARIO") == (refusal.status, refusal.json()["code"])
    assert place == refusal.json()["problems"][0]["path"]
    assert "no rule was added" in refusal.json()["message"]
    assert [] == sandbox.rules


def test_a_rule_of_a_bounded_count_must_fire(sandbox: Sandbox) -> None:
    add(sandbox, LOST)
    sandbox.call("GET", "/v1/message-templates/template_none")
    assert ["rule-never-fired"] == kinds(sandbox)
    assert "at the 1st listCampaigns" in check(sandbox)["failures"][0]["message"]

    with pytest.raises(OSError):
        sandbox.call("GET", "/v1/campaigns")

    assert check(sandbox)["ok"]


@pytest.mark.parametrize("rule", [{**LOST, "mustFire": False}, {"on": "listCampaigns", "do": {"delay": "1s"}}])
def test_a_rule_that_says_so_or_that_has_no_bound_need_not_fire(sandbox: Sandbox, rule: Any) -> None:
    add(sandbox, rule)

    assert check(sandbox)["ok"]


def test_a_failure_names_the_calls_of_its_operation(sandbox: Sandbox) -> None:
    add(sandbox, {**LOST, "nth": 3})
    for path in ("/v1/campaigns", "/v1/message-templates/template_none", "/v1/campaigns"):
        sandbox.call("GET", path)

    assert [1, 3] == check(sandbox)["failures"][0]["exchanges"]


def test_findings_on_conduct_are_failures_only_if_they_are_asked_for(sandbox: Sandbox) -> None:
    session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
    for _ in range(40):
        sandbox.call("GET", f"{SESSIONS}/{session}")
        sandbox.advance("100ms")
    assert sandbox.conduct

    assert [] == kinds(sandbox)
    assert [] == kinds(sandbox, "?conduct=report")
    assert {"conduct"} == set(kinds(sandbox, "?conduct=error"))


ENDS = {
    "rule-never-fired": "mockserver.on('listCampaigns').nth(2).must_fire().drop('before'); mockserver.call('GET', '/v1/campaigns')",
    "rule-without-effect": "mockserver.on('listCampaigns').nth(1).must_fire().do({'cancel-campaign': {}}); mockserver.call('GET', '/v1/campaigns')",
    "receiver-assertion": "session = mockserver.call('POST', SESSIONS, json={}).json()['sessionId']; "
    "mockserver.receive_webhooks(receiver); mockserver.complete_session(session)",
    "conduct": "session = mockserver.call('POST', SESSIONS, json={}).json()['sessionId']; "
    "[(mockserver.call('GET', f'{SESSIONS}/{session}'), mockserver.advance('100ms')) for _ in range(40)]",
}
MODULE = """
import pytest
SESSIONS = {sessions!r}
SEEN = []

def receiver(request):
    assert False, "not this one"

@pytest.mark.mockserver(conduct="error")
def test_it(mockserver):
    {body}
    SEEN.append(mockserver.call("GET", "/_mock/check?conduct=error").json())

def test_what_the_check_said():
    assert {kind!r} in [failure["kind"] for failure in SEEN[0]["failures"]], SEEN
    print("SAID", SEEN[0]["failures"][0]["message"].splitlines()[1].partition(":")[0].strip())
"""


@pytest.mark.parametrize("kind", ENDS)
def test_the_check_fails_where_a_test_of_pytest_fails(suite: Suite, kind: str) -> None:
    result = suite.run(MODULE.format(sessions=SESSIONS, body=ENDS[kind], kind=kind), "-p", "no:randomly", "-rP")

    result.assert_outcomes(passed=1, failed=1)
    said = next(line.removeprefix("SAID ") for line in result.outlines if line.startswith("SAID "))
    assert said in "\n".join(result.outlines).partition("test_what_the_check_said")[0]
