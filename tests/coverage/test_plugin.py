"""`--mockserver-cov`: what a session has covered, in one process and in several, whatever becomes of its tests."""

from __future__ import annotations

import io
import unittest
from pathlib import Path

import pytest

from mockserver import Coverage, MockServer, SandboxTestCase
from mockserver.judge.coverage.coverage import FILE
from mockserver.judge.coverage.dimensions import OF_OPERATIONS, universe
from tests.testing.conftest import PLUGIN, run_in_process

TOTAL = sum(map(len, universe().values()))
SUITE = """
    import pytest

    def test_list(mockserver):
        mockserver.call("GET", "/v1/campaigns")

    @pytest.mark.mockserver(choices={"list-order": "oldest-first"})
    def test_list_otherwise(mockserver):
        mockserver.call("GET", "/v1/message-templates")
        mockserver.call("GET", "/v1/message-templates/template_none")

    def test_several(mockserver_server):
        for operation in ("readEntrypoint", "readFormPolicy"):
            with mockserver_server.sandbox() as sandbox:
                sandbox.on(operation).nth(1).drop("before")
                for path in ("/v1/entrypoints/entrypoint_a", "/v1/forms/form_a/embed-frame-policy"):
                    try:
                        sandbox.call("GET", path)
                    except ConnectionError:
                        pass
"""
OPERATIONS = ("listTemplates", "readTemplate", "listCampaigns", "readEntrypoint", "readFormPolicy")
HEADING = "*mockserver: coverage of the contract*"


