"""Orders that begin like one that was run repeat its answers, and have the same findings and ends as without that."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.server import front_controller
from mockserver.testing.interleave import InterleaveReport
from mockserver.testing.interleave.beginnings import Beginnings
from mockserver.testing.sandbox import Sandbox
from tests.interleave.pairs import CAREFUL, DRAFT, GIVEN, RACES, TWO_DRAFTS, campaigns, create, start
from tests.interleave.test_merging import client_of_chance
from tests.interleave.test_races import interleaved

Client = Callable[[Sandbox], Any]
PAIRS, PAIRS_DEEP = 2, 15
QUICK = ("read-then-start", "adopts", "on-a-loop")  # pairs that are for the test line, a race and two careful ones


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    server = MockServer()
    yield server
    server.close()


def without_beginnings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Beginnings, "longest", lambda self, prefix: None)


def both_ways(run: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what a search returns with beginnings, and without."""
    with pytest.MonkeyPatch.context() as patch:
        without_beginnings(patch)
        whole = run()
    return run(), whole


@pytest.mark.parametrize("pairs", [PAIRS, pytest.param(PAIRS_DEEP, marks=pytest.mark.deep)])
@pytest.mark.parametrize("prune", [True, False])
def test_searches_with_and_without_beginnings_have_the_same_reports_and_ends(
    server: MockServer, pairs: int, prune: bool
) -> None:
    def search(seed: int) -> Any:
        ends: list[str] = []

        def check(sandbox: Sandbox) -> None:
            state = sandbox._hosted.sandbox
            rows = [(row.name, row.status, len(row.execution_ids)) for row in sandbox._hosted.tenant.campaigns.values()]
            ends.append(repr((rows, state.counters, [(each.n, each.status) for each in state.journal.exchanges])))

        clients = {name: client_of_chance(f"{seed} {name}") for name in ("one", "two")}
        report = server.interleave(clients=clients, check=check, settings={"given": TWO_DRAFTS}, prune=prune)
        return report.json, report.text(), ends

    for seed in range(pairs):
        repeated, whole = both_ways(partial(search, seed))

        assert whole == repeated, seed


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] * (name not in QUICK))
        for name in sorted({*RACES, *CAREFUL} - {"under-a-lock"})
    ],
)
def test_a_pair_has_the_same_report_with_and_without_beginnings(server: MockServer, name: str) -> None:
    pair = RACES.get(name) or CAREFUL[name]

    repeated, whole = both_ways(lambda: interleaved(server, pair, blocked_seconds=60).json)

    assert whole == repeated


@pytest.mark.deep
def test_an_order_makes_no_call_of_its_beginning_again(server: MockServer) -> None:
    made = itertools.count()

    def client(name: str) -> Client:
        def work(sandbox: Sandbox) -> None:
            for n in range(10):
                campaigns(sandbox)
                create(sandbox, f"{name} {n}")

        return work

    def search() -> tuple[int, int]:
        before = next(made)
        report = server.interleave(
            clients={name: client(name) for name in ("one", "two")}, settings={"given": GIVEN}, bound=1
        )
        return next(made) - before, report.runs

    def counted(*arguments: Any) -> Any:
        next(made)
        return handled(*arguments)

    handled = front_controller.handle_request
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front_controller, "handle_request", counted)
        (calls, runs), (all_calls, all_runs) = both_ways(search)

    assert all_runs == runs
    assert 2 * sum(range(20)) == all_calls - calls  # a preemption of each client, after each of its calls


def readers() -> dict[str, Callable[[Sandbox, Sandbox], int]]:
    return {
        "calls": lambda own, made: len(own.calls("listCampaigns")),
        "state": lambda own, made: len(own.state()["tenants"][0]["campaigns"]),
        "calls of the setup's sandbox": lambda own, made: len(made.calls("listCampaigns")),
        "another client's calls": lambda own, made: made.log.call_count,
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", readers())
def test_a_client_that_reads_the_state_between_its_calls_reads_that_of_its_order(server: MockServer, name: str) -> None:
    read, present, seen = readers()[name], list[Sandbox](), list[list[int]]()

    def setup(sandbox: Sandbox) -> None:
        present[:] = [sandbox]
        seen.append([])

    def work(sandbox: Sandbox) -> None:
        for _ in range(3):
            campaigns(sandbox)
            seen[-1].append(read(sandbox, present[0]))

    def search() -> Any:
        seen.clear()
        clients = {"worker": work, "cron": lambda sandbox: start(sandbox, "campaign_autumn")}
        report = server.interleave(clients=clients, setup=setup, settings={"given": DRAFT}, prune=False)
        return list(seen), report.json

    repeated, whole = both_ways(search)

    assert whole == repeated


def differing(server: MockServer, setup: Any, client: Client) -> InterleaveReport:
    return server.interleave(
        clients={"worker": client, "cron": client}, setup=setup, settings={"given": GIVEN}, prune=False
    )


@pytest.mark.deep
def test_clients_that_call_otherwise_in_each_run_are_run_without_beginnings(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        campaigns(sandbox)
        create(sandbox, f"Promotion {uuid.uuid4()}")
        campaigns(sandbox)

    report, whole = both_ways(lambda: differing(server, None, work))

    assert (whole.json, False) == (report.json, report.failed)


def test_a_setup_that_leaves_another_sandbox_in_each_run_is_run_without_beginnings(server: MockServer) -> None:
    names = itertools.count()
    left: list[str] = []

    def work(sandbox: Sandbox) -> None:
        assert campaigns(sandbox)[0]["name"] == left[-1]
        campaigns(sandbox)

    def setup(sandbox: Sandbox) -> None:
        left.append(f"Spring {next(names)}")
        create(sandbox, left[-1])

    assert not differing(server, setup, work).failed
