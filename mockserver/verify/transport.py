"""
Calls to a service over HTTP, at the pace of a run.

How a call reaches a service: the protocol that a run speaks, and its implementation over HTTP.

The pace of a run: so many calls a second, and an end before the minute is over. Clock and sleep are given.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

TIMEOUT_S = 8.0  # a call that begins in the last second of a run still ends within the minute
BODY_MAX_BYTES = 8 * 1024 * 1024


class Answered(Protocol):
    """What a transport brings back; header names are lower-case."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class HttpTransport(Protocol):
    """One call of the public API; `path` begins with /v1, and an empty `key` sends none."""

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answered: ...


class Response(NamedTuple):
    """An answer that came over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """
    Calls over one kept connection. Redirects are not followed, so the key goes to no other host.

    Refuses with ValueError a base url that is not http(s), or that carries a user, a query or a fragment.
    """

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            got = f"the scheme {parts.scheme!r}" if parts.scheme else "a base url without a scheme"
            got = "a base url without a host" if parts.scheme in ("http", "https") else got
            raise ValueError(f"got {got}; expected http(s)://host[:port][/prefix]")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(
                "the base url carries a user, a query or a fragment; wanted http(s)://host[:port][/prefix]"
            )
        self._prefix = parts.path.rstrip("/").removesuffix("/v1")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_S)

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The answer; ConnectionError or another OSError where none came."""
        sent = {"Accept": "application/json", "User-Agent": "mockserver-verify", **(headers or {})}
        if key:
            sent["X-API-Key"] = key
        try:
            return self._exchange(method, path, body, sent)
        except (http.client.HTTPException, OSError) as failure:
            # The next call opens the connection anew; this one is not repeated, since it may have been carried out.
            self.close()
            raise ConnectionError(f"no answer: {type(failure).__name__}") from None

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        # A POST without a body says so; a GET has none to speak of.
        content = body if body or method != "GET" else None
        self._connection.request(method, self._prefix + path, body=content, headers=dict(headers))
        response = self._connection.getresponse()
        content = response.read(BODY_MAX_BYTES)
        if not response.isclosed():
            self.close()
        return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def close(self) -> None:
        self._connection.close()


RUN_MAX_S = 46.0
CLEANING_MAX_S = 51.0
WAIT_MAX_S = 5.0  # the longest wait after a 429


class OutOfTime(Exception):
    """The time of a run is over; what was not seen by then stays unseen."""


class RateLimiter:
    """
    Lets at most `per_second` calls through a second, evenly spaced.

    `clock` answers seconds that only grow; `sleep` takes seconds. The time of a run begins here.
    """

    def __init__(self, per_second: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        if not 0 < per_second <= 1000:
            raise ValueError(f"a rate of {per_second} calls a second; wanted more than 0 and at most 1000")
        self._gap_s = 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._begun = self._free_at = clock()
        self._max_s = RUN_MAX_S

    @property
    def spent_s(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._begun

    def wait(self) -> None:
        """Come back when the next call may go out; OutOfTime where that would be too late."""
        now = self._clock()
        at = max(now, self._free_at)
        if at - self._begun > self._max_s:
            raise OutOfTime(f"the {self._max_s:.0f} seconds of a run were over")
        if at > now:
            self._sleep(at - now)
        self._free_at = at + self._gap_s

    def rest(self, seconds: float) -> None:
        """Make the next call wait at least this long, and never longer than a few seconds."""
        self._free_at = max(self._free_at, self._clock() + min(seconds, WAIT_MAX_S))

    def allow_cleaning(self) -> None:
        """Grant the few seconds more in which a run takes back what it made."""
        self._max_s = CLEANING_MAX_S
