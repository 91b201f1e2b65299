"""
Judges of connection sessions: reads that are missing or too many, superfluous creates, and visits to the hosted page.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from mockserver.contract import schemas
from mockserver.core import ledger
from mockserver.core.instants import MINUTE, SECOND, Instant
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import PageVisit, Session
from mockserver.judge.client.former_evidence import (
    DeliveryAttempt,
    Evidence,
    body_of,
    client_key,
    has_to_retry,
    numbers,
    requested_wait,
    succeeded,
    was_received,
)
from mockserver.judge.client.polling import HOPELESS, RETRIED, FinalRead, failures_at_end, final_read, poll_sequences
from mockserver.judge.client.rules import NotAssessable, Proof

_UNKNOWN = (409, 410, 422)  # how a receiver refuses an event of an unknown session
_NOT_FOUND = 404  # of an unknown session, or of a wrong path
_AT_ONCE = MINUTE  # a session later than that after a failure is a user's new decision
_PROMPT = 2 * SECOND  # within which a client acts upon a report
_MANY_READS = 5
_LONGEST_LOOP = 15 * SECOND
_LONGEST_POLL = 30 * SECOND
_POLLED_WITHIN = MINUTE  # a client that polls has read again by then


def reuse_dead_session(evidence: Evidence) -> Iterator[Proof]:
    for polls in poll_sequences(evidence):
        final = final_read(evidence, polls)
        status = evidence.answer_field(final.exchange, "status") if final is not None else None
        if polls.operation != "readConnectionSession" or final is None or status == "completed":
            continue
        if _is_loop(evidence, final):
            message = f"{polls.id} was {status}, and was read {len(final.later)} more times"
            yield Proof(message, numbers((final.exchange, *final.later[:2])))
        # A POST to a dead link is sent by a tab that was open before.
        dead = (visit for visit in _visits(evidence, polls.id) if visit.method == "GET" and visit.status == 410)
        # One visit of a dead link is a user's, who still has it: a client that shows it again has several.
        if sum(visit.at > final.exchange.at for visit in dead) >= 2:
            created = evidence.creating_exchange(polls.id)
            message = (
                f"the link of {polls.id} was opened again and again after the client had read that it was {status}"
            )
            yield Proof(message, numbers((*([created] if created else []), final.exchange)))


def _is_loop(evidence: Evidence, final: FinalRead) -> bool:
    """Return True for two later reads as a loop sends them, or for many: several people may each have opened a page."""
    waits = [evidence.gap(*pair) or 0 for pair in pairwise((final.exchange, *final.later[:2]))]
    return len(final.later) >= _MANY_READS or (len(waits) >= 2 and max(waits) <= _LONGEST_LOOP)


def poll_past_deadline(evidence: Evidence) -> Iterator[Proof]:
    for session, created in evidence.sessions():
        late = [read for read in evidence.reads(session.id) if read.at > session.expires_at + 2 * MINUTE]
        pairs = [
            pair
            for pair in pairwise(late)
            if client_key(pair[0]) == client_key(pair[1]) and pair[1].at - pair[0].at <= 5 * MINUTE
        ]
        if pairs:
            message = f"{session.id} was polled {len(late)} times after its deadline"
            yield Proof(message, numbers((created, *pairs[0])))


def stop_too_soon(evidence: Evidence) -> Iterator[Proof]:
    for session, created in _unnoticed(evidence):
        reads = evidence.reads(session.id)
        if reads:
            message = f"{session.id} completed after the last read, and no event was acknowledged"
            yield Proof(message, numbers((created, reads[-1])))


def waits_for_return(evidence: Evidence) -> Iterator[Proof]:
    for session, created in _unnoticed(evidence):
        if session.return_url is not None and not evidence.reads(session.id):
            message = f"{session.id} completed, and only a visit to its returnUrl could have shown it"
            yield Proof(message, (created.n,))


def _unnoticed(evidence: Evidence) -> Iterator[tuple[Session, JournalEntry]]:
    """Yield sessions that completed at least a minute ago, without a later read or an acknowledged event."""
    for session, created in evidence.sessions():
        ended = evidence.ended_at(session.id)
        if (
            session.status != "completed"
            or ended is None
            or evidence.now - ended < _POLLED_WITHIN
            or not was_received(created)
        ):
            continue
        reads = evidence.reads(session.id)
        is_read = any(evidence.answer_field(read, "status") == "completed" for read in reads)
        if evidence.is_event_under_way(session.id) or _is_polled_to_the_end(evidence, session):
            continue
        if not is_read and not evidence.is_acknowledged(session.id) and not _is_turned_away(evidence, session):
            yield session, created


def _is_polled_to_the_end(evidence: Evidence, session: Session) -> bool:
    """Return True if the next poll would be past the deadline or the run, by the wait before the last one or its Retry-After."""
    reads = [call for call in evidence.concerning(session.id) if call.operation == "readConnectionSession"]
    if not reads:
        return False
    wait = max(min(reads[-1].at - reads[-2].at, _LONGEST_POLL) if len(reads) > 1 else 0, requested_wait(reads[-1]) or 0)
    return reads[-1].at + wait >= min(session.expires_at, evidence.now)


def _is_turned_away(evidence: Evidence, session: Session) -> bool:
    """Return True if the client's last read of a session, or a call after it, was refused, or its last three in a row failed: it has given up."""
    reads = sorted(evidence.concerning(session.id), key=lambda read: read.place_as_sent)
    if not reads:
        return False
    is_refused = was_received(reads[-1]) and reads[-1].status in HOPELESS
    return is_refused or failures_at_end(reads) >= RETRIED or evidence.is_locked_out(reads[-1])


