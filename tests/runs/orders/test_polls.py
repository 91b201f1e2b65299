"""Clients that sleep and poll: their orders are few, and none that could end differently is left out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport, search, subject
from mockserver.testing.runs.orders.merging import RunOrders
from mockserver.testing.runs.orders.played import Played
from mockserver.testing.runs.orders.verdicts import OrderOutcome, read_outcome
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import BODY, GIVEN, SESSIONS, TWO_DRAFTS, call, campaigns, create, start

Client = Callable[[Sandbox], Any]
PAIRS, PAIRS_DEEP = 2, 25
IDS = ("campaign_spring", "campaign_autumn")
# The most runs with one preemption, by the polls of each of two workers, if their campaigns are sent within a minute.
MOST_RUNS = {0: 6, 2: 20, 4: 40, 7: 80}


def worker(name: str, polls: int) -> Client:
    """Return a client that starts a campaign and polls it."""

    def work(sandbox: Sandbox) -> None:
        campaign_id = create(sandbox, name)
        start(sandbox, campaign_id)
        for _ in range(polls):
            sandbox.sleep(15)
            call(sandbox, "GET", f"/v1/campaigns/{campaign_id}")

    return work


def polled(server: MockServer, polls: int, **options: Any) -> InterleaveReport:
    clients = {"worker": worker("One", polls), "cron": worker("Two", polls)}
    given = {**GIVEN, "chats": {"count": 60}}
    return server.interleave(clients=clients, settings={"given": given}, bound=1, **options)


@pytest.mark.parametrize(("polls", "most"), MOST_RUNS.items())
def test_polls_do_not_multiply_the_runs(server: MockServer, polls: int, most: int) -> None:
    report = polled(server, polls)

    assert (0, []) == (report.left, report.findings)
    assert report.runs <= most


def test_a_poll_of_what_has_ended_is_the_same_at_any_time(server: MockServer) -> None:
    def work(sandbox: Sandbox, name: str) -> None:
        campaign_id = create(sandbox, name)
        start(sandbox, campaign_id)
        for _ in range(3):
            sandbox.sleep(30)
            call(sandbox, "GET", f"/v1/campaigns/{campaign_id}")

    clients = {"worker": lambda sandbox: work(sandbox, "One"), "cron": lambda sandbox: work(sandbox, "Two")}
    report = server.interleave(clients=clients, settings={"given": GIVEN})

    assert 3 == report.runs


def test_a_client_that_reads_the_clock_is_run_at_each_time(server: MockServer) -> None:
    """Whether it gives up follows from an instant that no answer shows."""
    gave_up: set[bool] = set()

    def work(sandbox: Sandbox, name: str) -> None:
        create(sandbox, name)
        begun = sandbox.now
        for _ in range(2):
            sandbox.sleep(10)
            campaigns(sandbox)
        gave_up.add((sandbox.now - begun).total_seconds() > 25)

    clients = {"worker": lambda sandbox: work(sandbox, "One"), "cron": lambda sandbox: work(sandbox, "Two")}
    server.interleave(clients=clients, settings={"given": GIVEN}, bound=1)

    assert {True, False} == gave_up


def client_of_chance(seed: str) -> Client:
    """Return a client of two or three calls and some sleeps, which shows in what it creates what it has read."""

    def work(sandbox: Sandbox) -> None:
        drawn = random.Random(seed)
        shown = ""
        for _ in range(drawn.randint(3, 5)):
            kind = drawn.choice(("sleep", "sleep", "list", "poll", "start", "cancel", "create", "session"))
            path = f"/v1/campaigns/{drawn.choice(IDS)}"
            if kind == "sleep":
                sandbox.sleep(drawn.choice((5, 10, 10, 15, 1200)))
            elif kind == "list":
                shown += " ".join(row["status"] for row in campaigns(sandbox))
            elif kind == "poll":
                body = call(sandbox, "GET", path)
                sent = [execution["sentCount"] for execution in body["executions"]]
                shown += f"{body['status']} {sent} "
            elif kind == "create":
                sandbox.call("POST", "/v1/campaigns", json={**BODY, "name": f"Read {shown}"[:60]})
            elif kind == "session":
                session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
                sandbox.sleep(drawn.choice((5, 1200)))
                shown += call(sandbox, "GET", f"{SESSIONS}/{session_id}")["status"]
            else:
                shown += str(sandbox.call("POST", f"{path}/{kind}").status)
        if drawn.random() < 0.5:
            raise RuntimeError(shown)

    return work


def ends(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, seed: int, *, bound: int, prune: bool
) -> tuple[set[Any], int]:
    """Return all ends and all findings on conduct of a pair, and the number of runs."""
    seen: set[Any] = set()

    def read(*arguments: Any) -> OrderOutcome:
        end = read_outcome(*arguments)
        seen.add((end.records, frozenset(end.errors.items()), end.played.stuck))
        # Whether the judge proves a finding may depend on calls of others between those of a client: all of them are compared.
        seen.update((client, finding.rule) for client, finding in end.findings)
        return end

    clients = {name: client_of_chance(f"{seed} {name}") for name in ("one", "two")}
    with monkeypatch.context() as patched:
        patched.setattr(subject, "read_outcome", read)
        settings = {"given": {**TWO_DRAFTS, "chats": {"count": 12}}}
        report = server.interleave(
            clients=clients,
            settings=settings,
            bound=bound,
            prune=prune,
            runs=10_000,
            tolerates=(Exception,),
        )
    assert 0 == report.left
    return seen, report.runs


@pytest.mark.parametrize(("pairs", "bound"), [(PAIRS, 1), pytest.param(PAIRS_DEEP, 2, marks=pytest.mark.deep)])
def test_orders_that_are_left_out_end_as_one_that_was_run(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, pairs: int, bound: int
) -> None:
    runs = {True: 0, False: 0}
    for seed in range(pairs):
        pruned, fewer = ends(server, monkeypatch, seed, bound=bound, prune=True)
        whole, all_runs = ends(server, monkeypatch, seed, bound=bound, prune=False)

        assert whole == pruned, seed
        runs[True] += fewer
        runs[False] += all_runs

    assert runs[True] < runs[False] / 2


@pytest.mark.parametrize("pairs", [PAIRS, pytest.param(PAIRS_DEEP, marks=pytest.mark.deep)])
def test_a_run_compared_with_itself_is_equal_at_each_place(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, pairs: int
) -> None:
    """Without that an order could be merged by a clock, a timer or a read in vain that no run has."""
    compared: list[tuple[Any, Any]] = []

    class Orders(RunOrders):
        def add(self, played: Played) -> None:
            super().add(played)
            alone = RunOrders(("one", "two"), shows_lists=False)
            alone.add(played)
            order = alone.equal_to(played.order.names)
            compared.append((order and (order.names, order.decisions), (played.order.names, played.order.decisions)))

    monkeypatch.setattr(search, "RunOrders", Orders)
    for seed in range(pairs):
        clients = {name: client_of_chance(f"{seed} {name}") for name in ("one", "two")}
        server.interleave(clients=clients, settings={"given": TWO_DRAFTS}, bound=1, tolerates=(Exception,))

    assert compared
    assert [run for _, run in compared] == [order for order, _ in compared]
