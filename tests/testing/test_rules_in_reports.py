"""Rules in pytest's reports: one that must fire fails its test, and the report of a failing test lists those that never fired."""

from __future__ import annotations

import re

import pytest

from tests.testing.conftest import Suite

RULE = '{"on": "startCampaign", "nth": 2, "mustFire": True, "do": {"drop": "after"}}'


def test_a_rule_that_must_fire_and_does_not_fails_the_test_in_its_call(suite: Suite) -> None:
    result = suite.run(
        f"""
        def test_nothing_is_started(mockserver):
            mockserver.apply({{"scenario": "lost", "script": [{RULE}]}})
            mockserver.call("POST", "/v1/campaigns/none/start")
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a rule that must fire never fired:",
            "  rule_1 (scenario lost) drop after at the 2nd startCampaign; matched once",
        ]
    )


def test_a_rule_that_must_fire_and_does_passes(suite: Suite) -> None:
    result = suite.run(
        f"""
        import pytest

        def test_two_starts(mockserver):
            mockserver.apply({{"script": [{RULE}]}})
            mockserver.call("POST", "/v1/campaigns/none/start")
            with pytest.raises(ConnectionError):
                mockserver.call("POST", "/v1/campaigns/none/start")
        """
    )

    result.assert_outcomes(passed=1)


def test_a_rule_that_must_fire_without_an_effect_fails_the_test(suite: Suite) -> None:
    result = suite.run(
        """
        def test_the_effect_is_forgotten(mockserver):
            mockserver.on("startCampaign").must_fire().nth(2)
            mockserver.call("POST", "/v1/campaigns/none/start")
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a rule is not in force:",
            "  at the 2nd startCampaign: got no effect; expected one, such as .error('INTERNAL_ERROR')",
        ]
    )


