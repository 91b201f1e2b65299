"""
An execution's sends: counts and due instants as arithmetic, and changes of the schedule.

Sends as arithmetic: how many positions of an execution were processed at an instant, and when a position is due.

1. Positions go in the order of the targets; position i of a segment is due at start + (i - first) minutes / rate.
2. A position is processed at every instant at or after its own; rates are exact rationals, nothing is rounded.
3. Counts are cut, never rewritten: `cut` fixes what lies before an instant and stops the rest.

The course of an execution's sends: when it finishes, when a rule's count is reached, and how a script bends it.

Counts are cut, never rewritten: what was processed up to now stays, and only what is still to come is bent. What has
ended is left alone, also while the status of an execution lags behind its campaign's. In the very call that starts an
execution nothing has been processed yet, though the first send is due at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mockserver.core.instants import MINUTE, Instant
from mockserver.core.state.records import Execution, Segment, SendSchedule
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class Counts(NamedTuple):
    """What an execution shows at an instant; `sent + failed` never exceeds `target`."""

    target: int
    sent: int
    failed: int

    @property
    def processed(self) -> int:
        return self.sent + self.failed


def plan(total: int, start: Instant, per_minute: int, failed: Sequence[int]) -> SendSchedule:
    """The sends of `total` targets, evenly at `per_minute` from `start` on, the first at `start` itself."""
    return SendSchedule(total, total, (Segment(0, start, per_minute),), failed)


def processed_count(sends: SendSchedule, at: Instant) -> int:
    """How many positions were due at or before `at` and were not stopped."""
    bound = sends.stop
    for segment in reversed(sends.segments):
        if at >= segment.start:
            due = (at - segment.start) * segment.per_minute // MINUTE + 1 if segment.per_minute else 0
            return min(bound, segment.first_position + due)
        bound = min(bound, segment.first_position)
    return 0


def counts(sends: SendSchedule, at: Instant) -> Counts:
    """Target, sent and failed at an instant."""
    done = processed_count(sends, at)
    failed = bisect_left(sends.failed, done)
    return Counts(sends.total, done - failed, failed)


def exact_due(sends: SendSchedule, position: int) -> tuple[int, int] | None:
    """
    The exact instant of a position as (microseconds x rate, rate); None where it is never sent.

    Both numbers are whole, so that the caller rounds, once, in the direction that it needs.
    """
    if position >= sends.stop:
        return None
    segment = next(segment for segment in reversed(sends.segments) if segment.first_position <= position)
    if not segment.per_minute:
        return None
    return segment.start * segment.per_minute + (position - segment.first_position) * MINUTE, segment.per_minute


def processed_at(sends: SendSchedule, position: int) -> Instant | None:
    """The first whole microsecond at which the position counts as processed."""
    exact = exact_due(sends, position)
    return None if exact is None else -(-exact[0] // exact[1])


def displayed_at(sends: SendSchedule, position: int) -> Instant | None:
    """The instant of the position cut to the microsecond, as it is shown."""
    exact = exact_due(sends, position)
    return None if exact is None else exact[0] // exact[1]


def is_failed(sends: SendSchedule, position: int) -> bool:
    """True where the send of this position fails."""
    place = bisect_left(sends.failed, position)
    return place < len(sends.failed) and sends.failed[place] == position


def time_of_nth_sent(sends: SendSchedule, count: int) -> Instant | None:
    """The first whole microsecond at which `count` positions were sent, failed ones left out; None where that never comes."""
    if count > sends.stop - bisect_left(sends.failed, sends.stop):
        return None
    position = bisect_left(range(sends.stop), count, key=lambda place: place + 1 - bisect_left(sends.failed, place + 1))
    return processed_at(sends, position)


def change_rate(sends: SendSchedule, first: int, start: Instant, per_minute: int) -> SendSchedule:
    """The same sends, from position `first` on at another rate, that position at `start`; at 0 a minute they stand still."""
    kept = tuple(segment for segment in sends.segments if segment.first_position < first)
    return replace(sends, segments=(*kept, Segment(first, start, per_minute)))


def with_failures(sends: SendSchedule, first: int, positions: Sequence[int]) -> SendSchedule:
    """The same sends, of whose positions from `first` on those fail, ascending, and no others; what lies before stays."""
    before = sends.failed[: bisect_left(sends.failed, first)]
    if not before:
        return replace(sends, failed=positions)
    return replace(sends, failed=[*before, *positions])


def stop_after(sends: SendSchedule, last: Instant) -> SendSchedule:
    """The same sends, with nothing processed that is due after `last`."""
    return replace(sends, stop=processed_count(sends, last))


def schedule_progress_timers(sandbox: SandboxState, tenant: Tenant, execution: Execution) -> None:
    """Arm the rules that wait for the execution's progress, and its finish: a rule may wait for the very last send."""
    for rule in sandbox.rule_set.rules.values():
        if rule.after_sent is not None:
            schedule_rule_timer(sandbox, tenant, execution, rule)
    last = processed_at(execution.schedule, execution.schedule.total - 1) if execution.schedule.total else sandbox.now
    if last is not None:  # the first send may be due a fraction of a millisecond before now
        sandbox.schedule(
            max(last, sandbox.now), "execution", "finish", tenant.id, execution.id, execution.state_version
        )


