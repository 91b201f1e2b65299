"""A connection's bytes: their order, what the client does not take yet, and what ends it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from mockserver.server.http1.event_loop import ServerLoop
from mockserver.server.http1.wire import RECEIVED_MAX_BYTES, Wire

LARGE = b"x" * 4_000_000  # more than the buffers of both systems take


class Wired:
    """A wire on a loop, and its client."""

    def __init__(self) -> None:
        self.loop = ServerLoop()
        self.client, own = socket.socketpair()
        self.client.setblocking(False)
        self.wire = Wire(self.loop, own, idle_seconds=0.05)
        self.run(self.wire.connect())

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def received(self) -> bytes:
        try:
            return self.client.recv(1000)
        except BlockingIOError:
            return b"nothing yet"

    def close(self) -> None:
        self.wire.close()
        self.run(asyncio.sleep(0))
        self.client.close()
        self.loop.close()


@pytest.fixture
def wired() -> Iterator[Wired]:
    wired = Wired()
    yield wired
    wired.close()


@pytest.mark.parametrize("end", [Wire.shut, Wire.abort])
def test_bytes_that_are_sent_precede_the_end_of_the_connection(wired: Wired, end: Callable[[Wire], None]) -> None:
    wired.run(wired.wire.send(b"one "))
    wired.wire.send_soon(b"two ")
    wired.run(wired.wire.send(b"three "))
    wired.wire.send_soon(b"four")
    end(wired.wire)

    assert [b"one two three four", b""] == [wired.received(), wired.received()]


def test_what_is_sent_soon_leaves_in_the_next_round(wired: Wired) -> None:
    wired.wire.send_soon(b"one")
    seen = [wired.received()]
    wired.run(asyncio.sleep(0))

    assert [b"nothing yet", b"one"] == [*seen, wired.received()]


def test_what_the_client_does_not_take_yet_waits_for_it(wired: Wired) -> None:
    async def take() -> bytes:
        sending = wired.loop.create_task(wired.wire.send(LARGE))
        taken = b""
        while len(taken) < len(LARGE):
            assert not sending.done() or len(taken) > len(LARGE) // 2
            taken += await wired.loop.sock_recv(wired.client, 1_000_000)
        await sending
        return taken

    assert LARGE == wired.run(take())


def test_a_client_that_takes_nothing_is_lost(wired: Wired) -> None:
    wired.run(wired.wire.send(LARGE))

    assert wired.wire.is_lost
    assert wired.wire.is_refused()


def test_nothing_is_received_beyond_the_bound_until_more_is_awaited(wired: Wired) -> None:
    async def fill() -> int:
        sending = wired.loop.create_task(wired.loop.sock_sendall(wired.client, LARGE))
        while len(wired.wire.received) < RECEIVED_MAX_BYTES:
            assert await wired.wire.receive(60)
        await asyncio.sleep(0.01)
        before = len(wired.wire.received)
        assert await wired.wire.receive(60)
        sending.cancel()
        return before

    assert wired.run(fill()) < len(LARGE) / 2
    assert len(wired.wire.received) > RECEIVED_MAX_BYTES


def test_a_client_that_is_gone_ends_a_wait(wired: Wired) -> None:
    wired.client.close()

    assert wired.run(wired.wire.receive(60))
    assert wired.wire.is_at_end


def test_a_wait_in_which_nothing_comes_ends_with_its_time(wired: Wired) -> None:
    assert not wired.run(wired.wire.receive(0.001))
