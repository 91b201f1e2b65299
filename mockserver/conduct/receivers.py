"""
Judges of receivers: how they answered what the mock delivered, forged and repeated.

A delivery is no exchange: findings cite the exchange that created the session, and name event and endpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from mockserver.conduct.evidence import DeliveryAttempt, Evidence
from mockserver.conduct.rules import NotAssessable, Proof
from mockserver.core.instants import MINUTE

_REFUSED = (400, 401, 403)
_NEVER_VERIFYING = (405, 411, 413, 415)
_A_PAGE = re.compile(rb"csrf|<html|<!doctype|log ?in|sign ?in", re.IGNORECASE)
_OLD = 5 * MINUTE
_SLOW_MS = 5_000

Judge = Callable[[Evidence], Iterator[Proof | NotAssessable]]


def _proof(seen: Evidence, told: str, *letters: DeliveryAttempt) -> Proof:
    made = (seen.made.get(each.session_id) for each in letters)
    return Proof(told, tuple(dict.fromkeys(n for n in made if n is not None))[:3])


def _by_endpoint(seen: Evidence) -> Iterator[list[DeliveryAttempt]]:
    for endpoint in dict.fromkeys(each.endpoint for each in seen.delivery_attempts):
        yield [each for each in seen.delivery_attempts if each.endpoint == endpoint]


def _true(letters: Sequence[DeliveryAttempt]) -> list[DeliveryAttempt]:
    return [each for each in letters if each.is_genuine and each.status is not None]


def _when(faults: Sequence[str], what: str, *, accepted: bool) -> Judge:
    """A judge of one kind of letter: a finding where it was accepted, or was not."""

    def judge(seen: Evidence) -> Iterator[Proof | NotAssessable]:
        sent = [each for each in seen.delivery_attempts if each.fault in faults and each.status is not None]
        if not sent:
            yield NotAssessable(f"nothing of the kind was delivered: {' or '.join(faults)}")
        for endpoint in dict.fromkeys(each.endpoint for each in sent):
            wrong = [each for each in sent if each.endpoint == endpoint and each.accepted == accepted]
            if wrong:
                yield _proof(
                    seen, f"{what} ({wrong[0].fault}, {wrong[0].label}) was answered {wrong[0].status}", *wrong
                )

    return judge


no_verify = _when(("wrong-secret", "changed-body", "changed-id"), "a forged delivery", accepted=True)
missing_header_passes = _when(("no-signature",), "a delivery without signature", accepted=True)
no_tolerance = _when(("old-timestamp",), "a delivery signed ten minutes ago", accepted=True)
refuses_unknown_kind = _when(("unknown-kind",), "an event of another kind", accepted=False)


def trusts_payload_tenant(seen: Evidence) -> Iterator[Proof | NotAssessable]:
    """A 2xx alone may be an event that was put aside: only what the client read afterwards shows that it was believed."""
    sent = [each for each in seen.delivery_attempts if each.fault == "other-tenant" and each.accepted]
    acted = False
    for letter in sent:
        genuine = [
            each
            for each in seen.delivery_attempts
            if each.event_id == letter.event_id and each.fault is None and each.accepted
        ]
        reads = [
            each for each in seen.exchanges if each.at >= letter.at and letter.session_id in each.call.params.values()
        ]
        if reads and not genuine:
            acted = True
            yield Proof(
                f"an event with another tenant's id ({letter.label}) was acknowledged and acted upon", (reads[0].n,)
            )
    if not acted:
        yield NotAssessable(
            "only the client's test can tell what it did with an event of another tenant"
            if sent
            else "no event with another tenant's id was delivered"
        )


def reserialised_body(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        odd = [each for each in _true(letters) if _is_odd(each.body)]
        plain = [each for each in _true(letters) if not _is_odd(each.body)]
        if odd and all(each.status in _REFUSED for each in odd) and any(each.accepted for each in plain):
            yield _proof(
                seen, f"{odd[0].label} was refused with {odd[0].status}; only its JSON is spelt otherwise", odd[0]
            )


def _is_odd(body: bytes) -> bool:
    """True where a parser and a serialiser would not give the same bytes back, or the text is not plain ASCII."""
    try:
        again = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return again != body or not body.isascii()


def secret_misread(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        sent = _true(letters)
        if sent and all(each.status in _REFUSED and not _met_a_page(each) for each in sent):
            yield _proof(seen, f"every valid delivery was refused with {sent[0].status} ({sent[0].label})", *sent)


def framework_in_the_way(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        stopped = [each for each in _true(letters) if each.status in _NEVER_VERIFYING or _met_a_page(each)]
        if stopped:
            yield _proof(seen, f"{stopped[0].label} met {stopped[0].status} before any receiver", *stopped)


def _met_a_page(letter: DeliveryAttempt) -> bool:
    return letter.status in (401, 403) and _A_PAGE.search(letter.answer) is not None


def tolerance_on_occurred_at(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        old = [each for each in _true(letters) if each.at - each.happened_at >= _OLD]
        young = [each for each in _true(letters) if each.at - each.happened_at < _OLD]
        if old and all(each.status in _REFUSED for each in old) and any(each.accepted for each in young):
            minutes = (old[0].at - old[0].happened_at) // MINUTE
            yield _proof(seen, f"{old[0].label}, freshly signed {minutes} minutes after the event, was refused", old[0])


def first_signature_only(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        two = [each for each in _true(letters) if _signatures(each) >= 2]
        one = [each for each in _true(letters) if _signatures(each) == 1]
        if two and all(each.status in _REFUSED for each in two) and any(each.accepted for each in one):
            yield _proof(seen, f"{two[0].label}, with two signatures, was refused with {two[0].status}", two[0])


def _signatures(letter: DeliveryAttempt) -> int:
    signed = (value for name, value in letter.headers.items() if "signature" in name.lower())
    return max((len(re.findall(r"\bv1[,=]", value)) for value in signed), default=0)


def slow_ack(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        slow = max(_true(letters), key=lambda each: each.duration_ms, default=None)
        if slow is not None and slow.duration_ms > _SLOW_MS:
            yield _proof(seen, f"{slow.label} was answered after {slow.duration_ms / 1000:g} s", slow)


def relies_on_redirect(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        led = [each for each in _true(letters) if each.status is not None and 300 <= each.status < 400]
        if led:
            yield _proof(seen, f"{led[0].label} was answered {led[0].status}, which nobody follows", *led)


def failure_shape_assumed(seen: Evidence) -> Iterator[Proof]:
    for letters in _by_endpoint(seen):
        failures = [each for each in _true(letters) if each.kind.endswith(".connection_failed")]
        others = [each for each in _true(letters) if not each.kind.endswith(".connection_failed")]
        broke = [(each.status or 0) >= 500 for each in failures]
        if failures and all(broke) and others and not any((each.status or 0) >= 500 for each in others):
            yield _proof(
                seen,
                f"{failures[0].label}, a failure, was answered {failures[0].status}; connected ones were not",
                *failures,
            )
