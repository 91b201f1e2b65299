"""The verdict on a run: what a client gets it for, and the correct clients that look alike and do not get it."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from typing import Any
from unittest import mock

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.testing.runs.faults import EndedRun, Exploration, ExploreOptions, ExploreReport, Placement
from mockserver.testing.runs.faults.placements import ExploreStep
from mockserver.testing.runs.in_process import RunInProcess

Explore = Callable[..., ExploreReport]
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
LOST = (OSError, HTTPException)
GIVEN = {"templates": [{"id": "template_t"}], "chats": {"count": 3}}


def create(sandbox: Sandbox, name: str = "Natal", *, cadence: int = 1) -> str:
    body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": cadence}
    return str(sandbox.call("POST", "/v1/campaigns", json=body, timeout=5).json()["campaignId"])


def start(sandbox: Sandbox, campaign: str) -> int:
    return sandbox.call("POST", f"/v1/campaigns/{campaign}/start", timeout=5).status


def list_campaigns(sandbox: Sandbox) -> Any:
    return sandbox.call("GET", "/v1/campaigns", timeout=5)


def launched(sandbox: Sandbox) -> str:
    campaign = create(sandbox)
    start(sandbox, campaign)
    return campaign


def status(sandbox: Sandbox, campaign: str) -> str:
    return str(sandbox.call("GET", f"/v1/campaigns/{campaign}", timeout=5).json()["status"])


def causes(report: ExploreReport, *verdicts: str) -> set[str]:
    return {row.cause for row in report.findings if row.verdict in (verdicts or ("silent", "breach"))}


@pytest.fixture
def explore(mockserver_server: MockServer) -> Explore:
    def run(test: Callable[[Sandbox], object], **options: Any) -> ExploreReport:
        return mockserver_server.explore(test, **{"settings": {"given": GIVEN}, "choices": (), **options})

    return run


def swallowing(call: Callable[[], object]) -> None:
    try:
        call()
    except (*LOST, ValueError, KeyError):
        pass


def test_a_start_whose_answer_alone_is_lost_has_caused_the_same(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        swallowing(lambda: start(sandbox, campaign))

    assert not explore(test, faults=("drop-after",), operations=("startCampaign",)).findings


def test_a_test_that_starts_twice_in_any_case_does_not_repeat_because_of_the_fault(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        for _ in range(2):
            swallowing(lambda: start(sandbox, campaign))
            sandbox.sleep(120)

    assert set() == causes(explore(test, faults=("drop-after", "internal-error"), operations=("startCampaign",)))


def test_a_start_repeated_because_of_the_fault_is_a_breach(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        try:
            start(sandbox, campaign)
        except LOST:
            start(sandbox, campaign)

    assert {"duplicate-start"} == causes(explore(test, faults=("drop-after",)))


def test_a_finding_that_is_excused_hides_no_later_one_of_its_rule(explore: Explore) -> None:
    """The test starts the first campaign twice in any case, and the second one again because of the outage."""

    def test(sandbox: Sandbox) -> None:
        first, second = create(sandbox), create(sandbox, "Carnaval")
        for campaign in (first, first, second):
            try:
                start(sandbox, campaign)
            except LOST:
                if campaign == second:
                    start(sandbox, second)

    report = explore(test, faults=("outage",), operations=("startCampaign",), tolerates=LOST)

    (finding,) = (row for row in report.findings if row.cause == "duplicate-start")
    assert "outage at call 3 (startCampaign)" in [each.describe() for each in finding.placements]


def recreated(sandbox: Sandbox, adopts: bool) -> None:
    """Create; after a lost answer again, and if the name is taken then, look for it among the campaigns."""
    body = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 1}
    try:
        answer = sandbox.call("POST", "/v1/campaigns", json=body, timeout=5)
    except LOST:
        answer = sandbox.call("POST", "/v1/campaigns", json=body, timeout=5)
    if answer.json().get("code") == "CAMPAIGN_NAME_ALREADY_EXISTS" and adopts:
        names = [row["name"] for row in list_campaigns(sandbox).json()["campaigns"]]
        assert "Natal" in names


def test_a_create_that_is_repeated_and_looked_up_if_its_name_is_taken_is_no_breach(
    explore: Explore,
) -> None:
    report = explore(lambda sandbox: recreated(sandbox, adopts=True), faults=("drop-before", "drop-after"), pairs=20)

    assert set() == causes(report)
    assert report.coverage.pairs.tried > 0


def test_a_create_that_is_repeated_and_not_looked_up_is_a_breach(explore: Explore) -> None:
    report = explore(lambda sandbox: recreated(sandbox, adopts=False), faults=("drop-before", "drop-after"))

    assert {"blind-post-retry"} == causes(report)
    assert ["drop-after at call 1 (createCampaign)"] == [each.describe() for each in report.findings[0].placements]


def test_each_list_of_the_ledger_that_has_more_than_in_the_clean_run_is_a_breach(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        try:
            start(sandbox, campaign)
        except LOST:
            start(sandbox, create(sandbox, "Natal (2)"))
        sandbox.sleep(600)
        if len(sandbox.call("GET", "/v1/campaigns").json()["campaigns"]) > 1:
            raise KeyError("the campaign is there twice")

    report = explore(test, faults=("drop-after",), operations=("startCampaign",), tolerates=(KeyError,))

    lists = {"duplicate-executions", "duplicate-sends", "cloned-campaigns"}
    assert lists < causes(report, "breach")
    messages = {row.cause: row.message for row in report.findings}
    assert "the ledger's list of duplicate sends has 3, and in the clean run none" == messages["duplicate-sends"]


def test_two_campaigns_of_similar_names_are_no_clones_if_the_clean_run_has_both(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        for name in ("Natal", "Natal 2"):
            campaign = create(sandbox, name)
            swallowing(partial(start, sandbox, campaign))
        sandbox.advance("1h")

    report = explore(test, faults=("drop-after", "timeout-after"), operations=("startCampaign",))

    assert set() == causes(report)


def test_a_session_that_is_created_again_after_a_lost_answer_is_no_difference(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        try:
            answer = sandbox.call("POST", SESSIONS, json={}, timeout=5)
            json.loads(answer.body)["sessionId"]
        except (*LOST, ValueError, KeyError):
            sandbox.sleep(2)
            sandbox.call("POST", SESSIONS, json={}, timeout=5)

    report = explore(test, faults=("drop-after", "drop-before", "truncate", "garble", "bad-gateway", "timeout-after"))

    assert {"survived": 6} == {name: count for name, count in report.verdicts.items() if count}


def test_a_session_too_many_is_a_difference(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        answer = sandbox.call("POST", SESSIONS, json={}, timeout=5)
        for _ in range(3 if answer.status == 429 else 0):
            sandbox.sleep(60)
            sandbox.call("POST", SESSIONS, json={}, timeout=5)

    report = explore(test, faults=("rate-limit",))

    assert ["the test passed, and its calls caused 3 sessions instead of 1"] == [
        row.message for row in report.findings[:1]
    ]


@pytest.mark.parametrize("reads_first", [False, True])
def test_a_cancel_during_which_the_campaign_ends_is_no_difference(explore: Explore, reads_first: bool) -> None:
    """The timeout of the read takes ten seconds, in which the campaign completes; a client that read it need not cancel."""

    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox, cadence=60)
        start(sandbox, campaign)
        seen = None
        for _ in range(2):
            try:
                seen = status(sandbox, campaign)
                break
            except LOST:
                sandbox.sleep(10)
        if seen == "processing" or not reads_first:
            sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel")
        assert reads_first or status(sandbox, campaign) in ("canceled", "completed")

    assert not explore(test, faults=("timeout-before",), operations=("readCampaign",)).failed


def test_a_campaign_that_another_has_canceled_after_a_lost_cancel_needs_none(
    explore: Explore,
) -> None:
    read = []

    def test(sandbox: Sandbox) -> None:
        campaign = launched(sandbox)
        try:
            sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel", timeout=5)
        except LOST:
            read.append(status(sandbox, campaign))
            if read[-1] == "processing":
                sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel", timeout=5)

    operations = ("cancelCampaign", "readCampaign")
    report = explore(test, faults=("drop-before", "campaign-canceled"), operations=operations, pairs=9, tolerates=LOST)

    assert set() == causes(report)
    assert {"processing", "canceled"} == set(read)


def test_a_cancel_repeated_after_an_outdated_read_is_no_breach(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = launched(sandbox)
        for _ in range(3):
            sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel")
            if status(sandbox, campaign) == "canceled":
                return

    assert set() == causes(explore(test, faults=("stale",)))


def reader(sandbox: Sandbox, wait: Callable[[float], object]) -> None:
    """Read after a 429 again, after a wait by this function; then poll by the sandbox's sleep."""
    while list_campaigns(sandbox).status == 429:
        wait(3)
    sandbox.sleep(60)
    list_campaigns(sandbox)


