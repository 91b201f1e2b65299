"""
Rules applied to one call or to one delivery attempt: which fire, and what they do before and after the operation.

1. The first firing rule with wire effects owns the exchange. The state effects of all rules run, after the operation
   and before its response is sent, or before the operation if the rule has it so.
2. The operation runs as a whole or not at all: a wire fault changes the response and its time, never the state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import is_creation_of
from mockserver.contract.text import json_value
from mockserver.core.faults import conditions, effects, injected_errors
from mockserver.core.instants import Instant
from mockserver.core.operations.dispatch import handle_call
from mockserver.core.state.calls import Call, CallResult, Success
from mockserver.core.state.outbox import Delivery, DeliveryFaults
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.rule_set import MatchContext, Snapshot
from mockserver.core.state.rules import DeferredCall, GivenUp, Rule, Subject, WireFaults
from mockserver.core.state.sandbox import SandboxState, Timer, journal_entry

_NO_WIRE = WireFaults()


class RuleMatch(NamedTuple):
    """
    The rules that fire at a call, and the wire effects with their owner.

    `subject` is the call's on arrival, even if a rule then revokes its key.
    """

    rules: tuple[Rule, ...]
    owner: Rule | None
    wire: WireFaults
    subject: Subject


def match_rules(sandbox: SandboxState, call: Call) -> RuleMatch:
    """Match every active rule against the call and count it; the caller has run the due timers."""
    if call.endpoint is None or not sandbox.rule_set.rules:
        return RuleMatch((), None, _NO_WIRE, Subject())
    subject = subject_of(sandbox, call)
    fired = tuple(sandbox.rule_set.match_call(call.endpoint.id, call, _reader(call), _context(sandbox, subject)))
    return _resolve(fired, subject)


def _context(sandbox: SandboxState, subject: Subject) -> MatchContext:
    return MatchContext(
        sandbox.seed, sandbox.now, lambda rule: conditions.condition_holds(sandbox, rule.condition, subject)
    )


def _resolve(fired: tuple[Rule, ...], subject: Subject) -> RuleMatch:
    owner = next((rule for rule in fired if rule.wire_faults is not None), None)
    wire = owner.wire_faults if owner is not None and owner.wire_faults is not None else _NO_WIRE
    return RuleMatch(fired, owner, wire, subject)


def _reader(call: Call) -> Callable[[], Any]:
    """Return a function that parses the call's body once, to None if it is not JSON."""
    return cache(lambda: json_value(call.body) if call.body else None)


def subject_of(sandbox: SandboxState, call: Call) -> Subject:
    """Return the tenant and the record that the call names by its key and path, each None if it is unknown."""
    owner = sandbox.keys.get(call.key)
    subject = Subject(tenant_id=owner.tenant_id if owner else None)
    if call.endpoint is None or call.endpoint.subject is None:
        return subject
    kind, parameter = call.endpoint.subject
    record_id = call.params[parameter]
    named: dict[str, Any] = {f"{kind}_id": record_id}
    if not named.keys() <= set(Subject._fields):  # an effect takes the id alone of the other kinds
        owned = sandbox.find(kind, record_id)
        named = {kind: owned[1]} if owned else {}
    return subject._replace(**named)


def run_operation(sandbox: SandboxState, call: Call, match: RuleMatch) -> CallResult:
    """
    Run the state effects that precede the operation, and the operation unless a rule prevents it.

    An outcome of None means that the operation did not run, and that the rule's own response, or none, is sent.
    `run_after_effects` has to follow, once the exchange is in the journal.
    """
    subject, former_storage, exchange = match.subject, sandbox.rule_set.storage, sandbox.journal.last_exchange + 1
    for rule in match.rules:
        sandbox.rule_set.no_target.pop(rule.id, None)
        effects.run(sandbox, rule, subject, "all" if rule.before_operation else "before", exchange)
    result = _operate(sandbox, call, match, subject)
    if call.endpoint is not None and call.endpoint.creates == "media":
        sandbox.rule_set.storage = former_storage  # a rule that fires at an upload fails files of this upload alone
    return result


def run_after_effects(sandbox: SandboxState, call: Call, match: RuleMatch, result: CallResult) -> None:
    """Run the state effects between the operation and the sending of its response."""
    subject = _subject_after(match.subject, result, call)
    for rule in match.rules:
        if not rule.before_operation:
            effects.run(sandbox, rule, subject, "after", sandbox.journal.last_exchange)


