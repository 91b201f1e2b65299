"""The report of a failing test if no call has reached the sandbox: the test's exception, and calls to other addresses."""

from __future__ import annotations

import re

import pytest

from mockserver import MockServer
from tests.testing.conftest import Suite
from tests.testing.test_reports import WORLD, reported, whole_section

STRAY = """
    from urllib.parse import urljoin
    import requests

    def stray(mockserver, times=1):
        for _ in range(times):
            status = requests.get(urljoin(mockserver.base_url, "/v1/campaigns"), headers={"X-API-Key": mockserver.secret_key}).status_code
        return status
"""


@pytest.mark.parametrize("times, calls", [(1, "1 call"), (2, "2 calls")])
def test_a_call_without_the_sandboxs_prefix_is_counted_and_explained(suite: Suite, times: int, calls: str) -> None:
    found = reported(
        suite, STRAY + f"\n    def test_it(mockserver):\n        assert 200 == stray(mockserver, {times})\n"
    )

    assert [
        "No call reached sandbox_1;",
        f'  {calls} arrived without its prefix /sandboxes/sandbox_1: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one',
    ] == found[:2]


def test_consequences_of_such_a_call_do_not_hide_it(suite: Suite) -> None:
    found = reported(
        suite, STRAY + "\n    def test_it(mockserver):\n        assert stray(mockserver) != 404 or {}['campaigns']\n"
    )

    assert "No call reached sandbox_1;" == found[0]
    assert "  1 call arrived without its prefix" in found[1]


def test_such_calls_are_reported_even_if_others_arrived(suite: Suite) -> None:
    found = reported(
        suite,
        STRAY + "\n    def test_it(mockserver):\n        create(mockserver)\n        assert 200 == stray(mockserver)\n",
    )

    assert (
        '1 call arrived without its prefix /sandboxes/sandbox_1: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'
        in found[: found.index("what happened:")]
    )


def test_such_calls_of_an_earlier_test_are_not(suite: Suite) -> None:
    found = reported(
        suite,
        STRAY
        + "\n    def test_one(mockserver):\n        stray(mockserver)\n\n    def test_two(mockserver):\n        assert 0\n",
    )

    assert not [each for each in found if "prefix" in each]


def test_their_answer_names_the_prefix() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        answer = sandbox.requests_session().get(f"{server.url}/v1/campaigns")

    assert 404 == answer.status_code
    assert 'urljoin(baseUrl, "/v1/...") drops that' in answer.json()["message"]


def test_the_absence_of_calls_follows_the_exception_of_the_test(suite: Suite) -> None:
    found = whole_section(suite.run(WORLD + "    def test_it(mockserver):\n        {}['campaigns']\n"))

    assert re.fullmatch(r"The test raised KeyError: 'campaigns' at test_mine\.py:\d+ `{}\['campaigns'\]`", found[0])
    assert "No call reached sandbox_1 before that" == found[1]