def by_socket(sandbox: Sandbox) -> None:
    """Read by a socket, after a 429 again by a sleep that its caller has injected."""
    with requests.Session() as session:
        while (
            session.get(
                f"{sandbox.base_url}/v1/campaigns", headers={"X-API-Key": sandbox.secret_key}, timeout=60
            ).status_code
            == 429
        ):
            pass


def patched(
    target: str, sleep: Callable[[Sandbox], object], wait: Callable[[float], object]
) -> Callable[[Sandbox], None]:
    """Return the test of a reader while a function of the library is replaced."""

    def test(sandbox: Sandbox) -> None:
        with mock.patch(target, sleep(sandbox)):
            reader(sandbox, wait)

    return test


async def reads_again_at_once(sandbox: Sandbox) -> None:
    while (await sandbox.aio.call("GET", "/v1/campaigns", timeout=5)).status == 429:
        pass


def tolerant(sandbox: Sandbox) -> None:
    """Poll by the sandbox's sleep, also after a failure; the client in it has a sleep that moves no clock."""

    def read() -> None:
        while list_campaigns(sandbox).status == 429:
            no_sleep(3)

    for _ in range(2):
        swallowing(read)
        sandbox.sleep(60)


def no_sleep(_seconds: float) -> None:
    """The sleep that a test injects."""


