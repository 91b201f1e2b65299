"""Which calls a rule fires at, held against the sentence of the document in twenty plain lines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.core import ids
from tests.depth import at_depth

NUMBERS = st.one_of(st.none(), st.integers(1, 4))
COUNTS = st.fixed_dictionaries({"skip": st.integers(0, 4), "nth": NUMBERS, "every": NUMBERS, "times": NUMBERS})


def _in_order(bounds: JSON) -> bool:
    return None in bounds.values() or bool(bounds["from"] < bounds["until"])


BOUNDS = st.fixed_dictionaries(
    {"from": st.none() | st.integers(0, 12), "until": st.none() | st.integers(0, 12)}
).filter(_in_order)
CHANCES = st.sampled_from([None, 0, 0.3, 0.5, 1])
PATH = "/v1/campaigns/nobody"


def _fires_at(rule: JSON, calls: int, seed: int) -> list[int]:
    """
    The numbers of the calls at which a rule of a fresh sandbox fires, one call a second, the first at second 0.

    skip, nth, every, from/until, chance, times: in that order, each on what the one before it has left.
    """
    fired: list[int] = []
    for match in range(1, calls + 1):
        left = match - rule["skip"]
        if left < 1:
            continue
        if rule["nth"] and left != rule["nth"]:
            continue
        if rule["every"] and left % rule["every"]:
            continue
        second = match - 1
        if (rule["from"] or 0) > second or (rule["until"] is not None and second >= rule["until"]):
            continue
        chance = rule["chance"]
        if chance is not None and ids.seeded_int(seed, "chance", 1, match, below=1_000_000) >= chance * 1_000_000:
            continue
        if not rule["times"] or len(fired) < rule["times"]:
            fired.append(match)
    return fired


def _written(rule: JSON, **more: Any) -> JSON:
    kept = {key: each for key, each in rule.items() if each is not None}
    return {"on": "readCampaign", "do": {"error": "INTERNAL_ERROR"}, **kept, **more}


def _errors(sandbox: Sandbox, calls: int) -> list[int]:
    found = []
    for number in range(1, calls + 1):
        if sandbox.call("GET", PATH).status == 500:
            found.append(number)
        sandbox.advance(timedelta(seconds=1))
    return found


@given(COUNTS, BOUNDS, CHANCES, st.integers(0, 20), st.integers(0, 2**53 - 1))
def test_bounds_and_chance_are_checked_after_the_numbers_and_before_times(
    rule: JSON, bounds: JSON, chance: float | None, calls: int, seed: int
) -> None:
    rule |= bounds | {"chance": chance}
    with MockServer().sandbox(seed=seed) as sandbox:
        sandbox.apply({"script": [_written(rule)]})

        assert _fires_at(rule, calls, seed) == _errors(sandbox, calls)


@given(COUNTS, st.integers(0, 20), st.sampled_from([None, {"path.id": "nobody"}, {"path.id": "~body"}]))
def test_a_rule_of_call_numbers_fires_as_documented_without_or_with_a_condition_that_every_call_matches(
    rule: JSON, calls: int, where: JSON | None
) -> None:
    """However the engine finds the rule: by the number of the call, by a value of it, or by asking the rule."""
    rule |= {"chance": None, "from": None, "until": None}
    with MockServer().sandbox() as sandbox:
        sandbox.apply({"script": [_written({**rule, "where": where})]})

        fires_at = _fires_at(rule, calls, 0)
        assert fires_at == _errors(sandbox, calls)
        (listed,) = sandbox.rules
        assert (calls, len(fires_at)) == (listed["matched"], listed["fired"])


@given(st.lists(COUNTS, min_size=2, max_size=5), st.integers(0, 12), st.data())
def test_rules_count_by_themselves_and_the_first_in_order_has_the_wire(
    rules: list[JSON], calls: int, data: st.DataObject
) -> None:
    codes = ["INTERNAL_ERROR", "RATE_LIMIT_EXCEEDED", "CHAT_NOT_FOUND", "FORM_NOT_FOUND", "INVALID_PHONE"]
    statuses, script, fires = [], [], []
    for number, rule in enumerate(rules):
        rule |= {"chance": None, "from": None, "until": None}
        on = data.draw(st.sampled_from(["readCampaign", "*", "GET /v1/campaigns/{id}"]))
        script.append(_written(rule, on=on, do={"error": codes[number]}))
        fires.append(_fires_at(rule, calls, 0))
    with MockServer().sandbox() as sandbox:
        sandbox.apply({"script": script})
        for call in range(1, calls + 1):
            owner = next((number for number, each in enumerate(fires) if call in each), None)
            statuses.append(sandbox.call("GET", PATH).json()["code"])
            assert ("CAMPAIGN_NOT_FOUND" if owner is None else codes[owner]) == statuses[-1]

        assert [len(each) for each in fires] == [each["fired"] for each in sandbox.rules]


@pytest.mark.parametrize("on", ["readCampaign", "*"])
def test_a_rule_counts_from_where_it_was_applied(mockserver: Sandbox, on: Literal["readCampaign", "*"]) -> None:
    mockserver.on("listCampaigns").nth(99).may_fire().error("INTERNAL_ERROR")
    mockserver.call("GET", PATH)
    rule = mockserver.on(on).nth(2).error("INTERNAL_ERROR")

    assert [404, 500, 404] == [mockserver.call("GET", PATH).status for _ in range(3)]
    assert (3, 1) == (rule.matched, rule.fired)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=at_depth(5, 100))
@given(st.integers(0, 2**53 - 1))
def test_the_same_seed_draws_the_same_chances_whatever_else_is_called(mockserver_server: MockServer, seed: int) -> None:
    def fired(noise: int) -> list[int]:
        with mockserver_server.sandbox(seed=seed) as sandbox:
            sandbox.on("readCampaign").chance(0.5).error("INTERNAL_ERROR")
            for _ in range(noise):
                sandbox.call("GET", "/v1/campaigns")
            return _errors(sandbox, 12)

    assert fired(0) == fired(3)


def test_the_entry_of_a_rule_has_its_ten_newest_effects_on_the_state(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").set_tenant(name="A")
    for _ in range(12):
        mockserver.call("GET", "/v1/campaigns")

    assert list(range(3, 13)) == [effect["exchange"] for effect in mockserver.rules[0]["did"]]
