"""While calls arrive, deliveries leave pauses; without calls they wait for nothing."""

from __future__ import annotations

import pytest

from mockserver.server.webhooks.pacing import Pacing

MS = 0.001


class Clock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def waits(pacing: Pacing, clock: Clock, count: int, took: float) -> list[float]:
    """The milliseconds for which each of so many deliveries waits, one after another; each takes this long."""
    waited = []
    for _ in range(count):
        seconds = pacing.wait_seconds()
        waited.append(round(seconds / MS, 3))
        clock.now += seconds + took
    return waited


def test_no_delivery_waits_while_no_call_arrives(clock: Clock) -> None:
    assert [0.0] * 20 == waits(Pacing(clock), clock, 20, 1 * MS)


def test_deliveries_leave_half_of_the_time_to_calls_that_arrive(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.note_call()

    assert [0, 0, 0, 2.7, 0, 0, 0, 2.7] == waits(pacing, clock, 8, 1.1 * MS)


def test_a_delivery_that_takes_long_is_itself_the_pause(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.note_call()

    assert [0, 0, 0] == waits(pacing, clock, 3, 6 * MS)


def test_all_threads_that_send_have_the_same_pause(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.note_call()
    pacing.wait_seconds()
    clock.now += 4 * MS  # a millisecond after the end of the first slice

    assert [2.0, 2.0] == [round(pacing.wait_seconds() / MS, 3) for _ in range(2)]


def test_the_pauses_end_soon_after_the_last_call(clock: Clock) -> None:
    pacing = Pacing(clock)
    pacing.note_call()
    pacing.wait_seconds()
    clock.now += 21 * MS

    assert [0.0] * 10 == waits(pacing, clock, 10, 1 * MS)
