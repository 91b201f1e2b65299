"""
Scripted rules at one call or one delivery attempt.

A call under a script: which rules fire at it, what they do before and after the operation, and what its client gets.

1. The first rule in order that bends the wire owns it; the world effects of all run, after the operation and before its
   answer leaves, or before it where the rule says so.
2. Whatever a rule does, the operation runs whole or not at all: faults change what is said and when, never what is true.

Asking a sandbox's script what it does to an attempt at a delivery.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import cos, exp, log, pi, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.durations import parse_duration
from mockserver.core import ids
from mockserver.core.faults import conditions, effects, injected_errors
from mockserver.core.instants import Duration, Instant
from mockserver.core.operations.dispatch import handle_call
from mockserver.core.state.calls import Call, CallResult, Success
from mockserver.core.state.outbox import NO_DELIVERY_FAULTS, Delivery, DeliveryFaults
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.rule_set import MatchContext, Snapshot
from mockserver.core.state.rules import DeferredCall, Latency, Rule, Subject, WireFaults
from mockserver.core.state.sandbox import SandboxState, Timer, journal_entry

_Z99 = 2.3263478740408408  # the 99th percentile of the normal distribution
_GRAIN = 2**53
_NO_WIRE = WireFaults()

# The path parameter by which a call names the record that it is about, by operation, and the record's table.
_SUBJECT_OF: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "readCampaign": ("id", "campaign"),
        "readExecution": ("id", "campaign"),
        "startCampaign": ("id", "campaign"),
        "cancelCampaign": ("id", "campaign"),
        "readConnectionSession": ("sessionId", "session"),
    }
)


class RuleMatch(NamedTuple):
    """
    The rules that fire at a call, the wire effects in force with their owner, and the drawn waits around the operation.

    `scope` is what the call was about when it came in, whatever becomes of its key on the way.
    """

    rules: tuple[Rule, ...]
    owner: Rule | None
    wire: WireFaults
    before: Duration
    after: Duration
    scope: Subject


def match_rules(sandbox: SandboxState, call: Call) -> RuleMatch:
    """Count the call for every rule in force; the caller has let time pass up to now."""
    assert call.endpoint is not None
    scope = subject_of(sandbox, call)
    moment = MatchContext(
        sandbox.seed, sandbox.now, lambda rule: conditions.condition_holds(sandbox, rule.condition, scope)
    )
    fired = tuple(sandbox.rule_set.match_call(call.endpoint.id, call, _reader(call), moment))
    return _met(sandbox, fired, scope)


def _met(sandbox: SandboxState, fired: tuple[Rule, ...], scope: Subject) -> RuleMatch:
    owner = next((rule for rule in fired if rule.wire_faults is not None), None)
    wire = owner.wire_faults if owner is not None and owner.wire_faults is not None else _NO_WIRE
    before, after = (_drawn(sandbox, owner, wait) for wait in (wire.delay_before, wire.delay_after))
    return RuleMatch(fired, owner, wire, before, after, scope)


def _drawn(sandbox: SandboxState, owner: Rule | None, wait: Duration | Latency) -> Duration:
    if isinstance(wait, int) or owner is None:
        return wait if isinstance(wait, int) else 0
    one, two = (
        (ids.seeded_int(sandbox.seed, f"latency {half}", owner.seq, sandbox.next_number("latency"), below=_GRAIN) + 1)
        / _GRAIN
        for half in ("radius", "angle")
    )
    deviate = sqrt(-2 * log(one)) * cos(2 * pi * two)
    spread = log(wait.p99 / wait.median) / _Z99
    return min(wait.maximum, round(wait.median * exp(spread * deviate)))


def _reader(call: Call) -> Callable[[], Any]:
    """Reads the call's body as JSON, once; what is none is None."""
    read: list[Any] = []

    def body() -> Any:
        if not read:
            try:
                read.append(json.loads(call.body) if call.body else None)
            except (ValueError, RecursionError):
                read.append(None)
        return read[0]

    return body


def subject_of(sandbox: SandboxState, call: Call) -> Subject:
    """What the call is about, as far as it names it: an unknown key or id is about nothing."""
    holder = sandbox.key_owner(call.headers.get("x-api-key", "").strip())
    scope = Subject(tenant_id=holder.tenant_id if holder else None)
    operation = call.endpoint.id if call.endpoint else ""
    if operation == "readTemplate":
        return scope._replace(template_id=call.params["id"])
    if operation == "readEntrypoint":
        return scope._replace(entrypoint_id=call.params["id"])
    parameter, what = _SUBJECT_OF.get(operation, ("", ""))
    for tenant in sandbox.tenants.values() if what else ():
        record = getattr(tenant, f"{what}s").get(call.params[parameter])
        if record is not None:
            return scope._replace(**{what: record})
    return scope


def run_operation(sandbox: SandboxState, call: Call, met: RuleMatch) -> CallResult:
    """
    Run what the rules leave of the call: the world effects that come before it, and the operation.

    An outcome of None means that the operation did not run and that the rule's own words, or nothing, are the answer.
    `follow` has to come after it, once the answer and its place in the journal are settled.
    """
    scope, stored = met.scope, sandbox.rule_set.storage
    for rule in met.rules:
        sandbox.rule_set.unmet.pop(rule.id, None)
        effects.run(sandbox, rule, scope, "whole" if rule.before_operation else "bending")
    answered = _operated(sandbox, call, met, scope)
    if call.endpoint is not None and call.endpoint.id == "uploadMedia":
        sandbox.rule_set.storage = stored  # what a rule at this call has set held for it alone
    return answered


