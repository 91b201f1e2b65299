"""
One run of clients in one order: it releases one step at a time, and waits until the actor's code has come to its next.

1. Each client has a thread of its own; coroutines are tasks on one loop. Of all clients one runs at a time: the others
   wait at the gate, or for another client outside of it.
2. A client that neither arrives nor ends is blocked after a bound of real time, and the run goes on without it.
3. Nothing waits without a bound: a run ends at its bounds on calls, virtual time and real time.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import groupby
from queue import Empty
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.conduct.evidence import request_of
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import SECOND, Instant, format_exact
from mockserver.core.operations.footprints import Footprint, footprint_of
from mockserver.core.scheduler import next_due
from mockserver.core.state.journal import JournalEntry
from mockserver.core.webhooks.deliveries import due_endpoints
from mockserver.server.api.response import HttpResponse
from mockserver.server.http1 import real_time
from mockserver.testing.explore.in_process import Place, RunInProcess, Sleep
from mockserver.testing.explore.watch import Bounds, Used, Watch
from mockserver.testing.interleave import idle, schedules
from mockserver.testing.interleave.beginnings import Beginning, OtherBeginning, RecordedStep, Recorder
from mockserver.testing.interleave.faults import PlacedFault
from mockserver.testing.interleave.gate import (
    DELIVERING,
    IDLE,
    ActorEnd,
    Answered,
    Gate,
    LoopIdle,
    Mail,
    RecordedAnswers,
    SocketAnswered,
    Waiting,
)
from mockserver.testing.interleave.handles import CountedBackend, handle
from mockserver.testing.interleave.schedules import TIMERS, Ready, Release, Situation, Waits
from mockserver.testing.run_end import RunEnded
from mockserver.testing.transports.in_process import Response

if TYPE_CHECKING:
    from mockserver.server.http1.server import Server
    from mockserver.testing.sandbox import Sandbox

ClientFunction = Callable[["Sandbox"], Any]
Choose = Callable[[Sequence[Release], str | None], str]

_VAIN_READS = 3  # equal reads with equal answers and a sleep between them, after which a client waits for another
_VAIN_READS_WITHOUT_SLEEP = 10
_RUN_S = 60.0  # real time
_POLL_S = 0.001
_KNOWN_BLOCK_S = 0.05  # real time, for a place at which a client was blocked before
_TASK_BLOCKED_S = 0.02  # real time for which a loop has nothing to run
_JOIN_S = 0.5
_PLAIN_WAITS = ("start", "call", "answer", "delivery")
SERIAL_BOUNDS = Bounds(calls=5_000, real=round(_RUN_S * SECOND), row=500, after_final=500)


class ReleasedStep(NamedTuple):
    """
    A step as it happened.

    Attributes:
        actor: Whose step it is.
        waits: What it is.
        label: What it did, such as `startCampaign 202`.
        exchanges: The numbers of the calls in it.
        footprint: What it has read and written; None if it may depend on anything, or anything on it.
        due: The deliveries that fell due in it.
    """

    actor: str
    waits: Waits
    label: str
    exchanges: tuple[int, ...]
    footprint: Footprint | None = None
    due: frozenset[str] = frozenset()


class Decision(NamedTuple):
    """What could be released at one place of a run, the serial choice first, and what was."""

    options: Sequence[Release]
    chosen: Release
    is_free: bool  # no client had run, or the one that ran last has ended

    @property
    def is_serial(self) -> bool:
        """True for the serial choice."""
        return self.chosen.name == self.options[0].name


class Order(NamedTuple):
    """An order of steps, by the names of their actors, and what else could have been released at each place."""

    names: Sequence[str]
    decisions: Sequence[Decision]


class Played(NamedTuple):
    """
    A run after its end.

    Attributes:
        steps: In the order of their release.
        decisions: One for each step.
        raised: The exceptions with which clients ended.
        stuck: Why the run has ended before its clients; None if it has not.
        blocked: Where clients waited outside of calls, such as `cron at locks.py:12`.
        used: What the run took.
        sleep: The longest sleep in real time; None if there was none worth a word.
        is_plain: No client has slept, read in vain or been blocked, and no receiver has called: the order is that of calls alone.
    """

    steps: Sequence[ReleasedStep]
    decisions: Sequence[Decision]
    raised: Mapping[str, BaseException]
    stuck: str | None
    blocked: Sequence[str]
    used: Used
    sleep: Sleep | None
    is_plain: bool = False

    @property
    def order(self) -> Order:
        """The order of its steps."""
        return Order([step.actor for step in self.steps], self.decisions)

    @property
    def cost(self) -> int:
        """The number of preemptions."""
        return sum(decision.chosen.cost for decision in self.decisions)

    @property
    def schedule(self) -> str:
        """The shortest schedule that leads to this order: it ends with the last step that is not the serial one."""
        last = max((place for place, row in enumerate(self.decisions, start=1) if not row.is_serial), default=0)
        return schedules.as_text(step.actor for step in self.steps[:last])


class _Actor:
    """A client, or the deliveries of one endpoint, in one run."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.waiting: list[Waiting] = []
        self.is_begun = self.is_over = self.is_task = False
        self.thread: threading.Thread | None = None
        self.blocked_at: str | None = None
        self.random = random.Random(f"{seed} {name}").getstate()
        self.unanswered = 0  # released requests over sockets
        self.last_read: Any = None
        self.reads = 0
        self.has_slept = False  # between these reads

    @property
    def is_running(self) -> bool:
        return self.is_begun and not self.is_over

    @property
    def reads_in_vain(self) -> bool:
        return self.reads >= (_VAIN_READS if self.has_slept else _VAIN_READS_WITHOUT_SLEEP)

    def next_waiting(self) -> Waiting:
        return self.waiting[0] if len(self.waiting) == 1 else min(self.waiting, key=lambda waiting: waiting.order)


