"""
Moving a sandbox's clock: freeze, follow, advance. Time only ever goes forward.

Each refuses with ValueError, saying what came and what would do, before it changes anything.
"""

from __future__ import annotations

from collections.abc import Callable

from mockserver.core.instants import EARLIEST, LATEST, Instant, Span, exact_text
from mockserver.core.sandbox import Sandbox
from mockserver.core.settle import Fired, next_due, settle


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


def goal(sandbox: Sandbox, *, by: Span | None = None, to: Instant | None = None) -> Instant:
    """The instant to which an advance leads: `by` a length from now, or `to` itself."""
    now = sandbox.read_clock()
    if by is not None and by < 0:
        raise ValueError(f"advance by {by / 1_000_000:g} s goes back; time only goes forward")
    instant = to if to is not None else now + (by or 0)
    _refuse_beyond(instant)
    if instant < now:
        raise ValueError(f"advance to {exact_text(instant)} lies before now, {exact_text(now)}; time only goes forward")
    return instant


def step(
    sandbox: Sandbox, end: Instant | None, pause: Callable[[Sandbox], bool] | None = None
) -> tuple[list[Fired], bool]:
    """
    Let time pass to `end`, or to the next due thing where it is None; less far where `pause` says so (see `settle`).

    Answers what happened, and whether there is nothing left to come before the end. Refuses where something is
    scheduled for an instant that cannot be shown; what came before it has then happened.
    """
    instant = next_due(sandbox) if end is None else end
    if instant is None:
        return [], True
    instant = max(instant, sandbox.read_clock())
    _refuse_beyond(instant)
    fired = settle(sandbox, instant, pause)
    if not sandbox.clock.frozen:
        sandbox.clock = sandbox.clock._replace(lead=sandbox.now - sandbox.process_now())
    return fired, end is not None and sandbox.now >= end


def advance(sandbox: Sandbox, by: Span) -> list[Fired]:
    """Let this much time pass at one go, within whatever holds the lock: what falls due on the way is delivered after it."""
    return step(sandbox, goal(sandbox, by=by))[0]


def _refuse_beyond(instant: Instant) -> None:
    if not EARLIEST <= instant <= LATEST:
        raise ValueError(
            f"that lies outside of {exact_text(EARLIEST)} to {exact_text(LATEST)}, the instants that can be shown"
        )
