"""
Which rules of conduct had a chance to fail: the situation of each rule, in which a careless client breaks it.

1. A rule that found something had a chance; so had one that found nothing in the same situation.
2. The situation is what the mock did and what the client asked for, never how the client reacted: a careful client at
   the same task meets the same situations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import Session
from mockserver.judge.client import polling, receivers, requests, sessions
from mockserver.judge.client.former_evidence import (
    FINAL,
    TOO_MANY,
    WITH_FILTERS,
    DeliveryAttempt,
    Evidence,
    body_of,
    has_failed,
    has_to_retry,
    succeeded,
    was_received,
)
from mockserver.judge.client.judge import JUDGES, source_of
from mockserver.judge.client.rules import RULES, NotAssessable

Situation = Callable[[Evidence], bool]


class Outline(NamedTuple):
    """
    The sources of a run, which are cheap to read.

    Attributes:
        operations: Those that were called.
        deliveries: Something was sent to a receiver.
        visits: A hosted page was visited.
        failure: A call did not succeed, or was delayed.
        end: A record has ended, or a rule has replaced a response.
        filters: A preview or create has filters.
        repetition: There were three calls or more.
    """

    operations: frozenset[str]
    deliveries: bool
    visits: bool
    failure: bool
    end: bool
    filters: bool
    repetition: bool


class Chance(NamedTuple):
    """
    The situation of a rule, and what it needs, which is cheap to check first.

    Attributes:
        situation: Returns True if the rule had a chance to fail.
        operations: One of them was called; any, if there are none.
        needs: The name of an attribute of `Outline` that is True; "" for a rule that needs none.
    """

    situation: Situation
    operations: tuple[str, ...] = ()
    needs: str = ""


_DONE_ALREADY = ("CAMPAIGN_NAME_ALREADY_EXISTS", "CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_NOT_DRAFT")
_WITH_BODY = ("previewAudience", "createCampaign", "startCampaign", "createConnectionSession")
_POLLED = ("readCampaign", "readExecution", "readConnectionSession")
_POLLS_MIN = 3


def chances(evidence: Evidence, of: AbstractSet[str] = frozenset(JUDGES)) -> set[str]:
    """Return the rules among `of` that had a chance to fail."""
    run = evidence.run
    outline = Outline(
        operations=frozenset(evidence.operations),
        deliveries=bool(run.deliveries and evidence.delivery_attempts),
        visits=bool(run.visits and evidence.visits),
        failure=bool(evidence.troubled or run.deferred),
        end=evidence.may_show_final,
        filters=bool(evidence.filtering),
        repetition=len(evidence.exchanges) >= _POLLS_MIN,
    )
    return {rule for rule in of & _possible(outline) if CHANCES[rule].situation(evidence)}


@lru_cache(maxsize=512)  # most tests of a suite have one of few outlines
def _possible(outline: Outline) -> frozenset[str]:
    """Return the rules to which a run with this outline may have given a chance."""
    return frozenset(
        rule
        for rule, chance in CHANCES.items()
        if (not chance.operations or not outline.operations.isdisjoint(chance.operations))
        and all(getattr(outline, need) for need in (chance.needs, source_of(RULES[rule])) if need not in ("", "calls"))
    )


def _called(*operations: str) -> Situation:
    return lambda evidence: bool(evidence.of(*operations))


def _call(is_met: Callable[[JournalEntry], bool], *operations: str) -> Situation:
    """Return the situation that a call, of one of these operations if there are any, meets a condition."""
    return lambda evidence: any(map(is_met, evidence.of(*operations) if operations else evidence.exchanges))


def _session(is_met: Callable[[Evidence, Session], bool]) -> Situation:
    return lambda evidence: any(is_met(evidence, session) for session, _ in evidence.sessions())


def _attempt(is_met: Callable[[DeliveryAttempt], bool]) -> Situation:
    return lambda evidence: any(map(is_met, evidence.delivery_attempts))


def _lost(operation: str) -> Situation:
    return _call(lambda call: not was_received(call), operation)


def _refused(operation: str, *codes: str) -> Situation:
    return lambda evidence: any(evidence.code(call) in codes for call in evidence.of(operation))


def _any(*situations: Situation) -> Situation:
    return lambda evidence: any(situation(evidence) for situation in situations)


def _assessable(rule: str) -> Situation:
    """Return the situation of a rule whose judge is the one that yields the reason if there was none."""
    return lambda evidence: not any(isinstance(verdict, NotAssessable) for verdict in JUDGES[rule](evidence))


def _is_stalled(evidence: Evidence) -> bool:
    """Return True if a rule delayed a call by two minutes, whether its client waited for it or not."""
    given_up = (rule.fault() for rule in evidence.rules_of_deferred_calls)
    faults = (exchange.fault for exchange in evidence.exchanges)
    return any(polling.delay_of(fault) >= polling.STALLED for fault in (*faults, *given_up))


def _final_was_read(*statuses: str) -> Situation:
    return lambda evidence: not evidence.statuses_read.isdisjoint(statuses)


def _polls(evidence: Evidence) -> bool:
    if len(evidence.of(*_POLLED)) < _POLLS_MIN:
        return False
    sequences = polling.poll_sequences(evidence, polling.ALL_POLLED)
    return any(sum(map(succeeded, polls.reads)) >= _POLLS_MIN for polls in sequences)


def _poll_failed(evidence: Evidence) -> bool:
    for polls in polling.poll_sequences(evidence):
        pending = False
        for read in polls.reads:
            if pending and has_to_retry(read):
                return True
            if succeeded(read):
                pending = evidence.answer_field(read, "status") not in FINAL
    return False


def _looks_done(evidence: Evidence) -> bool:
    reads = (read for read in evidence.of("readExecution") if succeeded(read))
    return any(polling.looks_done(evidence, read) for read in reads)


def _has_ended_early(evidence: Evidence) -> bool:
    if any(map(succeeded, evidence.of("cancelCampaign"))):
        return True
    return not evidence.statuses_read.isdisjoint(("canceled", "failed")) and any(
        succeeded(read) and evidence.answer_field(read, "status") in ("canceled", "failed")
        for read in evidence.of("readCampaign")
    )


def _filters_dates(evidence: Evidence) -> bool:
    filters = [body_of(call).get("filters") for call in evidence.filtering]
    return any(requests.has_date(statement) for rows in filters for statement in requests.statements(rows))


def _has_secret_key(evidence: Evidence) -> bool:
    """Return True if a call has a secret key, or is the preflight of one."""
    return any(
        exchange.call.headers.get("x-api-key", "").strip().startswith("sk_") or exchange.call.method == "OPTIONS"
        for exchange in evidence.everything
    )


def _media_failed(evidence: Evidence) -> bool:
    """Return True if the client received that some files of an upload were stored and others were not."""
    return any(
        {True, False} == set(requests.upload_results(evidence, upload).values())
        for upload in evidence.of("uploadMedia")
    )


def _ended_before_answer(evidence: Evidence) -> bool:
    delivered = {attempt.session_id for attempt in evidence.delivery_attempts if attempt.fault is None}
    return any(
        session.id in delivered and evidence.ended_with(create, session.id) for session, create in evidence.sessions()
    )


def _connected_twice(evidence: Evidence) -> bool:
    """Return True if an event connected a session, and a later event reported the failure of an older one."""
    kinds = [attempt.kind for attempt in evidence.delivery_attempts if attempt.is_genuine]
    return any(sessions.is_overtaken(first, late) for place, first in enumerate(kinds) for late in kinds[place + 1 :])


def _answered(is_met: Callable[[DeliveryAttempt], bool] = lambda _: True) -> Situation:
    """Return the situation that a receiver answered a genuine request that meets a condition."""
    return _attempt(lambda attempt: attempt.is_genuine and attempt.status is not None and is_met(attempt))


def _visited(evidence: Evidence) -> bool:
    ids = {session.id for session, _ in evidence.sessions()}
    return any(visit.session_id in ids for visit in evidence.visits)


_IS_PAST_DEADLINE = _session(lambda evidence, session: evidence.now > session.expires_at)
_ACKNOWLEDGED = _session(lambda evidence, session: evidence.is_acknowledged(session.id))

# fmt: off
CHANCES: Mapping[str, Chance] = MappingProxyType({
    "duplicate-start":           Chance(_lost("startCampaign"), ("startCampaign",), needs="failure"),
    "clone-after-conflict":      Chance(_any(_lost("startCampaign"), _refused("startCampaign", *_DONE_ALREADY)), ("startCampaign",), needs="failure"),
    "rename-after-lost-create":  Chance(_any(_lost("createCampaign"), _refused("createCampaign", *_DONE_ALREADY)), ("createCampaign",), needs="failure"),
    "blind-post-retry":          Chance(_call(has_failed, "createCampaign", "startCampaign"), ("createCampaign", "startCampaign"), needs="failure"),
    "no-timeout":                Chance(_is_stalled, needs="failure"),
    "poll-after-final":          Chance(_final_was_read(*FINAL), _POLLED, needs="end"),
    "poll-too-fast":             Chance(_polls, _POLLED, needs="repetition"),
    "poll-final-set-incomplete": Chance(_final_was_read("failed", "canceled"), _POLLED, needs="end"),
    "poll-dies-on-error":        Chance(_poll_failed, _POLLED, needs="failure"),
    "ignore-retry-after":        Chance(_call(lambda call: call.status == TOO_MANY and was_received(call)), needs="failure"),
    "retry-hopeless":            Chance(_call(lambda call: call.status in polling.HOPELESS and was_received(call)), needs="failure"),
    "only-200-is-ok":            Chance(_call(lambda start: succeeded(start) and start.status != 200, "startCampaign"), ("startCampaign",)),
    "json-on-204":               Chance(_call(succeeded, "cancelCampaign"), ("cancelCampaign",)),
    "progress-is-done":          Chance(_looks_done, ("readExecution",)),
    "restart-canceled":          Chance(_has_ended_early, ("cancelCampaign", "readCampaign"), needs="end"),
    "lost-filters":              Chance(_called(*WITH_FILTERS), WITH_FILTERS),
    "platform-used-as-audience": Chance(_call(lambda start: start.applied, "startCampaign"), ("startCampaign",)),
    "wrong-variable-keys":       Chance(_called("startCampaign"), ("startCampaign",)),
    "stale-template":            Chance(_refused("startCampaign", "CAMPAIGN_MISSING_COMMON_VARIABLES"), ("startCampaign",), needs="failure"),
    "cadence-units":             Chance(_called("createCampaign"), ("createCampaign",)),
    "nulls-for-omitted":         Chance(_called(*_WITH_BODY), _WITH_BODY),
    "naive-dates":               Chance(_filters_dates, WITH_FILTERS, needs="filters"),
    "secret-in-browser":         Chance(_has_secret_key),
    "key-in-wrong-place":        Chance(lambda evidence: bool(evidence.everything)),
    "multipart-by-hand":         Chance(_called("uploadMedia"), ("uploadMedia",)),
    "media-all-or-nothing":      Chance(_media_failed, ("uploadMedia",)),
    "page-early-stop":           Chance(lambda evidence: any(requests.next_cursor(evidence, page) for page in evidence.of("listMessages")), ("listMessages",)),
    "page-endless":              Chance(_call(succeeded, "listMessages"), ("listMessages",)),
    "page-skip":                 Chance(_called("listMessages"), ("listMessages",)),
    "cancel-and-forget":         Chance(_call(has_to_retry, "cancelCampaign"), ("cancelCampaign",), needs="failure"),
    "reuse-dead-session":        Chance(_final_was_read("failed", "expired"), _POLLED, needs="end"),
    "poll-past-deadline":        Chance(_IS_PAST_DEADLINE, ("createConnectionSession",)),
    "stop-too-soon":             Chance(_session(lambda _, session: session.status == "completed"), ("createConnectionSession",)),
    "id-not-stored-first":       Chance(_attempt(lambda attempt: attempt.fault is None)),
    "event-before-answer":       Chance(_ended_before_answer),
    "iframe":                    Chance(_visited),
    "popup-blocked":             Chance(_assessable("popup-blocked")),
    "preview-burns-link":        Chance(lambda evidence: any(map(sessions.is_scanner, evidence.visits))),
    "link-shared-or-cached":     Chance(_visited),
    "waits-for-return":          Chance(_session(lambda _, session: session.return_url is not None), ("createConnectionSession",)),
    "bad-return-url":            Chance(_call(lambda create: body_of(create).get("returnUrl") is not None, "createConnectionSession"), ("createConnectionSession",)),
    "funnel-misuse":             Chance(_called("createConnectionSession"), ("createConnectionSession",)),
    "session-storm":             Chance(_called("createConnectionSession"), ("createConnectionSession",)),
    "double-provision":          Chance(_ACKNOWLEDGED),
    "retries-number-in-use":     Chance(lambda evidence: bool(sessions.reads_of_reason(evidence, "expired")), ("readConnectionSession",)),
    "no-verify":                 Chance(_assessable("no-verify")),
    "missing-header-passes":     Chance(_assessable("missing-header-passes")),
    "reserialised-body":         Chance(_answered(lambda attempt: receivers.changes_when_reserialised(attempt.body))),
    "secret-misread":            Chance(_answered()),
    "accepts-old-timestamps":    Chance(_assessable("accepts-old-timestamps")),
    "tolerance-on-occurredAt":   Chance(_answered(lambda attempt: attempt.at - attempt.happened_at >= receivers.OLD)),
    "first-signature-only":      Chance(_answered(lambda attempt: receivers.signature_count(attempt) >= 2)),
    "late-event-overwrites":     Chance(_connected_twice),
    "slow-ack":                  Chance(_answered()),
    "ack-then-lose":             Chance(_ACKNOWLEDGED),
    "refuses-unknown-kind":      Chance(_assessable("refuses-unknown-kind")),
    "webhook-only":              Chance(_IS_PAST_DEADLINE, ("createConnectionSession",)),
    "answers-with-redirect":     Chance(_answered()),
    "framework-in-the-way":      Chance(_answered()),
    "failure-event-misread":     Chance(_answered(lambda attempt: attempt.kind.endswith(".connection_failed"))),
    "trusts-payload-tenant":     Chance(_attempt(lambda attempt: attempt.fault == "other-tenant")),
})
# fmt: on
