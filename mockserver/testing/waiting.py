"""
Waiting for a condition on a sandbox without sleeping: whoever waits is told after each call and each command.

The time limit is real and holds also where the process's clock is frozen: it is kept by a lock's own timeout.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mockserver.edge.hosting import Hosted

_POLL_S = 0.02  # of a sandbox elsewhere, which tells nobody here


def until(hosted: Hosted, holds: Callable[[], bool], timeout_s: float) -> bool:
    """True once the condition holds; False when it does not within so many real seconds."""
    stirred = threading.Event()
    with hosted.sandbox.lock:
        hosted.listeners += (stirred.set,)
    try:
        return _wait(stirred, holds, timeout_s, None)
    finally:
        with hosted.sandbox.lock:
            hosted.listeners = tuple(each for each in hosted.listeners if each != stirred.set)


def polled(holds: Callable[[], bool], timeout_s: float) -> bool:
    """The same of a sandbox that has to be asked."""
    return _wait(threading.Event(), holds, timeout_s, _POLL_S)


def _wait(stirred: threading.Event, holds: Callable[[], bool], timeout_s: float, poll_s: float | None) -> bool:
    if holds():
        return True
    over = threading.Event()

    def end() -> None:
        over.set()
        stirred.set()

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        while True:
            is_over = over.is_set()
            stirred.clear()
            if holds():
                return True
            if is_over:
                return False
            if not over.is_set():
                stirred.wait(poll_s)
    finally:
        timer.cancel()