def webhook_only(evidence: Evidence) -> Iterator[Proof]:
    unused = {row["sessionId"] for row in ledger.abandoned(evidence.run, evidence.made)}
    for session, created in evidence.sessions():
        over = evidence.now >= session.expires_at and session.status != "pending"
        over &= not evidence.is_event_under_way(session.id)
        unread = session.id in unused or (session.status == "completed" and not evidence.reads(session.id))
        if (
            over
            and unread
            and was_received(created)
            and not evidence.is_acknowledged(session.id)
            and not _is_turned_away(evidence, session)
            and session.return_url is None
        ):
            message = f"{session.id} was {session.status}; no event was acknowledged, and the client did not read it"
            yield Proof(message, (created.n,))


def id_not_stored_first(evidence: Evidence) -> Iterator[Proof]:
    for session, created in evidence.sessions():
        attempts = _plain_attempts(evidence, session)
        has_id = was_received(created) and not evidence.ended_with(created, session.id)
        is_unknown = bool(attempts) and all(_is_unknown(evidence, attempt) for attempt in attempts)
        if not has_id or not is_unknown or evidence.reads(session.id):
            continue
        if _may_be_receiver_of(evidence, created, attempts):
            message = f"the receiver answered {attempts[-1].status} to the event of {session.id} ({attempts[0].label}), and the client did not read the session"
            yield Proof(message, (created.n,))


def _may_be_receiver_of(evidence: Evidence, created: JournalEntry, attempts: Sequence[DeliveryAttempt]) -> bool:
    """Return False if the receivers have accepted only events of another client's sessions: each application has its own."""
    endpoints = {attempt.endpoint for attempt in attempts}
    clients = {session.id: client_key(create) for session, create in evidence.sessions()}
    accepted = (each for each in evidence.delivery_attempts if each.accepted and each.endpoint in endpoints)
    of_clients = {clients[each.session_id] for each in accepted if each.session_id in clients}
    return not of_clients or client_key(created) in of_clients


def _plain_attempts(evidence: Evidence, session: Session) -> list[DeliveryAttempt]:
    """Return the attempts to deliver the session's event that no rule has modified."""
    return [
        attempt for attempt in evidence.delivery_attempts if attempt.session_id == session.id and attempt.fault is None
    ]


def _is_unknown(evidence: Evidence, attempt: DeliveryAttempt) -> bool:
    """Return True if a receiver refused an unknown session; one that always returns 404 has a wrong path instead."""
    if attempt.status != _NOT_FOUND:
        return attempt.status in _UNKNOWN
    return any(other.accepted for other in evidence.delivery_attempts if other.endpoint == attempt.endpoint)


