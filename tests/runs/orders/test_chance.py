"""Orders by chance beyond the budget: their priorities, their probability, and what is made of what they find."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport
from mockserver.testing.runs.orders.chance import DEPTH, ChanceOrder, probability
from mockserver.testing.runs.orders.schedules import Release
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import DRAFT, call, campaigns, create, start

READS = 5


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    server = MockServer()
    yield server
    server.close()


def _late(sandbox: Sandbox, name: str) -> None:
    """Race only after some reads, so that the first orders with one preemption do not show it."""
    for n in range(READS):
        call(sandbox, "GET", f"/v1/campaigns/campaign_autumn?n={n}")
    if all(row["name"] == "Autumn" for row in campaigns(sandbox)):
        start(sandbox, create(sandbox, name))


def late(server: MockServer, *, runs: int, seed: int = 0) -> InterleaveReport:
    clients = {"one": lambda sandbox: _late(sandbox, "One"), "two": lambda sandbox: _late(sandbox, "Two")}
    return server.interleave(clients=clients, settings={"given": DRAFT}, prune=False, runs=runs, seed=seed)


@pytest.mark.deep
def test_a_search_beyond_its_budget_goes_on_by_chance_and_states_the_probability(server: MockServer) -> None:
    report = late(server, runs=12)

    assert report.chance is not None
    assert 3 == report.chance.runs
    assert probability(2, report.chance.steps, 3) == report.chance.probability
    assert (
        "by chance: 3 orders (seed 0), which meet a race of depth 3 with a probability of at least 0.58 %"
        in report.text()
    )


@pytest.mark.deep
def test_a_search_within_its_budget_needs_no_chance(server: MockServer) -> None:
    assert late(server, runs=2_000).chance is None


@pytest.mark.deep
def test_what_chance_finds_is_shrunk_to_the_fewest_preemptions(server: MockServer) -> None:
    report = late(server, runs=20)

    assert [("duplicate", 1)] == [(finding.verdict, finding.preemptions) for finding in report.findings]


@pytest.mark.deep
def test_equal_seeds_have_equal_reports_and_others_have_other_orders(server: MockServer) -> None:
    first, again, other = (late(server, runs=20, seed=seed) for seed in (3, 3, 4))

    assert json.dumps(first.json) == json.dumps(again.json)
    assert first.text() == again.text()
    assert first.text() != other.text()


def test_the_probability_is_that_of_the_paper() -> None:
    assert 1 / (2 * 10**2) == pytest.approx(probability(2, 10, 1))
    assert 1 - (1 - 1 / 200) ** 50 == pytest.approx(probability(2, 10, 50))


def test_each_run_changes_its_priorities_at_as_many_places_as_its_depth_has_beyond_one() -> None:
    options = [Release("one", 0), Release("two", 0)]
    switches = Counter[int]()
    for seed in range(200):
        order = ChanceOrder(f"{seed}", 20)
        names = [order.choose(options, None) for _ in range(20)]
        switches[sum(one != other for one, other in pairwise(names))] += 1

    assert DEPTH - 1 == max(switches)


def test_an_actor_that_reads_in_vain_falls_behind_all_others() -> None:
    options = [Release("one", 0), Release("two", 0)]
    for seed in range(20):
        order = ChanceOrder(f"{seed}", 1)
        order.choose(options, None)

        assert "two" == order.choose(options, "one")
