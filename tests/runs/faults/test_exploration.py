"""What an exploration tries, in which order and within which bounds; its report; and the documents that replay its findings."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import itertools
import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from dataclasses import astuple
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from freezegun import freeze_time

from mockserver import MockServer, Sandbox
from mockserver.testing.runs.faults import (
    EndedRun,
    Exploration,
    ExploreFinding,
    ExploreOptions,
    ExploreReport,
    Placement,
)
from mockserver.testing.runs.faults.placements import ExploreStep
from mockserver.testing.runs.faults.tables import ACTS, BEFORE_ANSWER, DELIVERY_FAULTS
from mockserver.testing.runs.in_process import RunInProcess
from tests.runs.faults.planted import hunt
from tests.runs.faults.working_day import canceling, connecting, ordinary_test, receiving

Explore = Callable[..., ExploreReport]
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"

CREATE = ("POST", "/v1/campaigns", {"name": "Uma"})
LIST = ("GET", "/v1/campaigns", None)
TEMPLATES = ("GET", "/v1/message-templates", None)

WIRE = (
    "drop-before", "drop-after", "reset-before", "reset-after", "timeout-before", "timeout-after", "internal-error",
    "rate-limit", "bad-gateway", "truncate", "garble", "dribble", "stale", "outage", "outage-for-good",
    "rate-limit-short", "rate-limit-long", "rate-limit-date", "rate-limit-bare", "rate-limit-twice",
)  # fmt: skip


@pytest.fixture
def explore(mockserver_server: MockServer) -> Explore:
    def run(test: Callable[[Sandbox], object], **options: Any) -> ExploreReport:
        return mockserver_server.explore(test, **{"choices": (), **options})

    return run


def list_once(sandbox: Sandbox) -> Any:
    return sandbox.call("GET", "/v1/campaigns", timeout=5)


def names(report: ExploreReport) -> list[str]:
    return list(dict.fromkeys(fault for _, fault in report.matrix))


def test_a_write_has_every_fault_and_a_read_each_that_differs(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}, timeout=5)
        list_once(sandbox)

    report = explore(test)
    by_operation = {row: [fault for operation, fault in report.matrix if operation == row] for row, _ in report.matrix}

    of_session = ["session-expires", "user-cancels", "number-in-use"]
    barred = ["key-revoked", "subscription-lapses"]
    writes = [name for name in WIRE if name != "stale"]
    reads = [name for name in WIRE if not name.endswith("-after")]
    assert {
        "createConnectionSession": [*writes, *barred],
        "listCampaigns": [*reads, *barred, *of_session],
    } == by_operation
    of_process = 1
    assert (len(writes) + len(reads) + 2 * len(barred) + len(of_session) + of_process, 3) == (
        report.coverage.singles.tried,
        report.coverage.singles.merged,
    )


@pytest.mark.deep
def test_a_call_has_the_number_by_which_rules_count_it(explore: Explore) -> None:
    """A HEAD is a call of the operation too."""

    def test(sandbox: Sandbox) -> None:
        sandbox.call("HEAD", "/v1/campaigns")
        list_once(sandbox)

    (finding,) = explore(test, faults=("drop-before",)).findings

    numbers = [(step.call, step.nth) for placement in finding.placements for step in placement]
    assert [(1, 1), (2, 2)] == numbers


def test_every_act_and_every_fault_of_a_delivery_is_tried_where_it_has_an_object(explore: Explore) -> None:
    tried = {
        name
        for test in (canceling, connecting, receiving)
        for name in names(explore(test, faults=(*ACTS, *DELIVERY_FAULTS)))
    }

    # The events of these tests are caused by no call, so that none can come before its answer.
    assert {*ACTS, *DELIVERY_FAULTS} - {BEFORE_ANSWER} == tried


def test_an_entrypoint_that_the_client_has_connected_is_removed_before_each_later_call(
    explore: Explore,
) -> None:
    def connect_and_read(sandbox: Sandbox) -> None:
        session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
        sandbox.complete_session(session)
        read = sandbox.call("GET", f"{SESSIONS}/{session}").json()
        assert "completed" == read["status"]
        sandbox.call("GET", f"/v1/entrypoints/{read['entrypoint']['id']}")

    report = explore(connect_and_read, faults=("entrypoint-removed",))

    assert not report.failed and not report.findings, report.text()
    assert {"readConnectionSession", "readEntrypoint"} == {operation for operation, _ in report.matrix}


def test_an_act_concerns_each_running_campaign_by_itself(mockserver_server: MockServer) -> None:
    draft = {"platform": "chatapp", "templateId": "template_t", "cadence": 1}
    given = {"templates": [{"id": "template_t"}], "chats": {"count": 3}}

    def launch(sandbox: Sandbox) -> None:
        made = [sandbox.call("POST", "/v1/campaigns", json={"name": name, **draft}).json() for name in ("A", "B")]
        for campaign in made:
            sandbox.call("POST", f"/v1/campaigns/{campaign['campaignId']}/start")
        sandbox.call("GET", f"/v1/campaigns/{made[0]['campaignId']}")

    exploration = Exploration(ExploreOptions(faults=("campaign-fails",), choices=()), test="launch")
    run = subject_of(mockserver_server, exploration, launch, given=given)
    ended: list[tuple[int | None, int]] = []

    @contextlib.contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        with run(placement) as outcome:
            campaigns = [row for _, row in outcome.control.sandbox._hosted.sandbox.records("campaign")]
            failed = [place for place, campaign in enumerate(campaigns) if campaign.status == "failed"]
            ended.extend((step.call, place) for step in placement for place in failed)
            yield outcome

    exploration.run(subject)

    assert [(4, 0), (5, 0), (5, 1)] == ended


def test_of_several_campaigns_that_no_call_names_an_act_concerns_one(explore: Explore) -> None:
    running = [
        {"id": f"campaign_{name}", "name": name, "templateId": "template_t", "cadence": 1, "status": "processing"}
        for name in "abc"
    ]
    given = {"templates": [{"id": "template_t"}], "chats": {"count": 9}, "campaigns": running}
    faults = ("campaign-canceled", "campaign-fails", "sends-stall")

    report = explore(list_once, settings={"given": given}, faults=faults)

    assert [("listCampaigns", name) for name in faults] == list(report.matrix)
    assert len(faults) == report.coverage.singles.tried


def subject_of(
    server: MockServer, exploration: Exploration, test: Any, **settings: Any
) -> Callable[[Placement], AbstractContextManager[EndedRun]]:
    """Return how an exploration runs a test, in a sandbox with these settings."""

    @contextlib.contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        with server.sandbox(**settings) as sandbox:
            control = exploration.prepare(sandbox, placement)
            raised = _run(test, sandbox)
            control.stop()
            yield EndedRun(control, raised)

    return subject


@pytest.mark.deep
def test_each_other_option_of_each_choice_that_was_read_is_tried(explore: Explore) -> None:
    report = explore(list_once, faults=(), choices=None)
    one = explore(list_once, faults=(), choices=("list-order",))
    chosen = explore(list_once, faults=(), choices=("list-order",), settings={"choices": {"list-order": "shuffled"}})

    assert "list-order" in report.clean.choices_read
    assert (2, 2) == (one.coverage.singles.tried, chosen.coverage.singles.tried)


def test_an_act_of_another_follows_a_fault_in_a_pair(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.apply(given={"templates": [{"id": "template_t"}], "chats": {"count": 3}})
        body = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 1}
        path = f"/v1/campaigns/{sandbox.call('POST', '/v1/campaigns', json=body).json()['campaignId']}"
        try:
            sandbox.call("POST", f"{path}/start", timeout=5)
        except OSError:
            assert "failed" != sandbox.call("GET", path, timeout=5).json()["status"]

    report = explore(test, faults=("drop-after", "campaign-fails"), pairs=20)

    (finding,) = [row for row in report.findings if row.cause == "AssertionError"]
    assert ["drop-after at call 2 (startCampaign) and campaign-fails before call 3 (readCampaign)"] == [
        placement.describe() for placement in finding.placements
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"faults": "stale"}, "expected a tuple, such as"),
        ({"operations": ("startCampain",)}, "operations: got 'startCampain'; expected an operation"),
        ({"choices": ("dual-stats",)}, "choices: got 'dual-stats'; expected a choice"),
        ({"pairs": "many"}, "pairs: got 'many'; expected a number of runs"),
        ({"seconds": "1s"}, "seconds: got '1s'; expected a number above 0"),
        ({"seconds": 0}, "seconds: got 0; expected a number above 0"),
        ({"tolerates": (("*", "drop-before", "crashed"),)}, "tolerates: got .* expected a type of exception, or a row"),
        ({"tolerates": (("*", "drop-before", "crash", "why"),)}, "tolerates: got 'crash'; expected a verdict"),
        ({"tolerates": (("*", "drop-before", "crashed", " "),)}, "tolerates: got no reason"),
    ],
)
def test_a_wrong_setting_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        ExploreOptions(**options)


# The clean run


def test_a_clean_run_that_fails_is_not_explored(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        raise LookupError("no such shop")

    report = explore(test)

    assert (True, 1) == (report.failed, report.runs)
    assert "the clean run failed, so nothing was explored: LookupError: no such shop" in report.text()


def test_the_first_difference_of_two_clean_runs_is_named(explore: Explore) -> None:
    numbers = itertools.count()

    def test(sandbox: Sandbox) -> None:
        list_once(sandbox)
        sandbox.call("GET", ["/v1/message-templates", "/v1/campaigns/filters/schema"][next(numbers) % 2], timeout=5)

    report = explore(test, faults=("drop-before",))

    assert not report.deterministic
    assert (
        "call 2 is GET /v1/message-templates in the first run and GET /v1/campaigns/filters/schema in the second"
        in report.text()
    )
    assert {"listCampaigns", "listTemplates"} >= {operation for operation, _ in report.matrix}


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ((), "the runs have 2 and 0 calls; only the first one has call 1, POST /v1/campaigns with the body "),
        ((LIST,), "call 1 is POST /v1/campaigns with the body "),
        ((LIST, TEMPLATES), "call 1 is POST /v1/campaigns with the body "),
    ],
)
def test_a_test_whose_second_run_lacks_calls_of_the_first_is_not_explored(
    explore: Explore, second: tuple[Any, ...], difference: str
) -> None:
    runs = iter([(CREATE, LIST), second])

    def test(sandbox: Sandbox) -> None:
        for method, path, body in next(runs):
            sandbox.call(method, path, json=body, timeout=5)

    report = explore(test, choices=None)

    assert (True, 2, 0) == (report.failed, report.runs, report.coverage.singles.tried)
    assert f"not explored: run 2 did not make the calls of run 1: {difference}" in report.text()
    assert "single placements" not in report.text()
    assert report.as_json()["tests"][0]["notes"][0].startswith("not explored: run 2 did not make the calls of run 1")


def test_a_second_run_that_makes_fewer_calls_of_each_operation_is_explored(explore: Explore) -> None:
    numbers = itertools.count()

    def test(sandbox: Sandbox) -> None:
        for _ in range(3 if next(numbers) % 2 else 5):
            list_once(sandbox)

    report = explore(test, faults=("internal-error",))

    singles = report.coverage.singles
    assert (False, False, 4) == (report.failed, report.deterministic, singles.tried)
    assert ["internal-error at call 4 (listCampaigns)"] == [each.describe() for each in singles.not_tried]


def test_no_pair_of_a_client_that_is_not_deterministic_is_left_out(
    explore: Explore,
) -> None:
    numbers = itertools.count()

    def test(sandbox: Sandbox) -> None:
        sandbox.call("GET", f"/v1/message-templates/template_{next(numbers)}?number{next(numbers)}", timeout=5)
        for _ in range(3):
            list_once(sandbox)

    report = explore(test, faults=("internal-error", "stale"), pairs=1000)

    assert not report.deterministic
    assert (6, 0, 6, []) == astuple(report.coverage.pairs)


def test_random_ids_and_instants_are_no_difference(explore: Explore) -> None:
    numbers = itertools.count(10)

    def test(sandbox: Sandbox) -> None:
        sandbox.call("GET", f"/v1/campaigns/campaign_{next(numbers)}abcdefgh", timeout=5)

    assert explore(test, faults=("drop-before",)).deterministic


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The real sleeps that are asked for, which take no time."""
    asked: list[float] = []
    own = RunInProcess.standard

    def standard(run: RunInProcess, function: str) -> Any:
        return asked.append if function == "time.sleep" else own(run, function)

    monkeypatch.setattr(RunInProcess, "standard", standard)
    return asked