@pytest.fixture(autouse=True)
def without_company(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the suites without other plugins, which take most of the time of a process, and one of which warns."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(PLUGIN))


def loaded(pytester: pytest.Pytester) -> Coverage:
    return Coverage.load(pytester.path / FILE)


def test_a_session_prints_a_table_of_the_dimensions_and_writes_its_file(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = run_in_process(pytester, "--mockserver-cov", "-p", "no:randomly")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [HEADING, *(f"{name} *%*" for name in OF_OPERATIONS), "total *%", f"everything * {TOTAL} *%"]
    )
    result.stdout.fnmatch_lines(["operations * 5 * 5 * 100 %"])
    result.stdout.fnmatch_lines([f"each gap:  mockserver coverage report {Path(FILE)}"])
    coverage = loaded(pytester)
    assert OPERATIONS == coverage.covered("operations")
    assert ("readEntrypoint drop", "readFormPolicy drop") == coverage.covered("faults")


def test_a_session_without_the_option_writes_and_imports_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_list(mockserver):
            mockserver.call("GET", "/v1/campaigns")
            assert [] == [name for name in sys.modules if name.startswith("mockserver.judge.coverage") or name == "mockserver.pytest_plugin.coverage"]
        """
    )
    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line(HEADING)
    assert not (pytester.path / FILE).exists()


@pytest.mark.deep
@pytest.mark.parametrize("way", ["in two workers", "on a running server"])
def test_sandboxes_elsewhere_cover_together_what_they_cover_in_process(pytester: pytest.Pytester, way: str) -> None:
    pytester.makepyfile(SUITE)
    run_in_process(pytester, "--mockserver-cov", "-p", "no:randomly").assert_outcomes(passed=3)
    alone = loaded(pytester)
    with MockServer() as server:
        options = ("-p", "xdist", "-n", "2") if way == "in two workers" else (f"--mockserver-url={server.url}",)
        result = pytester.runpytest_subprocess("--mockserver-cov", *options)

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines([HEADING, "operations * 5 * 5 *"])
    assert alone == loaded(pytester)


def test_without_a_terminal_the_file_is_written_and_the_status_is_that_of_the_threshold(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(SUITE)
    arguments = ("--mockserver-cov", "--mockserver-cov-fail-under=50", "-p", "no:terminal")
    result = run_in_process(pytester, *arguments)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert OPERATIONS == loaded(pytester).covered("operations")


@pytest.mark.parametrize("option", [(), ("-x",)])
def test_a_failing_session_has_covered_what_it_called(pytester: pytest.Pytester, option: tuple[str, ...]) -> None:
    pytester.makepyfile(
        """
        def test_one(mockserver, mockserver_server):
            mockserver_server.sandbox().call("GET", "/v1/message-templates")
            mockserver.call("GET", "/v1/campaigns")
            assert False

        def test_two(mockserver):
            pass
        """
    )
    result = run_in_process(pytester, "--mockserver-cov", "--mockserver-cov-fail-under=1", "-p", "no:randomly", *option)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert ("listTemplates", "listCampaigns") == loaded(pytester).covered("operations")


@pytest.mark.parametrize(
    ("least", "lines"),
    [
        ("31", [f"FAIL coverage of everything: got 2 % (17 of {TOTAL}); expected at least 31 %"]),
        (
            "operations=100,answers=0",
            ["FAIL coverage of operations: got 31 % (5 of 16); expected at least 100 %"],
        ),
        ("operations=31,0", []),
    ],
)
def test_a_threshold_fails_a_session_that_covers_less(pytester: pytest.Pytester, least: str, lines: list[str]) -> None:
    pytester.makepyfile(SUITE)
    result = run_in_process(pytester, f"--mockserver-cov-fail-under={least}")

    assert (pytest.ExitCode.TESTS_FAILED if lines else pytest.ExitCode.OK) == result.ret
    result.stdout.fnmatch_lines(lines)


@pytest.mark.parametrize(
    ("least", "message"),
    [
        ("operation=5", "got the dimension 'operation'; expected operations, *; did you mean 'operations'"),
        ("operations=101", "got 'operations=101'; expected a percentage from 0 to 100, or DIMENSION=PERCENTAGE"),
        ("most", "got 'most'; expected a percentage from 0 to 100, or DIMENSION=PERCENTAGE"),
    ],
)
def test_a_threshold_that_is_none_is_refused_before_any_test(
    pytester: pytest.Pytester, least: str, message: str
) -> None:
    result = run_in_process(pytester, f"--mockserver-cov-fail-under={least}")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*--mockserver-cov-fail-under: {message}*"])


def test_a_suite_of_unittest_alone_saves_its_coverage_itself(tmp_path: Path) -> None:
    class TestList(SandboxTestCase):
        mockserver_coverage = Coverage()

        def test_list(self) -> None:
            self.mockserver.call("GET", "/v1/campaigns")

    unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(TestList))
    TestList.doClassCleanups()
    TestList.mockserver_coverage.save(tmp_path / "coverage.json")

    assert ("listCampaigns",) == Coverage.load(tmp_path / "coverage.json").covered("operations")


def test_the_runs_of_an_exploration_count_with_their_faults(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.mockserver_explore(faults=("drop-before", "rate-limit"), choices=())
        def test_list(mockserver):
            try:
                mockserver.call("GET", "/v1/campaigns")
            except ConnectionError:
                pass
        """
    )

    run_in_process(pytester, "--mockserver-cov", "-p", "no:randomly").assert_outcomes(passed=1)

    covered = loaded(pytester)
    assert ("listCampaigns drop", "listCampaigns error") == covered.covered("faults")
    assert ("listCampaigns success", "listCampaigns RATE_LIMIT_EXCEEDED") == covered.covered("answers")


def test_a_fault_of_an_exploration_counts_if_a_run_with_it_survived_or_was_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.mockserver_explore(faults=("drop-before", "rate-limit"), choices=())
        def test_list(mockserver):
            answer = mockserver.call("GET", "/v1/campaigns")
            if answer.status == 429:
                pytest.fail("the service asks to wait")
            try:
                mockserver.call("GET", "/v1/message-templates")
            except ConnectionError:
                pass
        """
    )

    run_in_process(pytester, "--mockserver-cov", "-p", "no:randomly")

    covered = loaded(pytester).covered("faults")
    assert ("listTemplates drop", "listTemplates error") == covered