UNJUDGED: dict[str, Callable[[Sandbox], object]] = {
    "injects a sleep that moves no clock": lambda sandbox: reader(sandbox, no_sleep),
    "injects one, and its test polls by another, also after a failure": tolerant,
    "injects one, by a socket": by_socket,
    "replaces time.sleep": patched("time.sleep", lambda _: no_sleep, lambda s: time.sleep(s)),
    "replaces Event.wait": patched(
        "threading.Event.wait", lambda _: lambda *_: False, lambda s: threading.Event().wait(s)
    ),
    "takes the wait out of a policy": lambda sandbox: reader(sandbox, lambda _: time.sleep(0)),
    "repeats at once, and nothing shows that it would sleep": reads_again_at_once,
}


async def no_async_sleep(_delay: float, _result: object = None) -> None:
    """Sleep no time."""


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


def really(wait: Callable[[float], object]) -> Callable[[Sandbox], None]:
    """Return the test of a reader that sleeps by the library, whose sleeps an exploration records and which take no time."""

    def test(sandbox: Sandbox) -> None:
        own = {"time.sleep": no_sleep, "asyncio.sleep": no_async_sleep}
        with mock.patch.object(RunInProcess, "standard", lambda _, function: own[function]):
            reader(sandbox, wait)

    return test


JUDGED: dict[str, Callable[[Sandbox], object]] = {
    "sleeps on the sandbox's clock": lambda sandbox: reader(sandbox, sandbox.sleep),
    "sleeps on it for no time": lambda sandbox: reader(sandbox, lambda _: sandbox.sleep(0)),
    "repeats at once, while time.sleep is the sandbox's": patched(
        "time.sleep", lambda sandbox: sandbox.sleep, no_sleep
    ),
    "repeats at once, while asyncio.sleep is the sandbox's": patched(
        "asyncio.sleep", lambda sandbox: sandbox.aio.sleep, no_sleep
    ),
    "sleeps in real time": really(lambda s: time.sleep(s)),
    "sleeps in real time on a loop": really(lambda s: asyncio.run(pause(s))),
}


