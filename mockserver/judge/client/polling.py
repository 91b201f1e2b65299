"""Judges of polling, hopeless retries and timeouts."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median_high
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.contract.durations import duration_text
from mockserver.contract.endpoints import READING, Kind
from mockserver.contract.lifecycles import FINAL
from mockserver.core.instants import MINUTE, SECOND, Duration, Instant
from mockserver.judge.check import Check, NotAssessable, Verdict, proof
from mockserver.judge.client.evidence import (
    HOPELESS,
    OF_ALL_CALLS,
    RETRIED,
    elapsed,
    ended_at,
    failures_at_end,
    gap,
    is_acknowledged,
    is_in_a_row,
    is_invited,
    is_locked_out,
)
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace, grouped

_POLLED: Final[Sequence[Kind]] = ("execution", "session")
# A client reads a campaign for more reasons than to wait for it: only many reads in a row are a loop.
ALL_POLLED: Final[Sequence[Kind]] = (*_POLLED, "campaign")
_MANY: Final[Mapping[str, int]] = MappingProxyType({"execution": 2, "session": 2, "campaign": 6})
_AFTER_FAILED: Final[Mapping[str, int]] = MappingProxyType({"execution": 3, "campaign": _MANY["campaign"]})
_LEAST: Final[Mapping[str, Duration]] = MappingProxyType(
    {"execution": 10 * SECOND, "session": 2 * SECOND, "campaign": 10 * SECOND}
)
_SAME_LOOP: Final = 5 * MINUTE  # a later read is not part of the loop
_DRAINED_WITHIN: Final = MINUTE  # of a cancel: sends that were queued before it may still take place
_GIVEN_UP_AFTER: Final = 2 * MINUTE
_REFUSED_WITHIN: Final = 10 * MINUTE
_RUN_AGAIN: Final = MINUTE // 2  # the least time between two runs of a schedule
_SCHEDULED: Final = 20  # a schedule of the least interval is off by less than this part of it
STALLED: Final = 2 * MINUTE


class PollSequence(NamedTuple):
    """One caller's reads of one record of a kind, in order."""

    kind: Kind
    id: str
    reads: Sequence[Exchange]


def poll_sequences(trace: Trace, polled: Collection[str] = _POLLED) -> Iterator[PollSequence]:
    """Yield the polls of each record of these kinds by each caller; workers that share a key are separate callers."""
    return (polls for polls in trace.once(_poll_sequences) if polls.kind in polled)


def _poll_sequences(trace: Trace) -> Sequence[PollSequence]:
    return [
        PollSequence(kind, record_id, own)
        for kind in ALL_POLLED
        for record_id, reads in trace.grouped_by(READING[kind].record_parameter, READING[kind].id)
        for own in grouped((read.client, read) for read in reads).values()
    ]


class FinalRead(NamedTuple):
    """The first read that returned a final status, and the later reads of the same loop."""

    exchange: Exchange
    later: Sequence[Exchange]

    @property
    def status(self) -> str:
        """The final status."""
        return str(self.exchange.field("status"))


def final_read(trace: Trace, polls: PollSequence) -> FinalRead | None:
    """Return the read that ends a loop of polls, or None if no read returned a final status."""
    reads = [read for read in polls.reads if read.succeeded]  # a failed read and its repetition count as one
    place = next((n for n, read in enumerate(reads) if read.field("status") in FINAL), None)
    if place is None:
        return None
    final = reads[place]
    of_loop = takewhile(lambda pair: _are_of_one_loop(trace, *pair), pairwise(reads[place:]))
    drained_at = 0
    if final.field("status") == "canceled":
        drained_at = (ended_at(trace, polls.id) or final.at) + _DRAINED_WITHIN
    # Counts may change after the end: only a read with the same ones is superfluous, and none shortly after a cancel, but
    # for those of a client that reads again at once: it does not wait for such sends.
    superfluous = [read for earlier, read in of_loop if read.at > drained_at or gap(trace, earlier, read) is None]
    later: list[Exchange] = []
    for before, read in pairwise([final, *superfluous]):
        if read.response_json == before.response_json:
            later.append(read)
        else:
            later.clear()
    return FinalRead(final, later)


def _with_final_reads(trace: Trace) -> Sequence[tuple[PollSequence, FinalRead | None]]:
    return [(polls, final_read(trace, polls)) for polls in trace.once(_poll_sequences)]


def _are_of_one_loop(trace: Trace, earlier: Exchange, later: Exchange) -> bool:
    return later.at - earlier.at <= _SAME_LOOP and is_in_a_row(trace, earlier, later)


def poll_after_final(trace: Trace) -> Iterator[Verdict]:
    for polls, final in trace.once(_with_final_reads):
        if final is None:
            continue
        if len(final.later) < _MANY[polls.kind]:
            continue
        if polls.kind == "session":
            has_own_rule = final.status in ("failed", "expired")  # reuse-dead-session
        else:
            has_own_rule = _waits_for_completed(polls, final)  # poll-final-set-incomplete
        if not has_own_rule:
            message = f"{polls.id} was {final.status}, and was read {len(final.later)} more times"
            yield proof(message, final.exchange, *final.later[:2])