def run_after_effects(sandbox: SandboxState, call: Call, met: RuleMatch, answered: CallResult) -> None:
    """Run the world effects that come after the operation and before its answer leaves."""
    scope = _subject_after(met.scope, answered, call)
    for rule in met.rules:
        if not rule.before_operation:
            effects.run(sandbox, rule, scope, "following")


def _operated(sandbox: SandboxState, call: Call, met: RuleMatch, scope: Subject) -> CallResult:
    wire = met.wire
    if wire.error is not None and met.owner is not None:
        body = _reader(call)()
        return CallResult(injected_errors.refusal(sandbox, call, met.owner, scope, body), scope.tenant_id, body)
    if wire.skips_operation:
        return CallResult(None, scope.tenant_id, _reader(call)())
    if wire.stale and call.endpoint is not None and call.method == "GET":
        return _answer_as_before(sandbox, call, met)
    return handle_call(sandbox, call)


def _subject_after(scope: Subject, answered: CallResult, call: Call) -> Subject:
    """The scope with what the operation has made or found."""
    operation = call.endpoint.id if call.endpoint else ""
    facts = answered.outcome.value if isinstance(answered.outcome, Success) else None
    if isinstance(facts, Campaign):
        return scope._replace(campaign=facts)
    if isinstance(facts, Execution):
        return scope._replace(started_execution_id=facts.id if operation == "startCampaign" else None)
    if isinstance(facts, Session):
        return scope._replace(session=facts)
    return scope


def defer_call(sandbox: SandboxState, call: Call, met: RuleMatch, due: Instant) -> None:
    """The client has given up; the call arrives all the same when it is due, and its answer reaches nobody."""
    parked_id = f"call_{sandbox.next_number('parked')}"
    sandbox.rule_set.deferred_calls[parked_id] = DeferredCall(call, tuple(rule.id for rule in met.rules))
    sandbox.schedule(due, "call", "arrive", "", parked_id, 0)


def run_deferred_call(sandbox: SandboxState, timer: Timer) -> None:
    """A parked call reaches the operation."""
    parked = sandbox.rule_set.deferred_calls.pop(timer.id)
    rules = sandbox.rule_set.rules
    left = tuple(rules[each] for each in parked.rule_ids if each in rules)
    met = _met(sandbox, left, subject_of(sandbox, parked.call))
    answered = run_operation(sandbox, parked.call, met)
    fault = met.owner.fault() if met.owner else None
    sandbox.journal.add_exchange(journal_entry(sandbox, parked.call, answered, None, fault=fault))
    run_after_effects(sandbox, parked.call, met, answered)


def take_snapshot(sandbox: SandboxState) -> None:
    """Keep the world as it is now for `stale`, if some rule wants it; called before anything may change."""
    script = sandbox.rule_set
    if not script.keeps_snapshots:
        return
    kept, transitions = script.latest_snapshot, sandbox.journal.last_transition
    if kept is not None and kept.transitions == transitions:
        script.latest_snapshot = kept._replace(at=sandbox.now)
        return
    script.previous_snapshot = kept
    tenants = {tenant.id: tenant.copy() for tenant in sandbox.tenants.values()}
    script.latest_snapshot = Snapshot(transitions, sandbox.now, tenants)


def _answer_as_before(sandbox: SandboxState, call: Call, met: RuleMatch) -> CallResult:
    script = sandbox.rule_set
    latest = script.latest_snapshot
    past = latest if latest and latest.transitions != sandbox.journal.last_transition else script.previous_snapshot
    if past is None or met.owner is None:
        if met.owner is not None:
            script.unmet[met.owner.id] = "stale: nothing has changed since the rule was applied"
        return handle_call(sandbox, call)
    twin = sandbox.clone()
    twin.tenants = {tenant_id: tenant.copy() for tenant_id, tenant in past.tenants.items()}
    twin.set_now(past.at)
    return handle_call(twin, call)._replace(as_of=past.at)


def delivery_faults_for(sandbox: SandboxState, delivery: Delivery, attempt_no: int) -> DeliveryFaults:
    """
    What the sandbox's script does to this attempt, the first being 1; asked once for each attempt.

    Of several rules that fire the first in order has its say on each part; the effects of all on the world run.
    """
    if not sandbox.rule_set.rules:
        return NO_DELIVERY_FAULTS
    scope = Subject(delivery.tenant_id, session=delivery.event.session)
    moment = MatchContext(
        sandbox.seed, sandbox.now, lambda rule: conditions.condition_holds(sandbox, rule.condition, scope)
    )
    wanted: dict[str, Any] = {}
    for rule in sandbox.rule_set.match_delivery(delivery.event.kind, attempt_no, moment):
        wanted = _read(rule.delivery_faults or {}) | wanted
        effects.run(sandbox, rule, scope)
    return DeliveryFaults(**wanted)


def _read(written: Mapping[str, Any]) -> dict[str, Any]:
    """A document's `deliver` as the fields of `Twists`."""
    fields = {key.replace("-", "_"): value for key, value in written.items()}
    return fields | ({"delay": parse_duration(fields["delay"])} if "delay" in fields else {})
