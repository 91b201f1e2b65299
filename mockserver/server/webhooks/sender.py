"""
The sender: one request of a delivery over HTTP, and its result.

The courier: posts one letter over a socket, and says what came of it.

1. It goes to this machine alone, or to hosts that were allowed by name; the address it connects to is looked at again.
2. No redirect is followed, no proxy is used, an answer is read up to a bound, and the whole takes `timeout_seconds` at most.
3. `let_go` ends whatever is under way at once: the resolving of a name, a connection, a handshake, an answer.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from threading import Event, Lock, Thread, Timer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.core.instants import Duration, Instant, retry_after
from mockserver.core.webhooks import url_policy
from mockserver.core.webhooks.retry_schedule import TIMEOUT

TIMEOUT_SECONDS = 15.0  # fixed decision `wh-timeout`
ANSWER_MAX_BYTES = 64 * 1024
LET_GO = "let go"  # the error of a letter that was ended before its answer came

# In a tuple, where freezegun does not look for clocks to freeze.
_REAL: tuple[Callable[[], float]] = (time.monotonic,)


class SendResult(NamedTuple):
    """What came of a letter: the endpoint's status and the first of its body, or why there is none."""

    status: int | None
    error: str | None = None
    duration_ms: int = 0
    retry_after: Duration | None = None
    answer: bytes = b""


class _InFlightRequest:
    """One letter on its way: it can be ended from another thread, and ends by itself when its time is up."""

    def __init__(self) -> None:
        self.is_late = False
        self.is_over = False
        self.woken = Event()  # set once it is over, or once what it waits for has come
        self._lock = Lock()
        self._handle: socket.socket | None = None  # a second one: TLS and the answer take the first one away

    def take(self, wire: socket.socket) -> None:
        """Use this socket from now on; refuses with ConnectionAbortedError if the flight is over."""
        with self._lock:
            self._close()
            if self.is_over:
                raise ConnectionAbortedError(LET_GO)
            self._handle = wire.dup()

    def expire(self) -> None:
        self.is_late = True
        self.end()

    def end(self) -> None:
        with self._lock:
            self.is_over = True
            self.woken.set()
            if self._handle is not None:
                with suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


class HttpSender:
    """Posts letters. Lives as long as its sandbox; `post` may run in several threads at once."""

    def __init__(self, allowed_hosts: frozenset[str] = frozenset(), timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.allowed_hosts = allowed_hosts
        self.timeout_seconds = timeout_seconds
        self._flights: set[_InFlightRequest] = set()
        self._lock = Lock()
        self._is_closed = False

    def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        wall: Instant,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> SendResult:
        """
        Post it, and wait for the answer; whatever goes wrong on the way is in the outcome.

        `is_wanted` is called once `let_go` can end the letter, so that none is sent after the reason for it has gone.
        """
        (now,) = _REAL
        began, flight = now(), _InFlightRequest()
        with self._lock:
            self._flights.add(flight)
            is_closed = self._is_closed
        if is_closed or not is_wanted():
            with self._lock:
                self._flights.discard(flight)
            return SendResult(None, LET_GO)
        watch = Timer(self.timeout_seconds, flight.expire)
        watch.daemon = True
        watch.start()
        try:
            outcome = self._delivered(flight, url, headers, body, wall)
        except Exception as failure:  # noqa: BLE001 - whatever the wire or the endpoint does is a failed attempt
            outcome = SendResult(None, _reason(failure, flight))
        finally:
            watch.cancel()
            watch.join()
            with self._lock:
                self._flights.discard(flight)
            flight.close()
        return outcome._replace(duration_ms=round((now() - began) * 1000))

    def cancel_all(self, *, for_good: bool = False) -> None:
        """End every letter under way; `for_good` none is sent any more."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            flights = list(self._flights)
        for flight in flights:
            flight.end()

    def _delivered(
        self, flight: _InFlightRequest, url: str, headers: Mapping[str, str], body: bytes, wall: Instant
    ) -> SendResult:
        from http.client import HTTPConnection, IncompleteRead

        wanted = url_policy.rejection_reason(url, self.allowed_hosts)
        if wanted is not None:
            return SendResult(None, f"refused: wanted {wanted}")
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=self.timeout_seconds)
        with closing(connection):
            connection.sock = self._connected(flight, url)
            connection.request("POST", path, body=body, headers={"Host": parts.netloc, **headers})
            with connection.getresponse() as answer:
                answer_body = answer.read(ANSWER_MAX_BYTES)
                if answer.length and len(answer_body) < ANSWER_MAX_BYTES:
                    raise IncompleteRead(answer_body, answer.length)
                if flight.is_late:
                    return SendResult(None, TIMEOUT)
                wait = retry_after(answer.headers.get("Retry-After", ""), wall)
                return SendResult(answer.status, None, 0, wait, answer_body)

    def _connected(self, flight: _InFlightRequest, url: str) -> socket.socket:
        """A socket to the first address of the url's host that answers; the name is resolved once, and here alone."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        found = _resolved(flight, host, port)
        if host not in self.allowed_hosts:
            strangers = [str(each[-1][0]) for each in found if not url_policy.is_loopback(str(each[-1][0]))]
            if strangers:
                raise ConnectionRefusedError(f"refused: {host} is {strangers[0]}, which is not this machine")
        failure: Exception = OSError(f"{host} has no address")
        for family, _, _, _, address in dict.fromkeys(found):
            wire = socket.socket(family, socket.SOCK_STREAM)
            try:
                wire.settimeout(self.timeout_seconds)
                flight.take(wire)
                wire.connect(address)
                return _secured(wire, host) if parts.scheme == "https" else wire
            except Exception as refused:  # noqa: BLE001 - the next address may answer
                wire.close()
                failure = refused
                if flight.is_over:
                    break
        raise failure


def _resolved(flight: _InFlightRequest, host: str, port: int) -> list[Any]:
    """The addresses of a host; a name is looked up in a thread of its own, which is left alone once the flight is over."""
    if url_policy.is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found: list[Any] = []
    failures: list[OSError | UnicodeError] = []

    def resolve() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as failure:
            failures.append(failure)
        flight.woken.set()

    Thread(target=resolve, name="mockserver resolver", daemon=True).start()
    flight.woken.wait()
    if flight.is_over:
        raise ConnectionAbortedError(LET_GO)
    if failures:
        raise failures[0]
    return found


def _secured(wire: socket.socket, host: str) -> socket.socket:
    """The connection under TLS, the certificate checked against the host."""
    import ssl

    return ssl.create_default_context().wrap_socket(wire, server_hostname=host)


def _is_timeout(failure: BaseException | None) -> bool:
    while failure is not None:
        if isinstance(failure, TimeoutError):
            return True
        failure = failure.__cause__ or failure.__context__
    return False


def _reason(failure: Exception, flight: _InFlightRequest) -> str:
    """Why there is no answer; what a flight's end has broken is not the endpoint's doing."""
    if flight.is_late or _is_timeout(failure):
        return TIMEOUT
    if flight.is_over:
        return LET_GO
    if isinstance(failure, ConnectionRefusedError) and len(failure.args) == 1:
        return str(failure.args[0])
    return f"no answer: {type(failure).__name__}"
