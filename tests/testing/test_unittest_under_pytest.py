"""`SandboxTestCase` under pytest: its failures leave what those of the fixture leave, and its rules and loops are judged alike."""

from __future__ import annotations

from tests.testing.conftest import Suite

CASE = """
import unittest
from mockserver import SandboxTestCase

class TestListing(SandboxTestCase):
    mockserver_settings = {"now": "2026-03-01T12:00:00Z"}

    def setUp(self):
        super().setUp()
        self.mockserver.on("startCampaign").nth(1).garble()
"""


def test_a_failure_has_a_replay_document_and_a_trace_and_its_report_once(suite: Suite) -> None:
    result = suite.run(
        CASE
        + """
    def test_it(self):
        self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns/none").status)
""",
    )

    result.assert_outcomes(failed=1)
    name = "test_mine.py.TestListing.test_it"
    result.stdout.fnmatch_lines(
        [
            f"to repeat its calls, without the client: mockserver replay-calls .mockserver/failures/{name}.yaml",
            f"to see it step by step: .mockserver/failures/{name}.html",
        ]
    )
    assert suite.file(f".mockserver/failures/{name}.yaml").is_file()
    assert suite.file(f".mockserver/failures/{name}.html").is_file()
    assert 1 == result.stdout.str().count("what happened:")


def test_the_rules_of_the_method_must_fire_and_those_of_set_up_and_of_tests_that_end_otherwise_need_not(
    suite: Suite,
) -> None:
    result = suite.run(
        CASE
        + """
    def unfired(self):
        self.mockserver.on("listCampaigns").nth(1).garble()

    def test_passes(self):
        self.mockserver.on("listCampaigns").nth(1).error("INTERNAL_ERROR")
        self.mockserver.call("GET", "/v1/campaigns")

    def test_unfired(self):
        self.unfired()

    def test_fails(self):
        self.unfired()
        self.fail("of its own")

    def test_is_skipped(self):
        self.unfired()
        self.skipTest("of its own")

    @unittest.expectedFailure
    def test_may_fail(self):
        self.unfired()
        self.fail("of its own")

    def test_subtest_fails(self):
        self.unfired()
        with self.subTest("one"):
            self.fail("of its own")

    def test_subtest_passes(self):
        with self.subTest("one"):
            self.unfired()

class TestCoroutines(SandboxTestCase, unittest.IsolatedAsyncioTestCase):
    async def test_unfired(self):
        self.mockserver.on("listCampaigns").nth(1).garble()

class TestTheOtherOrder(unittest.IsolatedAsyncioTestCase, SandboxTestCase):
    async def test_passes(self):
        self.mockserver.on("listCampaigns").nth(1).garble()
""",
        "-rA",
    )

    lines = result.stdout.str().splitlines()
    accused = [line.partition(" - ")[0] for line in lines if line.startswith("FAILED") and " - Failed: a rule" in line]
    assert ["TestListing::test_subtest_passes", "TestListing::test_unfired", "TestCoroutines::test_unfired"] == [
        each.partition("::")[2] for each in accused
    ]
    passed = {line.partition("::")[2] for line in lines if line.startswith("PASSED")}
    assert {"TestListing::test_passes", "TestTheOtherOrder::test_passes"} <= passed


def test_the_mode_error_fails_a_case_whose_client_ignores_advice(suite: Suite) -> None:
    result = suite.run(
        CASE
        + """
    def test_it(self):
        self.mockserver.call("GET", "/v1/campaigns?key=" + self.mockserver.secret_key)
""",
        "-o",
        "mockserver_conduct=error",
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*key-in-wrong-place*"])
