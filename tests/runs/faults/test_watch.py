"""The bounds of a run: where it ends, in process and over a socket."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.core.instants import DAY, SECOND
from mockserver.server.http1 import real_time
from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.bounds import Bounds, Watch


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(calls=2), "the run made more than 2 calls"),
        (Bounds(row=2), "3 equal calls in a row changed nothing"),
        (
            Bounds(virtual=DAY),
            "the run took more than 1 days of the sandbox's clock, until 2026-03-03T12:00:00+00:00; the client may read the computer's clock, which does not move with the sandbox's",
        ),
    ],
)
def test_a_run_ends_at_its_bound(mockserver_server: MockServer, bounds: Bounds, reason: str) -> None:
    with mockserver_server.sandbox(now="2026-03-01T12:00:00.000000Z") as sandbox:
        watch = Watch(sandbox._hosted, bounds)
        with pytest.raises(RunEnded) as ended:
            for _ in range(3):
                sandbox.call("GET", "/v1/campaigns")
            sandbox.sleep(2 * 86400)

        assert (reason, reason) == (watch.ended, str(ended.value))


def test_a_run_ends_after_its_real_time(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [0]
    monkeypatch.setattr(real_time, "microseconds", lambda: passed[0])
    Watch(mockserver._hosted, Bounds(real=5 * SECOND))
    mockserver.call("GET", "/v1/campaigns")
    passed[0] = 6 * SECOND

    with pytest.raises(RunEnded, match="more than 5 seconds of real time"):
        mockserver.call("GET", "/v1/campaigns")


def test_no_client_catches_the_end_by_accident(mockserver: Sandbox) -> None:
    Watch(mockserver._hosted, Bounds(calls=0))
    with pytest.raises(RunEnded):
        try:
            mockserver.call("GET", "/v1/campaigns")
        except Exception:  # noqa: BLE001 - as careless clients do
            pytest.fail("caught")


def test_a_client_that_catches_the_end_has_its_later_calls_refused_at_once(mockserver: Sandbox) -> None:
    def outcome(sandbox: Any) -> object:
        try:
            return sandbox.call("GET", "/v1/campaigns").status
        except BaseException as end:  # noqa: BLE001 - as the client here does
            return type(end)

    watch, state = Watch(mockserver._hosted, Bounds(calls=1)), mockserver._hosted.sandbox

    assert [200, RunEnded, 410, 410] == [outcome(mockserver) for _ in range(4)]
    assert (2, "the run made more than 1 calls") == (state.journal.last_exchange, watch.ended)


def test_over_a_socket_later_calls_get_410(mockserver: Sandbox) -> None:
    url, headers = f"{mockserver.base_url}/v1/campaigns", {"X-API-Key": mockserver.secret_key}
    watch = Watch(mockserver._hosted, Bounds(calls=1))
    statuses = [requests.get(url, headers=headers, timeout=5).status_code for _ in range(3)]

    assert [200, 200, 410] == statuses
    assert "the run made more than 1 calls" == watch.ended
    assert {1, 2} == watch.by_socket


def test_a_watch_that_was_stopped_ends_nothing(mockserver: Sandbox) -> None:
    before: Any = mockserver._hosted.listeners
    watch = Watch(mockserver._hosted, Bounds(calls=0))
    watch.stop()
    mockserver.call("GET", "/v1/campaigns")

    assert (None, before) == (watch.ended, mockserver._hosted.listeners)
