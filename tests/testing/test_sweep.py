"""Sweeps, in suites of their own: the cases, their ids, and the message of a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mockserver._commands import command_line
from mockserver.contract.choices import CHOICES
from mockserver.server.hosting.tracked_choices import TrackedChoices
from mockserver.testing.sweep import cases, options, others
from tests.testing.conftest import PLUGIN, Suite

ROOT = Path(__file__).resolve().parents[2]

NAIVE = """
    import pytest

    @pytest.mark.mockserver_sweep({names})
    def test_a_bad_body(mockserver):
        reply = mockserver.call("POST", "/v1/campaigns", json={{}})
        assert 400 == reply.status
"""


def outcomes(result: pytest.RunResult) -> dict[str, str]:
    """The outcome of each test by the text in its brackets, or by its name without brackets."""
    found = re.findall(
        r"^(?:\[gw\d\] \[ *\d+%\] )?(\w+)? ?test_mine\.py::(\S+)(?: (\w+))?", result.stdout.str(), re.MULTILINE
    )
    named = ((name, before or after) for before, name, after in found if before or after)
    return {name.partition("[")[2].removesuffix("]") or name: word for name, word in named}


def test_a_named_choice_runs_the_test_once_an_option_the_default_first(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"dual-status", "cancel-final"'), "-v")

    assert {
        "dual-status=catalog": "PASSED",
        "dual-status=guide": "FAILED",
        "cancel-final=unprocessable": "PASSED",
        "cancel-final=no-op": "PASSED",
        "cancel-final=not-draft": "PASSED",
    } == outcomes(result)
    assert "dual-status=catalog" == next(iter(outcomes(result)))


def test_a_family_selects_all_its_choices_with_named_options(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("sessions")
        def test_it(mockserver, mockserver_sweep_choices):
            state = mockserver.state()["choices"]
            assert mockserver_sweep_choices.items() <= state.items()
        """
    )

    options = [option for row in CHOICES.values() if row.family == "sessions" for option in row.options]
    result.assert_outcomes(passed=len(options))


def test_a_choice_that_is_named_twice_is_swept_once() -> None:
    named = [case.choice for case in cases(["wh-data-asymmetry", "events", "wh-data-asymmetry"])]

    assert len(CHOICES["wh-data-asymmetry"].options) == named.count("wh-data-asymmetry")
    assert set(named) == {case.choice for case in cases(["events"])}
    assert len(named) == len(cases(["events"]))


def test_a_family_leaves_its_numbers_out() -> None:
    assert {row.id for row in CHOICES.values() if row.family == "content" and not row.value} == {
        case.choice for case in cases(["content"])
    }


