"""
Letting time pass: everything due happens at its own instant, earliest first, and on equal instants in order of arming.

Many short waits therefore equal one long one, and no read ever moves anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core import campaigns, deliveries, scripted, sessions, world
from mockserver.core.instants import Instant
from mockserver.core.rules import Scope
from mockserver.core.sandbox import Sandbox, Timer


class Fired(NamedTuple):
    """One thing that time did: `what` is `kind.trigger`."""

    at: Instant
    what: str
    id: str


def _finish(sandbox: Sandbox, timer: Timer) -> None:
    campaigns.finish(sandbox, sandbox.tenants[timer.tenant_id], timer.id, {"timer": timer.trigger})


def _drain(sandbox: Sandbox, timer: Timer) -> None:
    campaigns.drain(sandbox, sandbox.tenants[timer.tenant_id], timer.id, {"timer": timer.trigger})


def _expire(sandbox: Sandbox, timer: Timer) -> None:
    sessions.expire_on_time(sandbox, sandbox.tenants[timer.tenant_id], timer.id, {"timer": timer.trigger})


def _wake(sandbox: Sandbox, timer: Timer) -> None:
    deliveries.wake(sandbox, timer.id, {"timer": timer.trigger})


def _fire(sandbox: Sandbox, timer: Timer) -> None:
    """The instant of a rule has come."""
    rule = sandbox.script.rules[timer.id]
    if world.fits(sandbox, rule.condition, Scope()) and rule.is_lucky(sandbox.seed, 1):
        sandbox.script.note_fired(rule)
        sandbox.script.unmet.pop(rule.id, None)
        world.run(sandbox, rule, Scope())


def _reach(sandbox: Sandbox, timer: Timer) -> None:
    """An execution has sent as many as a rule waits for."""
    rule = sandbox.script.rules.get(timer.about)
    if rule is None:
        return
    script, tenant = sandbox.script, sandbox.tenants[timer.tenant_id]
    script.done |= {(rule.id, timer.id)}
    campaign = tenant.campaigns[tenant.executions[timer.id].campaign_id]
    scope = Scope(tenant.id, campaign)
    if world.fits(sandbox, rule.condition, scope) and rule.is_lucky(sandbox.seed, len(script.done)):
        script.note_fired(rule)
        script.unmet.pop(rule.id, None)
        world.run(sandbox, rule, scope)


# What a timer does when it falls due, by kind and trigger.
DUE: Mapping[tuple[str, str], Callable[[Sandbox, Timer], None]] = MappingProxyType(
    {
        ("execution", "finish"): _finish,
        ("execution", "drain"): _drain,
        ("execution", "sent"): _reach,
        ("session", "expire"): _expire,
        ("delivery", "wake"): _wake,
        ("rule", "fire"): _fire,
        ("call", "arrive"): scripted.arrive,
    }
)


_ALWAYS = ("rule", "call")  # these happen whenever they fall due; a record's timer may find nothing to do


def settle(sandbox: Sandbox, until: Instant, pause: Callable[[Sandbox], bool] | None = None) -> list[Fired]:
    """
    Let time pass up to `until`; answers what happened, in order. The caller holds the sandbox's lock.

    Time stands still before, at the first instant at which, with all that was due at it done, `pause` says so.
    """
    fired: list[Fired] = []
    while sandbox.timers and sandbox.timers[0].due <= until:
        if pause is not None and sandbox.timers[0].due > sandbox.now and pause(sandbox):
            return fired
        timer = heappop(sandbox.timers)
        before = sandbox.subject(timer)
        if before is None:
            continue
        scripted.remember(sandbox)
        at = max(sandbox.now, timer.due)
        sandbox.pass_to(at)
        DUE[timer.kind, timer.trigger](sandbox, timer)  # a rule may let more time pass meanwhile
        if timer.kind in _ALWAYS or sandbox.subject(timer) is not before:
            fired.append(Fired(at, f"{timer.kind}.{timer.trigger}", timer.id))
    if pause is not None and until > sandbox.now and pause(sandbox):
        return fired
    if until != sandbox.now:
        sandbox.pass_to(max(sandbox.now, until))
    return fired


def next_due(sandbox: Sandbox) -> Instant | None:
    """The instant of the soonest timer that will still do something, or None where nothing is scheduled."""
    return min((timer.due for timer in sandbox.timers if sandbox.subject(timer) is not None), default=None)
