"""
A call under a script: which rules fire at it, what they do before and after the operation, and what its client gets.

1. The first rule in order that bends the wire owns it; the world effects of all run, after the operation and before its
   answer leaves, or before it where the rule says so.
2. Whatever a rule does, the operation runs whole or not at all: faults change what is said and when, never what is true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import cos, exp, log, pi, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.core import ids, injected, world
from mockserver.core.answer import answer
from mockserver.core.calls import Answered, Call, Shown
from mockserver.core.entries import entry
from mockserver.core.instants import Instant, Span
from mockserver.core.records import Campaign, Execution, Session
from mockserver.core.rules import Latency, Parked, Rule, Scope, Wire
from mockserver.core.sandbox import Sandbox, Timer
from mockserver.core.script import Moment, Snapshot

_Z99 = 2.3263478740408408  # the 99th percentile of the normal distribution
_GRAIN = 2**53
_NO_WIRE = Wire()

# The path parameter by which a call names the record that it is about, by operation, and the record's table.
_ABOUT: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "readCampaign": ("id", "campaign"),
        "readExecution": ("id", "campaign"),
        "startCampaign": ("id", "campaign"),
        "cancelCampaign": ("id", "campaign"),
        "readConnectionSession": ("sessionId", "session"),
    }
)


class Met(NamedTuple):
    """
    The rules that fire at a call, the wire effects in force with their owner, and the drawn waits around the operation.

    `scope` is what the call was about when it came in, whatever becomes of its key on the way.
    """

    rules: tuple[Rule, ...]
    owner: Rule | None
    wire: Wire
    before: Span
    after: Span
    scope: Scope


def meet(sandbox: Sandbox, call: Call) -> Met:
    """Count the call for every rule in force; the caller has let time pass up to now."""
    assert call.endpoint is not None
    scope = scope_of(sandbox, call)
    moment = Moment(sandbox.seed, sandbox.now, lambda rule: world.fits(sandbox, rule.condition, scope))
    fired = tuple(sandbox.script.meet(call.endpoint.id, call, _reader(call), moment))
    return _met(sandbox, fired, scope)


def _met(sandbox: Sandbox, fired: tuple[Rule, ...], scope: Scope) -> Met:
    owner = next((rule for rule in fired if rule.wire is not None), None)
    wire = owner.wire if owner is not None and owner.wire is not None else _NO_WIRE
    before, after = (_drawn(sandbox, owner, wait) for wait in (wire.before, wire.after))
    return Met(fired, owner, wire, before, after, scope)


def _drawn(sandbox: Sandbox, owner: Rule | None, wait: Span | Latency) -> Span:
    if isinstance(wait, int) or owner is None:
        return wait if isinstance(wait, int) else 0
    one, two = (
        (ids.number(sandbox.seed, f"latency {half}", owner.seq, sandbox.count("latency"), below=_GRAIN) + 1) / _GRAIN
        for half in ("radius", "angle")
    )
    deviate = sqrt(-2 * log(one)) * cos(2 * pi * two)
    spread = log(wait.p99 / wait.median) / _Z99
    return min(wait.most, round(wait.median * exp(spread * deviate)))


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


def scope_of(sandbox: Sandbox, call: Call) -> Scope:
    """What the call is about, as far as it names it: an unknown key or id is about nothing."""
    holder = sandbox.holder(call.headers.get("x-api-key", "").strip())
    scope = Scope(tenant_id=holder.tenant_id if holder else None)
    operation = call.endpoint.id if call.endpoint else ""
    if operation == "readTemplate":
        return scope._replace(template_id=call.params["id"])
    if operation == "readEntrypoint":
        return scope._replace(entrypoint_id=call.params["id"])
    parameter, what = _ABOUT.get(operation, ("", ""))
    for tenant in sandbox.tenants.values() if what else ():
        record = getattr(tenant, f"{what}s").get(call.params[parameter])
        if record is not None:
            return scope._replace(**{what: record})
    return scope


def conclude(sandbox: Sandbox, call: Call, met: Met) -> Answered:
    """
    Run what the rules leave of the call: the world effects that come before it, and the operation.

    An outcome of None means that the operation did not run and that the rule's own words, or nothing, are the answer.
    `follow` has to come after it, once the answer and its place in the journal are settled.
    """
    scope, stored = met.scope, sandbox.script.storage
    for rule in met.rules:
        sandbox.script.unmet.pop(rule.id, None)
        world.run(sandbox, rule, scope, "whole" if rule.early else "bending")
    answered = _operated(sandbox, call, met, scope)
    if call.endpoint is not None and call.endpoint.id == "uploadMedia":
        sandbox.script.storage = stored  # what a rule at this call has set held for it alone
    return answered


def follow(sandbox: Sandbox, call: Call, met: Met, answered: Answered) -> None:
    """Run the world effects that come after the operation and before its answer leaves."""
    scope = _grown(met.scope, answered, call)
    for rule in met.rules:
        if not rule.early:
            world.run(sandbox, rule, scope, "following")


def _operated(sandbox: Sandbox, call: Call, met: Met, scope: Scope) -> Answered:
    wire = met.wire
    if wire.error is not None and met.owner is not None:
        body = _reader(call)()
        return Answered(injected.refusal(sandbox, call, met.owner, scope, body), scope.tenant_id, body)
    if wire.reply is not None or (wire.ends is not None and wire.early):
        return Answered(None, scope.tenant_id, _reader(call)())
    if wire.stale and call.endpoint is not None and call.method == "GET":
        return _answer_as_before(sandbox, call, met)
    return answer(sandbox, call)


def _grown(scope: Scope, answered: Answered, call: Call) -> Scope:
    """The scope with what the operation has made or found."""
    operation = call.endpoint.id if call.endpoint else ""
    facts = answered.outcome.facts if isinstance(answered.outcome, Shown) else None
    if isinstance(facts, Campaign):
        return scope._replace(campaign=facts)
    if isinstance(facts, Execution):
        return scope._replace(started=facts.id if operation == "startCampaign" else None)
    if isinstance(facts, Session):
        return scope._replace(session=facts)
    return scope


def park(sandbox: Sandbox, call: Call, met: Met, due: Instant) -> None:
    """The client has given up; the call arrives all the same when it is due, and its answer reaches nobody."""
    parked_id = f"call_{sandbox.count('parked')}"
    sandbox.script.parked[parked_id] = Parked(call, tuple(rule.id for rule in met.rules))
    sandbox.arm(due, "call", "arrive", "", parked_id, 0)


def arrive(sandbox: Sandbox, timer: Timer) -> None:
    """A parked call reaches the operation."""
    parked = sandbox.script.parked.pop(timer.id)
    rules = sandbox.script.rules
    left = tuple(rules[each] for each in parked.rule_ids if each in rules)
    met = _met(sandbox, left, scope_of(sandbox, parked.call))
    answered = conclude(sandbox, parked.call, met)
    fault = met.owner.fault() if met.owner else None
    sandbox.journal.keep(entry(sandbox, parked.call, answered, None, fault=fault))
    follow(sandbox, parked.call, met, answered)


def remember(sandbox: Sandbox) -> None:
    """Keep the world as it is now for `stale`, if some rule wants it; called before anything may change."""
    script = sandbox.script
    if not script.remembers:
        return
    kept, transitions = script.latest, sandbox.journal.last_transition
    if kept is not None and kept.transitions == transitions:
        script.latest = kept._replace(at=sandbox.now)
        return
    script.previous = kept
    tenants = {tenant.id: tenant.copy() for tenant in sandbox.tenants.values()}
    script.latest = Snapshot(transitions, sandbox.now, tenants)


def _answer_as_before(sandbox: Sandbox, call: Call, met: Met) -> Answered:
    script = sandbox.script
    latest = script.latest
    past = latest if latest and latest.transitions != sandbox.journal.last_transition else script.previous
    if past is None or met.owner is None:
        if met.owner is not None:
            script.unmet[met.owner.id] = "stale: nothing has changed since the rule was applied"
        return answer(sandbox, call)
    twin = sandbox.twin()
    twin.tenants = {tenant_id: tenant.copy() for tenant_id, tenant in past.tenants.items()}
    twin.pass_to(past.at)
    return answer(twin, call)._replace(at=past.at)
