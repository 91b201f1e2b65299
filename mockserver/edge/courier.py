"""
The courier: posts one letter over a socket, and says what came of it.

1. It goes to this machine alone, or to hosts that were allowed by name; the address it connects to is looked at again.
2. No redirect is followed, no proxy is used, an answer is read up to a bound, and the whole takes `timeout_seconds` at most.
3. `let_go` ends whatever is under way at once.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from threading import Lock, Timer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mockserver.core import targets
from mockserver.core.instants import SECOND, Instant, Span, from_datetime
from mockserver.core.schedule import TIMEOUT

if TYPE_CHECKING:
    from urllib3.connection import HTTPConnection

TIMEOUT_SECONDS = 15.0  # fixed decision `wh-timeout`
ANSWER_MAX_BYTES = 64 * 1024

# In a tuple, where freezegun does not look for clocks to freeze.
_REAL: tuple[Callable[[], float]] = (time.monotonic,)


class Outcome(NamedTuple):
    """What came of a letter: the endpoint's status and the first of its body, or why there is none."""

    status: int | None
    error: str | None = None
    duration_ms: int = 0
    retry_after: Span | None = None
    answer: bytes = b""


class _Flight:
    """One letter on its way: it can be ended from another thread, and ends by itself when its time is up."""

    def __init__(self) -> None:
        self.connection: HTTPConnection | None = None
        self.wire: socket.socket | None = (
            None  # kept, since a connection forgets its socket once the answer is to end it
        )
        self.is_late = False
        self.is_over = False

    def expire(self) -> None:
        self.is_late = True
        self.end()

    def end(self) -> None:
        self.is_over = True
        wire = self.wire or (self.connection.sock if self.connection is not None else None)
        if wire is not None:
            with suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)


class Courier:
    """Posts letters. Lives as long as its sandbox; `post` may run in several threads at once."""

    def __init__(self, allowed_hosts: frozenset[str] = frozenset(), timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.allowed_hosts = allowed_hosts
        self.timeout_seconds = timeout_seconds
        self._flights: set[_Flight] = set()
        self._lock = Lock()

    def post(self, url: str, headers: Mapping[str, str], body: bytes, wall: Instant) -> Outcome:
        """Post it, and wait for the answer; whatever goes wrong on the way is in the outcome."""
        (now,) = _REAL
        began, flight = now(), _Flight()
        watch = Timer(self.timeout_seconds, flight.expire)
        watch.daemon = True
        with self._lock:
            self._flights.add(flight)
        watch.start()
        try:
            outcome = self._delivered(flight, url, headers, body, wall)
        except Exception as failure:  # noqa: BLE001 - whatever the wire or the endpoint does is a failed attempt
            outcome = Outcome(None, TIMEOUT if flight.is_late or _is_timeout(failure) else _reason(failure))
        finally:
            watch.cancel()
            watch.join()
            with self._lock:
                self._flights.discard(flight)
            if flight.connection is not None:
                flight.connection.close()
        return outcome._replace(duration_ms=round((now() - began) * 1000))

    def let_go(self) -> None:
        """End every letter under way."""
        with self._lock:
            flights = list(self._flights)
        for flight in flights:
            flight.end()

    def _delivered(self, flight: _Flight, url: str, headers: Mapping[str, str], body: bytes, wall: Instant) -> Outcome:
        wanted = targets.wanted(url, self.allowed_hosts)
        if wanted is not None:
            return Outcome(None, f"refused: wanted {wanted}")
        connection = self._connected(flight, url)
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"Host": parts.netloc, **headers}
        connection.request("POST", path, body=body, headers=sent, preload_content=False, decode_content=False)
        with connection.getresponse() as answer:
            answer_body = answer.read(ANSWER_MAX_BYTES, decode_content=False)
            wait = retry_after(answer.headers.get("Retry-After"), wall)
            if flight.is_late:
                return Outcome(None, TIMEOUT)
            return Outcome(answer.status, None, 0, wait, answer_body)

    def _connected(self, flight: _Flight, url: str) -> HTTPConnection:
        """A connection to the first address of the url's host that answers; the name is resolved once, and here alone."""
        from urllib3.connection import HTTPConnection, HTTPSConnection

        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if host not in self.allowed_hosts:
            strangers = [each for each in addresses if not targets.is_loopback(each)]
            if strangers:
                raise ConnectionRefusedError(f"refused: {host} is {strangers[0]}, which is not this machine")
        failure: Exception = OSError(f"{host} has no address")
        for address in addresses:
            if parts.scheme == "https":
                flight.connection = HTTPSConnection(
                    address, port, timeout=self.timeout_seconds, server_hostname=host, assert_hostname=host
                )
            else:
                flight.connection = HTTPConnection(address, port, timeout=self.timeout_seconds)
            try:
                flight.connection.connect()
            except Exception as refused:  # noqa: BLE001 - the next address may answer
                failure = refused
                continue
            flight.wire = flight.connection.sock
            if flight.is_over:
                raise ConnectionAbortedError("let go")
            return flight.connection
        raise failure


def _is_timeout(failure: BaseException | None) -> bool:
    while failure is not None:
        if isinstance(failure, TimeoutError) or "Timeout" in type(failure).__name__:
            return True
        failure = failure.__cause__ or failure.__context__
    return False


def _reason(failure: Exception) -> str:
    if isinstance(failure, ConnectionRefusedError | ConnectionAbortedError) and failure.args and len(failure.args) == 1:
        return str(failure.args[0])
    cause = failure.__cause__ or failure
    return f"no answer: {type(cause).__name__}"


def retry_after(written: str | None, wall: Instant) -> Span | None:
    """The wait that an endpoint asks for, in seconds or as an HTTP date; None where it asks for none that can be read."""
    if written is None:
        return None
    if written.isascii() and written.isdigit() and len(written) < 10:
        return int(written) * SECOND
    try:
        return max(0, from_datetime(parsedate_to_datetime(written)) - wall)
    except (ValueError, TypeError):
        return None
