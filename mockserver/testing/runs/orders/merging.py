"""
Orders that are equal to one that was run: they only exchange steps that have no part of the sandbox's state in common.

An order is compared with a run step by step, as the run's steps would be released by it. If each step comes after all those
that it depends on, and no other step that it depends on comes before it, every client gets the same answers in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.core.operations.footprints import Footprint
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.played import Decision, Order, Played, ReleasedStep
from mockserver.testing.runs.orders.schedules import Ready, Situation


def _may_not_change_places(one: Footprint | None, other: Footprint | None) -> bool:
    """Return True if one of two steps writes what the other reads or writes, or may do so."""
    if one is None or other is None:
        return True
    return not (
        one.writes.isdisjoint(other.writes)
        and one.writes.isdisjoint(other.reads)
        and other.writes.isdisjoint(one.reads)
    )


class _Known:
    """A run, with what each of its steps depends on."""

    def __init__(self, played: Played, clients: Sequence[str]) -> None:
        self.clients = clients
        self.steps: dict[str, list[ReleasedStep]] = {}
        # By actor and place: how many steps of others come before, at least one.
        self._needs: dict[str, list[list[tuple[str, int]]]] = {}
        self._due_from: dict[str, list[tuple[str, int]]] = {}  # by delivery: after which step of whom it is due
        for step in played.steps:
            needs = list[tuple[str, int]]()
            for other, earlier in self.steps.items():
                count = len(earlier) if other != step.actor else 0
                while count and not _may_not_change_places(earlier[count - 1].footprint, step.footprint):
                    count -= 1
                if count:
                    needs.append((other, count))
            self.steps.setdefault(step.actor, []).append(step)
            self._needs.setdefault(step.actor, []).append(needs)
            for name in sorted(step.due):
                self._due_from.setdefault(name, []).append((step.actor, len(self.steps[step.actor])))

    def may_step(self, name: str, done: Mapping[str, int]) -> bool:
        """Return True if the next step of an actor breaks no dependence, after so many steps of each actor."""
        place, needs = done.get(name, 0), self._needs.get(name, ())
        return place < len(needs) and all(done.get(other, 0) >= count for other, count in needs[place])

    def order(self, prefix: Sequence[str]) -> Order | None:
        """Return the whole order that begins with a prefix and goes on serially; None if it breaks a dependence."""
        if not self._may_go_on(prefix):
            return None
        done = dict.fromkeys(self.steps, 0)
        names, decisions = list[str](), list[Decision]()
        last: str | None = None
        held = frozenset[str]()
        total = sum(map(len, self.steps.values()))
        while len(names) < total:
            situation = Situation(self._ready(done), last, held)
            if not situation.ready:
                return None
            ranked = schedules.options(situation)
            name = prefix[len(names)] if len(names) < len(prefix) else ranked[0].name
            chosen = next((option for option in ranked if option.name == name), None)
            if chosen is None or not self.may_step(name, done):
                return None
            held = (held | schedules.passed_over(situation, name)) - ({name} if name not in self.clients else set())
            done[name] += 1
            names.append(name)
            decisions.append(Decision(ranked, chosen, last is None))
            if name in self.clients:
                last = name if done[name] < len(self.steps[name]) else None
        return Order(names, decisions)

    def _may_go_on(self, prefix: Sequence[str]) -> bool:
        """Return False if the serial steps after a prefix break a dependence; of deliveries that is not known beforehand."""
        if not prefix or len(self.steps) > sum(name in self.steps for name in self.clients):
            return True
        done = {name: prefix.count(name) for name in self.steps}
        for name in (prefix[-1], *self.clients):
            while done.get(name, 0) < len(self.steps.get(name, ())):
                if not self.may_step(name, done):
                    return False
                done[name] += 1
        return True

    def _ready(self, done: Mapping[str, int]) -> list[Ready]:
        clients = [
            Ready(name, self.steps[name][done[name]].waits)
            for name in self.clients
            if name in self.steps and done[name] < len(self.steps[name])
        ]
        deliveries = [
            Ready(name, "delivery")
            for name in sorted(set(self.steps) - set(self.clients))
            if done[name] < len(self.steps[name]) and self._is_due(name, done)
        ]
        return clients + deliveries

    def _is_due(self, name: str, done: Mapping[str, int]) -> bool:
        """Return True if the step has happened in which the next delivery of an endpoint fell due."""
        causes = self._due_from.get(name, [])
        if done[name] >= len(causes):
            return bool(causes)
        actor, count = causes[done[name]]
        return done[actor] >= count


class _Beginning:
    """The runs that are equal to one beginning of an order so far, and the beginnings that are one step longer."""

    __slots__ = ("equal", "longer", "seen")

    def __init__(self) -> None:
        self.equal: list[_Known] = []
        self.longer: dict[str, _Beginning] = {}
        self.seen = 0  # runs of the beginning that is one step shorter which were compared


class RunOrders:
    """
    The orders that were run.

    Lifetime: one search.

    Args:
        clients: The names of the clients in their order.
    """

    def __init__(self, clients: Sequence[str]) -> None:
        self._clients = clients
        self._root = _Beginning()

    def add(self, played: Played) -> None:
        """Add a run; one in which more than calls decides the order is equal to no other."""
        if played.is_plain and all(step.waits not in ("sleep", "time") for step in played.steps):
            self._root.equal.append(_Known(played, self._clients))

    def equal_to(self, prefix: Sequence[str]) -> Order | None:
        """Return the whole order that begins with a prefix if a run is equal to it, else None."""
        beginning, done = self._root, dict[str, int]()
        for name in prefix:
            longer = beginning.longer.get(name) or beginning.longer.setdefault(name, _Beginning())
            longer.equal += [known for known in beginning.equal[longer.seen :] if known.may_step(name, done)]
            longer.seen = len(beginning.equal)
            done[name] = done.get(name, 0) + 1
            beginning = longer
        orders = (known.order(prefix) for known in reversed(beginning.equal))
        return next((order for order in orders if order is not None), None)
