"""The pytest plugin, in suites of its own: the sandbox of a test, how a mark changes it, and the message of a misspelt one."""

from __future__ import annotations

import pytest

from tests.testing.conftest import PLUGIN, Suite

CREATE = 'mockserver.call("POST", "/v1/campaigns", json={"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1})'
TEMPLATE = (
    'given = {"templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}]}'
)


def test_each_test_has_a_sandbox_of_its_own(suite: Suite) -> None:
    result = suite.run(
        f"""
        import pytest

        {TEMPLATE}
        ids = []

        @pytest.mark.mockserver(given=given)
        @pytest.mark.parametrize("time", [1, 2])
        def test_a_name_is_free(mockserver, time):
            assert {{"campaigns": []}} == mockserver.call("GET", "/v1/campaigns").json()
            assert 201 == {CREATE}.status
            ids.append(mockserver.id)
            assert len(ids) == len(set(ids))
        """
    )

    result.assert_outcomes(passed=2)


def test_a_bare_sandbox_is_empty_and_frozen_at_the_present(suite: Suite) -> None:
    result = suite.run(
        """
        from datetime import UTC, datetime, timedelta

        def test_it(mockserver):
            assert abs(datetime.now(UTC) - mockserver.now) < timedelta(seconds=30)
            assert True is mockserver.state()["clock"]["frozen"]
            before = mockserver.now
            mockserver.call("GET", "/v1/campaigns")
            assert before == mockserver.now
            mockserver.advance("20m")
            assert before + timedelta(minutes=20) == mockserver.now
            assert [] == mockserver.call("GET", "/v1/message-templates").json()["templates"]
        """
    )

    result.assert_outcomes(passed=1)


def test_a_mark_configures_the_sandbox(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z", seed=7, choices={"success-status": "all-200"})
        def test_it(mockserver):
            assert "2026-03-01T12:00:00+00:00" == mockserver.now.isoformat()
            assert 200 == mockserver.call("GET", "/v1/message-templates/template_revisao_semestral").status
            filters = {"name": "A", "platform": "chatapp", "templateId": "template_revisao_semestral", "cadence": 1}
            assert 200 == mockserver.call("POST", "/v1/campaigns", json=filters).status

        @pytest.mark.mockserver(clock="follow")
        def test_that(mockserver):
            assert False is mockserver.state()["clock"]["frozen"]

        @pytest.mark.mockserver(given={"forms": [{"id": "f", "active": True, "iframeEmbedAllowedOrigins": []}]})
        def test_seeds(mockserver):
            assert 200 == mockserver.call("GET", "/v1/forms/f/embed-frame-policy").status

        @pytest.mark.parametrize("seed, same", [(7, True), (8, False)])
        def test_a_seed_decides_the_keys(mockserver_server, seed, same):
            with mockserver_server.sandbox(seed=7) as one, mockserver_server.sandbox(seed=seed) as other:
                assert same == (one.secret_key == other.secret_key)
        """
    )

    result.assert_outcomes(passed=5)


def test_the_closest_mark_has_the_last_word(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        pytestmark = pytest.mark.mockserver(now="2026-01-01T00:00:00Z", scenario="demo")

        def templates(mockserver):
            return len(mockserver.call("GET", "/v1/message-templates").json()["templates"])

        def test_of_the_module(mockserver):
            assert 1 == mockserver.now.month
            assert templates(mockserver) > 0

        @pytest.mark.mockserver(now="2026-02-01T00:00:00Z")
        class TestGroup:
            def test_of_the_class(self, mockserver):
                assert 2 == mockserver.now.month
                assert templates(mockserver) > 0

            @pytest.mark.mockserver(now="2026-03-01T00:00:00Z", scenario=None)
            def test_of_its_own(self, mockserver):
                assert 3 == mockserver.now.month
                assert 0 == templates(mockserver)
        """
    )

    result.assert_outcomes(passed=3)


def test_a_wrong_mark_of_a_class_fails_each_of_its_tests_and_no_other(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver(sede=7)
        class TestGroup:
            def test_one(self, mockserver):
                pass

            @pytest.mark.mockserver(now="2026-01-01T00:00:00Z", clock="follow")
            def test_two(self, mockserver):
                pass

        @pytest.mark.mockserver(sede=7)
        @pytest.mark.mockserver_sweep("dual-status")
        def test_swept(mockserver):
            pass

        def test_other(mockserver):
            pass
        """
    )

    assert 1 == result.parseoutcomes()["passed"]
    assert "failed" not in result.parseoutcomes()
    assert pytest.ExitCode.TESTS_FAILED == result.ret


@pytest.mark.parametrize("scope", ["class", "module", "session"])
@pytest.mark.parametrize("late", [False, True], ids=["by argument", "while the test runs"])
def test_a_fixture_of_a_wider_scope_gets_the_way_to_a_sandbox_of_its_own(suite: Suite, scope: str, late: bool) -> None:
    wants, body = ("request", 'request.getfixturevalue("wide")') if late else ("wide", "pass")
    result = suite.run(
        f"""
        import pytest

        @pytest.fixture(scope="{scope}")
        def wide(mockserver):
            return mockserver

        def test_it({wants}):
            {body}
        """
    )

    assert 0 == result.parseoutcomes().get("passed", 0)
    result.stdout.fnmatch_lines(
        [
            "ScopeMismatch: You tried to access the function scoped fixture mockserver with a * scoped request object*",
            "mockserver is the sandbox of one test; for a wider scope: `with mockserver_server.sandbox() as sandbox: *",
        ]
    )


def test_a_call_after_its_test_reaches_a_closed_sandbox(suite: Suite) -> None:
    result = suite.run(
        """
        import urllib.error
        import urllib.request

        import pytest

        kept = []

        def test_first(mockserver):
            kept.append(mockserver.base_url)

        def test_second(mockserver):
            assert kept[0] != mockserver.base_url
            with pytest.raises(urllib.error.HTTPError) as refusal:
                urllib.request.urlopen(kept[0] + "/v1/campaigns")
            with refusal.value as answer:
                assert 410 == answer.code
            assert [] == mockserver.log.journal["exchanges"]
        """
    )

    result.assert_outcomes(passed=2)


def test_pytest_lists_the_fixtures_and_the_mark(suite: Suite) -> None:
    fixtures = suite.run("", "--fixtures")
    marks = suite.run("", "--markers")

    fixtures.stdout.fnmatch_lines(["mockserver_server*session scope*", "mockserver -- *"])
    assert "no docstring" not in "".join(line for line in fixtures.outlines if "mockserver" in line)
    marks.stdout.fnmatch_lines(["@pytest.mark.mockserver(*scenario*choices*now*clock*seed*given*"])


def test_a_test_that_passes_loads_no_report_no_rule_of_conduct_and_no_command(suite: Suite) -> None:
    result = suite.run_apart(
        """
        import sys

        def test_it(mockserver):
            assert 200 == mockserver.call("GET", "/v1/campaigns").status

        def test_after_it():
            late = ("mockserver.report.run.check", "mockserver.judge.client.judge", "mockserver.server.control.routes")
            assert set() == set(late) & set(sys.modules)
        """,
        *PLUGIN,
    )

    result.assert_outcomes(passed=2)
