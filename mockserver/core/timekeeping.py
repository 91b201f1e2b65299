"""
Moving a sandbox's clock: freeze, follow, advance. Time only ever goes forward.

Each refuses with ValueError, saying what came and what would do, before it changes anything.
"""

from __future__ import annotations

from mockserver.core.instants import EARLIEST, LATEST, Instant, Span, exact_text
from mockserver.core.sandbox import Sandbox
from mockserver.core.settle import Fired, next_due, settle

_MOST_STEPS = 1_000_000  # of `until_idle`: whatever re-arms itself for ever is a bug, not a wait


def has_past(sandbox: Sandbox) -> bool:
    """True once a call was answered or something is scheduled: from then on nothing can be put back."""
    return sandbox.journal.last_exchange > 0 or sandbox.journal.last_transition > 0 or bool(sandbox.timers)


def freeze(sandbox: Sandbox, at: Instant | None = None) -> None:
    """Stand still at this instant, or where the clock is; going back is for a sandbox without a past."""
    now = sandbox.read_clock()
    instant = now if at is None else at
    _refuse_beyond(instant)
    if instant < now:
        if has_past(sandbox):
            raise ValueError(
                f"freeze at {exact_text(instant)} lies before now, {exact_text(now)}; time only goes forward: make a fresh sandbox"
            )
        sandbox.clock = sandbox.clock._replace(now=instant, frozen=True)
        return
    settle(sandbox, instant)
    sandbox.clock = sandbox.clock._replace(frozen=True)


def follow(sandbox: Sandbox, *, catch_up: bool = False) -> None:
    """Go with the process's clock: on from where the sandbox stands, or with `catch_up` at the process's own time."""
    if sandbox.clock.frozen or catch_up:
        lead = 0 if catch_up else sandbox.now - sandbox.process_now()
        sandbox.clock = sandbox.clock._replace(frozen=False, lead=lead)
    settle(sandbox, sandbox.read_clock())


def advance(sandbox: Sandbox, by: Span) -> list[Fired]:
    """Let this much time pass; everything due on the way happens at its own instant."""
    if by < 0:
        raise ValueError(f"advance by {by / 1_000_000:g} s goes back; time only goes forward")
    now = sandbox.read_clock()
    return _advance(sandbox, now, now + by)


def advance_to(sandbox: Sandbox, instant: Instant) -> list[Fired]:
    """Let time pass up to this instant."""
    return _advance(sandbox, sandbox.read_clock(), instant)


def advance_until_idle(sandbox: Sandbox) -> list[Fired]:
    """
    Let time pass from one due thing to the next until nothing is scheduled any more.

    Refuses where something is scheduled for an instant that cannot be shown; what came before it has then happened.
    """
    now = sandbox.read_clock()
    fired = settle(sandbox, now)
    for _ in range(_MOST_STEPS):
        due = next_due(sandbox)
        if due is None:
            break
        fired += _advance(sandbox, now, max(due, now))
    return fired


def _advance(sandbox: Sandbox, now: Instant, instant: Instant) -> list[Fired]:
    _refuse_beyond(instant)
    if instant < now:
        raise ValueError(f"advance to {exact_text(instant)} lies before now, {exact_text(now)}; time only goes forward")
    fired = settle(sandbox, instant)
    if not sandbox.clock.frozen:
        reached = max(instant, sandbox.now)  # a rule may have let more time pass on the way
        sandbox.clock = sandbox.clock._replace(lead=reached - sandbox.process_now())
    return fired


def _refuse_beyond(instant: Instant) -> None:
    if not EARLIEST <= instant <= LATEST:
        raise ValueError(
            f"that lies outside of {exact_text(EARLIEST)} to {exact_text(LATEST)}, the instants that can be shown"
        )
