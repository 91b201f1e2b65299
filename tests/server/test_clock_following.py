"""A clock that follows the process's: its lead, no step back, and freezegun and time-machine in effect."""

from datetime import UTC, datetime, timedelta

import freezegun
import pytest
import requests
import time_machine

from mockserver import MockServer
from tests.clients.operations import SESSIONS
from tests.server.control_calls import begin, is_frozen

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2031, 7, 1, 8, 30, 15, 123456, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


class TestFollowing:
    def test_it_follows_the_clock_of_the_process(self, mockserver_server: MockServer) -> None:
        with time_machine.travel(START, tick=False) as process, mockserver_server.sandbox(clock="follow") as sandbox:
            process.shift(61)

            assert START + 61 * SECOND == sandbox.now
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
