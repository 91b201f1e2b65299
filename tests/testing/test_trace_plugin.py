"""Traces of a suite: when they are written, and where they are."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.testing.conftest import Suite

SOURCE = """
import pytest

@pytest.mark.mockserver(now="2026-03-01T12:00:00Z")
def test_fails(mockserver):
    mockserver.call("GET", "/v1/campaigns/none")
    mockserver.calls("startCampaign").one()

def test_passes(mockserver):
    mockserver.call("GET", "/v1/campaigns")

def test_without_calls(mockserver):
    assert False

def test_without_sandbox():
    assert False
"""
FAILS = "test_mine.py.test_fails.html"


def traces(suite: Suite) -> list[str]:
    return sorted(file.name for file in suite.file(".mockserver").glob("failures/*.html"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), [FAILS]),
        (("--mockserver-failures-dir=off",), []),
    ],
)
def test_a_trace_of_a_failing_test_is_written_with_its_other_files(
    suite: Suite, arguments: tuple[str, ...], expected: list[str]
) -> None:
    suite.run(SOURCE, *arguments).assert_outcomes(passed=1, failed=3)

    assert expected == traces(suite)


def test_the_report_names_the_trace_and_the_command_that_serves_it(suite: Suite) -> None:
    result = suite.run(SOURCE)

    file = f".mockserver/failures/{FAILS}"
    result.stdout.fnmatch_lines([f"to see it step by step: {file}"])
    assert 1 == result.stdout.str().count("to see it step by step")
    assert "expected exactly 1 call of startCampaign, got 0" in suite.read(file)


def test_a_trace_has_the_exception_with_its_frames_and_the_command_that_repeats_the_calls(suite: Suite) -> None:
    suite.run(
        """
        def read(mockserver):
            return mockserver.call("GET", "/v1/campaigns").json()["data"]

        def test_fails(mockserver):
            read(mockserver)
        """,
    )

    page = suite.read(f".mockserver/failures/{FAILS}")
    words = ["<pre>KeyError: &#39;data&#39;</pre>", "at <bdi><code>test_mine.py:2 `return mockserver.call(", "from <bdi><code>test_mine.py:5 `read(mockserver)`", "<pre>mockserver replay-calls .mockserver/failures/test_mine.py.test_fails.yaml</pre>"]  # fmt: skip
    assert [] == [each for each in words if each not in page]


def test_a_trace_that_cannot_be_written_is_a_line_of_the_report(suite: Suite) -> None:
    suite.file(f".mockserver/failures/{FAILS}").mkdir(parents=True)

    result = suite.run(SOURCE)

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["no trace was written: IsADirectoryError: *"])


@pytest.mark.deep
def test_the_workers_of_xdist_write_traces(suite: Suite) -> None:
    suite.run_in_workers(SOURCE)

    assert [FAILS] == traces(suite)


def test_a_run_against_a_remote_server_writes_equal_traces(suite: Suite) -> None:
    suite.run(SOURCE)
    written = suite.file(f".mockserver/failures/{FAILS}")
    here = written.read_bytes()
    with MockServer() as server:
        suite.run(SOURCE, "--mockserver-url", server.url)

    assert here == written.read_bytes()
