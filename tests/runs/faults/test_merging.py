"""Placements that are left out as equal to another: the search without them finds exactly what the full one finds."""

from __future__ import annotations

import pytest

from mockserver import MockServer, Sandbox
from mockserver.testing.runs.faults import ExploreReport
from tests.runs.faults.working_day import ordinary_test

# Clients that react in different ways to a lost answer, a 5xx, a 429, a refusal and what others do.
BUGS = (
    "duplicate-start", "blind-retry", "ignore-retry-after", "waits-only-for-completed",
    "cancel-and-forget", "session-storm", "page-early-stop",
)  # fmt: skip


def found(report: ExploreReport) -> set[tuple[str, str]]:
    return {(row.verdict, row.cause) for row in report.findings}


@pytest.mark.deep
@pytest.mark.parametrize("bug", BUGS)
def test_the_merged_search_finds_exactly_what_the_full_one_finds(mockserver_server: MockServer, bug: str) -> None:
    client = ordinary_test(bug)
    merged = mockserver_server.explore(client, choices=())
    full = mockserver_server.explore(client, choices=(), prune=False, runs=10_000)

    assert found(full) == found(merged)
    assert full.coverage.singles.tried == full.coverage.singles.placements == merged.coverage.singles.placements
    assert merged.coverage.singles.merged > 0


@pytest.mark.parametrize("seed", [0, 3])
def test_placements_left_out_are_counted_by_hand(mockserver_server: MockServer, seed: int) -> None:
    """Two reads of one list, of which nothing changes: what fails at the first fails at the second."""

    def reads(sandbox: Sandbox) -> None:
        for _ in range(2 + seed):
            sandbox.call("GET", "/v1/campaigns")

    report = mockserver_server.explore(reads, faults=("drop-before", "drop-after", "internal-error"), choices=())

    # Of each read drop-after is equal to drop-before. The first read begins a row, the last one ends it, and those between are equal.
    ways = 2 + (seed > 0)
    assert {"placements": 3 * (2 + seed), "merged": 3 * (2 + seed) - 2 * ways, "tried": 2 * ways, "notTried": 0} == (
        report.coverage.singles.as_json()
    )


@pytest.mark.parametrize("rounds", [10, 250])
@pytest.mark.parametrize("paths", [("campaigns", "message-templates"), ("campaigns", "campaigns", "message-templates")])
def test_calls_that_repeat_in_turn_count_once(
    mockserver_server: MockServer, paths: tuple[str, ...], rounds: int
) -> None:
    def polls(sandbox: Sandbox) -> None:
        for _ in range(rounds):
            for path in paths:
                sandbox.call("GET", f"/v1/{path}")

    report = mockserver_server.explore(polls, faults=("drop-before",), choices=())

    assert len(paths) * rounds == report.coverage.singles.placements
    assert report.coverage.singles.tried <= 4 * len(paths)
    assert "crashed" == report.findings[0].verdict
