"""Sweeps, in suites of their own: the cases, their ids, and the message of a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mockserver.contract.choices import CHOICES
from mockserver.server.hosting.tracked_choices import TrackedChoices
from mockserver.testing.sweep import Case, cases, options, others
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


def test_a_named_choice_runs_the_test_once_an_option_the_default_first(suite: Suite):
    result = suite.run(NAIVE.format(names='"dual-status", "cancel-final"'), "-v")

    assert {
        "dual-status=catalog": "PASSED",
        "dual-status=guide": "FAILED",
        "cancel-final=unprocessable": "PASSED",
        "cancel-final=no-op": "PASSED",
        "cancel-final=not-draft": "PASSED",
    } == outcomes(result)
    assert "dual-status=catalog" == next(iter(outcomes(result)))


def test_a_family_selects_all_its_choices_with_named_options(suite: Suite):
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("sessions")
        def test_it(mockserver, mockserver_option):
            state = mockserver.state()["choices"]
            assert mockserver_option.items() <= state.items()
        """
    )

    options = [option for row in CHOICES.values() if row.family == "sessions" for option in row.options]
    result.assert_outcomes(passed=len(options))


def test_a_choice_that_is_named_twice_is_swept_once():
    named = [case.choice for case in cases(["wh-data-asymmetry", "events", "wh-data-asymmetry"])]

    assert len(CHOICES["wh-data-asymmetry"].options) == named.count("wh-data-asymmetry")
    assert set(named) == {case.choice for case in cases(["events"])}
    assert len(named) == len(cases(["events"]))


def test_a_family_leaves_its_numbers_out():
    assert {row.id for row in CHOICES.values() if row.family == "content" and not row.value} == {
        case.choice for case in cases(["content"])
    }


def test_touched_runs_the_options_of_what_the_first_run_read_and_no_other(suite: Suite):
    result = suite.run(NAIVE.format(names='"touched"'), "-v")

    found = outcomes(result)
    assert "PASSED" == found.pop("test_a_bad_body")
    assert {"dual-status=guide": "FAILED"} == {name: word for name, word in found.items() if word == "FAILED"}
    assert {"message-text=reworded", "error-extra-keys=details", "success-status=all-200"} & set(found) == {
        "message-text=reworded",
        "error-extra-keys=details",
    }
    assert [] == [name for name in found if name.startswith(("cancel-", "session-", "progress-"))]


def test_touched_leaves_the_defaults_to_the_first_run():
    defaults = {f"{row.id}={row.default}" for row in CHOICES.values()}

    assert set() == defaults & {case.id for case in others(CHOICES)}
    assert len(others(CHOICES)) == sum(len(row.options) - 1 for row in CHOICES.values() if len(row.options) > 1)


def test_touched_with_a_name_sweeps_both(suite: Suite):
    result = suite.run(NAIVE.format(names='"touched", "reason-when-none"'), "-v")

    assert {"test_a_bad_body", "dual-status=guide", "reason-when-none=null"} <= set(outcomes(result))


def test_touched_stops_where_the_run_is_to_stop(suite: Suite):
    result = suite.run(NAIVE.format(names='"touched"'), "-x")

    result.assert_outcomes(passed=1, failed=1)


def test_a_test_that_touches_nothing_runs_once_and_its_module_is_left_in_order(suite: Suite):
    suite.pytester.makepyfile(test_next="def test_it(): pass")
    source = """
        import pytest

        @pytest.fixture(scope="module")
        def shared():
            yield
            {leaving}

        @pytest.mark.mockserver_sweep("touched")
        def test_it(mockserver, shared):
            pass
    """

    suite.run(source.format(leaving="pass"), "test_next.py").assert_outcomes(passed=1)
    suite.run(source.format(leaving="pass")).assert_outcomes(passed=2)
    suite.run(source.format(leaving="raise OSError")).assert_outcomes(passed=2, errors=1)


