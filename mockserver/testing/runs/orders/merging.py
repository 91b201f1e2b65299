"""
Orders that are equal to one that was run: every client gets the same answers in both, and the end is the same.

1. Two steps may change places if none of them writes a part of the sandbox's state that the other one reads or writes.
2. A timer is a step too: it changes the record for which it was scheduled. A sleep changes nothing but the clock.
3. Instants are no difference, as they are none between two ends. What depends on how long something has lasted is equal only
   at the same distance: the progress of a campaign that is sent, and calls by whose pace a client's conduct is judged.
4. Runs of clients alone are compared: none in which a client was blocked or a delivery was due.

An order is compared with a run step by step, as the run's steps would be released by it, on a clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mockserver.core.instants import Duration, Instant
from mockserver.core.operations.footprints import Footprint
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.course import Course
from mockserver.testing.runs.orders.played import NewTimer, Order, Played, ReleasedStep
from mockserver.testing.runs.orders.schedules import TIMERS, Ready

_LIST = "campaigns"  # whose order alone two creations decide


class _Place(NamedTuple):
    """The place of a step among those of its actor."""

    actor: str
    number: int


class _KnownStep(NamedTuple):
    """
    A step of a run, or one timer that has fired in it.

    Attributes:
        step: The step.
        needs: Of each other actor the last of its steps that has to come before, if there is one.
        ages: Steps from which its distance in time has to be the same, with this distance.
    """

    step: ReleasedStep
    needs: Sequence[_Place]
    ages: Sequence[tuple[_Place, Duration]]


class _KnownRun:
    """
    A run, with what each of its steps depends on.

    Args:
        played: The run.
        clients: The names of the clients.
        shows_lists: The user's check may read lists of records.
    """

    def __init__(self, played: Played, clients: Sequence[str], *, shows_lists: bool) -> None:
        self.clients, self.began, self.first_timers = clients, played.began, played.timers
        self.steps: dict[str, list[_KnownStep]] = {}
        self.timers = {timer.number: timer for timer in played.timers}
        self.moves = any(step.waits in ("sleep", "time") for step in played.steps)
        self._paced = {step.actor for step in played.steps if step.is_paced}
        footprints = [step.footprint for step in played.steps]
        reads = {part for footprint in footprints if footprint is not None for part in footprint.reads}
        self._orders_list = shows_lists or _LIST in reads or None in footprints
        for step in played.steps:
            self.timers.update((timer.number, timer) for timer in step.timers)
            for single in self._singles(step):
                self._add(single)

    @property
    def is_comparable(self) -> bool:
        """False if more than the parts of footprints decides what happens in it."""
        has_parts = all(timer.part is not None for timer in self.timers.values())
        return not self.moves or (has_parts and TIMERS not in self.steps)

    def _singles(self, step: ReleasedStep) -> Iterator[ReleasedStep]:
        """Yield a step, or the timers that have fired in it one by one, each under a name of its own."""
        if step.waits != "time" or (len(step.gone) > 1 and step.timers):
            yield step
            return
        for number in sorted(step.gone):
            yield step._replace(actor=timer_name(number), footprint=self._footprint_of(self.timers[number]))

    def _footprint_of(self, timer: NewTimer) -> Footprint | None:
        if timer.part is None:
            return None
        parts = frozenset({timer.part})
        return Footprint(parts, parts)

    def _add(self, step: ReleasedStep) -> None:
        if step.footprint is not None and not self._orders_list:
            step = step._replace(footprint=step.footprint._replace(writes=step.footprint.writes - {_LIST}))
        needed = (_Place(actor, self._needed(actor, step)) for actor in self.steps if actor != step.actor)
        needs = tuple(place for place in needed if place.number)
        timed_by = self._timed_by(step) if self.moves else ()
        ages = tuple((place, step.at - self.step(place).at) for place in timed_by)
        rows = self.steps.setdefault(step.actor, [])
        rows.append(_KnownStep(step, needs, ages))

    def step(self, place: _Place) -> ReleasedStep:
        """Return the step of a place."""
        return self.steps[place.actor][place.number - 1].step

    def _needed(self, actor: str, step: ReleasedStep) -> int:
        """Return how many of the earlier steps of another actor have to come before a step."""
        earlier = self.steps[actor]
        count = len(earlier)
        while count and not _may_not_change_places(earlier[count - 1].step.footprint, step.footprint):
            count -= 1
        return count

    def _timed_by(self, step: ReleasedStep) -> Iterator[_Place]:
        """Yield the earlier steps from which the distance of a step in time has to be the same."""
        for actor, rows in self.steps.items():
            for count, known in enumerate(rows, start=1):
                is_own = actor == step.actor and actor in self._paced and count == len(rows)
                if is_own or _times(known.step, step):
                    yield _Place(actor, count)


@dataclass(slots=True, kw_only=True)
class _Replay:
    """
    The steps of a run in another order, as far as they have been released.

    Attributes:
        run: The run.
        now: The clock of the order.
        course: What was released.
        done: How many steps of each actor were released.
        at: The instants of the steps.
        pending: The instants at which timers are due, by their numbers.
    """

    run: _KnownRun
    now: Instant
    course: Course
    done: dict[str, int]
    at: dict[_Place, Instant]
    pending: dict[int, Instant]

    @classmethod
    def of(cls, run: _KnownRun) -> _Replay:
        """Return one of whose steps none was released."""
        replay = cls(
            run=run,
            now=run.began,
            course=Course(clients=run.clients),
            done=dict.fromkeys(run.steps, 0),
            at={},
            pending={},
        )
        replay._schedule(run.first_timers)
        return replay

    def after(self, name: str) -> _Replay | None:
        """Return what follows once an actor is released; None if that breaks a dependence."""
        later = self._copy()
        return later if later._go_on(name) else None

    def whole(self) -> Order | None:
        """Return the whole order that goes on serially; None if it breaks a dependence."""
        replay = self._copy()
        states: list[object] = [None] * len(self.course.decisions)
        while any(map(replay._has_step, self.run.clients)):
            states.append(replay._state())
            if not replay._go_on():
                return None
        # The timers that are left have to fire too: the user's check may see what they have changed.
        if any(map(replay._has_step, self.run.steps)):
            return None
        decisions = replay.course.decisions
        return Order([decision.chosen.name for decision in decisions], decisions, states)

    def _copy(self) -> _Replay:
        return replace(
            self,
            course=self.course.copy(),
            done=dict(self.done),
            at=dict(self.at),
            pending=dict(self.pending),
        )

    def _go_on(self, name: str | None = None) -> bool:
        """Release an actor, by default the serial one; return False if that breaks a dependence."""
        chosen = self.course.release(self._ready_steps(), lambda options: name or options[0].name)
        if chosen is None:
            return False
        return self._fire_timers() if chosen == TIMERS else self._release(chosen)

    def _state(self) -> object:
        """Return what is equal where the same can follow: the steps so far, and how long ago those were that later ones depend on."""
        times = {number: due - self.now for number, due in self.pending.items()}
        ages = {place: self.now - self.at[place] for place in self._needed_instants()}
        return (
            id(self.run),
            tuple(self.done.items()),
            self.course.last,
            self.course.vain_reads.state if self.course.last is not None else None,
            frozenset(times.items()),
            frozenset(ages.items()),
        )

    def _needed_instants(self) -> Iterator[_Place]:
        if not self.run.moves:
            return
        for name, rows in self.run.steps.items():
            done = self.done[name]
            if done and done < len(rows) and rows[done].step.waits == "sleep":
                yield _Place(name, done)
            for known in rows[done:]:
                yield from (place for place, _ in known.ages if place in self.at)

    def _ready_steps(self) -> list[Ready]:
        rows = [self._ready(name) for name in self.run.clients if self._has_step(name)]
        sleeps = {row.name: self._end_of_sleep(row.name) for row in rows if row.waits == "sleep"}
        return schedules.next_in_time(rows, sleeps, min(self.pending.values(), default=None))

    def _has_step(self, name: str) -> bool:
        return name in self.run.steps and self.done[name] < len(self.run.steps[name])

    def _ready(self, name: str) -> Ready:
        return Ready(name, self.run.steps[name][self.done[name]].step.waits)

    def _end_of_sleep(self, name: str) -> Instant:
        begun, ended = (_Place(name, self.done[name] + more) for more in (0, 1))
        return self.at[begun] + self.run.step(ended).at - self.run.step(begun).at

    def _release(self, name: str) -> bool:
        """Let the next step of an actor happen, and return True if it is the same as in the run."""
        if not self._has_step(name):
            return False
        known = self.run.steps[name][self.done[name]]
        if known.step.waits == "sleep":
            self.now = max(self.now, self._end_of_sleep(name))
        if not self._happens(name, known) or not self.pending.keys() >= set(known.step.gone):
            return False
        for number in known.step.gone:
            del self.pending[number]
        self._schedule(known.step.timers)
        self.course.note(name, known.step.waits, known.step.reads, goes_on=self._has_step(name))
        return True

    def _fire_timers(self) -> bool:
        """Fire the timers of the next instant, and return True if each has fired in the run too, in the same state."""
        due = min(self.pending.values())
        self.now = max(self.now, due)
        for number in [number for number, at in self.pending.items() if at == due]:
            name = timer_name(number)
            if not self._has_step(name) or not self._happens(name, self.run.steps[name][0]):
                return False
            del self.pending[number]
            self._schedule(self.run.steps[name][0].step.timers)
        self.course.note(TIMERS, "time", (), goes_on=False)
        return True

    def _happens(self, name: str, known: _KnownStep) -> bool:
        """Note that a step happens now, and return True if everything that it depends on is as in the run."""
        if any(self.done[actor] < count for actor, count in known.needs):
            return False
        if any(self.now - self.at.get(place, self.now) != age for place, age in known.ages):
            return False
        self.done[name] += 1
        self.at[_Place(name, self.done[name])] = self.now
        return True

    def _schedule(self, timers: Sequence[NewTimer]) -> None:
        self.pending.update((timer.number, self.now + timer.after) for timer in timers)


class _Beginning:
    """The runs that are equal to one beginning of an order so far, and the beginnings that are one step longer."""

    __slots__ = ("equal", "longer", "seen")

    def __init__(self) -> None:
        self.equal: list[_Replay] = []
        self.longer: dict[str, _Beginning] = {}
        self.seen = 0  # runs of the beginning that is one step shorter which were compared


class RunOrders:
    """
    The orders that were run.

    Lifetime: one search.

    Args:
        clients: The names of the clients in their order.
        shows_lists: The user's check may read lists of records.
    """

    def __init__(self, clients: Sequence[str], *, shows_lists: bool) -> None:
        self._clients, self._shows_lists = clients, shows_lists
        self._root = _Beginning()

    def add(self, played: Played) -> None:
        """Add a run; one in which more than its steps decides the order is equal to no other."""
        known = _KnownRun(played, self._clients, shows_lists=self._shows_lists)
        if played.is_plain and known.is_comparable:
            self._root.equal.append(_Replay.of(known))

    def equal_to(self, prefix: Sequence[str]) -> Order | None:
        """Return the whole order that begins with a prefix if a run is equal to it, else None."""
        beginning = self._root
        for name in prefix:
            longer = beginning.longer.setdefault(name, _Beginning())
            replays = (replay.after(name) for replay in beginning.equal[longer.seen :])
            longer.equal += [replay for replay in replays if replay is not None]
            longer.seen = len(beginning.equal)
            beginning = longer
        orders = (replay.whole() for replay in reversed(beginning.equal))
        return next((order for order in orders if order is not None), None)


def timer_name(number: int) -> str:
    """Return the name under which a timer is an actor of one step."""
    return f"{TIMERS} {number}"


def _may_not_change_places(one: Footprint | None, other: Footprint | None) -> bool:
    """Return True if one of two steps writes what the other reads or writes, or may do so."""
    if one is None or other is None:
        return True
    return not (
        one.writes.isdisjoint(other.writes)
        and one.writes.isdisjoint(other.reads)
        and other.writes.isdisjoint(one.reads)
    )


def _times(earlier: ReleasedStep, step: ReleasedStep) -> bool:
    """Return True if what a step does depends on how long ago an earlier one was."""
    if step.footprint is None:
        return True
    if earlier.footprint is None:
        return step.is_timed
    # A campaign is sent from the step on that schedules its timers; how long ago it was created makes no difference.
    is_of_timers = bool(earlier.timers or earlier.gone)
    return step.is_timed and is_of_timers and not earlier.footprint.writes.isdisjoint(step.footprint.reads)
