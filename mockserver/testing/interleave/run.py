"""
One run of clients in one order: it releases one step at a time, and waits until the actor's code has come to its next.

1. Each client has a thread of its own; coroutines are tasks on one loop. Of all clients one runs at a time: the others
   wait at the gate, or for another client outside of it.
2. A client that neither arrives nor ends is blocked after a bound of real time, and the run goes on without it.
3. Nothing waits without a bound: a run ends at its bounds on calls, virtual time and real time.
"""

from __future__ import annotations

import inspect
import random
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import groupby
from queue import Empty
from typing import TYPE_CHECKING, Any

from mockserver.conduct.evidence import request_of
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import SECOND, Instant, format_exact
from mockserver.core.operations.footprints import Footprint, footprint_of
from mockserver.core.scheduler import next_due
from mockserver.core.state.journal import JournalEntry
from mockserver.core.webhooks.deliveries import due_endpoints
from mockserver.server.api.response import HttpResponse
from mockserver.server.http1 import real_time
from mockserver.testing.explore.in_process import Place, RunInProcess
from mockserver.testing.explore.watch import Bounds, Watch
from mockserver.testing.interleave import idle, schedules
from mockserver.testing.interleave.actors import Actor, KnownThreads, ReleasedNow
from mockserver.testing.interleave.beginnings import Beginning, OtherBeginning, RecordedStep, Recorder
from mockserver.testing.interleave.client_loop import ClientLoop
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
from mockserver.testing.interleave.played import Decision, Played, ReleasedStep
from mockserver.testing.interleave.schedules import TIMERS, Ready, Release, Situation, Waits
from mockserver.testing.run_end import RunEnded
from mockserver.testing.transports.in_process import Response

if TYPE_CHECKING:
    from mockserver.server.http1.server import Server
    from mockserver.testing.sandbox import Sandbox

ClientFunction = Callable[["Sandbox"], Any]
Choose = Callable[[Sequence[Release], str | None], str]

