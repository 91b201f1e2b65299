"""
The scheduler: run due timers, and move the clock (freeze, follow, advance).

1. Every timer fires at its own instant, earliest first, and at equal instants in the order of scheduling: many short
   waits equal one long one, and no read changes anything.
2. Time only moves forward; a refusal is a ValueError with the reason, raised before any change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop
from types import MappingProxyType
from typing import Literal, NamedTuple

from mockserver.core.faults import conditions, effects, injection
from mockserver.core.instants import EARLIEST, LATEST, Duration, Instant, format_exact
from mockserver.core.operations import campaigns, connections
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import SandboxState, Scope, Timer
from mockserver.core.webhooks import deliveries


class FiredTimer(NamedTuple):
    """A timer that has fired; `what` is `kind.trigger`."""

    at: Instant
    what: str
    id: str


def _scope(sandbox: SandboxState, timer: Timer) -> Scope:
    return Scope(sandbox, sandbox.tenants[timer.tenant_id], {"timer": timer.trigger})


def _fire(sandbox: SandboxState, rule: Rule, subject: Subject, nth: int) -> None:
    """Fire a rule that is due for the nth time, unless its condition or its chance is against it."""
    if conditions.condition_holds(sandbox, rule.condition, subject) and rule.passes_chance(sandbox.seed, nth):
        sandbox.rule_set.record_fired(rule)
        sandbox.rule_set.no_target.pop(rule.id, None)
        effects.run(sandbox, rule, subject)


def _reach(sandbox: SandboxState, timer: Timer) -> None:
    """Fire a rule that waits for the progress of an execution."""
    rule = sandbox.rule_set.rules.get(timer.rule_id)
    if rule is None:
        return
    rule_set, tenant = sandbox.rule_set, sandbox.tenants[timer.tenant_id]
    rule_set.reached_progress |= {(rule.id, timer.id)}
    campaign = tenant.campaigns[tenant.executions[timer.id].campaign_id]
    _fire(sandbox, rule, Subject(tenant.id, campaign), len(rule_set.reached_progress))


# The function of a due timer, by kind and trigger.
TIMER_HANDLERS: Mapping[tuple[str, str], Callable[[SandboxState, Timer], None]] = MappingProxyType(
    {
        ("execution", "finish"): lambda sandbox, timer: campaigns.finish(_scope(sandbox, timer), timer.id),
        ("execution", "drain"): lambda sandbox, timer: campaigns.finish_lagging_execution(
            _scope(sandbox, timer), timer.id
        ),
        ("execution", "settle"): lambda sandbox, timer: None,  # the counts are arithmetic
        ("execution", "sent"): _reach,
        ("session", "expire"): lambda sandbox, timer: connections.expire_on_time(_scope(sandbox, timer), timer.id),
        ("delivery", "wake"): lambda sandbox, timer: deliveries.retry_due(sandbox, timer.id, {"timer": timer.trigger}),
        ("rule", "fire"): lambda sandbox, timer: _fire(sandbox, sandbox.rule_set.rules[timer.id], Subject(), 1),
        ("call", "arrive"): injection.run_deferred_call,
    }
)


_ALWAYS_REPORTED = ("rule", "call")  # a record's timer may change nothing, these always do


def run_until(
    sandbox: SandboxState, until: Instant, pause: Callable[[SandboxState], bool] | None = None
) -> list[FiredTimer]:
    """
    Run the timers due up to `until` and return what they did, in order.

    The clock stops earlier at the first instant for which `pause` returns True after everything due at it has run.

    Lock: the caller holds the sandbox's.
    """
    if until < sandbox.now and sandbox.can_go_back:
        sandbox.set_now(until)
    fired: list[FiredTimer] = []
    while sandbox.timers and sandbox.timers[0].due <= until:
        if pause is not None and sandbox.timers[0].due > sandbox.now and pause(sandbox):
            return fired
        timer = heappop(sandbox.timers)
        before = sandbox.timer_target(timer)
        if before is None:
            continue
        injection.take_snapshot(sandbox)
        at = max(sandbox.now, timer.due)
        sandbox.set_now(at)
        within: list[FiredTimer] = []
        outer, sandbox.fired_within = sandbox.fired_within, within
        try:
            TIMER_HANDLERS[timer.kind, timer.trigger](sandbox, timer)  # a rule may advance the clock meanwhile
        finally:
            sandbox.fired_within = outer
        if timer.kind in _ALWAYS_REPORTED or sandbox.timer_target(timer) is not before:
            fired.append(FiredTimer(at, f"{timer.kind}.{timer.trigger}", timer.id))
        fired += within
    if pause is not None and until > sandbox.now and pause(sandbox):
        return fired
    if until != sandbox.now:
        sandbox.set_now(max(sandbox.now, until))
    return fired


def next_due(sandbox: SandboxState) -> Instant | None:
    """Return the instant of the soonest timer that still has a target, or None if nothing is scheduled."""
    return min((timer.due for timer in sandbox.timers if sandbox.timer_target(timer) is not None), default=None)


def freeze(sandbox: SandboxState, at: Instant | None = None) -> None:
    """
    Freeze the clock at an instant, by default at now, after running the timers due until then.

    Raises:
        ValueError: For an instant before now if the sandbox has a history, or one beyond the calendar.
    """
    now = sandbox.read_clock()
    instant = now if at is None else at
    _refuse_beyond(instant)
    if instant < now:
        if sandbox.has_history:
            raise ValueError(
                f"got a freeze at {format_exact(instant)}; expected at least now, {format_exact(now)}, since time only moves forward: create a new sandbox"
            )
        sandbox.clock = sandbox.clock._replace(now=instant, frozen=True)
        return
    run_until(sandbox, instant)
    sandbox.clock = sandbox.clock._replace(frozen=True)


def follow(sandbox: SandboxState, *, catch_up: bool = False) -> None:
    """Follow the process's clock: from the sandbox's now on or, with `catch_up`, at the process's own time."""
    if sandbox.clock.frozen or catch_up:
        lead = 0 if catch_up else sandbox.now - sandbox.process_now()
        sandbox.clock = sandbox.clock._replace(frozen=False, lead=lead)
    run_until(sandbox, sandbox.read_clock())


