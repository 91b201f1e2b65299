"""
Judges of connection sessions: what is read too long or not at all, and what is created in vain.

Judges of the hosted page: how its link was opened, by whom, and how often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mockserver.conduct.evidence import DeliveryAttempt, Evidence, body_of, client_key, numbers, succeeded, was_received
from mockserver.conduct.polling import after_final, poll_sequences
from mockserver.conduct.rules import NotAssessable, Proof
from mockserver.core import ledger
from mockserver.core.instants import MINUTE, SECOND
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import PageVisit, Session

_UNKNOWN = (409, 410, 422)  # how a receiver answers an event about a session that it does not know
_NOWHERE = 404  # or this, or it has no such path
_FIELDS = ("funnelStepId", "funnelId", "coexistence", "returnUrl")
_COMES_BACK = 5 * MINUTE
_PATIENCE = MINUTE  # a client that polls at all has read again by then


def reuse_dead_session(seen: Evidence) -> Iterator[Proof]:
    for watch in poll_sequences(seen):
        found = after_final(seen, watch)
        if watch.operation != "readConnectionSession" or found is None:
            continue
        status = seen.answer_field(found[0], "status")
        if status == "completed":
            continue
        if len(found[1]) >= 2:
            told = f"{watch.id} was {status}, and was read {len(found[1])} times more"
            yield Proof(told, numbers((found[0], *found[1][:2])))
        dead = [
            each for each in seen.visits if each.method == "GET" and each.status == 410
        ]  # a tab that was open meets its end
        late = [each for each in dead if each.session_id == watch.id and each.at > found[0].at]
        if late:
            made = seen.creating_exchange(watch.id)
            yield Proof(
                f"the link of {watch.id} was opened after the client knew it to be {status}",
                numbers((*([made] if made else []), found[0])),
            )


def poll_past_deadline(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        late = [each for each in seen.reads(session.id) if each.at > session.expires_at + 2 * MINUTE]
        pairs = [
            pair
            for pair in pairwise(late)
            if client_key(pair[0]) == client_key(pair[1]) and pair[1].at - pair[0].at <= 5 * MINUTE
        ]
        if pairs:
            yield Proof(f"{session.id} was polled {len(late)} times after its deadline", numbers((made, *pairs[0])))


def stop_too_soon(seen: Evidence) -> Iterator[Proof]:
    for session, made in _unnoticed(seen):
        reads = seen.reads(session.id)
        if reads:
            told = f"{session.id} completed after the last read, and nobody noticed"
            yield Proof(told, numbers((made, reads[-1])))


def waits_for_return(seen: Evidence) -> Iterator[Proof]:
    for session, made in _unnoticed(seen):
        if session.return_url is not None and not seen.reads(session.id):
            yield Proof(f"{session.id} completed, and only a visit to its returnUrl could have told", (made.n,))


def _unnoticed(seen: Evidence) -> Iterator[tuple[Session, JournalEntry]]:
    """Sessions that completed a while ago, with no read since and no event acknowledged."""
    for session, made in seen.sessions():
        ended = seen.ended_at(session.id)
        if session.status != "completed" or ended is None or seen.now - ended < _PATIENCE or not was_received(made):
            continue
        told = any(seen.answer_field(each, "status") == "completed" for each in seen.reads(session.id))
        if not told and not seen.is_acknowledged(session.id):
            yield session, made


def webhook_only(seen: Evidence) -> Iterator[Proof]:
    left = {row["sessionId"] for row in ledger.abandoned(seen.sandbox, seen.made)}
    for session, made in seen.sessions():
        over = seen.now >= session.expires_at and session.status != "pending"
        unread = session.id in left or (session.status == "completed" and not seen.reads(session.id))
        if (
            over
            and unread
            and was_received(made)
            and not seen.is_acknowledged(session.id)
            and session.return_url is None
        ):
            yield Proof(f"{session.id} was {session.status}; no event was acknowledged, and nobody read it", (made.n,))


def id_not_stored_first(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        came = [each for each in seen.delivery_attempts if each.session_id == session.id and each.fault is None]
        is_known = bool(came) and not seen.ended_with(made, session.id)  # the answer with its id was there before
        if is_known and all(_is_unknown(seen, each) for each in came) and not seen.reads(session.id):
            told = f"the event of {session.id} ({came[0].label}) was answered {came[-1].status}, and nobody read the session"
            yield Proof(told, (made.n,))


def _is_unknown(seen: Evidence, letter: DeliveryAttempt) -> bool:
    """True where a receiver says that it knows no such session; where it says 404 to everything, its path is wrong."""
    if letter.status != _NOWHERE:
        return letter.status in _UNKNOWN
    return any(each.accepted for each in seen.delivery_attempts if each.endpoint == letter.endpoint)


def event_before_answer(seen: Evidence) -> Iterator[Proof]:
    """The event of a session that ends while it is created overtakes the create's answer."""
    for session, made in seen.sessions():
        came = [each for each in seen.delivery_attempts if each.session_id == session.id and each.fault is None]
        if not came or not seen.ended_with(made, session.id) or came[0].accepted or came[0].status is None:
            continue
        if not seen.is_acknowledged(session.id) and not seen.reads(session.id):
            told = f"the event of {session.id} ({came[0].label}) came before the create's answer, met {came[0].status}, and nobody read the session"
            yield Proof(told, (made.n,))


