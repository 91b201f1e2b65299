"""A sandbox has one clock, whose time only moves forward: frozen, advanced, reset and restored."""

import inspect
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.server.control_calls import NOON, begin, is_frozen

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def test_a_sandbox_is_frozen_at_the_process_s_present_instant(mockserver_server: MockServer) -> None:
    before = datetime.now(UTC)
    with mockserver_server.sandbox() as sandbox:
        seen = [sandbox.now for _ in range(100)]
        after = datetime.now(UTC)

        assert is_frozen(sandbox)
        assert before - SECOND <= seen[0] <= after
        assert {seen[0]} == set(seen)


@pytest.mark.parametrize(
    "now",
    [
        NOON,
        "2026-03-01T09:00:00-03:00",
        START,
        START.astimezone(),
        "1990-01-01T00:00:00Z",
        "2999-01-01T00:00:00Z",
    ],
)
def test_a_sandbox_may_start_at_any_instant(mockserver_server: MockServer, now: str | datetime) -> None:
    wanted = now if isinstance(now, datetime) else datetime.fromisoformat(now)
    with mockserver_server.sandbox(now=now) as sandbox:
        assert wanted == sandbox.now
        assert UTC == sandbox.now.tzinfo


@pytest.mark.parametrize("now", ["2026-03-01", "2026-13-01T00:00:00Z", "noon", datetime(2026, 3, 1)])
def test_an_invalid_instant_creates_no_sandbox(mockserver_server: MockServer, now: str | datetime) -> None:
    with pytest.raises(ValueError):
        mockserver_server.sandbox(now=now)


class TestFreezing:
    @pytest.mark.mockserver(now=START)
    def test_it_moves_forward_and_the_timers_in_between_fire(self, mockserver: Sandbox) -> None:
        begin(mockserver)

        mockserver.freeze(START + 20 * MINUTE)

        assert START + 20 * MINUTE == mockserver.now
        assert ["2026-03-01T12:20:00.000Z"] == [each["at"] for each in mockserver.events]

    @pytest.mark.mockserver(now=START, given={"chats": {"count": 3}})
    def test_it_moves_back_in_a_sandbox_without_a_past(self, mockserver: Sandbox) -> None:
        mockserver.state()

        mockserver.freeze("2020-01-01T00:00:00Z")

        assert datetime(2020, 1, 1, tzinfo=UTC) == mockserver.now

    @pytest.mark.parametrize(
        "past",
        [
            pytest.param(lambda sandbox: sandbox.call("GET", "/v1/campaigns"), id="a-call"),
            pytest.param(lambda sandbox: sandbox.call("GET", "/v1/nothing"), id="a-refused-call"),
            pytest.param(lambda sandbox: sandbox.call("GET", "/v1/campaigns", key=""), id="a-call-without-a-key"),
            pytest.param(begin, id="something-scheduled"),
        ],
    )
    @pytest.mark.mockserver(now=START)
    def test_it_does_not_move_back_once_there_is_a_past(self, mockserver: Sandbox, past: Callable[..., Any]) -> None:
        past(mockserver)
        state = mockserver.state()

        with pytest.raises(ValueError, match="forward"):
            mockserver.freeze(START - timedelta(microseconds=1))

        assert state == mockserver.state()

    @pytest.mark.mockserver(now=START)
    def test_freezing_at_the_present_instant_is_always_allowed(self, mockserver: Sandbox) -> None:
        begin(mockserver)

        mockserver.freeze(START)
        mockserver.freeze()

        assert START == mockserver.now


DURATIONS = [
    ("20m", 20 * MINUTE),
    ("1h30m", 90 * MINUTE),
    ("3500ms", timedelta(milliseconds=3500)),
    ("PT20M", 20 * MINUTE),
    ("PT1H0.5S", 60 * MINUTE + SECOND / 2),
    ("P1DT1S", timedelta(days=1, seconds=1)),
    ("2d", timedelta(days=2)),
    ("1.5s", 1.5 * SECOND),
    (90, 90 * SECOND),
    (0.000001, timedelta(microseconds=1)),
    (0, timedelta(0)),
    (timedelta(hours=1, microseconds=1), timedelta(hours=1, microseconds=1)),
]


