"""The pytest plugin next to others: xdist, Hypothesis, unittest, freezegun, time-machine, and an installed copy of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.testing.conftest import PLUGIN, Suite

ROOT = Path(__file__).resolve().parents[2]
CREATE = 'mockserver.call("POST", "/v1/campaigns", json={"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1})'
TEMPLATE = (
    'given = {"templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}]}'
)


@pytest.mark.deep
def test_workers_share_nothing(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = suite.run_apart(
        f"""
        import os
        import urllib.request

        import pytest

        {TEMPLATE}

        @pytest.mark.mockserver(given=given)
        @pytest.mark.parametrize("time", range(6))
        def test_it(mockserver, time):
            assert os.environ["PYTEST_XDIST_WORKER"]
            assert 201 == {CREATE}.status
            request = urllib.request.Request(mockserver.base_url + "/v1/campaigns", headers={{"X-API-Key": mockserver.secret_key}})
            with urllib.request.urlopen(request) as answer:
                assert 200 == answer.status
        """,
        *("-p", "xdist", "-n", "2", *PLUGIN),
    )

    result.assert_outcomes(passed=6)


def test_a_unittest_case_takes_it_through_a_fixture(suite: Suite) -> None:
    result = suite.run(
        """
        import unittest

        import pytest

        @pytest.mark.mockserver(scenario="demo")
        class TestListing(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _given_a_mock(self, mockserver):
                self.mock = mockserver

            def test_the_class_mark_holds(self):
                self.assertTrue(self.mock.call("GET", "/v1/message-templates").json()["templates"])

            @pytest.mark.mockserver(scenario=None)
            def test_the_closest_mark_wins(self):
                self.assertEqual([], self.mock.call("GET", "/v1/message-templates").json()["templates"])
        """
    )

    result.assert_outcomes(passed=2)


@pytest.mark.deep
def test_installed_it_needs_no_naming(
    suite: Suite, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    (site / "mock.dist-info").mkdir()
    (site / "mock.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mock-under-test\nVersion: 1\n", encoding="utf-8"
    )
    (site / "mock.dist-info" / "entry_points.txt").write_text(
        "[pytest11]\nmockserver.pytest_plugin = mockserver.pytest_plugin\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(site)]))

    result = suite.run_apart("def test_it(mockserver):\n    pass\n")

    result.assert_outcomes(passed=1)


def test_under_time_machine_the_sandbox_follows(suite: Suite) -> None:
    result = suite.run(
        """
        from datetime import timedelta

        import pytest

        @pytest.mark.time_machine("2027-05-01T08:00:00Z", tick=False)
        def test_it(mockserver, time_machine):
            assert "2027-05-01T08:00:00+00:00" == mockserver.now.isoformat()
            time_machine.shift(timedelta(minutes=20))
            mockserver.call("GET", "/v1/campaigns")
            assert "2027-05-01T08:20:00+00:00" == mockserver.now.isoformat()
        """,
        *("-p", "time_machine"),
    )

    result.assert_outcomes(passed=1)


def test_under_freezegun_the_sandbox_follows(suite: Suite) -> None:
    result = suite.run(
        """
        from freezegun import freeze_time

        def test_it(mockserver_server):
            with freeze_time("2027-05-01T08:00:00Z") as clock, mockserver_server.sandbox() as sandbox:
                assert "2027-05-01T08:00:00+00:00" == sandbox.now.isoformat()
                clock.tick(1200)
                sandbox.call("GET", "/v1/campaigns")
                assert "2027-05-01T08:20:00+00:00" == sandbox.now.isoformat()
        """
    )

    result.assert_outcomes(passed=1)


def test_a_freeze_inside_the_test_does_not_move_a_frozen_clock(suite: Suite) -> None:
    result = suite.run(
        """
        from freezegun import freeze_time

        def test_it(mockserver):
            before = mockserver.now
            with freeze_time("2027-05-01T08:00:00Z"):
                mockserver.call("GET", "/v1/campaigns")
                assert before == mockserver.now
        """
    )

    result.assert_outcomes(passed=1)
