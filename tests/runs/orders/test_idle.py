"""Looks at the threads of clients, which must not make the process wait for ever."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Mapping
from types import FrameType

import pytest

from mockserver.testing.runs.orders import idle


@pytest.mark.parametrize("is_enabled", [True, False])
def test_no_garbage_is_collected_while_the_frames_of_threads_are_read(
    monkeypatch: pytest.MonkeyPatch, is_enabled: bool
) -> None:
    frames, seen = sys._current_frames, []

    def read() -> Mapping[int, FrameType]:
        seen.append(gc.isenabled())
        return frames()

    monkeypatch.setattr(sys, "_current_frames", read)
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        idle.place_of(threading.current_thread())
        assert ([False], is_enabled) == (seen, gc.isenabled())
    finally:
        (gc.enable if was_enabled else gc.disable)()