def test_a_rule_that_must_fire_and_has_nothing_to_act_on_fails_the_test(suite: Suite) -> None:
    result = suite.run(
        """
        def test_no_campaign_is_running(mockserver):
            mockserver.on("listCampaigns").must_fire().fail_campaign()
            mockserver.call("GET", "/v1/campaigns")
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a rule that must fire had no effect:",
            "  rule_1 fail-campaign at each listCampaigns; fired once: fail-campaign: no campaign is processing",
        ]
    )


def test_a_rule_that_must_fire_and_has_had_an_effect_passes_if_nothing_is_left_for_its_next_firing(
    suite: Suite,
) -> None:
    result = suite.run(
        """
        def test_a_key_is_rotated_once(mockserver):
            rule = mockserver.on("listCampaigns").must_fire().rotate_key(key="sk_once")
            mockserver.call("GET", "/v1/campaigns")
            mockserver.call("GET", "/v1/campaigns", headers={"X-API-Key": "sk_once"})
            assert (2, True) == (rule.fired, rule.no_target is not None)
        """
    )

    result.assert_outcomes(passed=1)


def test_a_condition_after_must_fire_leaves_the_effect_to_the_last_call(suite: Suite) -> None:
    result = suite.run(
        """
        def test_the_effect_follows(mockserver):
            first = mockserver.on("listCampaigns").must_fire().must_fire()
            first.nth(1).error("INTERNAL_ERROR")
            first.nth(2).error("INTERNAL_ERROR")
            assert [500, 500] == [mockserver.call("GET", "/v1/campaigns").status for _ in range(2)]
        """
    )

    result.assert_outcomes(passed=1)


def test_a_rule_that_must_fire_is_reported_in_addition_to_the_failure_of_the_test(suite: Suite) -> None:
    result = suite.run(
        f"""
        def test_own(mockserver):
            mockserver.apply({{"script": [{RULE}]}})
            assert "own" == "failure"
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 'own' == 'failure'*", "rules that never fired:", "  rule_1 drop after *"])
    result.stdout.no_fnmatch_line("a rule that must fire never fired:")


def test_a_rule_that_must_fire_satisfies_an_expected_failure(suite: Suite) -> None:
    result = suite.run(
        f"""
        import pytest

        @pytest.mark.xfail(strict=True)
        def test_own(mockserver):
            mockserver.apply({{"script": [{RULE}]}})
        """
    )

    result.assert_outcomes(xfailed=1)


def test_a_test_is_judged_only_by_its_own_sandboxes(suite: Suite) -> None:
    result = suite.run(
        f"""
        def test_first(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                sandbox.apply({{"script": [{RULE}]}})

        def test_second(mockserver):
            pass
        """
    )

    result.assert_outcomes(failed=1, passed=1)


UNFIRED = """
            mockserver.on("startCampaign").nth(2).drop("after")
            mockserver.call("POST", "/v1/campaigns/none/start")
"""


def test_a_rule_of_the_test_function_that_never_fires_fails_it_with_the_line_that_cures_it(suite: Suite) -> None:
    result = suite.run(
        f"""
        def test_one_start(mockserver):
            {UNFIRED.strip()}
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a rule of the test function never fired (mockserver_must_fire = false in the ini file lets all of them pass):",
            "  rule_1 drop after at the 2nd startCampaign; matched once",
            '    if it need not fire: mockserver.on("startCampaign").nth(2).may_fire().do({"drop": "after"})',
        ]
    )


BOUNDED = (
    'mockserver.on("startCampaign").nth(1).garble()',
    'mockserver.on("listCampaigns").skip(1).times(2).error("INTERNAL_ERROR")',
    'mockserver.on("listCampaigns").times(1).chance(0).garble()',
    'mockserver.on("delivery").nth(1).deliver(lose=True)',
    'mockserver.on("listCampaigns").where({"query.limit": "7"}).nth(1).garble()',
    'mockserver.at("5m").set_tenant(subscription="suspended")',
    "mockserver.after(sent=40).fail_campaign()",
)
STANDING = (
    'mockserver.on("startCampaign").garble()',
    'mockserver.on("listCampaigns").every(2).garble()',
    'mockserver.on("listCampaigns").skip(5).until("5m").garble()',
    "mockserver.after(sent=40).may_fire().fail_campaign()",
    'mockserver.on("startCampaign").nth(1).may_fire().garble()',
    'mockserver.on("startCampaign").may_fire().nth(1).garble()',
    'mockserver.on("startCampaign").nth(1).garble().remove()',
    'mockserver.apply(script=[{"on": "startCampaign", "nth": 1, "do": {"garble": True}}])',
    'mockserver.on("listCampaigns").times(9).error("INTERNAL_ERROR")',
)


@pytest.mark.parametrize("rule", BOUNDED)
def test_each_rule_with_a_bounded_count_must_fire_once(suite: Suite, rule: str) -> None:
    result = suite.run(f"def test_it(mockserver):\n    {rule}\n    mockserver.call('GET', '/v1/campaigns')\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a rule of the test function never fired*"])


NTH = 'mockserver.on("listCampaigns").nth({}).garble()'
LIST = 'mockserver.call("GET", "/v1/campaigns")'


@pytest.mark.parametrize("second", ["", NTH.format(1) + "; " + LIST], ids=["alone", "before a rule of the same id"])
@pytest.mark.parametrize(
    "lines",
    [
        [NTH.format(2), LIST, "mockserver.reset()"],
        ["with mockserver.checkpoint():", "    " + NTH.format(2), "    " + LIST],
    ],
    ids=["reset", "checkpoint"],
)
def test_a_rule_that_is_undone_before_it_fires_fails_the_test(suite: Suite, lines: list[str], second: str) -> None:
    result = suite.run("def test_it(mockserver):\n" + "".join(f"    {line}\n" for line in [*lines, second]))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a rule of the test function never fired*",
            "  rule_1 garble at the 2nd listCampaigns; matched once",
            "*may_fire*",
        ]
    )


@pytest.mark.parametrize(
    "lines",
    [
        [NTH.format(1), LIST, "mockserver.reset()"],
        [NTH.format(1), "with mockserver.checkpoint():", "    " + LIST],
        ["with mockserver.checkpoint():", "    " + NTH.format(1), "    " + LIST],
        [NTH.format(2), "with mockserver.checkpoint():", "    " + LIST, LIST, LIST],
        [NTH.format(2) + ".remove()", "mockserver.reset()"],
    ],
    ids=["reset", "made before a checkpoint", "made inside it", "fires after it", "removed before"],
)
def test_a_rule_that_fires_before_or_after_an_undo_passes(suite: Suite, lines: list[str]) -> None:
    result = suite.run("def test_it(mockserver):\n" + "".join(f"    {line}\n" for line in lines))

    result.assert_outcomes(passed=1)


def test_the_line_that_cures_it_is_the_rule_as_it_was_written_and_lets_the_test_pass(suite: Suite) -> None:
    body = "def test_it(mockserver):\n    {}\n    mockserver.call('GET', '/v1/campaigns')\n"
    cures = []
    for rule in BOUNDED:
        found = suite.run(body.format(rule)).stdout.str()
        lines = (line for line in found.splitlines() if "if it need not fire" in line)
        cures.append(next(lines).partition("fire: ")[2])

    body = "".join(f"def test_{n}(mockserver):\n    {cure}\n" for n, cure in enumerate(cures))
    suite.run(body).assert_outcomes(passed=len(BOUNDED))


def test_standing_rules_those_of_documents_and_those_that_may_fire_need_not(suite: Suite) -> None:
    body = "def test_{}(mockserver):\n    {}\n    mockserver.call('GET', '/v1/campaigns')\n"

    result = suite.run("".join(body.format(n, rule) for n, rule in enumerate(STANDING)))

    result.assert_outcomes(passed=len(STANDING))


def test_the_ini_file_lets_rules_of_a_suite_pass_but_not_one_that_must_fire_or_has_no_effect(suite: Suite) -> None:
    source = """
        def test_unfired(mockserver):
            mockserver.on("startCampaign").nth(1).drop("after")

        def test_must_fire(mockserver):
            mockserver.on("startCampaign").nth(1).must_fire().drop("after")

        def test_incomplete(mockserver):
            mockserver.on("startCampaign").nth(1)
        """
    result = suite.run(source, "-o", "mockserver_must_fire=false", "-rA")

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["PASSED *test_unfired"])


def test_an_incomplete_rule_fails_its_test_whoever_makes_it_unless_another_was_made_of_it(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.fixture
        def forgotten(mockserver):
            mockserver.on("startCampaign").nth(1)

        def test_of_a_fixture(mockserver, forgotten):
            pass

        def test_of_the_test(mockserver):
            mockserver.on("startCampaign").nth(1)

        def test_of_another_sandbox(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                sandbox.at("5m")

        def test_that_goes_on_from_one(mockserver):
            begun = mockserver.on("listCampaigns")
            begun.nth(1).error("INTERNAL_ERROR")
            begun.nth(2).drop("after").remove()
            mockserver.call("GET", "/v1/campaigns")
        """
    )

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        ["a rule is not in force:", "  at the 1st startCampaign: got no effect; expected one, *"]
    )


