"""
Pacing of deliveries over sockets: while calls of the API arrive, deliveries are sent in slices of time with pauses.

One thread at a time runs Python. A call takes the interpreter several times and waits each time until a delivery leaves
it, so that it takes twice as long next to deliveries as on an idle server. In a pause it takes as long as there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mockserver.server.http1 import real_time

_SLICE_SECONDS = 0.003
_PAUSE_SECONDS = 0.003
_BUSY_SECONDS = 0.02  # after a call: a client that polls without a pause calls again within it


class Pacing:
    """
    The slices and pauses of a host's deliveries, whichever threads send them.

    Args:
        seconds: Returns the present real time in seconds, from any starting point.

    Lifetime: that of the host.
    """

    def __init__(self, seconds: Callable[[], float] = real_time.seconds) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._calls = 0  # only the event loop counts them
        self._seen_calls = 0
        self._busy_until = float("-inf")
        self._slice_ends = float("-inf")

    def note_call(self) -> None:
        """Count a call of the API, on the event loop."""
        self._calls += 1

    def wait_seconds(self) -> float:
        """Return how long the next delivery waits: 0 within a slice, or if no call has arrived lately."""
        with self._lock:
            now = self._seconds()
            if self._calls != self._seen_calls:
                self._seen_calls, self._busy_until = self._calls, now + _BUSY_SECONDS
            if now >= self._busy_until or now < self._slice_ends:
                return 0.0
            resumes = self._slice_ends + _PAUSE_SECONDS
            if now < resumes:
                return resumes - now
            self._slice_ends = now + _SLICE_SECONDS
            return 0.0
