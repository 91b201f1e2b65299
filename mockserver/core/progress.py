"""
The course of an execution's sends: when it finishes, when a rule's count is reached, and how a script bends it.

Counts are cut, never rewritten: what was processed up to now stays, and only what is still to come is bent. What has
ended is left alone, also while the status of an execution lags behind its campaign's. In the very call that starts an
execution nothing has been processed yet, though the first send is due at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mockserver.core import sends
from mockserver.core.instants import MINUTE, Instant
from mockserver.core.records import Execution, Sends
from mockserver.core.rules import Rule, Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def arm(sandbox: Sandbox, tenant: Tenant, execution: Execution) -> None:
    """Arm the rules that wait for the execution's progress, and its finish: a rule may wait for the very last send."""
    for rule in sandbox.script.rules.values():
        if rule.sent is not None:
            arm_rule(sandbox, tenant, execution, rule)
    last = sends.settled_at(execution.sends, execution.sends.total - 1) if execution.sends.total else sandbox.now
    if last is not None:  # the first send may be due a fraction of a millisecond before now
        sandbox.arm(max(last, sandbox.now), "execution", "finish", tenant.id, execution.id, execution.stay)


def arm_rule(sandbox: Sandbox, tenant: Tenant, execution: Execution, rule: Rule) -> None:
    """Have the rule fire when this execution has sent its count, once; at once where it has done so already."""
    if (rule.id, execution.id) in sandbox.script.done or rule.sent is None:
        return
    reached = sends.nth_sent(execution.sends, rule.sent) if rule.sent else execution.started_at
    if reached is not None:
        due = max(reached, sandbox.now)
        sandbox.arm(due, "execution", "sent", tenant.id, execution.id, execution.stay, rule.id)


def bend(sandbox: Sandbox, tenant: Tenant, execution: Execution, bent: Sends) -> None:
    """Put other sends in the place of the execution's, and arm anew what follows from them."""
    changed = replace(execution, sends=bent, stay=sandbox.count("stay"))
    tenant.executions[execution.id] = changed
    arm(sandbox, tenant, changed)


def to_come(sandbox: Sandbox, execution: Execution, scope: Scope) -> int:
    """The first position that is still to come; in the call that starts the execution that is the very first."""
    return 0 if scope.started == execution.id else sends.processed(execution.sends, sandbox.now)


def stall(sandbox: Sandbox, tenant: Tenant, execution: Execution, first: int) -> None:
    """Send nothing more until it is resumed."""
    bend(sandbox, tenant, execution, sends.turn(execution.sends, first, sandbox.now, 0))


def resume(sandbox: Sandbox, tenant: Tenant, execution: Execution, first: int, per_minute: int) -> None:
    """The next send goes now, the rest evenly from there."""
    bend(sandbox, tenant, execution, sends.turn(execution.sends, first, sandbox.now, per_minute))


def slow(sandbox: Sandbox, tenant: Tenant, execution: Execution, first: int, per_minute: int) -> None:
    """Send at another rate; the next send comes one interval of it from now, or at once where nothing was sent yet."""
    start: Instant = sandbox.now + (-(-MINUTE // per_minute) if first else 0)
    bend(sandbox, tenant, execution, sends.turn(execution.sends, first, start, per_minute))


def fail_rest(
    sandbox: Sandbox, tenant: Tenant, execution: Execution, first: int, chosen: Sequence[int] | None = None
) -> None:
    """From `first` on the chosen positions fail, beside those that would fail anyway; all where none are named."""
    total = execution.sends.total
    if chosen is None:
        failed: Sequence[int] = range(first, total)
    else:
        failed = sorted({each for each in (*execution.sends.failed, *chosen) if each >= first})
    bend(sandbox, tenant, execution, sends.failing(execution.sends, first, failed))


def spare_rest(sandbox: Sandbox, tenant: Tenant, execution: Execution, first: int) -> None:
    """From `first` on no position fails."""
    bend(sandbox, tenant, execution, sends.failing(execution.sends, first, ()))