def test_a_rule_that_a_fixture_makes_need_not_fire_also_if_the_test_asks_for_the_fixture_while_it_runs(
    suite: Suite,
) -> None:
    result = suite.run(
        """
        import pytest

        def faulty(sandbox):
            sandbox.on("startCampaign").nth(1).drop("after")

        @pytest.fixture
        def broken(mockserver):
            faulty(mockserver)

        @pytest.fixture(scope="module")
        def shared(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                faulty(sandbox)
                yield sandbox

        @pytest.fixture
        def late(request):
            faulty(request.getfixturevalue("mockserver"))

        @pytest.fixture
        def make_faulty():
            return faulty

        class TestWithSetup:
            @pytest.fixture(autouse=True)
            def own(self, mockserver):
                self.mockserver = mockserver

            def setup_method(self):
                pass

            def test_nothing(self, broken):
                pass

        def test_before(broken):
            pass

        def test_of_a_module(shared):
            shared.call("GET", "/v1/campaigns")

        def test_while_it_runs(request):
            request.getfixturevalue("late")

        def test_by_a_helper(mockserver):
            faulty(mockserver)

        def test_by_a_function_that_a_fixture_returns(mockserver, make_faulty):
            make_faulty(mockserver)

        def test_on_a_sandbox_of_a_module(shared):
            shared.on("startCampaign").nth(2).drop("after")

        def test_on_a_sandbox_of_its_own(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                faulty(sandbox)
        """
    )

    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(["FAILED *::test_by_a_helper*", "FAILED *::test_by_a_function*"])
    result.stdout.fnmatch_lines(["FAILED *::test_on_a_sandbox_of_a_module*", "FAILED *::test_on_a_sandbox_of_its_own*"])