def _waits_for_completed(polls: PollSequence, final: FinalRead) -> bool:
    return final.status in ("failed", "canceled") and len(final.later) >= _AFTER_FAILED[polls.kind]


def poll_final_set_incomplete(trace: Trace) -> Iterator[Verdict]:
    for polls, final in trace.once(_with_final_reads):
        if final is None or final.status not in ("failed", "canceled"):
            continue
        if polls.kind in _AFTER_FAILED and _waits_for_completed(polls, final):
            message = f"{polls.id} was {final.status}, and the polling continued: {len(final.later)} more reads"
            yield proof(message, final.exchange, *final.later[:2])


def poll_too_fast(trace: Trace) -> Iterator[Verdict]:
    """The call after a read that was refused or not answered is its retry, which other rules judge, and no poll."""
    unmeasured: set[str] = set()
    for loop in _poll_loops(trace):
        waits = [_gap_as_sent(trace, *pair) for pair in pairwise(loop.reads) if pair[0].succeeded]
        if len(waits) < _MANY[loop.kind]:
            continue
        median, least = median_high([wait or 0 for wait in waits]), _LEAST[loop.kind]
        if all(wait is None for wait in waits) and elapsed(loop.reads[0], loop.reads[-1]) < 3 * least:
            unmeasured.add(loop.id)
        elif median < least - least // _SCHEDULED:
            polls_received = [read for read in loop.reads if read.succeeded]
            every, count = duration_text(median), len(polls_received)
            message = f"{loop.id} was polled every {every}, {count} times; the least is {least // SECOND} s"
            yield proof(message, *polls_received[:3])
    if unmeasured:
        yield NotAssessable(f"no clock moved between the polls of {len(unmeasured)} executions or sessions")


def _gap_as_sent(trace: Trace, earlier: Exchange, later: Exchange) -> Duration | None:
    """Return how long the client waited until it sent a poll, which may have arrived later."""
    return max(0, later.sent_at - earlier.at) or None if later.is_given_up else gap(trace, earlier, later)


def _poll_loops(trace: Trace) -> Iterator[PollSequence]:
    """Yield the polls up to a final status; a start or a cancel of the campaign ends a loop, since it needs a read."""
    for sequence, final in trace.once(_with_final_reads):
        polls = [poll for poll in sequence.reads if final is None or poll.number <= final.exchange.number]
        polls.sort(key=lambda poll: poll.place_as_sent)
        places = [poll.place_as_sent for poll in polls]
        calls = trace.concerning(polls[0].params.get("id"))
        ends = (call.place_as_sent for call in calls if call.trigger)
        cuts = [bisect(places, end) for end in sorted(ends)]
        for first, last in pairwise([0, *cuts, len(polls)]):
            yield PollSequence(sequence.kind, sequence.id, polls[first:last])


def poll_dies_on_error(trace: Trace) -> Iterator[Verdict]:
    for polls in poll_sequences(trace):
        reads = sorted(polls.reads, key=lambda read: read.place_as_sent)
        last, successes = reads[-1], [read for read in reads if read.succeeded]
        if not 0 < failures_at_end(reads) < RETRIED or not successes or successes[-1].field("status") in FINAL:
            continue
        related = [*trace.concerning(polls.id), *trace.concerning(last.params.get("id"))]
        related += trace.lists_of("campaign") if polls.kind == "execution" else ()
        if any(call.place_as_sent > last.place_as_sent for call in related) or is_acknowledged(trace, polls.id):
            continue
        if is_locked_out(trace, last):
            continue
        resumed_at = last.at + (last.requested_wait or 0)
        if polls.kind == "session" and _is_over_by(trace, polls.id, resumed_at):
            continue
        if trace.now - resumed_at >= _GIVEN_UP_AFTER:
            message = f"the polling of {polls.id} ended with {last.outcome}, before its end"
            yield proof(message, successes[-1], last)
        else:
            yield NotAssessable(f"the last poll of {polls.id} failed, and the run ended there")


def _is_over_by(trace: Trace, session_id: str, at: Instant) -> bool:
    """Return True if the deadline of a session is over then: a client no longer polls it."""
    session = trace.records.sessions.get(session_id)
    return session is not None and session.expires_at is not None and session.expires_at <= at


def progress_is_done(trace: Trace) -> Iterator[Verdict]:
    for polls in poll_sequences(trace, ("execution",)):
        last = polls.reads[-1]
        others = [*trace.concerning(last.params.get("id")), *trace.lists_of("campaign")]
        if not _looks_done(last) or any(call.number > last.number for call in others) or is_locked_out(trace, last):
            continue
        read = f"the last poll of {polls.id} returned a progress of {last.field('progress')} %"
        if trace.now - last.at < MINUTE:
            yield NotAssessable(f"{read}, and the run ended there")
        else:
            yield proof(f"{read}, and that it was still processing", last)


