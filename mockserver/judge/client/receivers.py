"""
Judges of receivers: their answers to deliveries and forged requests.

A delivery is not an exchange: findings cite the exchange that created the session, and name event and endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import whole_number
from mockserver.core.instants import MINUTE, SECOND, Duration
from mockserver.judge.check import Check, Judge, NotAssessable, Proof, Verdict, proof
from mockserver.trace.exchange import DeliveryAttempt
from mockserver.trace.facts import Fact
from mockserver.trace.trace import Trace

REFUSALS: Final = (400, 401, 403)
_NEVER_VERIFYING: Final = (405, 411, 413, 415)
_DOWN: Final = (502, 503, 504)
_PAGE: Final = re.compile(rb"csrf|<html|<!doctype|log ?in|sign ?in|credentials were not provided", re.IGNORECASE)
_CITED: Final = 3
_OLD: Final = 5 * MINUTE
_SLOW: Final = 5 * SECOND
_TIMESTAMP: Final = re.compile(
    r"(?:^|,)t=(\d{1,12})(?:,|$)|^(\d{1,12})$"
)  # of Stripe's signature; of a header of its own
BY_AGE: Final = (
    "deliveries were refused that the process's clock had signed more than five minutes from the sandbox's: if the receiver "
    "compares their timestamp with the sandbox's clock, choose `wh-timestamp: sandbox-clock`"
)

JudgeOfEndpoint = Callable[[Trace, Sequence[DeliveryAttempt]], Iterator[Verdict]]


def _proof(trace: Trace, message: str, attempts: Sequence[DeliveryAttempt]) -> Proof:
    sessions = dict.fromkeys(attempt.session_id for attempt in attempts)
    created = filter(None, map(trace.creating, sessions))
    return proof(message, *islice(created, _CITED))


def _signed_age(attempt: DeliveryAttempt) -> Duration | None:
    """Return the age of a request's signed timestamp by the sandbox's clock, or None if it has no timestamp."""
    texts = (value for name, value in attempt.headers.items() if name.lower().endswith(("-timestamp", "-signature")))
    found = next(filter(None, map(_TIMESTAMP.search, texts)), None)
    seconds = whole_number(found[1] or found[2]) if found else None
    return attempt.at - seconds * SECOND if seconds is not None else None


def _may_be_refused_by_age(attempt: DeliveryAttempt) -> bool:
    """Return True if a receiver that has the sandbox's clock refuses the timestamp of this request, as it should."""
    age = _signed_age(attempt)
    return age is not None and abs(age) > _OLD


def _has_crashed(attempt: DeliveryAttempt) -> bool:
    return (attempt.status or 0) >= 500


def _judge_of_forged(faults: Sequence[str], kind: str, *, accepted: bool) -> Judge:
    """Return a judge of deliveries with these faults, whose findings are those that were accepted, or were not."""

    def judge(trace: Trace) -> Iterator[Verdict]:
        attempts = [attempt for attempt in trace.deliveries if attempt.fault in faults and attempt.status is not None]
        if not attempts:
            yield NotAssessable(f"no such delivery was sent: {' or '.join(faults)}")
        for endpoint in dict.fromkeys(attempt.endpoint for attempt in attempts):
            answered = [each for each in attempts if each.endpoint == endpoint and each.accepted == accepted]
            wrong = [each for each in answered if _is_wrong(each) and not _may_be_down(trace, each)]
            if wrong:
                message = f"{kind} ({wrong[0].fault}, {wrong[0].label}) was answered {wrong[0].status}"
                yield _proof(trace, message, wrong)

    return judge


def _is_wrong(attempt: DeliveryAttempt) -> bool:
    """
    Return True if the receiver should have given the other answer: refused what it accepted, or accepted what it refused.

    A receiver that has the sandbox's clock may be right about a timestamp of the process's clock.
    """
    if attempt.fault == "old-timestamp":
        return _signed_age(attempt) is None or _may_be_refused_by_age(attempt)
    return attempt.accepted or attempt.status not in REFUSALS or not _may_be_refused_by_age(attempt)


def _may_be_down(trace: Trace, attempt: DeliveryAttempt) -> bool:
    """Return True for a 5xx that is not of this request: by its status, or as genuine ones got one, or such a one was accepted."""
    others = [each for each in trace.deliveries if each.endpoint == attempt.endpoint]
    crashes = any(_has_crashed(each) for each in others if each.is_genuine)
    accepts = any(each.accepted for each in others if each.fault == attempt.fault)
    return _has_crashed(attempt) and (attempt.status in _DOWN or crashes or accepts)


def _judge_of_genuine(judge_endpoint: JudgeOfEndpoint) -> Judge:
    """
    Return a judge of the genuine attempts that each endpoint answered.

    It may refuse the events of a session whose create its client received no answer to, with any status.
    """

    def judge(trace: Trace) -> Iterator[Verdict]:
        answered = [attempt for attempt in trace.deliveries if attempt.is_genuine and attempt.status is not None]
        for endpoint in dict.fromkeys(attempt.endpoint for attempt in answered):
            own = [attempt for attempt in answered if attempt.endpoint == endpoint and _is_known(trace, attempt)]
            if own:
                yield from judge_endpoint(trace, own)

    return judge


def _is_known(trace: Trace, attempt: DeliveryAttempt) -> bool:
    created = trace.creating(attempt.session_id)
    return created is None or created.was_received


