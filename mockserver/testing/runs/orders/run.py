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
from queue import Empty
from typing import TYPE_CHECKING, Any

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import SECOND, Instant, format_exact
from mockserver.core.operations.footprints import Footprint, footprint_of
from mockserver.core.scheduler import next_due
from mockserver.core.state.journal import JournalEntry
from mockserver.core.webhooks.deliveries import due_endpoints
from mockserver.server.http1 import real_time
from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.bounds import NEED, Bounds, Watch
from mockserver.testing.runs.in_process import RunInProcess
from mockserver.testing.runs.orders import idle, schedules
from mockserver.testing.runs.orders.actors import Actor, KnownThreads
from mockserver.testing.runs.orders.client_loop import ClientLoop
from mockserver.testing.runs.orders.gate import (
    DELIVERING,
    IDLE,
    ActorEnd,
    Gate,
    LoopIdle,
    Mail,
    SocketAnswered,
    Waiting,
)
from mockserver.testing.runs.orders.handles import handle
from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.played import Decision, Played, ReleasedStep
from mockserver.testing.runs.orders.schedules import TIMERS, Ready, Release, Situation, Waits
from mockserver.testing.runs.orders.sockets import gated_server

if TYPE_CHECKING:
    from mockserver.server.http1.server import Server
    from mockserver.testing.sandbox import Sandbox

ClientFunction = Callable[["Sandbox"], Any]
Choose = Callable[[Sequence[Release]], str]

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
        known: What earlier runs have learned.
        fault: A fault at one call; None for none.
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
        known: KnownThreads,
        fault: PlacedFault | None = None,
    ) -> None:
        self._sandbox, self._hosted = sandbox, sandbox.local(NEED)
        self._state = self._hosted.sandbox
        self._functions, self._seed, self._blocked_s, self._known = clients, seed, blocked_s, known
        self._gate = Gate(split=split)
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
        self._in_process = RunInProcess(sandbox)

    def play(self, choose: Choose) -> Played:
        """
        Run the clients to their ends, or to a bound.

        Args:
            choose: Gets the options, of which the first is the serial one, and returns the name of one of them.
        """
        stuck: str | None = None
        self._in_process.start()
        try:
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
            steps=self._steps,
            decisions=self._decisions,
            raised={name: failure for name, failure in self._raised.items() if not isinstance(failure, RunEnded)},
            stuck=stuck,
            blocked=self._blocked,
            used=self._watch.used(),
            sleep=self._in_process.longest(),
            is_plain=self._is_plain and stuck is None and not self._blocked,
            calls=dict(self._calls),
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
        ready: list[Ready] = []
        for name in self._functions:
            ready += self._ready(self._actors[name])
        if any(row.waits == "sleep" for row in ready):
            ready = self._without_later_sleeps(ready)
        due = self._due_endpoints()
        for name, endpoint in self._endpoints().items():
            actor = self._actors.get(name)
            if actor is not None and actor.is_running:
                ready += self._ready(actor)
            elif endpoint in due:
                ready.append(Ready(name, "delivery"))
        if self._timers_may_fire():
            ready.append(Ready(TIMERS, "time"))
        last = self._actors.get(self._last or "")
        return Situation(ready, self._last, self._held, last is not None and last.reads_in_vain)

    def _endpoints(self) -> dict[str, str]:
        """Return the ids of the endpoints by the names of their deliveries."""
        webhooks = [webhook for tenant in self._state.tenants.values() for webhook in tenant.webhooks]
        return {schedules.endpoint_name(place): webhook for place, webhook in enumerate(webhooks)}

    def _due_endpoints(self) -> Sequence[str]:
        return () if self._state.outbox.is_idle else due_endpoints(self._state)

    @staticmethod
    def _ready(actor: Actor) -> list[Ready]:
        """Return the step with which an actor waits; empty if it has none."""
        if not actor.is_begun:
            return [Ready(actor.name, "start")]
        return [Ready(actor.name, actor.next_waiting().waits)] if actor.waiting else []

    def _sleeps(self) -> dict[str, Instant]:
        """Return the ends of the sleeps by actor."""
        ends: dict[str, Instant] = {}
        for actor in self._actors.values():
            until = actor.next_waiting().until if actor.waiting else None
            if until is not None:
                ends[actor.name] = until
        return ends

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
        name = choose(ranked)
        chosen = next(option for option in ranked if option.name == name)
        self._decisions.append(Decision(ranked, chosen, situation.last is None))
        if len(ranked) > 1 or self._held:
            self._held |= schedules.passed_over(situation, name)
        waits = next(ready.waits for ready in situation.ready if ready.name == name)
        journal = self._state.journal
        exchange, transition = journal.last_exchange, journal.last_transition
        label = self._let_happen(name, waits)
        exchanges = self._exchanges_after(exchange)
        released = ReleasedStep(
            actor=name,
            waits=waits,
            label=_label(label, waits, exchanges),
            exchanges=tuple(each.n for each in exchanges),
            footprint=self._footprint(waits, exchanges, transition),
            due=self._newly_due(name),
        )
        self._steps.append(released)
        is_of_client = waits == "delivery" or name in self._functions
        self._is_plain &= waits in _PLAIN_WAITS and is_of_client and not situation.is_in_vain
        self._note_reads(name, waits, exchanges)
        self._note_last(name, waits)
        if self._watch.ended is not None:
            return self._watch.ended
        if real_time.seconds() - self._began > _RUN_S:
            return f"the run took more than {_RUN_S:g} seconds of real time"
        return None

    def _let_happen(self, name: str, waits: Waits) -> str:
        """Let an actor have its step, and return what it did if the journal does not show it."""
        if waits == "time":
            return self._fire_timers()
        if waits == "delivery":
            return self._begin_delivery(name)
        actor = self._actors[name]
        label = "start"
        if waits == "start":
            self._start_client(actor)
        else:
            label = self._resume(actor, waits)
        self._settle(actor)
        return label

    def _fire_timers(self) -> str:
        due = next_due(self._state)
        assert due is not None, "timers are released only if one is due"
        fired = self._advance(due)
        return ", ".join(dict.fromkeys(row["what"] for row in fired)) or "timers"

    def _advance(self, to: Instant) -> list[Any]:
        """Move the clock, and let everyone that sleeps know what has fired."""
        fired = self._sandbox.advance(to=format_exact(to))
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

    def _resume(self, actor: Actor, waits: Waits) -> str:
        """Release the step that an actor waits with, and return its label; a fault that is to be at its call is set."""
        waiting = actor.next_waiting()
        if waits == "sleep" and waiting.until is not None and waiting.until != IDLE:
            self._advance(waiting.until)
        if actor.name in self._calls and waiting.is_api_call:
            self._calls[actor.name] += 1
            place = (actor.name, self._calls[actor.name])
            if self._fault is not None and (self._fault.client, self._fault.call) == place:
                self._sandbox.apply(script=[self._fault.rule])
        actor.waiting.remove(waiting)
        actor.unanswered += waiting.thread is None and waits != "answer"
        self._draw_for(actor)
        self._gate.release(waiting)
        return waiting.label

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
        while not self._has_settled(actor, probed):
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
            read = (exchange.request, exchange.status, exchange.answer) if is_read else None
            is_again = read is not None and read == reader.last_read
            if not is_again:
                reader.reads, reader.has_slept = 0, False
            reader.reads += is_read
            reader.last_read = read

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
