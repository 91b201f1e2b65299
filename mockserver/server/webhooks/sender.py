"""
Sender: one request of a delivery over HTTP, and its result.

1. A request is sent to this machine only, or to a host that was allowed by name. The address to which it connects is checked.
2. It follows no redirect, uses no proxy, reads a response up to a bound, and takes at most `timeout_seconds`.
3. `cancel_all` ends a request immediately, while it resolves a name, connects, does a handshake or reads a response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from mockserver.contract.limits import WEBHOOK_TIMEOUT_SECONDS
from mockserver.core.webhooks import url_policy
from mockserver.core.webhooks.retry_schedule import TIMEOUT
from mockserver.server.errors import causes
from mockserver.server.webhooks.connections import (
    CANCELED,
    IdleConnections,
    InFlightRequest,
    ReceiverConnection,
    StaleConnection,
    Target,
    connect,
)

if TYPE_CHECKING:
    from http.client import HTTPResponse


class SendResult(NamedTuple):
    """
    Result of a request: the endpoint's status, Retry-After as sent and the beginning of its body, or the error.

    `exit` is what a receiver in this process raised to end the test, such as by `pytest.fail`; the sender raises it again
    once the result is recorded.
    """

    status: int | None
    error: str | None = None
    duration_ms: int = 0
    retry_after: str = ""
    body: bytes = b""
    exit: BaseException | None = None


class HttpSender:
    """
    Sends webhook requests; `send` may run in several threads at a time.

    Lifetime: that of its sandbox.
    """

    def __init__(
        self, allowed_hosts: frozenset[str] = url_policy.THIS_MACHINE, timeout_seconds: float = WEBHOOK_TIMEOUT_SECONDS
    ) -> None:
        self.allowed_hosts = allowed_hosts
        self.timeout_seconds = timeout_seconds
        self._in_flight: set[InFlightRequest] = set()
        self._idle = IdleConnections()
        self._lock = Lock()
        self._is_closed = False

    def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> SendResult:
        """
        Send a POST request and wait for the response; its connection stays open for the next one until `close_idle`.

        Args:
            url: of the endpoint; an address that the url policy rejects is an error of the result.
            headers: in addition to Host and Content-Length.
            body: the request's bytes.
            is_wanted: called once `cancel_all` can end the request; nothing is sent if it returns False.

        Returns:
            The endpoint's response, or the error of any kind.
        """
        request = InFlightRequest(self.timeout_seconds)
        with self._lock:
            self._in_flight.add(request)
            is_closed = self._is_closed
        try:
            if is_closed or not is_wanted():
                return SendResult(None, CANCELED)
            target = self._target(url)
            response, content = self._exchange(request, target, target.post(headers, body))
            result = SendResult(
                status=response.status,
                error=None,
                duration_ms=0,
                retry_after=response.headers.get("Retry-After", ""),
                body=content,
            )
        except Exception as failure:  # noqa: BLE001 - any error of the network or the endpoint is a failed attempt
            result = SendResult(None, _reason(failure, request))
        finally:
            with self._lock:
                self._in_flight.discard(request)
        return result._replace(duration_ms=request.duration_ms)

    def cancel_all(self, *, for_good: bool = False) -> None:
        """End every request in flight and close the idle connections; with `for_good` nothing is sent after that."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            for request in self._in_flight:
                request.end()
            self._idle.close_all()

    def in_fork(self) -> HttpSender:
        """Return a sender without the parent's requests, whose sockets this process closes its copies of."""
        for request in self._in_flight:
            request.close_copy()
        self._idle.close_all()
        return HttpSender(self.allowed_hosts, self.timeout_seconds)

    def close_idle(self) -> None:
        """Close the connections that wait for another request."""
        with self._lock:
            self._idle.close_all()

    def _target(self, url: str) -> Target:
        """Return the url's parts; raise ConnectionRefusedError for one that the url policy rejects."""
        expected = url_policy.rejection_reason(url, self.allowed_hosts)
        if expected is not None:
            raise ConnectionRefusedError(f"refused: expected {expected}")
        return Target.of_url(url)

    def _exchange(self, request: InFlightRequest, target: Target, message: bytes) -> tuple[HTTPResponse, bytes]:
        """Send a request over an idle connection; over a new one if there is none, or if the receiver had closed it."""
        with self._lock:
            reused = self._idle.take(target)
        if reused is not None:
            with suppress(StaleConnection):
                return self._exchange_over(reused, request, target, message)
        return self._exchange_over(connect(request, target, self.allowed_hosts), request, target, message)

    def _exchange_over(
        self, connection: ReceiverConnection, request: InFlightRequest, target: Target, message: bytes
    ) -> tuple[HTTPResponse, bytes]:
        try:
            request.take(connection.wire)
            return connection.exchange(request, message)
        finally:
            request.release()
            with self._lock:
                is_idle = connection.is_reusable and not request.is_over
                if is_idle:
                    self._idle.add(target, connection)
            if not is_idle:
                connection.close()


def _reason(failure: Exception, request: InFlightRequest) -> str:
    """Return why there is no response; an error after a cancellation is not the endpoint's."""
    if any(isinstance(cause, TimeoutError) for cause in causes(failure)):
        return TIMEOUT
    if request.is_over:
        return CANCELED
    if isinstance(failure, ConnectionRefusedError) and len(failure.args) == 1:
        return str(failure.args[0])
    return f"no response: {type(failure).__name__}"