def _secret_misread(trace: Trace, attempts: Sequence[DeliveryAttempt]) -> Iterator[Verdict]:
    if any(map(_was_answered_by_page, attempts)):
        return
    fresh = [attempt for attempt in attempts if not _may_be_refused_by_age(attempt)]
    old = [attempt for attempt in attempts if _may_be_refused_by_age(attempt)]
    if fresh and _are_refused(attempts):
        message = f"every valid delivery was refused with {fresh[0].status} ({fresh[0].label})"
        if trace.sandbox.choices["wh-timestamp"] == "sandbox-clock":
            message += (
                "; one that compares their timestamp with the process's clock needs `wh-timestamp: process-clock`"
            )
        scheme = str(trace.sandbox.choices["wh-signature"])
        if scheme != DEFAULTS["wh-signature"]:
            message += f"; they are signed as `wh-signature: {scheme}` says"
        yield _proof(trace, message, fresh)
    elif old and _are_refused(old):
        yield NotAssessable(BY_AGE)


def _are_refused(attempts: Sequence[DeliveryAttempt]) -> bool:
    return all(attempt.status in REFUSALS for attempt in attempts)


def _was_answered_by_page(attempt: DeliveryAttempt) -> bool:
    return attempt.status in (401, 403) and _PAGE.search(attempt.answer) is not None


def _framework_in_the_way(trace: Trace, attempts: Sequence[DeliveryAttempt]) -> Iterator[Verdict]:
    stopped = [attempt for attempt in attempts if _was_stopped(attempt)]
    if stopped:
        yield _proof(trace, f"{stopped[0].label} got {stopped[0].status} before any receiver", stopped)


def _was_stopped(attempt: DeliveryAttempt) -> bool:
    """Return True if something before the receiver answered: by the status, or by a page that the request's age does not explain."""
    is_of_page = _was_answered_by_page(attempt) and not _may_be_refused_by_age(attempt)
    return attempt.status in _NEVER_VERIFYING or is_of_page


def _slow_ack(trace: Trace, attempts: Sequence[DeliveryAttempt]) -> Iterator[Verdict]:
    slowest = max(attempts, key=_duration)
    if _duration(slowest) > _SLOW:
        yield _proof(trace, f"{slowest.label} was answered after {_duration(slowest) / SECOND:g} s", [slowest])


def _duration(attempt: DeliveryAttempt) -> Duration:
    return attempt.ended_at - attempt.at


def _answers_with_redirect(trace: Trace, attempts: Sequence[DeliveryAttempt]) -> Iterator[Verdict]:
    redirected = [attempt for attempt in attempts if 300 <= (attempt.status or 0) < 400]
    if redirected:
        message = f"{redirected[0].label} was answered {redirected[0].status}; senders follow no redirect"
        yield _proof(trace, message, redirected)


_OF_A_RECEIVER: Final[tuple[Fact, ...]] = ("deliveries", "genuine")
CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="no-verify",
        clause="events.subscribed",
        severity=1,
        proof="a forged delivery (wrong secret, no signature in its form, changed body or id) was answered 2xx",
        advice="Verify the signature over the raw body, and refuse a mismatch.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_forged(
            ("wrong-secret", "junk-header", "changed-body", "changed-id"), "a forged delivery", accepted=True
        ),
    ),
    Check(
        id="missing-header-passes",
        clause="events.subscribed",
        severity=1,
        proof="a delivery without a signature was answered 2xx",
        advice="Refuse requests without a signature.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_forged(("no-signature",), "a delivery without signature", accepted=True),
    ),
    Check(
        id="secret-misread",
        clause="events.subscribed",
        severity=2,
        proof="every valid delivery was refused with 400, 401 or 403",
        advice="Sign the received bytes with the secret of this endpoint (strip whsec_, decode the rest from base64), compare with what follows `v1,`, and read webhook-timestamp as seconds.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_genuine(_secret_misread),
    ),
    Check(
        id="accepts-old-timestamps",
        clause="events.subscribed",
        severity=1,
        proof="a delivery with an old signed timestamp was answered 2xx",
        advice="Refuse timestamps older than five minutes.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_forged(("old-timestamp",), "a delivery signed ten minutes ago", accepted=True),
    ),
    Check(
        id="slow-ack",
        clause="events.nothing-lost",
        severity=2,
        proof="a response took more than 5 s",
        advice="Respond immediately, and process afterwards.",
        needs=("deliveries", "times"),
        judge=_judge_of_genuine(_slow_ack),
    ),
    Check(
        id="refuses-unknown-kind",
        clause="events.subscribed",
        severity=3,
        proof="an event of another kind was not answered 2xx",
        advice="Acknowledge unknown events.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_forged(("unknown-kind",), "an event of another kind", accepted=False),
    ),
    Check(
        id="answers-with-redirect",
        clause="events.subscribed",
        severity=3,
        proof="a delivery was answered 3xx",
        advice="Register the receiver's final address.",
        needs=("deliveries",),
        judge=_judge_of_genuine(_answers_with_redirect),
    ),
    Check(
        id="framework-in-the-way",
        clause="events.subscribed",
        severity=2,
        proof="a valid delivery got 405, 411, 413, 415, or a 401 or 403 of a login or CSRF page",
        advice="Exempt the receiver from CSRF, logins and body limits.",
        needs=_OF_A_RECEIVER,
        judge=_judge_of_genuine(_framework_in_the_way),
    ),
)
