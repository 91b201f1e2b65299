"""Workers behind one key, whose equal calls are limited: who waits or gives up is not accused, and who does not is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush

import pytest

from mockserver import MockServer, Sandbox
from mockserver.core.instants import SECOND
from mockserver.judge.client import retry_after as judge
from tests.conduct.findings import change, severe
from tests.depth import at_depth
from tests.harness.rows import each_row

Answer = tuple[float, int | str]  # the second of a call, and the Retry-After of its 429, or another answer
OK, FAILED = "ok", "failed"
Worker = Callable[[random.Random, int], Iterator[float]]
GROUPS = at_depth(5, 20)  # of each seed


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


@pytest.mark.law
@each_row("is_over", [True, False])
@each_row("seed", range(5))
def test_no_group_of_careful_workers_is_accused(server: MockServer, seed: int, is_over: bool) -> None:
    draw = random.Random(seed)
    for _ in range(GROUPS):
        with server.sandbox(now="2026-01-05T12:00:00Z") as sandbox:
            assert [] == found(sandbox, draw, careful, draw.randint(2, 4), is_over=is_over)


@pytest.mark.law
@each_row("seed", range(5))
def test_each_careless_worker_is_accused(server: MockServer, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(GROUPS):
        with server.sandbox(now="2026-01-05T12:00:00Z") as sandbox:
            rules = {finding.partition(":")[0] for finding in found(sandbox, draw, careless, 1, is_over=False)}
            assert {"ignore-retry-after"} == rules


def answered(sandbox: Sandbox, answers: Sequence[Answer]) -> set[str]:
    """Return the rules that clients break whose equal calls come at these seconds and get these answers."""
    begin = sandbox.now
    for second, answer in answers:
        sandbox.sleep(second - (sandbox.now - begin).total_seconds())
        if isinstance(answer, int):
            sandbox.on("listTemplates").times(1).error("RATE_LIMIT_EXCEEDED", retry_after=answer)
        elif answer == FAILED:
            sandbox.on("listTemplates").times(1).error("INTERNAL_ERROR")
        sandbox.call("GET", "/v1/message-templates")
    return {finding.partition(":")[0] for finding in severe(sandbox)}


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([(0, 5), (5, FAILED), (6, 5), (8, OK)], id="one gives up after three tries, one of which failed"),
        pytest.param([(0, FAILED), (1, FAILED), (3, 5), (5, OK)], id="one gives up after two that failed"),
        pytest.param([(0, 5), (1, FAILED), (5, OK)], id="one of two repeats no failure"),
        pytest.param([(0, 10), (5.6, 10), (10, 10), (15.6, 10), (20, 10), (25.6, 10)], id="two wait exactly as long"),
        pytest.param([(second, 5) for second in (0, 5, 10) for _ in range(10)], id="ten at one instant"),
        pytest.param([(10 * n, 8 if n % 4 else OK) for n in range(12)], id="a poll that is slower than the limit"),
        pytest.param([(10 * n, OK if n in (3, 8, 9, 10, 11) else 15) for n in range(12)], id="three poll in turn"),
    ],
)
def test_careful_workers_are_not_accused(mockserver: Sandbox, answers: Sequence[Answer]) -> None:
    assert set() == answered(mockserver, answers)


def test_users_who_really_wait_while_the_clock_is_frozen_are_no_loop(mockserver: Sandbox) -> None:
    seconds = (0, 0.3, 2.1, 2.4, 4.2, 4.6)
    mockserver.on("listTemplates").error("RATE_LIMIT_EXCEEDED", retry_after=2)
    for n, second in enumerate(seconds, 1):
        mockserver.call("GET", "/v1/message-templates")
        change(mockserver, n, monotonic_us=int(second * SECOND))

    assert [] == severe(mockserver)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            [(0, 30), (1, 30), (3, 30), (7, 30), (15, 30), (31, 30), (63, 30), (127, 30)],
            id="a backoff without an end",
        ),
        pytest.param([(0, 5), (2, 5), (6, 5), (14, OK)], id="a backoff that succeeds"),
        pytest.param([(0, 5), (2, OK)], id="one repetition"),
    ],
)
def test_a_careless_worker_is_accused(mockserver: Sandbox, answers: Sequence[Answer]) -> None:
    assert {"ignore-retry-after"} == answered(mockserver, answers)


def test_the_calls_of_an_agent_are_compared_with_its_own(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the calls of many agents take as long to judge as those of one."""
    mockserver.on("listTemplates").error("RATE_LIMIT_EXCEEDED", retry_after=2)
    for _ in range(2):
        for agent in range(50):
            mockserver.call("GET", "/v1/message-templates", headers={"User-Agent": f"agent {agent}"})
        mockserver.sleep(1)
    asked: list[int] = []
    key = judge._key
    monkeypatch.setattr(judge, "_key", lambda call: asked.append(call.number) or key(call))
    assert 50 == len(severe(mockserver))
    assert len(asked) <= 4 * 100