def test_a_test_that_fails_is_skipped_or_may_fail_is_not_accused(suite: Suite) -> None:
    result = suite.run(
        """
        import unittest
        import pytest

        def unfired(mockserver):
            mockserver.on("startCampaign").nth(1).drop("after")

        def test_fails(mockserver):
            unfired(mockserver)
            assert 0

        def test_is_skipped(mockserver):
            unfired(mockserver)
            pytest.skip("not here")

        @pytest.mark.xfail
        def test_may_fail(mockserver):
            unfired(mockserver)

        @pytest.mark.xfail(strict=True)
        def test_must_fail(mockserver):
            unfired(mockserver)
            assert 0

        class TestOldStyle(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def sandbox(self, mockserver):
                pass

            def setUp(self):
                unfired(self.mockserver)

            def test_nothing(self):
                pass
        """
    )

    result.assert_outcomes(failed=1, skipped=1, xfailed=1, xpassed=1, passed=1)
    assert "a rule of the test function never fired" not in result.stdout.str()


def test_further_runs_of_a_test_are_not_accused(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest
        from hypothesis import given, settings, strategies as st
        from mockserver.testing.differential import compare
        from mockserver.testing.machine import GatewayMachine

        def client(sandbox):
            sandbox.on("startCampaign").nth(1).drop("after")
            sandbox.call("GET", "/v1/campaigns")

        @settings(max_examples=3, database=None)
        @given(st.integers())
        def test_examples(mockserver_server, number):
            with mockserver_server.sandbox() as sandbox:
                client(sandbox)

        def test_examples_inside(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                @settings(max_examples=3, database=None)
                @given(st.integers())
                def inner(number):
                    client(sandbox)

                inner()

        def test_explored_function(mockserver_server):
            assert not mockserver_server.explore(client, faults=("drop-after",), choices=()).failed

        def test_compared(mockserver_server):
            compare(mockserver_server, client, [{"dual-status": "guide"}])

        @pytest.mark.mockserver_explore(faults=("delay",), choices=())
        def test_explored(mockserver):
            mockserver.on("listCampaigns").nth(2).may_fire().delay("1s")
            mockserver.on("listCampaigns").nth(1).delay("1s")
            mockserver.call("GET", "/v1/campaigns")

        @pytest.mark.mockserver_sweep("next-cursor-end")
        def test_swept(mockserver, mockserver_sweep_choices):
            mockserver.on("startCampaign").nth(1).drop("after")
        """
    )

    outcomes = result.parseoutcomes()
    assert 1 == outcomes["failed"], result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED *::test_swept*"])  # the default option alone
    assert {"test_swept[next-cursor-end=null]"} == set(
        re.findall(r"^_+ (test_\S+) _+$", result.stdout.str(), re.MULTILINE)
    )


def test_a_rule_that_a_reset_has_ended_is_not_confused_with_a_later_one(suite: Suite) -> None:
    result = suite.run(
        """
        def test_it(mockserver):
            mockserver.on("startCampaign").nth(1).drop("after")
            mockserver.reset()
            mockserver.on("startCampaign").nth(1).may_fire().drop("after")
        """
    )

    result.assert_outcomes(failed=1)
    failure = result.stdout.str().partition("- mockserver -")[0]
    assert 1 == failure.count("    if it need not fire: ")
