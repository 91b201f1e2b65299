"""Random groups of workers behind one key, whose calls are all limited or the first of them: who waits is not accused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

import pytest

from mockserver import MockServer, Sandbox
from tests.conduct.findings import severe

Worker = Callable[[random.Random, int], Iterator[float]]
GROUPS = 20  # of each seed


def careful(draw: random.Random, retry_after: int) -> Iterator[float]:
    """Yield the seconds before each call: a worker waits as it has to or longer, and gives up after three to five tries."""
    yield draw.uniform(0, 20)
    for _ in range(draw.choice([2, 2, 3, 4])):
        yield retry_after * draw.choice([1, 1, 2, 1.5, 4])


def careless(draw: random.Random, retry_after: int) -> Iterator[float]:
    """Yield the seconds before each call of a worker who always comes too early."""
    yield draw.uniform(0, 20)
    for _ in range(draw.choice([2, 3, 4, 7])):
        yield retry_after * draw.uniform(0.05, 0.6)


def found(sandbox: Sandbox, draw: random.Random, worker: Worker, count: int, *, is_over: bool) -> list[str]:
    """Return the findings on workers; with `is_over` the limit ends after some calls."""
    retry_after = draw.choice([2, 5, 10])
    calls = sandbox.on("listTemplates")
    limited = draw.randint(3, 9) if is_over else 1_000
    calls.times(limited).error("RATE_LIMIT_EXCEEDED", retry_after=retry_after)
    workers = [worker(draw, retry_after) for _ in range(count)]
    due = [(round(next(waits), 1), number) for number, waits in enumerate(workers)]
    heapify(due)
    begin = sandbox.now
    while due:
        second, number = heappop(due)
        sandbox.sleep(second - (sandbox.now - begin).total_seconds())
        is_limited = sandbox.call("GET", "/v1/message-templates").status == 429
        if is_limited and (wait := next(workers[number], None)) is not None:
            heappush(due, (round(second + wait, 1), number))
    return severe(sandbox)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.mark.parametrize("is_over", [True, False], ids=["the limit ends", "every call is limited"])
@pytest.mark.parametrize("seed", range(5))
def test_no_group_of_careful_workers_is_accused(server: MockServer, seed: int, is_over: bool) -> None:
    draw = random.Random(seed)
    for _ in range(GROUPS):
        with server.sandbox(now="2026-01-05T12:00:00Z") as sandbox:
            assert [] == found(sandbox, draw, careful, draw.randint(2, 4), is_over=is_over)


@pytest.mark.parametrize("seed", range(5))
def test_each_careless_worker_is_accused(server: MockServer, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(GROUPS):
        with server.sandbox(now="2026-01-05T12:00:00Z") as sandbox:
            rules = {finding.partition(":")[0] for finding in found(sandbox, draw, careless, 1, is_over=False)}
            assert {"ignore-retry-after"} == rules
