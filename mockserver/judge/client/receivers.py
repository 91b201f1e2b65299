"""
Judges of receivers: their answers to deliveries, forged requests and repetitions.

A delivery is not an exchange: findings cite the exchange that created the session, and name event and endpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from mockserver.contract.text import whole_number
from mockserver.core.instants import MINUTE, SECOND, Duration
from mockserver.core.state.journal import JournalEntry
from mockserver.judge.client.former_evidence import DeliveryAttempt, Evidence, was_received
from mockserver.judge.client.rules import NotAssessable, Proof

REFUSALS = (400, 401, 403)
_NEVER_VERIFYING = (405, 411, 413, 415)
_DOWN = (502, 503, 504)
_PAGE = re.compile(rb"csrf|<html|<!doctype|log ?in|sign ?in|credentials were not provided", re.IGNORECASE)
OLD = 5 * MINUTE
_SLOW_MS = 5_000
_TIMESTAMP = re.compile(r"(?:^|,)t=(\d{1,12})(?:,|$)|^(\d{1,12})$")  # of Stripe's signature; of a header of its own
BY_AGE = (
    "deliveries were refused that the process's clock had signed more than five minutes from the sandbox's: if the receiver "
    "compares their timestamp with the sandbox's clock, choose `wh-timestamp: sandbox-clock`"
)

Judge = Callable[[Evidence], Iterator[Proof | NotAssessable]]


def _proof(evidence: Evidence, message: str, *attempts: DeliveryAttempt) -> Proof:
    created = (evidence.made.get(attempt.session_id) for attempt in attempts)
    return Proof(message, tuple(dict.fromkeys(n for n in created if n is not None))[:3])


def _genuine_by_endpoint(evidence: Evidence) -> Iterator[list[DeliveryAttempt]]:
    """
    Yield the genuine attempts of each endpoint that it answered.

    It may refuse the events of a session whose create its client received no answer to, with any status.
    """
    groups: dict[str, list[DeliveryAttempt]] = {}
    for attempt in evidence.delivery_attempts:
        if attempt.is_genuine and attempt.status is not None and _is_known(evidence, attempt):
            groups.setdefault(attempt.endpoint, []).append(attempt)
    yield from groups.values()


def _all_refused(attempts: Sequence[DeliveryAttempt]) -> bool:
    """Return True if there are attempts, and the receiver refused all of them."""
    return bool(attempts) and all(attempt.status in REFUSALS for attempt in attempts)


def _any_accepted(attempts: Sequence[DeliveryAttempt]) -> bool:
    return any(attempt.accepted for attempt in attempts)


def signed_age(attempt: DeliveryAttempt) -> Duration | None:
    """Return the age of a request's signed timestamp by the sandbox's clock, or None if it has no timestamp."""
    texts = (value for name, value in attempt.headers.items() if name.lower().endswith(("-timestamp", "-signature")))
    found = next((match for match in map(_TIMESTAMP.search, texts) if match), None)
    seconds = whole_number(found[1] or found[2]) if found else None
    return attempt.at - seconds * SECOND if seconds is not None else None


def _may_be_refused_by_age(attempt: DeliveryAttempt) -> bool:
    """Return True if a receiver that has the sandbox's clock refuses the timestamp of this request, as it should."""
    age = signed_age(attempt)
    return age is not None and abs(age) > OLD


def _fresh(attempts: Sequence[DeliveryAttempt]) -> list[DeliveryAttempt]:
    """Return the attempts whose timestamp no receiver refuses, whichever clock it has."""
    return [attempt for attempt in attempts if not _may_be_refused_by_age(attempt)]


def _is_wrong(attempt: DeliveryAttempt) -> bool:
    """
    Return True if the receiver should have given the other answer: refused what it accepted, or accepted what it refused.

    A receiver that has the sandbox's clock may be right about a timestamp of the process's clock.
    """
    if attempt.fault == "old-timestamp":
        return signed_age(attempt) is None or _may_be_refused_by_age(attempt)
    return attempt.accepted or attempt.status not in REFUSALS or not _may_be_refused_by_age(attempt)