def event_before_answer(evidence: Evidence) -> Iterator[Proof]:
    """The event of a session that ends during its creation arrives before the create's response."""
    for session, created in evidence.sessions():
        attempts = _plain_attempts(evidence, session)
        if not attempts or not was_received(created) or not evidence.ended_with(created, session.id):
            continue
        if attempts[0].accepted or attempts[0].status is None:
            continue
        if not evidence.is_acknowledged(session.id) and not evidence.reads(session.id):
            message = f"the event of {session.id} ({attempts[0].label}) arrived before the create's response, got {attempts[0].status}, and the client did not read the session"
            yield Proof(message, (created.n,))


def bad_return_url(evidence: Evidence) -> Iterator[Proof]:
    for create in evidence.of("createConnectionSession"):
        is_refused = create.error is not None and create.error.location == "/returnUrl"
        if is_refused and body_of(create).get("returnUrl") is not None:
            yield Proof("a session was refused for its returnUrl", (create.n,))


def funnel_misuse(evidence: Evidence) -> Iterator[Proof]:
    for create in evidence.of("createConnectionSession"):
        body = body_of(create)
        unknown = sorted(set(body) - set(schemas.load("createConnectionSession.request")["properties"]))
        if create.error is None or create.error.code not in ("VALIDATION_ERROR", "INVALID_REQUEST"):
            continue
        if "funnelId" in body and "funnelStepId" not in body:
            yield Proof("a session was refused for funnelId without funnelStepId", (create.n,))
        elif unknown:
            names = ", ".join(name[:40] for name in unknown[:3])
            yield Proof(f"a session was refused for {names}", (create.n,))


def session_storm(evidence: Evidence) -> Iterator[Proof]:
    unread = ledger.abandoned(evidence.run, evidence.made)
    unused = {row["exchange"] for row in unread if not evidence.is_acknowledged(row["sessionId"])}
    creates = [create for create in evidence.of("createConnectionSession") if succeeded(create)]
    for first in creates:
        again = evidence.next_repetition(first)
        if again is None or not succeeded(again) or client_key(again) != client_key(first):
            continue
        if (evidence.gap(first, again) or 0) < SECOND and (first.n in unused) != (again.n in unused):
            yield Proof(
                "two equal sessions were created within a second, of which one stayed unused", numbers((first, again))
            )
    for read, row in _rows_after(evidence, "phone_in_use"):
        if len(row) >= 3:
            message = f"{len(row)} sessions were created after phone_in_use"
            yield Proof(message, numbers((read, *(create for create, _ in row[:2]))))
            return


def retries_number_in_use(evidence: Evidence) -> Iterator[Proof]:
    """A new session after each failure is what the document says; a client that loops is seen by the third in a row."""
    for expired, row in _rows_after(evidence, "expired"):
        reads = [read for _, read in row if read is not None]
        if len(reads) >= 3:
            message = f"a session expired, and {len(reads)} in a row after it failed with phone_in_use"
            yield Proof(message, numbers((expired, *reads[:3])))


def _rows_after(
    evidence: Evidence, reason: str
) -> Iterator[tuple[JournalEntry, list[tuple[JournalEntry, JournalEntry | None]]]]:
    """
    Yield each read that returned a reason, with the creates in a row after it, each within a minute of the failure before it.

    A create has the read that its number was in use, or None: what follows that is another user's, and what comes later is
    a user's new attempt. Nor is a create in a row whose client has not read the end of each session before it: several users
    are at work.
    """
    creates = [create for create in evidence.of("createConnectionSession") if succeeded(create)]
    ids = [evidence.answer_field(create, "sessionId") for create in creates]
    finals = {polls.id: final_read(evidence, polls) for polls in poll_sequences(evidence)}
    ends = {id: final.exchange.n for id, final in finals.items() if final}
    all_ended = [0, *accumulate((ends.get(id, math.inf) for id in ids), max)]
    in_use = {read.call.params["sessionId"]: read for read in reads_of_reason(evidence, "phone_in_use")}
    for failed in reads_of_reason(evidence, reason):
        row, before = [], failed
        for place in range(bisect(creates, failed.n, key=lambda create: create.n), len(creates)):
            create = creates[place]
            if create.at - before.at > _AT_ONCE or all_ended[place] > create.n:
                break
            read = in_use.get(ids[place])
            row.append((create, read))
            if read is None:
                break
            before = read
        yield failed, row