async def async_sleeper(sandbox: Sandbox) -> None:
    await asyncio.sleep(0.06)


def in_thread(sandbox: Sandbox) -> None:
    thread = threading.Thread(target=lambda: time.sleep(0.2))
    thread.start()
    thread.join()


SLEEPERS = [
    (lambda sandbox: time.sleep(0.2), "0.2 s by time.sleep"),
    (async_sleeper, "0.06 s by asyncio.sleep"),
    (in_thread, "0.2 s by time.sleep"),
]


@pytest.mark.parametrize("sleeper, text", SLEEPERS)
@pytest.mark.usefixtures("slept")
def test_a_sleep_in_real_time_is_seen_at_its_call_however_short(
    explore: Explore, sleeper: Callable[[Sandbox], Coroutine[Any, Any, Any] | None], text: str
) -> None:
    def test(sandbox: Sandbox) -> Coroutine[Any, Any, Any] | None:
        list_once(sandbox)
        return sleeper(sandbox)

    report = explore(test, faults=("drop-before",), tolerates=(OSError,))

    line = rf"the test or its client sleeps in real time \({re.escape(text)} at test_exploration\.py:\d+\); let it"
    assert re.search(line, report.text())
    assert 'sleep=mockserver.sleep, or monkeypatch.setattr(time, "sleep", mockserver.sleep)' in report.text()
    assert 'for a coroutine monkeypatch.setattr(asyncio, "sleep", mockserver.aio.sleep)' in report.text()