def test_under_touched_a_run_has_a_sandbox_of_its_own(suite: Suite):
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("touched")
        def test_it(mockserver):
            assert [] == mockserver.call("GET", "/v1/campaigns").json()["campaigns"]
            mockserver.apply({"given": {"templates": [{"id": "t"}]}})
            body = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}
            assert "campaignId" in mockserver.call("POST", "/v1/campaigns", json=body).json()
        """,
    )

    assert 0 == result.parseoutcomes().get("failed", 0)
    assert result.parseoutcomes()["passed"] > 5


@pytest.mark.deep
def test_the_same_sweeps_run_on_two_workers(suite: Suite, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    source = NAIVE.format(names='"dual-status", "cancel-final"') + NAIVE.format(names='"touched"').replace(
        "test_a_bad_body", "test_touching"
    )
    alone, apart = suite.run(source), suite.run_apart(source, "-p", "xdist", "-n", "2", *PLUGIN)

    assert alone.parseoutcomes()["failed"] == apart.parseoutcomes()["failed"] == 2
    assert alone.parseoutcomes()["passed"] == apart.parseoutcomes()["passed"] > 8


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ('"dual-statu"', "*got 'dual-statu'; expected a choice or a family; did you mean 'dual-status'?*"),
        ('"sesions"', "*'sesions'*did you mean 'sessions'?*"),
        ('"touchd"', "*'touchd'*did you mean 'touched'?*"),
        ('"rate-limit-numbers"', "*'rate-limit-numbers', which has values*"),
        ('"touched", "dual-statu"', "*'dual-statu'*did you mean 'dual-status'?*"),
        ('["dual-status"]', "*got*'dual-status'*; expected names as separate arguments, not in a list*"),
        ("", "*mockserver_sweep takes names of choices, of families, or 'touched'*"),
    ],
)
def test_an_unknown_name_fails_at_collection_with_the_closest_match(suite: Suite, names: str, said: str):
    result = suite.run(NAIVE.format(names=names))

    assert 0 != result.ret
    assert {"passed", "failed"}.isdisjoint(result.parseoutcomes())
    pytest.LineMatcher(result.outlines + result.errlines).fnmatch_lines([said])


@pytest.mark.parametrize("names", ['"dual-status"', '"touched"'])
def test_a_sweep_of_a_test_without_a_sandbox_is_refused(suite: Suite, names: str):
    result = suite.run(f"import pytest\n\n@pytest.mark.mockserver_sweep({names})\ndef test_it():\n    pass\n")

    assert 0 != result.ret
    pytest.LineMatcher(result.outlines + result.errlines).fnmatch_lines(["*needs the fixture mockserver*"])


@pytest.mark.parametrize("names", ['"dual-status"', '"touched"'])
def test_a_failure_names_the_option_the_default_and_the_clause(suite: Suite, names: str):
    result = suite.run(NAIVE.format(names=names))

    result.stdout.fnmatch_lines(
        [
            "*test_a_bad_body*dual-status=guide*",
            "*- mockserver -*",
            "This run has the choice 'dual-status' set to 'guide' (the default is 'catalog').",
            "*clause base.error-guide; L423*",
            "To run it alone: @pytest.mark.mockserver(choices={'dual-status': 'guide'})",
        ]
    )


def test_a_failure_at_the_default_states_it():
    assert "(the default)" in Case("dual-status", "catalog").explained()


def test_a_choice_of_the_mark_is_combined_with_the_swept_one_which_wins(suite: Suite):
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver(profile="hostile", choices={"success-status": "all-200", "dual-status": "guide"})
        @pytest.mark.mockserver_sweep("dual-status")
        def test_it(mockserver, mockserver_option):
            chosen = mockserver.state()["choices"]
            assert mockserver_option["dual-status"] == chosen["dual-status"]
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


def test_a_parametrized_test_is_swept_for_each_of_its_values(suite: Suite):
    result = suite.run(PARAMETRIZED.format(names='"dual-status"'), "-v")

    assert {
        "0-dual-status=catalog": "PASSED",
        "-1-dual-status=catalog": "PASSED",
        "0-dual-status=guide": "FAILED",
        "-1-dual-status=guide": "FAILED",
    } == outcomes(result)


def test_a_parametrized_test_touches_for_each_of_its_values(suite: Suite):
    result = suite.run(PARAMETRIZED.format(names='"touched"'), "-v")

    found = outcomes(result)
    assert {"0-dual-status=guide", "-1-dual-status=guide"} == {name for name, word in found.items() if word == "FAILED"}
    assert ("PASSED", "PASSED") == (found["0"], found["-1"])


@pytest.mark.parametrize("names", ['"dual-status"', '"touched"'])
def test_a_class_is_swept_by_a_mark_of_its_own(suite: Suite, names: str):
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


def test_a_sweep_may_be_had_without_the_fixture_that_makes_a_sandbox(suite: Suite):
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver_sweep("success-status")
        def test_it(mockserver_server, mockserver_option):
            with mockserver_server.sandbox(choices=mockserver_option) as sandbox:
                assert mockserver_option["success-status"] == sandbox.state()["choices"]["success-status"]

        def test_outside_a_sweep_there_is_none(mockserver_option):
            assert {} == mockserver_option
        """
    )

    result.assert_outcomes(passed=4)


def test_selecting_one_option_runs_it_alone(suite: Suite):
    result = suite.run(NAIVE.format(names='"dual-status"'), "-k", "guide")

    result.assert_outcomes(failed=1, deselected=1)


def test_tracked_choices_and_their_copies_record_reads():
    witness = TrackedChoices()
    copied = witness.copy()

    assert "catalog" == witness["dual-status"]
    assert "rest" == copied["success-status"]
    assert {"dual-status", "success-status"} == witness.read == copied.read


def test_the_options_of_a_choice_are_all_there_the_default_first():
    rows = [row for row in CHOICES.values() if len(row.options) > 1]
    cases = {row.id: [case.option for case in options(row)] for row in rows}

    assert {row.id: row.default for row in rows} == {id: options[0] for id, options in cases.items()}
    assert {row.id: sorted(row.options) for row in rows} == {id: sorted(options) for id, options in cases.items()}
