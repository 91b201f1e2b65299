"""
What the calls of one sandbox have covered, read from its journal, deliveries, rules of conduct and choices.

1. A call of any sender counts; HEAD and OPTIONS do not. An answer counts if the client received it whole.
2. A transition counts if a call caused it, if an answer or an event that the client received shows the record in its
   new state, or, of a delivery, if a request of it reached the receiver. Seed data causes no transition that counts.
3. A choice counts with the option in force when it was read: for a call, a request to a receiver or a page of the hosted
   flow, or for a timer of a record that a call created.
4. What is covered already is not looked for again, so that a long session costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.effects import ALIASES
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.lifecycles import LIFECYCLES, Step
from mockserver.contract.wire_faults import WIRE_FAULTS
from mockserver.core.run import Run
from mockserver.core.state.journal import Transition
from mockserver.core.webhooks.deliveries import LOST
from mockserver.judge.client.chances import chances
from mockserver.judge.client.former_evidence import Evidence, body_of, succeeded
from mockserver.judge.client.requests import statements
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import (
    DEADLINE,
    ENDS,
    answer_item,
    fault_item,
    step_item,
)

_SUCCESSES: Mapping[str, str] = MappingProxyType({operation: answer_item(operation, None) for operation in OPERATIONS})
_IDS = ("id", "campaignId", "executionId", "sessionId")


def _step_items(kind: str, step: Step) -> tuple[str, ...]:
    deadlines = {(row.state, row.trigger) for row in LIFECYCLES[kind].deadlines}
    triggers = [step.trigger]
    if (step.source, step.trigger) in deadlines:
        triggers.append(DEADLINE)
    return tuple(step_item(kind, step.source, trigger) for trigger in triggers)


# By kind, source and target of a transition: the item of its trigger, then that of the deadline if there is one.
_ITEMS: Mapping[tuple[str, str, str], tuple[str, ...]] = MappingProxyType(
    {
        (kind, step.source, step.target): _step_items(kind, step)
        for kind, table in LIFECYCLES.items()
        for step in table.steps
    }
)


class ChoicesRead(NamedTuple):
    """
    The items of choices that were read in a sandbox.

    Attributes:
        outside_timers: Those that a call, a request to a receiver or a page of the hosted flow read.
        by_timers: Those that timers read, each with the ids of the records to which the timers belong.
    """

    outside_timers: AbstractSet[str]
    by_timers: Mapping[str, AbstractSet[str]]


def gather(run: Run, into: Coverage, choices_read: ChoicesRead) -> None:
    """
    Add what a run shows to a coverage.

    Args:
        run: What has happened in a sandbox.
        into: Gets the items.
        choices_read: Empty unless the sandbox tracks its choices.

    Lock: The caller holds the sandbox's lock, or passes a copy.
    """
    if not run.exchanges and not run.deliveries:
        return
    evidence = Evidence(run)
    _add_exchanges(evidence, into)
    _add_transitions(evidence, into)
    into.add("conduct", *chances(evidence, into.lacking("conduct")))
    if evidence.exchanges:
        into.add("choices", *choices_read.outside_timers)
        if choices_read.by_timers:
            timers = choices_read.by_timers
            lacking = timers.keys() & into.lacking("choices")
            into.add("choices", *(item for item in lacking if any(_is_made(evidence, id) for id in timers[item])))


def _is_made(evidence: Evidence, timer_of: str) -> bool:
    """Return True if a call created the record of a timer, or the session of its delivery."""
    delivery = evidence.run.deliveries.get(timer_of)
    return (timer_of if delivery is None else delivery.event.record.id) in evidence.made


def _add_exchanges(evidence: Evidence, into: Coverage) -> None:
    into.add("operations", *evidence.operations)
    successes: Iterable[str] = evidence.operations
    if evidence.troubled:
        _add_troubled(evidence, into)
        successes = {exchange.operation or "" for exchange in evidence.exchanges if succeeded(exchange)}
    into.add("answers", *[_SUCCESSES[operation] for operation in successes])
    for exchange in evidence.filtering:
        if exchange.applied:
            rows = statements(body_of(exchange).get("filters"))
            into.add("filters", *(f"{row.get('field')} {row.get('operator')}" for row in rows))


def _add_troubled(evidence: Evidence, into: Coverage) -> None:
    """Add the error codes that the client received, and the faults of the wire."""
    for exchange in evidence.troubled:
        operation = exchange.operation or ""
        if not succeeded(exchange) and (code := evidence.code(exchange)) is not None:
            into.add("answers", answer_item(operation, code))
        if exchange.fault is not None:
            meant = (ALIASES.get(name, (name, argument)) for name, argument in exchange.fault.effects.items())
            into.add("faults", *(fault_item(operation, *each) for each in meant if each[0] in WIRE_FAULTS))


def _add_transitions(evidence: Evidence, into: Coverage) -> None:
    """Add transitions, latest first: one of a delivery counts by the attempt that is its cause, or that follows it."""
    lacking = into.lacking("steps")
    attempted: set[str] = set()
    unread: list[Transition] = []  # no call caused them
    for transition in reversed(evidence.run.transitions):
        if transition.source is None:
            continue  # the record was created
        items = _ITEMS.get((transition.kind, transition.source, transition.target))
        if items is None:
            continue  # seed data created the record in a later state
        if transition.kind == "delivery":
            _add_delivery(evidence.run, transition, attempted, into)
        elif "given" in transition.cause or lacking.isdisjoint(items):
            continue
        elif "exchange" in transition.cause:
            into.add("steps", *_items(transition))
        else:
            unread.append(transition)
    if unread:
        shown = _shown(evidence, {transition.target for transition in unread})
        is_shown = (transition for transition in unread if (transition.id, transition.target) in shown)
        into.add("steps", *(item for transition in is_shown for item in _items(transition)))


def _items(transition: Transition) -> tuple[str, ...]:
    """Return the items of a transition; one that a rule or command forced is not that of a deadline."""
    items, cause = _ITEMS[transition.kind, transition.source or "", transition.target], transition.cause
    is_forced = "rule" in cause or "forced" in cause or cause.get("page") == "simulate"
    return items[:1] if is_forced else items


def _add_delivery(run: Run, transition: Transition, attempted: set[str], into: Coverage) -> None:
    """Add a transition of a delivery; `attempted` gets the delivery's id if a request of it reached the receiver."""
    delivery, number = run.deliveries.get(transition.id), transition.cause.get("attempt")
    has_reached = delivery is not None and any(  # no rule has lost the request of the attempt that caused it
        attempt.number == number and attempt.fault is None and attempt.error != LOST for attempt in delivery.attempts
    )
    if has_reached:
        attempted.add(transition.id)
    if transition.id in attempted and (has_reached or "attempt" not in transition.cause):
        into.add("steps", *_items(transition))
        if delivery is not None and transition.target in ENDS:
            into.add("deliveries", f"{delivery.event.kind} {transition.target}")


