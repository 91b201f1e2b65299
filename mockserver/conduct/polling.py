"""
Judges of polling and patience: executions and sessions that are watched too long, too often, or not to the end.

Waits of a client during which the sandbox's clock did not move, and a process whose clock differs from the sandbox's.

1. A poll is a GET that succeeds or is not found, or any call that meets a rate limit; what a rule delays is not one.
2. Polls count from the last call that is not one, at one instant of the clock, up to the newest; a final status ends them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median_high
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.conduct.evidence import (
    FINAL,
    Evidence,
    client_key,
    has_failed,
    numbers,
    request_of,
    requested_wait,
    succeeded,
    was_received,
)
from mockserver.conduct.rules import NotAssessable, Proof
from mockserver.contract.durations import duration_text, parse_duration
from mockserver.contract.effects import WAITING, deciding
from mockserver.contract.text import json_value
from mockserver.core.instants import MINUTE, SECOND, Duration, Instant
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import SandboxState

_WATCHED = {"readExecution": "executionId", "readConnectionSession": "sessionId"}
# A campaign is read for more reasons than to wait for it, so only many reads in a row are a loop.
_LOOKED_AT = {**_WATCHED, "readCampaign": "id"}
_MANY: Mapping[str, int] = MappingProxyType({"readExecution": 2, "readConnectionSession": 2, "readCampaign": 6})
_LEAST: Mapping[str, Duration] = MappingProxyType(
    {"readExecution": 10 * SECOND, "readConnectionSession": 2 * SECOND, "readCampaign": 10 * SECOND}
)
_SAME_LOOP = 5 * MINUTE  # a read later than that is another look, not a poll
_GIVEN_UP_AFTER = 2 * MINUTE
_STALLED = 2 * MINUTE
_HOPELESS = (400, 401, 403, 404, 409, 422)


class PollSequence(NamedTuple):
    """One caller's reads of one execution or session, in order."""

    operation: str
    id: str
    reads: Sequence[JournalEntry]


def poll_sequences(seen: Evidence, looked_at: Mapping[str, str] = _WATCHED) -> Iterator[PollSequence]:
    """Every watch, callers apart, so that workers which share a key are not taken for one."""
    for operation, parameter in looked_at.items():
        for record_id, reads in seen.grouped_by(parameter, operation):
            for who in dict.fromkeys(map(client_key, reads)):
                yield PollSequence(operation, record_id, [each for each in reads if client_key(each) == who])


def after_final(seen: Evidence, watch: PollSequence) -> tuple[JournalEntry, list[JournalEntry]] | None:
    """The read that was told the final status, and those that went on in the same loop and told it once more."""
    reads = [each for each in watch.reads if succeeded(each)]  # one that failed and its repetition are one look
    for place, each in enumerate(reads):
        if seen.answer_field(each, "status") in FINAL:
            more: list[JournalEntry] = []
            for last, following in zip(reads[place:], reads[place + 1 :], strict=False):
                if (following.at - last.at) > _SAME_LOOP:
                    break
                more.append(following)
            return each, more
    return None


def poll_after_final(seen: Evidence) -> Iterator[Proof]:
    for watch in poll_sequences(seen, _LOOKED_AT):
        found = after_final(seen, watch)
        if found is None or len(found[1]) < _MANY[watch.operation]:
            continue
        status = seen.answer_field(found[0], "status")
        others = (
            status in ("failed", "expired")
            if watch.operation == "readConnectionSession"
            else watch.operation == "readExecution" and _runs_on(seen, found)
        )
        if not others:  # those have rules of their own
            told = f"{watch.id} was {status}, and was read {len(found[1])} times more"
            yield Proof(told, numbers((found[0], *found[1][:2])))


def _runs_on(seen: Evidence, found: tuple[JournalEntry, list[JournalEntry]]) -> bool:
    return seen.answer_field(found[0], "status") in ("failed", "canceled") and len(found[1]) >= 3


def poll_final_set_incomplete(seen: Evidence) -> Iterator[Proof]:
    for watch in poll_sequences(seen):
        found = after_final(seen, watch)
        if watch.operation == "readExecution" and found is not None and _runs_on(seen, found):
            told = f"{watch.id} was {seen.answer_field(found[0], 'status')}, and the polling went on: {len(found[1])} reads more"
            yield Proof(told, numbers((found[0], *found[1][:2])))


