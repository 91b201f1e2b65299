"""Sweeps, in suites of their own: the cases, their ids, and the message of a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.server.hosting.tracked_choices import TrackedChoices
from tests.testing.conftest import Suite

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


def test_each_failing_run_of_a_sweep_over_all_has_its_own_id(suite: Suite) -> None:
    assert FAILURES == failures(suite.run(SEVERAL))


@pytest.mark.deep
def test_workers_report_the_runs_under_the_id_of_their_test(suite: Suite) -> None:
    alone = suite.run(SEVERAL)
    result = suite.run_in_workers(SEVERAL, "-v")

    assert alone.parseoutcomes() == result.parseoutcomes()
    assert [name.partition("dual")[0].rstrip("-[") for name in FAILURES] == [
        name.removesuffix("]") for name in failures(result)
    ]
    assert 3 == result.stdout.str().count("This run has the choice 'dual-status' set to 'guide'")


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


# Arguments of the mark that are refused, and the words of the refusal.
WRONG_MARKS = {
    '"dual-statu"': "*got 'dual-statu'; expected a choice or a family; did you mean 'dual-status'?*",
    '"sesions"': "*'sesions'*did you mean 'sessions'?*",
    '"alll"': "*'alll'*did you mean 'all'?*",
    '"rate-limit-numbers"': "*'rate-limit-numbers', which has values*",
    '"all", "dual-statu"': "*'dual-statu'*did you mean 'dual-status'?*",
    '["dual-status"]': "*got*'dual-status'*; expected names as separate arguments, not in a list*",
    "": "*mockserver_sweep takes names of choices, of families, or 'all'*",
}


def test_a_wrong_mark_is_an_error_of_its_own_test_with_the_closest_match(suite: Suite) -> None:
    wrong = [
        f"@pytest.mark.mockserver_sweep({mark})\ndef test_{n}(mockserver): pass\n" for n, mark in enumerate(WRONG_MARKS)
    ]
    without = '@pytest.mark.mockserver_sweep("all")\ndef test_without_a_sandbox(): pass\n'
    result = suite.run("\n".join(["import pytest\n", *wrong, without, "def test_right(mockserver): pass"]))

    result.assert_outcomes(passed=1, errors=len(WRONG_MARKS) + 1)
    result.stdout.fnmatch_lines_random([*WRONG_MARKS.values(), "*needs the fixture mockserver*"])


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


def test_a_failure_under_the_default_is_not_blamed_on_an_option(suite: Suite) -> None:
    result = suite.run(NAIVE.format(names='"dual-status"').replace("400 ==", "418 =="))

    expected = "fails under the default, so not by another option: 'dual-status' is 'catalog' here"
    assert expected == explained(result, "dual-status=catalog")


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


def test_tracked_choices_and_their_copies_record_reads() -> None:
    read: list[str] = []
    choices = TrackedChoices(DEFAULTS, read.append)
    copied = choices.copy()

    assert "catalog" == choices["dual-status"]
    assert "rest" == copied["success-status"]
    assert ["dual-status", "success-status"] == read
