"""The stream of a sandbox over a socket: events in the order of the journal, resumable without a gap, bounded, ended by stop."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import pytest

from mockserver import MockServer, Sandbox
from mockserver.server.control import stream
from mockserver.server.dashboard import live_stream

DEADLINE_SECONDS = 60.0
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


class Event(NamedTuple):
    """One event as it arrived."""

    id: str
    name: str
    data: Any


class Reader:
    """A client of the stream over a socket of its own; what does not arrive within the deadline raises TimeoutError."""

    def __init__(self, sandbox: Sandbox, query: str = "", *, version: str = "1.1", **headers: str) -> None:
        address, _, path = sandbox.base_url.removeprefix("http://").partition("/")
        host, _, port = address.partition(":")
        self.socket = socket.create_connection((host, int(port)), DEADLINE_SECONDS)
        lines = [f"GET /{path}/_mock/stream{query} HTTP/{version}", f"Host: {address}", "Accept: text/event-stream"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self.socket.makefile("rb")
        self.head = list(iter(lambda: self._file.readline().decode().strip(), ""))
        self._text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    @property
    def is_chunked(self) -> bool:
        return "transfer-encoding: chunked" in [line.lower() for line in self.head]

    def _more(self) -> None:
        if not self.is_chunked:
            piece = self._file.readline()
        else:
            size = int(self._file.readline() or b"0", 16)
            piece = self._file.read(size + 2)[:-2] if size else b""
        if not piece:
            raise EOFError
        self._text += piece.decode()

    def block(self) -> str:
        while "\n\n" not in self._text:
            self._more()
        block, _, self._text = self._text.partition("\n\n")
        return block

    def event(self) -> Event:
        """The next event."""
        while True:
            fields = dict(line.partition(": ")[::2] for line in self.block().splitlines())
            if "event" in fields:
                return Event(fields["id"], fields["event"], json.loads(fields["data"]))

    def until(self, name: str) -> list[Event]:
        """The events up to the first one of this name."""
        events = [self.event()]
        while events[-1].name != name:
            events.append(self.event())
        return events

    def events(self) -> Iterator[Event]:
        while True:
            yield self.event()


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def sandbox(server: MockServer) -> Sandbox:
    return server.sandbox(scenario="demo")


@pytest.fixture
def reader(sandbox: Sandbox) -> Iterator[Callable[..., Reader]]:
    readers: list[Reader] = []

    def connect(*arguments: str, **options: str) -> Reader:
        readers.append(Reader(sandbox, *arguments, **options))
        return readers[-1]

    yield connect
    for each in readers:
        each.__exit__()


def session(sandbox: Sandbox) -> str:
    return str(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])


def test_the_first_event_is_the_clock(sandbox: Sandbox, reader: Callable[..., Reader]) -> None:
    own = reader()

    assert "HTTP/1.1 200 OK" == own.head[0]
    assert "Content-Type: text/event-stream; charset=utf-8" in own.head
    assert ("clock", {**sandbox.call("GET", "/_mock/clock").json(), "due": None}) == own.event()[1:]


def test_calls_changes_deliveries_and_the_clock_arrive_as_they_happen(
    sandbox: Sandbox, reader: Callable[..., Reader]
) -> None:
    own = reader()
    own.event()
    sandbox.receive_webhooks(lambda request: 204)
    created = session(sandbox)
    call, change, due = own.event(), own.event(), own.event()
    sandbox.complete_session(created)
    completed, *deliveries = own.event(), own.event(), own.event()
    idle = own.event()
    sandbox.advance(minutes=1)

    assert ("call", "createConnectionSession", 202, True) == (
        call.name,
        *(call.data[key] for key in ("operation", "status", "changed")),
    )
    assert ("change", None, "pending", {"exchange": 1}) == (
        change.name,
        *(change.data[k] for k in ("from", "to", "cause")),
    )
    assert ("change", "completed") == (completed.name, completed.data["to"])
    assert [("delivery", "due"), ("delivery", "delivered")] == [(row.name, row.data["to"]) for row in deliveries]
    assert sandbox.events[0]["id"] == deliveries[0].data["eventId"]
    assert "clock" == own.event().name
    assert ("clock", "session.expire", created) == (due.name, due.data["due"]["what"], due.data["due"]["id"])
    assert ("clock", None) == (idle.name, idle.data["due"])


@pytest.mark.parametrize("way", ["header", "query"])
def test_a_reader_that_connects_again_gets_what_follows_without_a_gap(
    sandbox: Sandbox, reader: Callable[..., Reader], way: str
) -> None:
    own = reader()
    own.event()
    for _ in range(3):
        session(sandbox)
    seen = [own.event() for _ in range(3)]
    own.socket.close()
    for _ in range(3):
        session(sandbox)
    last = seen[-1].id
    again = reader(Last_Event_ID=last) if way == "header" else reader(f"?since={last}")
    rest = [event for event in again.until("clock") if event.name != "clock"]

    assert [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6] == [event.data["n"] for event in (*seen, *rest)]


def test_a_reader_too_far_behind_gets_the_numbers_of_what_it_misses(
    sandbox: Sandbox, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "QUEUE_MAX", 5)
    for _ in range(4):
        session(sandbox)
    lag = reader("?since=0.1.1").event()

    assert ("lag", {"calls": 3, "changes": 3, "restored": False, "gone": False}, "0.4.4") == (
        lag.name,
        lag.data,
        lag.id,
    )


def test_a_restored_state_is_an_event(sandbox: Sandbox, reader: Callable[..., Reader]) -> None:
    own = reader()
    own.event()
    with sandbox.checkpoint():
        sandbox.call("GET", "/v1/campaigns")
        own.event()
    lag = own.event()

    assert ("lag", True, False) == (lag.name, lag.data["restored"], lag.data["gone"])
    session(sandbox)
    assert "call" == own.event().name


def test_a_silent_stream_has_a_heartbeat(
    sandbox: Sandbox, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_stream, "HEARTBEAT_SECONDS", 0.0)
    own = reader()
    own.event()

    assert ": heartbeat" == own.block()


def test_a_closed_sandbox_ends_its_streams(server: MockServer, sandbox: Sandbox, reader: Callable[..., Reader]) -> None:
    own = reader()
    own.event()
    sandbox.close()

    with pytest.raises(EOFError):
        own.event()


@pytest.mark.parametrize(
    ("query", "status"),
    [("?since=1", 400), ("?since=1.2.3.4", 400), ("?color=1", 400)],
    ids=["short", "long", "unknown"],
)
def test_a_place_that_is_none_is_refused(
    sandbox: Sandbox, reader: Callable[..., Reader], query: str, status: int
) -> None:
    own = reader(query)

    assert f"HTTP/1.1 {status} Bad Request" == own.head[0]
    assert not own.is_chunked
