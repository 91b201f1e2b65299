"""What a failing test's report says where no call has reached the sandbox: what the test raised, and calls that went astray."""

from __future__ import annotations

import re

import pytest

from mockserver import MockServer
from tests.testing.conftest import Suite
from tests.testing.test_reports import reported

STRAY = """
    from urllib.parse import urljoin
    import requests

    def stray(mockserver, times=1):
        for _ in range(times):
            status = requests.get(urljoin(mockserver.base_url, "/v1/campaigns"), headers={"X-API-Key": mockserver.secret_key}).status_code
        return status
"""


@pytest.mark.parametrize("times, calls", [(1, "1 call"), (2, "2 calls")])
def test_a_call_without_the_sandboxs_prefix_is_counted_and_explained(suite: Suite, times: int, calls: str):
    found = reported(
        suite, STRAY + f"\n    def test_it(mockserver):\n        assert 200 == stray(mockserver, {times})\n"
    )

    assert [
        "No call reached sandbox_1;",
        f'  {calls} arrived without its prefix /sandboxes/sandbox_1: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one',
    ] == found[:2]


def test_consequences_of_such_a_call_do_not_hide_it(suite: Suite):
    found = reported(
        suite, STRAY + "\n    def test_it(mockserver):\n        assert stray(mockserver) != 404 or {}['campaigns']\n"
    )

    assert "No call reached sandbox_1;" == found[0]
    assert "  1 call arrived without its prefix" in found[1]


def test_such_calls_are_reported_even_if_others_arrived(suite: Suite):
    found = reported(
        suite,
        STRAY + "\n    def test_it(mockserver):\n        create(mockserver)\n        assert 200 == stray(mockserver)\n",
    )

    assert (
        '1 call arrived without its prefix /sandboxes/sandbox_1: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'
        in found[: found.index("what happened:")]
    )


def test_such_calls_of_an_earlier_test_are_not(suite: Suite):
    found = reported(
        suite,
        STRAY
        + "\n    def test_one(mockserver):\n        stray(mockserver)\n\n    def test_two(mockserver):\n        assert 0\n",
    )

    assert not [each for each in found if "prefix" in each]


def test_their_answer_names_the_prefix():
    with MockServer() as server, server.sandbox() as sandbox:
        answer = sandbox.requests_session().get(f"{server.url}/v1/campaigns")

    assert 404 == answer.status_code
    assert 'urljoin(baseUrl, "/v1/...") drops that' in answer.json()["message"]


class TestATestThatRaisesBeforeAnyCall:
    def test_it_is_the_first_cause_with_its_place(self, suite: Suite):
        found = reported(suite, "    def test_it(mockserver):\n        {}['campaigns']\n")

        assert re.fullmatch(r"The test raised KeyError: 'campaigns' at test_mine\.py:\d+, before any call", found[0])
        assert found[1].startswith("No call reached sandbox_1; the test has not read its address")

    def test_its_place_is_the_tests_own_line(self, suite: Suite):
        found = reported(
            suite,
            "    import json\n    import requests\n\n    def test_it(mockserver):\n"
            "        mockserver.requests_session().get('http://elsewhere.example/')\n",
        )

        lines = (suite.pytester.path / "test_mine.py").read_text(encoding="utf-8").splitlines()
        place = next(at for at, each in enumerate(lines, 1) if "elsewhere" in each)
        assert found[0].startswith("The test raised ConnectionError: got http://elsewhere.example; expected http://")
        assert found[0].endswith(f"at test_mine.py:{place}, before any call")

    @pytest.mark.parametrize(
        "body", ["create(mockserver)\n        {}['x']", "assert {}"], ids=["a-call", "an-assertion"]
    )
    def test_after_a_call_or_with_an_assertion_the_calls_are_first(self, suite: Suite, body: str):
        found = reported(suite, f"    def test_it(mockserver):\n        {body}\n")

        assert not found[0].startswith("The test raised")