_RUN_S = 60.0  # real time
_POLL_S = 0.001
_KNOWN_BLOCK_S = 0.05  # real time, for a place at which a client was blocked before
_TASK_BLOCKED_S = 0.02  # real time for which a loop has nothing to run
_JOIN_S = 0.5
_PLAIN_WAITS = ("start", "call", "answer", "delivery")
SERIAL_BOUNDS = Bounds(calls=5_000, real=round(_RUN_S * SECOND), row=500, after_final=500)


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
        self._gate = Gate(split=split, continues=self._continues)
        self._actors = {name: Actor(name, seed) for name in clients}
        self._steps: list[ReleasedStep] = []
        self._decisions: list[Decision] = []
        self._raised: dict[str, BaseException] = {}
        self._blocked: list[str] = []
        self._last: str | None = None
        self._last_client: str | None = None
        self._held: frozenset[str] = frozenset()
        self._loop: ClientLoop | None = None
        self._fault = fault
        self._recorder = recorder
        self._backends = [backend for backend in (sandbox._backend,) if isinstance(backend, CountedBackend)]
        self._uses = 0  # of the sandbox's state, through these
        self._baton = threading.Lock()  # of the thread that releases steps
        self._alone: Actor | None = None  # the client that may release its next steps itself
        self._step, self._is_stepping = ReleasedNow("", "time", 0, 0, False), False
        self._stuck: str | None = None
        self._serial_from: int | None = None
        self._random_of: Actor | None = None  # whose random numbers are drawn now
        self._calls = dict.fromkeys(clients, 0)
        self._coroutines: list[Coroutine[Any, Any, Any]] = []
        self._is_plain = True
        self._due: frozenset[str] = frozenset()  # deliveries
        self._servers: dict[str, Server] = {}
        self._own = {threading.current_thread(), *_server_threads()}
        self._foreign = set(threading.enumerate())
        self._began = real_time.seconds()
        self._hosted.dispatch.is_held = True
        self._watch = Watch(self._hosted, bounds)
        self._in_process = RunInProcess(places, sandbox)

    def play(self, choose: Choose, beginning: Beginning | None = None, *, serial_from: int | None = None) -> Played:
        """
        Run the clients to their ends, or to a bound.

        Args:
            beginning: The first steps with the answers of an earlier run.
            serial_from: The number of steps after which `choose` returns the serial one and does nothing else; None if unknown.
            choose: Gets the options, of which the first is the serial one, and the actor that has just read in vain, and
                returns the name of one of the options.

        Raises:
            OtherBeginning: The clients differ from those of the earlier run.
        """
        stuck: str | None = None
        self._serial_from = None if self._fault is not None else serial_from
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
            dict(self._calls),
        )

    def close(self) -> None:
        """End the threads of the run; one that does not end is left behind as a daemon."""
        self._gate.end("the run is over")
        self._hosted.host.close(self._hosted.id)
        for actor in self._actors.values():
            if actor.thread is not None:
                actor.thread.join(_JOIN_S)
        if self._loop is not None:
            self._loop.close(_JOIN_S)
        for server in self._servers.values():
            server.stop()
        for coroutine in self._coroutines:  # one that has never begun, or is blocked for ever
            with suppress(RuntimeError, ValueError):
                coroutine.close()

    @property
    def addresses(self) -> list[str]:
        """The addresses of the sandbox, which that of the next run does not have."""
        return [self._hosted.base_url, self._hosted.in_process_url, *(server.url for server in self._servers.values())]

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

    def _clients(self) -> Iterator[Actor]:
        return (self._actors[name] for name in self._functions)

    def _endpoints(self) -> dict[str, str]:
        """Return the ids of the endpoints by the names of their deliveries."""
        webhooks = [webhook for tenant in self._state.tenants.values() for webhook in tenant.webhooks]
        return {schedules.endpoint_name(place): webhook for place, webhook in enumerate(webhooks)}

    def _due_endpoints(self) -> Sequence[str]:
        return () if self._state.outbox.is_idle else due_endpoints(self._state)

    @staticmethod
    def _waits(actor: Actor) -> Waits | None:
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
        self._note_branches(ranked)
        name = choose(ranked, situation.last if situation.is_in_vain else None)
        self._begin_step(situation, ranked, name)
        waits = self._step.waits
        if waits == "time":
            self._step.label = self._fire_timers()
        elif waits == "delivery":
            self._step.label = self._begin_delivery(name)
        else:
            self._continue(name, waits)
        return self._end_step() if self._is_stepping else self._stuck

    def _begin_step(self, situation: Situation, ranked: Sequence[Release], name: str) -> None:
        """Note what there is before a step that is released now."""
        chosen = next(option for option in ranked if option.name == name)
        self._decisions.append(Decision(ranked, chosen, situation.last is None))
        if len(ranked) > 1 or self._held:
            self._held |= schedules.passed_over(situation, name)
        waits = next(ready.waits for ready in situation.ready if ready.name == name)
        journal = self._state.journal
        self._step = ReleasedNow(name, waits, journal.last_exchange, journal.last_transition, situation.is_in_vain)
        self._is_stepping = True

    def _end_step(self) -> str | None:
        """Note what a step has done, and return why the run cannot go on after it."""
        step, self._is_stepping = self._step, False
        name, waits = step.actor, step.waits
        exchanges = self._exchanges_after(step.exchange)
        released = ReleasedStep(
            name,
            waits,
            _label(step.label, waits, exchanges),
            tuple(each.n for each in exchanges),
            self._footprint(waits, exchanges, step.transition),
            self._newly_due(name),
        )
        self._steps.append(released)
        self._is_plain &= waits in _PLAIN_WAITS and (waits == "delivery" or name in self._functions)
        self._is_plain &= not step.is_in_vain
        self._note_reads(name, waits, exchanges)
        self._note_last(name, waits)
        self._record(released)
        if self._watch.ended is not None:
            return self._watch.ended
        if real_time.seconds() - self._began > _RUN_S:
            return f"the run took more than {_RUN_S:g} seconds of real time"
        return None

    def _continues(self, waiting: Waiting) -> bool:
        """
        Return True if a client that has come to its next call may make it at once, as the serial choice.

        Its own thread then ends its step and begins the next one: two changes of threads take longer than a call.
        """
        with self._baton:
            actor = self._alone
            if actor is None or not self._is_next_of(actor, waiting):
                return False
            self._stuck = self._end_step()
            actor.waiting.append(waiting)
            if self._stuck is None:
                situation = self._situation()
                ranked = schedules.options(situation)
                if ranked[0].name == actor.name:
                    self._note_branches(ranked)
                    self._begin_step(situation, ranked, actor.name)
                    self._take_call(actor, waiting)
                    return True
            actor.waiting.remove(waiting)
            self._alone = None
            return False

    def _is_next_of(self, actor: Actor, waiting: Waiting) -> bool:
        """Return True if this call is all that the code of clients has come to: nothing else runs, and nothing has arrived."""
        return (
            waiting.actor == actor.name
            and waiting.waits == "call"
            and waiting.thread is actor.thread
            and not actor.waiting
            and self._gate.mail.empty()
            and not self._gate.in_flight
            and threading.active_count() == len(self._own)
            and all(each.blocked_at is None for each in self._actors.values())
        )

    def _note_branches(self, ranked: Sequence[Release]) -> None:
        if self._recorder is not None and len(ranked) > 1:
            self._recorder.note(ranked, self._noted)

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
        actor = self._actors.setdefault(name, Actor(name, self._seed))
        actor.is_begun, actor.is_over = True, False
        self._draw_for(actor)
        send = partial(self._hosted.dispatch.send_attempt, planned)
        self._start_thread(actor, lambda: _delivering(name, send))
        self._settle(actor)
        return planned.delivery.event.kind

    def _continue(self, name: str, waits: Waits) -> None:
        actor = self._actors[name]
        if self._serial_from is not None and len(self._decisions) > self._serial_from and not actor.is_task:
            self._alone = actor
        if waits == "start":
            self._step.label = "start"
            self._start_client(actor)
        else:
            waiting = actor.next_waiting()
            if waits == "sleep" and waiting.until is not None and waiting.until != IDLE:
                self._advance(waiting.until)
            self._take_call(actor, waiting)
            actor.unanswered += waiting.thread is None and waits != "answer"
            self._draw_for(actor)
            self._gate.release(waiting)
        self._settle(actor)
        self._alone = None

    def _take_call(self, actor: Actor, waiting: Waiting) -> None:
        """Take the step that an actor waits with, which is released now; a fault that is to be at its call is set."""
        name = actor.name
        if name in self._calls and waiting.is_api_call:
            self._calls[name] += 1
            if self._fault is not None and (self._fault.client, self._fault.call) == (name, self._calls[name]):
                self._sandbox.apply(script=[self._fault.rule])
        actor.waiting.remove(waiting)
        self._step.label, self._step.waiting = waiting.label, waiting

    def _draw_for(self, actor: Actor) -> None:
        """Let the random numbers that are drawn from here on be those of an actor."""
        if self._random_of is not actor:
            if self._random_of is not None:
                self._random_of.random = random.getstate()
            random.setstate(actor.random)
            self._random_of = actor

    def _start_client(self, actor: Actor) -> None:
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

    def _start_thread(self, actor: Actor, body: Callable[[], Any]) -> None:
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

    def _start_task(self, actor: Actor, make: Callable[[], Any]) -> None:
        actor.is_task = True
        if self._loop is None:
            self._loop = ClientLoop(self._gate)
            self._own.add(self._loop.thread)
        self._loop.start_task(actor.name, make)

    def _port(self, name: str) -> str:
        from mockserver.testing.interleave.sockets import gated_server

        if name not in self._servers:
            self._servers[name] = gated_server(self._hosted, self._gate, name)
            self._servers[name].start()
            self._own.update(_server_threads())
        return self._servers[name].url

    # Waiting for an actor's code

    def _settle(self, actor: Actor) -> None:
        """Wait until the actor waits at the gate, has ended, or is blocked."""
        if not self._await(actor):
            place = idle.place_of(actor.thread) if actor.thread is not None and not actor.is_task else ""
            actor.blocked_at = place
            self._known.blocks.add(place)
            text = f"{actor.name} at {place}" if place else actor.name
            if text not in self._blocked:
                self._blocked.append(text)

    def _await(self, actor: Actor) -> bool:
        """
        Return True once the actor has come to its next step or its end, False if it is blocked.

        Real time counts by the waits of this thread: if a busy machine lets the whole process wait, no client is blocked.
        """
        waited = idle_for = 0.0  # of a task, how long its loop has had nothing to run
        probe = 0  # the number of the one that was sent, until it has arrived
        probed: Mapping[str, int] | None = None
        steps = len(self._steps)
        while not self._has_settled(actor, probed):
            if len(self._steps) != steps:  # of a client that releases its own
                steps, waited = len(self._steps), 0.0
            if self._is_busy(actor, probed):
                idle_for = 0.0
            if idle_for > _TASK_BLOCKED_S or waited > self._patience(actor):
                return False
            if actor.is_task and not probe and self._loop is not None:
                probe = self._loop.probe()
            timeout = self._mail_timeout(actor)
            began, probed = real_time.seconds(), None
            try:
                item = self._gate.mail.get(timeout=timeout)
            except Empty:
                waited += timeout
                continue
            waited += min(real_time.seconds() - began, timeout)
            if isinstance(item, LoopIdle) and probe and item.number == probe:
                probed, probe = item.in_flight, 0
            with self._baton:
                self._take(item)
            if probed is not None and not self._has_settled(actor, probed):
                idle.pause(_POLL_S)
                waited, idle_for = waited + _POLL_S, idle_for + _POLL_S
        actor.blocked_at = None
        return True

    def _mail_timeout(self, actor: Actor) -> float:
        """Return how long to wait for a message: briefly if the actor may come to rest without sending one."""
        return _POLL_S if actor.is_task or actor.waiting else min(self._blocked_s, _KNOWN_BLOCK_S)

    def _patience(self, actor: Actor) -> float:
        thread = actor.thread
        if thread is None or actor.is_task:
            return self._blocked_s
        if idle.sleeps(thread):
            return _RUN_S
        is_known = bool(self._known.blocks) and idle.place_of(thread) in self._known.blocks
        return min(_KNOWN_BLOCK_S, self._blocked_s) if is_known else self._blocked_s

    def _has_settled(self, actor: Actor, probed: Mapping[str, int] | None) -> bool:
        with self._baton:
            return self._has_stopped(actor, probed)

    def _has_stopped(self, actor: Actor, probed: Mapping[str, int] | None) -> bool:
        if actor.is_over:
            return True
        if not actor.waiting or actor.unanswered or (actor.is_task and probed is None):
            return False
        in_flight = self._gate.in_flight if probed is None else probed
        return in_flight.get(actor.name, 0) <= len(actor.waiting) and self._have_stopped(actor)

    def _is_busy(self, actor: Actor, probed: Mapping[str, int] | None) -> bool:
        """Return False without a probe, and for a task that waits for another one: its loop has nothing to run or receive."""
        if probed is None:
            return False
        if not actor.is_task or actor.waiting or actor.unanswered:
            return True
        on_the_way = sum(probed.values()) > sum(len(each.waiting) for each in self._actors.values())
        return on_the_way or not idle.has_no_events(self._gate.loop) or not self._have_stopped(actor)

    def _have_stopped(self, actor: Actor) -> bool:
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
        self, actor: Actor, waiting: AbstractSet[threading.Thread | None], over_sockets: int
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
            if item.thread is None:
                item.actor = self._caller(item.actor)
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

    def _caller(self, client: str) -> str:
        """Return whose request at a client's port is: that of a delivery if its receiver runs and the client waits."""
        waits = bool(self._actors[client].waiting) or self._actors[client].is_over
        deliveries = [each.name for each in self._actors.values() if each.name not in self._functions]
        running = [name for name in deliveries if self._actors[name].is_running and not self._actors[name].waiting]
        return running[0] if running and waits else client

    # Beginnings that other runs have too

    def _record(self, step: ReleasedStep) -> None:
        """Record a step that another run can repeat; after any other no further one is."""
        if self._recorder is None:
            return
        if self._recorder.is_open and self._is_repeatable(step):
            self._recorder.add(RecordedStep(step, self._decisions[-1], self._step.answered))
        else:
            self._recorder = None

    def _is_repeatable(self, step: ReleasedStep) -> bool:
        """Return True if a step was a start or one call in process by the client's own thread, and nothing else."""
        uses, actor = sum(backend.uses for backend in self._backends), self._actors.get(step.actor)
        was_used, self._uses = uses != self._uses, uses
        if was_used or actor is None or actor.is_task or self._blocked or len(step.exchanges) != (step.waits == "call"):
            return False
        answered = self._step.answered
        if step.waits != "start" and (step.waits != "call" or answered is None):
            return False
        assert self._recorder is not None, "steps of other runs are not recorded"
        is_own = answered is not None and self._is_own(answered)
        return not is_own and self._has_one_thread(actor) and self._recorder.is_repeatable()

    def _has_one_thread(self, actor: Actor) -> bool:
        """Return True if no thread but the client's own has called, or runs."""
        if not (actor.is_over or self._alone is actor or [each.thread for each in actor.waiting] == [actor.thread]):
            return False
        return threading.active_count() <= len(self._own) or not self._threads_elsewhere(actor, {actor.thread}, 0)

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
        self._resume(beginning)

    def _resume(self, beginning: Beginning) -> None:
        """Leave the sandbox and the notes for the next choice as a beginning had them when it was recorded."""
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

    def _deadlock(self, waited: Sequence[Actor]) -> str:
        where = ", ".join(f"{each.name} at {each.blocked_at}" if each.blocked_at else each.name for each in waited)
        return f"no step can be released, and {where} has not ended"


class _IsTask(BaseException):
    """The function of a client has returned a coroutine, which is a task from then on."""


def _server_threads() -> Iterator[threading.Thread]:
    """Yield the threads of servers, which call for no client."""
    return (thread for thread in threading.enumerate() if thread.name.startswith("mockserver http"))


def _delivering(name: str, send: Callable[[], None]) -> None:
    DELIVERING.set(name)
    send()


def _label(label: str, waits: Waits, exchanges: Sequence[JournalEntry]) -> str:
    calls = [f"{each.operation or each.call.method} {each.status or 'no answer'}" for each in exchanges]
    if waits == "call" and calls:
        return ", ".join(calls)
    return label or waits
