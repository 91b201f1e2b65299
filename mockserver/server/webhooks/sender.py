"""
Sender: one request of a delivery over HTTP, and its result.

1. A request is sent to this machine only, or to a host that was allowed by name; the resolved address is checked again.
2. It follows no redirect, uses no proxy, reads a response up to a bound, and takes at most `timeout_seconds`.
3. `cancel_all` ends a request immediately, while it resolves a name, connects, does a handshake or reads a response.
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
RESPONSE_MAX_BYTES = 64 * 1024
CANCELED = "canceled"  # the error of a request that was canceled before its response

# In a tuple, where freezegun does not search for clocks to freeze.
_REAL: tuple[Callable[[], float]] = (time.monotonic,)


class SendResult(NamedTuple):
    """Result of a request: the endpoint's status and the beginning of its body, or the error."""

    status: int | None
    error: str | None = None
    duration_ms: int = 0
    retry_after: Duration | None = None
    body: bytes = b""


class _InFlightRequest:
    """A request in flight: another thread can end it, and a timer ends it at the time limit."""

    def __init__(self) -> None:
        self.is_late = False
        self.is_over = False
        self.woken = Event()  # set once it is over, or once its wait is over
        self._lock = Lock()
        self._handle: socket.socket | None = None  # a duplicate: TLS and the response detach the first one

    def take(self, wire: socket.socket) -> None:
        """Use this socket; raise ConnectionAbortedError if the request is over."""
        with self._lock:
            self._close()
            if self.is_over:
                raise ConnectionAbortedError(CANCELED)
            self._handle = wire.dup()

    def expire(self) -> None:
        self.is_late = True
        self.end()

    def end(self) -> None:
        with self._lock, suppress(OSError):
            self.is_over = True
            self.woken.set()
            if self._handle is not None:
                self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


class HttpSender:
    """
    Sends webhook requests; `send` may run in several threads at a time.

    Lifetime: that of its sandbox.
    """

    def __init__(self, allowed_hosts: frozenset[str] = frozenset(), timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.allowed_hosts = allowed_hosts
        self.timeout_seconds = timeout_seconds
        self._in_flight: set[_InFlightRequest] = set()
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
        Send a POST request and wait for the response.

        Args:
            url: of the endpoint; an address that the url policy rejects is an error of the result.
            headers: in addition to Host and Content-Length.
            body: the request's bytes.
            wall: the process's instant, from which a Retry-After date counts.
            is_wanted: called once `cancel_all` can end the request; nothing is sent if it returns False.

        Returns:
            The endpoint's response, or the error of any kind.
        """
        (now,) = _REAL
        began, request = now(), _InFlightRequest()
        with self._lock:
            self._in_flight.add(request)
            is_closed = self._is_closed
        if is_closed or not is_wanted():
            with self._lock:
                self._in_flight.discard(request)
            return SendResult(None, CANCELED)
        time_limit = Timer(self.timeout_seconds, request.expire)
        time_limit.daemon = True
        time_limit.start()
        try:
            result = self._post(request, url, headers, body, wall)
        except Exception as failure:  # noqa: BLE001 - any error of the network or the endpoint is a failed attempt
            result = SendResult(None, _reason(failure, request))
        finally:
            time_limit.cancel()
            time_limit.join()
            with self._lock:
                self._in_flight.discard(request)
            request.close()
        return result._replace(duration_ms=round((now() - began) * 1000))

    def cancel_all(self, *, for_good: bool = False) -> None:
        """End every request in flight; with `for_good` nothing is sent after that."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            requests = list(self._in_flight)
        for request in requests:
            request.end()

    def _post(
        self, request: _InFlightRequest, url: str, headers: Mapping[str, str], body: bytes, wall: Instant
    ) -> SendResult:
        from http.client import HTTPConnection, IncompleteRead

        expected = url_policy.rejection_reason(url, self.allowed_hosts)
        if expected is not None:
            return SendResult(None, f"refused: expected {expected}")
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=self.timeout_seconds)
        with closing(connection):
            connection.sock = self._connect(request, url)
            connection.request("POST", path, body=body, headers={"Host": parts.netloc, **headers})
            with connection.getresponse() as response:
                content = response.read(RESPONSE_MAX_BYTES)
                is_whole = not response.length or len(content) == RESPONSE_MAX_BYTES
            if not is_whole:
                raise IncompleteRead(content, response.length)
            if request.is_late:
                return SendResult(None, TIMEOUT)
            wait = retry_after(response.headers.get("Retry-After", ""), wall)
            return SendResult(response.status, None, 0, wait, content)

    def _connect(self, request: _InFlightRequest, url: str) -> socket.socket:
        """Return a socket to the first address of the url's host that accepts; the name is resolved here, once."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        addresses = _resolve(request, host, port)
        self._check_addresses(host, addresses)
        failure: Exception = OSError(f"{host} has no address")
        for family, _, _, _, address in dict.fromkeys(addresses):
            wire = socket.socket(family, socket.SOCK_STREAM)
            try:
                wire.settimeout(self.timeout_seconds)
                request.take(wire)
                wire.connect(address)
                return _with_tls(wire, host) if parts.scheme == "https" else wire
            except Exception as refused:  # noqa: BLE001 - the next address may accept
                wire.close()
                failure = refused
            if request.is_over:
                break
        raise failure

    def _check_addresses(self, host: str, addresses: list[Any]) -> None:
        """Refuse a host that resolves to another machine, unless it is allowed by name."""
        remote = (str(info[-1][0]) for info in addresses if not url_policy.is_loopback(str(info[-1][0])))
        address = None if host in self.allowed_hosts else next(remote, None)
        if address is not None:
            raise ConnectionRefusedError(f"refused: {host} is {address}, which is not this machine")


def _resolve(request: _InFlightRequest, host: str, port: int) -> list[Any]:
    """Return the addresses of a host; a thread of its own resolves a name, and no caller waits for it once the request is over."""
    if url_policy.is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses: list[Any] = []
    failures: list[OSError | UnicodeError] = []

    def resolve() -> None:
        try:
            addresses.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as failure:
            failures.append(failure)
        request.woken.set()

    Thread(target=resolve, name="mockserver resolver", daemon=True).start()
    request.woken.wait()
    if request.is_over:
        raise ConnectionAbortedError(CANCELED)
    if failures:
        raise failures[0]
    return addresses


def _with_tls(wire: socket.socket, host: str) -> socket.socket:
    """Return the connection under TLS, with the certificate verified for the host."""
    import ssl

    return ssl.create_default_context().wrap_socket(wire, server_hostname=host)


def _is_timeout(failure: BaseException | None) -> bool:
    while failure is not None:
        if isinstance(failure, TimeoutError):
            return True
        failure = failure.__cause__ or failure.__context__
    return False


def _reason(failure: Exception, request: _InFlightRequest) -> str:
    """Return why there is no response; an error after a cancellation is not the endpoint's."""
    if request.is_late or _is_timeout(failure):
        return TIMEOUT
    if request.is_over:
        return CANCELED
    if isinstance(failure, ConnectionRefusedError) and len(failure.args) == 1:
        return str(failure.args[0])
    return f"no response: {type(failure).__name__}"
