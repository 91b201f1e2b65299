"""Rules in pytest's reports: one that must fire fails its test, and the report of a failing test lists those that never fired."""

from __future__ import annotations

from tests.testing.conftest import Suite

RULE = '{"on": "startCampaign", "nth": 2, "mustFire": True, "do": {"drop": "after"}}'


def test_a_rule_that_must_fire_and_does_not_fails_the_test_in_its_call(suite: Suite):
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
            "  rule_1 (scenario lost) on startCampaign, nth 2: drop after; matched once",
        ]
    )


def test_a_rule_that_must_fire_and_does_passes(suite: Suite):
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


def test_a_rule_that_must_fire_without_an_effect_fails_the_test(suite: Suite):
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
            "a rule that must fire is not in force:",
            "  on startCampaign, nth 2: got no effect; expected one, such as .error('INTERNAL_ERROR')",
        ]
    )


def test_a_rule_that_must_fire_and_has_nothing_to_act_on_fails_the_test(suite: Suite):
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
            "  rule_1 on listCampaigns: fail-campaign; fired once: fail-campaign: no campaign is processing",
        ]
    )


def test_a_rule_that_must_fire_and_has_had_an_effect_passes_if_nothing_is_left_for_its_next_firing(suite: Suite):
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


def test_a_condition_after_must_fire_leaves_the_effect_to_the_last_call(suite: Suite):
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


def test_a_rule_that_must_fire_is_reported_in_addition_to_the_failure_of_the_test(suite: Suite):
    result = suite.run(
        f"""
        def test_own(mockserver):
            mockserver.apply({{"script": [{RULE}]}})
            assert "own" == "failure"
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 'own' == 'failure'*", "rules that never fired:", "  rule_1 on *"])
    result.stdout.no_fnmatch_line("a rule that must fire never fired:")


def test_a_rule_that_must_fire_satisfies_an_expected_failure(suite: Suite):
    result = suite.run(
        f"""
        import pytest

        @pytest.mark.xfail(strict=True)
        def test_own(mockserver):
            mockserver.apply({{"script": [{RULE}]}})
        """
    )

    result.assert_outcomes(xfailed=1)


def test_a_test_is_judged_only_by_its_own_sandboxes(suite: Suite):
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
