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
from tests.runs.orders.pairs import (
    BODY,
    DRAFT,
    GIVEN,
    SESSIONS,
    Refused,
    call,
    campaigns,
    create,
    follow,
    start,
    start_if_draft,
)

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

    assert PlacedFault("drop-after", "worker", "createCampaign", 1) == finding.fault
    assert 1 == finding.preemptions
    assert "  with drop-after at createCampaign 1 of worker" in report.text()
    assert f'schedule="{finding.schedule}", fault="drop-after worker createCampaign 1")' in report.text()


def test_a_client_that_looks_for_its_own_name_has_no_finding(server: MockServer) -> None:
    without = launched(server, is_careful=True)
    report = launched(server, is_careful=True, faults=60)

    assert not report.failed, report.text()
    assert report.fault_runs is not None
    assert report.runs <= without.runs + 60
    assert f"with a fault: {report.fault_runs.tried} of {report.fault_runs.placements} faults at calls" in report.text()


def test_a_schedule_with_a_fault_runs_this_case_alone(server: MockServer) -> None:
    finding = launched(server, is_careful=False, faults=60).findings[0]

    again = launched(server, is_careful=False, schedule=finding.schedule, fault=str(finding.fault))
    without = launched(server, is_careful=False, schedule=finding.schedule)

    assert [(finding.verdict, finding.cause)] == [(row.verdict, row.cause) for row in again.findings]
    assert not without.failed


def test_a_fault_at_a_call_that_no_client_makes_is_not_played(server: MockServer) -> None:
    report = launched(server, is_careful=True, schedule="worker", fault="drop-after worker startCampaign 99")

    assert "drop-after at startCampaign 99 of worker is to happen, and worker makes no such call" == report.unplayed
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
        fault="internal-error worker createCampaign 1",
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


@pytest.mark.parametrize(
    "text",
    [
        "drop-after worker startCampaign",
        "drop worker startCampaign 1",
        "drop-after wroker startCampaign 1",
        "drop-after worker startCampain 1",
        "drop-after worker startCampaign x",
    ],
)
def test_a_fault_that_is_none_is_refused(server: MockServer, text: str) -> None:
    with pytest.raises(ValueError, match="fault: got"):
        launched(server, is_careful=True, schedule="worker", fault=text)


def test_a_fault_needs_a_schedule(server: MockServer) -> None:
    with pytest.raises(ValueError, match="without a schedule"):
        launched(server, is_careful=True, fault="drop-after worker startCampaign 1")


def test_faults_are_tried_at_writes_first_and_equal_ones_once() -> None:
    rows = list(placements([{("worker", "listCampaigns"): 1, ("worker", "createCampaign"): 1}]))

    assert ["createCampaign"] * 6 + ["listCampaigns"] * 5 == [row.operation for row in rows]


def test_the_calls_of_every_serial_run_get_faults() -> None:
    rows = list(
        placements([{("worker", "createCampaign"): 1}, {("worker", "createCampaign"): 2, ("cron", "startCampaign"): 1}])
    )

    assert {("worker", 1), ("worker", 2), ("cron", 1)} == {(row.client, row.nth) for row in rows}


def test_the_text_of_a_fault_is_read_as_it_was_written() -> None:
    fault = PlacedFault("drop-after", "worker", "startCampaign", 2)

    assert fault == parse(str(fault), ["worker"])


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
    assert "no serial run without the fault more than" in finding.message
    assert finding.fault is not None and finding.fault.name.endswith("after")
    again = server.interleave(
        clients=clients,
        settings={"given": GIVEN},
        tolerates=(OSError,),
        schedule=finding.schedule,
        fault=str(finding.fault),
    )
    assert [(finding.verdict, finding.cause)] == [(row.verdict, row.cause) for row in again.findings]


def launch_unless_running(sandbox: Sandbox, name: str) -> None:
    """Launch a campaign unless one is sent; what fails is left to the next worker, by an exception."""
    if all(row["status"] != "processing" for row in campaigns(sandbox)):
        start(sandbox, create(sandbox, name))


