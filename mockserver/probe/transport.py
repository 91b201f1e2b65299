"""
Calls to a service over HTTP, and their rate.

Clock and sleep are parameters, so that a test takes no time.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from mockserver.contract.text import did_you_mean

TIMEOUT_S: Final = 8.0  # a call that begins in the last second of a run still ends within a minute of its start
RUN_MAX_S: Final = 46.0
CLEAN_UP_MAX_S: Final = 51.0
WAIT_MAX_S: Final = 5.0  # the longest wait after a 429
BODY_MAX_BYTES: Final = 8 * 1024 * 1024
_BASE_URL = "http(s)://host[:port][/prefix]"
_HOST_AND_PORT = re.compile(r"[\w.-]+(:\d+)?(/.*)?")


class RawResponse(Protocol):
    """A response of the service; header names are in lower case."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class HttpTransport(Protocol):
    """Sends one call of the public API; `path` begins with /v1, and an empty `key` sends none."""

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> RawResponse: ...


class Response(NamedTuple):
    """A response received over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """
    Sends calls over one persistent connection. It follows no redirect, so that no other host receives the key.

    Raises:
        ValueError: If the base url is not http(s), or has a user, a query or a fragment.
    """

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            # `urlsplit` takes the host of an address without a scheme for one if a port follows.
            hint = did_you_mean(f"http://{base_url}") if _HOST_AND_PORT.fullmatch(base_url) else ""
            raise ValueError(f"got {_fault_of(parts)}; expected {_BASE_URL}{hint}")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(f"got a base url with a user, a query or a fragment; expected {_BASE_URL}")
        try:
            port = parts.port
        except ValueError:
            raise ValueError(f"got the base url {base_url!r}, whose port is not a number from 0 to 65535") from None
        self._netloc = parts.netloc
        self._prefix = parts.path.rstrip("/").removesuffix("/v1")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, port, timeout=TIMEOUT_S)

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one call and return its response; raise ConnectionError if none arrives."""
        sent = {"Accept": "application/json", "User-Agent": "mockserver-probe", **(headers or {})}
        if key:
            sent["X-API-Key"] = key
        # A POST without a body has a Content-Length of 0; a GET has no such header.
        content = None if method == "GET" and not body else body
        try:
            self._connection.request(method, self._prefix + path, body=content, headers=sent)
            response = self._connection.getresponse()
            received = response.read(BODY_MAX_BYTES)
            if not response.isclosed():
                self.close()
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Response(status=response.status, headers=lower, body=received)
        except (http.client.HTTPException, OSError) as failure:
            # The next call opens a new connection. This one is not repeated, since the service may have carried it out.
            self.close()
            reason = getattr(failure, "strerror", None) or type(failure).__name__  # such as `Connection refused`
            if isinstance(failure, ssl.SSLError) and not isinstance(failure, ssl.SSLCertVerificationError):
                reason = f"no TLS there{did_you_mean(f'http://{self._netloc}{self._prefix}')}"
            raise ConnectionError(f"no response ({reason})") from None

    def close(self) -> None:
        self._connection.close()


def _fault_of(parts: SplitResult) -> str:
    if parts.scheme in ("http", "https"):
        return "a base url without a host"
    return f"the scheme {parts.scheme!r}" if parts.scheme else "a base url without a scheme"


class Stop(Exception):
    """The end of a run: its time is over, or the service refuses the key, limits the rate of calls, or does not respond."""


class RateLimiter:
    """
    Spaces calls evenly, and ends a run in time. The time of the run begins with the creation.

    Args:
        per_second: Calls per second at most, above 0 and up to 1000.
        clock: Returns seconds that never decrease.
        sleep: Waits for a number of seconds.
    """

    def __init__(self, per_second: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        if not 0 < per_second <= 1000:
            raise ValueError(f"got a rate of {per_second:g} calls per second; expected more than 0 and at most 1000")
        self._gap_s = 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._started_at_s = self._free_at_s = clock()
        self._max_s = RUN_MAX_S

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started_at_s

    def wait(self) -> None:
        """Wait until the next call may be sent; raise Stop if the run would be over by then."""
        now = self._clock()
        at = max(now, self._free_at_s)
        if at - self._started_at_s > self._max_s:
            raise Stop(f"the {self._max_s:.0f} seconds that a run may take were over")
        if at > now:
            self._sleep(at - now)
        self._free_at_s = at + self._gap_s

    def back_off(self, seconds: float) -> None:
        """Delay the next call by this time, at most by `WAIT_MAX_S`."""
        self._free_at_s = max(self._free_at_s, self._clock() + min(seconds, WAIT_MAX_S))

    def extend_for_clean_up(self) -> None:
        """Add the few seconds in which a run cancels the campaigns that it created."""
        self._max_s = CLEAN_UP_MAX_S
