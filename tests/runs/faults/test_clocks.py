"""The clocks of an exploration: that of its sandboxes, that of the computer, and the time zone of the process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockserver import MockServer, Sandbox

CAMPAIGNS = "/v1/campaigns"
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
needs_zones = pytest.mark.skipif(not hasattr(time, "tzset"), reason="this platform cannot change the zone of a process")


def read(sandbox: Sandbox) -> None:
    sandbox.call("GET", CAMPAIGNS, timeout=5)


def test_each_run_begins_at_the_present_of_the_first(mockserver_server: MockServer) -> None:
    instants = []

    def test(sandbox: Sandbox) -> None:
        instants.append(sandbox.now)
        read(sandbox)

    before = datetime.now(UTC)
    mockserver_server.explore(test, faults=("stale", "internal-error"), choices=())

    assert 1 == len(set(instants)) < len(instants)
    assert before <= instants[0] <= datetime.now(UTC)


def test_an_instant_of_the_settings_takes_precedence(mockserver_server: MockServer) -> None:
    instants = []

    def test(sandbox: Sandbox) -> None:
        instants.append(sandbox.now)
        read(sandbox)

    settings = {"now": "2026-03-01T12:00:00.000000Z"}
    mockserver_server.explore(test, settings=settings, faults=(), choices=())

    assert {datetime(2026, 3, 1, 12, tzinfo=UTC)} == set(instants)


def by_aware_dates(sandbox: Sandbox) -> None:
    deadline = datetime.now(UTC) + timedelta(minutes=20)
    while datetime.now(UTC) < deadline:
        if sandbox.call("GET", CAMPAIGNS, timeout=5).status == 200:
            return
        sandbox.sleep(15)


def by_seconds(sandbox: Sandbox) -> None:
    deadline = time.time() + 1200
    while time.time() < deadline:
        if sandbox.call("GET", CAMPAIGNS, timeout=5).status == 200:
            return
        sandbox.sleep(15)


@pytest.mark.parametrize("test", [by_aware_dates, by_seconds])
def test_a_client_that_waits_by_the_computers_clock_is_named(
    mockserver_server: MockServer, test: Callable[[Sandbox], object]
) -> None:
    report = mockserver_server.explore(test, faults=("key-revoked",), choices=())

    (message,) = [row.message for row in report.findings if row.cause == "endless"]
    assert message.endswith("; the client may read the computer's clock, which does not move with the sandbox's")


def test_a_clean_run_that_waits_by_the_computers_clock_is_named(mockserver_server: MockServer) -> None:
    def test(sandbox: Sandbox) -> None:
        deadline = time.time() + 3600
        while time.time() < deadline:
            read(sandbox)
            sandbox.sleep(864_000)

    report = mockserver_server.explore(test, faults=(), choices=())

    assert "the client may read the computer's clock" in report.text()


def connect(sandbox: Sandbox, now: Callable[[], datetime]) -> None:
    """Open a session, and another one once it has expired."""
    session: dict[str, Any] = {}
    for _ in range(2):
        expires = session.get("expiresAt")
        if expires is None or datetime.fromisoformat(expires).replace(tzinfo=now().tzinfo) < now():
            session = sandbox.call("POST", SESSIONS, json={}, timeout=5).json()


@needs_zones
@pytest.mark.parametrize(
    ("now", "found"),
    [
        (lambda: datetime.now(UTC), []),
        (lambda: datetime.now(), ["the test passed, and its calls caused 2 sessions instead of 1"]),
    ],
)
def test_a_naive_date_shows_in_another_time_zone(
    mockserver_server: MockServer, now: Callable[[], datetime], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    if sys.platform != "win32":
        time.tzset()

    report = mockserver_server.explore(lambda sandbox: connect(sandbox, now), faults=("time-zone",), choices=())

    assert found == [row.message for row in report.findings], report.text()
    assert (1, "UTC", 0) == (report.coverage.singles.tried, os.environ["TZ"], time.localtime().tm_gmtoff)


@needs_zones
def test_the_lines_of_a_time_zone_set_it(mockserver_server: MockServer) -> None:
    report = mockserver_server.explore(
        lambda sandbox: connect(sandbox, datetime.now), faults=("time-zone",), choices=()
    )

    (finding,) = report.findings
    assert ['monkeypatch.setenv("TZ", "<+13>-13")', "time.tzset()"] == finding.lines
    assert [[{"kind": "process", "name": "time-zone", "text": "time-zone"}]] == finding.as_json()["placements"]
