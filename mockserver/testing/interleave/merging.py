"""
Orders that are equal to one that was run: they only exchange steps that have no part of the sandbox's state in common.

An order is compared with a run step by step, as the run's steps would be released by it. If each step comes after all those
that it depends on, and no other step that it depends on comes before it, every client gets the same answers in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.testing.interleave import schedules
from mockserver.testing.interleave.run import Decision, Order, Played, ReleasedStep
from mockserver.testing.interleave.schedules import Ready, Situation


class _Known:
    """A run, with what each of its steps depends on."""

    def __init__(self, played: Played, clients: Sequence[str]) -> None:
        self.clients = clients
        self.steps: dict[str, list[ReleasedStep]] = {}
        self.needs: dict[str, list[Mapping[str, int]]] = {}  # by actor and place: how many steps of others come before
        self._due_from: dict[str, list[tuple[str, int]]] = {}  # by delivery: after which step of whom it is due
        earlier: list[ReleasedStep] = []
        for step in played.steps:
            needs = dict[str, int]()
            counts = dict[str, int]()
            for other in earlier:
                counts[other.actor] = counts.get(other.actor, 0) + 1
                if other.actor != step.actor and _depend(other, step):
                    needs[other.actor] = counts[other.actor]
            self.steps.setdefault(step.actor, []).append(step)
            self.needs.setdefault(step.actor, []).append(needs)
            for name in sorted(step.due):
                self._due_from.setdefault(name, []).append((step.actor, len(self.steps[step.actor])))
            earlier.append(step)

    def follows(self, prefix: Sequence[str]) -> dict[str, int] | None:
        """Return how many steps each actor has had after a prefix; None if the prefix breaks a dependence."""
        done = dict.fromkeys(self.steps, 0)
        for name in prefix:
            if not self._may_step(name, done):
                return None
            done[name] += 1
        return done

    def _may_step(self, name: str, done: Mapping[str, int]) -> bool:
        place = done.get(name, -1)
        if place < 0 or place >= len(self.steps[name]):
            return False
        return all(done[other] >= count for other, count in self.needs[name][place].items())

    def order(self, prefix: Sequence[str]) -> Order | None:
        """Return the whole order that begins with a prefix and goes on serially; None if it breaks a dependence."""
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
            if chosen is None or not self._may_step(name, done):
                return None
            held = (held | schedules.passed_over(situation, name)) - ({name} if name not in self.clients else set())
            done[name] += 1
            names.append(name)
            decisions.append(Decision(ranked, chosen, last is None))
            if name in self.clients:
                last = name if done[name] < len(self.steps[name]) else None
        return Order(names, decisions)

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


def _depend(one: ReleasedStep, other: ReleasedStep) -> bool:
    return one.footprint is None or other.footprint is None or not one.footprint.commutes_with(other.footprint)


class RunOrders:
    """
    The orders that were run.

    Lifetime: one search.

    Args:
        clients: The names of the clients in their order.
    """

    def __init__(self, clients: Sequence[str]) -> None:
        self._clients = clients
        self._known: list[_Known] = []

    def add(self, played: Played) -> None:
        """Add a run; one in which more than calls decides the order is equal to no other."""
        if played.is_plain:
            self._known.append(_Known(played, self._clients))

    def equal_to(self, prefix: Sequence[str]) -> Order | None:
        """Return the whole order that begins with a prefix if a run is equal to it, else None."""
        for known in reversed(self._known):
            if known.follows(prefix) is not None:
                order = known.order(prefix)
                if order is not None:
                    return order
        return None
