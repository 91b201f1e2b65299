"""The report of a failing test in suites without the plugin: `Sandbox.report`, `MockServer(report=True)`, `SandboxTestCase`, `mockserver report`."""

from __future__ import annotations

import json
import re
import traceback
import unittest

import pytest

from mockserver import MockServer, Sandbox, SandboxTestCase
from mockserver.cli import main
from mockserver.testing.remote import RemoteServer

REFUSED = "GET /v1/campaigns/none -> 404 CAMPAIGN_NOT_FOUND"


class TestOfASandbox:
    def test_with_an_exception_it_is_the_report_of_pytest(self, mockserver: Sandbox) -> None:
        try:
            mockserver.calls("startCampaign").one()
        except AssertionError as failure:
            report = mockserver.report(failure)

        assert re.fullmatch(
            r"expected exactly 1 call of startCampaign, got 0 \(tests/testing/\w+\.py:\d+\)", report.splitlines()[0]
        )

    def test_it_is_the_same_for_a_sandbox_on_a_server(self, running: MockServer) -> None:
        with RemoteServer(running.url).sandbox(now="2026-03-01T12:00:00Z") as sandbox:
            sandbox.call("GET", "/v1/campaigns/none")
            open_report = sandbox.report()

        assert open_report == sandbox.report()
        assert REFUSED in open_report


class TestOfAServer:
    def test_an_exception_that_passes_through_it_has_the_report_as_a_note(self) -> None:
        with pytest.raises(AssertionError) as raised, MockServer(report=True) as server, server.sandbox() as sandbox:
            sandbox.call("GET", "/v1/campaigns/none")
            raise AssertionError

        (note,) = raised.value.__notes__
        assert "mockserver:" == note.splitlines()[0]
        assert re.search("#1 readCampaign .*404 CAMPAIGN_NOT_FOUND", note)
        assert note in "".join(traceback.format_exception(raised.value))

    def test_without_report_or_without_an_exception_nothing_is_added(self) -> None:
        with pytest.raises(AssertionError) as raised, MockServer() as server, server.sandbox() as sandbox:
            sandbox.call("GET", "/v1/campaigns/none")
            raise AssertionError
        with MockServer(report=True) as server:
            server.sandbox()

        assert not hasattr(raised.value, "__notes__")

    def test_sandboxes_on_a_running_server_are_reported_too(self, running: MockServer) -> None:
        with pytest.raises(AssertionError) as raised, RemoteServer(running.url, report=True) as server:
            server.sandbox().call("GET", "/v1/campaigns/none")
            raise AssertionError

        assert re.search("#1 readCampaign .*404 CAMPAIGN_NOT_FOUND", raised.value.__notes__[0])


class TestOfUnittest:
    def failures(self, case: type[unittest.TestCase]) -> list[str]:
        """What unittest prints of each failure and error of a case."""
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert not hasattr(result, "mockserver")
        return [text for _, text in [*result.failures, *result.errors]]

    def test_each_test_has_a_sandbox_of_its_own_from_the_settings_of_its_class(self) -> None:
        seen = []

        class Case(SandboxTestCase):
            mockserver_settings = {"now": "2026-03-01T12:00:00Z"}  # noqa: RUF012

            def test_one(self) -> None:
                seen.append((self.mockserver, self.mockserver.call("GET", "/v1/campaigns").status))

            test_two = test_one

        assert [] == self.failures(Case)
        assert [200, 200] == [status for _, status in seen]
        assert ["2026-03-01", "2026-03-01"] == [str(sandbox.now.date()) for sandbox, _ in seen]
        assert seen[0][0] is not seen[1][0]

    def test_a_failure_has_the_report(self) -> None:
        class Case(SandboxTestCase):
            def test_one(self) -> None:
                self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns/none").status)

        (text,) = self.failures(Case)

        assert "200 != 404" in text
        assert re.search("#1 readCampaign .*404 CAMPAIGN_NOT_FOUND", text)

    def test_a_failing_subtest_set_up_and_coroutine_have_it(self) -> None:
        class OfSubtests(SandboxTestCase):
            def test_one(self) -> None:
                with self.subTest("fails"):
                    self.fail(self.mockserver.call("GET", "/v1/campaigns/none").status)
                with self.subTest("passes"):
                    pass

        class OfSetUp(SandboxTestCase):
            def setUp(self) -> None:
                super().setUp()
                raise KeyError(self.mockserver.call("GET", "/v1/campaigns/none").status)

            def test_one(self) -> None:
                pass

        class OfCoroutines(SandboxTestCase, unittest.IsolatedAsyncioTestCase):
            async def test_one(self) -> None:
                self.assertEqual(200, (await self.mockserver.aio.call("GET", "/v1/campaigns/none")).status)

        for case in (OfSubtests, OfSetUp, OfCoroutines):
            (text,) = self.failures(case)
            assert re.search("#1 readCampaign .*404 CAMPAIGN_NOT_FOUND", text)


class TestOfTheCommandLine:
    def test_it_prints_the_report_of_a_sandbox(self, running: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
        with running.sandbox() as sandbox:
            sandbox.call("GET", "/v1/campaigns/none")

            assert 0 == main(["report", sandbox.base_url])
            first, _, call, *_ = capsys.readouterr().out.splitlines()
            assert "1 problem in 1 call; at #1" == first
            assert REFUSED in call

            assert 0 == main(["report", sandbox.base_url + "/", "--failure", "no campaign"])
            assert "the test failed: no campaign" == capsys.readouterr().out.splitlines()[0]

            assert 0 == main(["report", sandbox.base_url, "--json"])
            assert "readCampaign" == json.loads(capsys.readouterr().out)["call"]["operation"]

    def test_an_address_without_a_mockserver_is_an_error_of_one_line(
        self, running: MockServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert 2 == main(["report", f"{running.url}/sandboxes/none"])
        assert (
            "got 4 characters that are no id of a sandbox; expected one that GET /_mock/sandboxes lists"
            in capsys.readouterr().err
        )

    @pytest.mark.parametrize(
        ("command", "url"),
        [("report", "http://127.0.0.1:1"), ("report", "nonsense"), ("coverage report", "http://127.0.0.1:1")],
    )
    def test_an_address_that_does_not_respond_is_an_error_of_one_line(
        self, command: str, url: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert 2 == main([*command.split(), url])

        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"mockserver: got {url}, which does not respond (")
        assert "expected the base url of a sandbox of a running server" in line
