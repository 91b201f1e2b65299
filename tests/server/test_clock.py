"""A sandbox has one clock, whose time only moves forward: frozen, advanced, reset and restored."""

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


class TestAdvancing:
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
