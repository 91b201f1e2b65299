"""Conduct in pytest: a finding fails where it shall, hides nothing, holds under xfail, and is counted at the end."""

from __future__ import annotations

import pytest

from mockserver.core.run import Run
from mockserver.judge.client import judge
from tests.testing.conftest import PLUGIN, Suite

TWICE = """
        import pytest

        def fraction(sandbox):
            body = {"name": "A", "cadence": 0.5}
            assert sandbox.call("POST", "/v1/campaigns", json=body).status == 400
"""


def test_a_finding_fails_a_test_that_requests_it_in_its_call(suite: Suite) -> None:
    result = suite.run(
        TWICE
        + """
        @pytest.mark.mockserver(conduct="error")
        def test_mine(mockserver):
            fraction(mockserver)
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["cadence-units, severity 3 (noise): cadence: got 0.5; expected a whole number of at least 1 (call #1)"]
    )


def test_in_the_mode_report_each_test_is_judged_and_its_findings_counted(suite: Suite) -> None:
    suite.pytester.makeini("[pytest]\nmockserver_conduct = report\n")
    result = suite.run(
        TWICE
        + """
        def test_one(mockserver):
            fraction(mockserver)

        def test_other(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                fraction(sandbox)

        def test_clean(mockserver):
            pass
        """
    )

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*mockserver: conduct*",
            "* rules judged, 1 broken",
            "severity 3  cadence-units: 2 in 2 tests, first in test_mine.py::test_one; cadence is a whole number*",
        ]
    )


def test_by_default_a_test_that_passes_is_not_judged(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Run] = []
    monkeypatch.setattr(judge, "judge", lambda run, severity=None: judged.append(run) or judge.ConductResult((), ()))
    result = suite.run(
        TWICE
        + """
        def test_mine(mockserver):
            fraction(mockserver)
        """
    )

    result.assert_outcomes(passed=1)
    assert [] == judged


@pytest.mark.parametrize(
    "test",
    [
        """
        def test_mine(mockserver):
            fraction(mockserver)
            assert "own" == "failure"
        """,
        """
        import unittest

        class TestMine(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _sandbox(self, mockserver):
                pass

            def test_mine(self):
                fraction(self.mockserver)
                self.assertEqual("own", "failure")
        """,
    ],
    ids=["function", "unittest"],
)
def test_by_default_a_test_that_fails_is_judged_and_its_findings_counted(suite: Suite, test: str) -> None:
    result = suite.run(TWICE + test)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- mockserver -*",
            "*- mockserver: conduct -*",
            "cadence-units, *",
            "*= mockserver: conduct =*",
            "severity 3  cadence-units: 1 in 1 test, *",
        ]
    )


def test_the_error_of_a_failing_test_is_first_and_the_finding_is_added(suite: Suite) -> None:
    result = suite.run(
        TWICE
        + """
        @pytest.mark.mockserver(conduct="error")
        def test_own(mockserver):
            fraction(mockserver)
            assert "own" == "failure"

        def test_reported(mockserver):
            fraction(mockserver)
            assert "own" == "failure"
        """
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*assert 'own' == 'failure'*", "*- mockserver: conduct -*", "cadence-units, *"])


@pytest.mark.parametrize(("ini", "outcomes"), [("error", {"failed": 1, "passed": 1}), ("off", {"passed": 2})])
def test_the_ini_option_applies_to_all_tests_and_the_mark_to_one(
    suite: Suite, ini: str, outcomes: dict[str, int]
) -> None:
    suite.pytester.makeini(f"[pytest]\nmockserver_conduct = {ini}\n")
    result = suite.run(
        TWICE
        + """
        def test_all(mockserver):
            fraction(mockserver)

        @pytest.mark.mockserver(conduct="off")
        def test_one(mockserver):
            fraction(mockserver)
        """
    )

    result.assert_outcomes(**outcomes)
    if ini == "off":
        result.stdout.no_fnmatch_line("*mockserver: conduct*")


def test_a_test_is_judged_only_by_its_own_sandboxes(suite: Suite) -> None:
    result = suite.run(
        TWICE
        + """
        from mockserver import MockServer

        @pytest.fixture(scope="session")
        def mockserver_server():
            with MockServer() as server:
                yield server

        @pytest.mark.mockserver(conduct="off")
        def test_a(mockserver):
            fraction(mockserver)

        @pytest.mark.mockserver(conduct="report")
        def test_b(mockserver):
            fraction(mockserver)

        @pytest.mark.mockserver(conduct="error")
        def test_c(mockserver):
            pass
        """
    )

    result.assert_outcomes(passed=3)


@pytest.mark.deep
def test_findings_of_workers_are_merged(suite: Suite) -> None:
    result = suite.run_apart(
        TWICE
        + """
        @pytest.mark.parametrize("n", range(4))
        def test_mine(mockserver, n):
            fraction(mockserver)
        """,
        *("-p", "xdist", "-n", "2", *PLUGIN, "-o", "mockserver_conduct=report"),
    )

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["severity 3  cadence-units: 4 in 4 tests, *"])