def advance_target(
    sandbox: SandboxState, *, by: Duration | None = None, to: Instant | Literal["next"] | None = None
) -> Instant:
    """
    Return the instant to which an advance leads: `by` a duration from now, or `to` itself; the next due timer, if any, for `next`.

    Raises:
        ValueError: For an instant before now, or one beyond the calendar.
    """
    now = sandbox.read_clock()
    if by is not None and by < 0:
        raise ValueError(
            f"got an advance by {by / 1_000_000:g} s; expected no negative duration, since time only moves forward"
        )
    if to == "next":
        due = next_due(sandbox)
        to = now if due is None else max(now, due)
    instant = to if to is not None else now + (by or 0)
    _refuse_beyond(instant)
    if instant < now:
        raise ValueError(
            f"got an advance to {format_exact(instant)}; expected at least now, {format_exact(now)}, since time only moves forward"
        )
    return instant


def advance_step(
    sandbox: SandboxState, end: Instant | None, pause: Callable[[SandboxState], bool] | None = None
) -> tuple[list[FiredTimer], bool]:
    """
    Advance the clock to `end`, or to the next due timer if it is None; `pause` may stop it earlier, as in `run_until`.

    Returns:
        The fired timers, and True if the clock has reached the end.

    Raises:
        ValueError: If a timer is due at an instant beyond the calendar; the earlier ones have fired then.
    """
    instant = next_due(sandbox) if end is None else end
    if instant is None:
        return [], True
    instant = max(instant, sandbox.read_clock())
    _refuse_beyond(instant)
    fired = run_until(sandbox, instant, pause)
    if not sandbox.clock.frozen:
        sandbox.clock = sandbox.clock._replace(lead=sandbox.now - sandbox.process_now())
    return fired, end is not None and sandbox.now >= end


def advance(sandbox: SandboxState, by: Duration) -> list[FiredTimer]:
    """Advance the clock by a duration in one step, the lock held; deliveries that fall due are sent afterwards."""
    return advance_step(sandbox, advance_target(sandbox, by=by))[0]


def _refuse_beyond(instant: Instant) -> None:
    if not EARLIEST <= instant <= LATEST:
        raise ValueError(
            f"got an instant out of range; expected {format_exact(EARLIEST)} to {format_exact(LATEST)}, the instants that can be shown"
        )
