"""
The sends of an execution as arithmetic: counts at an instant, due instants, and changes of the schedule.

1. Positions are in the order of the targets; position i of a segment is due at start + (i - first) minutes / rate.
2. A position is processed at every instant at or after its own; rates are exact rationals, nothing is rounded.
3. A change of the schedule applies to the remaining positions only; processed ones are never rewritten. An execution
   that has ended does not change, even while its status lags behind its campaign's.
4. In the call that starts an execution nothing is processed yet, although the first send is due immediately.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.instants import MINUTE, Instant
from mockserver.core.state.records import Execution, Segment, SendSchedule
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class Counts(NamedTuple):
    """The counts of an execution at an instant; `sent + failed` never exceeds `target`."""

    target: int
    sent: int
    failed: int

    @property
    def processed(self) -> int:
        return self.sent + self.failed


def plan(total: int, start: Instant, per_minute: int, failed: Sequence[int]) -> SendSchedule:
    """Return the schedule of `total` sends, evenly at `per_minute` from `start` on, the first at `start`."""
    return SendSchedule(total, total, (Segment(0, start, per_minute),), failed)


def processed_count(sends: SendSchedule, at: Instant) -> int:
    """Return the number of positions that are due at or before `at` and not stopped."""
    bound = sends.stop
    for segment in reversed(sends.segments):
        if at >= segment.start:
            due = (at - segment.start) * segment.per_minute // MINUTE + 1 if segment.per_minute else 0
            return min(bound, segment.first_position + due)
        bound = min(bound, segment.first_position)
    return 0


def counts(sends: SendSchedule, at: Instant) -> Counts:
    """Return the counts at an instant."""
    done = processed_count(sends, at)
    failed = bisect_left(sends.failed, done)
    return Counts(sends.total, done - failed, failed)


def exact_due(sends: SendSchedule, position: int) -> tuple[int, int] | None:
    """
    Return the exact instant of a position as (microseconds x rate, rate), or None if it is never sent.

    Both numbers are integers, so that the caller rounds once, in the direction it needs.
    """
    if position >= sends.stop:
        return None
    segment = next(segment for segment in reversed(sends.segments) if segment.first_position <= position)
    if not segment.per_minute:
        return None
    return segment.start * segment.per_minute + (position - segment.first_position) * MINUTE, segment.per_minute


def processed_at(sends: SendSchedule, position: int) -> Instant | None:
    """Return the first whole microsecond at which the position counts as processed, or None if never."""
    exact = exact_due(sends, position)
    return None if exact is None else -(-exact[0] // exact[1])


def displayed_at(sends: SendSchedule, position: int) -> Instant | None:
    """Return the instant of the position as it is shown, cut to the microsecond."""
    exact = exact_due(sends, position)
    return None if exact is None else exact[0] // exact[1]


def is_failed(sends: SendSchedule, position: int) -> bool:
    """Return True if the send of this position fails."""
    place = bisect_left(sends.failed, position)
    return place < len(sends.failed) and sends.failed[place] == position


def time_of_nth_sent(sends: SendSchedule, count: int) -> Instant | None:
    """Return the first whole microsecond at which `count` positions were sent, failed ones excluded, or None if never."""
    if count > sends.stop - bisect_left(sends.failed, sends.stop):
        return None
    position = bisect_left(range(sends.stop), count, key=lambda place: place + 1 - bisect_left(sends.failed, place + 1))
    return processed_at(sends, position)


def change_rate(sends: SendSchedule, first: int, start: Instant, per_minute: int) -> SendSchedule:
    """
    Return the schedule with another rate from position `first` on, which is due at `start`; at rate 0 the sends stop.
    """
    earlier = tuple(segment for segment in sends.segments if segment.first_position < first)
    return sends._replace(segments=(*earlier, Segment(first, start, per_minute)))


def with_failures(sends: SendSchedule, first: int, positions: Sequence[int]) -> SendSchedule:
    """Return the schedule with exactly these failures, ascending, from position `first` on; earlier ones stay."""
    before = sends.failed[: bisect_left(sends.failed, first)]
    if not before:
        return sends._replace(failed=positions)
    return sends._replace(failed=[*before, *positions])


def stop_after(sends: SendSchedule, last: Instant) -> SendSchedule:
    """Return the schedule without the sends that are due after `last`."""
    return sends._replace(stop=processed_count(sends, last))


def schedule_progress_timers(sandbox: SandboxState, tenant: Tenant, execution: Execution) -> None:
    """Schedule the rules that wait for the execution's progress, then its finish: a rule may wait for the last send."""
    for rule in sandbox.rule_set.rules.values():
        if rule.after_sent is not None:
            schedule_rule_timer(sandbox, tenant, execution, rule)
    last = processed_at(execution.schedule, execution.schedule.total - 1) if execution.schedule.total else sandbox.now
    if last is not None:  # the first send may be due a fraction of a millisecond before now
        sandbox.schedule(
            max(last, sandbox.now), "execution", "finish", tenant.id, execution.id, execution.state_version
        )


def schedule_rule_timer(sandbox: SandboxState, tenant: Tenant, execution: Execution, rule: Rule) -> None:
    """Schedule the rule for the instant at which this execution has sent its count, or for now if it has already."""
    if (rule.id, execution.id) in sandbox.rule_set.reached_progress or rule.after_sent is None:
        return
    reached = time_of_nth_sent(execution.schedule, rule.after_sent) if rule.after_sent else execution.started_at
    if reached is not None:
        due = max(reached, sandbox.now)
        sandbox.schedule(due, "execution", "sent", tenant.id, execution.id, execution.state_version, rule.id)


def replace_schedule(sandbox: SandboxState, tenant: Tenant, execution: Execution, bent: SendSchedule) -> None:
    """Replace the execution's schedule, and schedule its timers again."""
    changed = execution._replace(schedule=bent, state_version=sandbox.next_number("state_version"))
    tenant.executions[execution.id] = changed
    schedule_progress_timers(sandbox, tenant, changed)


def next_position(sandbox: SandboxState, execution: Execution, scope: Subject) -> int:
    """Return the first remaining position; in the call that starts the execution that is the first of all."""
    return 0 if scope.started_execution_id == execution.id else processed_count(execution.schedule, sandbox.now)


def slower(sends: SendSchedule, first: int, now: Instant, per_minute: int) -> SendSchedule:
    """Return the schedule at a lower rate; the next send is one interval of it from now, or now if none was sent yet."""
    return change_rate(sends, first, now + (-(-MINUTE // per_minute) if first else 0), per_minute)


def fail_remaining(sends: SendSchedule, first: int, chosen: Sequence[int] | None = None) -> SendSchedule:
    """
    Return the schedule in which the chosen positions from `first` on fail in addition to those already failing.

    If none are chosen, all of them fail.
    """
    if chosen is None:
        return with_failures(sends, first, range(first, sends.total))
    failing = {position for position in (*sends.failed, *chosen) if position >= first}
    return with_failures(sends, first, sorted(failing))