def bad_return_url(seen: Evidence) -> Iterator[Proof]:
    for each in seen.of("createConnectionSession"):
        if (
            each.error is not None
            and each.error.location == "/returnUrl"
            and body_of(each).get("returnUrl") is not None
        ):
            yield Proof("a session was refused for its returnUrl", (each.n,))


def funnel_misuse(seen: Evidence) -> Iterator[Proof]:
    for each in seen.of("createConnectionSession"):
        body = body_of(each)
        unknown = sorted(set(body) - set(_FIELDS))
        if each.error is None or each.error.code not in ("VALIDATION_ERROR", "INVALID_REQUEST"):
            continue
        if "funnelId" in body and "funnelStepId" not in body:
            yield Proof("a session was refused for funnelId without funnelStepId", (each.n,))
        elif unknown:
            yield Proof(f"a session was refused for {', '.join(each[:40] for each in unknown[:3])}", (each.n,))


def session_storm(seen: Evidence) -> Iterator[Proof]:
    left = {row["exchange"] for row in ledger.abandoned(seen.sandbox, seen.made)}
    creates = [each for each in seen.of("createConnectionSession") if succeeded(each)]
    for first in creates:
        again = seen.next_repetition(first)
        if again is None or not succeeded(again) or client_key(again) != client_key(first):
            continue
        if (seen.gap(first, again) or 0) < SECOND and (first.n in left) != (again.n in left):
            yield Proof("one click created two equal sessions, of which one was left", numbers((first, again)))
    told = _told_reason(seen, "phone_in_use")
    after = _in_a_row([each for each in creates if told and each.n > told[0].n], told)
    if len(after) >= 3:
        yield Proof(f"{len(after)} sessions were created after phone_in_use", numbers((told[0], *after[:2])))