def _may_be_down(evidence: Evidence, attempt: DeliveryAttempt) -> bool:
    """Return True for a 5xx that is not of this request: by its status, or as genuine ones got one, or such a one was accepted."""
    others = [each for each in evidence.delivery_attempts if each.endpoint == attempt.endpoint]
    crashes = any(_has_crashed(each) for each in others if each.is_genuine)
    accepts = any(each.accepted for each in others if each.fault == attempt.fault)
    return _has_crashed(attempt) and (attempt.status in _DOWN or crashes or accepts)


def _judge_of(faults: Sequence[str], kind: str, *, accepted: bool) -> Judge:
    """Return a judge of deliveries with these faults, whose findings are those that were accepted, or were not."""

    def judge(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
        attempts = [
            attempt for attempt in evidence.delivery_attempts if attempt.fault in faults and attempt.status is not None
        ]
        if not attempts:
            yield NotAssessable(f"no such delivery was sent: {' or '.join(faults)}")
        for endpoint in dict.fromkeys(attempt.endpoint for attempt in attempts):
            answered = [each for each in attempts if each.endpoint == endpoint and each.accepted == accepted]
            wrong = [each for each in answered if _is_wrong(each) and not _may_be_down(evidence, each)]
            if wrong:
                message = f"{kind} ({wrong[0].fault}, {wrong[0].label}) was answered {wrong[0].status}"
                yield _proof(evidence, message, *wrong)

    return judge


no_verify = _judge_of(("wrong-secret", "changed-body", "changed-id"), "a forged delivery", accepted=True)
missing_header_passes = _judge_of(("no-signature",), "a delivery without signature", accepted=True)
accepts_old_timestamps = _judge_of(("old-timestamp",), "a delivery signed ten minutes ago", accepted=True)
refuses_unknown_kind = _judge_of(("unknown-kind",), "an event of another kind", accepted=False)


def trusts_payload_tenant(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    """A receiver may answer 2xx and ignore the event: only a later read of the client shows that it used the event."""
    forged = [attempt for attempt in evidence.delivery_attempts if attempt.fault == "other-tenant" and attempt.accepted]
    genuine = {attempt.event_id for attempt in evidence.delivery_attempts if attempt.fault is None and attempt.accepted}
    has_acted = False
    for attempt in forged:
        reads = () if attempt.event_id in genuine else _reads_because_of(evidence, attempt)
        if reads:
            has_acted = True
            message = f"an event with another tenant's id ({attempt.label}) was acknowledged and acted upon"
            yield Proof(message, (reads[0].n,))
    if not has_acted:
        unseen = "only the client's test can show what it did with an event of another tenant"
        yield NotAssessable(unseen if forged else "no event with another tenant's id was delivered")


def _reads_because_of(evidence: Evidence, attempt: DeliveryAttempt) -> Sequence[JournalEntry]:
    """Return the calls about the session that followed the request; none if the client polls it in any case."""
    statuses = [evidence.answer_field(read, "status") for read in evidence.reads(attempt.session_id)]
    if "pending" in statuses:
        return ()
    return [call for call in evidence.concerning(attempt.session_id) if call.sent_at >= attempt.at]


def reserialised_body(evidence: Evidence) -> Iterator[Proof]:
    for attempts in _genuine_by_endpoint(evidence):
        changed = [attempt for attempt in _fresh(attempts) if changes_when_reserialised(attempt.body)]
        plain = [attempt for attempt in attempts if not changes_when_reserialised(attempt.body)]
        if _all_refused(changed) and _any_accepted(plain):
            first = changed[0]
            message = f"{first.label} was refused with {first.status}; only its JSON is formatted differently"
            yield _proof(evidence, message, first)


def changes_when_reserialised(body: bytes) -> bool:
    """Return True if parsing and serializing changes the bytes, or the text is not plain ASCII."""
    try:
        again = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return again != body or not body.isascii()


def secret_misread(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    for attempts in _genuine_by_endpoint(evidence):
        fresh = _fresh(attempts)
        if any(map(_was_answered_by_page, attempts)):
            continue
        if fresh and _all_refused(attempts):
            message = f"every valid delivery was refused with {fresh[0].status} ({fresh[0].label})"
            if evidence.run.choices["wh-timestamp"] == "sandbox-clock":
                message += (
                    "; one that compares their timestamp with the process's clock needs `wh-timestamp: process-clock`"
                )
            yield _proof(evidence, message, *fresh)
        elif _all_refused([attempt for attempt in attempts if attempt not in fresh]):
            yield NotAssessable(BY_AGE)


def framework_in_the_way(evidence: Evidence) -> Iterator[Proof]:
    for attempts in _genuine_by_endpoint(evidence):
        stopped = [
            attempt
            for attempt in attempts
            if attempt.status in _NEVER_VERIFYING
            or (_was_answered_by_page(attempt) and not _may_be_refused_by_age(attempt))
        ]
        if stopped:
            message = f"{stopped[0].label} got {stopped[0].status} before any receiver"
            yield _proof(evidence, message, *stopped)


def _was_answered_by_page(attempt: DeliveryAttempt) -> bool:
    return attempt.status in (401, 403) and _PAGE.search(attempt.answer) is not None


def tolerance_on_occurred_at(evidence: Evidence) -> Iterator[Proof | NotAssessable]:
    for attempts in _genuine_by_endpoint(evidence):
        all_late = [attempt for attempt in attempts if attempt.at - attempt.happened_at >= OLD]
        late = _fresh(all_late)
        prompt = [attempt for attempt in attempts if attempt.at - attempt.happened_at < OLD]
        if _all_refused(late) and _any_accepted(prompt):
            minutes = (late[0].at - late[0].happened_at) // MINUTE
            message = f"{late[0].label}, freshly signed {minutes} minutes after the event, was refused"
            yield _proof(evidence, message, late[0])
        elif not late and _all_refused(all_late) and _any_accepted(prompt):
            yield NotAssessable(BY_AGE)


def first_signature_only(evidence: Evidence) -> Iterator[Proof]:
    for attempts in _genuine_by_endpoint(evidence):
        two = [attempt for attempt in _fresh(attempts) if signature_count(attempt) >= 2]
        one = [attempt for attempt in attempts if signature_count(attempt) == 1]
        if _all_refused(two) and _any_accepted(one):
            message = f"{two[0].label}, with two signatures, was refused with {two[0].status}"
            yield _proof(evidence, message, two[0])


def signature_count(attempt: DeliveryAttempt) -> int:
    """Return the number of signatures of a request."""
    signed = (value for name, value in attempt.headers.items() if "signature" in name.lower())
    return max((len(re.findall(r"\bv1[,=]", value)) for value in signed), default=0)


def slow_ack(evidence: Evidence) -> Iterator[Proof]:
    for attempts in _genuine_by_endpoint(evidence):
        slowest = max(attempts, key=lambda attempt: attempt.duration_ms, default=None)
        if slowest is not None and slowest.duration_ms > _SLOW_MS:
            message = f"{slowest.label} was answered after {slowest.duration_ms / 1000:g} s"
            yield _proof(evidence, message, slowest)


def answers_with_redirect(evidence: Evidence) -> Iterator[Proof]:
    for attempts in _genuine_by_endpoint(evidence):
        redirected = [attempt for attempt in attempts if attempt.status is not None and 300 <= attempt.status < 400]
        if redirected:
            message = f"{redirected[0].label} was answered {redirected[0].status}; senders follow no redirect"
            yield _proof(evidence, message, *redirected)


def failure_event_misread(evidence: Evidence) -> Iterator[Proof]:
    """A receiver that is down for a while misreads nothing."""
    for attempts in _genuine_by_endpoint(evidence):
        failures = [each for each in attempts if each.kind.endswith(".connection_failed")]
        others = [attempt for attempt in attempts if not attempt.kind.endswith(".connection_failed")]
        is_misread = bool(failures) and all(_has_crashed(each) and each.status not in _DOWN for each in failures)
        if is_misread and others and not any(map(_has_crashed, others)):
            label, status = failures[0].label, failures[0].status
            message = f"{label}, a failure, was answered {status}; connected ones were not"
            yield _proof(evidence, message, *failures)


def _is_known(evidence: Evidence, attempt: DeliveryAttempt) -> bool:
    created = evidence.creating_exchange(attempt.session_id)
    return created is None or was_received(created)


def _has_crashed(attempt: DeliveryAttempt) -> bool:
    return (attempt.status or 0) >= 500
