"""
The mutants: one broken line each, chosen from every part of the product, and the tests nearest to it.

A line is found by its text, which occurs once in the package, so that a row survives a module that moves.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A text of the package, the text in its place, what that breaks, and the test files and folders nearest to it."""

    name: str
    before: str
    after: str
    breaks: str
    near: tuple[str, ...]


_OPERATIONS = "tests/operations/"
_SERVER = "tests/server/"
_TESTING = "tests/testing/"

MUTANTS: tuple[Mutant, ...] = (
    # Access
    Mutant(
        "auth-public-key",
        'if endpoint.keys == "secret" and owner.kind != "secret":',
        'if endpoint.keys == "secret" and owner.kind == "":',
        "a public key may call what takes a secret key only",
        (f"{_OPERATIONS}test_auth.py",),
    ),
    Mutant(
        "subscription-other-states",
        'if tenant.subscription != "active" and (',
        'if tenant.subscription == "suspended" and (',
        "a canceled subscription writes on",
        (f"{_OPERATIONS}test_auth.py",),
    ),
    Mutant(
        "rate-window-end",
        "while spent and spent[0] + window <= sandbox.now:",
        "while spent and spent[0] + window < sandbox.now:",
        "a call that waited exactly as long as Retry-After asks is refused again",
        (f"{_OPERATIONS}test_rate_limit.py",),
    ),
    Mutant(
        "rate-wait-rounding",
        "wait_s = -(-(free_at - sandbox.now) // SECOND)",
        "wait_s = (free_at - sandbox.now) // SECOND",
        "Retry-After names a second at which the budget is still used up",
        (f"{_OPERATIONS}test_rate_limit.py",),
    ),
    Mutant(
        "router-empty-id",
        'if segment.startswith("{") and part:',
        'if segment.startswith("{"):',
        "an empty path segment is taken for an id",
        ("tests/operations/test_base.py",),
    ),
    # Filters and audiences
    Mutant(
        "filter-empty-group",
        'if not statements and sandbox.choices["group-no-statements"] == "ignore":',
        "if not statements:",
        "a group without statements is ignored whatever the choice says",
        ("tests/operations/test_audience.py",),
    ),
    Mutant(
        "filter-combinator",
        'return _combined(group["combinator"], tests)',
        'return _combined("and", tests)',
        "a group of `or` selects what `and` selects",
        (f"{_OPERATIONS}test_audience.py",),
    ),
    Mutant(
        "filter-between-upper",
        'Operator("between",               "pair", lambda value, bounds: bounds[0] <= value <= bounds[1]),',
        'Operator("between",               "pair", lambda value, bounds: bounds[0] <= value < bounds[1]),',
        "the upper bound of `between` is outside of the range",
        (f"{_OPERATIONS}test_filters.py",),
    ),
    Mutant(
        "filter-true-is-one",
        "is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)",
        "is_number = isinstance(value, int | float | Decimal)",
        "`true` is taken for the number 1 in a filter",
        ("tests/operations/test_filter_refusals.py",),
    ),
    Mutant(
        "audience-day-window",
        "since = as_shown(scope.sandbox.now - DAY) + MILLISECOND - 1",
        "since = scope.sandbox.now - DAY",
        "a send is counted as used when it is shown as a day old",
        ("tests/operations/test_shown_instants.py",),
    ),
    Mutant(
        "preview-cache-end",
        "if made_at is None or scope.sandbox.now >= made_at + ",
        "if made_at is None or scope.sandbox.now > made_at + ",
        "a cached preview is returned at the instant at which it is forgotten",
        ("tests/operations/test_audience_preview.py",),
    ),
    # Campaigns: cadence, cancel, templates
    Mutant(
        "cadence-first-send",
        "due = (at - segment.start) * segment.per_minute // MINUTE + 1 if",
        "due = (at - segment.start) * segment.per_minute // MINUTE if",
        "the first send is not made at the start itself",
        ("tests/operations/test_sends.py",),
    ),
    Mutant(
        "cadence-processed-at",
        "return None if exact is None else -(-exact[0] // exact[1])",
        "return None if exact is None else exact[0] // exact[1]",
        "an execution completes a microsecond before its last send counts",
        ("tests/operations/test_sends.py",),
    ),
    Mutant(
        "slow-first-interval",
        "now + (-(-MINUTE // per_minute) if first else 0)",
        "now + (MINUTE // per_minute if first else 0)",
        "after slow-sends the next send comes a fraction of a microsecond too early",
        ("tests/scenario/test_state_effects.py",),
    ),
    Mutant(
        "cancel-late-sends",
        "return started_at + minutes * MINUTE - 1",
        "return started_at + minutes * MINUTE",
        "a canceled campaign sends once more at the first instant of the next minute",
        ("tests/operations/test_cancel.py",),
    ),
    Mutant(
        "cancel-stops-sends",
        "trigger, schedule=remaining, ended_at=scope.sandbox.now)",
        "trigger, ended_at=scope.sandbox.now)",
        "what a cancel interrupts goes on being sent",
        (f"{_OPERATIONS}test_cancel.py",),
    ),
    Mutant(
        "campaign-name-scope",
        'ended = uniqueness == "free-when-ended" and campaign.status in ("canceled", "failed")',
        'ended = campaign.status in ("canceled", "failed")',
        "the name of a canceled campaign is free again whatever the choice says",
        (f"{_OPERATIONS}test_campaign_names.py",),
    ),
    Mutant(
        "template-undeclared",
        'return values.get(key, "") if key in sources else ""',
        'return values.get(key, "")',
        "a value for a variable that the template does not declare is sent",
        ("tests/operations/test_start_choices.py",),
    ),
    Mutant(
        "template-optional",
        "if variable.required and (variable.key not in given or",
        "if (variable.key not in given or",
        "an optional variable is required",
        ("tests/operations/test_start.py",),
    ),
    # Messages, media, sessions, hosted page
    Mutant(
        "page-exact-end",
        "if begin + size >= len(listed):",
        "if begin + size > len(listed):",
        "a last page that is full has a cursor to an empty one",
        (f"{_OPERATIONS}test_messages.py",),
    ),
    Mutant(
        "message-before-start",
        "instant = max(Fraction(*exact), Fraction(execution.started_at))",
        "instant = Fraction(*exact)",
        "a message is older than the start that sent it",
        ("tests/operations/test_shown_instants.py",),
    ),
    Mutant(
        "media-format-first",
        'key=lambda refusal: refusal.code != "MEDIA_INVALID_FORMAT")',
        'key=lambda refusal: refusal.code == "MEDIA_INVALID_FORMAT")',
        "of an upload with both problems the size is refused before the format",
        (f"{_OPERATIONS}test_media.py",),
    ),
    Mutant(
        "media-largest",
        "if len(part.content) > sizes[kind]:",
        "if len(part.content) >= sizes[kind]:",
        "a file of exactly the largest size is refused",
        ("tests/operations/test_media.py",),
    ),
    Mutant(
        "session-deadline",
        "and scope.sandbox.now >= session.expires_at:",
        "and scope.sandbox.now > session.expires_at:",
        "a session completes at the instant of its deadline",
        ("tests/operations/test_shown_instants.py",),
    ),
    Mutant(
        "session-funnel-of-step",
        "return funnel is not None and funnel_id in (None, funnel.id)",
        "return funnel is not None",
        "a session completes with a step of another funnel than the one it names",
        ("tests/operations/test_session_ends.py",),
    ),
    Mutant(
        "hosted-reopened",
        "step = first if target.flow.step == CANCELLED else target.flow.step",
        "step = target.flow.step",
        "an end user who cancelled and opens the link again stays on the page of the cancellation",
        ("tests/operations/test_hosted_page.py",),
    ),
    # Webhooks
    Mutant(
        "signature-rotated",
        'signatures = " ".join(_signature(signing_input, secret) for secret in secrets)',
        'signatures = " ".join(_signature(signing_input, secret) for secret in secrets[:1])',
        "after a rotation a request has the signature of one secret only",
        (f"{_SERVER}test_payloads.py",),
    ),
    Mutant(
        "retry-after-cap",
        "return planned if retry_after is None else min(max(retry_after, planned), 2 * planned)",
        "return planned if retry_after is None else max(retry_after, planned)",
        "a receiver's Retry-After puts the next attempt off without a bound",
        ("tests/operations/test_deliveries.py",),
    ),
    Mutant(
        "delivery-order",
        "key=lambda delivery: (delivery.due, delivery.seq))\n        for delivery in ready:",
        "key=lambda delivery: delivery.seq)\n        for delivery in ready:",
        "a delivery that waited longer goes first although another was due before it",
        ("tests/operations/test_deliveries.py",),
    ),
    Mutant(
        "delivery-gone",
        "if genuine.status == 410:\n",
        "if genuine.status == 404:\n",
        "an endpoint that is gone (410) is sent further events",
        ("tests/operations/test_deliveries.py",),
    ),
    # Faults, rules, scenarios
    Mutant(
        "wire-held-pieces",
        "is_held = status is not None and bool(match.wire.delay_after or _is_slow(call, response))",
        "is_held = status is not None and bool(match.wire.delay_after)",
        "an answer sent in pieces is recorded as received before its last piece",
        ("tests/conduct/test_late_answers.py",),
    ),
    Mutant(
        "wire-reset",
        '{"termination": name, "skips_operation": when == "before"}',
        '{"termination": "drop", "skips_operation": when == "before"}',
        "a connection that a rule resets is closed in order",
        (
            "tests/scenario/test_wire_effects.py",
            "tests/server/test_waiting_calls.py",
        ),
    ),
    Mutant(
        "effect-earlier-failures",
        "before = sends.failed[: bisect_left(sends.failed, first)]",
        "before = sends.failed[:0]",
        "sends that have failed are sent after all when a rule changes the later ones",
        ("tests/scenario/test_effects_that_last.py",),
    ),
    Mutant(
        "effect-after-own-start",
        "return 0 if scope.started_execution_id == execution.id else",
        "return 0 if scope.started_execution_id is None else",
        "an effect on a running campaign changes what it has sent already",
        ("tests/scenario/test_state_effects.py",),
    ),
    Mutant(
        "rule-every-after-skip",
        "return self.every is None or place % self.every == 0",
        "return self.every is None or match % self.every == 0",
        "`every` counts the calls that `skip` leaves out",
        ("tests/scenario/test_rule_counting.py",),
    ),
    Mutant(
        "rule-true-is-one",
        "return bool(actual == as_written(wanted)) and isinstance(actual, bool) == isinstance(wanted, bool)",
        "return bool(actual == as_written(wanted))",
        "a rule for the value 1 fires at `true`",
        ("tests/scenario/test_odd_conditions.py",),
    ),
    Mutant(
        "snapshot-instant",
        "rule_set.latest_snapshot = latest._replace(at=sandbox.now)",
        "rule_set.latest_snapshot = latest",
        "a stale answer is computed for an instant long before the last change",
        ("tests/scenario/test_wire_effects.py",),
    ),
    Mutant(
        "scenario-wait-bound",
        "elif duration > _LONGEST_WAIT:",
        "elif duration > 2 * _LONGEST_WAIT:",
        "a scenario with a wait of two years is accepted",
        ("tests/scenario/test_refused_scripts.py",),
    ),
    Mutant(
        "choice-merged-keys",
        "return {**_base(choice, old), **new}",
        "return {**_base(choice, choice.default), **new}",
        "a key left out of a choice falls back to its default instead of what it was",
        ("tests/contract/test_choices.py",),
    ),
    # Time and state
    Mutant(
        "clock-restored-following",
        "self.clock = self.clock._replace(now=max(self.clock.now, self.process_now() + self.clock.lead))",
        "self.clock = self.clock._replace(now=self.process_now() + self.clock.lead)",
        "a restored sandbox that follows the process's clock goes back in time",
        ("tests/server/test_clock.py",),
    ),
    Mutant(
        "checkpoint-shared-chats",
        "copy._shared = self._shared = True",
        "copy._shared = True",
        "a chat that is added after a checkpoint is in the checkpoint too",
        ("tests/server/test_sandboxes.py",),
    ),
    Mutant(
        "journal-entries",
        "if len(self.exchanges) > limits.max_entries:",
        "if len(self.exchanges) >= limits.max_entries:",
        "the journal holds one call less than it may",
        (f"{_SERVER}test_journal_bounds.py",),
    ),
    Mutant(
        "journal-unanswered-size",
        "size_bytes = entry.size_bytes - len(entry.answer)",
        "size_bytes = entry.size_bytes",
        "an answer that was lost counts in the journal's size for ever",
        (f"{_SERVER}test_journal_bounds.py",),
    ),
    Mutant(
        "redaction-longest-first",
        "longest_first = sorted(self._secrets, key=len, reverse=True)",
        "longest_first = sorted(self._secrets, key=len)",
        "the rest of a secret shows that begins with another one",
        ("tests/server/test_printable.py",),
    ),
    Mutant(
        "http1-codings",
        'if coding.lower() != "chunked":',
        'if "chunked" not in coding.lower():',
        "a body in two transfer codings is accepted",
        (f"{_SERVER}test_http1.py",),
    ),
    # What judges and reports
    Mutant(
        "ledger-a-day-apart",
        "if second.targets and second.id in made and second.started_at - first.started_at < DAY:",
        "if second.targets and second.id in made and second.started_at - first.started_at <= DAY:",
        "two executions a day apart are reported as duplicates",
        ("tests/testing/test_ledger.py",),
    ),
    Mutant(
        "ledger-lost-answer",
        "return ANSWER_LOST if is_applied and is_lost else None",
        "return ANSWER_LOST if is_lost else None",
        "a create that had no effect is evidence of a clone",
        ("tests/testing/test_ledger.py",),
    ),
    Mutant(
        "conduct-retry-after",
        "return waited < (retry_after(limited.retry_after, limited.at) or 0)",
        "return waited <= (retry_after(limited.retry_after, limited.at) or 0)",
        "a client that waited exactly as long as Retry-After says is blamed",
        ("tests/conduct/test_provocations.py",),
    ),
    Mutant(
        "conduct-polls-apart",
        "later.at - earlier.at <= _SAME_LOOP and",
        "later.at - earlier.at > _SAME_LOOP and",
        "reads of one loop after the final status are not judged, those long after it are",
        ("tests/conduct/test_provocations.py",),
    ),
    Mutant(
        "report-noise",
        'rank="advice" if finding.severity == _NOISE else "cause",',
        'rank="cause",',
        "the first lines of a report name a finding that explains no failure",
        ("tests/reports/test_golden.py",),
    ),
    Mutant(
        "replay-lost-answers",
        'is_lost = entry.get("waits") == "socket" and recorded is None',
        "is_lost = recorded is None",
        "a call without a recorded answer differs in no replay",
        (f"{_TESTING}test_replay.py",),
    ),
    Mutant(
        "plugin-must-fire",
        'unfired = [rule for rule in wanted if not rule["fired"]]',
        'unfired = [rule for rule in wanted if not rule["matched"]]',
        "a rule that had to fire and only matched passes",
        ("tests/testing/test_rules_in_reports.py",),
    ),
    Mutant(
        "settings-clock-replaced",
        'values.pop({"now": "clock", "clock": "now"}.get(name, ""), None)',
        'values.pop({"now": "clock"}.get(name, ""), None)',
        "clock='follow' of a nearer layer leaves the instant of a farther one in force",
        (f"{_TESTING}test_settings.py",),
    ),
    Mutant(
        "verify-guide-status",
        'is_guided = row.guide_status != row.status and answer.path.startswith("/v1/campaigns")',
        "is_guided = row.guide_status != row.status",
        "a refusal outside of the campaigns passes with the status of the campaign guide",
        ("tests/probe/test_command.py",),
    ),
)
