"""
Judges of polling, hopeless retries and timeouts; and waits in real time while the sandbox's clock did not move.

1. A poll is a GET that succeeds or is not found, or any call that gets a 429; a call that a rule delays is not one.
2. Polls count from the last call that is not one, at one instant of the clock, up to the newest; a final status ends them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median_high
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.durations import duration_text, parse_duration
from mockserver.contract.effects import WAITING, deciding
from mockserver.contract.text import json_value
from mockserver.core.instants import MINUTE, SECOND, Duration, Instant
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.rules import AppliedFault
from mockserver.judge.client.former_evidence import (
    FINAL,
    OF_ALL_CALLS,
    TOO_MANY,
    Evidence,
    client_key,
    has_to_retry,
    numbers,
    outcome,
    requested_wait,
    succeeded,
    was_received,
)
from mockserver.judge.client.rules import NotAssessable, Proof

_POLLED = {"readExecution": "executionId", "readConnectionSession": "sessionId"}
# A client reads a campaign for more reasons than to wait for it: only many reads in a row are a loop.
ALL_POLLED: Mapping[str, str] = MappingProxyType({**_POLLED, "readCampaign": "id"})
_MANY: Mapping[str, int] = MappingProxyType({"readExecution": 2, "readConnectionSession": 2, "readCampaign": 6})
_AFTER_FAILED: Mapping[str, int] = MappingProxyType({"readExecution": 3, "readCampaign": _MANY["readCampaign"]})
_LEAST: Mapping[str, Duration] = MappingProxyType(
    {"readExecution": 10 * SECOND, "readConnectionSession": 2 * SECOND, "readCampaign": 10 * SECOND}
)
_SAME_LOOP = 5 * MINUTE  # a later read is not part of the loop
_DRAINED_WITHIN = MINUTE  # of a cancel: sends that were queued before it may still take place
_GIVEN_UP_AFTER = 2 * MINUTE
RETRIED = 3  # calls in a row that failed: a client that gives up then has retried
STALLED = 2 * MINUTE
HOPELESS = (400, 401, 403, 404, 409, 422)


class PollSequence(NamedTuple):
    """One caller's reads of one record, in order."""

    operation: str
    id: str
    reads: Sequence[JournalEntry]


def poll_sequences(evidence: Evidence, polled: Mapping[str, str] = _POLLED) -> Iterator[PollSequence]:
    """Yield the polls of each record and caller; workers that share a key are separate callers."""
    for operation, parameter in polled.items():
        for record_id, reads in evidence.grouped_by(parameter, operation):
            for key in dict.fromkeys(map(client_key, reads)):
                yield PollSequence(operation, record_id, [read for read in reads if client_key(read) == key])


class FinalRead(NamedTuple):
    """The first read that returned a final status, and the later reads of the same loop."""

    exchange: JournalEntry
    later: Sequence[JournalEntry]


def final_read(evidence: Evidence, polls: PollSequence) -> FinalRead | None:
    """Return the read that ends a loop of polls, or None if no read returned a final status."""
    reads = [read for read in polls.reads if succeeded(read)]  # a failed read and its repetition count as one
    place = next((n for n, read in enumerate(reads) if evidence.answer_field(read, "status") in FINAL), None)
    if place is None:
        return None
    is_of_loop = (
        later.at - earlier.at <= _SAME_LOOP and evidence.is_in_a_row(earlier, later)
        for earlier, later in pairwise(reads[place:])
    )
    loop = [read for read, _ in takewhile(lambda pair: pair[1], zip(reads[place + 1 :], is_of_loop, strict=True))]
    # Counts may change after the end: only a read with the same ones is superfluous, and none shortly after a cancel.
    before, until = evidence.answer(reads[place]), 0
    if evidence.answer_field(reads[place], "status") == "canceled":
        until = (evidence.ended_at(polls.id) or reads[place].at) + _DRAINED_WITHIN
    later: list[JournalEntry] = []
    superfluous = (
        read  # a client that reads again at once does not wait for such sends
        for earlier, read in pairwise([reads[place], *loop])
        if read.at > until or evidence.gap(earlier, read) is None
    )
    for read in superfluous:
        answer = evidence.answer(read)
        if answer == before:
            later.append(read)
        else:
            later.clear()
        before = answer
    return FinalRead(reads[place], later)


