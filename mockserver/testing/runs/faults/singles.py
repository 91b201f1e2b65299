"""
The steps that can be added to a run, by the calls and deliveries of that run; and those of them that are equal.

Two placements are equal if they have the same fault at calls of the same operation, with the same request, class of the
answer and state of the addressed record, and the same calls follow; of calls that repeat in a row, also several in turn as
of a client that polls two records, each counts once. A paused template is equal before any of the calls up to the first
one that depends on templates.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import LISTING, READING
from mockserver.testing.runs.faults.clean import CleanRun, Delivered
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.tables import (
    ACTS,
    DELIVERY_FAULTS,
    FAULTS,
    READS,
    STALL_ENDS_AFTER,
    TIME_ZONE,
    ActRow,
    WireRow,
)
from mockserver.testing.runs.traced_calls import TracedCall
from mockserver.testing.sweep import options as options_of

_POLLED = (READING["execution"].id, READING["campaign"].id, LISTING["campaign"].id)
_STALL = "sends-stall"
_TURNS_MAX = 4  # calls that repeat in turn


class Candidate(NamedTuple):
    """A step, and the key that is equal for steps of which one is enough."""

    step: ExploreStep
    key: Any


def at_calls(
    calls: Sequence[TracedCall],
    clean: CleanRun,
    options: ExploreOptions,
    first: int = 0,
    *,
    is_second: bool = False,
) -> Iterator[Candidate]:
    """
    Yield the faults and acts at each call, in the order of the calls.

    Args:
        calls: The calls of the run that the steps are added to.
        clean: The clean run, for templates and entrypoints.
        options: The faults and operations to try.
        first: The place of the first call at which a step may happen.
        is_second: The steps are the second ones of pairs.
    """
    named = frozenset(call.addressed for call in calls)
    contexts = _contexts(calls)
    for place in range(first, len(calls)):
        call = calls[place]
        if not options.has_operation(call.operation):
            continue
        context = contexts[place]
        yield from _faults(call, context, options, is_second=is_second)
        for act in ACTS.values():
            if options.has_fault(act.name):
                at = context if act.matters_to is None else _first_that(act, calls, contexts, place)
                targets = _targets(act, call, clean, named)
                yield from _acts(act, calls, place, targets, at)


def _faults(
    call: TracedCall, context: tuple[Any, ...], options: ExploreOptions, *, is_second: bool
) -> Iterator[Candidate]:
    changes_nothing = call.operation in READS or call.is_refused
    for row in FAULTS.values():
        is_wanted = options.has_fault(row.name) and (row.is_in_pairs or not is_second)
        if not is_wanted or not _applies(row, call):
            continue
        step = ExploreStep(
            kind="fault",
            operation=call.operation,
            call=call.number,
            nth=call.nth,
            name=row.name,
            answer_bytes=call.answer_bytes,
        )
        name = row.twin if row.twin and changes_nothing else row.name
        yield Candidate(step, (name, *((call.operation,) if row.variant_of else context)))


def _contexts(calls: Sequence[TracedCall]) -> list[tuple[Any, ...]]:
    """Return for each call what makes a placement at it equal to one at another call."""
    keys = [call.key for call in calls]
    contexts: list[tuple[Any, ...]] = []
    following: list[object] = []  # the keys of the calls after a place without what repeats, the nearest last
    digests = [0]  # of `following` and each of its beginnings
    for place in range(len(keys) - 1, -1, -1):
        key = keys[place]
        is_repeated = key in keys[max(0, place - _TURNS_MAX) : place]
        contexts.append((key, is_repeated, digests[-1]))
        following.append(key)
        digests.append(hash((key, digests[-1])))
        for turns in range(1, _TURNS_MAX + 1):
            if len(following) >= 2 * turns and following[-turns:] == following[-2 * turns : -turns]:
                del following[-turns:], digests[-turns:]
                break
    return contexts[::-1]


def _first_that(
    act: ActRow, calls: Sequence[TracedCall], contexts: Sequence[tuple[Any, ...]], place: int
) -> tuple[Any, ...]:
    """Return the context of the first call from here on that depends on what the act changes; empty if none does."""
    matters = act.matters_to or frozenset()
    for later in range(place, len(calls)):
        if calls[later].operation in matters or calls[later].ids("campaign", "processing"):
            return contexts[later]
    return ()


def _applies(row: WireRow, call: TracedCall) -> bool:
    if row.needs_time and call.by_socket:
        return False
    if row.requires == "change":
        return call.operation in READS and bool(call.statuses)
    if row.requires == "body":
        return call.answer_bytes > 1
    return True


def _acts(
    act: ActRow, calls: Sequence[TracedCall], place: int, targets: Iterable[str | None], context: tuple[Any, ...]
) -> Iterator[Candidate]:
    call = calls[place]
    for target in targets:
        resumes = _resumes(calls, place) if act.name == _STALL else ()
        if act.name == _STALL and not resumes:
            return
        step = ExploreStep(
            kind="act",
            operation=call.operation,
            call=call.number,
            nth=call.nth,
            name=act.name,
            target=target,
            resumes=resumes,
        )
        yield Candidate(step, (act.name, target, *context))


def _targets(act: ActRow, call: TracedCall, clean: CleanRun, named: frozenset[str | None]) -> Iterable[str | None]:
    """Return the ids of the records that an act can concern before this call; None for an act that needs no id."""
    running = call.ids("campaign", "processing")
    if act.name == _STALL:
        return _each(running, named)  # by its id, so that the rule that ends the stall concerns the same campaign
    if act.concerns in ("campaign", "session"):
        ids = running if act.concerns == "campaign" else call.ids("session", "pending")
        is_plain = len(ids) == 1 and call.addressed in (None, *ids)  # a rule acts on what the call is about
        return [None] if is_plain else _each(ids, named)
    if act.concerns == "template":
        return clean.templates
    if act.concerns == "entrypoint":
        completed = call.ids("session", "completed")
        return [id for id, session in clean.entrypoints.items() if session is None or session in completed]
    return [None]


def _each(ids: Sequence[str], named: frozenset[str | None]) -> Sequence[str]:
    """Return those of the ids that some call names; the first one if none is named, since the others are equal to it."""
    return [record_id for record_id in ids if record_id in named] or ids[:1]


def _resumes(calls: Sequence[TracedCall], place: int) -> tuple[tuple[str, int], ...]:
    """Return for each operation by which the run polls from here on the number of its call that ends the stall."""
    later = {call.operation for call in calls[place:]}
    before = [call.operation for call in calls[:place]]
    return tuple((name, before.count(name) + STALL_ENDS_AFTER + 1) for name in _POLLED if name in later)


def at_deliveries(delivered: Sequence[Delivered], options: ExploreOptions) -> Iterator[Candidate]:
    """Yield the faults of each attempt to deliver an event."""
    for attempt in delivered:
        for row in DELIVERY_FAULTS.values():
            is_last = all(other.endpoint != attempt.endpoint for other in delivered if other.number > attempt.number)
            if options.has_fault(row.name) and not (row.name == "reorder" and is_last):
                step = ExploreStep("delivery", event=attempt.event, delivery=attempt.number, name=row.name)
                yield Candidate(step, step)


def of_choices(read: Iterable[str], in_force: Mapping[str, object], options: ExploreOptions) -> Iterator[Candidate]:
    """Yield each option other than the one in force, of the choices that the clean run has read or that are named."""
    ids = set(read) if options.choices is None else set(options.choices)
    for row in CHOICES.values():
        if row.id in ids and len(row.options) > 1:
            for case in options_of(row):
                if case.option != in_force.get(row.id, row.default):
                    step = ExploreStep("choice", choice=case.choice, option=case.option)
                    yield Candidate(step, step)


def of_process(options: ExploreOptions) -> Iterator[Candidate]:
    """Yield another time zone of this process, where the platform can change it."""
    if options.has_fault(TIME_ZONE) and hasattr(time, "tzset"):
        step = ExploreStep("process", name=TIME_ZONE)
        yield Candidate(step, step)


def within(placements: Sequence[Placement], runs: int) -> Sequence[Placement]:
    """
    Return at most so many placements: of more than that, those of each fault and operation at its first calls.

    Args:
        placements: Single ones, in the order of the calls.
        runs: How many.
    """
    counts: Counter[Any] = Counter()
    ranks = []
    for placement in placements:
        (step,) = placement
        what = step.kind, step.name or step.choice, step.operation or step.event
        counts[what] += 1
        ranks.append(counts[what])
    chosen = sorted(range(len(placements)), key=ranks.__getitem__)[:runs]
    return [placements[place] for place in sorted(chosen)]


def pruned(candidates: Sequence[Candidate], prune: bool) -> list[Placement]:
    """Return the placements to try: the first of each key."""
    chosen: dict[Any, Placement] = {}
    for place, candidate in enumerate(candidates):
        chosen.setdefault(candidate.key if prune else place, Placement.of(candidate.step))
    return list(chosen.values())
