"""
Sender: one request of a delivery over HTTP, and its result.

1. A request is sent to this machine only, or to a host that was allowed by name. The address to which it connects is checked.
2. A thread of its own makes the request, whatever it waits for: a name, a connection, a handshake, a response. The caller
   waits for the result, for the time limit or for `cancel_all`, and then the connection ends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from mockserver.contract.limits import WEBHOOK_TIMEOUT_SECONDS
from mockserver.core.webhooks import url_policy
from mockserver.core.webhooks.retry_schedule import TIMEOUT
from mockserver.server.http1 import real_time
from mockserver.server.webhooks.results import CANCELED, SendResult


class _InFlight:
    """A request in flight; the first of its results counts."""

    def __init__(self) -> None:
        self.results: SimpleQueue[SendResult] = SimpleQueue()
        self._lock = Lock()
        self._is_over = False
        self._wire: socket.socket | None = None  # a duplicate of the connection's, which its thread closes itself

    def keep(self, wire: socket.socket) -> None:
        """Have `end` end this connection; raise ConnectionAbortedError if that was called before."""
        with self._lock:
            if self._is_over:
                raise ConnectionAbortedError(CANCELED)
            self._wire = wire.dup()

    def end(self) -> None:
        """Wake the caller, and end the connection; a second call does nothing."""
        self.results.put(SendResult(None, CANCELED))
        with self._lock:
            self._is_over = True
            wire, self._wire = self._wire, None
        if wire is not None:
            with wire, suppress(OSError):  # the receiver has ended it
                wire.shutdown(socket.SHUT_RDWR)


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
        self._in_flight: set[_InFlight] = set()
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
        Send a POST request and wait for the response.

        Args:
            url: of the endpoint; an address that the url policy rejects is an error of the result.
            headers: in addition to Host and Content-Length.
            body: the request's bytes.
            is_wanted: called once `cancel_all` can end the request; nothing is sent if it returns False.

        Returns:
            The endpoint's response, or the error of any kind.
        """
        expected = url_policy.rejection_reason(url, self.allowed_hosts)
        if expected is not None:
            return SendResult(None, f"refused: expected {expected}")
        began, request = real_time.seconds(), _InFlight()
        with self._lock:
            self._in_flight.add(request)
            is_closed = self._is_closed
        try:
            if is_closed or not is_wanted():
                return SendResult(None, CANCELED)
            sending = Thread(
                target=self._post, args=(request, url, headers, body), name="mockserver request", daemon=True
            )
            sending.start()
            result = request.results.get(timeout=self.timeout_seconds)
        except Empty:
            result = SendResult(None, TIMEOUT)
        finally:
            with self._lock:
                self._in_flight.discard(request)
            request.end()
        return replace(result, duration_ms=round((real_time.seconds() - began) * 1000))

    def _post(self, request: _InFlight, url: str, headers: Mapping[str, str], body: bytes) -> None:
        from mockserver.server.webhooks import posting  # imported here: http.client is slow to import

        try:
            result = posting.post(
                url,
                headers,
                body,
                allowed_hosts=self.allowed_hosts,
                timeout_seconds=self.timeout_seconds,
                on_connected=request.keep,
            )
        except posting.RefusedAddress as refusal:
            result = SendResult(None, f"refused: {refusal}")
        except TimeoutError:
            result = SendResult(None, TIMEOUT)
        except Exception as failure:  # noqa: BLE001 - any error of the network or the endpoint is a failed attempt
            result = SendResult(None, f"no response: {type(failure).__name__}")
        request.results.put(result)

    def cancel_all(self, *, for_good: bool = False) -> None:
        """End every request in flight; with `for_good` nothing is sent after that."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            for request in self._in_flight:
                request.end()
