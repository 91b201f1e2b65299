"""
Schedules: the order in which the steps of actors are released, as text, and what one deviation from the serial order costs.

1. A schedule is text such as `worker*2 cron`: names of actors in the order of release. What it does not name follows
   serially.
2. Serially the actor that ran last continues, and what falls due is delivered at once. Releasing another actor while the
   last one has a step waiting is a preemption, and so is holding back a delivery that is due.
3. A client that sleeps, has ended, or repeats one read in vain waits for others: to release another is no preemption.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from mockserver.contract.text import closest_match_hint, whole_number
from mockserver.core.instants import Instant

TIMERS = "timers"
EVENTS = "events"  # of the first endpoint; the second one is events-2
_ENTRY = re.compile(r"(?P<name>[^\s*]+)(\*(?P<times>[1-9]\d{0,5}))?")

Waits = Literal["start", "call", "sleep", "delivery", "time"]


class Ready(NamedTuple):
    """An actor that has a step which can be released, and what the step is."""

    name: str
    waits: Waits

    @property
    def is_held_up(self) -> bool:
        """True for a step that another actor's release preempts."""
        return self.waits in ("start", "call")


class Situation(NamedTuple):
    """
    What can be released between two steps.

    Attributes:
        ready: The actors with a step: clients in their order, then endpoints, then timers.
        last: The actor that ran last; None at the beginning, and after the end of a client.
        held: The endpoints whose delivery was held back before.
        is_in_vain: The actor that ran last has repeated one read in vain.
    """

    ready: tuple[Ready, ...]
    last: str | None
    held: frozenset[str] = frozenset()
    is_in_vain: bool = False


class Release(NamedTuple):
    """An actor that can be released, and the number of preemptions that this costs."""

    name: str
    cost: int


@functools.lru_cache(maxsize=10_000)  # the runs of a search are in the same situations again and again
def options(situation: Situation) -> Sequence[Release]:
    """Return what can be released, the serial choice first."""
    last = next((ready for ready in situation.ready if ready.name == situation.last), None)
    passed = len(_prompt(situation))
    ranked = sorted(situation.ready, key=lambda ready: _rank(situation, ready, last))
    return tuple(Release(ready.name, _cost(situation, ready, last, passed)) for ready in ranked)


def held_after(situation: Situation, name: str) -> frozenset[str]:
    """Return the endpoints whose delivery is held back once this actor is released."""
    due = frozenset(ready.name for ready in situation.ready if ready.waits == "delivery")
    return situation.held - {name} if name in due else situation.held | due


def next_in_time(rows: Sequence[Ready], sleeps: Mapping[str, Instant], due: Instant | None) -> list[Ready]:
    """
    Return the steps that can be released; the clock passes nothing that is due, neither the end of a sleep nor a timer.

    Args:
        rows: All steps but the timers.
        sleeps: The ends of sleeps by actor.
        due: The instant of the next timer, which fires alone if nobody sleeps; None if there is none.
    """
    first = min(sleeps.values(), default=None)
    has_timers = first is not None and due is not None and due <= first
    ready = [row for row in rows if row.waits != "sleep" or (sleeps[row.name] == first and not has_timers)]
    return [*ready, Ready(TIMERS, "time")] if has_timers else ready


def _prompt(situation: Situation) -> frozenset[str]:
    return frozenset(ready.name for ready in situation.ready if ready.waits == "delivery") - situation.held


def _cost(situation: Situation, ready: Ready, last: Ready | None, passed: int) -> int:
    """Return the cost of a release that passes over so many deliveries."""
    if ready.waits == "delivery":
        return 0
    if ready is last:
        return passed + (situation.is_in_vain and len(situation.ready) > 1)
    return passed + (last is not None and last.is_held_up and not situation.is_in_vain)


def _rank(situation: Situation, ready: Ready, last: Ready | None) -> int:
    is_last = ready is last
    if ready.waits == "delivery":
        return 1 if ready.name not in situation.held else 6
    if is_last and not situation.is_in_vain:
        return 2
    if ready.waits == "time":
        # Serially a client that sleeps goes on sleeping, and time passes.
        return 3 if situation.last is not None and not (last is not None and last.is_held_up) else 8
    if ready.waits == "sleep" or is_last:
        return 7
    return 4


def parse(text: str, names: Sequence[str]) -> list[str]:
    """
    Return the names of a schedule in order.

    Args:
        text: Such as `worker*2 cron`.
        names: Of the actors that there are.

    Raises:
        ValueError: An entry is not a name with an optional number of times, or no actor has the name.
    """
    schedule: list[str] = []
    for entry in text.split():
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise ValueError(f"schedule: got {entry!r}; expected the name of an actor, or NAME*TIMES")
        name = match["name"]
        if name not in names and not is_endpoint(name):
            hint = closest_match_hint(name, names) or f": {', '.join(names)}"
            raise ValueError(f"schedule: got {name!r}; expected an actor{hint}")
        schedule += [name] * (whole_number(match["times"] or "1") or 1)
    return schedule


def check_clients(clients: Mapping[str, object]) -> None:
    """
    Check the clients of an interleaving.

    Raises:
        ValueError: They are not a mapping, there is none, a name is not a word or that of the deliveries or the timers, or a client is no function.
    """
    expected = "expected functions by name, such as {'worker': work, 'cron': work}"
    if not isinstance(clients, Mapping) or not clients:
        got = "none" if isinstance(clients, Mapping) else f"a {type(clients).__name__}"
        raise ValueError(f"clients: got {got}; {expected}")
    for name, client in clients.items():
        if not isinstance(name, str) or re.fullmatch(r"[^\s*]+", name) is None or is_endpoint(name) or name == TIMERS:
            raise ValueError(
                f"clients: got the name {name!r}; expected a word other than {EVENTS} and {TIMERS}, without *"
            )
        if not callable(client):
            raise ValueError(f"clients: got {client!r} for {name!r}; expected a function of a sandbox")  # noqa: TRY004 - as for the name


def is_endpoint(name: str) -> bool:
    """Return True for the name of the deliveries of an endpoint."""
    return re.fullmatch(rf"{EVENTS}(-[1-9]\d*)?", name) is not None


def endpoint_name(place: int) -> str:
    """Return the name of the deliveries of an endpoint, by its place among the endpoints from 0."""
    return EVENTS if place == 0 else f"{EVENTS}-{place + 1}"


def as_text(names: Iterable[str]) -> str:
    """Return names in order as a schedule."""
    groups = ((name, sum(1 for _ in rows)) for name, rows in groupby(names))
    return " ".join(name if times == 1 else f"{name}*{times}" for name, times in groups)
