"""
One run of clients in one order: it releases one step at a time, and waits until the actor's code has come to its next.

1. Each client has a thread of its own; coroutines are tasks on one loop. Of all clients one runs at a time: the others
   wait at the gate, or for another client outside of it.
2. A client that neither arrives nor ends is blocked after a bound of real time, and the run goes on without it.
3. Nothing waits without a bound: a run ends at its bounds on calls, virtual time and real time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mockserver.core.instants import SECOND, Instant, format_exact
from mockserver.core.scheduler import next_due
from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.bounds import Bounds
from mockserver.testing.runs.investigation import ControlledRun
from mockserver.testing.runs.orders.actors import Actor, KnownThreads, ReadySteps
from mockserver.testing.runs.orders.course import Choose, Course
from mockserver.testing.runs.orders.gate import Gate
from mockserver.testing.runs.orders.handles import handle
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.played import Played
from mockserver.testing.runs.orders.recording import StepRecorder
from mockserver.testing.runs.orders.schedules import Ready, Waits
from mockserver.testing.runs.orders.settling import RUN_S, Settling
from mockserver.testing.runs.orders.threads import ActorThreads

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

ClientFunction = Callable[["Sandbox"], Any]

SERIAL_BOUNDS: Final = Bounds(calls=5_000, real=round(RUN_S * SECOND), row=500, after_final=500)


class InterleavedRun:
    """
    One run.

    Lifetime: from `__init__` until `close`.

    Args:
        sandbox: A fresh one, after the user's setup; its clock is frozen.
        clients: By name.
        options: Of the search.
        bounds: Those of the run.
        known: What earlier runs have learned.
        fault: A fault at one call; None for none.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        clients: Mapping[str, ClientFunction],
        options: InterleaveOptions,
        *,
        bounds: Bounds,
        known: KnownThreads,
        fault: PlacedFault | None = None,
    ) -> None:
        self._gate = Gate()
        self._controlled = ControlledRun(sandbox, bounds)
        self._sandbox, self._hosted = sandbox, self._controlled.hosted
        self._hosted.dispatch.is_held = True
        self._functions, self._fault = clients, fault
        self._actors = {name: Actor(name) for name in clients}
        self._threads = ActorThreads(self._hosted, self._gate)
        self._settling = Settling(
            self._actors,
            clients,
            gate=self._gate,
            threads=self._threads,
            known=known,
            blocked_s=options.blocked_seconds,
        )
        self._ready = ReadySteps(self._hosted.sandbox, self._actors, tuple(clients))
        self._recorder = StepRecorder(self._hosted.sandbox, self._gate)
        self._course = Course(clients=clients)
        self._random_of: Actor | None = None  # whose random numbers are drawn now
        self._is_plain = True
        self._calls: Counter[tuple[str, str]] = Counter()
        self._began_at = self._hosted.sandbox.now

    def play(self, choose: Choose) -> Played:
        """Run the clients to their ends, or to a bound."""
        stuck: str | None = None
        try:
            while stuck is None:
                self._settling.take_all()
                ready = self._ready.rows()
                if ready:
                    stuck = self._release(ready, choose)
                    continue
                waited = [actor for actor in self._actors.values() if actor.is_running]
                if not waited:
                    break
                stuck = None if self._settling.has_arrived(waited[0]) else _deadlock(waited)
        finally:
            self._gate.end(stuck or "the run is over")
            self._controlled.stop()
        raised = self._settling.raised
        return Played(
            steps=self._recorder.steps,
            decisions=self._course.decisions,
            raised={name: failure for name, failure in raised.items() if not isinstance(failure, RunEnded)},
            stuck=stuck,
            blocked=self._settling.blocked,
            used=self._controlled.watch.used(),
            sleep=self._controlled.longest_sleep,
            is_plain=self._is_plain and stuck is None and not self._settling.blocked,
            began=self._began_at,
            timers=self._recorder.timers,
            calls=self._calls,
        )

    def close(self) -> None:
        """End the threads of the run."""
        self._gate.end("the run is over")
        self._hosted.host.close(self._hosted.id)
        self._threads.close(self._actors.values())

    def _release(self, ready: Sequence[Ready], choose: Choose) -> str | None:
        """Release one step, and return why the run cannot go on after it."""
        name = self._course.release(ready, choose)
        assert name is not None, "a step is chosen that is ready"
        self._is_plain &= all(row.waits != "delivery" for row in ready)
        waits = next(row.waits for row in ready if row.name == name)
        self._recorder.begin()
        label = self._let_happen(name, waits)
        step = self._recorder.add(name, waits, label)
        actor = self._actors.get(name)
        self._course.note(name, waits, step.reads, goes_on=actor is not None and actor.is_running)
        return self._controlled.watch.ended

    def _let_happen(self, name: str, waits: Waits) -> str:
        """Let an actor have its step, and return what it did if the journal does not show it."""
        if waits == "time":
            due = next_due(self._hosted.sandbox)
            assert due is not None, "timers are released only if one is due"
            return ", ".join(dict.fromkeys(row["what"] for row in self._advance(due))) or "timers"
        if waits == "delivery":
            return self._begin_delivery(name)
        actor = self._actors[name]
        self._draw_for(actor)
        label = self._start(actor) if waits == "start" else self._resume(actor, waits)
        self._settling.settle(actor)
        return label

    def _start(self, actor: Actor) -> str:
        actor.is_begun = True
        client = handle(self._hosted, self._sandbox.settings, self._gate, actor.name, self._threads.port)
        self._threads.start(actor, partial(self._functions[actor.name], client))
        return "start"

    def _resume(self, actor: Actor, waits: Waits) -> str:
        """Release the step that an actor waits with, and return its label."""
        waiting = actor.next_waiting()
        self._count(actor.name, waiting.operation)
        if waiting.until is not None:
            now = self._hosted.sandbox.now
            self._is_plain &= waiting.is_relative and len(actor.waiting) == 1 and waiting.until >= now
            self._advance(max(waiting.until, now))
        actor.waiting.remove(waiting)
        actor.unanswered += waiting.thread is None
        self._gate.release(waiting)
        return waiting.label

    def _count(self, name: str, operation: str | None) -> None:
        """Count a call of a client, and let it have the fault if that is its place."""
        if operation is None or name not in self._functions:
            return
        self._calls[name, operation] += 1
        fault = self._fault
        if fault is not None and (fault.client, fault.operation, fault.nth) == (
            name,
            operation,
            self._calls[name, operation],
        ):
            self._sandbox.apply(script=[fault.rule])

    def _begin_delivery(self, name: str) -> str:
        dispatch = self._hosted.dispatch
        planned = dispatch.claim_next(to=self._ready.endpoints()[name])
        if planned is None:  # a rule has postponed it
            return "postponed"
        actor = self._actors.setdefault(name, Actor(name))
        actor.is_begun, actor.is_over = True, False
        self._draw_for(actor)
        self._threads.start_delivery(actor, partial(dispatch.send_attempt, planned))
        self._settling.settle(actor)
        return planned.delivery.event.kind

    def _advance(self, to: Instant) -> list[Any]:
        """Move the clock, and let everyone that sleeps know what has fired."""
        fired = self._sandbox.advance(to=format_exact(to))
        for actor in self._actors.values():
            for waiting in actor.waiting:
                if waiting.until is not None:
                    waiting.fired += fired
        return fired

    def _draw_for(self, actor: Actor) -> None:
        """Let the random numbers that are drawn from here on be those of an actor."""
        if self._random_of is not actor:
            if self._random_of is not None:
                self._random_of.random = random.getstate()
            random.setstate(actor.random)
            self._random_of = actor


def _deadlock(waited: Sequence[Actor]) -> str:
    where = ", ".join(f"{actor.name} at {actor.blocked_at}" if actor.blocked_at else actor.name for actor in waited)
    return f"no step can be released, and {where} has not ended"