def reads_of_reason(evidence: Evidence, reason: str) -> list[JournalEntry]:
    """Return the first read of each session that returned this reason."""
    reads: dict[str, JournalEntry] = {}
    for read in evidence.of("readConnectionSession"):
        if evidence.answer_field(read, "reason") == reason:
            reads.setdefault(read.call.params["sessionId"], read)
    return list(reads.values())


def double_provision(evidence: Evidence) -> Iterator[Proof]:
    """Of two reads of the entrypoint the second is of the second report, poll or event, if that came between the two."""
    for session, _ in evidence.sessions():
        reads = [read for read in evidence.reads(session.id) if evidence.answer_field(read, "status") == "completed"]
        calls = evidence.concerning(session.entrypoint_id)
        uses = [call for call in calls if call.operation == "readEntrypoint" and succeeded(call)]
        if not reads or len(uses) < 2 or uses[1].at - uses[0].at > MINUTE:
            continue
        reported_at = _second_report(evidence.acknowledged_at(session.id), reads[0], uses)
        if reported_at is not None and uses[1].at - reported_at <= _PROMPT:  # later a page may show it
            message = f"poll and event both led to a read of {session.entrypoint_id}"
            yield Proof(message, numbers((reads[0], *uses[:2])))


def _second_report(acknowledged_at: Instant | None, read: JournalEntry, uses: Sequence[JournalEntry]) -> Instant | None:
    """Return the instant of the second one of event and read, if each of them was followed by a use."""
    if acknowledged_at is None:
        return None
    if read.n < uses[0].n and uses[0].at < acknowledged_at <= uses[1].at:
        return acknowledged_at
    return read.at if acknowledged_at <= uses[0].at and uses[0].n < read.n < uses[1].n else None


def late_event_overwrites(evidence: Evidence) -> Iterator[Proof]:
    creates = {session.id: created for session, created in evidence.sessions()}
    for connected, late in _overtaken(evidence):
        old, new = creates.get(late.session_id), creates.get(connected.session_id)
        if old is None or new is None or old.n >= new.n:
            continue
        again = [
            create for create in creates.values() if create.n > new.n and 0 <= create.sent_at - late.at <= _AT_ONCE
        ]
        if again:
            message = f"after the late failure of {late.session_id} ({late.label}) a session was created, although {connected.session_id} had connected"
            yield Proof(message, numbers((old, new, again[0])))


def _overtaken(evidence: Evidence) -> Iterator[tuple[DeliveryAttempt, DeliveryAttempt]]:
    """Yield each accepted event of a connection with the later ones of sessions that had failed before it: these are late."""
    accepted = [attempt for attempt in evidence.delivery_attempts if attempt.accepted and attempt.is_genuine]
    for place, connected in enumerate(accepted):
        for late in accepted[place + 1 :]:
            ended_at = evidence.ended_at(late.session_id)
            if is_overtaken(connected.kind, late.kind) and (ended_at is None or ended_at <= connected.at):
                yield connected, late


def is_overtaken(first: str, second: str) -> bool:
    """Return True if an event that reports a failure follows one that reports a connection."""
    return first.endswith(".connected") and second.endswith(".connection_failed")