def test_a_sweep_over_all_runs_the_options_of_what_the_first_run_read_and_no_other(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"all"'), "-v")

    found = outcomes(result)
    assert "PASSED" == found.pop("test_a_bad_body")
    assert {"dual-status=guide": "FAILED"} == {name: word for name, word in found.items() if word == "FAILED"}
    assert {"message-text=reworded", "error-extra-keys=details", "success-status=all-200"} & set(found) == {
        "message-text=reworded",
        "error-extra-keys=details",
    }
    assert [] == [name for name in found if name.startswith(("cancel-", "session-", "progress-"))]


def test_a_sweep_over_all_leaves_the_defaults_to_the_first_run() -> None:
    defaults = {f"{row.id}={row.default}" for row in CHOICES.values()}

    assert set() == defaults & {case.id for case in others(CHOICES)}
    assert len(others(CHOICES)) == sum(len(row.options) - 1 for row in CHOICES.values() if len(row.options) > 1)


def test_a_sweep_over_all_with_a_name_sweeps_both(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"all", "reason-when-none"'), "-v")

    assert {"test_a_bad_body", "dual-status=guide", "reason-when-none=null"} <= set(outcomes(result))


def test_a_sweep_over_all_stops_where_the_run_is_to_stop(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"all"'), "-x")

    result.assert_outcomes(passed=1, failed=1)


def test_a_test_that_touches_nothing_runs_once_and_its_module_is_left_in_order(suite: Suite) -> None:
    suite.pytester.makepyfile(test_next="def test_it(): pass")
    source = """
        import pytest

        @pytest.fixture(scope="module")
        def shared():
            yield
            {leaving}

        @pytest.mark.mockserver_sweep("all")
        def test_it(mockserver, shared):
            pass
    """

    suite.run(source.format(leaving="pass"), "test_next.py").assert_outcomes(passed=1)
    suite.run(source.format(leaving="pass")).assert_outcomes(passed=2)
    suite.run(source.format(leaving="raise OSError")).assert_outcomes(passed=2, errors=1)


def test_in_a_sweep_over_all_a_run_has_a_sandbox_of_its_own(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("all")
        def test_it(mockserver):
            assert [] == mockserver.call("GET", "/v1/campaigns").json()["campaigns"]
            mockserver.apply({"given": {"templates": [{"id": "t"}]}})
            body = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}
            assert "campaignId" in mockserver.call("POST", "/v1/campaigns", json=body).json()
        """,
    )

    assert 0 == result.parseoutcomes().get("failed", 0)
    assert result.parseoutcomes()["passed"] > 5


@pytest.mark.parametrize("names", ['"dual-status"', '"all"'])
def test_a_method_of_a_unittest_case_is_refused_by_name(suite: Suite, names: str) -> None:
    result = suite.run(
        f"""
        import unittest

        import pytest

        class TestBodies(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _mock(self, mockserver):
                self.mock = mockserver

            @pytest.mark.mockserver_sweep({names})
            def test_a_bad_body(self):
                self.mock.call("POST", "/v1/campaigns", json={{}})

            def test_another(self):
                self.mock.call("GET", "/v1/campaigns")
        """
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of TestBodies.test_a_bad_body*", "*sweep: got a method of unittest.TestCase*"]
    )


def test_a_mark_that_is_added_after_the_collection_is_refused(suite: Suite) -> None:
    suite.pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.mockserver_sweep("dual-status"))
        """
    )

    result = suite.run("def test_it(mockserver):\n    pass\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*after the collection of the test; expected it at the test, its class or its module*"]
    )


SEVERAL = """
    import pytest

    def check(mockserver):
        assert 400 == mockserver.call("POST", "/v1/campaigns", json={}).status

    @pytest.mark.mockserver_sweep("all")
    def test_plain(mockserver):
        check(mockserver)

    @pytest.mark.mockserver_sweep("all")
    class TestClass:
        @pytest.mark.parametrize("time", [1, 2])
        def test_method(self, mockserver, time):
            check(mockserver)
"""
FAILURES = [
    "TestClass::test_method[1-dual-status=guide]",
    "TestClass::test_method[2-dual-status=guide]",
    "test_plain[dual-status=guide]",
]


def failures(result: pytest.RunResult) -> list[str]:
    """The ids of the failed tests after their file, as the summary lists them."""
    return sorted(re.findall(r"^FAILED test_mine\.py::(\S+)", result.stdout.str(), re.MULTILINE))


@pytest.mark.parametrize("failed", FAILURES)
def test_a_run_of_a_sweep_over_all_is_selected_by_the_id_that_was_printed(suite: Suite, failed: str) -> None:
    assert FAILURES == failures(suite.run(SEVERAL))

    alone = suite.run_again(f"test_mine.py::{failed}")

    alone.assert_outcomes(failed=1)
    assert [failed] == failures(alone)


def test_a_run_is_selected_in_a_folder_and_from_another_one(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = suite.pytester.mkdir("inner")
    suite.run(SEVERAL)
    (folder / "test_mine.py").write_bytes((suite.pytester.path / "test_mine.py").read_bytes())
    (suite.pytester.path / "test_mine.py").unlink()
    monkeypatch.chdir(folder)

    suite.run_again("test_mine.py::test_plain[dual-status=guide]").assert_outcomes(failed=1)
    monkeypatch.chdir(suite.pytester.path)
    suite.run_again("inner/test_mine.py::test_plain[dual-status=guide]").assert_outcomes(failed=1)


def test_a_run_that_is_selected_with_its_test_runs_once(suite: Suite) -> None:
    suite.run(SEVERAL)

    both = suite.run_again("test_mine.py::test_plain", "test_mine.py::test_plain[dual-status=guide]", "-v")

    assert ["test_plain[dual-status=guide]"] == failures(both)
    assert {"passed": len(outcomes(both)) - 1, "failed": 1} == both.parseoutcomes()


def test_an_option_that_is_no_option_is_not_selected(suite: Suite) -> None:
    suite.run(SEVERAL)

    wrong = suite.run_again("test_mine.py::test_plain[dual-status=guid]")

    assert pytest.ExitCode.USAGE_ERROR == wrong.ret


def test_the_last_failures_of_a_sweep_run_alone_or_first(suite: Suite) -> None:
    suite.run(SEVERAL, cache=True)

    last = suite.run_again("--lf", cache=True)
    first = suite.run_again("--ff", "-v", cache=True)

    assert FAILURES == failures(last) == failures(first)
    last.assert_outcomes(failed=3)
    assert set(list(outcomes(first))[:3]) == {name.partition("[")[2].removesuffix("]") for name in FAILURES}


@pytest.mark.deep
@pytest.mark.parametrize("cached", [False, True])
def test_on_workers_the_runs_have_their_own_ids_and_the_last_failures_run_alone(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    workers = ("-p", "xdist", "-n", "2", *PLUGIN)

    result = suite.run_apart(SEVERAL, *workers, "-v", cache=True)

    assert FAILURES == failures(result)
    assert 100 == max(percentages(result))
    if cached:
        last = suite.run_apart(SEVERAL, *workers, "--lf", cache=True)
        last.assert_outcomes(failed=3)
        assert FAILURES == failures(last)


def percentages(result: pytest.RunResult) -> list[int]:
    return [int(number) for number in re.findall(r"\[ *(\d+)%\]", result.stdout.str())]


@pytest.mark.parametrize("verbosity", ["-v", "-q", "-vv"])
def test_the_progress_ends_at_100_percent(suite: Suite, verbosity: str) -> None:
    result = suite.run(SEVERAL + ANOTHER, verbosity)

    assert 100 == max(percentages(result)) == percentages(result)[-1]


def test_each_run_writes_a_replay_document_of_its_own(suite: Suite) -> None:
    result = suite.run(SEVERAL.replace("400 ==", "418 =="))

    files = sorted(file.name for file in (suite.pytester.path / ".mockserver" / "failures").glob("*.yaml"))
    printed = re.findall(r"mockserver replay-calls .mockserver/failures/(\S+)", result.stdout.str())
    assert result.parseoutcomes()["failed"] == len(files) > 9
    assert files == sorted(printed)
    assert "test_mine.py.test_plain-dual-status=guide.yaml" in files


def test_each_run_is_repeated_on_its_own(suite: Suite) -> None:
    pytest.importorskip("pytest_rerunfailures")
    source = SEVERAL.replace(
        "        assert 400 ==",
        """        if seen.setdefault(mockserver.state()["choices"]["dual-status"], mockserver.id) == mockserver.id:
            raise OSError("the first time")
        assert 400 ==""",
    ).replace("import pytest", "import pytest\n\n    seen = {}")

    result = suite.run(source, "-p", "pytest_rerunfailures", "--reruns", "2", "-k", "plain", "-v")

    lines = re.findall(r"test_plain(\S*) (RERUN|PASSED|FAILED)", result.stdout.str())
    assert ["RERUN", "PASSED"] == [word for name, word in lines if name == ""]
    assert ["RERUN", "RERUN", "FAILED"] == [word for name, word in lines if name == "[dual-status=guide]"]
    assert 1 == result.parseoutcomes()["failed"]


@pytest.mark.deep
def test_the_same_sweeps_run_on_two_workers(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    source = NAIVE.format(names='"dual-status", "cancel-final"') + NAIVE.format(names='"all"').replace(
        "test_a_bad_body", "test_touching"
    )
    alone, apart = suite.run(source), suite.run_in_workers(source)

    assert alone.parseoutcomes()["failed"] == apart.parseoutcomes()["failed"] == 2
    assert alone.parseoutcomes()["passed"] == apart.parseoutcomes()["passed"] > 8


ANOTHER = "\n    def test_another(mockserver):\n        assert mockserver.id\n"


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ('"dual-statu"', "*got 'dual-statu'; expected a choice or a family; did you mean 'dual-status'?*"),
        ('"sesions"', "*'sesions'*did you mean 'sessions'?*"),
        ('"alll"', "*'alll'*did you mean 'all'?*"),
        ('"rate-limit-numbers"', "*'rate-limit-numbers', which has values*"),
        ('"all", "dual-statu"', "*'dual-statu'*did you mean 'dual-status'?*"),
        ('["dual-status"]', "*got*'dual-status'*; expected names as separate arguments, not in a list*"),
        ("", "*mockserver_sweep takes names of choices, of families, or 'all'*"),
    ],
)
def test_a_wrong_mark_is_an_error_of_its_own_test_with_the_closest_match(
    suite: Suite, names: str, problem: str
) -> None:
    result = suite.run(NAIVE.format(names=names) + ANOTHER)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at setup of test_a_bad_body*", problem])


@pytest.mark.parametrize("names", ['"dual-status"', '"all"'])
def test_a_sweep_of_a_test_without_a_sandbox_is_refused(suite: Suite, names: str) -> None:
    result = suite.run(f"import pytest\n\n@pytest.mark.mockserver_sweep({names})\ndef test_it():\n    pass\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*needs the fixture mockserver*"])


BOTH_WAYS = pytest.mark.parametrize("names", ['"dual-status"', '"all"'])
NOT_BY_THIS = "fails under the default too, so not by this choice"


def explained(result: pytest.RunResult, run: str) -> str:
    """The first section of the mock about a failing run, whose id ends with these words in brackets."""
    _, _, report = result.stdout.str().partition(f" test_a_bad_body[{run}] ___")
    return re.split(r"^-+ mockserver\b.* -+$|^_{3,} .* _{3,}$|^={3,} .* ={3,}$", report, flags=re.MULTILINE)[1].strip()


@BOTH_WAYS
def test_a_failure_that_the_default_does_not_have_names_the_option_the_default_and_the_clause(
    suite: Suite, names: str
) -> None:
    result = suite.run(NAIVE.format(names=names))

    text = explained(result, "dual-status=guide")
    assert [
        "passes under the default",
        "This run has the choice 'dual-status' set to 'guide' (the default is 'catalog').",
        "Which status have the four codes under /v1/campaigns on which catalog and campaign guide differ?",
        "A client has to tolerate every option (clause base.error-guide; L423 of the API document).",
        "To run it alone: @pytest.mark.mockserver(choices={'dual-status': 'guide'})",
    ] == text.splitlines()


@BOTH_WAYS
def test_a_failure_that_the_default_has_too_is_not_blamed_on_the_choice(suite: Suite, names: str) -> None:
    result = suite.run(NAIVE.format(names=names).replace("400 ==", "418 =="))

    expected = f"{NOT_BY_THIS}: 'dual-status' is 'guide' here (the default is 'catalog')"
    assert expected == explained(result, "dual-status=guide")
    assert "has to tolerate" not in result.stdout.str()


@BOTH_WAYS
def test_another_failure_under_the_default_is_named(suite: Suite, names: str) -> None:
    source = NAIVE.format(names=names)
    result = suite.run(
        source.replace(
            "        assert 400", "        if reply.status == 400:\n            raise OSError(1)\n        assert 400"
        )
    )

    first, second, *_ = explained(result, "dual-status=guide").splitlines()
    assert "fails in another way under the default: OSError at test_mine.py:7 `raise OSError(1)`" == first
    assert second.startswith("This run has the choice 'dual-status' set to 'guide'")


def test_an_assertion_of_a_helper_is_another_failure_where_another_line_calls_it(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        def check(expected, actual):
            assert expected == actual

        @pytest.mark.mockserver_sweep("dual-status")
        def test_a_bad_body(mockserver):
            status = mockserver.call("POST", "/v1/campaigns", json={}).status
            if status == 400:
                check(401, status)
            check(400, status)
        """
    )

    assert explained(result, "dual-status=guide").startswith(
        "fails in another way under the default: AssertionError at"
    )


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="the fixture came with pytest 9")
def test_a_subtest_is_compared_with_those_of_the_default(suite: Suite) -> None:
    source = """
        import pytest

        @pytest.mark.mockserver_sweep("dual-status")
        def test_a_bad_body(mockserver, subtests):
            status = mockserver.call("POST", "/v1/campaigns", json={{}}).status
            with subtests.test():
                assert {expected} == status
            with subtests.test():
                assert status
    """

    same, other = (suite.run(source.format(expected=expected)) for expected in (418, 400))

    assert f"\n{NOT_BY_THIS}: 'dual-status' is 'guide' here" in same.stdout.str()
    assert "\npasses under the default\n" in other.stdout.str()
    assert "fails in another way" not in same.stdout.str() + other.stdout.str()


RULES = """
    import pytest

    @pytest.mark.mockserver_sweep("dual-status")
    def test_a_bad_body(mockserver):
        mockserver.on("listCampaigns").must_fire().error("INTERNAL_ERROR")
        if mockserver.call("POST", "/v1/campaigns", json={}).status == %d:
            mockserver.on("readCampaign").must_fire().error("INTERNAL_ERROR")
"""


@pytest.mark.parametrize(
    ("more_at", "compared"),
    [(422, "fails in another way under the default: Failed: a rule that must fire "), (418, NOT_BY_THIS)],
)
def test_a_failure_that_the_mock_states_is_the_same_if_its_whole_text_is(
    suite: Suite, more_at: int, compared: str
) -> None:
    assert explained(suite.run(RULES % more_at), "dual-status=guide").startswith(compared)


def test_a_default_that_was_not_run_is_named_with_the_line_that_runs_it(suite: Suite) -> None:
    alone = suite.run(NAIVE.format(names='"dual-status"'), "-k", "guide")
    suite.run(NAIVE.format(names='"all"'))
    of_all = suite.run_again("test_mine.py::test_a_bad_body[dual-status=guide]")

    first, second, *_ = explained(alone, "dual-status=guide").splitlines()
    line = command_line(["pytest", "test_mine.py::test_a_bad_body[dual-status=catalog]"])
    assert f"the default was not run before it here; to compare: {line}" == first
    assert second.startswith("This run has the choice 'dual-status' set to 'guide'")
    line = "@pytest.mark.mockserver(choices={'dual-status': 'catalog'})"
    assert (
        f"the default was not run before it here; to compare: {line}"
        == explained(of_all, "dual-status=guide").partition("\n")[0]
    )


def test_a_default_that_was_skipped_was_not_run(suite: Suite) -> None:
    source = NAIVE.format(names='"dual-status"')
    result = suite.run(source.replace("assert 400", "if reply.status == 400: pytest.skip()\n        assert 400"))

    assert explained(result, "dual-status=guide").startswith("the default was not run before it here")


def test_a_default_that_fails_before_its_function_fails_in_another_way(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.fixture
        def client(mockserver):
            if mockserver.state()["choices"]["dual-status"] == "catalog":
                raise OSError(1)
            return mockserver

        @pytest.mark.mockserver_sweep("dual-status")
        def test_a_bad_body(client):
            assert 400 == client.call("POST", "/v1/campaigns", json={}).status
        """
    )

    assert explained(result, "dual-status=guide").startswith("fails in another way under the default: OSError at")


def test_a_first_run_under_another_option_than_the_default_is_no_run_of_the_default(suite: Suite) -> None:
    source = NAIVE.format(names='"all"').replace("400 ==", "418 ==")
    set_by_mark = "@pytest.mark.mockserver(choices={'dual-status': 'guide'})"
    result = suite.run(source.replace("@pytest", f"{set_by_mark}\n    @pytest"))

    assert explained(result, "dual-status=guide").startswith("the default was not run before it here")
    assert explained(result, "message-text=reworded").startswith(NOT_BY_THIS)


def test_runs_of_several_parameters_are_compared_with_the_default_of_their_own(suite: Suite) -> None:
    source = PARAMETRIZED.format(names='"dual-status"').replace("assert cadence < 1", "assert cadence < 0")
    result = suite.run(source.replace("test_a_bad_cadence", "test_a_bad_body"))

    assert explained(result, "0-dual-status=guide").startswith(NOT_BY_THIS)
    assert explained(result, "-1-dual-status=guide").startswith("passes under the default")


def test_a_failure_under_the_default_is_not_blamed_on_an_option(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"dual-status"').replace("400 ==", "418 =="))

    expected = "fails under the default, so not by another option: 'dual-status' is 'catalog' here"
    assert expected == explained(result, "dual-status=catalog")


@pytest.mark.deep
def test_on_workers_each_run_says_what_its_own_worker_has_compared(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = suite.run_in_workers(NAIVE.format(names='"dual-status"'))

    first, *_ = explained(result, "dual-status=guide").splitlines()
    assert first == "passes under the default" or first.startswith("the default was not run before it here")


def test_a_choice_of_the_mark_is_combined_with_the_swept_one_which_wins(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver(profile="hostile", choices={"success-status": "all-200", "dual-status": "guide"})
        @pytest.mark.mockserver_sweep("dual-status")
        def test_it(mockserver, mockserver_sweep_choices):
            chosen = mockserver.state()["choices"]
            assert mockserver_sweep_choices["dual-status"] == chosen["dual-status"]
            assert ("all-200", "details") == (chosen["success-status"], chosen["error-extra-keys"])
        """
    )

    result.assert_outcomes(passed=2)


PARAMETRIZED = """
    import pytest

    @pytest.mark.parametrize("cadence", [0, -1])
    @pytest.mark.mockserver_sweep({names})
    def test_a_bad_cadence(mockserver, cadence):
        assert cadence < 1
        assert 400 == mockserver.call("POST", "/v1/campaigns", json={{"cadence": cadence}}).status
"""


def test_a_parametrized_test_is_swept_for_each_of_its_values(suite: Suite) -> None:
    result = suite.run(PARAMETRIZED.format(names='"dual-status"'), "-v")

    assert {
        "0-dual-status=catalog": "PASSED",
        "-1-dual-status=catalog": "PASSED",
        "0-dual-status=guide": "FAILED",
        "-1-dual-status=guide": "FAILED",
    } == outcomes(result)


def test_a_parametrized_test_touches_for_each_of_its_values(suite: Suite) -> None:
    result = suite.run(PARAMETRIZED.format(names='"all"'), "-v")

    found = outcomes(result)
    assert {"0-dual-status=guide", "-1-dual-status=guide"} == {name for name, word in found.items() if word == "FAILED"}
    assert ("PASSED", "PASSED") == (found["0"], found["-1"])


@pytest.mark.parametrize("names", ['"dual-status"', '"all"'])
def test_a_class_is_swept_by_a_mark_of_its_own(suite: Suite, names: str) -> None:
    result = suite.run(
        f"""
        import pytest

        @pytest.mark.mockserver_sweep({names})
        class TestBodies:
            @pytest.fixture
            def own(self):
                return {{}}

            def setup_method(self):
                self.fresh = True

            def test_bad(self, mockserver, own):
                assert self.fresh
                assert 400 == mockserver.call("POST", "/v1/campaigns", json=own).status

            def test_good(self, mockserver):
                assert self.fresh
                assert not hasattr(self, "used")
                self.used = True
                assert 200 == mockserver.call("GET", "/v1/campaigns").status
        """,
        "-v",
    )

    assert 1 == result.parseoutcomes()["failed"]
    assert re.search(r"test_mine\.py::TestBodies::test_bad\[dual-status=guide\] FAILED", result.stdout.str())


def test_a_sweep_may_be_had_without_the_fixture_that_makes_a_sandbox(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("success-status")
        def test_it(mockserver_server, mockserver_sweep_choices):
            with mockserver_server.sandbox(choices=mockserver_sweep_choices) as sandbox:
                assert mockserver_sweep_choices["success-status"] == sandbox.state()["choices"]["success-status"]

        def test_outside_a_sweep_there_is_none(mockserver_sweep_choices):
            assert {} == mockserver_sweep_choices
        """
    )

    result.assert_outcomes(passed=4)


def test_selecting_one_option_runs_it_alone(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"dual-status"'), "-k", "guide")

    result.assert_outcomes(failed=1, deselected=1)


def test_tracked_choices_and_their_copies_record_reads() -> None:
    choices = TrackedChoices()
    copied = choices.copy()

    assert "catalog" == choices["dual-status"]
    assert "rest" == copied["success-status"]
    assert {"dual-status", "success-status"} == choices.read == copied.read


def test_the_options_of_a_choice_are_all_there_the_default_first() -> None:
    rows = [row for row in CHOICES.values() if len(row.options) > 1]
    cases = {row.id: [case.option for case in options(row)] for row in rows}

    assert {row.id: row.default for row in rows} == {id: options[0] for id, options in cases.items()}
    assert {row.id: sorted(row.options) for row in rows} == {id: sorted(options) for id, options in cases.items()}
