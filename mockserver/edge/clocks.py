"""
The process's clock, and whether somebody has frozen it.

`datetime.now` is looked up at each call, so that freezegun and time-machine are obeyed, also in the server's threads.
"""

from __future__ import annotations

import datetime
import sys

from mockserver.core.instants import Instant, from_datetime
from mockserver.core.sandbox import Clock

_TRAVELS = (
    ("freezegun.api", "freeze_factories"),
    ("time_machine", "traveller_stack"),
    ("time_machine", "coordinates_stack"),
)


def process_now() -> Instant:
    """The instant by the process's clock."""
    return from_datetime(datetime.datetime.now(datetime.UTC))


def is_process_frozen() -> bool:
    """True while freezegun or time-machine holds the process's clock."""
    modules = sys.modules  # at each call: the loop is written for speed
    for module, stack in _TRAVELS:  # noqa: SIM110
        if module in modules and getattr(modules[module], stack, None):
            return True
    return False


def frozen_at(instant: Instant) -> Clock:
    """A clock that stands at this instant."""
    return Clock(instant, frozen=True)


def following() -> Clock:
    """A clock that goes with the process's."""
    return Clock(process_now(), frozen=False)


def fixture_clock() -> Clock:
    """What a test wants who asks for nothing: frozen at the present, or with the process where that is frozen."""
    return following() if is_process_frozen() else frozen_at(process_now())
