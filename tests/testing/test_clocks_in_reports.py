"""Clocks in the report of a failing test: a client that waits in vain, and two clocks that differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.conftest import PLUGIN, WITHOUT_CACHE, Suite, run_in_process
from tests.testing.test_reports import WORLD, section

# Real time advances by 0.7 s between two calls, and the test does not wait for it.
STOPWATCH = """
    from itertools import count
    from mockserver.server.hosting.runtime import HostRuntime

    @pytest.fixture(autouse=True)
    def stopwatch(monkeypatch):
        ticks = count(0, 700_000)
        monkeypatch.setattr(HostRuntime, "monotonic_us", lambda runtime: next(ticks))

    def poll(mockserver, times, path="/v1/campaigns/{}"):
        campaign = create(mockserver)
        start(mockserver, campaign)
        for _ in range(times):
            status = mockserver.call("GET", path.format(campaign)).json()["status"]
        return status
"""
STOPPED = ("--timeout=0.5", "-o", "timeout_func_only=true", "--timeout-method=signal")
POLLED = "The clock of sandbox_1 did not move: the client sent GET /v1/campaigns/campaign 4 times in 2.1 s (#3 to #6)"
CURE = (
    '  give the client `sleep=mockserver.sleep`, or call mockserver.advance(60): "finish" of execution is due in 60 s'
)


def reported(suite: Suite, test: str, *arguments: str) -> list[str]:
    return section(suite.run(WORLD + STOPWATCH + test, "--tb=short", *arguments))


def test_polling_under_a_frozen_clock_is_the_first_cause_with_its_fix(suite: Suite) -> None:
    found = reported(suite, '    def test_it(mockserver):\n        assert "completed" == poll(mockserver, 4)\n')

    fine = "6 calls were answered with success; the last: #6 readCampaign GET /v1/campaigns/campaign -> 200"
    assert [POLLED, CURE, fine] == found[:3]


def test_the_fix_for_a_coroutine_is_an_awaitable_sleep(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.fixture
    def mockserver(mockserver):
        return mockserver

    async def test_it(mockserver):
        assert "completed" == poll(mockserver, 4)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        import asyncio
        asyncio.run(pyfuncitem.obj(pyfuncitem.funcargs["mockserver"]))
        return True

    @pytest.fixture(scope="session", autouse=True)
    def loop(pytestconfig):
        import sys
        pytestconfig.pluginmanager.register(sys.modules[__name__])
        """,
    )

    assert CURE.replace(".sleep", ".aio.sleep") == found[1]


def test_a_sandbox_of_the_tests_own_is_named_sandbox(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver_server):
        with mockserver_server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z") as own:
            assert "completed" == poll(own, 4)
        """,
    )

    assert CURE.replace("mockserver.", "sandbox.") == found[1]


def test_a_sandbox_of_another_fixture_has_the_name_of_the_fixture(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.fixture
    def status(mockserver):
        return poll(mockserver, 4)

    def test_it(status):
        assert "completed" == status
        """,
    )

    assert CURE == found[1]


def test_a_rate_limit_that_is_waited_out_on_a_frozen_clock_is_one_too(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(choices={"rate-limit-numbers": {"requests": 1, "per": 60}})
    def test_it(mockserver):
        for _ in range(3):
            status = mockserver.call("POST", "/v1/campaigns", json=NEW).status
        assert 201 == status
        """,
    )

    assert [
        "The clock of sandbox_1 did not move: the client sent POST /v1/campaigns 2 times in 700 ms (#2 to #3)",
        "  give the client `sleep=mockserver.sleep`, which advances this clock instead of waiting",
    ] == found[:2]


def test_the_report_of_a_polled_session_names_the_methods_that_act_as_its_user(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        path = "/v1/entrypoints/chatapp/connection-sessions"
        session = mockserver.call("POST", path, json={}).json()["sessionId"]
        for _ in range(3):
            status = mockserver.call("GET", f"{path}/{session}").json()["status"]
        assert "completed" == status
        """,
    )

    assert found[0].startswith("The clock of sandbox_1 did not move: the client sent GET ")
    assert "is still pending: mockserver.complete_session(id) or mockserver.end_user(id) plays its user" in found[2]


@pytest.mark.parametrize(
    "test",
    [
        """
        mockserver.advance("1m")
        campaign = create(mockserver)
        mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.call("GET", "/v1/campaigns")
        assert 0
        """,
        """
        poll(mockserver, 1)
        mockserver.advance("10s")
        mockserver.call("GET", "/v1/campaigns")
        assert 0
        """,
        """
        poll(mockserver, 3)
        mockserver.advance("10s")
        assert 0
        """,
        """
        campaign = create(mockserver)
        for _ in range(3):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        assert 0
        """,
        """
        mockserver.on("readCampaign").times(3).delay("0s")
        poll(mockserver, 3)
        assert 0
        """,
    ],
    ids=["no-call-twice", "moved-between", "moved-after", "nothing-is-due", "delayed-by-a-rule"],
)
def test_a_client_that_does_not_wait_gets_no_hint_about_the_clock(suite: Suite, test: str) -> None:
    found = reported(suite, f"    def test_it(mockserver):{test}")

    assert not found[0].startswith("The clock of sandbox_1 did not move: ")