def poll_too_fast(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    blind = 0
    for watch in poll_sequences(seen, _LOOKED_AT):
        found = after_final(seen, watch)
        polls = [each for each in watch.reads if found is None or each.n <= found[0].n]
        whole = [
            pair for pair in pairwise(polls) if not has_failed(pair[0]) and pair[0].status != 429
        ]  # the rest is retries
        gaps = [seen.gap(one, other) for one, other in whole]
        if len(gaps) < _MANY[watch.operation]:
            continue
        known = [gap or 0 for gap in gaps]
        least = _LEAST[watch.operation]
        if (
            all(gap is None for gap in gaps)
            and (polls[-1].monotonic_us or 0) - (polls[0].monotonic_us or 0) < 3 * least
        ):
            blind += 1
        elif median_high(known) < least:
            told = f"{watch.id} was polled every {duration_text(median_high(known))}, {len(polls)} times; advised are {least // SECOND} s at least"
            yield Proof(told, numbers(polls[:3]))
    if blind:
        yield NotAssessable(f"no clock moved between the polls of {blind} executions or sessions")


def poll_dies_on_error(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    for watch in poll_sequences(seen):
        last, before = watch.reads[-1], [each for each in watch.reads if succeeded(each)]
        if (
            not (has_failed(last) or last.status == 429)
            or not before
            or seen.answer_field(before[-1], "status") in FINAL
        ):
            continue
        later = [*seen.concerning(watch.id), *seen.concerning(last.call.params.get("id"))]
        if any(each.n > last.n for each in later):
            continue
        if seen.now - last.at >= _GIVEN_UP_AFTER:
            came = f"status {last.status}" if was_received(last) else "no answer"
            yield Proof(f"the watch of {watch.id} ended with {came}, while it was pending", numbers((before[-1], last)))
        else:
            yield NotAssessable(f"the last poll of {watch.id} failed, and the run ended there")


def progress_is_done(seen: Evidence) -> Iterator[Proof]:
    for watch in poll_sequences(seen):
        last = watch.reads[-1]
        if watch.operation != "readExecution" or seen.answer_field(last, "status") in (None, *FINAL):
            continue
        progress, looks_done = seen.answer_field(last, "progress"), seen.answer_field(last, "targetCount") == 0
        looks_done = looks_done or (isinstance(progress, int | float) and progress >= 99)
        if not looks_done or seen.now - last.at < MINUTE:
            continue
        others = [*seen.concerning(last.call.params.get("id")), *seen.of("listCampaigns")]
        if not any(each.n > last.n for each in others):
            yield Proof(f"the last poll of {watch.id} said {progress} %, and that it was still processing", (last.n,))


def ignore_retry_after(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    blind = False
    for first in seen.exchanges:
        limited = first.status == 429 and was_received(first)
        again = [each for each in seen.repetitions(first) if client_key(each) == client_key(first)] if limited else []
        if not again:
            continue
        waited, wanted = seen.gap(first, again[0]), requested_wait(first)
        if waited is None and not seen.has_observed_waits:
            blind = True
        elif wanted is not None and (waited or 0) < wanted:
            told = f"{first.operation} came again after {duration_text(waited or 0)}; Retry-After said {duration_text(wanted)}"
            yield Proof(told, numbers((first, again[0])))
        elif wanted is None and len(again) >= 2 and (seen.gap(first, again[1]) or 0) < SECOND:
            yield Proof(
                f"{first.operation} came three times within a second through a 429", numbers((first, *again[:2]))
            )
    if blind:
        yield NotAssessable("no clock moved between a 429 and the next call, nor between any other two")


def retry_hopeless(seen: Evidence) -> Iterator[Proof]:
    told_already: set[int] = set()
    for first in seen.exchanges:
        if first.status not in _HOPELESS or first.n in told_already:
            continue
        again = seen.repetitions(first)
        stubborn = [each for each in again if seen.code(each) == seen.code(first) and each.at - first.at <= 10 * MINUTE]
        if len(stubborn) >= 2 and stubborn == again[: len(stubborn)]:
            told_already |= {each.n for each in again}
            told = f"{first.operation} was refused with {seen.code(first)} {len(stubborn) + 1} times"
            yield Proof(told, numbers((first, *stubborn[:2])))


def no_timeout(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    stalled = False
    for each in seen.exchanges:
        effects = each.fault.effects if each.fault else {}
        held = max(parse_duration(effects.get(effect)) or 0 for effect in _WAITS)
        stalled |= held >= _STALLED
        if held >= _STALLED and each.status is not None:
            yield Proof(f"{each.operation} was waited for {held // SECOND} s", (each.n,))
    if not stalled:
        yield NotAssessable("no answer was held back for two minutes")


_WAITS = (*deciding("wait"), *deciding("wait after"))
_LEAST_REPEATS = SECOND // 2  # of real time; whoever calls again sooner does not wait for anything
_TOO_MANY = 429
_DIFFERS = SECOND


class Unmoved(NamedTuple):
    """
    Calls of one request at one instant of the sandbox's clock.

    `first` and `last` are the numbers of the exchanges, `spent` is the real time between them, and `idle` the real time
    since the sandbox's last call.
    """

    first: int
    last: int
    calls: int
    spent: Duration
    idle: Duration


class Apart(NamedTuple):
    """Two clocks that differ: the process's and the sandbox's, at exchange `n` or, if that is None, now."""

    process: Instant
    sandbox: Instant
    n: int | None


def unmoved(sandbox: SandboxState, real: Duration | None) -> Unmoved | None:
    """Return the waits since the clock last moved, if they took half a second of real time; `real` is the stopwatch."""
    exchanges = sandbox.journal.exchanges
    last = exchanges[-1] if exchanges else None
    if last is None or last.monotonic_us is None or (sandbox.clock.frozen and sandbox.now != last.at):
        return None
    polls = max(_polls(sandbox), key=_spent, default=[last])
    waits = sandbox.clock.frozen and not _is_call_held(sandbox)
    idle = real - last.monotonic_us if waits and real is not None else 0
    if max(_spent(polls), idle) < _LEAST_REPEATS:
        return None
    return Unmoved(polls[0].n, polls[-1].n, len(polls), _spent(polls), idle)


def _polls(sandbox: SandboxState) -> Iterator[list[JournalEntry]]:
    """The polls of each caller and request since the clock last moved, oldest first."""
    found: dict[Any, list[JournalEntry]] = {}
    exchanges = sandbox.journal.exchanges
    for each in reversed(exchanges):
        if each.at != exchanges[-1].at or (each.call.method != "GET" and each.status != _TOO_MANY):
            break
        if _is_poll(each):
            found.setdefault((client_key(each), request_of(each)), []).append(each)
    for polls in found.values():
        answer = json_value(polls[0].answer)
        if not (isinstance(answer, dict) and answer.get("status") in FINAL):
            yield polls[::-1]


def _is_poll(exchange: JournalEntry) -> bool:
    if exchange.monotonic_us is None or (exchange.fault is not None and not WAITING.isdisjoint(exchange.fault.effects)):
        return False
    status = exchange.status or 0
    return status == _TOO_MANY or 200 <= status < 300 or status == 404


def _spent(polls: list[JournalEntry]) -> Duration:
    return (polls[-1].monotonic_us or 0) - (polls[0].monotonic_us or 0)


def _is_call_held(sandbox: SandboxState) -> bool:
    """Return True if a rule holds a call, or its answer: its client waits for that."""
    journal = sandbox.journal
    is_arriving = any(step.command == "call" and step.exchanges >= journal.last_exchange for step in journal.steps)
    return is_arriving or bool(sandbox.rule_set.deferred_calls) or journal.exchanges[-1].is_held


def apart(sandbox: SandboxState, process: Instant) -> Apart | None:
    """
    Return the clocks if they differ by a second: at the last call if the process was frozen then, or now if the
    sandbox follows the process's clock from the past. `process` is the process's instant.
    """
    last = sandbox.journal.exchanges[-1] if sandbox.journal.exchanges else None
    if last is not None and last.process is not None:
        return Apart(last.process, last.at, last.n) if abs(last.process - last.at) >= _DIFFERS else None
    if sandbox.clock.frozen or sandbox.clock.lead > -_DIFFERS:
        return None
    return Apart(process, sandbox.read_clock(), None)
