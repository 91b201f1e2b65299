"""Every seeded bug is found from an ordinary test; in the careful client and receiver nothing is."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from mockserver.testing.runs.faults.tables import FAULTS, NAMES
from tests.clients import planted, planted_pairs, planted_receivers
from tests.runs.faults import working_day
from tests.runs.faults.planted import BY_CHOICE, KNOWN, PAIRS, SHOWS, WRITES, hunt

SINGLES = [*planted.BUGS, *planted_receivers.BUGS]
# One of each way to find a bug is for the test line: a choice, a delivery, and the clean run; tests/runs/faults/test_exploration.py
# has a fault of the wire.
QUICK = ("message-matched", "no-dedupe", "lost-filters")
# A session and its events are for the test line too; the deep run has the others, and all in one test.
CAREFUL = (
    "connecting",
    "receiving",
    *(
        pytest.param(name, marks=pytest.mark.deep)
        for name in ("launching", "bursting", "canceling", "naming", "reading")
    ),
)
RUNS_MAX = 300  # at 20 ms of processor time each these are six seconds
# A read right after a start may be answered as before it, with 404: the careful client reports that instead of waiting.
FRESH = tuple(name for name in NAMES if name != "stale")


@pytest.mark.parametrize("bug", QUICK)
def test_a_seeded_bug_is_found_by_a_single_placement(mockserver_server: MockServer, bug: str) -> None:
    explored = hunt(mockserver_server, bug, **({} if bug in BY_CHOICE else {"choices": ()}))

    assert explored.case is not None, explored.report.text()
    assert len(explored.case) <= 1


@pytest.mark.deep
@pytest.mark.parametrize("bug", SINGLES)
def test_each_seeded_bug_is_found_by_all_single_placements(mockserver_server: MockServer, bug: str) -> None:
    explored = hunt(mockserver_server, bug)

    assert explored.case is not None, explored.report.text()
    assert len(explored.case) <= 1
    assert explored.report.runs <= RUNS_MAX


@pytest.mark.deep
@pytest.mark.parametrize("bug", list(planted_pairs.BUGS))
def test_a_bug_that_needs_two_faults_is_found_by_a_pair_or_by_a_fault_of_several_calls_alone(
    mockserver_server: MockServer, bug: str
) -> None:
    explored = hunt(mockserver_server, bug, operations=WRITES, faults=tuple(FAULTS))

    assert explored.case is not None, explored.report.text()
    first, *others = explored.case
    assert 1 == len(others) or FAULTS[first.name or ""].calls != 1
    assert explored.report.coverage.pairs.tried <= PAIRS


MERE_ADVICE = {"retry-hopeless": "retry-hopeless", "cadence-unit": "cadence-units", "poll-too-fast": "poll-too-fast"}


@pytest.mark.parametrize(("bug", "rule"), MERE_ADVICE.items())
def test_a_bug_of_the_least_severity_is_advice_and_fails_nothing(
    mockserver_server: MockServer, bug: str, rule: str
) -> None:
    report = hunt(mockserver_server, bug, faults=(), choices=()).report

    assert [("advice", rule)] == [(row.verdict, row.cause) for row in report.findings]
    assert f"  {rule}, " in report.text()
    assert not report.failed


def test_no_other_bug_is_mere_advice() -> None:
    assert [*MERE_ADVICE] == [bug for bug, (verdict, _) in SHOWS.items() if verdict == "advice"]


@pytest.mark.deep
@pytest.mark.parametrize("test", CAREFUL)
def test_in_the_careful_clients_nothing_is_found(mockserver_server: MockServer, test: str) -> None:
    report = mockserver_server.explore(
        getattr(working_day, test), test=test, faults=FRESH, strict=True, tolerates=KNOWN
    )

    assert [] == report.findings, report.text()
    assert not report.failed


@pytest.mark.deep
@pytest.mark.parametrize("test", CAREFUL)
def test_an_outdated_read_damages_nothing_in_the_careful_clients(mockserver_server: MockServer, test: str) -> None:
    report = mockserver_server.explore(getattr(working_day, test), test=test, faults=("stale",), choices=())

    assert not report.failed, report.text()


@pytest.mark.deep
def test_two_faults_damage_nothing_in_the_careful_client(mockserver_server: MockServer) -> None:
    report = mockserver_server.explore(working_day.canceling, faults=tuple(FAULTS), choices=(), pairs=200)

    assert 200 == report.coverage.pairs.tried
    assert not report.failed, report.text()


@pytest.mark.deep
def test_an_act_of_another_after_a_lost_call_damages_nothing_in_the_careful_client(
    mockserver_server: MockServer,
) -> None:
    faults = ("drop-before", "campaign-canceled", "campaign-fails")

    report = mockserver_server.explore(working_day.canceling, faults=faults, choices=(), pairs=1000)

    assert 0 == report.coverage.pairs.left
    assert not report.failed, report.text()


@pytest.mark.deep
def test_in_a_whole_day_of_the_careful_client_nothing_is_found(mockserver_server: MockServer) -> None:
    report = mockserver_server.explore(working_day.working_day, faults=FRESH, strict=True, tolerates=KNOWN)

    assert [] == report.findings, report.text()
    assert len(report.clean.calls) >= 30
