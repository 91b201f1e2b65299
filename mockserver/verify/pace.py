"""The pace of a run: so many calls a second, and an end before the minute is over. Clock and sleep are given."""

from __future__ import annotations

from collections.abc import Callable

RUN_MAX_S = 46.0
CLEANING_MAX_S = 51.0
WAIT_MAX_S = 5.0  # the longest wait after a 429


class OutOfTime(Exception):
    """The time of a run is over; what was not seen by then stays unseen."""


class Pace:
    """
    Lets at most `per_second` calls through a second, evenly spaced.

    `clock` answers seconds that only grow; `sleep` takes seconds. The time of a run begins here.
    """

    def __init__(self, per_second: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        if not 0 < per_second <= 1000:
            raise ValueError(f"a rate of {per_second} calls a second; wanted more than 0 and at most 1000")
        self._gap_s = 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._begun = self._free_at = clock()
        self._max_s = RUN_MAX_S

    @property
    def spent_s(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._begun

    def wait(self) -> None:
        """Come back when the next call may go out; OutOfTime where that would be too late."""
        now = self._clock()
        at = max(now, self._free_at)
        if at - self._begun > self._max_s:
            raise OutOfTime(f"the {self._max_s:.0f} seconds of a run were over")
        if at > now:
            self._sleep(at - now)
        self._free_at = at + self._gap_s

    def rest(self, seconds: float) -> None:
        """Make the next call wait at least this long, and never longer than a few seconds."""
        self._free_at = max(self._free_at, self._clock() + min(seconds, WAIT_MAX_S))

    def allow_cleaning(self) -> None:
        """Grant the few seconds more in which a run takes back what it made."""
        self._max_s = CLEANING_MAX_S
