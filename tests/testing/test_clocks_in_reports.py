"""Waits for a clock that does not move, and clocks that differ: when a report has them. `tests/reports` has the words."""

from __future__ import annotations

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
WAITED = "the clock did not move: "


def reported(suite: Suite, test: str, *arguments: str) -> list[str]:
    return section(suite.run(WORLD + STOPWATCH + test, "--tb=short", *arguments))


def is_waiting(found: list[str]) -> bool:
    return any(line.startswith(WAITED) for line in found[:2])  # below the words of a test that was stopped


def test_a_client_that_does_not_wait_gets_no_hint_about_the_clock(suite: Suite) -> None:
    test = """
    def test_no_call_twice(mockserver):
        mockserver.advance("1m")
        campaign = create(mockserver)
        mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.call("GET", "/v1/campaigns")
        assert 0

    def test_moved_between(mockserver):
        poll(mockserver, 1)
        mockserver.advance("10s")
        mockserver.call("GET", "/v1/campaigns")
        assert 0

    def test_moved_after(mockserver):
        poll(mockserver, 3)
        mockserver.advance("10s")
        assert 0

    def test_nothing_is_due(mockserver):
        campaign = create(mockserver)
        for _ in range(3):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        assert 0

    def test_delayed_by_a_rule(mockserver):
        mockserver.on("readCampaign").times(3).delay("0s")
        poll(mockserver, 3)
        assert 0

    def test_has_ended(mockserver):
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.advance("2m")
        for _ in range(3):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        assert 0
"""
    result = suite.run(WORLD + STOPWATCH + test, "--tb=short")

    result.assert_outcomes(failed=6)
    assert [] == [line for line in result.outlines if line.startswith(WAITED)]


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

    assert is_reported == is_waiting(found)


class TestATestThatIsStopped:
    WAITS = """
    import threading

    def test_it(mockserver):
        poll(mockserver, 4)
        threading.Event().wait(30)
    """

    def test_a_timeout_by_signal_leaves_the_hint(self, suite: Suite) -> None:
        assert is_waiting(reported(suite, self.WAITS, *STOPPED))

    def test_a_timeout_by_thread_leaves_the_sections_before_the_process_ends(self, suite: Suite) -> None:
        result = suite.run_apart(WORLD + STOPWATCH + self.WAITS, *PLUGIN, *STOPPED, "--timeout-method=thread")

        assert 1 == result.ret
        found = section(result)
        assert is_waiting(found)
        assert "what happened:" in found

    @pytest.mark.parametrize("where", ["fixture", "test"])
    def test_ctrl_c_leaves_the_sections_and_the_document(self, suite: Suite, where: str) -> None:
        body = f"""
    {"@pytest.fixture" if where == "fixture" else ""}
    def {"polled" if where == "fixture" else "test_it"}(mockserver):
        poll(mockserver, 4)
        raise KeyboardInterrupt
"""
        user = "\n    def test_it(polled):\n        pass\n" if where == "fixture" else ""
        suite.pytester.makepyfile(test_mine=WORLD + STOPWATCH + body + user)
        result = run_in_process(suite.pytester, *WITHOUT_CACHE, "--tb=short", no_reraise_ctrlc=True)

        assert 2 == result.ret
        found = section(result)
        assert is_waiting(found)
        assert "what happened:" in found
        assert suite.file(".mockserver/failures/test_mine.py.test_it.yaml").exists()


FROZEN = {
    "freezegun": ("freezegun", 'freezegun.freeze_time("2020-01-01T00:00:00Z")'),
    "time-machine": ("time_machine", 'time_machine.travel("2020-01-01T00:00:00Z", tick=False)'),
}


class TestTwoClocks:
    @pytest.mark.parametrize("module, decorator", FROZEN.values(), ids=FROZEN)
    @pytest.mark.parametrize(("year", "is_reported"), [(2026, True), (2020, False)])
    def test_a_decorator_that_freezes_only_the_process_is_reported(
        self, suite: Suite, module: str, decorator: str, year: int, is_reported: bool
    ) -> None:
        world = WORLD.replace("2026-03-01T12:00:00Z", f"{year}-01-01T00:00:00Z")
        test = f"    import {module}\n\n    @{decorator}\n    def test_it(mockserver):\n        create(mockserver)\n        assert 0\n"
        found = section(suite.run(world + test, "--tb=short"))

        assert is_reported == any(each.startswith("two clocks: ") for each in found)

    @pytest.mark.parametrize("module, decorator", FROZEN.values(), ids=FROZEN)
    def test_a_sandbox_that_follows_has_the_time_of_a_decorator_that_freezes_the_process(
        self, suite: Suite, module: str, decorator: str
    ) -> None:
        world = WORLD.replace(', now="2026-03-01T12:00:00Z"', "")
        mark = '    @pytest.mark.mockserver(now=None, clock="follow")\n'
        test = f"    import {module}\n\n{mark}    @{decorator}\n    def test_it(mockserver):\n        create(mockserver)\n        assert 2026 == mockserver.now.year\n"
        result = suite.run(world + test, "--tb=short")

        assert "E   assert 2026 == 2020" in result.outlines
        assert not any(each.startswith("two clocks: ") for each in section(result))

    @pytest.mark.parametrize(
        ("moves", "cause"),
        [
            ("advance('1h')", "a command that advances this sandbox's clock does not advance the process's"),
            ("clock.follow()", "mockserver.follow(catch_up=True)"),
        ],
    )
    def test_a_sandbox_that_the_test_has_moved_away_is_reported_with_the_cause(
        self, suite: Suite, moves: str, cause: str
    ) -> None:
        frozen = 'with freezegun.freeze_time("2026-03-01T12:00:00Z"):' if "advance" in moves else "if True:"
        found = reported(
            suite,
            f"""
    import freezegun

    @pytest.fixture
    def frozen():
        {frozen}
            yield

    def test_it(frozen, mockserver):
        mockserver.{moves}
        create(mockserver)
        assert 0
            """,
        )

        assert any(line.startswith("two clocks: ") for line in found)
        assert any(cause in line for line in found)
