"""
Letting time pass: everything due happens at its own instant, earliest first, and on equal instants in order of arming.

Many short waits therefore equal one long one, and no read ever moves anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core import campaigns, sessions
from mockserver.core.instants import Instant
from mockserver.core.sandbox import Sandbox, Timer
from mockserver.core.tenant import Tenant
from mockserver.core.transitions import TABLE_OF


class Fired(NamedTuple):
    """One thing that time did: `what` is `kind.trigger`."""

    at: Instant
    what: str
    id: str


# What a timer does when it falls due, by kind and trigger.
DUE: Mapping[tuple[str, str], Callable[[Sandbox, Tenant, str, Mapping[str, object]], None]] = MappingProxyType(
    {
        ("execution", "finish"): campaigns.finish,
        ("execution", "drain"): campaigns.drain,
        ("session", "expire"): sessions.expire_on_time,
    }
)


def settle(sandbox: Sandbox, until: Instant) -> list[Fired]:
    """Let time pass up to `until`; answers what happened, in order. The caller holds the sandbox's lock."""
    fired: list[Fired] = []
    while sandbox.timers and sandbox.timers[0].due <= until:
        timer = heappop(sandbox.timers)
        if not _is_current(sandbox, timer):
            continue
        sandbox.pass_to(max(sandbox.now, timer.due))
        tenant, table = sandbox.tenants[timer.tenant_id], TABLE_OF[timer.kind]
        before = getattr(tenant, table)[timer.id]
        DUE[timer.kind, timer.trigger](sandbox, tenant, timer.id, {"timer": timer.trigger})
        if getattr(tenant, table)[timer.id] is not before:
            fired.append(Fired(sandbox.now, f"{timer.kind}.{timer.trigger}", timer.id))
    if until != sandbox.now:
        sandbox.pass_to(max(sandbox.now, until))
    return fired


def next_due(sandbox: Sandbox) -> Instant | None:
    """The instant of the soonest timer that will still do something, or None where nothing is scheduled."""
    return min((timer.due for timer in sandbox.timers if _is_current(sandbox, timer)), default=None)


def _is_current(sandbox: Sandbox, timer: Timer) -> bool:
    tenant = sandbox.tenants.get(timer.tenant_id)
    record = getattr(tenant, TABLE_OF[timer.kind]).get(timer.id) if tenant else None
    return record is not None and record.stay == timer.stay
