"""A run as data: its steps in the order of their release, and what else could have been released at each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mockserver.core.operations.footprints import Footprint
from mockserver.testing.runs.bounds import Used
from mockserver.testing.runs.in_process import Sleep
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.schedules import Release, Waits


class ReleasedStep(NamedTuple):
    """
    A step as it happened.

    Attributes:
        actor: Whose step it is.
        waits: What it is.
        label: What it did, such as `startCampaign 202`.
        exchanges: The numbers of the calls in it.
        footprint: What it has read and written; None if it may depend on anything, or anything on it.
        due: The deliveries that fell due in it.
    """

    actor: str
    waits: Waits
    label: str
    exchanges: tuple[int, ...]
    footprint: Footprint | None = None
    due: frozenset[str] = frozenset()


class Decision(NamedTuple):
    """What could be released at one place of a run, the serial choice first, and what was."""

    options: Sequence[Release]
    chosen: Release
    is_free: bool  # no client had run, or the one that ran last has ended

    @property
    def is_serial(self) -> bool:
        """True for the serial choice."""
        return self.chosen.name == self.options[0].name


class Order(NamedTuple):
    """An order of steps, by the names of their actors, and what else could have been released at each place."""

    names: Sequence[str]
    decisions: Sequence[Decision]


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
        is_plain: No client has slept, read in vain or been blocked, and no receiver has called: the order is that of calls alone.
        calls: The number of calls that each client has sent.
    """

    steps: Sequence[ReleasedStep]
    decisions: Sequence[Decision]
    raised: Mapping[str, BaseException]
    stuck: str | None
    blocked: Sequence[str]
    used: Used
    sleep: Sleep | None
    is_plain: bool = False
    calls: Mapping[str, int] = {}

    @property
    def order(self) -> Order:
        """The order of its steps."""
        return Order([step.actor for step in self.steps], self.decisions)

    @property
    def cost(self) -> int:
        """The number of preemptions."""
        return sum(decision.chosen.cost for decision in self.decisions)

    @property
    def schedule(self) -> str:
        """The shortest schedule that leads to this order: it ends with the last step that is not the serial one."""
        last = max((place for place, row in enumerate(self.decisions, start=1) if not row.is_serial), default=0)
        return schedules.as_text(step.actor for step in self.steps[:last])
