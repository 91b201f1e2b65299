"""One sandbox with much to do keeps no other from a worker, and no lock of one is awaited for another. Counts, no times."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

import pytest

from mockserver.server.hosting import background
from mockserver.server.hosting.background import BackgroundWorker, _run_due_timers
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.server.http1 import event_loop, waits
from mockserver.server.http1.messages import Request
from mockserver.server.http1.workers import Workers
from mockserver.server.socket_handler import SocketHandler
from tests.harness.waiting import wait_until
from tests.server.hosts import host_of, send

PATIENCE_SECONDS = 60.0


class Pool:
    """Workers whose functions end when the test says so."""

    def __init__(self, threads_max: int) -> None:
        self.loop = event_loop.ServerLoop()
        self.workers = Workers(self.loop, "pool", threads_max)
        self.begun: list[str] = []
        self.ends: dict[str, threading.Event] = {}
        self.futures: dict[str, asyncio.Future[Any]] = {}

    def run(self, name: str, lane: Hashable, *, is_waiting: bool = False) -> None:
        """Hand a function over that runs until `end(name)`."""
        end = self.ends[name] = threading.Event()

        def function() -> None:
            self.begun.append(name)
            if is_waiting:
                waits.leave_place()
            end.wait(PATIENCE_SECONDS)

        self.futures[name] = self.workers.run(function, lane)

    def end(self, name: str) -> None:
        self.ends[name].set()
        self.loop.run_until_complete(self.futures[name])

    def await_begun(self, count: int) -> list[str]:
        """The names of the functions that have begun, once there are so many."""
        wait_until(lambda: self.turn() or len(self.begun) >= count)
        return self.begun

    def turn(self) -> None:
        """Let the loop start threads and hand over what is aside."""
        self.loop.run_until_complete(asyncio.sleep(0.01))

    def close(self) -> None:
        for end in self.ends.values():
            end.set()
        self.loop.run_until_complete(asyncio.gather(*self.futures.values(), return_exceptions=True))
        self.workers.stop()
        wait_until(lambda: not self.workers.threads)
        self.loop.close()


@pytest.fixture
def pool() -> Iterator[Callable[[int], Pool]]:
    made: list[Pool] = []

    def make(threads_max: int) -> Pool:
        made.append(Pool(threads_max))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_of_one_lane_one_function_runs_and_the_next_begins_when_it_ends(pool: Callable[[int], Pool]) -> None:
    own = pool(8)
    for number in range(40):
        own.run(f"a{number}", "a")
    own.await_begun(1)
    own.turn()
    begun = list(own.begun)

    own.end("a0")

    assert ["a0"] == begun
    assert ["a0", "a1"] == own.await_begun(2)


def test_another_lane_finds_a_thread_however_many_functions_one_has(pool: Callable[[int], Pool]) -> None:
    own = pool(3)
    for number in range(40):
        own.run(f"a{number}", "a")
    own.run("b0", "b")

    assert {"a0", "b0"} == set(own.await_begun(2))


def test_on_one_thread_the_lanes_take_turns(pool: Callable[[int], Pool]) -> None:
    own = pool(1)
    names = [f"{lane}{number}" for lane in "abc" for number in range(4)]
    for name in names:
        own.run(name, name[0])
    for end in own.ends.values():
        end.set()
    for name in names:
        own.loop.run_until_complete(own.futures[name])

    rounds = [own.begun[begin : begin + 3] for begin in range(0, 12, 3)]
    assert [[f"{lane}{number}" for lane in "abc"] for number in range(4)] == rounds


def test_what_is_of_no_lane_waits_for_none(pool: Callable[[int], Pool]) -> None:
    own = pool(4)
    for number in range(4):
        own.run(f"n{number}", None)

    assert 4 == len(own.await_begun(4))


def test_a_function_that_waits_for_another_program_gives_its_place_in_the_lane_away(
    pool: Callable[[int], Pool],
) -> None:
    own = pool(1)
    own.run("waits", "a", is_waiting=True)
    own.run("called", "a")

    assert "called" == own.await_begun(2)[-1]


def test_a_pool_that_stops_runs_what_is_aside_and_keeps_no_lane(pool: Callable[[int], Pool]) -> None:
    own = pool(2)
    for number in range(6):
        own.run(f"a{number}", "a")
    own.await_begun(1)
    own.workers.stop()
    for end in own.ends.values():
        end.set()
    own.loop.run_until_complete(asyncio.gather(*own.futures.values()))

    assert [f"a{number}" for number in range(6)] == sorted(own.begun)
    assert {} == own.workers._lanes


# Requests


class Lanes:
    """The lane of the worker that a request asks for first; the request itself does not run."""

    def __init__(self, host: SandboxHost) -> None:
        self._handler = SocketHandler(host)

    def of(self, target: str, method: str = "GET", body: bytes = b"") -> Hashable:
        lanes: list[Hashable] = []

        def in_worker(_: object, lane: Hashable = "none was named") -> Any:
            lanes.append(lane)
            raise InterruptedError

        headers = {"host": "127.0.0.1", "content-type": "application/json"}
        request = Request(
            method=method,
            target=target,
            headers=headers,
            content=body,
            exchanges_before=0,
            in_worker=in_worker,
        )
        with pytest.raises(InterruptedError):
            asyncio.run(_awaited(self._handler.respond(request)))
        return lanes[0]


async def _awaited(response: Any) -> Any:
    return await response


@pytest.fixture
def host() -> SandboxHost:
    host = host_of()
    for _ in range(3):
        host.create(SandboxConfig())
    return host


@pytest.mark.parametrize(
    ("target", "lane"),
    [
        ("/_mock/openapi.json", "default"),
        ("/_mock/state?chats=10000", "default"),
        ("/sandboxes/sandbox_1/_mock/openapi.json", "sandbox_1"),
        ("/sandboxes/sandbox_2/_mock/openapi.json?plane=control", "sandbox_2"),
        ("/sandboxes/sandbox_2/_mock/", "sandbox_2"),
        ("/sandboxes/%73andbox_2/_mock/", "sandbox_2"),
        ("/sandboxes/sandbox_2/media/x", "sandbox_2"),
        ("/sandboxes/sandbox_2/connect/x", "sandbox_2"),
        ("/sandboxes/sandbox_99/_mock/openapi.json", ""),
        ("/sandboxes/sandbox_98/v1/campaigns", ""),
        ("/_mock/health", None),
        ("/_mock/metrics", None),
        ("/_mock/sandboxes", None),
        ("/sandboxes/sandbox_1/_mock/sandboxes", None),
    ],
)
def test_a_request_takes_a_worker_for_its_sandbox_and_one_of_the_whole_server_for_none(
    host: SandboxHost, target: str, lane: Hashable
) -> None:
    assert lane == Lanes(host).of(target)


def test_a_call_with_a_large_body_takes_a_worker_for_its_sandbox(host: SandboxHost) -> None:
    body = b" " * 100_000

    assert "sandbox_3" == Lanes(host).of("/sandboxes/sandbox_3/v1/campaigns", "POST", body)


# Deliveries


class Outbox:
    """The deliveries of one sandbox, as a background worker sends them; each ends when the test says so."""

    def __init__(self, background: BackgroundWorker, begun: list[str]) -> None:
        self._background, self._begun = background, begun
        self._waiting: deque[str] = deque()
        self._ends: dict[str, threading.Event] = {}

    def add(self, *names: str) -> None:
        self._waiting.extend(names)
        self._ends |= {name: threading.Event() for name in names}
        self.schedule()

    def schedule(self) -> None:
        self._background.schedule(self)  # type: ignore[arg-type]

    def end(self, *names: str) -> None:
        for name in names or self._ends:
            self._ends[name].set()

    def claim_for_worker(self) -> str | None:
        return self._waiting.popleft() if self._waiting else None

    def leave_due(self, name: str) -> None:
        self._waiting.appendleft(name)

    def send_attempt(self, name: str) -> None:
        self._begun.append(name)
        self._ends[name].wait(PATIENCE_SECONDS)

    def release_worker(self, name: str) -> None:
        """Nobody waits for it."""


class Outboxes:
    """A background worker of four threads, two of them for one sandbox, and the outboxes of four sandboxes."""

    def __init__(self) -> None:
        self.background = BackgroundWorker(SandboxHost())
        self.begun: list[str] = []
        self.a, self.b, self.c, self.d = (Outbox(self.background, self.begun) for _ in range(4))

    def await_begun(self, *names: str) -> None:
        """Wait until these have begun, and check that they are all."""
        wait_until(lambda: len(self.begun) >= len(names))
        assert sorted(names) == sorted(self.begun)

    def close(self) -> None:
        for outbox in (self.a, self.b, self.c, self.d):
            outbox.end()
        wait_until(lambda: not self.background._sending)
        self.background.stop()


@pytest.fixture
def outboxes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outboxes]:
    monkeypatch.setattr(background, "_THREADS_MAX", 4)
    monkeypatch.setattr(background, "_SHARE", 2)
    made = Outboxes()
    yield made
    made.close()


def test_the_deliveries_of_a_sandbox_leave_half_of_the_threads_to_the_others(outboxes: Outboxes) -> None:
    of_a = [f"a{number}" for number in range(20)]
    outboxes.a.add(*of_a)
    outboxes.b.add("b0", "b1")

    outboxes.await_begun("a0", "a1", "b0", "b1")
    outboxes.a.end()
    wait_until(lambda: len(outboxes.begun) == 22)
    assert set(of_a) == {name for name in outboxes.begun if name[0] == "a"}


def test_a_sandbox_without_a_delivery_in_flight_waits_for_no_other_however_many_hold_the_threads(
    outboxes: Outboxes,
) -> None:
    outboxes.a.add("a0", "a1")
    outboxes.b.add("b0", "b1")
    outboxes.c.add("c0", "c1")
    outboxes.d.add("d0")
    outboxes.await_begun("a0", "a1", "b0", "b1", "c0", "d0")

    outboxes.c.end("c0")

    outboxes.await_begun("a0", "a1", "b0", "b1", "c0", "d0", "c1")


def test_a_delivery_for_which_the_system_has_no_thread_stays_due(
    outboxes: Outboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", start)
        outboxes.a.add("a0")
    outboxes.a.schedule()

    outboxes.await_begun("a0")


# Locks


@pytest.fixture
def held(host: SandboxHost) -> Iterator[SandboxHost]:
    """A host whose first sandbox a call of another thread holds."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with host.sandboxes["sandbox_1"].sandbox.lock:
            taken.set()
            over.wait(PATIENCE_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(PATIENCE_SECONDS)
    yield host
    over.set()
    holder.join()


def within(function: Callable[[], Any]) -> Any:
    """What a function returns that ends though a sandbox is held."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS / 2)
    assert results, "it waits for the lock of another sandbox"
    return results[0]


@pytest.mark.parametrize("path", ["/v1/campaigns", "/_mock/state", "/_mock/", "/connect/x", "/media/x", ""])
@pytest.mark.parametrize("name", ["sandbox_99", "any", "sk_secret"])
def test_a_call_of_an_unknown_sandbox_waits_for_the_lock_of_none(held: SandboxHost, name: str, path: str) -> None:
    response = within(lambda: send(held, "GET", f"/sandboxes/{name}{path}"))

    assert (404, name == "sandbox_99") == (response.status, name.encode() in response.body)


@pytest.mark.parametrize("path", ["/_mock/health", "/_mock/sandboxes", "/_mock/metrics"])
def test_what_concerns_the_whole_server_waits_for_the_lock_of_no_sandbox(held: SandboxHost, path: str) -> None:
    del held.sandboxes["default"]

    assert 200 == within(lambda: send(held, "GET", path)).status


def test_the_timers_of_the_others_run_while_a_sandbox_is_held(held: SandboxHost) -> None:
    names = ("sandbox_1", "sandbox_2")

    assert [False, True] == [within(partial(_run_due_timers, held.sandboxes[name].sandbox)) for name in names]