def _in_a_row(creates: Sequence[JournalEntry], told: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Those that followed what was told, each within five minutes of the one before; a user who comes later comes anew."""
    chained = [*told[:1], *creates]
    late = (place for place, pair in enumerate(pairwise(chained)) if pair[1].at - pair[0].at > _COMES_BACK)
    return list(creates[: next(late, len(creates))])


def orphan_number(seen: Evidence) -> Iterator[Proof]:
    expired = _told_reason(seen, "expired")
    in_use = [each for each in _told_reason(seen, "phone_in_use") if expired and each.n > expired[0].n]
    if len(in_use) >= 2:
        told = f"a session expired, and {len(in_use)} later ones met phone_in_use"
        yield Proof(told, numbers((expired[0], *in_use[:2])))


def _told_reason(seen: Evidence, reason: str) -> list[JournalEntry]:
    """The first read of each session that told this reason."""
    found: dict[str, JournalEntry] = {}
    for each in seen.of("readConnectionSession"):
        if seen.answer_field(each, "reason") == reason:
            found.setdefault(each.call.params["sessionId"], each)
    return list(found.values())


def double_provision(seen: Evidence) -> Iterator[Proof]:
    for session, _ in seen.sessions():
        told = [each for each in seen.reads(session.id) if seen.answer_field(each, "status") == "completed"]
        if not told or not seen.is_acknowledged(session.id):
            continue
        uses = [
            each
            for each in seen.of("readEntrypoint")
            if each.call.params["id"] == session.entrypoint_id and succeeded(each)
        ]
        if _twice(uses):
            yield Proof(f"poll and event both led to a read of {session.entrypoint_id}", numbers((told[0], *uses[:2])))


def _twice(uses: Sequence[JournalEntry]) -> bool:
    return len(uses) >= 2 and uses[1].at - uses[0].at <= MINUTE


def late_event_overwrites(seen: Evidence) -> Iterator[Proof]:
    accepted = [each for each in seen.delivery_attempts if each.accepted and each.is_genuine]
    creates = {session.id: made for session, made in seen.sessions()}
    for place, connected in enumerate(accepted):
        for late in accepted[place + 1 :]:
            old, new = creates.get(late.session_id), creates.get(connected.session_id)
            if old is None or new is None or not _overtaken(connected.kind, late.kind) or old.n >= new.n:
                continue
            again = [each for each in creates.values() if each.n > new.n and each.at >= late.at]
            if again:
                told = f"after the late failure of {late.session_id} ({late.label}) a session was created, although {connected.session_id} had connected"
                yield Proof(told, numbers((old, new, again[0])))


def _overtaken(first: str, second: str) -> bool:
    return first.endswith(".connected") and second.endswith(".connection_failed")


def ack_then_lose(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    for session, made in seen.sessions():
        if not seen.is_acknowledged(session.id):
            continue
        follow = [*seen.concerning(session.id), *seen.concerning(session.entrypoint_id)]
        follow.sort(key=lambda each: each.n)
        if (
            not follow
            or succeeded(follow[-1])
            or any(seen.answer_field(each, "status") == session.status for each in follow)
        ):
            continue
        if seen.now - follow[-1].at >= MINUTE:
            told = f"the event of {session.id} was acknowledged, the read that followed failed, and nobody read again"
            yield Proof(told, numbers((made, follow[-1])))
        else:
            yield NotAssessable(f"the read after the event of {session.id} failed, and the run ended there")


_FRAMES = ("iframe", "frame", "embed", "object")
_SCANNER = re.compile(
    r"bot\b|bot/|slack|whatsapp|facebookexternalhit|skypeuripreview|preview|safelinks|scanner|crawler", re.IGNORECASE
)


def _looks(seen: Evidence, session_id: str) -> list[PageVisit]:
    return [each for each in seen.visits if each.session_id == session_id]


def _is_scanner(visit: PageVisit) -> bool:
    return _SCANNER.search(visit.user_agent or "") is not None


def iframe(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        framed = [each for each in _looks(seen, session.id) if each.sec_fetch_dest in _FRAMES]
        if framed:
            yield Proof(f"the page of {session.id} was opened in a frame (visit {framed[0].n})", (made.n,))


def popup_blocked(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    """Where scanners alone came there is no user in the run, and none whose popup could have been blocked."""
    if all(map(_is_scanner, seen.visits)):
        yield NotAssessable("no user visited a hosted page")
        return
    for session, made in seen.sessions():
        if session.status == "expired" and not _looks(seen, session.id):
            yield Proof(f"{session.id} expired, and nobody had opened its page", (made.n,))


def preview_burns_link(seen: Evidence) -> Iterator[Proof]:
    creates = seen.of("createConnectionSession")
    for session, made in seen.sessions():
        looks = _looks(seen, session.id)
        burnt = looks and _is_scanner(looks[0]) and looks[0].status < 400
        met = [each for each in looks if each.status == 410 and not _is_scanner(each)]
        if burnt and met and not any(each.n > made.n and each.at >= met[0].at for each in creates):
            told = f"a scanner opened the link of {session.id} (visit {looks[0].n}), the user met 410 (visit {met[0].n}), and no session followed"
            yield Proof(told, (made.n,))


def link_shared_or_cached(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        looks = [each for each in _looks(seen, session.id) if not _is_scanner(each)]
        agents = list(dict.fromkeys(each.user_agent for each in looks))
        went_on = next((each for each in looks if each.method == "POST" and each.status < 400), None)
        late = [each for each in looks if went_on and each.status == 410 and each.at - went_on.at > MINUTE]
        if len(agents) > 1:
            second = next(each for each in looks if each.user_agent == agents[1])
            yield Proof(f"two user agents opened the page of {session.id} (visits {looks[0].n}, {second.n})", (made.n,))
        elif late and session.status in ("pending", "completed"):
            told = f"the link of {session.id} was opened again a minute after it had been used (visit {late[0].n})"
            yield Proof(told, numbers((made, *seen.reads(session.id)[:1])))
