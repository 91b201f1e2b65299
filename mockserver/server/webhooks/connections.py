"""
Connections to receivers: to an address that was checked, and reused while deliveries are due.

1. A host's name is resolved for each new connection; a connection stays at the address that was checked.
2. A connection is reused after a whole HTTP/1.1 response of a clear length, unless the receiver announces its end, sends
   more bytes, closes it, or it is older than `_LIFETIME_SECONDS`.
3. If the receiver closes a reused connection without having read the request, as the reset by its host shows, nothing was
   processed, and the sender uses a new one (RFC 9110, 9.2.2). A request that was read, and not answered, is not sent
   again within the attempt: the receiver may have processed it.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedReader, RawIOBase
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.core.webhooks import url_policy
from mockserver.server.http1 import real_time

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from _typeshed import WriteableBuffer

RESPONSE_MAX_BYTES = 64 * 1024
CANCELED = "canceled"  # the error of a request that was canceled before its response

_WITHOUT_BODY = (204, 304)  # statuses of responses that have none, whatever their headers announce
_LIFETIME_SECONDS = 1.0  # so that a name is resolved again, and a receiver with one thread serves its other clients
_RESET_TIMEOUT_MS = 20  # for the reset that follows the end of a connection whose last bytes were not read


class StaleConnection(Exception):
    """The receiver closed a reused connection without having read the request."""


class Target(NamedTuple):
    """Parts of an endpoint's url. A connection serves every target of the same scheme, host and port."""

    scheme: str
    host: str
    port: int
    netloc: str
    path: str

    @classmethod
    def of_url(cls, url: str) -> Target:
        """Return the parts of a url that the url policy accepts."""
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, parts.hostname or "", port, parts.netloc, path)

    def post(self, headers: Mapping[str, str], body: bytes) -> bytes:
        """Return a POST request; the headers are the mock's own, the url has visible ASCII characters only."""
        fields = {"Accept-Encoding": "identity", "Content-Length": str(len(body)), "Host": self.netloc, **headers}
        lines = [f"POST {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1") + body


class InFlightRequest:
    """A request in flight: another thread can end it; each of its waits ends at the time limit."""

    def __init__(self, timeout_seconds: float) -> None:
        self._began = real_time.seconds()
        self.is_over = False
        self.woken = Event()  # set once it is over, or once its wait is over
        self._ends = self._began + timeout_seconds
        self._lock = Lock()
        self._wire: socket.socket | None = None

    @property
    def remaining_seconds(self) -> float:
        """
        The time until the limit.

        Raises:
            TimeoutError: none is left.
        """
        remaining = self._ends - real_time.seconds()
        if remaining <= 0:
            raise TimeoutError
        return remaining

    @property
    def duration_ms(self) -> int:
        return round((real_time.seconds() - self._began) * 1000)

    def take(self, wire: socket.socket) -> None:
        """Use this socket until `release`, before it is closed; raise ConnectionAbortedError if the request is over."""
        with self._lock:
            if self.is_over:
                raise ConnectionAbortedError(CANCELED)
            self._wire = wire

    def release(self) -> None:
        with self._lock:
            self._wire = None

    def end(self) -> None:
        with self._lock, suppress(OSError):
            self.is_over = True
            self.woken.set()
            if self._wire is not None:
                socket.socket.shutdown(self._wire, socket.SHUT_RDWR)  # a TLS socket's own would also drop its session

    def close_copy(self) -> None:
        """Close only this process's copy of the socket: in a fork, whose parent waits for the response."""
        if self._wire is not None:
            self._wire.close()