def poll_after_final(evidence: Evidence) -> Iterator[Proof]:
    for polls in poll_sequences(evidence, ALL_POLLED):
        final = final_read(evidence, polls)
        if final is None or len(final.later) < _MANY[polls.operation]:
            continue
        status = evidence.answer_field(final.exchange, "status")
        if polls.operation == "readConnectionSession":
            has_own_rule = status in ("failed", "expired")  # reuse-dead-session
        else:
            has_own_rule = _waits_for_completed(evidence, polls, final)  # poll-final-set-incomplete
        if has_own_rule:
            continue
        message = f"{polls.id} was {status}, and was read {len(final.later)} more times"
        yield Proof(message, numbers((final.exchange, *final.later[:2])))


def _waits_for_completed(evidence: Evidence, polls: PollSequence, final: FinalRead) -> bool:
    has_failed = evidence.answer_field(final.exchange, "status") in ("failed", "canceled")
    return has_failed and len(final.later) >= _AFTER_FAILED[polls.operation]


def poll_final_set_incomplete(evidence: Evidence) -> Iterator[Proof]:
    for polls in poll_sequences(evidence, {operation: ALL_POLLED[operation] for operation in _AFTER_FAILED}):
        final = final_read(evidence, polls)
        if final is not None and _waits_for_completed(evidence, polls, final):
            status = evidence.answer_field(final.exchange, "status")
            message = f"{polls.id} was {status}, and the polling continued: {len(final.later)} more reads"
            yield Proof(message, numbers((final.exchange, *final.later[:2])))