def ack_then_lose(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    """
    A client that read the session before its event polls it: a poll that fails is no read for the event.

    It may give up after three tries, since the event itself holds the result.
    """
    for session, created in evidence.sessions():
        acknowledged_at = evidence.acknowledged_at(session.id)
        calls = [*evidence.concerning(session.id), *evidence.concerning(session.entrypoint_id)]
        calls.sort(key=lambda call: call.place_as_sent)
        has_read = any(evidence.answer_field(call, "status") == session.status for call in calls)
        if acknowledged_at is None or not calls or succeeded(calls[-1]) or has_read:
            continue
        if calls[0].sent_at < acknowledged_at or calls[-1].at - acknowledged_at > MINUTE or not has_to_retry(calls[-1]):
            continue
        if failures_at_end(calls) >= RETRIED or evidence.is_locked_out(calls[-1]):
            continue
        if evidence.now - calls[-1].at - (requested_wait(calls[-1]) or 0) >= MINUTE:
            message = f"the event of {session.id} was acknowledged, the read that followed failed, and was not repeated"
            yield Proof(message, numbers((created, calls[-1])))
        else:
            yield NotAssessable(f"the read after the event of {session.id} failed, and the run ended there")


_FRAMES = ("iframe", "frame", "embed", "object")
_SCANNER = re.compile(
    r"bot\b|bot/|slack|whatsapp|facebookexternalhit|skypeuripreview|preview|safelinks|scanner|crawler", re.IGNORECASE
)


def _visits(evidence: Evidence, session_id: str) -> list[PageVisit]:
    return [visit for visit in evidence.visits if visit.session_id == session_id]


def is_scanner(visit: PageVisit) -> bool:
    """Return True if the user agent of a visit is that of a scanner or of a preview."""
    return _SCANNER.search(visit.user_agent or "") is not None


def _visits_of_users(evidence: Evidence, session_id: str) -> list[PageVisit]:
    return [visit for visit in _visits(evidence, session_id) if not is_scanner(visit)]


def iframe(evidence: Evidence) -> Iterator[Proof]:
    for session, created in evidence.sessions():
        framed = [visit for visit in _visits(evidence, session.id) if visit.sec_fetch_dest in _FRAMES]
        if framed:
            yield Proof(f"the page of {session.id} was opened in a frame (visit {framed[0].n})", (created.n,))


def popup_blocked(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    """
    A user whose popup was blocked clicks again, and opens the page of the session that follows.

    If only scanners visited, the run has no user whose popup could have been blocked; nor has a link that was lost.
    """
    if all(map(is_scanner, evidence.visits)):
        yield NotAssessable("no user visited a hosted page")
        return
    for session, created in evidence.sessions():
        if session.status != "expired" or not was_received(created) or _visits(evidence, session.id):
            continue
        later = (each for each, other in evidence.sessions() if created.n < other.n and other.at <= session.expires_at)
        if any(_visits_of_users(evidence, each.id) for each in later):
            message = f"{session.id} expired, and no user had opened its page; that of a later session was opened"
            yield Proof(message, (created.n,))


def preview_burns_link(evidence: Evidence) -> Iterator[Proof]:
    creates = evidence.of("createConnectionSession")
    for session, created in evidence.sessions():
        visits = _visits(evidence, session.id)
        is_consumed = bool(visits) and is_scanner(visits[0]) and visits[0].status < 400
        gone = [visit for visit in _visits_of_users(evidence, session.id) if visit.status == 410]
        if (
            is_consumed
            and gone
            and evidence.now - gone[0].at >= MINUTE
            and not any(create.n > created.n and create.at >= gone[0].at for create in creates)
        ):
            message = f"a scanner opened the link of {session.id} (visit {visits[0].n}), the user got 410 (visit {gone[0].n}), and no session followed"
            yield Proof(message, (created.n,))


def link_shared_or_cached(evidence: Evidence) -> Iterator[Proof]:
    for session, created in evidence.sessions():
        visits = _visits_of_users(evidence, session.id)
        others = [visit for visit in visits if visit.user_agent != visits[0].user_agent]
        used = next((visit for visit in visits if visit.method == "POST" and visit.status < 400), None)
        late = [visit for visit in visits if used and visit.status == 410 and visit.at - used.at > MINUTE]
        if others:
            message = f"two user agents opened the page of {session.id} (visits {visits[0].n}, {others[0].n})"
            yield Proof(message, (created.n,))
        elif len(late) >= 2 and session.status in ("pending", "completed"):
            shown = f"visits {late[0].n}, {late[1].n}"
            message = f"the link of {session.id} was opened again and again, a minute and more after it had been used ({shown})"
            yield Proof(message, numbers((created, *evidence.reads(session.id)[:1])))
