"""The wait after a 429, by each clock that a client may use for it; and waits of any length, by the clock that moved."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from mockserver.contract.endpoints import Operation
from mockserver.core.instants import SECOND, from_datetime
from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct.findings import change
from tests.conduct.provocation import GIVEN

NOW = datetime.fromisoformat("2026-03-01T12:00:00.301+00:00")
pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOW)
BEHIND = [timedelta(hours=-1), timedelta(seconds=-2), timedelta(0), timedelta(milliseconds=1065), timedelta(seconds=20)]


def ask(sandbox: Sandbox) -> Any:
    return Client(sandbox).ask("GET", "/v1/message-templates")


def limit(sandbox: Sandbox, nth: int = 1) -> None:
    sandbox.on("listTemplates").nth(nth).error("RATE_LIMIT_EXCEEDED", retry_after=30)


def limited(sandbox: Sandbox, process: datetime) -> Any:
    """The answer to a call that got a 429 with a date, while the process's clock shows this instant."""
    sandbox._hosted.sandbox.process_now = lambda: from_datetime(process)
    sandbox.choose({"rate-limit-headers": "http-date"})
    limit(sandbox)
    return ask(sandbox)


def found(sandbox: Sandbox) -> list[str]:
    return [each.message for each in sandbox.conduct.of("ignore-retry-after")]


def why_not(sandbox: Sandbox) -> str | None:
    return {each.rule: each.why for each in sandbox.conduct.not_assessed}.get("ignore-retry-after")


class TestADate:
    @pytest.mark.parametrize("ahead", BEHIND)
    def test_a_client_that_subtracts_its_own_clock_obeys_it(self, mockserver: Sandbox, ahead: timedelta) -> None:
        date = parsedate_to_datetime(limited(mockserver, NOW + ahead).headers["retry-after"])
        mockserver.sleep((date - (NOW + ahead)).total_seconds())
        ask(mockserver)

        assert ([], None) == (found(mockserver), why_not(mockserver))

    @pytest.mark.parametrize("ahead", BEHIND)
    def test_a_client_that_subtracts_the_date_of_the_response_obeys_it(
        self, mockserver: Sandbox, ahead: timedelta
    ) -> None:
        answer = limited(mockserver, NOW + ahead)
        date, sent = (parsedate_to_datetime(answer.headers[name]) for name in ("retry-after", "date"))
        mockserver.sleep((date - sent).total_seconds())
        ask(mockserver)

        assert [] == found(mockserver)

    @pytest.mark.parametrize("ahead", BEHIND)
    def test_a_client_that_waits_a_second_ignores_it(self, mockserver: Sandbox, ahead: timedelta) -> None:
        limited(mockserver, NOW + ahead)
        mockserver.sleep(1)
        ask(mockserver)

        assert ["listTemplates was repeated after 1 s; its Retry-After was 30.699 s"] == found(mockserver)

    def test_it_is_not_judged_if_the_clients_own_clock_has_passed_it(self, mockserver: Sandbox) -> None:
        limited(mockserver, NOW + timedelta(minutes=1))
        mockserver.sleep(0.5)
        ask(mockserver)

        assert [] == found(mockserver)
        assert "was over by the clock of the process" in (why_not(mockserver) or "")


class TestAWaitOnTheSandboxsClock:
    @pytest.mark.parametrize("wait_s, shown", [(0.001, "1 ms"), (0.337, "337 ms"), (2.5, "2.5 s")])
    def test_it_is_measured_however_short_it_is(self, mockserver: Sandbox, wait_s: float, shown: str) -> None:
        limit(mockserver)
        ask(mockserver)
        mockserver.sleep(wait_s)
        ask(mockserver)

        assert [f"listTemplates was repeated after {shown}; its Retry-After was 30 s"] == found(mockserver)

    def test_one_that_no_clock_has_measured_has_no_length(self, mockserver: Sandbox) -> None:
        limit(mockserver, nth=2)
        ask(mockserver)
        mockserver.sleep(10)
        for _ in range(2):
            ask(mockserver)

        assert ["listTemplates was repeated while no clock moved; its Retry-After was 30 s"] == found(mockserver)

    @pytest.mark.mockserver(now=None, clock="follow")
    def test_it_is_measured_on_a_clock_that_follows_the_processs(self, mockserver: Sandbox) -> None:
        limit(mockserver)
        ask(mockserver)
        mockserver.advance(seconds=0.337)
        ask(mockserver)

        assert [["ignore-retry-after", (1, 2)]] == [[each.rule, each.exchanges] for each in mockserver.conduct]

    def test_real_time_counts_if_it_is_longer(self, mockserver: Sandbox) -> None:
        limit(mockserver)
        ask(mockserver)
        mockserver.advance(seconds=1)
        ask(mockserver)
        for n, second in ((1, 0), (2, 31)):
            change(mockserver, n, monotonic_us=second * SECOND)

        assert [] == found(mockserver)


REFUSED = [
    *({"error": code} for code in ("RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "CAMPAIGN_NOT_FOUND", "API_KEY_INVALID")),
    {"drop": "before"},
    {"truncate": 20},
]
READS = [("readExecution", 3), ("readCampaign", 7)]


class TestReadsAgain:
    @pytest.mark.parametrize("refusal", REFUSED, ids=lambda each: str(each)[1:-1])
    @pytest.mark.parametrize("operation, times", READS)
    def test_retries_of_one_refused_or_unanswered_read_are_no_polls(
        self, mockserver: Sandbox, operation: Operation, times: int, refusal: dict[str, Any]
    ) -> None:
        client = Client(mockserver)
        pair = client.launch(cadence=1)
        mockserver.on(operation).times(times - 1).do(refusal)
        for _ in range(times):
            client.execution(pair) if operation == "readExecution" else client.campaign(pair[0])
            mockserver.sleep(1)

        assert [] == mockserver.conduct.of("poll-too-fast")

    @pytest.mark.parametrize("refusal", REFUSED, ids=lambda each: str(each)[1:-1])
    def test_fast_polls_are_found_among_retries(self, mockserver: Sandbox, refusal: dict[str, Any]) -> None:
        client = Client(mockserver)
        pair = client.launch(cadence=1)
        mockserver.on("readExecution").nth(2).do(refusal)
        for _ in range(5):
            client.execution(pair)
            mockserver.sleep(1)

        (found,) = mockserver.conduct.of("poll-too-fast")
        assert (3, 5, 6) == found.exchanges
        assert "was polled every 1 s, 4 times" in found.message

    def test_a_read_that_is_refused_three_times_alike_is_hopeless(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        pair = client.launch(cadence=1)
        mockserver.on("readExecution").times(3).error("API_KEY_INVALID")
        for _ in range(4):
            client.execution(pair)
            mockserver.sleep(1)

        assert [("retry-hopeless", (3, 4, 5))] == [(each.rule, each.exchanges) for each in mockserver.conduct]