def _looks_done(read: Exchange) -> bool:
    """Return True if a read of an execution looks like its end by the progress, and not by the status."""
    if read.field("status") in (None, *FINAL):
        return False
    progress = read.field("progress")
    return read.field("targetCount") == 0 or (isinstance(progress, int | float) and progress >= 99)


def retry_hopeless(trace: Trace) -> Iterator[Verdict]:
    reported: set[int] = set()
    for first in trace.calls:
        if first.status not in HOPELESS or not first.was_received:
            continue
        if first.number in reported:
            continue
        again = [call for call in trace.repetitions(first) if not is_invited(trace, first, call)]
        refused = _refused_alike(first, again)
        needed = 9 if _is_anyones(first) else 2
        if len(refused) < needed or _is_schedule(first, refused):
            continue
        if all(is_in_a_row(trace, *pair) for pair in pairwise((first, *refused[:needed]))):
            reported |= {call.number for call in again}
            message = f"{first.operation} was refused with {first.code} {len(refused) + 1} times"
            yield proof(message, first, *refused[:2])


def _refused_alike(first: Exchange, again: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the repetitions within ten minutes that were refused with the same code, if they are the first ones."""
    refused = [call for call in again if call.code == first.code and call.at - first.at <= _REFUSED_WITHIN]
    return refused if refused == again[: len(refused)] else ()


def _is_schedule(first: Exchange, refused: Sequence[Exchange]) -> bool:
    """Return True for runs of a schedule, which the end of a suspension or another key lets succeed."""
    waits = (later.at - earlier.at for earlier, later in pairwise((first, *refused)))
    return first.status in OF_ALL_CALLS and all(wait >= _RUN_AGAIN for wait in waits)


def _is_anyones(refused: Exchange) -> bool:
    """Return True if equal calls may be those of several users, each of whom is refused once."""
    is_page = refused.method == "GET"
    is_first = refused.status in OF_ALL_CALLS and refused.request_body in (None, b"", b"{}")
    return refused.reads not in _POLLED and (is_page or is_first)


def no_timeout(trace: Trace) -> Iterator[Verdict]:
    stalled = [call for call in trace.calls if call.delay >= STALLED]
    for call in stalled:
        if call.status is not None:
            message = f"the client waited {call.delay // SECOND} s for the response to {call.operation}"
            yield proof(message, call)
    if not stalled:
        yield NotAssessable("no response was delayed by two minutes")


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="no-timeout",
        clause="base.internal",
        severity=2,
        proof="the client waited for a response that was delayed by two minutes or more",
        advice="Set a timeout on every call.",
        needs=("times",),
        judge=no_timeout,
    ),
    Check(
        id="poll-after-final",
        clause="advice.poll-execution",
        severity=3,
        proof="two or more reads of an execution or session, six of a campaign, after its final status was returned",
        advice="Stop at completed, failed or canceled; one last read is enough.",
        needs=("times",),
        judge=poll_after_final,
    ),
    Check(
        id="poll-too-fast",
        clause="advice.poll-execution",
        severity=3,
        proof="a median gap between polls that succeed below 10 s for an execution or campaign, 2 s for a session",
        advice="Poll an execution every 10-30 s and a session every 2-5 s.",
        needs=("times",),
        judge=poll_too_fast,
    ),
    Check(
        id="poll-final-set-incomplete",
        clause="advice.poll-execution",
        severity=2,
        proof="three or more reads of an execution, six of a campaign, after failed or canceled was returned; for a minute after a cancel none counts",
        advice="End the loop at each final status, not at completed alone.",
        needs=("times",),
        judge=poll_final_set_incomplete,
    ),
    Check(
        id="poll-dies-on-error",
        clause="advice.poll-execution",
        severity=2,
        proof="the last poll, or the last two, got a 5xx, a 429 or no answer, the status before was not final, and no call followed",
        advice="One failed poll is not the end: wait and poll again.",
        needs=("later calls",),
        judge=poll_dies_on_error,
    ),
    Check(
        id="retry-hopeless",
        clause="base.error-catalog",
        severity=3,
        proof="three times the same request, refused with the same 400, 401, 403, 404, 409 or 422; ten of what any user may send",
        advice="Retry only 429 and 5xx; any other refusal needs another request.",
        needs=("times",),
        judge=retry_hopeless,
    ),
    Check(
        id="progress-is-done",
        clause="send.progress",
        severity=2,
        proof="the last poll showed a progress of 99 or more, or a target of 0, and a status that was not final",
        advice="Only a final `status` is the end, never a progress.",
        needs=("later calls",),
        judge=progress_is_done,
    ),
)
