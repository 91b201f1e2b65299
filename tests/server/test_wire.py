"""A connection's bytes: those that the loop sends before it waits, and their order with the others."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from mockserver.server.http1.event_loop import ServerLoop, new_event_loop
from mockserver.server.http1.wire import Wire


class Wired:
    """A wire on a loop, and its client."""

    def __init__(self, loop: ServerLoop) -> None:
        self.loop = loop
        self.client, own = socket.socketpair()
        self.client.setblocking(False)
        own.setblocking(False)
        self.notified: list[bytes] = []
        self.wire = Wire(loop, own, self.notified.append, lambda: None)

    def run(self, function: Callable[[], object]) -> None:
        """Run a function on the loop, which then waits."""
        self.loop.call_soon(function)
        self.turn()

    def turn(self) -> None:
        for _ in range(2):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def received(self) -> bytes:
        try:
            return self.client.recv(1000)
        except BlockingIOError:
            return b"nothing yet"


@pytest.fixture
def loop() -> Iterator[ServerLoop]:
    loop = new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def wired(loop: ServerLoop) -> Iterator[Wired]:
    wired = Wired(loop)
    yield wired
    wired.wire.close()
    wired.client.close()


def test_bytes_that_are_sent_soon_leave_when_everything_that_is_ready_has_run(wired: Wired) -> None:
    seen: list[bytes] = []

    def respond() -> None:
        assert wired.wire.send_soon(b"one")
        wired.loop.call_soon(lambda: seen.append(wired.received()))  # of the next round
        seen.append(wired.received())

    wired.run(respond)

    assert [b"nothing yet", b"one"] == seen


def test_the_answers_of_one_round_leave_together(loop: ServerLoop) -> None:
    pair = [Wired(loop), Wired(loop)]
    seen: list[bytes] = []
    loop.call_soon(lambda: pair[0].wire.send_soon(b"one"))
    loop.call_soon(lambda: pair[1].wire.send_soon(b"two"))
    loop.call_soon(lambda: seen.append(pair[0].received()))
    pair[0].turn()

    assert [b"nothing yet", b"one", b"two"] == [*seen, pair[0].received(), pair[1].received()]
    for each in pair:
        each.wire.close()
        each.client.close()


@pytest.mark.parametrize("end", ["end", "abort", "close"])
def test_bytes_that_are_sent_soon_precede_the_end_of_the_connection(wired: Wired, end: str) -> None:
    def respond() -> None:
        wired.wire.send_soon(b"one")
        getattr(wired.wire, end)()

    wired.run(respond)

    assert [b"one", b""] == [wired.received(), wired.received()]


def test_what_the_client_does_not_read_yet_waits_for_it(wired: Wired) -> None:
    large = b"x" * 4_000_000
    wired.run(lambda: wired.wire.send_soon(large))
    assert wired.wire.has_unsent
    wired.run(lambda: wired.wire.send_soon(b"end"))
    received = b""
    while not received.endswith(b"end"):
        received += wired.client.recv(1_000_000)
        wired.turn()

    assert large + b"end" == received