def test_a_sleep_that_is_canceled_or_on_the_clock_of_the_sandbox_is_none(explore: Explore) -> None:
    async def test(sandbox: Sandbox) -> None:
        async def beat() -> None:
            await asyncio.sleep(60)

        background = asyncio.create_task(beat())
        await sandbox.aio.call("GET", "/v1/campaigns")
        await sandbox.aio.sleep(30)
        background.cancel()

    report = explore(test, faults=("drop-before",), tolerates=(OSError,))

    assert len(report.clean.calls) == 1
    assert "real time" not in report.text()


def test_a_sleep_only_after_a_fault_is_named_with_it(explore: Explore, slept: list[float]) -> None:
    def test(sandbox: Sandbox) -> None:
        while list_once(sandbox).status == 429:
            time.sleep(1)

    text = explore(test, faults=("rate-limit",)).text()

    assert "(1 s by time.sleep at test_exploration.py:" in text
    assert ", with rate-limit at call 1 (listCampaigns))" in text


def test_what_an_exploration_replaces_is_as_before_after_it(explore: Explore) -> None:
    before = time.sleep, asyncio.sleep
    random.seed(5)
    state = random.getstate()

    explore(list_once, faults=("drop-before",), tolerates=(OSError,))

    assert before == (time.sleep, asyncio.sleep)
    assert state == random.getstate()


