"""A sandbox has one clock, whose time only moves forward: frozen, advanced, reset and restored."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.server.control_calls import begin, is_frozen

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


@pytest.mark.parametrize("now", ["2026-03-01", "2026-13-01T00:00:00Z", "noon", datetime(2026, 3, 1)])
def test_an_invalid_instant_creates_no_sandbox(mockserver_server: MockServer, now: str | datetime) -> None:
    with pytest.raises(ValueError):
        mockserver_server.sandbox(now=now)


class TestFreezing:
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

    @pytest.mark.parametrize(
        "by",
        [-1, -0.000001, "-1s", "", "soon", "20 m", "m", "P", "PT", "1h30", timedelta(seconds=-1), float("inf"), 1e300],
    )
    @pytest.mark.mockserver(now=START)
    def test_an_invalid_duration_changes_nothing(self, mockserver: Sandbox, by: str | float | timedelta) -> None:
        with pytest.raises(ValueError):
            mockserver.advance(by)

        assert START == mockserver.now

    @pytest.mark.parametrize("length", [{"days": 10**9}, {"weeks": 10**12}])
    def test_a_length_that_no_calendar_has_is_refused(self, mockserver: Sandbox, length: Any) -> None:
        with pytest.raises(ValueError, match=r"advance: got \{.*\}; expected at most 999999999 days"):
            mockserver.advance(**length)

    @pytest.mark.parametrize("to", [START - SECOND, "2026-03-01", "2026-03-01T12:01:00", "9999-12-31T23:59:59Z"])
    @pytest.mark.mockserver(now=START)
    def test_it_advances_to_no_instant_before_now_and_to_none_that_is_not_valid(
        self, mockserver: Sandbox, to: str | datetime
    ) -> None:
        with pytest.raises(ValueError):
            mockserver.advance(to=to)

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


class TestMovingBack:
    @pytest.mark.mockserver(now=START)
    def test_a_reset_moves_a_frozen_clock_back_to_its_initial_instant(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        mockserver.advance("1h")

        mockserver.reset()

        assert (START, True, []) == (mockserver.now, is_frozen(mockserver), mockserver.events)