def schedule_rule_timer(sandbox: SandboxState, tenant: Tenant, execution: Execution, rule: Rule) -> None:
    """Have the rule fire when this execution has sent its count, once; at once where it has done so already."""
    if (rule.id, execution.id) in sandbox.rule_set.reached_progress or rule.after_sent is None:
        return
    reached = time_of_nth_sent(execution.schedule, rule.after_sent) if rule.after_sent else execution.started_at
    if reached is not None:
        due = max(reached, sandbox.now)
        sandbox.schedule(due, "execution", "sent", tenant.id, execution.id, execution.state_version, rule.id)


def replace_schedule(sandbox: SandboxState, tenant: Tenant, execution: Execution, bent: SendSchedule) -> None:
    """Put other sends in the place of the execution's, and arm anew what follows from them."""
    changed = replace(execution, schedule=bent, state_version=sandbox.next_number("state_version"))
    tenant.executions[execution.id] = changed
    schedule_progress_timers(sandbox, tenant, changed)


def next_position(sandbox: SandboxState, execution: Execution, scope: Subject) -> int:
    """The first position that is still to come; in the call that starts the execution that is the very first."""
    return 0 if scope.started_execution_id == execution.id else processed_count(execution.schedule, sandbox.now)


def stall(sandbox: SandboxState, tenant: Tenant, execution: Execution, first: int) -> None:
    """Send nothing more until it is resumed."""
    replace_schedule(sandbox, tenant, execution, change_rate(execution.schedule, first, sandbox.now, 0))


def resume(sandbox: SandboxState, tenant: Tenant, execution: Execution, first: int, per_minute: int) -> None:
    """The next send goes now, the rest evenly from there."""
    replace_schedule(sandbox, tenant, execution, change_rate(execution.schedule, first, sandbox.now, per_minute))


def slow(sandbox: SandboxState, tenant: Tenant, execution: Execution, first: int, per_minute: int) -> None:
    """Send at another rate; the next send comes one interval of it from now, or at once where nothing was sent yet."""
    start: Instant = sandbox.now + (-(-MINUTE // per_minute) if first else 0)
    replace_schedule(sandbox, tenant, execution, change_rate(execution.schedule, first, start, per_minute))


def fail_remaining(
    sandbox: SandboxState, tenant: Tenant, execution: Execution, first: int, chosen: Sequence[int] | None = None
) -> None:
    """From `first` on the chosen positions fail, beside those that would fail anyway; all where none are named."""
    total = execution.schedule.total
    if chosen is None:
        failed: Sequence[int] = range(first, total)
    else:
        failed = sorted({each for each in (*execution.schedule.failed, *chosen) if each >= first})
    replace_schedule(sandbox, tenant, execution, with_failures(execution.schedule, first, failed))


def clear_remaining_failures(sandbox: SandboxState, tenant: Tenant, execution: Execution, first: int) -> None:
    """From `first` on no position fails."""
    replace_schedule(sandbox, tenant, execution, with_failures(execution.schedule, first, ()))