def _operate(sandbox: SandboxState, call: Call, match: RuleMatch, subject: Subject) -> CallResult:
    wire = match.wire
    if match.owner is None:
        return handle_call(sandbox, call)
    if wire.error is not None or wire.skips_operation:
        refusal = injected_errors.refusal(sandbox, match.owner) if wire.error is not None else None
        return CallResult(refusal, subject.tenant_id, _reader(call)())
    if wire.stale:
        if call.method == "GET":
            return _respond_as_before(sandbox, call, match.owner)
        sandbox.rule_set.no_target[match.owner.id] = "stale: the call is no read"
    return handle_call(sandbox, call)


def _subject_after(subject: Subject, result: CallResult, call: Call) -> Subject:
    """Return the subject with the record that the operation created or read."""
    operation = call.endpoint.id if call.endpoint else None
    record = result.outcome.value if isinstance(result.outcome, Success) else None
    if isinstance(record, Campaign):
        return subject._replace(campaign=record)
    if isinstance(record, Execution):
        return subject._replace(started_execution_id=record.id if is_creation_of(operation, "execution") else None)
    if isinstance(record, Session):
        return subject._replace(session=record)
    return subject


def defer_call(sandbox: SandboxState, call: Call, match: RuleMatch, sent_at: Instant, last_exchange: int) -> None:
    """Defer a call whose client has disconnected: it still runs when its delay is over, and its response is sent to no client."""
    deferred_id = f"call_{sandbox.next_number('parked')}"
    given_up = GivenUp(sent_at, sandbox.clock.now, last_exchange)
    rule_ids = tuple(rule.id for rule in match.rules)
    sandbox.rule_set.deferred_calls[deferred_id] = DeferredCall(call, rule_ids, given_up)
    sandbox.schedule(sent_at + match.wire.delay_before, "call", "arrive", "", deferred_id, 0)


def run_deferred_call(sandbox: SandboxState, timer: Timer) -> None:
    """Run a deferred call."""
    deferred = sandbox.rule_set.deferred_calls.pop(timer.id)
    rules = sandbox.rule_set.rules
    remaining = tuple(rules[rule_id] for rule_id in deferred.rule_ids if rule_id in rules)
    match = _resolve(remaining, subject_of(sandbox, deferred.call))
    result = run_operation(sandbox, deferred.call, match)
    fault = match.owner.fault() if match.owner else None
    entry = journal_entry(sandbox, deferred.call, result, None, fault=fault)
    sandbox.journal.add_exchange(entry._replace(given_up=deferred.given_up))
    run_after_effects(sandbox, deferred.call, match, result)


def take_snapshot(sandbox: SandboxState) -> None:
    """Copy the current state for `stale`, if a rule needs it; called before anything may change."""
    rule_set = sandbox.rule_set
    if not rule_set.keeps_snapshots:
        return
    latest, transitions = rule_set.latest_snapshot, sandbox.journal.last_transition
    if latest is not None and latest.transitions == transitions:
        rule_set.latest_snapshot = latest._replace(at=sandbox.now)
        return
    rule_set.previous_snapshot = latest
    tenants = {tenant.id: tenant.copy() for tenant in sandbox.tenants.values()}
    rule_set.latest_snapshot = Snapshot(transitions, sandbox.now, tenants)


def _respond_as_before(sandbox: SandboxState, call: Call, owner: Rule) -> CallResult:
    rule_set = sandbox.rule_set
    latest = rule_set.latest_snapshot
    past = latest if latest and latest.transitions != sandbox.journal.last_transition else rule_set.previous_snapshot
    if past is None:
        rule_set.no_target[owner.id] = "stale: nothing has changed since the rule was applied"
        return handle_call(sandbox, call)
    past_sandbox = sandbox.clone()
    past_sandbox.tenants = {tenant_id: tenant.copy() for tenant_id, tenant in past.tenants.items()}
    past_sandbox.set_now(past.at)
    return handle_call(past_sandbox, call)._replace(as_of=past.at)


def delivery_faults_for(sandbox: SandboxState, delivery: Delivery, attempt_no: int) -> DeliveryFaults:
    """
    Return the faults of this attempt, counted from 1; called once per attempt.

    Of several firing rules the first one with a fault decides it; the state effects of all run.
    """
    subject = Subject.of_record(delivery.tenant_id, delivery.event.record)
    fields: dict[str, Any] = {}
    for rule in sandbox.rule_set.match_delivery(delivery.event.kind, attempt_no, _context(sandbox, subject)):
        fields = {key.replace("-", "_"): value for key, value in (rule.delivery_faults or {}).items()} | fields
        effects.run(sandbox, rule, subject)
    if "delay" in fields:
        fields["delay"] = parse_duration(fields["delay"])
    return DeliveryFaults(**fields)
