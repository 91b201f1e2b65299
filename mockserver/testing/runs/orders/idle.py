"""Whether a thread of a client waits for another one, as far as its frame shows it: in the standard library's own waits."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import PurePath
from types import FrameType

from mockserver.testing.runs import in_process


def place_of(thread: threading.Thread) -> str:
    """Return where the code of a thread is that is not the standard library's or the mock's, such as `client.py:12`."""
    frame = _frame(thread)
    library = PurePath(threading.__file__).parent
    while frame is not None and frame.f_back is not None:
        file = PurePath(frame.f_code.co_filename)
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        is_library = file.is_relative_to(library) and "site-packages" not in file.parts
        if not is_library and package != "mockserver":
            break
        frame = frame.f_back
    return "" if frame is None else f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"


def is_idle(thread: threading.Thread) -> bool:
    """Return True if a thread waits in a function of the standard library for another thread."""
    frame = _frame(thread)
    return frame is not None and _waits(frame)


def is_receiving(thread: threading.Thread) -> bool:
    """Return True if a thread reads from a socket, as the libraries of HTTP clients do while they wait for an answer."""
    frame = _frame(thread)
    return frame is not None and (frame.f_globals.get("__name__"), frame.f_code.co_name) in _RECEIVES


def sleeps(thread: threading.Thread) -> bool:
    """Return True if a thread sleeps in real time, by the function that records the sleeps of a run."""
    frame = _frame(thread)
    return frame is not None and frame.f_globals.get("__name__") == in_process.__name__


def waits_for_nothing(thread: threading.Thread) -> bool:
    """Return True if a thread runs an event loop that has no timer, and no file but that by which other threads wake it."""
    frame = _frame(thread)
    if frame is None or not _selects(frame):
        return False
    return frame.f_locals.get("timeout") in (None, -1) and len(frame.f_locals["self"].get_map()) == 1


_RECEIVES = (("socket", "readinto"), ("socket", "recv_into"), ("ssl", "read"), ("httpcore._backends.sync", "read"))


def _frame(thread: threading.Thread) -> FrameType | None:
    """Return the frame of a thread, and collect no garbage meanwhile."""
    # CPython before 3.11.9 can wait for ever: a finalizer lets another thread run, whose end needs a lock of this call.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread.ident or 0)
    finally:
        if was_enabled:
            gc.enable()


def _waits(frame: FrameType) -> bool:
    module, function = frame.f_globals.get("__name__"), frame.f_code.co_name
    if module == "threading" and function == "wait":
        waiter = frame.f_locals.get("waiter")  # of Condition.wait, under futures, events, queues and semaphores
        return waiter is not None and bool(waiter.locked())
    if module == "threading" and function in ("join", "_wait_for_tstate_lock"):
        joined = frame.f_locals.get("self")
        return isinstance(joined, threading.Thread) and joined.is_alive()
    if module == "concurrent.futures.thread" and function == "_worker":
        jobs = frame.f_locals.get("work_queue")
        return jobs is not None and bool(jobs.empty()) and frame.f_locals.get("work_item") is None
    return _selects(frame)


def _selects(frame: FrameType) -> bool:
    """Return True in an event loop that waits; one with something to run only looks for what has arrived."""
    is_select = (frame.f_globals.get("__name__"), frame.f_code.co_name) == ("selectors", "select")
    return is_select and frame.f_locals.get("timeout") != 0