@pytest.mark.usefixtures("slept")
def test_a_sleep_is_seen_while_freezegun_freezes_the_process(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        list_once(sandbox)
        time.sleep(0.2)
        assert datetime.now(UTC) == sandbox.now.replace(microsecond=0)  # the sandbox starts between two milliseconds

    with freeze_time("2026-03-01T12:00:00Z"):
        report = explore(test, faults=("drop-before",), tolerates=(OSError,))

    assert report.clean.failure is None
    assert "sleeps in real time (0.2 s by time.sleep" in report.text()
    assert abs(datetime.now(UTC).timestamp() - time.time()) < 60


def jittered(draw: Callable[[], float]) -> Callable[[Any], None]:
    def test(sandbox: Sandbox) -> None:
        while list_once(sandbox).status == 429:
            sandbox.sleep(draw())

    return test


def test_a_wait_with_jitter_is_equal_in_each_run(explore: Explore) -> None:
    test = jittered(lambda: random.uniform(0.001, 60))
    first, second = (explore(test, faults=("rate-limit",)) for _ in range(2))

    assert first.deterministic
    assert without_seconds(first) == without_seconds(second)


# Bounds


def test_a_client_without_a_timeout_waits_an_hour_of_the_sandbox_clock_and_no_real_time(
    explore: Explore,
) -> None:
    waited = []

    def test(sandbox: Sandbox) -> None:
        before = sandbox.now
        try:
            sandbox.call("GET", "/v1/campaigns")
        except OSError:
            waited.append((sandbox.now - before).total_seconds())

    explore(test, faults=("timeout-before", "timeout-after"))

    assert [3600] == waited


def test_over_a_socket_nothing_that_takes_real_time_is_tried(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        headers = {"X-API-Key": sandbox.secret_key}
        requests.get(f"{sandbox.base_url}/v1/campaigns", headers=headers, timeout=5)

    report = explore(test)

    assert {"timeout-before", "timeout-after", "dribble"}.isdisjoint(names(report))
    assert {"drop-before", "reset-before", "truncate", "internal-error"} < set(names(report))
    assert "timeout-before, timeout-after, dribble at calls over a socket" in report.text()


def test_no_run_begins_after_the_budget_of_seconds(explore: Explore) -> None:
    report = explore(canceling, choices=None, seconds=1e-9)

    assert (2, 0, True) == (report.runs, report.coverage.singles.tried, report.failed)
    assert "ended after 1e-09 seconds, before the last run\n" in report.text()
    assert f"\n  {report.coverage.singles.left} single placements\n" in report.text()


def reads_with(wait_s: Callable[[Any], float], attempts: int = 4) -> Callable[[Sandbox], None]:
    """A test whose client waits after a 429 as long as the function says, and calls a few times."""

    def test(sandbox: Sandbox) -> None:
        for _ in range(attempts):
            with contextlib.suppress(ConnectionError):
                answer = sandbox.call("GET", "/v1/campaigns")
                if answer.status == 200:
                    return
                sandbox.sleep(wait_s(answer.headers))
        raise RuntimeError("the service does not answer")

    return test


def seconds_of(headers: Any) -> float:
    written = headers.get("retry-after", "60")
    return float(written) if written.isdigit() else 60.0


WAITS = {
    "as long as it is asked": (lambda headers: max(seconds_of(headers), 30), {}),
    "a minute at most": (lambda headers: min(max(seconds_of(headers), 30), 60), {"rate-limit-long": "breach"}),
    "seconds alone": (lambda headers: max(float(headers.get("retry-after", 30)), 30), {"rate-limit-date": "crashed"}),
    "only if it is asked": (
        lambda headers: headers["retry-after"] and max(seconds_of(headers), 30),
        {"rate-limit-bare": "crashed"},
    ),
}


@pytest.mark.parametrize("waits", WAITS)
def test_a_429_has_variants_that_find_what_a_client_makes_of_its_header(explore: Explore, waits: str) -> None:
    wait_s, expected = WAITS[waits]
    report = explore(reads_with(wait_s), faults=("rate-limit",))

    verdicts = {name: [*counts] for (_, name), counts in report.matrix.items()}
    assert {name: [verdict] for name, verdict in expected.items()} == {
        name: found for name, found in verdicts.items() if found != ["survived"]
    }
    assert 6 == len(verdicts)


def by_its_own_clock(sandbox: Sandbox) -> None:
    """Wait after a 429 until its date, by the computer's clock."""
    while (answer := sandbox.call("GET", "/v1/campaigns")).status == 429:
        written = answer.headers["retry-after"]
        date = None if written.isdigit() else parsedate_to_datetime(written)
        sandbox.sleep(float(written) if date is None else max(0.0, (date - datetime.now(UTC)).total_seconds()))


@pytest.mark.parametrize("now", ["2001-01-01T00:00:00.301Z", "2999-01-01T00:00:00.301Z"])
def test_a_client_that_obeys_a_date_by_its_own_clock_is_not_accused_however_far_that_is(
    explore: Explore, now: str
) -> None:
    faults = ("rate-limit", "rate-limit-date", "rate-limit-twice")
    options: dict[str, Any] = {"settings": {"now": now}, "choices": ("rate-limit-headers",)}
    report = explore(by_its_own_clock, faults=faults, tolerates=(KeyError,), **options)

    assert [] == report.findings, report.text()


def test_a_variant_is_tried_once_for_each_operation(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        for limit in (1, 2, 3):
            sandbox.call("GET", f"/v1/campaigns?limit={limit}")
        sandbox.call("GET", "/v1/message-templates")

    report = explore(test, faults=("rate-limit-date", "rate-limit-twice"))

    assert {"placements": 8, "merged": 4, "tried": 4, "notTried": 0} == report.coverage.singles.as_json()


@pytest.mark.parametrize(("attempts", "found"), [(2, {"outage": "crashed"}), (4, {})])
def test_an_outage_concerns_three_calls_or_all_that_follow(
    explore: Explore, attempts: int, found: dict[str, str]
) -> None:
    report = explore(reads_with(seconds_of, attempts), faults=("outage",))

    verdicts = {name: next(iter(counts)) for (_, name), counts in report.matrix.items()}
    assert {"outage": "survived", "outage-for-good": "reported"} | found == verdicts


@pytest.mark.parametrize("name", ["outage", "outage-for-good", "rate-limit-date", "rate-limit-twice"])
def test_the_document_and_the_lines_of_a_variant_replay_it(mockserver_server: MockServer, name: str) -> None:
    answers: list[Any] = []

    def test(sandbox: Sandbox) -> None:
        seen: list[Any] = []
        for _ in range(5):
            try:
                answer = sandbox.call("GET", "/v1/campaigns")
                seen.append((answer.status, answer.headers.get("retry-after")))
            except ConnectionError as failure:
                seen.append(type(failure).__name__)
        answers.append(seen)
        assert {(200, None)} == {*seen}

    settings = {"now": "2026-03-01T12:00:00Z"}
    report = mockserver_server.explore(test, settings=settings, faults=(name,), choices=())
    explored, count = answers[2], len(answers)
    finding = next(iter(report.findings), None)  # a test that reports an outage for good has none
    step = Placement.of(ExploreStep("fault", "listCampaigns", 1, 1, name))
    with mockserver_server.sandbox(now="2026-03-01T12:00:00Z") as sandbox, contextlib.suppress(AssertionError):
        for line in step.lines:
            exec(line, {"mockserver": sandbox})  # noqa: S102 - the line of the report
        test(sandbox)
    if finding is not None:
        with mockserver_server.sandbox(finding.document) as sandbox, contextlib.suppress(AssertionError):
            test(sandbox)

    assert [explored] * (1 + (finding is not None)) == answers[count:]
    assert {(200, None)} != {*explored}


def by_requests(sandbox: Sandbox, **options: Any) -> None:
    with contextlib.suppress(requests.RequestException):
        sandbox.requests_session().get(f"{sandbox.base_url}/v1/campaigns", **options)


def by_httpx(sandbox: Sandbox, **options: Any) -> None:
    with contextlib.suppress(httpx.HTTPError), sandbox.httpx_client() as client:
        client.get("/v1/campaigns", **options)


PATIENT = {
    "requests, which has none": (by_requests, {}),
    "httpx, told to have none": (by_httpx, {"timeout": None}),
}
IMPATIENT = {
    "requests with one": (by_requests, {"timeout": 30}),
    "httpx, which has one": (by_httpx, {}),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("client", PATIENT)
def test_a_client_without_a_timeout_is_named_in_the_first_lines(explore: Explore, client: str, strict: bool) -> None:
    call, options = PATIENT[client]
    faults = ("timeout-before", "drop-before", "dribble")
    report = explore(lambda box: call(box, **options), faults=faults, strict=strict)

    found = "breach" if strict else "advice"
    assert [(found, "no-timeout", 1)] == [(row.verdict, row.cause, row.count) for row in report.findings]
    assert strict == report.failed
    assert "base.internal" == report.findings[0].clause
    first = "  the client has no timeout, so that a lost answer would hold it for ever, at 1 placement: set one"
    assert first == report.text().splitlines()[1]


@pytest.mark.parametrize("client", IMPATIENT)
def test_a_client_with_a_timeout_is_not(explore: Explore, client: str) -> None:
    call, options = IMPATIENT[client]
    report = explore(lambda box: call(box, **options), faults=("timeout-before",))

    assert [] == report.findings
    assert 1 == report.coverage.singles.tried


class ItemType(enum.Enum):
    """As a generated client closes the list of an item's types."""

    TEXT = "text"


@pytest.mark.parametrize("tolerates", [(), (ValueError,)], ids=["not tolerated", "tolerated"])
def test_a_crash_under_an_unlisted_value_is_named_by_its_cause(
    explore: Explore, tolerates: tuple[type[Exception], ...]
) -> None:
    def test(sandbox: Sandbox) -> None:
        template = sandbox.call("GET", "/v1/message-templates/template_one").json()
        assert [ItemType.TEXT] == [ItemType(item["type"]) for item in template["items"]]

    items = [{"type": "text", "text": "Oi"}]
    settings = {"given": {"templates": [{"id": "template_one", "name": "One", "items": items, "variables": []}]}}
    report = explore(test, faults=(), choices=("new-enum-values",), settings=settings, tolerates=tolerates)

    found = {row.cause: (row.verdict, row.message) for row in report.findings}
    assert "advice" == found["closed-enums"][0]
    assert found["closed-enums"][1].startswith("the test ended with ValueError: ")
    assert ("ValueError" in found) == (not tolerates)


FEW_FAULTS = ("drop-before", "internal-error", "garble", "truncate")


def test_an_interrupt_ends_the_exploration_and_shows_what_was_found_before(explore: Explore) -> None:
    runs = itertools.count()

    def test(sandbox: Sandbox) -> None:
        if next(runs) == 5:
            raise KeyboardInterrupt
        list_once(sandbox)

    with pytest.raises(KeyboardInterrupt) as interrupt:
        explore(test, faults=FEW_FAULTS)

    (report,) = interrupt.value.__notes__
    lines = report.splitlines()
    assert "ended early, by Ctrl-C; the report has what was found before" == lines[0]
    assert "  3 of 4 single placements" == lines[2]
    assert any(line.startswith("crashed: RemoteDisconnected") for line in lines)


def test_beyond_the_budget_each_fault_is_tried_at_the_first_calls_of_each_operation(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        for limit in (1, 2, 3):
            sandbox.call("GET", f"/v1/campaigns?limit={limit}")
        sandbox.call("GET", "/v1/message-templates")

    report = explore(test, faults=("drop-before", "garble"), prune=False, runs=4)

    both = {
        (operation, fault) for operation in ("listCampaigns", "listTemplates") for fault in ("drop-before", "garble")
    }
    assert both == set(report.matrix)
    first = "4 single placements are beyond the budget of 4 (`runs`): each fault is tried at the first calls of each operation"
    assert first == report.text().splitlines()[0]
    assert first == report.entry()["notes"][0]
    assert {"placements": 8, "merged": 0, "tried": 4, "notTried": 0} == report.entry()["singles"]
    assert not report.failed


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (lambda: sys.exit(), "survived"),
        (lambda: sys.exit(0), "survived"),
        (lambda: sys.exit(2), "reported"),
        (lambda: sys.exit("the service is down"), "reported"),
        (lambda: pytest.skip("the service is down"), "reported"),
        (lambda: pytest.xfail("the service is down"), "reported"),
        (lambda: pytest.fail("the service is down"), "crashed"),
    ],
)
def test_the_status_of_a_program_and_the_outcomes_of_pytest_are_answers_of_the_test(
    explore: Explore, end: Callable[[], Any], verdict: str
) -> None:
    def test(sandbox: Sandbox) -> None:
        if sandbox.call("GET", "/v1/campaigns").status != 200:
            end()

    report = explore(test, faults=("internal-error",))

    assert {verdict: 1} == report.verdicts


def test_the_progress_shows_placements_findings_and_seconds(mockserver_server: MockServer) -> None:
    options = ExploreOptions(faults=("drop-before", "internal-error"), choices=())
    exploration = Exploration(options, test="it")
    seen: list[str] = []

    exploration.run(subject_of(mockserver_server, exploration, list_once), seen.append)

    clean = ["clean run, 0 findings", "clean run, 0 findings"]
    assert [*clean, "0 of 2, 0 findings", "1 of 2, 1 finding"] == [text.rpartition(", ")[0] for text in seen]


# The report


def test_the_json_has_each_finding_with_what_repeats_it(mockserver_server: MockServer) -> None:
    document = hunt(mockserver_server, "duplicate-start", choices=(), faults=("drop-after",)).report.as_json()

    (view,) = document["tests"]
    (finding,) = view["findings"]
    assert ["drop-after at call 4 (startCampaign)"] == [step["text"] for step in finding["placements"][0]]
    assert ("breach", "duplicate-start", 1, "advice.read-before-restart") == (
        finding["verdict"], finding["cause"], finding["count"], finding["clause"],
    )  # fmt: skip
    assert {"survived": 0, "reported": 0, "crashed": 0, "breach": 1, "silent": 0} == view["matrix"]["startCampaign"][
        "drop-after"
    ]
    assert ['mockserver.on("startCampaign").nth(1).do({"drop": "after"})'] == finding["lines"]
    assert {"script": [{"on": "startCampaign", "nth": 1, "do": {"drop": "after"}}]} == finding["rules"]
    assert view["runs"] == view["singles"]["tried"] + 2  # two clean ones
    json.dumps(view)


def without_seconds(report: ExploreReport) -> tuple[str, str]:
    """Return a report as text and as JSON, without the seconds, which stand last."""
    text, _, last = report.text().rpartition("\n")
    assert re.fullmatch(rf"{report.runs} runs in \d+\.\d s", last)
    entry = report.entry()
    assert "seconds" == [*entry][-1]
    return text, json.dumps({**entry, "seconds": None})


def test_addresses_of_one_run_are_not_in_the_report(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        answer = list_once(sandbox)
        assert answer.status == 200, f"{sandbox.base_url}/v1/campaigns failed for {object()!r}"

    report = explore(test, faults=("internal-error",))

    message, _, place = report.findings[0].message.partition(", at ")
    assert "AssertionError: {base_url}/v1/campaigns failed for <object object at 0x...>" == message
    assert place.startswith("tests/runs/faults/test_exploration.py:")


# Documents


class Unarmed(Placement):
    """A placement whose rules and choices are those of the sandbox's document already."""

    script: Any = ()
    choices: Any = {}  # noqa: RUF012 - never changed


@pytest.mark.parametrize(
    ("bug", "options"),
    [
        ("duplicate-start", {"faults": ("drop-after",)}),
        pytest.param("cancel-and-forget", {"faults": ("internal-error",)}, marks=pytest.mark.deep),
        pytest.param("waits-only-for-completed", {"faults": ("campaign-fails",)}, marks=pytest.mark.deep),
        pytest.param("session-storm", {"faults": ("number-in-use",)}, marks=pytest.mark.deep),
        ("no-dedupe", {"faults": ("duplicate",)}),
        pytest.param("page-early-stop", {"faults": (), "choices": ("short-pages",)}, marks=pytest.mark.deep),
        pytest.param("cancel-tried-twice", {"faults": ("drop-before", "internal-error")}, marks=pytest.mark.deep),
    ],
)
def test_the_document_of_a_finding_and_its_lines_replay_it(
    mockserver_server: MockServer, tmp_path: Path, bug: str, options: Any
) -> None:
    explored = hunt(mockserver_server, bug, **{"choices": (), **options})
    finding = explored.finding
    assert finding is not None
    explored.report.write_documents(tmp_path)

    def pasted(sandbox: Sandbox) -> None:
        exec("\n".join(finding.lines), {"mockserver": sandbox})  # noqa: S102 - as a user pastes them

    expected = (finding.verdict, finding.cause)
    assert expected in _shown_again(mockserver_server, bug, finding, finding.path, lambda _: None)
    assert expected in _shown_again(mockserver_server, bug, finding, None, pasted)


def _shown_again(
    server: MockServer, bug: str, finding: ExploreFinding, scenario: str | None, prepare: Callable[[Sandbox], None]
) -> set[tuple[str, str]]:
    """Return verdict and cause of what a run shows whose sandbox is made from a scenario and prepared by the test."""
    test = ordinary_test(bug)
    exploration = Exploration(ExploreOptions(faults=(), choices=()), test=bug)
    exploration._singles = lambda: iter([Unarmed(finding.placements[0])])  # type: ignore[method-assign]

    @contextlib.contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        with server.sandbox(scenario) if placement else server.sandbox(now="2026-03-01T12:00:00Z") as sandbox:
            if placement:
                prepare(sandbox)
            control = exploration.prepare(sandbox, placement)
            raised = _run(test, sandbox)
            control.stop()
            yield EndedRun(control, raised)

    exploration.run(subject)
    return {(row.verdict, row.cause) for row in exploration.report.findings}


def _run(test: Any, sandbox: Sandbox) -> BaseException | None:
    try:
        test(sandbox)
    except BaseException as failure:  # noqa: BLE001 - a run may be ended at a bound
        frames = failure.__traceback__
        return failure.with_traceback(frames.tb_next if frames else None)  # as if the exploration itself had called it
    return None


def test_a_document_contains_the_seed_data_of_the_settings(explore: Explore) -> None:
    given = {"templates": [{"id": "template_of_settings"}]}
    scenario = {"given": {"templates": [{"id": "template_of_scenario"}]}}

    report = explore(list_once, settings={"scenario": scenario, "given": given}, faults=("drop-before",))

    ids = [entry["id"] for entry in report.findings[0].document["given"]["templates"]]
    assert ["template_of_scenario", "template_of_settings"] == ids


def test_a_paused_template_is_equal_before_each_call_up_to_the_first_that_depends_on_it(
    explore: Explore,
) -> None:
    given = {"templates": [{"id": "template_a"}], "chats": {"count": 1}}

    def test(sandbox: Sandbox) -> None:
        draft = {"name": "Natal", "platform": "chatapp", "templateId": "template_a", "cadence": 60}
        created = sandbox.call("POST", "/v1/campaigns", json=draft).json()  # depends on it
        for _ in range(2):
            sandbox.call("GET", f"/v1/campaigns/{created['campaignId']}")
            sandbox.call("GET", "/v1/campaigns")
        sandbox.call("GET", "/v1/message-templates/template_a")  # depends on it too
        sandbox.call("GET", "/v1/campaigns")

    report = explore(test, settings={"given": given}, faults=("template-paused",))

    assert {"placements": 7, "merged": 4, "tried": 3, "notTried": 0} == report.coverage.singles.as_json()


def test_a_lost_answer_of_a_refused_call_is_equal_to_a_lost_call(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        assert 404 == sandbox.call("POST", "/v1/campaigns/campaign_unknown/start").status

    report = explore(test, faults=("drop-before", "drop-after"))

    assert {"placements": 2, "merged": 1, "tried": 1, "notTried": 0} == report.coverage.singles.as_json()
