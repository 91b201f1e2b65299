"""
Waits until the code of an actor has come to its next step, has ended, or is blocked.

Real time counts by the waits of the run's own thread: if a busy machine lets the whole process wait, no client is blocked.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from queue import Empty
from typing import Final

from mockserver.server.http1 import real_time
from mockserver.testing.runs.orders import idle
from mockserver.testing.runs.orders.actors import Actor, KnownThreads
from mockserver.testing.runs.orders.gate import ActorEnd, Gate, Mail, SocketAnswered, Waiting
from mockserver.testing.runs.orders.threads import ActorThreads

RUN_S: Final = 60.0  # real time of a run
_POLL_S: Final = 0.001
_KNOWN_BLOCK_S: Final = 0.05  # real time, for a place at which a client was blocked before
_TASK_BLOCKED_S: Final = 0.02  # real time, for a task whose loop waits for nothing
_OF_THE_MOCK: Final = ("interleave ", "mockserver ")  # names of threads that call for no client by themselves
_AWAITED: Final = "mockserver async"  # one that does, since a coroutine awaits its call


class Settling:
    """
    The waits of one run.

    Lifetime: one run.

    Args:
        actors: By name; deliveries are added when they begin.
        clients: The names of the clients.
        gate: Of the run.
        threads: Of the run.
        known: What earlier runs have learned.
        blocked_s: Real seconds for which a client outside of calls is waited for.

    Attributes:
        blocked: Where clients were blocked, such as `cron at locks.py:12`.
        raised: The exceptions with which actors have ended.
    """

    def __init__(
        self,
        actors: Mapping[str, Actor],
        clients: Collection[str],
        *,
        gate: Gate,
        threads: ActorThreads,
        known: KnownThreads,
        blocked_s: float,
    ) -> None:
        self.blocked: list[str] = []
        self.raised: dict[str, BaseException] = {}
        self._actors, self._clients, self._gate, self._threads = actors, clients, gate, threads
        self._known, self._blocked_s = known, blocked_s

    def settle(self, actor: Actor) -> None:
        """Wait until the actor waits at the gate, has ended, or is blocked, which is noted."""
        if self.has_arrived(actor):
            return
        place = idle.place_of(actor.thread) if actor.thread is not None and not actor.is_task else ""
        actor.blocked_at = place
        self._known.blocks.add(place)
        text = f"{actor.name} at {place}" if place else actor.name
        if text not in self.blocked:
            self.blocked.append(text)

    def take_all(self) -> None:
        """Take what has arrived meanwhile, of actors that were blocked too."""
        for actor in list(self._actors.values()):
            if actor.blocked_at is not None and actor.is_running and not actor.waiting:
                self.has_arrived(actor)
        while not self._gate.mail.empty():
            self._take(self._gate.mail.get())

    def has_arrived(self, actor: Actor) -> bool:
        """Return True once the actor has come to its next step or its end, False if it is blocked."""
        waited = 0.0
        while not self._has_settled(actor):
            if waited > self._patience(actor) and self._gate.mail.empty():
                return False
            waited += self._wait(actor)
        actor.blocked_at = None
        return True

    def _wait(self, actor: Actor) -> float:
        """Wait for a message, briefly if the actor may come to rest without sending one, and return for how long."""
        timeout = _POLL_S if actor.is_task or actor.waiting else min(self._blocked_s, _KNOWN_BLOCK_S)
        began = real_time.seconds()
        try:
            self._take(self._gate.mail.get(timeout=timeout))
        except Empty:
            return timeout
        return min(real_time.seconds() - began, timeout)

    def _patience(self, actor: Actor) -> float:
        thread, loop = actor.thread, self._threads.loop
        if actor.is_task and loop is not None:
            is_idle = not actor.waiting and self._have_stopped(actor) and loop.waits_for_nothing()
            return _TASK_BLOCKED_S if is_idle else self._blocked_s
        if thread is None:
            return self._blocked_s
        if idle.sleeps(thread):
            return RUN_S
        is_known = bool(self._known.blocks) and idle.place_of(thread) in self._known.blocks
        return min(_KNOWN_BLOCK_S, self._blocked_s) if is_known else self._blocked_s

    def _has_settled(self, actor: Actor) -> bool:
        if actor.is_over:
            return True
        if not actor.waiting or actor.unanswered or not self._have_stopped(actor):
            return False
        # The loop is looked at last: it then runs what the threads have left to it.
        loop = self._threads.loop if actor.is_task else None
        return (loop is None or loop.is_at_rest()) and self._gate.mail.empty()

    def _have_stopped(self, actor: Actor) -> bool:
        """Return True if all threads of the clients wait: at the gate, for an answer that waits there, or for one another."""
        at_gate = {each.thread for one in self._actors.values() for each in one.waiting}
        over_sockets = sum(each.thread is None for each in actor.waiting)
        others = [thread for thread in threading.enumerate() if thread not in at_gate and self._may_call(thread)]
        own = actor.thread
        if own is not None and not actor.is_task and own not in at_gate and (others or not over_sockets):
            others.append(own)
        receiving = sum(map(idle.is_receiving, others))
        return receiving <= over_sockets and all(idle.is_idle(each) or idle.is_receiving(each) for each in others)

    def _may_call(self, thread: threading.Thread) -> bool:
        """Return True for a thread that a client may have started."""
        if thread.name.startswith(_OF_THE_MOCK):
            return thread.name == _AWAITED
        return thread not in self._threads.foreign or thread in self._known.calling

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
            is_in_order = isinstance(item.raised, SystemExit) and not item.raised.code
            if item.raised is not None and not is_in_order:
                self.raised[item.actor] = item.raised

    def _caller(self, client: str) -> str:
        """Return whose request at a client's port is: that of a delivery if its receiver runs and the client waits."""
        waits = bool(self._actors[client].waiting) or self._actors[client].is_over
        deliveries = [actor for actor in self._actors.values() if actor.name not in self._clients]
        running = [actor.name for actor in deliveries if actor.is_running and not actor.waiting]
        return running[0] if running and waits else client
