"""The mark `mockserver_interleave`: a test that returns clients."""

from __future__ import annotations

import pytest

from tests.testing.conftest import Suite

CLIENTS = """
    import pytest

    GIVEN = {"templates": [{"id": "template_t"}], "chats": {"count": 2}}

    def promote(name):
        def work(sandbox):
            if not sandbox.call("GET", "/v1/campaigns").json()["campaigns"]:
                body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 60}
                sandbox.call("POST", "/v1/campaigns", json=body)
        return work
"""


def test_a_race_fails_the_test_with_its_report(suite: Suite) -> None:
    result = suite.run(
        CLIENTS
        + """
    @pytest.mark.mockserver(given=GIVEN)
    @pytest.mark.mockserver_interleave(bound=1)
    def test_two_workers():
        return {"worker": promote("One"), "cron": promote("Two")}
    """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*duplicate: the ledger has 2 campaigns, and no serial run more than 1, at 2 orders*"])
    result.stdout.fnmatch_lines(['*> @pytest.mark.mockserver_interleave(..., schedule="worker[*]2 cron")*'])
    result.stdout.no_fnmatch_line("*what happened:*")  # the last of its runs is not the one that the report is about


@pytest.mark.parametrize(
    "run",
    [
        'mockserver_server.interleave(clients={"worker": promote("One"), "cron": promote("Two")}, settings={"given": GIVEN})',
        'mockserver_server.explore(promote("One"), settings={"given": GIVEN})',
    ],
)
def test_a_failure_about_the_report_of_runs_shows_none_of_their_sandboxes(suite: Suite, run: str) -> None:
    result = suite.run(
        CLIENTS
        + f"""
    def test_runs(mockserver_server):
        report = {run}
        assert not report.runs, report.text()
    """
    )

    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*what happened:*")


def test_a_terminal_shows_how_far_an_interleaving_is(suite: Suite) -> None:
    suite.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(trylast=True)
        def pytest_configure(config):
            config.pluginmanager.get_plugin("terminalreporter").isatty = lambda: True
        """
    )
    result = suite.run(
        CLIENTS
        + """
    @pytest.mark.mockserver(given=GIVEN)
    @pytest.mark.mockserver_interleave(bound=1)
    def test_two_workers():
        return {"worker": promote("One"), "cron": promote("One")}
    """
    )

    assert "2 runs, 0 findings" in str(result.stdout)


@pytest.mark.deep
def test_careful_clients_pass_and_a_schedule_is_an_argument(suite: Suite) -> None:
    result = suite.run(
        CLIENTS
        + """
    @pytest.mark.mockserver(given=GIVEN)
    @pytest.mark.mockserver_interleave(bound=1)
    def test_one_name():
        return {"worker": promote("One"), "cron": promote("One")}

    @pytest.mark.mockserver(given=GIVEN)
    @pytest.mark.mockserver_interleave(schedule="worker*3 cron")
    def test_serially():
        return {"worker": promote("One"), "cron": promote("Two")}
    """
    )

    result.assert_outcomes(passed=2)


def test_a_wrong_mark_or_test_fails_by_name(suite: Suite) -> None:
    result = suite.run(
        CLIENTS
        + """
    @pytest.mark.mockserver_interleave(bund=1)
    def test_argument():
        return {"worker": promote("One"), "cron": promote("One")}

    @pytest.mark.mockserver_interleave(2)
    def test_positional():
        return {"worker": promote("One"), "cron": promote("One")}

    @pytest.mark.mockserver_interleave
    def test_nothing_returned():
        pass

    @pytest.mark.mockserver_interleave
    def test_no_call():
        return {"worker": lambda sandbox: None, "cron": lambda sandbox: None}
    """
    )

    result.assert_outcomes(failed=4)
    result.stdout.no_fnmatch_line("*another exception occurred*")
    result.stdout.fnmatch_lines(["nothing is compared: worker made no call in any serial run; call with the sandbox*"])
    result.stdout.fnmatch_lines(["*@pytest.mark.mockserver_interleave: got 'bund'; expected *did you mean 'bound'*"])
    result.stdout.fnmatch_lines(["*@pytest.mark.mockserver_interleave: got (2,); expected keyword arguments only*"])
    result.stdout.fnmatch_lines(["*got a test that returns NoneType; expected clients: functions by name*"])