class _Stream(RawIOBase):
    """The bytes that a receiver sends within the time limit of the current request."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self.request: InFlightRequest | None = None
        self.received = 0  # bytes since the request

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if self.request is None:
            return 0
        self._wire.settimeout(self.request.remaining_seconds)
        count = self._wire.recv_into(buffer)
        self.received += count
        return count


class _Reader(BufferedReader):
    """A reader that outlives each response, which closes it at its end."""

    def close(self) -> None:
        """Do nothing: the connection closes its socket itself."""


class ReceiverConnection:
    """
    A connection to a receiver.

    Lifetime: until `close`; one request at a time.
    """

    def __init__(self, wire: socket.socket) -> None:
        self.wire = wire
        self.is_reusable = False
        self._opened = real_time.seconds()
        self._is_used = False
        self._stream = _Stream(wire)
        self._reader = _Reader(self._stream)

    def makefile(self, mode: str) -> _Reader:
        """Return the reader for a response of http.client, which takes this object as its socket."""
        return self._reader

    def exchange(self, request: InFlightRequest, message: bytes) -> tuple[HTTPResponse, bytes]:
        """
        Send a request and read the response.

        Returns:
            The final response, and its body up to a bound.

        Raises:
            StaleConnection: this connection was used before, and the receiver has not read the request.
            OSError: there is no response within the time limit.
            HTTPException: the response is not valid.
        """
        is_reused, self._is_used, self.is_reusable = self._is_used, True, False
        self._stream.request, self._stream.received = request, 0
        try:
            self.wire.settimeout(request.remaining_seconds)
            self.wire.sendall(message)
            response = self._final_response()
        except OSError as failure:
            if is_reused and not (self._stream.received or request.is_over) and _is_refused(self.wire, failure):
                raise StaleConnection from failure
            raise
        with response:
            content = b"" if response.status in _WITHOUT_BODY else _content(response)
            is_whole = response.isclosed() or response.status in _WITHOUT_BODY
        self._stream.request = None
        self.is_reusable = is_whole and _keeps_open(response) and not self._reader.peek(1)
        return response, content

    def _final_response(self) -> HTTPResponse:
        """Return the response after the interim ones."""
        from http.client import HTTPResponse

        while True:
            response = HTTPResponse(self, method="POST")  # type: ignore[arg-type]  # it takes the reader alone
            response.begin()
            if response.status >= 200 or response.status == 101:
                return response
            response.close()

    def is_open(self) -> bool:
        """Return True if it may be used for another request: the receiver has neither closed it nor sent more bytes."""
        if real_time.seconds() - self._opened > _LIFETIME_SECONDS:
            return False
        self.wire.settimeout(0)
        try:
            socket.socket.recv(self.wire, 1, socket.MSG_PEEK)  # a TLS socket's own takes no flags
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        with suppress(OSError):
            self.wire.close()


def _content(response: HTTPResponse) -> bytes:
    """Return the body up to the bound; raise IncompleteRead for one that ends too early."""
    from http.client import IncompleteRead

    content = response.read(RESPONSE_MAX_BYTES)
    if response.length and len(content) < RESPONSE_MAX_BYTES:
        raise IncompleteRead(content, response.length)
    return content


def _keeps_open(response: HTTPResponse) -> bool:
    """Return True if the connection can have another request after this response, whose end is beyond doubt."""
    lengths = response.headers.get_all("Content-Length", [])
    codings = response.headers.get_all("Transfer-Encoding", [])
    options = ",".join(response.headers.get_all("Connection", [])).lower()
    if response.status in _WITHOUT_BODY:
        is_clear = not codings and lengths in ([], ["0"])  # some receivers send a body nevertheless
    else:
        is_clear = len(lengths) + len(codings) == 1
    return is_clear and response.version == 11 and response.status != 101 and "close" not in options


def _is_refused(wire: socket.socket, failure: OSError) -> bool:
    """Return True if the receiver's host has reset the connection: it was closed before all that was sent was read."""
    from http.client import RemoteDisconnected

    if isinstance(failure, ConnectionError) and not isinstance(failure, RemoteDisconnected):
        return True
    if isinstance(failure, TimeoutError) or not hasattr(select, "poll"):
        return False
    poll = select.poll()  # Linux reports the end first, and the reset that follows as a state of the socket
    poll.register(wire, 0)
    return bool(poll.poll(_RESET_TIMEOUT_MS))


def connect(request: InFlightRequest, target: Target, allowed_hosts: frozenset[str]) -> ReceiverConnection:
    """
    Return a connection to the first address of the target's host that accepts; the name is resolved here, once.

    Raises:
        ConnectionRefusedError: an address of the host is not allowed.
        OSError: no address accepts.
    """
    addresses = _resolve(request, target.host, target.port)
    _check_addresses(target.host, addresses, allowed_hosts)
    failure: Exception = OSError(f"{target.host} has no address")
    for family, _, _, _, address in dict.fromkeys(addresses):
        wire = socket.socket(family, socket.SOCK_STREAM)
        try:
            request.take(wire)
            wire.settimeout(request.remaining_seconds)
            wire.connect(address)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return ReceiverConnection(_with_tls(request, wire, target.host) if target.scheme == "https" else wire)
        except Exception as refused:  # noqa: BLE001 - the next address may accept
            request.release()
            wire.close()
            failure = refused
        if request.is_over:
            break
    raise failure


def _check_addresses(host: str, addresses: list[Any], allowed_hosts: frozenset[str]) -> None:
    """Refuse a host with an address that the url policy rejects."""
    for info in addresses:
        address = str(info[-1][0])
        reason = url_policy.address_rejection(host, address, allowed_hosts)
        if reason is not None:
            raise ConnectionRefusedError(f"refused: {host} is {address}, {reason}")


def _resolve(request: InFlightRequest, host: str, port: int) -> list[Any]:
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
    if not request.woken.wait(request.remaining_seconds):
        raise TimeoutError
    if request.is_over:
        raise ConnectionAbortedError(CANCELED)
    if failures:
        raise failures[0]
    return addresses


def _with_tls(request: InFlightRequest, wire: socket.socket, host: str) -> socket.socket:
    """Return the connection under TLS, with the certificate verified for the host."""
    import ssl

    context = ssl.create_default_context()
    secured = context.wrap_socket(wire, server_hostname=host, do_handshake_on_connect=False)
    try:
        request.take(secured)
        secured.settimeout(request.remaining_seconds)
        secured.do_handshake()
    except BaseException:
        request.release()
        secured.close()
        raise
    return secured


class IdleConnections:
    """The connections that wait for another request, by scheme, host and port. Lock: the caller's."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str, int], list[ReceiverConnection]] = {}

    def add(self, target: Target, connection: ReceiverConnection) -> None:
        self._connections.setdefault(target[:3], []).append(connection)

    def take(self, target: Target) -> ReceiverConnection | None:
        """Return one that is open; close those that are not."""
        connections = self._connections.get(target[:3], [])
        while connections:
            connection = connections.pop()
            if connection.is_open():
                return connection
            connection.close()
        return None

    def close_all(self) -> None:
        while self._connections:
            _, connections = self._connections.popitem()
            for connection in connections:
                connection.close()
