"""
Judges of connection sessions: reads that are missing or too many, and visits to the hosted page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from mockserver.core.instants import MINUTE, SECOND
from mockserver.core.state.records import PageVisit
from mockserver.judge.check import Check, NotAssessable, Verdict, proof
from mockserver.judge.client.evidence import (
    HOPELESS,
    RETRIED,
    ended_at,
    ended_with,
    failures_at_end,
    gap,
    is_acknowledged,
    is_locked_out,
    plain_attempts,
    polls,
    reads,
    sessions,
)
from mockserver.judge.client.polling import FinalRead, final_read, poll_sequences
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.records import SeenSession
from mockserver.trace.trace import Trace

_UNKNOWN: Final = (409, 410, 422)  # how a receiver refuses an event of an unknown session
_NOT_FOUND: Final = 404  # of an unknown session, or of a wrong path
_MANY_READS: Final = 5
_LONGEST_LOOP: Final = 15 * SECOND
_LONGEST_POLL: Final = 30 * SECOND
_POLLED_WITHIN: Final = MINUTE  # a client that polls has read again by then
_FRAMES: Final = ("iframe", "frame", "embed", "object")
_SCANNER: Final = re.compile(
    r"bot\b|bot/|slack|whatsapp|facebookexternalhit|skypeuripreview|preview|safelinks|scanner|crawler", re.IGNORECASE
)


def reuse_dead_session(trace: Trace) -> Iterator[Verdict]:
    for loop in poll_sequences(trace, polled=("session",)):
        final = final_read(trace, loop)
        if final is None or final.status == "completed":
            continue
        if _is_loop(trace, final):
            message = f"{loop.id} was {final.status}, and was read {len(final.later)} more times"
            yield proof(message, final.exchange, *final.later[:2])
        # A POST to a dead link is sent by a tab that was open before.
        dead = (visit for visit in _visits(trace, loop.id) if visit.method == "GET" and visit.status == 410)
        # One visit of a dead link is a user's, who still has it: a client that shows it again has several.
        if sum(visit.at > final.exchange.at for visit in dead) >= 2:
            message = (
                f"the link of {loop.id} was opened again and again after the client had read that it was {final.status}"
            )
            yield proof(message, trace.creating(loop.id), final.exchange)


def _is_loop(trace: Trace, final: FinalRead) -> bool:
    """Return True for two later reads as a loop sends them, or for many: several people may each have opened a page."""
    waits = [gap(trace, *pair) or 0 for pair in pairwise((final.exchange, *final.later[:2]))]
    return len(final.later) >= _MANY_READS or (len(waits) >= 2 and max(waits) <= _LONGEST_LOOP)


def misses_the_end(trace: Trace) -> Iterator[Verdict]:
    for session, created in sessions(trace):
        if session.status == "pending" or not created.was_received or _may_be_reported(trace, session):
            continue
        own = reads(trace, session.id)
        if own or session.return_url is not None:
            is_missed = _has_stopped_reading(trace, session)
        else:
            is_missed = _was_never_read(trace, session)
        if is_missed:
            message = f"{session.id} was {session.status}; no event was acknowledged, and no read has shown it"
            yield proof(message, created, *own[-1:])


def _has_stopped_reading(trace: Trace, session: SeenSession) -> bool:
    """Return True for a session that completed at least a minute ago, which no read has shown, and no poll would yet."""
    ended = ended_at(trace, session.id)
    if session.status != "completed" or ended is None or trace.now - ended < _POLLED_WITHIN:
        return False
    is_shown = any(read.field("status") == "completed" for read in reads(trace, session.id))
    return not (is_shown or _is_polled_to_the_end(trace, session))


def _was_never_read(trace: Trace, session: SeenSession) -> bool:
    """Return True for a session whose deadline is over, without a read, of a completed one without a successful read."""
    is_over = session.expires_at is not None and trace.now >= session.expires_at
    calls = reads if session.status == "completed" else polls
    return is_over and not calls(trace, session.id)


def _may_be_reported(trace: Trace, session: SeenSession) -> bool:
    """Return True if an event has reported the end of a session, or is still to, or the client may no longer read it."""
    is_under_way = session.id in trace.sandbox.under_way
    return is_under_way or is_acknowledged(trace, session.id) or _is_turned_away(trace, session)


def _is_polled_to_the_end(trace: Trace, session: SeenSession) -> bool:
    """Return True if the next poll would be past the deadline or the run, by the wait before the last one or its Retry-After."""
    own = polls(trace, session.id)
    if not own:
        return False
    last = own[-1]
    usual = min(last.at - own[-2].at, _LONGEST_POLL) if len(own) > 1 else 0
    following = last.at + max(usual, last.requested_wait or 0)
    return following >= trace.now or (session.expires_at is not None and following >= session.expires_at)


def _is_turned_away(trace: Trace, session: SeenSession) -> bool:
    """Return True if the client's last read of a session, or a call after it, was refused, or its last three in a row failed: it has given up."""
    calls = sorted(trace.concerning(session.id), key=lambda call: call.place_as_sent)
    if not calls:
        return False
    is_refused = calls[-1].was_received and calls[-1].status in HOPELESS
    return is_refused or failures_at_end(calls) >= RETRIED or is_locked_out(trace, calls[-1])


