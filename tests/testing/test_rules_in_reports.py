"""A rule that must fire fails its test: which rules those are, and which tests are accused. The names of the inner tests say it."""

from __future__ import annotations

import re

import pytest

from tests.testing.conftest import Suite

WORLD = """
import unittest
import pytest
from hypothesis import given, settings, strategies as st

RULE = {"on": "startCampaign", "nth": 2, "mustFire": True, "do": {"drop": "after"}}

def start(sandbox):
    return sandbox.call("POST", "/v1/campaigns/none/start").status

def look(sandbox):
    return sandbox.call("GET", "/v1/campaigns").status

def faulty(sandbox):
    sandbox.on("startCampaign").nth(1).drop("after")
"""
MUST_FIRE = """
def test_fails_if_the_rule_never_fires(mockserver):
    mockserver.apply({"scenario": "lost", "script": [RULE]})
    start(mockserver)

def test_passes_if_it_fires(mockserver):
    mockserver.apply({"script": [RULE]})
    start(mockserver)
    with pytest.raises(ConnectionError):
        start(mockserver)

def test_fails_without_an_effect(mockserver):
    mockserver.on("startCampaign").must_fire().nth(2)
    start(mockserver)

def test_fails_with_nothing_to_act_on(mockserver):
    mockserver.on("listCampaigns").must_fire().fail_campaign()
    look(mockserver)

def test_passes_if_only_the_next_firing_has_nothing_to_act_on(mockserver):
    rule = mockserver.on("listCampaigns").must_fire().rotate_key(key="sk_once")
    look(mockserver)
    mockserver.call("GET", "/v1/campaigns", headers={"X-API-Key": "sk_once"})
    assert (2, True) == (rule.fired, rule.no_target is not None)

def test_passes_if_a_condition_after_must_fire_leaves_the_effect_to_the_last_call(mockserver):
    first = mockserver.on("listCampaigns").must_fire().must_fire()
    first.nth(1).error("INTERNAL_ERROR")
    first.nth(2).error("INTERNAL_ERROR")
    assert [500, 500] == [look(mockserver) for _ in range(2)]

@pytest.mark.xfail(strict=True)
def test_xfails_as_expected(mockserver):
    mockserver.apply({"script": [RULE]})

def test_fails_for_a_sandbox_of_its_own(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        sandbox.apply({"script": [RULE]})

def test_passes_after_a_test_whose_rule_did_not(mockserver):
    pass
"""
INCOMPLETE = """
@pytest.fixture
def forgotten(mockserver):
    mockserver.on("startCampaign").nth(1)

def test_fails_by_a_rule_of_a_fixture_without_an_effect(mockserver, forgotten):
    pass

def test_fails_by_a_rule_without_an_effect(mockserver):
    mockserver.on("startCampaign").nth(1)

def test_fails_by_a_time_without_an_effect(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        sandbox.at("5m")

def test_passes_if_another_rule_was_made_of_it(mockserver):
    begun = mockserver.on("listCampaigns")
    begun.nth(1).error("INTERNAL_ERROR")
    begun.nth(2).drop("after").remove()
    look(mockserver)
"""
FIXTURES = """
@pytest.fixture
def broken(mockserver):
    faulty(mockserver)

@pytest.fixture(scope="module")
def shared(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        faulty(sandbox)
        yield sandbox

@pytest.fixture
def make_faulty():
    return faulty

class TestWithSetup:
    @pytest.fixture(autouse=True)
    def own(self, mockserver):
        self.mockserver = mockserver

    def setup_method(self):
        pass

    def test_passes_with_the_rule_of_a_fixture(self, broken):
        pass

def test_passes_with_the_rule_of_a_fixture(broken):
    pass

def test_passes_with_the_rule_of_a_fixture_of_the_module(shared):
    look(shared)

def test_fails_by_the_rule_of_a_helper(mockserver):
    faulty(mockserver)

def test_fails_by_the_rule_of_a_function_that_a_fixture_returns(mockserver, make_faulty):
    make_faulty(mockserver)

def test_fails_by_its_rule_on_a_sandbox_of_the_module(shared):
    shared.on("startCampaign").nth(2).drop("after")

def test_fails_by_its_rule_on_a_sandbox_of_its_own(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        faulty(sandbox)
"""
NOT_ACCUSED = """
def test_skipped(mockserver):
    faulty(mockserver)
    pytest.skip("not here")

@pytest.mark.xfail
def test_xpasses_as_it_may_fail(mockserver):
    faulty(mockserver)

@pytest.mark.xfail(strict=True)
def test_xfails_by_itself(mockserver):
    faulty(mockserver)
    assert 0

class TestOldStyle(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def sandbox(self, mockserver):
        pass

    def setUp(self):
        faulty(self.mockserver)

    def test_passes_with_the_rule_of_set_up(self):
        pass

def client(sandbox):
    faulty(sandbox)
    look(sandbox)

@settings(max_examples=3, database=None)
@given(st.integers())
def test_passes_as_an_example(mockserver_server, number):
    with mockserver_server.sandbox() as sandbox:
        client(sandbox)

def test_passes_with_examples_inside(mockserver_server):
    with mockserver_server.sandbox() as sandbox:
        @settings(max_examples=3, database=None)
        @given(st.integers())
        def inner(number):
            client(sandbox)

        inner()

def test_passes_as_it_explores(mockserver_server):
    assert not mockserver_server.explore(client, faults=("drop-after",), choices=()).failed

@pytest.mark.mockserver_explore(faults=("delay",), choices=())
def test_passes_explored(mockserver):
    mockserver.on("listCampaigns").nth(2).may_fire().delay("1s")
    mockserver.on("listCampaigns").nth(1).delay("1s")
    look(mockserver)
"""
# Rules whose count is bounded, so that they must fire once; and those that need not.
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
NTH = 'mockserver.on("listCampaigns").nth({}).garble()'
LOOK = "look(mockserver)"
# Rules made before a reset or the end of a checkpoint, alone, and before a rule of the same id.
BEFORE_A_RESTORE = (
    [NTH.format(2), LOOK, "mockserver.reset()"],
    ["with mockserver.checkpoint():", "    " + NTH.format(2), "    " + LOOK],
    [NTH.format(2), LOOK, "mockserver.reset()", NTH.format(1), LOOK],
    [NTH.format(1), "with mockserver.checkpoint():", "    " + LOOK],
    [NTH.format(1), "mockserver.reset()", NTH.format(1).replace(".garble", ".may_fire().garble")],
    [NTH.format(2) + ".remove()", "mockserver.reset()"],
)
AFTER_A_RESTORE = (
    ["mockserver.reset()", NTH.format(2), LOOK],
    [NTH.format(1), "with mockserver.checkpoint():", "    " + LOOK, NTH.format(2), LOOK],
)


