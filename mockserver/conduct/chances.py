"""
Which rules of conduct had a chance to fail: the situation of each rule, in which a careless client breaks it.

1. A rule that found something had a chance; so had one that found nothing in the same situation.
2. The situation is what the mock did and what the client asked for, never how the client reacted: a careful client at
   the same task meets the same situations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from mockserver.conduct import polling, receivers, requests, sessions
from mockserver.conduct.evidence import (
    FINAL,
    DeliveryAttempt,
    Evidence,
    body_of,
    has_failed,
    reads_final,
    succeeded,
    was_received,
)
from mockserver.conduct.judge import JUDGES, missing_source
from mockserver.conduct.rules import RULES, NotAssessable

Situation = Callable[[Evidence], bool]

_DONE_ALREADY = ("CAMPAIGN_NAME_ALREADY_EXISTS", "CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_NOT_DRAFT")
_WITH_BODY = ("previewAudience", "createCampaign", "startCampaign", "createConnectionSession")
_POLLS_MIN = 3


def chances(evidence: Evidence, of: Collection[str] = tuple(JUDGES)) -> set[str]:
    """Return the rules among `of` that had a chance to fail."""
    return {rule for rule in of if missing_source(evidence, RULES[rule]) is None and SITUATIONS[rule](evidence)}


def _called(*operations: str) -> Situation:
    return lambda evidence: bool(evidence.of(*operations))


def _succeeded(*operations: str) -> Situation:
    return lambda evidence: any(map(succeeded, evidence.of(*operations)))


def _lost(operation: str) -> Situation:
    return lambda evidence: any(not was_received(call) for call in evidence.of(operation))


def _refused(operation: str, *codes: str) -> Situation:
    return lambda evidence: any(evidence.code(call) in codes for call in evidence.of(operation))


def _any(*situations: Situation) -> Situation:
    return lambda evidence: any(situation(evidence) for situation in situations)


def _assessable(rule: str) -> Situation:
    """Return the situation of a rule whose judge is the one that yields the reason if there was none."""
    return lambda evidence: not any(isinstance(verdict, NotAssessable) for verdict in JUDGES[rule](evidence))


def _write_failed(evidence: Evidence) -> bool:
    return any(map(has_failed, evidence.of("createCampaign", "startCampaign")))


def _is_stalled(evidence: Evidence) -> bool:
    """Return True if a rule delayed a call by two minutes, whether its client waited for it or not."""
    given_up = (rule.fault() for rule in evidence.rules_of_deferred_calls)
    faults = (exchange.fault for exchange in evidence.exchanges)
    return any(polling.delay_of(fault) >= polling.STALLED for fault in (*faults, *given_up))


def _final_was_read(*statuses: str) -> Situation:
    def is_read(evidence: Evidence) -> bool:
        reads = evidence.of("readCampaign", "readExecution", "readConnectionSession")
        return any(reads_final(evidence, read) and evidence.answer_field(read, "status") in statuses for read in reads)

    return is_read


def _polls(evidence: Evidence) -> bool:
    return any(len(polls.reads) >= _POLLS_MIN for polls in polling.poll_sequences(evidence, polling.ALL_POLLED))


def _poll_failed(evidence: Evidence) -> bool:
    for polls in polling.poll_sequences(evidence):
        pending = False
        for read in polls.reads:
            if pending and (has_failed(read) or read.status == _TOO_MANY):
                return True
            if succeeded(read):
                pending = evidence.answer_field(read, "status") not in FINAL
    return False


def _looks_done(evidence: Evidence) -> bool:
    reads = (read for read in evidence.of("readExecution") if succeeded(read))
    return any(polling.looks_done(evidence, read) for read in reads)


def _limited(evidence: Evidence) -> bool:
    return any(exchange.status == _TOO_MANY and was_received(exchange) for exchange in evidence.exchanges)


def _is_hopeless(evidence: Evidence) -> bool:
    return any(exchange.status in polling.HOPELESS and was_received(exchange) for exchange in evidence.exchanges)


def _started_without_200(evidence: Evidence) -> bool:
    return any(succeeded(start) and start.status != 200 for start in evidence.of("startCampaign"))


def _has_ended_early(evidence: Evidence) -> bool:
    return _succeeded("cancelCampaign")(evidence) or any(
        succeeded(read) and evidence.answer_field(read, "status") in ("canceled", "failed")
        for read in evidence.of("readCampaign")
    )


def _starts(evidence: Evidence) -> bool:
    """Return True if a call of the client has started an execution."""
    return any(start.applied for start in evidence.of("startCampaign"))


def _filters_dates(evidence: Evidence) -> bool:
    calls = evidence.of("previewAudience", "createCampaign")
    return any(
        requests.has_date(statement)
        for call in calls
        for statement in requests.statements(body_of(call).get("filters"))
    )


def _has_secret_key(evidence: Evidence) -> bool:
    """Return True if a call has a secret key, or is the preflight of one."""
    return any(
        exchange.call.headers.get("x-api-key", "").strip().startswith("sk_") or exchange.call.method == "OPTIONS"
        for exchange in evidence.everything
    )


def _is_called(evidence: Evidence) -> bool:
    return bool(evidence.everything)


def _media_failed(evidence: Evidence) -> bool:
    """Return True if the client received that some files of an upload were stored and others were not."""
    return any(
        {True, False} == set(requests.upload_results(evidence, upload).values())
        for upload in evidence.of("uploadMedia")
    )


def _has_next_page(evidence: Evidence) -> bool:
    return any(requests.next_cursor(evidence, page) for page in evidence.of("listMessages"))


def _cancel_failed(evidence: Evidence) -> bool:
    return any(has_failed(cancel) or cancel.status == _TOO_MANY for cancel in evidence.of("cancelCampaign"))


def _session_ended(*statuses: str) -> Situation:
    return lambda evidence: any(session.status in statuses for session, _ in evidence.sessions())


def _is_past_deadline(evidence: Evidence) -> bool:
    return any(evidence.now > session.expires_at for session, _ in evidence.sessions())


def _has_return_url(evidence: Evidence) -> bool:
    return any(session.return_url is not None for session, _ in evidence.sessions())


def _sends_return_url(evidence: Evidence) -> bool:
    return any(body_of(create).get("returnUrl") is not None for create in evidence.of("createConnectionSession"))


def _session_was_delivered(evidence: Evidence) -> bool:
    return any(attempt.fault is None for attempt in evidence.delivery_attempts)


def _ended_before_answer(evidence: Evidence) -> bool:
    delivered = {attempt.session_id for attempt in evidence.delivery_attempts if attempt.fault is None}
    return any(
        session.id in delivered and evidence.ended_with(create, session.id) for session, create in evidence.sessions()
    )


def _reason_was_read(reason: str) -> Situation:
    return lambda evidence: bool(sessions.reads_of_reason(evidence, reason))


def _acknowledged(evidence: Evidence) -> bool:
    return any(evidence.is_acknowledged(session.id) for session, _ in evidence.sessions())


def _connected_twice(evidence: Evidence) -> bool:
    """Return True if an event connected a session, and a later event reported the failure of an older one."""
    kinds = [attempt.kind for attempt in evidence.delivery_attempts if attempt.is_genuine]
    return any(sessions.is_overtaken(first, late) for place, first in enumerate(kinds) for late in kinds[place + 1 :])


def _visited(evidence: Evidence) -> bool:
    ids = {session.id for session, _ in evidence.sessions()}
    return any(visit.session_id in ids for visit in evidence.visits)


def _scanned(evidence: Evidence) -> bool:
    return any(map(sessions.is_scanner, evidence.visits))


def _answered(evidence: Evidence) -> bool:
    """Return True if a receiver answered a genuine request."""
    return any(attempt.is_genuine and attempt.status is not None for attempt in evidence.delivery_attempts)


def _answered_with(is_met: Callable[[Evidence, DeliveryAttempt], bool]) -> Situation:
    def is_answered(evidence: Evidence) -> bool:
        genuine = (attempt for attempt in evidence.delivery_attempts if attempt.is_genuine)
        return any(attempt.status is not None and is_met(evidence, attempt) for attempt in genuine)

    return is_answered


def _kind_was_forged(fault: str) -> Situation:
    return lambda evidence: any(attempt.fault == fault for attempt in evidence.delivery_attempts)


_TOO_MANY = 429

# fmt: off
SITUATIONS: Mapping[str, Situation] = MappingProxyType({
    "duplicate-start":           _lost("startCampaign"),
    "clone-after-conflict":      _any(_lost("startCampaign"), _refused("startCampaign", *_DONE_ALREADY)),
    "rename-after-lost-create":  _any(_lost("createCampaign"), _refused("createCampaign", *_DONE_ALREADY)),
    "blind-post-retry":          _write_failed,
    "no-timeout":                _is_stalled,
    "poll-after-final":          _final_was_read(*FINAL),
    "poll-too-fast":             _polls,
    "poll-final-set-incomplete": _final_was_read("failed", "canceled"),
    "poll-dies-on-error":        _poll_failed,
    "ignore-retry-after":        _limited,
    "retry-hopeless":            _is_hopeless,
    "only-200-is-ok":            _started_without_200,
    "json-on-204":               _succeeded("cancelCampaign"),
    "progress-is-done":          _looks_done,
    "restart-canceled":          _has_ended_early,
    "lost-filters":              _called("previewAudience", "createCampaign"),
    "platform-is-not-audience":  _starts,
    "wrong-variable-keys":       _called("startCampaign"),
    "stale-template":            _refused("startCampaign", "CAMPAIGN_MISSING_COMMON_VARIABLES"),
    "cadence-units":             _called("createCampaign"),
    "nulls-for-omitted":         _called(*_WITH_BODY),
    "naive-dates":               _filters_dates,
    "secret-in-browser":         _has_secret_key,
    "key-in-wrong-place":        _is_called,
    "multipart-by-hand":         _called("uploadMedia"),
    "media-all-or-nothing":      _media_failed,
    "page-early-stop":           _has_next_page,
    "page-endless":              _succeeded("listMessages"),
    "page-skip":                 _called("listMessages"),
    "cancel-and-forget":         _cancel_failed,
    "reuse-dead-session":        _final_was_read("failed", "expired"),
    "poll-past-deadline":        _is_past_deadline,
    "stop-too-soon":             _session_ended("completed"),
    "id-not-stored-first":       _session_was_delivered,
    "event-before-answer":       _ended_before_answer,
    "iframe":                    _visited,
    "popup-blocked":             _assessable("popup-blocked"),
    "preview-burns-link":        _scanned,
    "link-shared-or-cached":     _visited,
    "waits-for-return":          _has_return_url,
    "bad-return-url":            _sends_return_url,
    "funnel-misuse":             _called("createConnectionSession"),
    "session-storm":             _called("createConnectionSession"),
    "double-provision":          _acknowledged,
    "orphan-number":             _reason_was_read("expired"),
    "no-verify":                 _assessable("no-verify"),
    "missing-header-passes":     _assessable("missing-header-passes"),
    "reserialised-body":         _answered_with(lambda _, attempt: receivers.changes_when_reserialised(attempt.body)),
    "secret-misread":            _answered,
    "no-tolerance":              _assessable("no-tolerance"),
    "tolerance-on-occurredAt":   _answered_with(lambda _, attempt: attempt.at - attempt.happened_at >= receivers.OLD),
    "first-signature-only":      _answered_with(lambda _, attempt: receivers.signature_count(attempt) >= 2),
    "late-event-overwrites":     _connected_twice,
    "slow-ack":                  _answered,
    "ack-then-lose":             _acknowledged,
    "refuses-unknown-kind":      _assessable("refuses-unknown-kind"),
    "webhook-only":              _is_past_deadline,
    "relies-on-redirect":        _answered,
    "framework-in-the-way":      _answered,
    "failure-shape-assumed":     _answered_with(lambda _, attempt: attempt.kind.endswith(".connection_failed")),
    "trusts-payload-tenant":     _kind_was_forged("other-tenant"),
})
# fmt: on
