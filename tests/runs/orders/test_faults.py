"""A fault at a call of one client together with a preemption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport
from mockserver.testing.runs.orders.placed_fault import PlacedFault, parse, placements
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import BODY, GIVEN, Refused, call, campaigns, create, start

Client = Callable[[Sandbox], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    server = MockServer()
    yield server
    server.close()


def launch(sandbox: Sandbox, name: str, *, is_careful: bool) -> None:
    """Create a campaign and start it; one whose answer is lost is looked for among those that there are."""
    try:
        campaign_id = call(sandbox, "POST", "/v1/campaigns", {**BODY, "name": name})["campaignId"]
    except OSError:
        rows = campaigns(sandbox)
        known = [row["id"] for row in rows if row["name"] == name] if is_careful else [row["id"] for row in rows[:1]]
        campaign_id = known[0] if known else create(sandbox, name)
    try:
        start(sandbox, campaign_id)
    except OSError:
        if call(sandbox, "GET", f"/v1/campaigns/{campaign_id}")["status"] == "draft":
            start(sandbox, campaign_id)


def launched(server: MockServer, *, is_careful: bool, **options: Any) -> InterleaveReport:
    clients: Mapping[str, Client] = {
        "worker": lambda sandbox: launch(sandbox, "One", is_careful=is_careful),
        "cron": lambda sandbox: launch(sandbox, "Two", is_careful=is_careful),
    }
    return server.interleave(clients=clients, settings={"given": GIVEN}, bound=1, tolerates=(OSError,), **options)


def test_a_race_that_needs_a_fault_is_found_with_it(server: MockServer) -> None:
    assert not launched(server, is_careful=False).failed

    report = launched(server, is_careful=False, faults=60)
    finding = report.findings[0]

    assert PlacedFault("drop-after", "worker", 1) == finding.fault
    assert 1 == finding.preemptions
    assert "  with drop-after at call 1 of worker" in report.text()
    assert f'schedule="{finding.schedule}", fault="drop-after worker 1")' in report.text()


def test_a_client_that_looks_for_its_own_name_has_no_finding(server: MockServer) -> None:
    report = launched(server, is_careful=True, faults=60)

    assert not report.failed, report.text()
    assert report.fault_runs is not None
    assert report.fault_runs.runs <= 60
    assert f"with a fault: {report.fault_runs.tried} of {report.fault_runs.placements} faults at calls" in report.text()


def test_a_schedule_with_a_fault_runs_this_case_alone(server: MockServer) -> None:
    finding = launched(server, is_careful=False, faults=60).findings[0]

    again = launched(server, is_careful=False, schedule=finding.schedule, fault=str(finding.fault))
    without = launched(server, is_careful=False, schedule=finding.schedule)

    assert [(finding.verdict, finding.cause)] == [(row.verdict, row.cause) for row in again.findings]
    assert not without.failed


def test_a_fault_at_a_call_that_no_client_makes_is_not_played(server: MockServer) -> None:
    report = launched(server, is_careful=True, schedule="worker", fault="drop-after worker 99")

    assert "drop-after at call 99 of worker is to take place, and worker has made 2" == report.unplayed
    assert report.failed and not report.findings


def test_a_fault_after_a_call_that_its_client_gave_up_is_played(server: MockServer) -> None:
    """The journal gets that call later, and not as one of the client's steps."""
    statuses: list[int | None] = []

    def impatient(sandbox: Sandbox) -> None:
        with suppress(OSError):
            sandbox.call("GET", "/v1/campaigns", timeout=5)
        statuses.append(sandbox.call("POST", "/v1/campaigns", json={**BODY, "name": "One"}).status)

    report = server.interleave(
        clients={"worker": impatient, "cron": lambda sandbox: sandbox.call("GET", "/v1/message-templates")},
        setup=lambda sandbox: sandbox.on("listCampaigns").nth(1).delay("40s"),
        settings={"given": GIVEN},
        schedule="worker*2 cron",
        fault="internal-error worker 2",
    )

    assert report.unplayed is None
    assert 500 == statuses[-1]


def test_what_a_fault_causes_in_serial_runs_too_is_no_finding(server: MockServer) -> None:
    """A client that never repeats a lost start leaves a draft behind, in each order."""

    def work(sandbox: Sandbox, name: str) -> None:
        campaign_id = create(sandbox, name)
        try:
            start(sandbox, campaign_id)
        except (OSError, Refused):
            return

    clients: Mapping[str, Client] = {"worker": lambda s: work(s, "One"), "cron": lambda s: work(s, "Two")}
    report = server.interleave(
        clients=clients, settings={"given": GIVEN}, bound=1, tolerates=(OSError, Refused), faults=80
    )

    assert not report.failed, report.text()


@pytest.mark.parametrize("text", ["drop-after worker", "drop worker 1", "drop-after wroker 1", "drop-after worker x"])
def test_a_fault_that_is_none_is_refused(server: MockServer, text: str) -> None:
    with pytest.raises(ValueError, match="fault: got"):
        launched(server, is_careful=True, schedule="worker", fault=text)


def test_a_fault_needs_a_schedule(server: MockServer) -> None:
    with pytest.raises(ValueError, match="without a schedule"):
        launched(server, is_careful=True, fault="drop-after worker 1")


def test_faults_are_tried_at_writes_first_and_equal_ones_once() -> None:
    rows = list(placements({"worker": ["listCampaigns", "createCampaign"]}))

    assert [2] * 6 + [1] * 5 == [row.call for row in rows]
    assert PlacedFault("drop-after", "worker", 2) == parse("drop-after worker 2", ["worker"])


def test_a_fault_that_lets_whole_clients_start_a_campaign_twice_is_a_finding_without_a_preemption(
    server: MockServer,
) -> None:
    def launch_again(sandbox: Sandbox, *, name: str) -> None:
        try:
            start(sandbox, create(sandbox, name))
        except OSError:
            start(sandbox, create(sandbox, f"{name} (2)"))

    clients: Mapping[str, Client] = {name: partial(launch_again, name=name) for name in ("a", "b")}
    report = server.interleave(clients=clients, settings={"given": GIVEN}, bound=1, tolerates=(OSError,), faults=60)

    finding = next(row for row in report.findings if row.fault is not None)
    assert ("duplicate", 0) == (finding.verdict, finding.preemptions)
    assert finding.fault is not None and finding.fault.name.endswith("after")
    again = server.interleave(
        clients=clients,
        settings={"given": GIVEN},
        tolerates=(OSError,),
        schedule=finding.schedule,
        fault=str(finding.fault),
    )
    assert [(finding.verdict, finding.cause)] == [(row.verdict, row.cause) for row in again.findings]