def inner_tests(outcome: str, bodies: tuple[list[str], ...]) -> str:
    """Return a test for each body, whose name begins with its outcome."""
    blocks = ("\n".join(f"    {line}" for line in body) for body in bodies)
    return "\n".join(f"def test_{outcome}_{n}(mockserver):\n{block}\n" for n, block in enumerate(blocks))


SOURCES = {
    "must fire": MUST_FIRE,
    "incomplete": INCOMPLETE,
    "fixtures": FIXTURES,
    "not accused": NOT_ACCUSED,
    "bounded": inner_tests("fails", tuple([rule, LOOK] for rule in BOUNDED)),
    "standing": inner_tests("passes", tuple([rule, LOOK] for rule in STANDING)),
    "restored": inner_tests("fails", AFTER_A_RESTORE) + inner_tests("passes", BEFORE_A_RESTORE),
}
OUTCOMES = {"PASSED": "passes", "FAILED": "fails", "XFAIL": "xfails", "XPASS": "xpasses"}


@pytest.mark.parametrize("kind", SOURCES)
def test_each_inner_test_ends_as_its_name_says(suite: Suite, kind: str) -> None:
    result = suite.run(WORLD + SOURCES[kind], "-rA", "--tb=short")
    ended = re.findall(r"^(PASSED|FAILED|XFAIL|XPASS) \S+::test_([a-z]+)", result.stdout.str(), re.MULTILINE)

    assert ended
    assert [] == [(outcome, begins) for outcome, begins in ended if OUTCOMES[outcome] != begins]
    assert "errors" not in result.parseoutcomes()


def test_a_rule_that_must_fire_is_reported_in_addition_to_the_failure_of_the_test(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
def test_own(mockserver):
    mockserver.apply({"script": [RULE]})
    assert "own" == "failure"
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 'own' == 'failure'*", "rules that never fired:", "  rule_1 *"])
    result.stdout.no_fnmatch_line("a rule that must fire never fired:")


def test_the_ini_file_lets_rules_of_a_suite_pass_but_not_one_that_must_fire_or_has_no_effect(suite: Suite) -> None:
    source = """
def test_unfired(mockserver):
    faulty(mockserver)

def test_must_fire(mockserver):
    mockserver.on("startCampaign").nth(1).must_fire().drop("after")

def test_incomplete(mockserver):
    mockserver.on("startCampaign").nth(1)
"""
    result = suite.run(WORLD + source, "-o", "mockserver_must_fire=false", "-rA")

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["PASSED *test_unfired"])


def test_of_a_swept_test_the_run_of_the_default_alone_is_accused(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
@pytest.mark.mockserver_sweep("next-cursor-end")
def test_swept(mockserver, mockserver_sweep_choices):
    faulty(mockserver)
"""
    )

    assert {"test_swept[next-cursor-end=null]"} == set(
        re.findall(r"^_+ (test_\S+) _+$", result.stdout.str(), re.MULTILINE)
    )
