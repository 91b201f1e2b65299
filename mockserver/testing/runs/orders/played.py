"""A run as data: its steps in the order of their release, and what else could have been released at each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mockserver.core.instants import Duration, Instant
from mockserver.core.operations.footprints import Footprint
from mockserver.testing.runs.bounds import Bounds
from mockserver.testing.runs.in_process import Sleep
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.course import Decision
from mockserver.testing.runs.orders.placed_fault import Calls
from mockserver.testing.runs.orders.schedules import Waits


class NewTimer(NamedTuple):
    """
    A timer that a step has scheduled.

    Attributes:
        number: Of no other timer of the run.
        after: How long after the step it is due.
        part: What it changes, as in a footprint; None if it may change anything.
    """

    number: int
    after: Duration
    part: str | None


class ReleasedStep(NamedTuple):
    """
    A step as it happened.

    Attributes:
        actor: Whose step it is.
        waits: What it is.
        label: What it did, such as `startCampaign 202`.
        exchanges: The numbers of the calls in it.
        footprint: What it has read and written; None if it may depend on anything, or anything on it.
        at: The instant at which it happened.
        reads: For each call what is equal for equal reads with equal answers; None for a call that is no read.
        timers: Those that it has scheduled.
        gone: The numbers of the timers that have fired in it, or will not fire since it.
        is_timed: What it has answered or done depends on how long ago others have written what it reads.
        is_paced: The conduct of its client is judged by the time between its calls.
    """

    actor: str
    waits: Waits
    label: str
    exchanges: tuple[int, ...] = ()
    footprint: Footprint | None = None
    at: Instant = 0
    reads: tuple[object, ...] = ()
    timers: tuple[NewTimer, ...] = ()
    gone: tuple[int, ...] = ()
    is_timed: bool = False
    is_paced: bool = False


class Order(NamedTuple):
    """
    An order of steps.

    Attributes:
        names: The actors of its steps.
        decisions: What else could have been released at each place.
        states: For each place what is equal where the same can follow, such as after steps that have changed places; None if
            that is not known.
    """

    names: Sequence[str]
    decisions: Sequence[Decision]
    states: Sequence[object]


class Played(NamedTuple):
    """
    A run after its end.

    Attributes:
        steps: In the order of their release.
        decisions: One for each step.
        raised: The exceptions with which clients ended.
        stuck: Why the run has ended before its clients; None if it has not.
        blocked: Where clients waited outside of calls, such as `cron at locks.py:12`.
        used: What the run took.
        sleep: The longest sleep in real time; None if there was none worth a word.
        is_plain: No client was blocked, no delivery was due, and each sleep ended by its length alone.
        began: The sandbox's clock at its beginning.
        timers: Those that were scheduled before its first step.
        calls: The number of calls that each client has sent of each operation.
    """

    steps: Sequence[ReleasedStep]
    decisions: Sequence[Decision]
    raised: Mapping[str, BaseException]
    stuck: str | None
    blocked: Sequence[str]
    used: Bounds
    sleep: Sleep | None
    is_plain: bool
    began: Instant
    timers: Sequence[NewTimer]
    calls: Calls

    @property
    def order(self) -> Order:
        """The order of its steps."""
        return Order([step.actor for step in self.steps], self.decisions, [None] * len(self.steps))

    @property
    def owners(self) -> Mapping[int, str]:
        """The actor of each call, by the call's number."""
        return {number: step.actor for step in self.steps for number in step.exchanges}

    @property
    def texts(self) -> list[str]:
        """Its steps as texts."""
        return [f"{step.actor} {step.label}" for step in self.steps]

    @property
    def cost(self) -> int:
        """The number of preemptions."""
        return sum(decision.chosen.cost for decision in self.decisions)

    @property
    def named(self) -> int:
        """The number of steps up to the last one that is not the serial one."""
        return max((place for place, row in enumerate(self.decisions, start=1) if not row.is_serial), default=0)

    @property
    def schedule(self) -> str:
        """The shortest schedule that leads to this order."""
        return schedules.as_text(step.actor for step in self.steps[: self.named])