class TestAdvancing:
    @pytest.mark.parametrize(("written", "length"), DURATIONS, ids=lambda value: str(value))
    @pytest.mark.mockserver(now=START)
    def test_it_advances_by_exactly_the_duration(
        self, mockserver: Sandbox, written: str | float | timedelta, length: timedelta
    ) -> None:
        assert [] == mockserver.advance(written)
        assert START + length == mockserver.now

    @pytest.mark.mockserver(now=START)
    def test_the_duration_may_be_given_in_parts(self, mockserver: Sandbox) -> None:
        mockserver.advance(hours=1, minutes=2, seconds=3, microseconds=4)

        assert START + timedelta(hours=1, minutes=2, seconds=3, microseconds=4) == mockserver.now

    @pytest.mark.parametrize(
        "by",
        [-1, -0.000001, "-1s", "", "soon", "20 m", "m", "P", "PT", "1h30", timedelta(seconds=-1), float("inf"), 1e300],
    )
    @pytest.mark.mockserver(now=START)
    def test_an_invalid_duration_changes_nothing(self, mockserver: Sandbox, by: str | float | timedelta) -> None:
        with pytest.raises(ValueError):
            mockserver.advance(by)

        assert START == mockserver.now

    @pytest.mark.parametrize(
        "to", [START + MINUTE, "2026-03-01T12:01:00Z", "2026-03-01T09:01:00.000-03:00", "20260301T090100-03"]
    )
    @pytest.mark.mockserver(now=START)
    def test_it_moves_to_an_instant(self, mockserver: Sandbox, to: str | datetime) -> None:
        mockserver.advance(to=to)

        assert START + MINUTE == mockserver.now

    @pytest.mark.parametrize("to", [START - SECOND, "2026-03-01", "2026-03-01T12:01:00", "9999-12-31T23:59:59Z"])
    @pytest.mark.mockserver(now=START)
    def test_it_advances_to_no_instant_before_now_and_to_none_that_is_not_valid(
        self, mockserver: Sandbox, to: str | datetime
    ) -> None:
        with pytest.raises(ValueError):
            mockserver.advance(to=to)

        assert START == mockserver.now

    @pytest.mark.parametrize("arguments", [{}, {"by": 1, "to": NOON}, {"by": 1, "until": "idle"}, {"until": "busy"}])
    @pytest.mark.mockserver(now=START)
    def test_it_takes_exactly_one_kind_of_end(self, mockserver: Sandbox, arguments: JSON) -> None:
        with pytest.raises(ValueError):
            mockserver.advance(**arguments)

        assert START == mockserver.now

    @pytest.mark.mockserver(now=START)
    def test_it_returns_what_happened_on_the_way_each_at_its_own_instant(self, mockserver: Sandbox) -> None:
        first = begin(mockserver)
        mockserver.advance("1m")
        second, third = begin(mockserver), begin(mockserver)

        fired = mockserver.advance("1h")

        assert [
            {"at": "2026-03-01T12:20:00.000Z", "what": "session.expire", "id": first},
            {"at": "2026-03-01T12:21:00.000Z", "what": "session.expire", "id": second},
            {"at": "2026-03-01T12:21:00.000Z", "what": "session.expire", "id": third},
        ] == fired
        assert [first, second, third] == [each["data"]["sessionId"] for each in mockserver.events]

    @pytest.mark.mockserver(now=START)
    def test_until_idle_stops_at_the_last_thing_that_is_due(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        mockserver.advance("1m")
        last = begin(mockserver)

        fired = mockserver.advance(until="idle")

        assert (2, last) == (len(fired), fired[-1]["id"])
        assert START + 21 * MINUTE == mockserver.now
        assert ([], START + 21 * MINUTE) == (mockserver.advance(until="idle"), mockserver.now)


@given(ages=st.lists(st.integers(0, 2400), max_size=5), cuts=st.lists(st.integers(0, 3_000_000_000), max_size=6))
@pytest.mark.clause("session.expired")
def test_many_small_waits_equal_one_long_wait(mockserver_server: MockServer, ages: list[int], cuts: list[int]) -> None:
    def play(*waits: int) -> tuple[Any, ...]:
        with mockserver_server.sandbox(now=START) as sandbox:
            for age in ages:
                begin(sandbox)
                sandbox.advance(age)
            for wait in waits:
                sandbox.advance(microseconds=wait)
            return sandbox.state(), sandbox.events, sandbox.log.journal["transitions"]

    whole = 3_000_000_000
    edges = [0, *sorted(cuts), whole]

    assert play(whole) == play(*(later - earlier for earlier, later in pairwise(edges)))


class TestMovingBack:
    @pytest.mark.mockserver(now=START)
    def test_a_reset_moves_a_frozen_clock_back_to_its_initial_instant(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        mockserver.advance("1h")

        mockserver.reset()

        assert (START, True, []) == (mockserver.now, is_frozen(mockserver), mockserver.events)

    @pytest.mark.mockserver(now=START)
    def test_a_checkpoint_takes_a_frozen_clock_back_and_what_was_pending_is_pending(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        with mockserver.checkpoint():
            mockserver.advance("1h")

        assert (START, []) == (mockserver.now, mockserver.events)
        assert ["2026-03-01T12:20:00.000Z"] == [each["at"] for each in mockserver.advance("20m")]

    @pytest.mark.mockserver(now=START)
    def test_a_checkpoint_of_a_frozen_clock_freezes_it_again(self, mockserver: Sandbox) -> None:
        with mockserver.checkpoint():
            mockserver.clock.follow(catch_up=True)

        assert (START, True) == (mockserver.now, is_frozen(mockserver))


@pytest.mark.mockserver(now="2026-03-01T12:00:00.999999Z")
def test_every_answer_is_dated_by_the_sandbox_s_clock(mockserver: Sandbox) -> None:
    answered = mockserver.call("GET", "/v1/campaigns"), mockserver.call("GET", "/v1/campaigns", key="")

    assert {"Sun, 01 Mar 2026 12:00:00 GMT"} == {each.headers["date"] for each in answered}


def test_the_async_sleep_is_a_coroutine_function(mockserver: Sandbox) -> None:
    assert inspect.iscoroutinefunction(mockserver.aio.sleep)


def test_a_sleep_advances_the_clock_and_fires_due_timers(mockserver: Sandbox) -> None:
    session_id, before = begin(mockserver), mockserver.now

    assert None is mockserver.sleep(1199.5)
    assert "pending" == mockserver.call("GET", f"{SESSIONS}/{session_id}").json()["status"]
    assert None is mockserver.sleep(0.5)

    assert "expired" == mockserver.call("GET", f"{SESSIONS}/{session_id}").json()["status"]
    assert 20 * MINUTE == mockserver.now - before


@pytest.mark.parametrize(
    "seconds", [-1, float("nan"), float("inf"), None, True, "60", timedelta(seconds=60), []], ids=repr
)
def test_an_invalid_duration_is_not_a_sleep(mockserver: Sandbox, seconds: Any) -> None:
    before = mockserver.now

    with pytest.raises(ValueError, match=re.escape(f"sleep: got {seconds!r}; expected a number of seconds")):
        mockserver.sleep(seconds)
    assert before == mockserver.now
