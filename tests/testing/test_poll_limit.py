"""A client that polls without end: its test ends, and the report begins with the loop."""

from __future__ import annotations

import unittest

import pytest

from mockserver import MockServer, SandboxTestCase
from mockserver.testing.run_end import RunEnded
from tests.testing.conftest import Suite

GIVEN = """
import pytest, requests

GIVEN = {"templates": [{"id": "t"}], "chats": {"count": 500}}
pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

def launch(mockserver):
    body = {"name": "A", "platform": "chatapp", "templateId": "t", "cadence": 1}
    campaign = mockserver.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{campaign}/start")
    return campaign

def polls_for_ever(mockserver, campaign, seconds=0, status="completed"):
    while True:
        try:
            if mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"] == status:
                return
        except Exception:
            pass
        if seconds:
            mockserver.sleep(seconds)
"""


def first_lines(result: pytest.RunResult) -> list[str]:
    found = list(result.outlines)
    start = next(place for place, line in enumerate(found) if line.startswith("----") and " mockserver" in line)
    return found[start + 1 : start + 4]


def test_a_client_that_polls_while_the_clock_does_not_move_ends_with_its_loop_in_the_first_line(suite: Suite) -> None:
    result = suite.run(
        GIVEN
        + """
def test_it(mockserver):
    polls_for_ever(mockserver, launch(mockserver))
"""
    )

    result.assert_outcomes(failed=1)
    loop, cure, *_ = first_lines(result)
    assert loop.startswith("The test was ended: the client read A 1000 times")
    assert loop.endswith(
        " 1000 times in a row (readCampaign, #3 to #1002) with equal answers, while the clock did not move: let the client sleep by mockserver.sleep, which moves it"
    )
    assert "  a test that needs more such reads sets mockserver_poll_limit, a number or off" == cure


def test_a_client_that_does_not_see_the_end_of_a_record_ends_however_the_clock_moves(suite: Suite) -> None:
    result = suite.run(
        GIVEN
        + """
def test_it(mockserver):
    campaign = launch(mockserver)
    mockserver.admin.fail_campaign(campaign)
    polls_for_ever(mockserver, campaign, seconds=15)
""",
        "-o",
        "mockserver_poll_limit=20",
    )

    result.assert_outcomes(failed=1)
    loop, cure, finding = first_lines(result)
    assert loop.endswith(
        " 20 times in a row (readCampaign, #3 to #22), although it was failed: the loop does not end there"
    )
    assert "mockserver_poll_limit" in cure
    assert finding.startswith("A was failed, and the polling continued")


def test_over_a_socket_the_client_gets_410_with_the_reason_and_the_loop_is_in_the_first_line(suite: Suite) -> None:
    result = suite.run(
        GIVEN
        + """
def test_it(mockserver):
    url, headers = f"{mockserver.base_url}/v1/campaigns/{launch(mockserver)}", {"X-API-Key": mockserver.secret_key}
    with requests.Session() as session:
        for _ in range(30):
            response = session.get(url, headers=headers, timeout=5)
    assert (410, "MOCK_SANDBOX_CLOSED", "run") == (response.status_code, response.json()["code"], response.json()["limit"])
    assert "is closed: a bound of its test has ended it, since the client read campaign_" in response.json()["message"]
    response.raise_for_status()
""",
        "-o",
        "mockserver_poll_limit=20",
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*HTTPError: 410*"])
    assert first_lines(result)[0].startswith("The test was ended: the client read A 20 times")


def test_reads_that_move_the_clock_of_a_running_record_or_have_a_call_between_them_do_not_count(suite: Suite) -> None:
    result = suite.run(
        GIVEN
        + """
def test_gentle_polls(mockserver):
    polls_for_ever(mockserver, launch(mockserver), seconds=60)  # 500 minutes

def test_equal_polls_with_the_clock_moved(mockserver):
    campaign = launch(mockserver)
    mockserver.on("readCampaign").stale()
    for _ in range(50):
        mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.sleep(0.001)

def test_calls_between(mockserver):
    campaign = launch(mockserver)
    for _ in range(50):
        mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.call("GET", "/v1/message-templates")

def test_lists(mockserver):
    for _ in range(50):
        mockserver.call("GET", "/v1/campaigns")

def test_two_records(mockserver):
    campaigns = ["campaign_one", "campaign_two"]
    for n in range(50):
        mockserver.call("GET", f"/v1/campaigns/{campaigns[n % 2]}")

def test_changing_answers(mockserver):
    campaign = launch(mockserver)
    for n in range(3):
        for _ in range(19):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.call("GET", "/v1/campaigns")

def test_after_a_reset(mockserver):
    for _ in range(3):
        for _ in range(19):
            mockserver.call("GET", "/v1/campaigns/campaign_one")
        mockserver.reset()

@pytest.mark.mockserver(poll_limit="off")
def test_that_needs_many(mockserver):
    for _ in range(50):
        mockserver.call("GET", "/v1/campaigns/campaign_one")

@pytest.mark.mockserver(poll_limit=60)
def test_that_needs_some(mockserver):
    for _ in range(50):
        mockserver.call("GET", "/v1/campaigns/campaign_one")

def test_a_sandbox_of_its_own(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        for _ in range(50):
            sandbox.call("GET", "/v1/campaigns/campaign_one")
""",
        "-o",
        "mockserver_poll_limit=20",
    )

    result.assert_outcomes(passed=10)


@pytest.mark.parametrize("call", [20, 25, 43])
def test_the_row_is_counted_exactly_wherever_it_begins(mockserver: object, call: int) -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        sandbox._limit_reads(20)
        for _ in range(call - 20):
            sandbox.call("GET", "/v1/campaigns")
        for _ in range(19):
            sandbox.call("GET", "/v1/campaigns/campaign_one")

        with pytest.raises(RunEnded, match=f"20 times in a row .readCampaign, #{call - 19} to #{call}"):
            sandbox.call("GET", "/v1/campaigns/campaign_one")


@pytest.mark.parametrize("value", ["1", "10001", "offf", "-5", "1.5"])
def test_a_wrong_limit_ends_the_run_before_its_first_test(suite: Suite, value: str) -> None:
    result = suite.run("def test_it(mockserver): pass", "-o", f"mockserver_poll_limit={value}")

    result.stderr.fnmatch_lines(
        [f"*mockserver_poll_limit: got *{value}*; expected a whole number from 2 to 10000, or 'off'"]
    )


def test_a_unittest_case_ends_too_with_the_loop_in_its_report() -> None:
    class Case(SandboxTestCase):
        mockserver_poll_limit = 20

        def test_it(self) -> None:
            while True:
                self.mockserver.call("GET", "/v1/campaigns/campaign_one")

    result = unittest.TestResult()
    Case("test_it").run(result)

    ((_, text),) = result.errors
    assert "RunEnded: the client read campaign_one 20 times in a row" in text
    assert "mockserver:\nThe test was ended: the client read campaign_one 20 times" in text
