"""What this package's server and h11 each read of the same bytes, and whether h11 can read the server's answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

import h11

from mockserver.server.http1.body import BodyTotal
from mockserver.server.http1.connection import Connection, ConnectionLimits, ServerConfig, Shared
from mockserver.server.http1.event_loop import ServerLoop
from mockserver.server.http1.messages import Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import RequestHead
from mockserver.server.http1.server import plain_error
from mockserver.server.http1.workers import Workers

LIMIT_SECONDS = 60.0  # nothing waits as long: the client has ended its half before the server begins
WHOLE_BYTES = 64 * 1024 * 1024


class Asked(NamedTuple):
    """One request as it was read; header names are upper case with dashes, values of one name joined."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Verdict(NamedTuple):
    """The requests that were read, and why the bytes after them were refused; empty if none were."""

    asked: list[Asked]
    why: str


class Answered(NamedTuple):
    """The statuses of the server's answers as h11 reads them, and what h11 has against them."""

    statuses: list[int]
    fault: str


Respond = Callable[[Request], ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]]


def echo(request: Request) -> ResponseOrDisconnect:
    """Answers with the body, for every other length in two pieces."""
    body = request.body() or b""
    if len(body) % 2:
        return Response(200, (), body)
    return Response(200, (("Content-Length", str(len(body))),), _halves(body))


async def _halves(body: bytes) -> AsyncIterator[bytes]:
    yield body[:1]
    yield body[1:]


class _Recorder:
    """A handler that stores what is asked."""

    def __init__(self, respond: Respond) -> None:
        self.asked: list[Asked] = []
        self._respond = respond

    def body_max_bytes(self, head: RequestHead) -> int:
        return WHOLE_BYTES

    def respond(self, request: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        self.asked.append(Asked(request.method, request.target, _headers(request), request.body() or b""))
        return self._respond(request)


def read_by_us(
    sent: bytes, respond: Respond = echo, segment_bytes: int | None = None
) -> tuple[Verdict, bytes, list[str]]:
    """
    What the server reads of a client that sends this and ends, its answers' bytes, and the lines of its log.

    With `segment_bytes` each turn of the server's loop gets as many bytes, else the first one gets all.
    """
    recorder = _Recorder(respond)
    log: list[str] = []
    client, wire = socket.socketpair()
    client.settimeout(LIMIT_SECONDS)
    with client:
        segments = iter(
            [sent[at : at + segment_bytes] for at in range(0, len(sent), segment_bytes)] if segment_bytes else ()
        )
        if segment_bytes is None:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)

        def send_next() -> bool:
            with suppress(OSError):  # the server has ended the connection
                if (segment := next(segments, None)) is not None:
                    client.send(segment)
                    return True
                client.shutdown(socket.SHUT_WR)
            return False

        config = ServerConfig(recorder, plain_error, log.append, LIMIT_SECONDS, True, ConnectionLimits())
        _serve(wire, config, None if segment_bytes is None else send_next)
        with client.makefile("rb") as answers:
            answered = answers.read()
    last = answered.rpartition(b"HTTP/1.1 400 ")[2] if b"\r\nX-Mock-Reason: " in answered else b""
    why = last.partition(b"\r\nX-Mock-Reason: ")[2].partition(b"\r\n")[0].decode() if respond is echo else ""
    return Verdict(recorder.asked, why), answered, log


def _serve(wire: socket.socket, config: ServerConfig, send_next: Callable[[], bool] | None) -> None:
    """Serve this one connection to its end; `send_next` sends a segment, and returns False after the last one."""
    loop = ServerLoop()
    workers = Workers(loop, "reader", 1)
    shared = Shared(workers, BodyTotal(None), {}, lambda _: loop.stop())
    connection = Connection(loop, wire, config, shared)

    def turn() -> None:
        if send_next is not None and send_next():
            loop.call_soon(turn)

    turn()
    loop.run_forever()
    loop.run_until_complete(asyncio.wait([connection.task]))
    workers.stop()
    for thread in workers.threads:
        thread.join(LIMIT_SECONDS)
    loop.close()


def _headers(request: Request) -> dict[str, str]:
    named = {name.upper(): value for name, value in request.headers.items()}
    if "TRANSFER-ENCODING" in named:
        named["TRANSFER-ENCODING"] = named["TRANSFER-ENCODING"].lower()  # as h11 has it: a coding has no case
    return named


def read_by_h11(sent: bytes) -> Verdict:
    """The same by h11, which answers each request before it reads the next."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=WHOLE_BYTES)
    asked: list[Asked] = []
    connection.receive_data(sent)
    connection.receive_data(b"")
    request, body = None, b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            return Verdict(asked, str(error))
        if isinstance(event, h11.Request):
            request, body = event, b""
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            assert request is not None
            asked.append(Asked(request.method.decode(), request.target.decode(), _joined(request), body))
            connection.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))  # 2xx opens a tunnel
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return Verdict(asked, "")
            connection.start_next_cycle()
        else:
            return Verdict(asked, "")


def _joined(request: h11.Request) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers.raw_items():
        name, value = raw_name.decode("latin-1").upper(), raw_value.decode("latin-1")
        between = "; " if name == "COOKIE" else ","
        headers[name] = f"{headers[name]}{between}{value}" if name in headers else value
    return headers


def read_answers(verdict: Verdict, sent: bytes, answered: bytes) -> Answered:
    """
    The answers as h11's client reads them: one for each request, one more for what was refused, nothing after.

    What was refused may have been a HEAD request, whose answer has no body (RFC 9110 9.3.2), if its four letters were sent.
    """
    refused = ["GET", "HEAD"] if b"HEAD" in sent else ["GET"]
    readings = (
        [_read(verdict, answered, [method]) for method in refused] if verdict.why else [_read(verdict, answered, [])]
    )
    return next((reading for reading in readings if not reading.fault), readings[0])


def _read(verdict: Verdict, answered: bytes, refused: list[str]) -> Answered:
    statuses: list[int] = []
    methods = [each.method for each in verdict.asked] + refused
    for number, method in enumerate(methods):
        client = h11.Connection(h11.CLIENT, max_incomplete_event_size=WHOLE_BYTES)
        client.send(h11.Request(method="HEAD" if method == "HEAD" else "GET", target="/", headers=[("Host", "here")]))
        client.send(h11.EndOfMessage())
        client.receive_data(answered)
        client.receive_data(b"")
        try:
            while not isinstance(event := client.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Response):
                    statuses.append(event.status_code)
                elif isinstance(event, h11.ConnectionClosed):
                    return Answered(statuses, "an answer is missing")
        except h11.RemoteProtocolError as error:
            return Answered(statuses, str(error))
        answered = client.trailing_data[0]
        if client.their_state is h11.MUST_CLOSE and (answered or number + 1 < len(methods)):
            return Answered(statuses, "an answer follows one that ends the connection")
    return Answered(statuses, "bytes follow the last answer" if answered else "")