@pytest.mark.parametrize(
    "times, ends, is_reported",
    [
        (150, "assert 0", False),
        (500, "assert 0", True),
        (150, 'pytest.fail("Timeout (>1.0s) from pytest-timeout.")', True),
    ],
    ids=["half-a-second", "two-seconds", "stopped"],
)
def test_calls_in_close_succession_are_waits_only_if_they_continue_for_long(
    suite: Suite, times: int, ends: str, is_reported: bool
) -> None:
    test = f"    def test_it(mockserver):\n        poll(mockserver, {times})\n        {ends}\n"
    found = section(suite.run(WORLD + STOPWATCH.replace("700_000", "5_000") + test, "--tb=short"))

    assert is_reported == found[0].startswith(
        f"The clock of sandbox_1 did not move: the client sent GET /v1/campaigns/campaign {times} times"
    )


def test_an_execution_that_has_ended_is_not_waited_for(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.advance("2m")
        for _ in range(3):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        assert 0
        """,
    )

    assert not [each for each in found if each.startswith("The clock of sandbox_1 did not move: ")]


class TestATestThatIsStopped:
    WAITS = """
    import threading

    def test_it(mockserver):
        poll(mockserver, 4)
        threading.Event().wait(30)
    """

    def test_a_timeout_by_signal_leaves_the_hint(self, suite: Suite) -> None:
        found = reported(suite, self.WAITS, *STOPPED)

        assert [POLLED, CURE, "Timeout (>0.5s) from pytest-timeout."] == found[:3]

    def test_a_timeout_by_thread_leaves_the_sections_before_the_process_ends(self, suite: Suite) -> None:
        result = suite.run_apart(WORLD + STOPWATCH + self.WAITS, *PLUGIN, *STOPPED, "--timeout-method=thread")

        assert 1 == result.ret
        found = section(result)
        assert [POLLED, CURE] == found[:2]
        assert "what happened:" in found

    @pytest.mark.parametrize("where", ["fixture", "test"])
    def test_ctrl_c_leaves_the_sections_in_the_summary(self, suite: Suite, where: str) -> None:
        test = """
    def test_it(mockserver):
        poll(mockserver, 4)
        raise KeyboardInterrupt
        """
        fixture = """
    @pytest.fixture
    def polled(mockserver):
        poll(mockserver, 4)
        raise KeyboardInterrupt

    def test_it(polled):
        pass
        """
        suite.pytester.makepyfile(test_mine=WORLD + STOPWATCH + (test if where == "test" else fixture))
        result = run_in_process(suite.pytester, *WITHOUT_CACHE, "--tb=short", no_reraise_ctrlc=True)

        assert 2 == result.ret
        found = section(result)
        assert [POLLED, CURE] == found[:2]
        assert "what happened:" in found

    def test_a_wait_after_the_last_call_is_one_too(self, suite: Suite) -> None:
        found = reported(
            suite,
            """
    import threading

    def test_it(mockserver):
        start(mockserver, create(mockserver))
        threading.Event().wait(30)
            """,
            *STOPPED,
        )

        assert [
            "The clock of sandbox_1 did not move: the test was stopped 700 ms after its last call, POST /v1/campaigns/campaign/start (#2)",
            CURE,
        ] == found[:2]

    @pytest.mark.parametrize("words", ["Timeout >1.0s", "Timeout (>1.0s) from pytest-timeout."])
    def test_every_version_of_pytest_timeout_is_known(self, suite: Suite, words: str) -> None:
        found = reported(
            suite, f"    def test_it(mockserver):\n        poll(mockserver, 1)\n        pytest.fail({words!r})\n"
        )

        assert found[0].startswith(
            "The clock of sandbox_1 did not move: the test was stopped 700 ms after its last call, GET "
        )

    def test_a_wait_for_a_call_delayed_by_a_rule_is_not_reported(self, suite: Suite) -> None:
        found = reported(
            suite,
            """
    import requests
    import threading

    def test_it(mockserver):
        start(mockserver, create(mockserver))
        mockserver.on("listCampaigns").delay("1h")
        url, key = f"{mockserver.base_url}/v1/campaigns", mockserver.secret_key

        def call():
            try:
                requests.get(url, headers={"X-API-Key": key})
            except requests.RequestException:
                pass

        threading.Thread(target=call).start()
        while "call" not in {step["command"] for step in mockserver.log.steps}:
            pass
        pytest.fail("Timeout (>0.5s) from pytest-timeout.")
            """,
        )

        assert "Timeout (>0.5s) from pytest-timeout." == found[0]


FROZEN = {
    "freezegun": ("freezegun", 'freezegun.freeze_time("2020-01-01T00:00:00Z")'),
    "time-machine": ("time_machine", 'time_machine.travel("2020-01-01T00:00:00Z", tick=False)'),
}


class TestTwoClocks:
    @pytest.mark.parametrize("module, decorator", FROZEN.values(), ids=FROZEN)
    def test_a_decorator_that_freezes_only_the_process_is_reported(
        self, suite: Suite, module: str, decorator: str
    ) -> None:
        test = f"    import {module}\n\n    @{decorator}\n    def test_it(mockserver):\n        create(mockserver)\n        assert 0\n"
        found = section(suite.run(WORLD + test, "--tb=short"))

        [line] = [each for each in found if each.startswith("two clocks: ")]
        assert line == (
            "two clocks: the process is at 2020-01-01T00:00:00.000Z, this sandbox at 2026-03-01T12:00:00.000Z (at call #1); @pytest.mark.mockserver(now='2020-01-01T00:00:00.000Z') "
            "gives both one instant, or a fixture that freezes before this one"
        )

    @pytest.mark.parametrize("module, decorator", FROZEN.values(), ids=FROZEN)
    def test_a_sandbox_that_follows_has_the_time_of_a_decorator_that_freezes_the_process(
        self, suite: Suite, module: str, decorator: str
    ) -> None:
        world = WORLD.replace(', now="2026-03-01T12:00:00Z"', "")
        mark = '    @pytest.mark.mockserver(now=None, clock="follow")\n'
        test = f"    import {module}\n\n{mark}    @{decorator}\n    def test_it(mockserver):\n        create(mockserver)\n        assert 2026 == mockserver.now.year\n"
        result = suite.run(world + test, "--tb=short")
        found = section(result)

        assert "E   assert 2026 == 2020" in result.outlines
        assert [] == [each for each in found if each.startswith("two clocks: ")]

    def test_the_hint_for_a_moved_sandbox_names_the_remaining_causes(self, suite: Suite) -> None:
        found = reported(
            suite,
            """
    import freezegun

    @pytest.fixture
    def frozen():
        with freezegun.freeze_time("2026-03-01T12:00:00Z"):
            yield

    def test_it(frozen, mockserver):
        mockserver.advance("1h")
        create(mockserver)
        assert 0
            """,
        )

        assert (
            "two clocks: the process is at 2026-03-01T12:00:00.000Z, this sandbox at 2026-03-01T13:00:00.000Z (at call #1); "
            "a command that advances this sandbox's clock does not advance the process's"
        ) in found

    def test_a_sandbox_that_follows_from_the_past_is_reported(self, suite: Suite) -> None:
        found = reported(
            suite,
            """
    def test_it(mockserver):
        mockserver.clock.follow()
        create(mockserver)
        assert 0
            """,
        )

        [line] = [each for each in found if each.startswith("two clocks: ")]
        assert re.fullmatch(
            r"two clocks: the process is at \\S+Z, this sandbox at 2026-03-01T12:00:0\\S+Z; "
            r"mockserver.follow\\(catch_up=True\\) advances to the process's instant".replace("\\\\", "\\"),
            line,
        )

    @pytest.mark.parametrize("module, decorator", FROZEN.values(), ids=FROZEN)
    def test_one_instant_for_both_is_not(self, suite: Suite, module: str, decorator: str) -> None:
        found = section(
            suite.run(
                WORLD.replace("2026-03-01T12:00:00Z", "2020-01-01T00:00:00Z")
                + f"    import {module}\n\n    @{decorator}\n    def test_it(mockserver):\n        create(mockserver)\n        assert 0\n",
                "--tb=short",
            )
        )

        assert not [each for each in found if each.startswith("two clocks: ")]


def test_real_time_continues_while_freezegun_stops_the_process(suite: Suite) -> None:
    suite.run(
        """
    import freezegun
    from mockserver.server.hosting.runtime import HostRuntime

    def test_it():
        with freezegun.freeze_time("2020-01-01"):
            first = HostRuntime().monotonic_us()
            while HostRuntime().monotonic_us() == first:
                pass
        """
    ).assert_outcomes(passed=1)


def test_documents_are_left_by_a_test_that_was_stopped(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_mine=WORLD + "    def test_it(mockserver):\n        create(mockserver)\n        raise KeyboardInterrupt\n"
    )
    run_in_process(suite.pytester, *WITHOUT_CACHE, no_reraise_ctrlc=True)

    assert (Path(suite.pytester.path) / ".mockserver/failures/test_mine.py.test_it.yaml").exists()
