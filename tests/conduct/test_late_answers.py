"""An answer that is sent too late, and a call that the client's HTTP library repeats: who knew what when."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver.core.instants import MILLISECOND
from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct.findings import change
from tests.conduct.provocation import GIVEN, NOON
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
CREATE = "/v1/campaigns"


def found(sandbox: Sandbox) -> list[tuple[str, tuple[int, ...]]]:
    return [(each.rule, each.exchanges) for each in sandbox.conduct]


@contextmanager
def connection(sandbox: Sandbox) -> Iterator[http.client.HTTPConnection]:
    over = http.client.HTTPConnection(urlsplit(sandbox.base_url).netloc, timeout=10)
    with closing(over):
        yield over


def send(sandbox: Sandbox, over: http.client.HTTPConnection, path: str, method: str = "POST") -> int | None:
    """The status of a call over a connection; None if no answer arrives."""
    headers = {"X-API-Key": sandbox.secret_key, "User-Agent": "own/1"}
    try:
        over.request(method, urlsplit(sandbox.base_url).path + path, headers=headers)
        response = over.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        over.close()
        return None
    return response.status


class TestAHeldAnswer:
    @pytest.mark.parametrize("hold", [{"delay-after": "1h"}, {"dribble": {"chunks": 2, "over": "1h"}}])
    def test_it_is_not_received_while_it_is_delayed(self, mockserver: Sandbox, hold: dict[str, Any]) -> None:
        campaign = Client(mockserver).create()
        mockserver.on("startCampaign").nth(1).do(hold)

        with connection(mockserver) as impatient, connection(mockserver) as over:
            path = urlsplit(mockserver.base_url).path + f"{CREATE}/{campaign}/start"
            impatient.request("POST", path, headers={"X-API-Key": mockserver.secret_key, "User-Agent": "own/1"})
            wait_until(lambda: len(mockserver.log.exchanges) == 2)
            impatient.close()
            assert 422 == send(mockserver, over, f"{CREATE}/{campaign}/start")
        assert [("duplicate-start", (2, 3))] == found(mockserver)
        assert [201, None, 422] == [each.status for each in mockserver.log.exchanges]

    @pytest.mark.parametrize("sent_ms, rules", [(1, ["only-200-is-ok"]), (3, ["duplicate-start"])])
    def test_who_repeats_before_it_is_sent_has_not_received_it(
        self, mockserver: Sandbox, sent_ms: int, rules: list[str]
    ) -> None:
        client = Client(mockserver)
        campaign = client.create()
        client.create()
        for _ in range(2):
            client.start(campaign)
        change(mockserver, 3, monotonic_us=0, left=sent_ms * MILLISECOND)
        change(mockserver, 4, monotonic_us=2 * MILLISECOND)

        assert rules == [rule for rule, _ in found(mockserver)]

    def test_a_client_that_waits_for_it_has_received_it(self, mockserver: Sandbox) -> None:
        campaign = Client(mockserver).create()
        mockserver.on("startCampaign").nth(1).delay_after("20ms")

        with connection(mockserver) as over:
            assert 202 == send(mockserver, over, f"{CREATE}/{campaign}/start")
            assert 422 == send(mockserver, over, f"{CREATE}/{campaign}/start")
        assert [("only-200-is-ok", (2, 3))] == found(mockserver)

    def test_a_clone_made_during_a_delayed_response_is_a_clone_after_a_lost_response(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        client.launch("Spring")
        client.launch("Spring (2)")
        change(mockserver, 1, is_held=True)

        assert ["rename-after-lost-create"] == [rule for rule, _ in found(mockserver)]


BELOW = "; if your code sent it once, its HTTP library has sent it again"
CURL = "curl/8.5.0"


def with_agent(sandbox: Sandbox, agent: str, *numbers: int) -> None:
    exchanges = sandbox._hosted.sandbox.journal.exchanges
    for n in numbers:
        call = exchanges[n - 1].call
        change(sandbox, n, call=call._replace(headers={**call.headers, "user-agent": agent}))


def repeat_start(sandbox: Sandbox, ends: dict[str, Any], agent: str = CURL, times: int = 2, between: str = "") -> None:
    """A start on a connection that had carried a create, which ends so, and the same start again, maybe after a read."""
    sandbox.on("startCampaign").times(times - 1).do(ends)
    client = Client(sandbox)
    campaign = client.create()
    for n in range(times):
        client.ask("POST", f"{CREATE}/{campaign}/start")
        if between and n == 0:
            client.ask("GET", between)
    calls = sandbox._hosted.sandbox.journal.last_exchange
    for n in range(2, calls + 1):
        change(sandbox, n, is_reused=True)
    with_agent(sandbox, agent, *range(2, calls + 1))


LOST = {"drop": "after"}


class TestWhatATransportRepeats:
    @pytest.mark.parametrize("ends", [LOST, {"reset": "after"}])
    def test_a_repetition_after_a_reused_connection_without_a_byte_is_not_a_retry(
        self, mockserver: Sandbox, ends: dict[str, Any]
    ) -> None:
        repeat_start(mockserver, ends)

        assert [] == found(mockserver)

    @pytest.mark.parametrize(
        "agent",
        [
            "python-requests/2.32",
            "axios/1.7",
            "PyGithub/Python",
            "Go-http-client/1.1",
            "Java-http-client/17",
            "mine",
            "",
        ],
    )
    def test_of_any_other_client_the_finding_says_that_it_may_be_below_its_code(
        self, mockserver: Sandbox, agent: str
    ) -> None:
        repeat_start(mockserver, LOST, agent)

        assert [("duplicate-start", (2, 3))] == found(mockserver)
        assert mockserver.conduct.findings[0].message.endswith(BELOW)

    def test_a_repetition_after_a_new_connection_is_a_retry_of_the_clients_own(self, mockserver: Sandbox) -> None:
        repeat_start(mockserver, LOST)
        change(mockserver, 2, is_reused=False)

        assert [("duplicate-start", (2, 3))] == found(mockserver)
        assert BELOW not in mockserver.conduct.findings[0].message

    @pytest.mark.parametrize(
        ("how", "exchanges"),
        [
            pytest.param({"ends": LOST, "between": "/v1/message-templates"}, (2, 4), id="after another call"),
            pytest.param({"ends": {"truncate": 5}}, (2, 3), id="after an answer that had begun"),
            pytest.param({"ends": LOST, "times": 3}, (3, 4), id="a second time"),
        ],
    )
    def test_a_repetition_that_no_transport_makes_is_a_retry(
        self, mockserver: Sandbox, how: dict[str, Any], exchanges: tuple[int, int]
    ) -> None:
        repeat_start(mockserver, **how)

        assert [("duplicate-start", exchanges)] == found(mockserver)

    @pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
    def test_curl_repeats_so_and_is_not_blamed(self, mockserver: Sandbox) -> None:
        campaign = Client(mockserver).create()
        mockserver.on("startCampaign").nth(1).drop("after")
        url = f"{mockserver.base_url}{CREATE}"
        key = ("--noproxy", "*", "-s", "-o", os.devnull, "-H", f"X-API-Key: {mockserver.secret_key}")
        subprocess.run(
            ["curl", *key, url, "--next", *key, "-X", "POST", f"{url}/{campaign}/start"], check=True, timeout=60
        )

        starts = [each for each in mockserver.log.exchanges if each.operation == "startCampaign"]
        assert [None, 422] == [each.status for each in starts]
        assert [] == found(mockserver)


def test_polls_that_a_rule_delayed_to_one_instant_are_not_too_fast(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    campaign, execution = client.launch(cadence=1)
    path = f"/v1/campaigns/{campaign}/executions/{execution}"
    for nth, delay in enumerate(("54s", "39s", "24s"), 1):
        mockserver.on("readExecution").nth(nth).delay(delay)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            mockserver.call("GET", path, timeout=15)
    mockserver.advance("1m")
    mockserver.call("GET", path)

    assert 3 == sum(each.arrived_late for each in mockserver._hosted.sandbox.journal.exchanges)
    assert [] == found(mockserver)


def test_refusals_that_did_not_reach_the_client_are_repeated_for_good_reason(mockserver: Sandbox) -> None:
    mockserver.on("readCampaign").times(3).truncate(5)
    for _ in range(3):
        with pytest.raises(http.client.IncompleteRead):
            mockserver.call("GET", "/v1/campaigns/campaign_unknown")
        mockserver.advance("10s")

    assert [404] * 3 == [each.status for each in mockserver._hosted.sandbox.journal.exchanges]
    assert [] == found(mockserver)


@pytest.mark.parametrize(("refused", "rules"), [(1, []), (2, ["ignore-retry-after"])])
def test_a_read_after_a_repetition_that_succeeded_is_no_repetition(
    mockserver: Sandbox, refused: int, rules: list[str]
) -> None:
    mockserver.choose({"rate-limit-headers": "none"})
    mockserver.on("listCampaigns").times(refused).error("RATE_LIMIT_EXCEEDED")
    for n in (1, 2, 3):
        mockserver.call("GET", "/v1/campaigns")
        change(mockserver, n, monotonic_us=n * MILLISECOND)
    mockserver.advance("1m")
    mockserver.call("GET", "/v1/message-templates")
    mockserver.advance("1m")
    mockserver.call("GET", "/v1/message-templates")

    assert rules == [rule for rule, _ in found(mockserver)]