def id_not_stored_first(trace: Trace) -> Iterator[Verdict]:
    for session, created in sessions(trace):
        attempts = plain_attempts(trace, session.id)
        has_id = created.was_received and not ended_with(trace, created, session.id)
        is_unknown = bool(attempts) and all(_is_unknown(trace, attempt) for attempt in attempts)
        if not has_id or not is_unknown or reads(trace, session.id):
            continue
        if _may_be_receiver_of(trace, created, attempts):
            message = f"the receiver answered {attempts[-1].status} to the event of {session.id} ({attempts[0].label}), and the client did not read the session"
            yield proof(message, created)


def _may_be_receiver_of(trace: Trace, created: Exchange, attempts: Sequence[DeliveryAttempt]) -> bool:
    """Return False if the receivers have accepted only events of another client's sessions: each application has its own."""
    endpoints = {attempt.endpoint for attempt in attempts}
    clients = {session.id: create.client for session, create in sessions(trace)}
    accepted = (each for each in trace.deliveries if each.accepted and each.endpoint in endpoints)
    of_clients = {clients[each.session_id] for each in accepted if each.session_id in clients}
    return not of_clients or created.client in of_clients


def _is_unknown(trace: Trace, attempt: DeliveryAttempt) -> bool:
    """Return True if a receiver refused an unknown session; one that always returns 404 has a wrong path instead."""
    if attempt.status != _NOT_FOUND:
        return attempt.status in _UNKNOWN
    return any(other.accepted for other in trace.deliveries if other.endpoint == attempt.endpoint)


def _visits(trace: Trace, session_id: str) -> list[PageVisit]:
    return [visit for visit in trace.visits if visit.session_id == session_id]


def _is_scanner(visit: PageVisit) -> bool:
    """Return True if the user agent of a visit is that of a scanner or of a preview."""
    return _SCANNER.search(visit.user_agent or "") is not None


def iframe(trace: Trace) -> Iterator[Verdict]:
    for session, created in sessions(trace):
        framed = [visit for visit in _visits(trace, session.id) if visit.sec_fetch_dest in _FRAMES]
        if framed:
            yield proof(f"the page of {session.id} was opened in a frame (visit {framed[0].n})", created)


def popup_blocked(trace: Trace) -> Iterator[Verdict]:
    """
    A user whose popup was blocked clicks again, and opens the page of the session that follows.

    If only scanners visited, the run has no user whose popup could have been blocked; nor has a link that was lost.
    """
    if all(map(_is_scanner, trace.visits)):
        yield NotAssessable("no user visited a hosted page")
        return
    opened = {visit.session_id for visit in trace.visits if not _is_scanner(visit)}
    for session, created in sessions(trace):
        if session.status != "expired" or not created.was_received or _visits(trace, session.id):
            continue
        later = (each.id for each, other in sessions(trace) if _is_made_during(other, created, session))
        if not opened.isdisjoint(later):
            message = f"{session.id} expired, and no user had opened its page; that of a later session was opened"
            yield proof(message, created)


def _is_made_during(create: Exchange, earlier: Exchange, session: SeenSession) -> bool:
    """Return True for a create after that of a session, and before its deadline."""
    is_in_time = session.expires_at is not None and create.at <= session.expires_at
    return create.number > earlier.number and is_in_time


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="reuse-dead-session",
        clause="session.final",
        severity=2,
        proof="a loop of reads after expired or failed was returned, or two visits to the dead link",
        advice="After expired or failed create a new session.",
        needs=("times",),
        judge=reuse_dead_session,
    ),
    Check(
        id="misses-the-end",
        clause="advice.poll-session",
        severity=2,
        proof="no event was acknowledged and no read has shown the end: of a session that completed after a read or with a returnUrl, or whose deadline was over without a read",
        advice="Poll until a final status or expiresAt of the service's clock: an event may not arrive, and the user may close the tab.",
        needs=("later calls",),
        judge=misses_the_end,
    ),
    Check(
        id="id-not-stored-first",
        clause="advice.store-session",
        severity=1,
        proof="the event was answered 409, 410, 422, or 404 by a receiver that accepted others; the client never read the session",
        advice="Store the sessionId before the user is sent to url.",
        needs=("deliveries", "later calls"),
        judge=id_not_stored_first,
    ),
    Check(
        id="iframe",
        clause="advice.top-level",
        severity=2,
        proof="a visit with Sec-Fetch-Dest iframe, frame, embed or object",
        advice="Open url in a top-level window or tab.",
        needs=("visits",),
        judge=iframe,
    ),
    Check(
        id="popup-blocked",
        clause="advice.top-level",
        severity=3,
        proof="a session expired without a visit, and a user visited the page of one created after it",
        advice="Open the window in the click itself, before the session is created.",
        needs=("visits",),
        judge=popup_blocked,
    ),
)
