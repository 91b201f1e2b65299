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


PROXIES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
SILENT = """
    def test_it(mockserver):
        assert mockserver.base_url == ""
"""


@pytest.fixture
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [*PROXIES, "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"]:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_of_the_environment_is_named_if_no_call_arrived(
    suite: Suite, without_proxy: pytest.MonkeyPatch, name: str
) -> None:
    without_proxy.setenv(name, "http://user:secret@proxy.example:3128")
    found = reported(suite, SILENT)

    line = f"  {name} is set: a client that obeys it sends its calls to that proxy; set NO_PROXY=127.0.0.1 for this address"
    assert "No call reached sandbox_1;" == found[0]
    assert line == found[2]
    assert not [each for each in found if "secret@" in each]


def test_a_proxy_is_named_next_to_what_the_client_made_of_its_answer(
    suite: Suite, without_proxy: pytest.MonkeyPatch
) -> None:
    without_proxy.setenv("HTTP_PROXY", "http://proxy.example:3128")
    found = reported(suite, "\n    def test_it(mockserver):\n        assert {}[mockserver.base_url]\n")

    assert "No call reached sandbox_1 before that" == found[0]
    assert found[1].startswith("  HTTP_PROXY is set: ")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HTTP_PROXY": ""},
        {"HTTPS_PROXY": "http://proxy.example:3128"},
        {"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": "localhost,127.0.0.1"},
        {"http_proxy": "http://proxy.example:3128", "no_proxy": "*"},
    ],
    ids=repr,
)
def test_no_proxy_is_named_that_takes_no_call_of_the_sandbox(
    suite: Suite, without_proxy: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        without_proxy.setenv(name, value)
    found = reported(suite, SILENT)

    assert "No call reached sandbox_1;" == found[0]
    assert not [each for each in found if "PROXY" in each.upper()]


def test_no_proxy_is_named_if_a_call_arrived(suite: Suite, without_proxy: pytest.MonkeyPatch) -> None:
    without_proxy.setenv("HTTP_PROXY", "http://proxy.example:3128")
    found = reported(
        suite, "\n    def test_it(mockserver):\n        create(mockserver)\n        assert not mockserver.base_url\n"
    )

    assert not [each for each in found if "PROXY" in each]
