"""The course of an order: what was released at each of its places, and what the next release depends on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.schedules import Ready, Release, Situation, Waits

_VAIN_READS: Final = (
    3  # equal reads with equal answers and a sleep between them, after which a client waits for another
)
_VAIN_READS_WITHOUT_SLEEP: Final = 10


# Gets the options, of which the first is the serial one, and returns the name of one of them.
Choose = Callable[[Sequence[Release]], str]


class Decision(NamedTuple):
    """What could be released at one place of a run, the serial choice first, and what was."""

    options: Sequence[Release]
    chosen: Release
    is_free: bool  # no client had run, or the one that ran last has ended

    @property
    def is_serial(self) -> bool:
        """True for the serial choice."""
        return self.chosen.name == self.options[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class VainReads:
    """
    Equal reads of one actor with equal answers, while no other actor has a step.

    Attributes:
        reader: The actor; None before the first step.
        last: What is equal for reads that are equal to the last one; None if the last call is no read.
        reads: How many there are.
        has_slept: The actor slept between them.
    """

    reader: str | None = None
    last: object = None
    reads: int = 0
    has_slept: bool = False

    @property
    def state(self) -> Hashable:
        """What is equal where the same reads will be in vain; what was read is left out, as it follows from the steps."""
        return self.reader, self.reads, self.has_slept

    def after(self, name: str, waits: Waits, reads: Iterable[object]) -> VainReads:
        """
        Return them after a step.

        Args:
            name: Whose step it is.
            waits: What it is.
            reads: What is equal for equal reads with equal answers, for each call in it; None for a call that is no read.
        """
        before = self if name == self.reader else VainReads()
        last, count, has_slept = before.last, before.reads, before.has_slept or waits == "sleep"
        for read in reads if waits == "call" else ():
            if read is None or read != last:
                count, has_slept = 0, False
            count += read is not None
            last = read
        return VainReads(reader=name, last=last, reads=count, has_slept=has_slept)

    def are_of(self, name: str | None) -> bool:
        """Return True if an actor reads in vain."""
        return name == self.reader and self.reads >= (_VAIN_READS if self.has_slept else _VAIN_READS_WITHOUT_SLEEP)


@dataclass(slots=True, kw_only=True)
class Course:
    """
    The releases of one order, in a run or as they would be.

    Attributes:
        clients: The names of the clients.
        decisions: One for each step that was released.
        last: The actor that ran last; None at the beginning, and after the end of a client.
        held: The endpoints whose delivery was held back.
        vain_reads: Those of the last actor.
    """

    clients: Collection[str]
    decisions: list[Decision] = field(default_factory=list)
    last: str | None = None
    held: frozenset[str] = frozenset()
    vain_reads: VainReads = VainReads()
    _last_client: str | None = None

    def copy(self) -> Course:
        """Return one that goes on by itself."""
        return replace(self, decisions=list(self.decisions))

    def release(self, ready: Sequence[Ready], choose: Choose) -> str | None:
        """Decide for one of the steps that are ready, and return whose it is; None if the chosen actor has none of them."""
        situation = Situation(tuple(ready), self.last, self.held, self.vain_reads.are_of(self.last))
        ranked = schedules.options(situation)
        name = choose(ranked)
        chosen = next((option for option in ranked if option.name == name), None)
        if chosen is None:
            return None
        self.decisions.append(Decision(ranked, chosen, self.last is None))
        self.held = schedules.held_after(situation, name)
        return name

    def note(self, name: str, waits: Waits, reads: Iterable[object], *, goes_on: bool) -> None:
        """
        Note the step that has happened.

        Args:
            name: Whose it is.
            waits: What it is.
            reads: As of `VainReads.after`.
            goes_on: The actor has not ended.
        """
        self.vain_reads = self.vain_reads.after(name, waits, reads)
        if waits == "time":
            return
        if name in self.clients:
            self._last_client = name if goes_on else None
        self.last = name if goes_on else self._last_client
