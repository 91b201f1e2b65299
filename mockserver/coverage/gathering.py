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

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from mockserver.conduct.chances import chances
from mockserver.conduct.evidence import Evidence, body_of, succeeded
from mockserver.conduct.requests import statements
from mockserver.contract.effects import ALIASES
from mockserver.contract.lifecycles import LIFECYCLES, Step
from mockserver.contract.wire_faults import WIRE_FAULTS
from mockserver.core.ledger import creating_exchanges
from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks.deliveries import LOST
from mockserver.coverage.coverage import Coverage
from mockserver.coverage.dimensions import (
    DEADLINE,
    ENDS,
    answer_item,
    choice_item,
    fault_item,
    step_item,
)

_IDS = ("id", "campaignId", "executionId", "sessionId")


# A choice with its value when it was read, None for numbers, and the id of the record whose timer was due, "" outside of
# timers. A plain tuple: each read of a choice makes one.
ChoiceRead = tuple[str, str | None, str]


def gather(sandbox: SandboxState, into: Coverage, choices_read: Collection[ChoiceRead] = ()) -> None:
    """
    Add what a sandbox shows to a coverage.

    Args:
        sandbox: The sandbox.
        into: Gets the items.
        choices_read: The choices that were read, if the sandbox tracks them.

    Lock: The caller holds the sandbox's lock, or passes a copy.
    """
    if not sandbox.journal.exchanges and not sandbox.outbox.deliveries:
        return
    evidence = Evidence(sandbox)
    for exchange in evidence.exchanges:
        _add_exchange(evidence, exchange, into)
    _add_transitions(evidence, into)
    into.add("conduct", *chances(evidence, into.lacking("conduct")))
    if evidence.exchanges and choices_read:
        _add_choices(sandbox, into, choices_read)


def _add_choices(sandbox: SandboxState, into: Coverage, choices_read: Collection[ChoiceRead]) -> None:
    lacking = into.lacking("choices")
    reads = [read for read in choices_read if choice_item(read[0], read[1]) in lacking]
    if reads:
        made = creating_exchanges(sandbox)
        into.add("choices", *(choice_item(read[0], read[1]) for read in reads if _is_of_client(sandbox, read, made)))


def _add_exchange(evidence: Evidence, exchange: JournalEntry, into: Coverage) -> None:
    operation = exchange.operation or ""
    into.add("operations", operation)
    if succeeded(exchange):
        into.add("answers", answer_item(operation, None))
    elif (code := evidence.code(exchange)) is not None:
        into.add("answers", answer_item(operation, code))
    if exchange.fault is not None:
        into.add("faults", *_faults(operation, exchange.fault.effects))
    if exchange.applied and operation in ("previewAudience", "createCampaign"):
        rows = statements(body_of(exchange).get("filters"))
        into.add("filters", *(f"{row.get('field')} {row.get('operator')}" for row in rows))


def _faults(operation: str, effects: Mapping[str, Any]) -> Iterator[str]:
    for name, argument in effects.items():
        fault, meant = ALIASES.get(name, (name, argument))
        if fault in WIRE_FAULTS:
            yield fault_item(operation, fault, meant)


def _add_transitions(evidence: Evidence, into: Coverage) -> None:
    """Add transitions, latest first: one of a delivery counts by the attempt that is its cause, or that follows it."""
    missing = into.lacking("steps") | into.lacking("deliveries")
    shown: dict[str, AbstractSet[str]] = {}
    attempted: set[str] = set()
    for transition in reversed(evidence.sandbox.journal.transitions):
        step = _step(transition)
        if step is None:
            continue
        items = list(_items(evidence.sandbox, transition, step))
        if transition.kind == "delivery":
            if _reached_receiver(evidence.sandbox, transition):
                attempted.add(transition.id)
            is_met = transition.id in attempted and not _is_unsent(evidence.sandbox, transition)
        elif missing.isdisjoint(items) or "given" in transition.cause:
            continue
        elif "exchange" in transition.cause:
            is_met = True
        else:
            if transition.target not in shown:
                shown[transition.target] = _shown(evidence, transition.target)
            is_met = transition.id in shown[transition.target]
        if is_met:
            into.add("steps", *(item for item in items if item in missing))
            into.add("deliveries", *_end(evidence.sandbox, transition))


def _step(transition: Transition) -> Step | None:
    """Return the row of a transition; None for the creation of a record."""
    rows = LIFECYCLES[transition.kind].steps
    return next((row for row in rows if (row.source, row.target) == (transition.source, transition.target)), None)


def _items(sandbox: SandboxState, transition: Transition, step: Step) -> Iterator[str]:
    yield step_item(transition.kind, step.source, step.trigger)
    for deadline in LIFECYCLES[transition.kind].deadlines:
        is_forced = not {"rule", "forced"}.isdisjoint(transition.cause) or transition.cause.get("page") == "simulate"
        if (deadline.state, deadline.trigger) == (step.source, step.trigger) and not is_forced:
            yield step_item(transition.kind, step.source, DEADLINE)


def _reached_receiver(sandbox: SandboxState, transition: Transition) -> bool:
    """Return True if an attempt caused this transition of a delivery, and its request was not lost by a rule."""
    delivery, number = sandbox.outbox.deliveries.get(transition.id), transition.cause.get("attempt")
    if delivery is None or number is None:
        return False
    return any(
        attempt.number == number and attempt.fault is None and attempt.error != LOST for attempt in delivery.attempts
    )


def _is_unsent(sandbox: SandboxState, transition: Transition) -> bool:
    """Return True for the result of an attempt whose request was lost."""
    return "attempt" in transition.cause and not _reached_receiver(sandbox, transition)


def _end(sandbox: SandboxState, transition: Transition) -> Iterator[str]:
    delivery = sandbox.outbox.deliveries.get(transition.id) if transition.kind == "delivery" else None
    if delivery is not None and transition.target in ENDS:
        yield f"{delivery.event.kind} {transition.target}"


def _shown(evidence: Evidence, state: str) -> AbstractSet[str]:
    """Return the ids of the records that an answer or an event has shown to the client in a state."""
    shown, word = set[str](), state.encode()
    for exchange in evidence.exchanges:
        if word in exchange.answer and succeeded(exchange):  # to parse every answer takes longer than all else here
            ids = tuple(exchange.call.params.values())[-1:]  # a body without an id is that of the record in the path
            shown.update(record_id for record_id, status in _states(evidence.answer(exchange), ids) if status == state)
    for delivery in evidence.sandbox.outbox.deliveries.values():
        if any(attempt.fault is None and attempt.status is not None for attempt in delivery.attempts):
            shown.update({delivery.event.session.id} if delivery.event.session.status == state else ())
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


def _is_of_client(sandbox: SandboxState, read: ChoiceRead, made: Mapping[str, int]) -> bool:
    """Return True if a choice was read outside of timers, or for one of a record that a call created."""
    timer_of = read[2]
    delivery = sandbox.outbox.deliveries.get(timer_of)
    record_id = delivery.event.session.id if delivery is not None else timer_of
    return record_id == "" or record_id in made