def poll_too_fast(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    """The call after a read that was refused or not answered is its retry, which other rules judge, and no poll."""
    unmeasured: set[str] = set()
    for loop in _poll_loops(evidence):
        gaps = [_gap_as_sent(evidence, *pair) for pair in pairwise(loop.reads) if succeeded(pair[0])]
        if len(gaps) < _MANY[loop.operation]:
            continue
        median, least = median_high([gap or 0 for gap in gaps]), _LEAST[loop.operation]
        polls = [read for read in loop.reads if succeeded(read)]
        if all(gap is None for gap in gaps) and _spent(loop.reads) < 3 * least:
            unmeasured.add(loop.id)
        elif median < least - least // _SCHEDULED:
            every, count = duration_text(median), len(polls)
            message = f"{loop.id} was polled every {every}, {count} times; the least is {least // SECOND} s"
            yield Proof(message, numbers(polls[:3]))
    if unmeasured:
        yield NotAssessable(f"no clock moved between the polls of {len(unmeasured)} executions or sessions")


def _gap_as_sent(evidence: Evidence, earlier: JournalEntry, later: JournalEntry) -> Duration | None:
    """Return how long the client waited until it sent a poll, which may have arrived later."""
    return evidence.gap(earlier, later) if later.given_up is None else max(0, later.sent_at - earlier.at) or None


def _poll_loops(evidence: Evidence) -> Iterator[PollSequence]:
    """Yield the polls up to a final status; a start or a cancel of the campaign ends a loop, since it needs a read."""
    writes = evidence.of("startCampaign", "cancelCampaign")
    for sequence in poll_sequences(evidence, ALL_POLLED):
        final = final_read(evidence, sequence)
        polls = [poll for poll in sequence.reads if final is None or poll.n <= final.exchange.n]
        polls.sort(key=lambda poll: poll.place_as_sent)
        places = [poll.place_as_sent for poll in polls]
        ends = (write.place_as_sent for write in writes if write.call.params["id"] == polls[0].call.params.get("id"))
        cuts = [bisect(places, end) for end in sorted(ends)]
        for first, last in pairwise([0, *cuts, len(polls)]):
            yield sequence._replace(reads=polls[first:last])


def failures_at_end(reads: Sequence[JournalEntry]) -> int:
    """Return how many of the last reads in a row have to be repeated."""
    return sum(1 for _ in takewhile(has_to_retry, reversed(reads)))


def poll_dies_on_error(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    for polls in poll_sequences(evidence):
        reads = sorted(polls.reads, key=lambda read: read.place_as_sent)
        last, successes = reads[-1], [read for read in reads if succeeded(read)]
        if (
            not 0 < failures_at_end(reads) < RETRIED
            or not successes
            or evidence.answer_field(successes[-1], "status") in FINAL
        ):
            continue
        related = [*evidence.concerning(polls.id), *evidence.concerning(last.call.params.get("id"))]
        related += evidence.of("listCampaigns") if polls.operation == "readExecution" else ()
        if any(call.place_as_sent > last.place_as_sent for call in related) or evidence.is_acknowledged(polls.id):
            continue
        if evidence.is_locked_out(last):
            continue
        resumed_at = last.at + (requested_wait(last) or 0)
        if polls.operation == "readConnectionSession" and _is_over_by(evidence, polls.id, resumed_at):
            continue
        if evidence.now - resumed_at >= _GIVEN_UP_AFTER:
            message = f"the polling of {polls.id} ended with {outcome(last)}, while it was pending"
            yield Proof(message, numbers((successes[-1], last)))
        else:
            yield NotAssessable(f"the last poll of {polls.id} failed, and the run ended there")


def _is_over_by(evidence: Evidence, session_id: str, at: Instant) -> bool:
    """Return True if the deadline of a session is over then: a client no longer polls it."""
    found = evidence.run.find("session", session_id)
    return found is not None and bool(found[1].expires_at <= at)


def progress_is_done(evidence: Evidence) -> Iterator[Proof]:
    for polls in poll_sequences(evidence):
        last = polls.reads[-1]
        progress = evidence.answer_field(last, "progress")
        if polls.operation != "readExecution" or not looks_done(evidence, last) or evidence.now - last.at < MINUTE:
            continue
        others = [*evidence.concerning(last.call.params.get("id")), *evidence.of("listCampaigns")]
        if not any(call.n > last.n for call in others) and not evidence.is_locked_out(last):
            message = (
                f"the last poll of {polls.id} returned a progress of {progress} %, and that it was still processing"
            )
            yield Proof(message, (last.n,))


def looks_done(evidence: Evidence, read: JournalEntry) -> bool:
    """Return True if a read of an execution looks like its end by the progress, and not by the status."""
    if evidence.answer_field(read, "status") in (None, *FINAL):
        return False
    progress = evidence.answer_field(read, "progress")
    return evidence.answer_field(read, "targetCount") == 0 or (isinstance(progress, int | float) and progress >= 99)


def retry_hopeless(evidence: Evidence) -> Iterator[Proof]:
    reported: set[int] = set()
    for first in evidence.exchanges:
        if first.status not in HOPELESS or not was_received(first) or first.n in reported:
            continue
        again = [call for call in evidence.repetitions(first) if not evidence.is_invited(first, call)]
        refused = _refused_alike(evidence, first, again)
        needed = 9 if _is_anyones(first) else 2
        if (
            len(refused) >= needed
            and not _is_schedule(first, refused)
            and all(evidence.is_in_a_row(*pair) for pair in pairwise((first, *refused[:needed])))
        ):
            reported |= {call.n for call in again}
            message = f"{first.operation} was refused with {evidence.code(first)} {len(refused) + 1} times"
            yield Proof(message, numbers((first, *refused[:2])))


def _refused_alike(evidence: Evidence, first: JournalEntry, again: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """Return the repetitions within ten minutes that were refused with the same code, if they are the first ones."""
    code = evidence.code(first)
    refused = [call for call in again if evidence.code(call) == code and call.at - first.at <= 10 * MINUTE]
    return refused if refused == again[: len(refused)] else ()


def _is_schedule(first: JournalEntry, refused: Sequence[JournalEntry]) -> bool:
    """Return True for runs of a schedule, which the end of a suspension or another key lets succeed."""
    gaps = (later.at - earlier.at for earlier, later in pairwise((first, *refused)))
    return first.status in OF_ALL_CALLS and all(gap >= _RUN_AGAIN for gap in gaps)


def _is_anyones(refused: JournalEntry) -> bool:
    """Return True if equal calls may be those of several users, each of whom is refused once."""
    is_page = refused.call.method == "GET"
    is_first = refused.status in OF_ALL_CALLS and refused.call.body in (None, b"", b"{}")
    return refused.operation not in _POLLED and (is_page or is_first)


def no_timeout(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    is_stalled = False
    for exchange in evidence.exchanges:
        delay = delay_of(exchange.fault)
        is_stalled |= delay >= STALLED
        if delay >= STALLED and exchange.status is not None:
            yield Proof(
                f"the client waited {delay // SECOND} s for the response to {exchange.operation}", (exchange.n,)
            )
    if not is_stalled:
        yield NotAssessable("no response was delayed by two minutes")


def delay_of(fault: AppliedFault | None) -> Duration:
    """Return the delay that a rule gives a call or its response, 0 if none or a drawn one."""
    if fault is None:  # most calls: coverage asks for each of them
        return 0
    return max(parse_duration(fault.effects.get(effect)) or 0 for effect in _DELAYS)


_RUN_AGAIN = MINUTE // 2  # the least time between two runs of a schedule
_SCHEDULED = 20  # a schedule of the least interval is off by less than this part of it
_LEAST_REPEATS = SECOND // 2  # of real time; a client that calls again sooner does not wait
_DELAYS = (*deciding("wait"), *deciding("wait after"))
_DIFFERS = SECOND


class FrozenClockPolls(NamedTuple):
    """
    Polls by one request at one instant of the sandbox's clock, which therefore show no change.

    `first` and `last` are the numbers of the exchanges, `spent` is the real time between them, and `idle` the real time
    since the sandbox's last call.
    """

    first: int
    last: int
    calls: int
    spent: Duration
    idle: Duration


class ClockDifference(NamedTuple):
    """Two clocks that differ: the process's and the sandbox's, at exchange `n` or, if that is None, now."""

    process: Instant
    sandbox: Instant
    n: int | None


def unmoved(run: Run, real: Duration | None) -> FrozenClockPolls | None:
    """Return the waits since the clock last moved, if they took half a second of real time; `real` is the stopwatch."""
    exchanges = run.exchanges
    last = exchanges[-1] if exchanges else None
    if last is None or last.monotonic_us is None or (run.clock.frozen and run.now != last.at):
        return None
    polls = max(_polls(run), key=_spent, default=[last])
    # A call that a rule holds, or whose response it holds: the client waits for that, and not for the clock.
    is_held = last.is_held or bool(run.deferred)
    is_held |= any(step.command == "call" and step.exchanges >= run.last_exchange for step in run.commands)
    idle = real - last.monotonic_us if run.clock.frozen and not is_held and real is not None else 0
    if max(_spent(polls), idle) < _LEAST_REPEATS:
        return None
    return FrozenClockPolls(first=polls[0].n, last=polls[-1].n, calls=len(polls), spent=_spent(polls), idle=idle)


def _polls(run: Run) -> Iterator[list[JournalEntry]]:
    """Yield the polls of each caller and request since the clock last moved, oldest first."""
    groups: dict[Any, list[JournalEntry]] = {}
    exchanges = run.exchanges
    since = exchanges[-1].at
    for exchange in reversed(exchanges):
        call = exchange.call
        if exchange.at != since or (call.method != "GET" and exchange.status != TOO_MANY):
            break
        if _is_poll(exchange):  # a path names the operation with its parameters: cheaper than `request_of`
            request = (call.method, call.path, tuple(call.query), call.body, call.cut_from_bytes)
            groups.setdefault((client_key(exchange), request), []).append(exchange)
    for polls in groups.values():
        answer = json_value(polls[0].answer)
        if not (isinstance(answer, dict) and answer.get("status") in FINAL):
            yield polls[::-1]


def _is_poll(exchange: JournalEntry) -> bool:
    if exchange.monotonic_us is None or (exchange.fault is not None and not WAITING.isdisjoint(exchange.fault.effects)):
        return False
    status = exchange.status or 0
    return status == TOO_MANY or 200 <= status < 300 or status == 404


def _spent(polls: Sequence[JournalEntry]) -> Duration:
    return (polls[-1].monotonic_us or 0) - (polls[0].monotonic_us or 0)


def apart(run: Run, process: Instant) -> ClockDifference | None:
    """
    Return the clocks if they differ by a second: at the last call if the process was frozen then, or now if the
    sandbox follows the process's clock from the past. `process` is the process's instant.
    """
    last = run.exchanges[-1] if run.exchanges else None
    if last is not None and last.process is not None:
        return ClockDifference(last.process, last.at, last.n) if abs(last.process - last.at) >= _DIFFERS else None
    if run.clock.frozen or run.clock.lead > -_DIFFERS:
        return None
    return ClockDifference(process, run.read_at, None)
