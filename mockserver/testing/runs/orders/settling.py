"""
Waits until the code of an actor has come to its next step, has ended, or is blocked.

Real time counts by the waits of the run's own thread: if a busy machine lets the whole process wait, no client is blocked.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from queue import Empty
from typing import Final

from mockserver.server.http1 import real_time
from mockserver.testing.runs.orders import idle
from mockserver.testing.runs.orders.actors import Actor, KnownThreads
from mockserver.testing.runs.orders.gate import ActorEnd, Gate, LoopIdle, Mail, SocketAnswered, Waiting
from mockserver.testing.runs.orders.starting import ActorThreads

RUN_S: Final = 60.0  # real time of a run
_POLL_S: Final = 0.001
_KNOWN_BLOCK_S: Final = 0.05  # real time, for a place at which a client was blocked before
_TASK_BLOCKED_S: Final = 0.02  # real time for which a loop has nothing to run


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
        waited = idle_for = 0.0  # of a task, how long its loop has had nothing to run
        probe = 0  # the number of the one that was sent, until it has arrived
        probed: Mapping[str, int] | None = None
        while not self._has_settled(actor, probed):
            if self._is_busy(actor, probed):
                idle_for = 0.0
            if idle_for > _TASK_BLOCKED_S or waited > self._patience(actor):
                return False
            if actor.is_task and not probe and self._threads.loop is not None:
                probe = self._threads.loop.probe()
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
            return RUN_S
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
        if threading.active_count() == len(self._threads.own) and len(actor.waiting) == 1 and actor.thread is not None:
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
            if thread not in self._threads.own
            and not thread.name.startswith("mockserver")
            and thread not in waiting
            and (thread not in self._threads.foreign or thread in self._known.calling)
        ]
        own = actor.thread
        if own is not None and not actor.is_task and own not in waiting and not (over_sockets and not others):
            others.append(own)
        return others

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
            self._threads.end(actor)
            is_in_order = isinstance(item.raised, SystemExit) and not item.raised.code
            if item.raised is not None and not is_in_order:
                self.raised[item.actor] = item.raised

    def _caller(self, client: str) -> str:
        """Return whose request at a client's port is: that of a delivery if its receiver runs and the client waits."""
        waits = bool(self._actors[client].waiting) or self._actors[client].is_over
        deliveries = [actor for actor in self._actors.values() if actor.name not in self._clients]
        running = [actor.name for actor in deliveries if actor.is_running and not actor.waiting]
        return running[0] if running and waits else client