class KnownThreads:
    """What the runs of one search have learned: threads that call for clients, and where clients were blocked."""

    def __init__(self) -> None:
        self.calling: set[threading.Thread] = set()
        self.blocks: set[str] = set()


class InterleavedRun:
    """
    One run.

    Lifetime: from `__init__` until `close`.

    Args:
        sandbox: A fresh one, after the user's setup; its clock is frozen.
        clients: By name.
        seed: The random numbers of the clients follow from it.
        split: Answers are steps.
        blocked_s: Real seconds for which a client outside of calls is waited for.
        bounds: Those of the run.
        places: See `explore.in_process.places_of_sleeps`.
        known: What earlier runs have learned.
        fault: A fault at one call; None for none.
        recorder: Records the beginnings of this run; None to record none.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        clients: Mapping[str, ClientFunction],
        *,
        seed: int,
        split: bool,
        blocked_s: float,
        bounds: Bounds,
        places: Sequence[Place],
        known: KnownThreads,
        fault: PlacedFault | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._sandbox, self._hosted, self._state = sandbox, sandbox._hosted, sandbox._hosted.sandbox
        self._functions, self._seed, self._blocked_s, self._known = clients, seed, blocked_s, known
        self._gate = Gate(split=split)
        self._actors = {name: _Actor(name, seed) for name in clients}
        self._steps: list[ReleasedStep] = []
        self._decisions: list[Decision] = []
        self._raised: dict[str, BaseException] = {}
        self._blocked: list[str] = []
        self._last: str | None = None
        self._last_client: str | None = None
        self._held: frozenset[str] = frozenset()
        self._loop_thread: threading.Thread | None = None
        self._probes = 0
        self._fault = fault
        self._recorder = recorder
        self._backends = [backend for backend in (sandbox._backend,) if isinstance(backend, CountedBackend)]
        self._uses = 0  # of the sandbox's state, through these
        self._answered: Answered | None = None  # of the step that was released last
        self._random_of: _Actor | None = None  # whose random numbers are drawn now
        self._calls = dict.fromkeys(clients, 0)
        self._coroutines: list[Coroutine[Any, Any, Any]] = []
        self._is_plain = True
        self._due: frozenset[str] = frozenset()  # deliveries
        self._servers: dict[str, Server] = {}
        self._own = {threading.current_thread()}
        self._foreign = set(threading.enumerate())
        self._began = real_time.seconds()
        self._hosted.dispatch.is_held = True
        self._watch = Watch(self._hosted, bounds)
        self._in_process = RunInProcess(places, sandbox)

    def play(self, choose: Choose, beginning: Beginning | None = None) -> Played:
        """
        Run the clients to their ends, or to a bound.

        Args:
            beginning: The first steps with the answers of an earlier run.
            choose: Gets the options, of which the first is the serial one, and the actor that has just read in vain, and
                returns the name of one of the options.

        Raises:
            OtherBeginning: The clients differ from those of the earlier run.
        """
        stuck: str | None = None
        self._in_process.start()
        self._uses = sum(backend.uses for backend in self._backends)
        try:
            if beginning is not None:
                self._repeat(beginning)
            while stuck is None:
                situation = self._situation()
                if not situation.ready:
                    waited = [actor for actor in self._actors.values() if actor.is_running]
                    if not waited:
                        break
                    stuck = None if self._await(waited[0]) else self._deadlock(waited)
                    continue
                stuck = self._release(situation, choose)
        finally:
            self._gate.end(stuck or "the run is over")
            self._watch.stop()
            self._in_process.stop()
        return Played(
            self._steps,
            self._decisions,
            {name: failure for name, failure in self._raised.items() if not isinstance(failure, RunEnded)},
            stuck,
            self._blocked,
            self._watch.used(),
            self._in_process.longest(),
            self._is_plain and stuck is None and not self._blocked,
        )

    def close(self) -> None:
        """End the threads of the run; one that does not end is left behind as a daemon."""
        self._gate.end("the run is over")
        self._hosted.host.close(self._hosted.id)
        for actor in self._actors.values():
            if actor.thread is not None:
                actor.thread.join(_JOIN_S)
        loop = self._gate.loop
        if loop is not None and self._loop_thread is not None:
            loop.call_soon_threadsafe(self._stop_loop, loop)
            self._loop_thread.join(_JOIN_S)
        for server in self._servers.values():
            server.stop()
        for coroutine in self._coroutines:  # one that has never begun, or is blocked for ever
            with suppress(RuntimeError, ValueError):
                coroutine.close()

    @property
    def addresses(self) -> list[str]:
        """The addresses of the sandbox, which that of the next run does not have."""
        return [self._hosted.base_url, *(server.url for server in self._servers.values())]

    # What can be released

    def _situation(self) -> Situation:
        self._drain()
        ready = [Ready(actor.name, waits) for actor in self._clients() if (waits := self._waits(actor)) is not None]
        if any(row.waits == "sleep" for row in ready):
            ready = self._without_later_sleeps(ready)
        due = self._due_endpoints()
        for name, endpoint in self._endpoints().items():
            actor = self._actors.get(name)
            if actor is not None and actor.is_running:
                ready += [Ready(name, waits)] if (waits := self._waits(actor)) is not None else []
            elif endpoint in due:
                ready.append(Ready(name, "delivery"))
        if self._timers_may_fire():
            ready.append(Ready(TIMERS, "time"))
        last = self._actors.get(self._last or "")
        return Situation(ready, self._last, self._held, last is not None and last.reads_in_vain)

    def _clients(self) -> Iterator[_Actor]:
        return (self._actors[name] for name in self._functions)

    def _endpoints(self) -> dict[str, str]:
        """Return the ids of the endpoints by the names of their deliveries."""
        webhooks = [webhook for tenant in self._state.tenants.values() for webhook in tenant.webhooks]
        return {schedules.endpoint_name(place): webhook for place, webhook in enumerate(webhooks)}

    def _due_endpoints(self) -> Sequence[str]:
        return () if self._state.outbox.is_idle else due_endpoints(self._state)

    @staticmethod
    def _waits(actor: _Actor) -> Waits | None:
        if not actor.is_begun:
            return "start"
        return actor.next_waiting().waits if actor.waiting else None

    def _sleeps(self) -> dict[str, Instant]:
        """Return the ends of the sleeps by actor."""
        return {
            actor.name: waiting.until
            for actor in self._actors.values()
            if actor.waiting and (waiting := actor.next_waiting()).until is not None
        }

    def _timers_may_fire(self) -> bool:
        """Return True if a client sleeps, and no sleep ends before the next timer is due."""
        sleeps = self._sleeps().values()
        due = next_due(self._state) if sleeps else None
        return due is not None and all(until == IDLE or due <= until for until in sleeps)

    def _without_later_sleeps(self, ready: Sequence[Ready]) -> list[Ready]:
        """Leave out the sleeps that cannot end next: a timer or another sleep is due before."""
        sleeps, due = self._sleeps(), next_due(self._state)
        first = min((until for until in sleeps.values() if until != IDLE), default=None)

        def may_end(name: str) -> bool:
            until = sleeps[name]
            if until == IDLE:
                return due is None and first is None
            return (due is None or due > until) and until == first

        return [row for row in ready if row.waits != "sleep" or may_end(row.name)]

    # Releases

    def _release(self, situation: Situation, choose: Choose) -> str | None:
        """Release one step, and return why the run cannot go on after it."""
        ranked = schedules.options(situation)
        if self._recorder is not None and len(ranked) > 1:
            self._recorder.note(ranked, self._noted)
        name = choose(ranked, situation.last if situation.is_in_vain else None)
        chosen = next(option for option in ranked if option.name == name)
        self._decisions.append(Decision(ranked, chosen, situation.last is None))
        self._held |= schedules.passed_over(situation, name)
        waits = next(ready.waits for ready in situation.ready if ready.name == name)
        journal, label = self._state.journal, ""
        before, transitions = journal.last_exchange, journal.last_transition
        if waits == "time":
            label = self._fire_timers()
        elif waits == "delivery":
            label = self._begin_delivery(name)
        else:
            label = self._continue(name, waits)
        exchanges = self._exchanges_after(before)
        self._steps.append(
            ReleasedStep(
                name,
                waits,
                _label(label, waits, exchanges),
                tuple(each.n for each in exchanges),
                self._footprint(waits, exchanges, transitions),
                self._newly_due(name),
            )
        )
        self._is_plain &= waits in _PLAIN_WAITS and (waits == "delivery" or name in self._functions)
        self._is_plain &= not situation.is_in_vain
        self._note_reads(name, waits, exchanges)
        self._note_last(name, waits)
        self._record(self._steps[-1])
        if self._watch.ended is not None:
            return self._watch.ended
        if real_time.seconds() - self._began > _RUN_S:
            return f"the run took more than {_RUN_S:g} seconds of real time"
        return None

    def _fire_timers(self) -> str:
        due = next_due(self._state)
        assert due is not None, "timers are released only if one is due"
        fired = self._advance(due)
        return ", ".join(dict.fromkeys(row["what"] for row in fired)) or "timers"

    def _advance(self, to: Instant) -> list[Any]:
        """Move the clock, and let everyone that sleeps know what has fired."""
        fired: list[Any] = self._sandbox._backend.run("advanceClock", to=format_exact(to))["fired"]
        for actor in self._actors.values():
            for waiting in actor.waiting:
                if waiting.until is not None:
                    waiting.fired += fired
        return fired

    def _begin_delivery(self, name: str) -> str:
        endpoint = self._endpoints()[name]
        planned = self._hosted.dispatch.claim_next(to=endpoint)
        self._held -= {name}
        if planned is None:  # a rule has postponed it
            return "postponed"
        actor = self._actors.setdefault(name, _Actor(name, self._seed))
        actor.is_begun, actor.is_over = True, False
        self._draw_for(actor)
        send = partial(self._hosted.dispatch.send_attempt, planned)
        self._start_thread(actor, lambda: _delivering(name, send))
        self._settle(actor)
        return planned.delivery.event.kind

    def _continue(self, name: str, waits: Waits) -> str:
        actor = self._actors[name]
        self._answered = None
        if waits == "start":
            self._start_client(actor)
            self._settle(actor)
            return "start"
        waiting = actor.next_waiting()
        if waits == "sleep" and waiting.until is not None and waiting.until != IDLE:
            self._advance(waiting.until)
        if name in self._calls and waiting.is_api_call:
            self._calls[name] += 1
            if self._fault is not None and (self._fault.client, self._fault.call) == (name, self._calls[name]):
                self._sandbox.apply(script=[self._fault.rule])
        actor.waiting.remove(waiting)
        actor.unanswered += waiting.thread is None and waits != "answer"
        self._draw_for(actor)
        self._gate.release(waiting)
        self._settle(actor)
        self._answered = waiting.answered
        return waiting.label

    def _draw_for(self, actor: _Actor) -> None:
        """Let the random numbers that are drawn from here on be those of an actor."""
        if self._random_of is not actor:
            if self._random_of is not None:
                self._random_of.random = random.getstate()
            random.setstate(actor.random)
            self._random_of = actor

    def _start_client(self, actor: _Actor) -> None:
        actor.is_begun = True
        function = self._functions[actor.name]
        client = handle(self._hosted, self._sandbox.settings, self._gate, actor.name, self._port)
        if isinstance(client._backend, CountedBackend):
            self._backends.append(client._backend)
        self._draw_for(actor)
        if inspect.iscoroutinefunction(function):
            self._start_task(actor, lambda: function(client))
            return

        def body() -> None:
            result = function(client)
            if inspect.iscoroutine(result):
                self._coroutines.append(result)
                self._start_task(actor, lambda: result)
                raise _IsTask

        self._start_thread(actor, body)

    def _start_thread(self, actor: _Actor, body: Callable[[], Any]) -> None:
        mail = self._gate.mail

        def run() -> None:
            raised: BaseException | None = None
            try:
                body()
            except _IsTask:
                return
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            mail.put(ActorEnd(actor.name, raised))

        actor.thread = threading.Thread(target=run, name=f"interleave {actor.name}", daemon=True)
        self._own.add(actor.thread)
        actor.thread.start()

    def _start_task(self, actor: _Actor, make: Callable[[], Any]) -> None:
        loop, mail = self._client_loop(), self._gate.mail
        actor.is_task = True

        async def run() -> None:
            raised: BaseException | None = None
            try:
                await make()
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            mail.put(ActorEnd(actor.name, raised))

        loop.call_soon_threadsafe(lambda: self._tasks.append(loop.create_task(run())))
        mail.put(LoopIdle(0, {}))

    def _client_loop(self) -> asyncio.AbstractEventLoop:
        if self._gate.loop is None:
            loop = self._gate.loop = asyncio.new_event_loop()
            loop.time = real_time.seconds  # type: ignore[method-assign]  # a frozen clock would stop its timers
            self._tasks: list[asyncio.Task[None]] = []
            self._loop_thread = threading.Thread(target=self._serve, args=(loop,), name="interleave loop", daemon=True)
            self._own.add(self._loop_thread)
            self._loop_thread.start()
        return self._gate.loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    def _stop_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        for task in self._tasks:
            task.cancel()
        loop.call_soon(loop.call_soon, loop.stop)  # after the tasks have seen it

    def _port(self, name: str) -> str:
        from mockserver.testing.interleave.sockets import gated_server

        if name not in self._servers:
            self._servers[name] = gated_server(self._hosted, self._gate, name)
            self._servers[name].start()
        return self._servers[name].url

    # Waiting for an actor's code

    def _settle(self, actor: _Actor) -> None:
        """Wait until the actor waits at the gate, has ended, or is blocked."""
        if not self._await(actor):
            place = idle.place_of(actor.thread) if actor.thread is not None and not actor.is_task else ""
            actor.blocked_at = place
            self._known.blocks.add(place)
            text = f"{actor.name} at {place}" if place else actor.name
            if text not in self._blocked:
                self._blocked.append(text)

    def _await(self, actor: _Actor) -> bool:
        """
        Return True once the actor has come to its next step or its end, False if it is blocked.

        Real time counts by the waits of this thread: if a busy machine lets the whole process wait, no client is blocked.
        """
        waited = idle_for = 0.0  # of a task, how long its loop has had nothing to run
        is_sent = False
        probed: Mapping[str, int] | None = None
        while not self._has_settled(actor, probed):
            if probed is not None and not self._seems_blocked(actor, probed):
                idle_for = 0.0
            if idle_for > _TASK_BLOCKED_S or waited > self._patience(actor):
                return False
            if actor.is_task and not is_sent:
                is_sent = True
                self._probes += 1
                self._probe(self._probes)
            timeout = self._mail_timeout(actor)
            began, probed = real_time.seconds(), None
            try:
                item = self._gate.mail.get(timeout=timeout)
            except Empty:
                waited += timeout
                continue
            waited += min(real_time.seconds() - began, timeout)
            if isinstance(item, LoopIdle) and is_sent and item.number == self._probes:
                probed, is_sent = item.in_flight, False
            self._take(item)
            if probed is not None and not self._has_settled(actor, probed):
                idle.pause(_POLL_S)
                waited, idle_for = waited + _POLL_S, idle_for + _POLL_S
        actor.blocked_at = None
        return True

    def _mail_timeout(self, actor: _Actor) -> float:
        """Return how long to wait for a message: briefly if the actor may come to rest without sending one."""
        return _POLL_S if actor.is_task or actor.waiting else min(self._blocked_s, _KNOWN_BLOCK_S)

    def _patience(self, actor: _Actor) -> float:
        thread = actor.thread
        if thread is None or actor.is_task:
            return self._blocked_s
        if idle.sleeps(thread):
            return _RUN_S
        is_known = bool(self._known.blocks) and idle.place_of(thread) in self._known.blocks
        return min(_KNOWN_BLOCK_S, self._blocked_s) if is_known else self._blocked_s

    def _probe(self, number: int) -> None:
        """Have the loop send this number once it has nothing to run."""
        loop, mail = self._gate.loop, self._gate.mail
        assert loop is not None, "a task has a loop"

        def look() -> None:
            if len(getattr(loop, "_ready", ())) == 0:
                mail.put(LoopIdle(number, dict(self._gate.in_flight)))
            elif number == self._probes:  # else two probes would wait for each other
                loop.call_soon(look)

        loop.call_soon_threadsafe(look)

    def _has_settled(self, actor: _Actor, probed: Mapping[str, int] | None) -> bool:
        if actor.is_over:
            return True
        if not actor.waiting or actor.unanswered or (actor.is_task and probed is None):
            return False
        in_flight = self._gate.in_flight if probed is None else probed
        return in_flight.get(actor.name, 0) <= len(actor.waiting) and self._have_stopped(actor)

    def _seems_blocked(self, actor: _Actor, probed: Mapping[str, int]) -> bool:
        """Return True for a task that waits for another one: its loop has nothing to run, and nothing is on its way."""
        if not actor.is_task or actor.waiting or actor.unanswered:
            return False
        on_the_way = sum(probed.values()) > sum(len(each.waiting) for each in self._actors.values())
        return not on_the_way and idle.has_no_events(self._gate.loop) and self._have_stopped(actor)

    def _have_stopped(self, actor: _Actor) -> bool:
        """Return True if all threads of the clients wait: at the gate, for an answer that waits there, or for one another."""
        waiting = {each.thread for one in self._actors.values() for each in one.waiting}
        if threading.active_count() == len(self._own) and len(actor.waiting) == 1 and actor.thread is not None:
            is_alone = actor.thread in waiting or None in waiting
            if is_alone or actor.is_task:
                return True
        over_sockets = sum(each.thread is None for each in actor.waiting)
        others = self._threads_elsewhere(actor, waiting, over_sockets)
        receiving = sum(map(idle.is_receiving, others))
        return receiving <= over_sockets and all(idle.is_idle(each) or idle.is_receiving(each) for each in others)

    def _threads_elsewhere(
        self, actor: _Actor, waiting: AbstractSet[threading.Thread | None], over_sockets: int
    ) -> list[threading.Thread]:
        """Return the threads of clients that do not wait at the gate: those that they may have started, and the actor's own."""
        others = [
            thread
            for thread in threading.enumerate()
            if thread not in self._own
            and not thread.name.startswith("mockserver")
            and thread not in waiting
            and (thread not in self._foreign or thread in self._known.calling)
        ]
        own = actor.thread
        if own is not None and not actor.is_task and own not in waiting and not (over_sockets and not others):
            others.append(own)
        return others

    def _drain(self) -> None:
        """Take what has arrived meanwhile, of actors that were blocked too."""
        for actor in list(self._actors.values()):
            if actor.blocked_at is not None and actor.is_running and not actor.waiting:
                self._await(actor)
        while not self._gate.mail.empty():
            self._take(self._gate.mail.get())

    def _take(self, item: Mail) -> None:
        if isinstance(item, Waiting):
            actor = self._actors[item.actor]
            actor.waiting.append(item)
            if item.thread is not None and item.thread is not actor.thread:
                self._known.calling.add(item.thread)
        elif isinstance(item, SocketAnswered):
            self._actors[item.actor].unanswered -= 1
        elif isinstance(item, ActorEnd):
            actor = self._actors[item.actor]
            actor.is_over = True
            if actor.thread is not None and not actor.is_task:  # it has nothing left to do
                actor.thread.join(_JOIN_S)
                self._own.discard(actor.thread)
            is_in_order = isinstance(item.raised, SystemExit) and not item.raised.code
            if item.raised is not None and not is_in_order:
                self._raised[item.actor] = item.raised

    # Beginnings that other runs have too

    def _record(self, step: ReleasedStep) -> None:
        """Record a step that another run can repeat; after any other no further one is."""
        if self._recorder is None:
            return
        if self._recorder.is_open and self._is_repeatable(step):
            self._recorder.add(RecordedStep(step, self._decisions[-1], self._answered))
        else:
            self._recorder = None

    def _is_repeatable(self, step: ReleasedStep) -> bool:
        """Return True if a step was a start or one call in process by the client's own thread, and nothing else."""
        uses, actor = sum(backend.uses for backend in self._backends), self._actors.get(step.actor)
        was_used, self._uses = uses != self._uses, uses
        if was_used or actor is None or actor.is_task or self._blocked or len(step.exchanges) != (step.waits == "call"):
            return False
        if step.waits != "start" and (step.waits != "call" or self._answered is None):
            return False
        is_alone = actor.is_over or [each.thread for each in actor.waiting] == [actor.thread]
        if not is_alone or (
            threading.active_count() > len(self._own) and self._threads_elsewhere(actor, {actor.thread}, 0)
        ):
            return False
        assert self._recorder is not None, "steps of other runs are not recorded"
        return self._recorder.is_repeatable() and (self._answered is None or not self._is_own(self._answered))

    def _is_own(self, answered: Answered) -> bool:
        """Return True if an answer is broken, or it or its call has an address of this run's sandbox, which no other has."""
        if not isinstance(answered.answer, Response | HttpResponse) or getattr(answered.answer, "transmission", None):
            return True
        names = self._hosted.id, *(server.url.rpartition("/")[2] for server in self._servers.values())
        headers = f"{answered.request[2]} {answered.answer.headers}"
        bodies = answered.request[3], answered.answer.body
        return any(name in headers or any(name.encode() in body for body in bodies) for name in names)

    def _noted(self) -> Any:
        reads = {name: (each.last_read, each.reads, each.has_slept) for name, each in self._actors.items()}
        over = {name for name, each in self._actors.items() if each.is_over}
        notes = self._last, self._last_client, self._held, self._due, self._is_plain
        return over, reads, notes, dict(self._calls), self._watch.counts()

    def _repeat(self, beginning: Beginning) -> None:
        """Run the clients through a beginning with the answers of the earlier run, and leave the sandbox as that did."""
        for name, rows in groupby(beginning.steps, key=lambda row: row.step.actor):
            recorded, actor = list(rows), self._actors[name]
            answers = RecordedAnswers(name, [row.answered for row in recorded if row.answered is not None])
            self._gate.answers = answers
            if recorded[0].step.waits == "start":
                self._start_client(actor)
            elif len(actor.waiting) == 1:
                self._draw_for(actor)
                self._gate.release(actor.waiting.pop())
            else:
                raise OtherBeginning
            self._settle(actor)
            if answers or answers.differ or self._blocked:
                raise OtherBeginning
        self._gate.answers = None
        over, reads, notes, self._calls, counts = beginning.moment.run
        uses = sum(backend.uses for backend in self._backends)
        if uses != self._uses or over != {name for name, each in self._actors.items() if each.is_over}:
            raise OtherBeginning
        with self._state.lock:
            beginning.moment.restore(self._state)
        self._watch.resume(counts)
        self._steps = [row.step for row in beginning.steps]
        self._decisions = [row.decision for row in beginning.steps]
        self._last, self._last_client, self._held, self._due, self._is_plain = notes
        self._calls = dict(self._calls)
        for name, (last_read, count, has_slept) in reads.items():
            actor = self._actors[name]
            actor.last_read, actor.reads, actor.has_slept = last_read, count, has_slept
        if self._recorder is not None:
            for row in beginning.steps:
                self._recorder.add(row)

    # Notes for the next choice

    def _footprint(self, waits: Waits, exchanges: Sequence[JournalEntry], transitions: int) -> Footprint | None:
        if waits in ("start", "answer"):
            return Footprint()
        if waits != "call" or len(exchanges) != 1:
            return None
        count = self._state.journal.last_transition - transitions
        rows = self._state.journal.transitions
        changed = [rows[place] for place in range(-min(count, len(rows)), 0)]
        return footprint_of(self._state, exchanges[0], changed)

    def _newly_due(self, name: str) -> frozenset[str]:
        before, ids = self._due - {name}, self._due_endpoints()
        self._due = (
            frozenset(each for each, endpoint in self._endpoints().items() if endpoint in ids) if ids else frozenset()
        )
        return self._due - before

    def _exchanges_after(self, number: int) -> list[JournalEntry]:
        journal = self._state.journal
        count = journal.last_exchange - number
        return (
            [] if count <= 0 else [journal.exchanges[place] for place in range(-min(count, len(journal.exchanges)), 0)]
        )

    def _note_reads(self, name: str, waits: Waits, exchanges: Sequence[JournalEntry]) -> None:
        """Count reads in vain: equal ones of one client with equal answers, while no other actor has had a step."""
        for actor in self._actors.values():
            if actor.name != name:
                actor.reads, actor.last_read, actor.has_slept = 0, None, False
        reader = self._actors.get(name)
        if reader is None or waits != "call":
            if reader is not None:
                reader.has_slept |= waits == "sleep"
            return
        for exchange in exchanges:
            is_read = exchange.operation is not None and ENDPOINTS[exchange.operation].method == "GET"
            read = (request_of(exchange), exchange.status, exchange.answer) if is_read else None
            is_again = read is not None and read == reader.last_read
            reader.reads = reader.reads + 1 if is_again else 1 if is_read else 0
            reader.last_read, reader.has_slept = read, reader.has_slept and is_again

    def _note_last(self, name: str, waits: Waits) -> None:
        if waits == "time":
            return
        actor = self._actors.get(name)
        if name in self._functions:
            self._last_client = None if actor is None or actor.is_over else name
            self._last = self._last_client
        else:
            self._last = name if actor is not None and actor.is_running else self._last_client

    def _deadlock(self, waited: Sequence[_Actor]) -> str:
        where = ", ".join(f"{each.name} at {each.blocked_at}" if each.blocked_at else each.name for each in waited)
        return f"no step can be released, and {where} has not ended"


class _IsTask(BaseException):
    """The function of a client has returned a coroutine, which is a task from then on."""


def _delivering(name: str, send: Callable[[], None]) -> None:
    DELIVERING.set(name)
    send()


def _label(label: str, waits: Waits, exchanges: Sequence[JournalEntry]) -> str:
    calls = [f"{each.operation or each.call.method} {each.status or 'no answer'}" for each in exchanges]
    if waits == "call" and calls:
        return ", ".join(calls)
    return label or waits