@pytest.mark.parametrize(
    ("fault", "causes"),
    [
        ("drop-after worker createCampaign 1", ["campaigns"]),  # a draft that no client knows
        ("drop-after worker startCampaign 1", []),  # the next worker sees that it runs
        ("internal-error worker startCampaign 1", []),  # a draft that its worker reports
        ("internal-error worker createCampaign 1", []),
        ("drop-before worker listCampaigns 1", []),
    ],
)
def test_a_campaign_is_doubled_if_a_later_worker_makes_another_for_one_that_nobody_knows(
    server: MockServer, fault: str, causes: list[str]
) -> None:
    clients: Mapping[str, Client] = {
        name: partial(launch_unless_running, name=name) for name in ("worker", "night-shift")
    }

    report = server.interleave(
        clients=clients, settings={"given": GIVEN}, tolerates=(OSError, Refused), schedule="worker*2", fault=fault
    )

    assert causes == [finding.cause for finding in report.findings], report.text()


def test_a_campaign_that_goes_on_because_its_cancel_failed_is_not_doubled(server: MockServer) -> None:
    """Without the fault nothing is sent in any order."""

    def cancel(sandbox: Sandbox) -> None:
        call(sandbox, "POST", "/v1/campaigns/campaign_autumn/cancel")

    report = server.interleave(
        clients={"operator": cancel, "worker": lambda sandbox: start(sandbox, "campaign_autumn")},
        settings={"given": DRAFT},
        tolerates=(Refused,),
        schedule="operator*2",
        fault="internal-error operator cancelCampaign 1",
    )

    assert not report.failed, report.text()


def test_a_second_session_in_place_of_one_whose_answer_was_lost_is_not_doubled(server: MockServer) -> None:
    def connect(sandbox: Sandbox) -> None:
        with suppress(OSError):
            call(sandbox, "POST", SESSIONS, {})
            return
        call(sandbox, "POST", SESSIONS, {})

    report = server.interleave(clients={"page": connect, "job": connect}, settings={"given": GIVEN}, bound=1, faults=60)

    assert not report.failed, report.text()


def test_a_client_that_waits_for_ever_because_of_a_fault_alone_is_no_finding(server: MockServer) -> None:
    clients: Mapping[str, Client] = {"follower": follow, "worker": start_if_draft}

    report = server.interleave(
        clients=clients, settings={"given": DRAFT}, bound=1, tolerates=(OSError, Refused), faults=20
    )

    assert not report.failed, report.text()


class Refusal(Exception):
    """The API has refused a call, or has not answered three tries of it."""


def tried(sandbox: Sandbox, method: str, path: str, body: Any = None) -> Any:
    """Call up to three times, each time later; what was created by a try that failed is looked for by the caller."""
    for pause in (5, 60, 0):
        with suppress(OSError, ValueError):
            answer = sandbox.call(method, path, json=body)
            if answer.status < 400:
                return answer.json() if answer.body else None
            if answer.status < 500 and answer.status != 429:
                raise Refusal(answer.json()["code"])
        sandbox.sleep(pause)
    raise Refusal("no answer")


def send_next_issue(sandbox: Sandbox) -> None:
    """Send the first issue of a newsletter that nobody has begun; its name is taken by the create."""
    rows = tried(sandbox, "GET", "/v1/campaigns")["campaigns"]
    begun = {row["name"] for row in rows if row["status"] != "draft"}
    name = next(name for name in ("Issue 1", "Issue 2", "Issue 3") if name not in begun)
    known = [row["id"] for row in rows if row["name"] == name]
    try:
        campaign_id = (
            known[0] if known else tried(sandbox, "POST", "/v1/campaigns", {**BODY, "name": name})["campaignId"]
        )
    except Refusal:
        rows = tried(sandbox, "GET", "/v1/campaigns")["campaigns"]
        campaign_id = next(row["id"] for row in rows if row["name"] == name)
    tried(sandbox, "POST", f"/v1/campaigns/{campaign_id}/start")


def test_editors_who_repeat_what_fails_and_take_up_drafts_have_no_finding_with_any_fault(server: MockServer) -> None:
    report = server.interleave(
        clients={"editor": send_next_issue, "deputy": send_next_issue},
        settings={"given": GIVEN},
        bound=1,
        tolerates=(Refusal,),
        faults=250,
    )

    assert not report.failed, report.text()
    assert report.fault_runs is not None and report.fault_runs.tried > 10