async def in_parallel(sandbox: Sandbox) -> None:
    """Five equal reads at once, each of which is made again after a 429."""

    async def read() -> None:
        while (await sandbox.aio.call("GET", "/v1/campaigns", timeout=5)).status == 429:
            await asyncio.sleep(120)

    with mock.patch("asyncio.sleep", sandbox.aio.sleep):
        await asyncio.gather(*(read() for _ in range(5)))


def one_by_one(sandbox: Sandbox) -> None:
    """Two equal reads in any case, whatever they get."""
    with mock.patch("time.sleep", sandbox.sleep):
        for _ in range(2):
            list_campaigns(sandbox)


def thrice(sandbox: Sandbox) -> None:
    for _ in range(3):
        list_campaigns(sandbox)


@pytest.mark.parametrize("test", [in_parallel, one_by_one, thrice])
def test_equal_calls_that_the_clean_run_makes_too_repeat_nothing(
    explore: Explore, test: Callable[[Sandbox], object]
) -> None:
    faults = ("rate-limit-long", "rate-limit-twice", "rate-limit-date", "key-revoked")
    report = explore(test, faults=faults)

    assert [] == [row.cause for row in report.findings], report.text()
    assert "is not judged at" not in report.text()


@pytest.mark.parametrize("client", UNJUDGED)
def test_a_client_whose_sleep_moves_no_clock_is_not_judged_by_its_waits(explore: Explore, client: str) -> None:
    report = explore(UNJUDGED[client], faults=("drop-before", "rate-limit-long", "rate-limit-twice"))

    assert set() == causes(report), report.text()
    assert (
        "ignore-retry-after is not judged at 2 placements, such as rate-limit-long at call 1 (listCampaigns): no clock moved"
        in report.text()
    )
    assert (
        'let it sleep on the sandbox\'s clock: sleep=mockserver.sleep, or monkeypatch.setattr(time, "sleep"'
        in report.text()
    )


@pytest.mark.parametrize("client", JUDGED)
def test_a_client_whose_waits_are_seen_is_judged_by_them(explore: Explore, client: str) -> None:
    report = explore(JUDGED[client], faults=("rate-limit-long", "rate-limit-twice"))

    assert {"ignore-retry-after"} == causes(report), report.text()
    assert "is not judged" not in report.text()


def test_a_wait_in_real_time_is_stated_as_long_as_it_was(explore: Explore) -> None:
    report = explore(really(lambda _: time.sleep(0.337)), faults=("rate-limit-long",))

    assert ["listCampaigns was repeated after 337 ms; its Retry-After was 120 s"] == [
        row.message for row in report.findings
    ]


def test_a_client_that_sleeps_as_long_as_it_is_asked_in_real_time_obeys(explore: Explore) -> None:
    report = explore(really(lambda _: time.sleep(30)), faults=("rate-limit-twice",))

    assert [] == report.findings
    assert "is not judged" not in report.text()


