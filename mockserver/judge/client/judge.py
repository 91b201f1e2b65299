"""
Run the judges of all rules. A judge yields findings, nothing, or the reason why this run cannot show its rule.

What only the client's own test or a comparison of two runs can show is reported as not assessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from mockserver.core.run import Run
from mockserver.judge.client import campaigns, polling, receivers, requests, retry_after, sessions
from mockserver.judge.client.former_evidence import Evidence
from mockserver.judge.client.rules import RULES, ConductResult, ConductRule, Finding, NotAssessable, NotAssessed, Proof

Judge = Callable[[Evidence], Iterable[Proof | NotAssessable]]

JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "duplicate-start": campaigns.duplicate_start,
        "clone-after-conflict": campaigns.clone_after_conflict,
        "rename-after-lost-create": campaigns.rename_after_lost_create,
        "blind-post-retry": campaigns.blind_post_retry,
        "no-timeout": polling.no_timeout,
        "poll-after-final": polling.poll_after_final,
        "poll-too-fast": polling.poll_too_fast,
        "poll-final-set-incomplete": polling.poll_final_set_incomplete,
        "poll-dies-on-error": polling.poll_dies_on_error,
        "ignore-retry-after": retry_after.ignore_retry_after,
        "retry-hopeless": polling.retry_hopeless,
        "only-200-is-ok": campaigns.only_200_is_ok,
        "json-on-204": campaigns.json_on_204,
        "progress-is-done": polling.progress_is_done,
        "restart-canceled": campaigns.restart_canceled,
        "lost-filters": requests.lost_filters,
        "platform-used-as-audience": requests.platform_used_as_audience,
        "wrong-variable-keys": campaigns.wrong_variable_keys,
        "stale-template": campaigns.stale_template,
        "cadence-units": requests.cadence_units,
        "nulls-for-omitted": requests.nulls_for_omitted,
        "naive-dates": requests.naive_dates,
        "secret-in-browser": requests.secret_in_browser,
        "key-in-wrong-place": requests.key_in_wrong_place,
        "multipart-by-hand": requests.multipart_by_hand,
        "media-all-or-nothing": requests.media_all_or_nothing,
        "page-early-stop": requests.page_early_stop,
        "page-endless": requests.page_endless,
        "page-skip": requests.page_skip,
        "cancel-and-forget": campaigns.cancel_and_forget,
        "reuse-dead-session": sessions.reuse_dead_session,
        "poll-past-deadline": sessions.poll_past_deadline,
        "stop-too-soon": sessions.stop_too_soon,
        "id-not-stored-first": sessions.id_not_stored_first,
        "event-before-answer": sessions.event_before_answer,
        "iframe": sessions.iframe,
        "popup-blocked": sessions.popup_blocked,
        "preview-burns-link": sessions.preview_burns_link,
        "link-shared-or-cached": sessions.link_shared_or_cached,
        "waits-for-return": sessions.waits_for_return,
        "bad-return-url": sessions.bad_return_url,
        "funnel-misuse": sessions.funnel_misuse,
        "session-storm": sessions.session_storm,
        "double-provision": sessions.double_provision,
        "retries-number-in-use": sessions.retries_number_in_use,
        "no-verify": receivers.no_verify,
        "missing-header-passes": receivers.missing_header_passes,
        "reserialised-body": receivers.reserialised_body,
        "secret-misread": receivers.secret_misread,
        "accepts-old-timestamps": receivers.accepts_old_timestamps,
        "tolerance-on-occurredAt": receivers.tolerance_on_occurred_at,
        "first-signature-only": receivers.first_signature_only,
        "late-event-overwrites": sessions.late_event_overwrites,
        "slow-ack": receivers.slow_ack,
        "ack-then-lose": sessions.ack_then_lose,
        "refuses-unknown-kind": receivers.refuses_unknown_kind,
        "webhook-only": sessions.webhook_only,
        "answers-with-redirect": receivers.answers_with_redirect,
        "framework-in-the-way": receivers.framework_in_the_way,
        "failure-event-misread": receivers.failure_event_misread,
        "trusts-payload-tenant": receivers.trusts_payload_tenant,
    }
)

# What a judge reads, by the reason for which its rule is not assessed if the run has none of it.
_CALLS = ""
_DELIVERIES = "nothing was delivered to a receiver"
_VISITS = "no hosted page was visited"
_OTHER_RUN = (
    "one run does not show it: compare two, with mockserver.testing.differential.compare or `mockserver explore`"
)
_OWN_TEST = "only the client's own test can show it"

# Judges that need deliveries, although their first source is the journal.
_NEED_DELIVERIES = frozenset(("double-provision", "late-event-overwrites"))


def source_of(row: ConductRule) -> Literal["deliveries", "visits", "calls"]:
    """Return what a rule's judge reads first."""
    if row.sources[0] == "W" or row.id in _NEED_DELIVERIES:
        return "deliveries"
    return "visits" if row.sources[0] == "P" else "calls"


def _needed(row: ConductRule) -> str:
    """Return what a rule's judge cannot do without."""
    if row.id not in JUDGES:
        return _OTHER_RUN if "D" in row.sources else _OWN_TEST
    return {"deliveries": _DELIVERIES, "visits": _VISITS, "calls": _CALLS}[source_of(row)]


class _Step(NamedTuple):
    """One rule, what its judge needs, the row of the report without that, and the judge."""

    row: ConductRule
    needed: str
    without: NotAssessed
    judge: Judge


# Worked out once: each test of a suite is judged.
_STEPS = tuple(
    _Step(row, _needed(row), NotAssessed(row.id, _needed(row)), JUDGES.get(row.id, lambda _: ()))
    for row in RULES.values()
)


def judge(run: Run, severity: int | None = None) -> ConductResult:
    """
    Return what the client did against the document's advice, the most severe first, and what this run does not show.

    With a severity only its rules are judged.

    Lock: The caller holds the sandbox's lock, or passes a copy. Nothing is changed.
    """
    evidence = Evidence(run)
    has = {
        _CALLS: True,
        _DELIVERIES: bool(evidence.delivery_attempts),
        _VISITS: bool(evidence.visits),
        _OTHER_RUN: False,
        _OWN_TEST: False,
    }
    findings: list[Finding] = []
    not_assessed: list[NotAssessed] = []
    for row, needed, without, rule_judge in _STEPS:
        if severity not in (None, row.severity):
            continue
        if not has[needed]:
            not_assessed.append(without)
            continue
        verdicts = list(rule_judge(evidence))
        if not verdicts:
            continue
        proofs = [verdict for verdict in verdicts if isinstance(verdict, Proof)]
        reasons = [verdict.why for verdict in verdicts if isinstance(verdict, NotAssessable)]
        findings += [_finding(row, proof) for proof in proofs]
        if reasons and not proofs:
            not_assessed.append(NotAssessed(row.id, reasons[0]))
    return ConductResult(tuple(sorted(findings, key=lambda each: (each.severity, each.exchanges))), tuple(not_assessed))


def finding(rule: str, message: str, exchanges: Iterable[int] = ()) -> Finding:
    """Return a finding with the severity, clause and advice of its rule; KeyError for an unknown rule."""
    return _finding(RULES[rule], Proof(message, tuple(exchanges)))


def _finding(row: ConductRule, proof: Proof) -> Finding:
    cited = tuple(proof.exchanges)
    return Finding(
        rule=row.id,
        severity=row.severity,
        message=proof.message,
        exchanges=cited,
        clause=row.clause,
        line=row.line,
        advice=row.advice,
    )
