"""
What the calls of one sandbox have covered, counted over its trace.

1. A call of any sender counts; HEAD and OPTIONS do not. An answer counts if the client received it whole.
2. A transition counts if a call caused it, if an answer or an event that the client received shows the record in its
   new state, or, of a delivery, if a request of it reached the receiver. Seed data causes no transition that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.effects import WIRE_FAULTS
from mockserver.contract.filters import statements
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core.state.journal import Transition
from mockserver.judge.client.evidence import WITH_FILTERS
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import DEADLINE, ENDS, answer_item, fault_item, step_item
from mockserver.trace.exchange import Exchange
from mockserver.trace.sightings import sightings_of
from mockserver.trace.trace import Trace

_TRIGGERS: Final[Mapping[tuple[str, str, str], str]] = MappingProxyType(
    {(kind, step.source, step.target): step.trigger for kind, table in LIFECYCLES.items() for step in table.steps}
)
_DEADLINES: Final = frozenset(
    (kind, deadline.state, deadline.trigger) for kind, table in LIFECYCLES.items() for deadline in table.deadlines
)


def gather(trace: Trace, into: Coverage, *, counts_faults: bool) -> None:
    """
    Add what a trace of a sandbox shows to a coverage.

    Args:
        trace: What has happened in the sandbox.
        into: Gets the items.
        counts_faults: False leaves out the faults.
    """
    if not trace.exchanges and not trace.deliveries:
        return
    into.add("operations", *trace.operations)
    into.add("answers", *_answers(trace.calls))
    if counts_faults:
        into.add("faults", *_faults(trace.calls))
    into.add("filters", *_filters(trace.of(*WITH_FILTERS)))
    into.add("steps", *_steps(trace))
    for transition, event in _reported(trace):
        into.add("steps", *_items(transition))
        if transition.target in ENDS:
            into.add("deliveries", f"{event} {transition.target}")


def _answers(calls: Iterable[Exchange]) -> Iterator[str]:
    for call in calls:
        if call.succeeded:
            yield answer_item(call.operation or "", None)
        elif call.code is not None:
            yield answer_item(call.operation or "", call.code)


def _faults(calls: Iterable[Exchange]) -> Iterator[str]:
    for call in calls:
        for name, argument in call.fault.items():
            if name in WIRE_FAULTS:
                yield fault_item(call.operation or "", name, argument)


def _filters(calls: Iterable[Exchange]) -> Iterator[str]:
    for call in calls:
        for statement in statements(call.sent.get("filters")) if call.applied else ():
            yield f"{statement.get('field')} {statement.get('operator')}"


def _steps(trace: Trace) -> Iterator[str]:
    unread: list[Transition] = []  # no call caused them
    for transition in trace.sandbox.transitions:
        if transition.kind == "delivery":
            continue
        if "exchange" in transition.cause:
            yield from _items(transition)
        elif "given" not in transition.cause:
            unread.append(transition)
    shown = _shown(trace) if unread else ()
    for transition in unread:
        if (transition.id, transition.target) in shown:
            yield from _items(transition)


def _items(transition: Transition) -> Sequence[str]:
    """Return the items of a transition: its step, and the deadline of the state unless a rule or command forced it; none of a creation."""
    kind, source, cause = transition.kind, transition.source or "", transition.cause
    trigger = _TRIGGERS.get((kind, source, transition.target))
    if trigger is None:
        return ()
    is_forced = "rule" in cause or "forced" in cause or cause.get("page") == "simulate"
    if is_forced or (kind, source, trigger) not in _DEADLINES:
        return (step_item(kind, source, trigger),)
    return (step_item(kind, source, trigger), step_item(kind, source, DEADLINE))


def _shown(trace: Trace) -> AbstractSet[tuple[str, Any]]:
    """Return the records, each with a state, that an answer or an event has shown to the client."""
    shown: set[tuple[str, Any]] = set()
    for call in trace.calls:
        shown.update((sighting.id, sighting.status) for sighting in sightings_of(call))
        if call.succeeded and call.params:  # the reply of a rule may leave out the id
            shown.add(([*call.params.values()][-1], call.field("status")))
    for attempt in trace.deliveries:
        if attempt.fault is None and attempt.status is not None:
            shown.update((sighting.id, sighting.status) for sighting in sightings_of(attempt))
    return shown


def _reported(trace: Trace) -> Iterator[tuple[Transition, str]]:
    """Yield the transitions of deliveries whose cause is an attempt that reached the receiver, or comes before one, with the event's kind."""
    reached = {(each.delivery, each.attempt) for each in trace.deliveries if each.fault is None and not each.is_lost}
    kinds = {each.delivery: each.kind for each in trace.deliveries}
    of_deliveries = [each for each in trace.sandbox.transitions if each.id in kinds]
    last = {each.id: each.n for each in of_deliveries if (each.id, each.cause.get("attempt")) in reached}
    for transition in of_deliveries:
        attempt = transition.cause.get("attempt")
        if (transition.id, attempt) in reached or (attempt is None and transition.n < last.get(transition.id, 0)):
            yield transition, kinds[transition.id]
