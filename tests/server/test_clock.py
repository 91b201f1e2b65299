"""A sandbox has one clock, whose time only moves forward: frozen and advanced, or following the process's, freezegun and time-machine in effect."""

from datetime import UTC, datetime, timedelta
from typing import Any

import freezegun
import pytest
import requests
import time_machine

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS
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


LATER = datetime(2031, 7, 1, 8, 30, 15, 123456, tzinfo=UTC)


class TestFollowing:
    def test_it_follows_the_clock_of_the_process_also_back_until_there_is_a_rule(
        self, mockserver_server: MockServer
    ) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            for seconds in (61, -59):
                process.move_to(START + seconds * SECOND)
                assert START + seconds * SECOND == sandbox.now
            sandbox.on("listCampaigns").may_fire().advance("1h")
            process.shift(-1)

            assert START - 59 * SECOND == sandbox.now
            assert not is_frozen(sandbox)

    def test_with_a_history_it_never_moves_back_with_the_clock_of_the_process(
        self, mockserver_server: MockServer
    ) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            process.shift(3600)
            begin(sandbox)
            process.shift(-1800)
            stood = sandbox.now
            process.shift(1800 + 5)

            assert (START + 3600 * SECOND, START + 3605 * SECOND) == (stood, sandbox.now)

    def test_what_falls_due_has_happened_when_it_is_next_looked_at(self, mockserver_server: MockServer) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            begin(sandbox)
            process.shift(1199.999)
            before = sandbox.events
            process.shift(3600)

            assert ([], ["2026-03-01T12:20:00.000Z"]) == (before, [each["at"] for each in sandbox.events])

    def test_from_frozen_it_continues_from_its_instant(self, mockserver_server: MockServer) -> None:
        with time_machine.travel(LATER, tick=False) as process, mockserver_server.sandbox(now=START) as sandbox:
            sandbox.clock.follow()
            at_once = sandbox.now
            process.shift(60)

            assert (START, START + MINUTE) == (at_once, sandbox.now)

    def test_catching_up_it_is_at_the_process_s_time_and_what_lay_between_has_happened(
        self, mockserver_server: MockServer
    ) -> None:
        with time_machine.travel(LATER, tick=False) as process, mockserver_server.sandbox(now=START) as sandbox:
            begin(sandbox)
            sandbox.clock.follow(catch_up=True)
            at_once = sandbox.now
            process.shift(60)

            assert (LATER, LATER + MINUTE) == (at_once, sandbox.now)
            assert ["2026-03-01T12:20:00.000Z"] == [each["at"] for each in sandbox.events]

    def test_a_restored_clock_never_moves_back_with_the_clock_of_the_process(
        self, mockserver_server: MockServer
    ) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            process.shift(3600)
            begin(sandbox)
            with sandbox.checkpoint():
                process.shift(-1800)

            assert START + 3600 * SECOND == sandbox.now


class TestAFrozenProcess:
    def test_a_sandbox_made_under_freezegun_follows_it(self, mockserver_server: MockServer) -> None:
        with freezegun.freeze_time("2031-07-01 08:30:15") as process, mockserver_server.sandbox() as sandbox:
            born = sandbox.now
            process.tick(60)

            assert (LATER.replace(microsecond=0), LATER.replace(microsecond=0) + MINUTE) == (born, sandbox.now)
            assert not is_frozen(sandbox)

    def test_a_sandbox_made_under_time_machine_follows_it(self, mockserver_server: MockServer) -> None:
        with time_machine.travel(LATER, tick=False) as process, mockserver_server.sandbox() as sandbox:
            born = sandbox.now
            process.shift(60)

            assert (LATER, LATER + MINUTE) == (born, sandbox.now)


class TestJumps:
    @pytest.mark.parametrize("to", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z"])
    def test_at_any_instant_of_the_process_every_operation_and_view_responds(
        self, mockserver_server: MockServer, to: str
    ) -> None:
        with freezegun.freeze_time(to), mockserver_server.sandbox(clock="follow") as sandbox:
            sandbox.receive_webhooks(lambda request: 204)
            created = begin(sandbox)
            sandbox.complete_session(created)
            views = [requests.get(f"{sandbox.base_url}/_mock/{each}", timeout=10) for each in ("state", "journal", "")]

            assert [200, 200, 200] == [view.status_code for view in views]
            assert ["delivered"] == [each["deliveries"][0]["status"] for each in sandbox.events]

    def test_a_clock_that_is_ahead_stops_at_the_last_instant_that_can_be_shown(
        self, mockserver_server: MockServer
    ) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            sandbox.advance(to="9999-12-30T00:00:00Z")
            process.shift(30 * 86_400)

            assert datetime(9999, 12, 30, tzinfo=UTC) == sandbox.now
            assert "pending" == sandbox.call("GET", f"{SESSIONS}/{begin(sandbox)}").json()["status"]