def test_a_client_that_reports_a_failed_poll_has_not_forgotten_it(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = launched(sandbox)
        while status(sandbox, campaign) == "processing":
            sandbox.sleep(15)

    report = explore(test, faults=("timeout-before",), tolerates=(TimeoutError,), operations=("readCampaign",))

    assert set() == causes(report)
    assert report.verdicts["reported"] == report.coverage.singles.tried


def test_waiting_for_a_session_to_its_deadline_has_an_end(explore: Explore) -> None:
    """The end user finishes at the first creation only, whose answer is lost."""

    def test(sandbox: Sandbox) -> None:
        sandbox.on("createConnectionSession").nth(1).complete_session()
        for _ in range(3):
            try:
                session = json.loads(sandbox.call("POST", SESSIONS, json={}, timeout=5).body)["sessionId"]
                break
            except LOST:
                sandbox.sleep(2)
        for _ in range(260):
            if sandbox.call("GET", f"{SESSIONS}/{session}").json()["status"] != "pending":
                return
            sandbox.sleep(5)

    assert set() == causes(explore(test, faults=("drop-before",), operations=("createConnectionSession",)))


def test_reads_without_end_are_ended_and_are_a_breach(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = launched(sandbox)
        while status(sandbox, campaign) != "completed":
            sandbox.sleep(15)

    report = explore(test, faults=("campaign-canceled",))

    assert "endless" in causes(report)
    (endless,) = (row for row in report.findings if row.cause == "endless")
    assert "was read 21 more times after its final state was answered" in endless.message


def test_a_row_of_equal_calls_that_changes_nothing_is_endless(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        swallowing(lambda: start(sandbox, campaign))
        while status(sandbox, campaign) == "draft":
            sandbox.sleep(15)

    report = explore(test, faults=("drop-before",), operations=("startCampaign",))

    assert {"endless"} == causes(report)
    assert report.findings[0].message.startswith("52 equal calls in a row changed nothing; ")


def test_sends_that_stall_go_on_after_twenty_reads(explore: Explore) -> None:
    polls: list[int] = []

    def test(sandbox: Sandbox) -> None:
        campaign, count = create(sandbox), 0
        start(sandbox, campaign)
        while status(sandbox, campaign) != "completed":
            sandbox.sleep(15)
            count += 1
        polls.append(count)

    report = explore(test, faults=("sends-stall",))

    assert not report.findings
    assert polls[0] + 20 <= polls[-1] <= polls[0] + 40


def test_the_stall_of_one_of_two_campaigns_ends_too(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaigns = [create(sandbox, name) for name in ("Natal", "Carnaval")]
        for campaign in campaigns:
            start(sandbox, campaign)
        list_campaigns(sandbox)
        for campaign in campaigns:
            while status(sandbox, campaign) != "completed":
                sandbox.sleep(15)

    report = explore(test, faults=("sends-stall",))

    assert [] == report.findings, report.text()


def test_a_draft_that_another_has_canceled_needs_no_start(
    mockserver_server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        if status(sandbox, campaign) == "draft":
            start(sandbox, campaign)

    act = ExploreStep("act", "readCampaign", 2, 1, "campaign-canceled")
    exploration = Exploration(ExploreOptions(faults=(), choices=()), test="a draft")
    monkeypatch.setattr(exploration, "_singles", lambda: [Placement.of(act)])

    @contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        with mockserver_server.sandbox(given=GIVEN) as sandbox:
            control = exploration.prepare(sandbox, placement)
            test(sandbox)
            yield EndedRun(control, None)

    exploration.run(subject)

    assert [] == exploration.report.findings, exploration.report.text()


def test_a_refusal_under_an_option_excuses_less(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel")

    report = explore(test, faults=(), choices=("cancel-draft",))

    assert (1, not report.failed) == (report.coverage.singles.tried, True)


@pytest.mark.clause("advice.code-not-message")
def test_a_client_that_only_reads_the_messages_it_knows_breaks_the_rule_of_codes(
    explore: Explore,
) -> None:
    known = {"Campanha não encontrada.": "gone"}

    def test(sandbox: Sandbox) -> None:
        known[sandbox.call("POST", "/v1/campaigns/campaign_none/start").json()["message"]]

    report = explore(test, faults=(), choices=("message-text",))

    assert "match-on-message" in {row.cause for row in report.findings}


def test_a_test_that_causes_another_number_each_time_is_never_silent(explore: Explore) -> None:
    numbers = itertools.cycle((3, 1, 2))

    def test(sandbox: Sandbox) -> None:
        for number in range(next(numbers)):
            create(sandbox, f"Natal {number}")

    report = explore(test, faults=("drop-after", "stale"), tolerates=LOST)

    assert set() == causes(report)
    assert "what its calls cause differs too, so no placement is silent" in report.text()


def test_a_crash_fails_only_a_strict_exploration(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        if list_campaigns(sandbox).status != 200:
            raise KeyError("campaigns")

    lax, strict = (explore(test, faults=("internal-error",), strict=strict) for strict in (False, True))

    assert [("crashed", "KeyError", False), ("crashed", "KeyError", True)] == [
        (report.findings[0].verdict, report.findings[0].cause, report.failed) for report in (lax, strict)
    ]


def listed(sandbox: Sandbox) -> list[Any]:
    """Return the campaigns; none if the read fails, which the client does not report."""
    answer = list_campaigns(sandbox)
    return list(answer.json()["campaigns"]) if answer.status == 200 else []


def finds_its_campaign(sandbox: Sandbox) -> None:
    campaign = create(sandbox)
    assert campaign in [row["id"] for row in listed(sandbox)]


def test_a_failed_assertion_of_the_test_is_silent(explore: Explore) -> None:
    report = explore(finds_its_campaign, faults=("internal-error",), operations=("listCampaigns",))

    assert [("silent", "AssertionError", True)] == [(row.verdict, row.cause, report.failed) for row in report.findings]


def test_failed_assertions_of_different_lines_are_different_findings(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        assert listed(sandbox), "no campaign before the start"
        start(sandbox, campaign)
        assert listed(sandbox)[-1:] != [], "no campaign after the start"

    report = explore(test, faults=("internal-error",), operations=("listCampaigns",), prune=False)

    first, second = (row.message.partition(", at ") for row in report.findings)
    assert ("AssertionError: no campaign before the start", "AssertionError: no campaign after the start") == (
        first[0].partition(" assert ")[0],
        second[0].partition(" assert ")[0],
    )
    assert '`assert listed(sandbox), "no campaign before the start"`' == first[2].partition(" ")[2]


def test_a_test_that_counts_calls_is_no_proof_that_its_client_went_on(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        if listed(sandbox) == []:
            listed(sandbox)
        sandbox.calls("listCampaigns").times(2)

    report = explore(test, faults=("drop-after",), operations=("listCampaigns",))

    assert {"survived", "crashed"} >= {name for name, count in report.verdicts.items() if count}, report.text()


@pytest.mark.parametrize(
    "tolerates", [(AssertionError,), (("listCampaigns", "internal-error", "silent", "the list may be empty"),)]
)
def test_a_failed_assertion_is_tolerated_by_its_type_or_by_a_row(explore: Explore, tolerates: tuple[Any, ...]) -> None:
    options: dict[str, Any] = {"faults": ("internal-error",), "operations": ("listCampaigns",)}

    report = explore(finds_its_campaign, tolerates=tolerates, strict=True, **options)

    assert (1, False) == (report.verdicts["reported"], report.failed)


def test_a_failed_assertion_of_the_clients_own_module_is_its_crash(explore: Explore) -> None:
    client: dict[str, Any] = {}
    source = "def first(rows):\n    assert rows, 'no campaign'\n    return rows[0]\n"
    exec(compile(source, "/srv/shop/client.py", "exec"), client)  # noqa: S102 - a module of its own

    def test(sandbox: Sandbox) -> None:
        create(sandbox)
        client["first"](listed(sandbox))

    report = explore(test, faults=("internal-error",), operations=("listCampaigns",))

    assert [("crashed", "AssertionError", False)] == [
        (row.verdict, row.cause, report.failed) for row in report.findings
    ]


def test_an_assertion_that_fails_for_what_another_did_is_a_crash(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = launched(sandbox)
        sandbox.sleep(600)
        assert status(sandbox, campaign) == "completed"

    report = explore(test, faults=("campaign-canceled",), operations=("readCampaign", "startCampaign"))

    assert set() == causes(report)


def test_only_a_sleep_between_the_last_calls_excuses_a_client_that_never_stops(
    explore: Explore,
) -> None:
    """A client may have a deadline by the computer's clock, which stands while it sleeps; a busy loop has none."""

    def test(sandbox: Sandbox, pause_s: float) -> None:
        sandbox.sleep(60)
        while True:
            try:
                list_campaigns(sandbox)
                return
            except LOST:
                sandbox.sleep(pause_s) if pause_s else None

    waiting, busy = (
        explore(partial(test, pause_s=pause_s), faults=("outage-for-good",), operations=("listCampaigns",))
        for pause_s in (15, 0)
    )

    assert set() == causes(waiting)
    assert {"endless"} == causes(busy, "breach")


def test_a_placement_that_changes_nothing_is_not_tried(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.receive_webhooks(lambda request: 204)
        session = json.loads(sandbox.call("POST", SESSIONS, json={}, timeout=5).body)["sessionId"]
        sandbox.complete_session(session)
        sandbox.advance("1m")

    report = explore(test, faults=("before-answer",))

    assert (0, 1) == (report.verdicts["survived"], report.entry()["singles"]["notTried"])
    assert "1 placement that changed nothing, such as before-answer at delivery 1" in report.text()


def test_an_event_that_a_call_causes_comes_before_its_answer(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.receive_webhooks(lambda request: 204)
        sandbox.on("readEntrypoint").nth(1).complete_session()
        sandbox.call("POST", SESSIONS, json={}, timeout=5)
        sandbox.call("GET", "/v1/entrypoints/entrypoint_none", timeout=5)
        sandbox.advance("1m")

    report = explore(test, faults=("before-answer",))

    assert (1, 0) == (report.verdicts["survived"], report.entry()["singles"]["notTried"])


def restarting(sandbox: Sandbox, tries: int = 2) -> None:
    """Start again without a read after a lost answer, which one fault shows, and give up, which two show."""
    campaign = create(sandbox)
    for _ in range(tries):
        try:
            start(sandbox, campaign)
        except LOST:
            continue
        return


def test_a_pair_is_not_blamed_for_what_one_of_its_faults_causes_alone(explore: Explore) -> None:
    report = explore(restarting, faults=("drop-before", "drop-after"), operations=("startCampaign",), pairs=20)

    assert report.coverage.pairs.tried > 2
    by_cause = {row.cause: [placement.describe() for placement in row.placements] for row in report.findings}
    assert {
        "duplicate-start": ["drop-before at call 2 (startCampaign)", "drop-after at call 2 (startCampaign)"],
        "differs": ["drop-before at call 2 (startCampaign) and drop-before at call 3 (startCampaign)"],
    } == by_cause


def test_a_pair_is_not_blamed_for_what_its_second_fault_causes_alone(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        swallowing(lambda: list_campaigns(sandbox))
        campaign = create(sandbox)
        swallowing(lambda: start(sandbox, campaign))

    options: dict[str, Any] = {"operations": ("listCampaigns", "startCampaign"), "pairs": 20}
    report = explore(test, faults=("drop-before", "internal-error"), **options)

    assert report.coverage.pairs.tried > 0
    (finding,) = report.findings
    assert ["drop-before at call 3 (startCampaign)", "internal-error at call 3 (startCampaign)"] == [
        placement.describe() for placement in finding.placements
    ]


def test_a_pair_with_another_effect_than_each_of_its_faults_is_blamed(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        for name in ("Natal", "Carnaval"):
            campaign = create(sandbox, name)
            swallowing(partial(start, sandbox, campaign))

    report = explore(test, faults=("drop-before",), operations=("startCampaign",), pairs=20)

    (finding,) = report.findings
    assert [1, 1, 2] == [len(placement) for placement in finding.placements]
    assert "the test passed, and its calls caused 1 execution instead of 2" == finding.message


def test_a_pair_is_not_blamed_for_what_a_fault_causes_that_is_equal_to_one_of_its_own(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        for _ in range(3):
            swallowing(lambda: list_campaigns(sandbox))
        campaign = create(sandbox)
        swallowing(lambda: start(sandbox, campaign))

    every, one_each = (explore(test, faults=("drop-before",), pairs=99, prune=prune) for prune in (False, True))

    for report in (every, one_each):
        assert report.coverage.pairs.tried > 0
        assert {1} == {len(placement) for row in report.findings for placement in row.placements}


def test_a_tolerated_exception_is_reported_and_a_tolerated_row_too(explore: Explore) -> None:
    row = ("listCampaigns", "drop-before", "crashed", "the caller repeats it")
    by_type = explore(list_campaigns, faults=("drop-before",), tolerates=(ConnectionError,), strict=True)
    by_row = explore(list_campaigns, faults=("drop-before", "reset-before"), tolerates=(row,))

    assert (1, []) == (by_type.verdicts["reported"], by_type.findings)
    assert (1, 1) == (by_row.verdicts["reported"], by_row.verdicts["crashed"])
    assert "tolerated crashed of drop-before at listCampaigns: 1 case (the caller repeats it)" in by_row.text()


def test_damage_is_a_breach_even_if_the_exception_is_tolerated(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        campaign = create(sandbox)
        try:
            start(sandbox, campaign)
        except LOST:
            start(sandbox, campaign)
            raise

    assert {"duplicate-start"} == causes(
        explore(test, faults=("drop-after",), operations=("startCampaign",), tolerates=LOST)
    )
