"""Traces of a suite: when they are written, where they are, and the links to them in other reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver import MockServer
from tests.testing.conftest import WITHOUT, Suite

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
FAILS, PASSES = "test_mine.py.test_fails.html", "test_mine.py.test_passes.html"


def traces(suite: Suite) -> list[str]:
    return sorted(file.name for file in suite.file(".mockserver").glob("traces/*.html"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), []),
        (("--mockserver-trace=off",), []),
        (("--mockserver-trace=on-failure",), [FAILS]),
        (("--mockserver-trace=always",), [FAILS, PASSES]),
        (("-o", "mockserver_trace=always"), [FAILS, PASSES]),
        (("-o", "mockserver_trace=always", "--mockserver-trace=off"), []),
        (("--mockserver-trace=on-failure", "--mockserver-failures-dir=off"), [FAILS]),
    ],
)
def test_a_trace_is_written_of_the_tests_that_the_option_names(
    suite: Suite, arguments: tuple[str, ...], expected: list[str]
) -> None:
    suite.run(SOURCE, *arguments).assert_outcomes(passed=1, failed=3)

    assert expected == traces(suite)


def test_the_report_names_the_trace_and_the_command_that_serves_it(suite: Suite) -> None:
    result = suite.run(SOURCE, "--mockserver-trace=on-failure")

    file = f".mockserver/traces/{FAILS}"
    result.stdout.fnmatch_lines([f"to see it step by step: {file}; mockserver open {file} serves its last state"])
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
        "--mockserver-trace=on-failure",
    )

    page = suite.read(f".mockserver/traces/{FAILS}")
    words = ["<pre>KeyError: &#39;data&#39;</pre>", "at <bdi><code>test_mine.py:2 `return mockserver.call(", "from <bdi><code>test_mine.py:5 `read(mockserver)`", "<pre>mockserver replay-calls .mockserver/failures/test_mine.py.test_fails.yaml</pre>"]  # fmt: skip
    assert [] == [each for each in words if each not in page]


def test_a_trace_that_cannot_be_written_is_a_line_of_the_report(suite: Suite) -> None:
    suite.file(".mockserver").mkdir()
    suite.file(".mockserver/traces").write_text("a file", encoding="utf-8")

    result = suite.run(SOURCE, "--mockserver-trace=always")

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["no trace was written: FileExistsError: *"])


@pytest.mark.deep
def test_the_workers_of_xdist_write_traces(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = suite.file("summary.md")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    suite.run_in_workers(SOURCE, "--mockserver-trace=always")

    assert [FAILS, PASSES] == traces(suite)
    assert FAILS in summary.read_text(encoding="utf-8")


def test_the_summary_of_a_job_lists_the_failures_with_their_traces(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = suite.file("summary.md")
    summary.write_text("# Before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    suite.run(SOURCE.replace("test_fails", ["test_fails", "`x`]"][0]), "--mockserver-trace=on-failure")

    assert summary.read_text(encoding="utf-8") == (
        "# Before\n"
        "### Failed against mockserver\n\n"
        "- `test_mine.py::test_fails`: `expected exactly 1 call of startCampaign, got 0 (test_mine.py:6)`  \n"
        f"  trace `.mockserver/traces/{FAILS}`\n\n"
    )


@pytest.mark.parametrize("arguments", [("--mockserver-trace=off",), ("--mockserver-trace=on-failure", "-k", "passes")])
def test_a_job_without_a_trace_has_no_summary(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    summary = suite.file("summary.md")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    suite.run(SOURCE, *arguments)

    assert not summary.exists()


def test_a_run_against_a_remote_server_writes_equal_traces(suite: Suite) -> None:
    suite.run(SOURCE, "--mockserver-trace=on-failure")
    written = suite.file(f".mockserver/traces/{FAILS}")
    here = written.read_bytes()
    with MockServer() as server:
        suite.run(SOURCE, "--mockserver-trace=on-failure", "--mockserver-url", server.url)

    assert here == written.read_bytes()


def apart(suite: Suite, *arguments: str, company: tuple[str, ...]) -> None:
    """Run the suite in a process of its own with these other plugins, since those of the reports register themselves."""
    suite.pytester.makeini("[pytest]\n")
    suite.pytester.makepyfile(test_mine=SOURCE)
    absent = [name for name in WITHOUT if name.startswith("no:") and name.removeprefix("no:") not in company]
    options = [*(part for name in absent for part in ("-p", name)), "--mockserver-trace=on-failure", *arguments]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *options], cwd=suite.pytester.path, check=False, timeout=120, capture_output=True)  # fmt: skip


@pytest.mark.deep
def test_the_report_of_allure_has_the_trace_as_an_attachment(suite: Suite) -> None:
    pytest.importorskip("allure_pytest")

    apart(suite, "--alluredir=allure", company=("allure_pytest",))

    folder = suite.file("allure")
    results = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*-result.json")]
    attached = {result["name"]: result.get("attachments", []) for result in results}
    (trace,) = [each for each in attached["test_fails"] if each["name"] == "mockserver trace"]
    assert "text/html" == trace["type"]
    written = suite.file(f".mockserver/traces/{FAILS}")
    assert written.read_bytes() == (folder / Path(trace["source"]).name).read_bytes()
    assert [] == [each for name in ("test_passes", "test_without_sandbox") for each in attached[name] if each["name"] == "mockserver trace"]  # fmt: skip