def _shown(evidence: Evidence, states: AbstractSet[str]) -> set[tuple[str, str]]:
    """Return the records, each with one of the states, that an answer or an event has shown to the client."""
    shown: set[tuple[str, str]] = set()
    texts = tuple(f'"{state}"'.encode() for state in states)
    for exchange in evidence.exchanges:
        # A body without these texts may have them as escapes, which a rule may send.
        may_show = any(text in exchange.answer for text in texts) or b"\\" in exchange.answer
        if may_show and succeeded(exchange):
            ids = tuple(exchange.call.params.values())[-1:]  # a body without an id is that of the record in the path
            shown.update(_states(evidence.answer(exchange), ids))
    for delivery in evidence.run.deliveries.values():
        if any(attempt.fault is None and attempt.status is not None for attempt in delivery.attempts):
            shown.add((delivery.event.record.id, delivery.event.record.status))
    return shown


def _states(value: Any, ids: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield id and state of each record in a body."""
    if isinstance(value, list):
        for row in value:
            yield from _states(row)
    elif isinstance(value, dict):
        own = tuple(value[key] for key in _IDS if isinstance(value.get(key), str))
        if isinstance(value.get("status"), str):
            yield from ((record_id, value["status"]) for record_id in own or ids)
        for part in value.values():
            yield from _states(part)
