"""
The calls of a careful client: what an answer is worth, and when a call is repeated.

1. A call whose answer is lost may have taken effect: one that changes nothing is repeated, any other is not.
2. A refusal is known by its `code`; any 2xx is a success.
3. The caller decides how to wait: `wait(seconds)` is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from tests.clients.operations import PREVIEW, Operations, Wait

TIMEOUT_S = 10
TRIES = 8
BACK_OFF_MAX_S = 30.0
RETRY_AFTER_MAX_S = 300.0


class Refused(Exception):
    """The service refused, and nothing happened. `code` is None if a proxy in between refused."""

    def __init__(self, status: int, code: str | None, message: str = "") -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code
        self.message = message


class Unsure(Exception):
    """No answer that can be believed: the call may have taken effect, or not."""


class Busy(Exception):
    """Too many calls, and nothing happened; `wait_s` is the time to wait, None if the answer has none."""

    def __init__(self, wait_s: float | None) -> None:
        super().__init__(f"wait {wait_s} s")
        self.wait_s = wait_s


class Unreachable(Exception):
    """The service did not answer, however often it was called."""


class Calls(Operations):
    """
    The operations as a careful client calls them: each returns the body of a success, None if it has none.

    `renew_key` returns the present key, for the case that the one in use has become unknown.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        http: requests.Session,
        wait: Wait,
        renew_key: Callable[[], str] | None = None,
    ) -> None:
        super().__init__(base_url, key, http)
        self._wait = wait
        self._renew_key = renew_key

    def _send(self, method: str, path: str, **rest: Any) -> Any:
        return self._repeat(method, path, repeats_unsure=method == "GET" or path == PREVIEW, **rest)

    def _repeat(self, method: str, path: str, *, repeats_unsure: bool, **rest: Any) -> Any:
        """Call until the call is answered; one that changes something is repeated only where it was refused for its pace."""
        for attempt in range(TRIES):
            try:
                return self._call(method, path, **rest)
            except Unsure:
                if not repeats_unsure:
                    raise
                self._wait(back_off_s(attempt))
            except Busy as busy:
                self._wait(self._pause_s(busy, attempt))
        raise Unreachable(path)

    def _pause_s(self, busy: Busy, attempt: int) -> float:
        return back_off_s(attempt) if busy.wait_s is None else busy.wait_s

    def _call(self, method: str, path: str, **rest: Any) -> Any:
        """One call, or two where the key was renewed between them."""
        try:
            return self._call_once(method, path, **rest)
        except Refused as refusal:
            renewed = self._renew_key() if self._renew_key and refusal.code == "API_KEY_INVALID" else self._key
            if renewed == self._key:
                raise
        self._key = renewed
        return self._call_once(method, path, **rest)

    def _call_once(self, method: str, path: str, **rest: Any) -> Any:
        try:
            answer = self._exchange(method, path, timeout=TIMEOUT_S, **rest)
        except requests.RequestException as lost:
            raise Unsure(f"{method} {path}: {type(lost).__name__}") from lost
        if 200 <= answer.status_code < 300:
            return _body(answer)
        error = _error(answer)
        code = str(error["code"]) if "code" in error else None
        if code == "RATE_LIMIT_EXCEEDED" or answer.status_code == 429:
            raise Busy(retry_after_s(answer.headers))
        if code == "INTERNAL_ERROR" or answer.status_code >= 500:
            raise Unsure(f"{method} {path}: {answer.status_code}")
        raise Refused(answer.status_code, code, str(error.get("message", "")))


def back_off_s(attempt: int) -> float:
    """1, 2, 4 ... seconds, to a bound."""
    return min(2.0**attempt, BACK_OFF_MAX_S)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that an answer specifies, in seconds or as a date by its own clock; None if it is missing or unreadable."""
    written = headers.get("Retry-After", "")
    if written.isdigit():
        return min(float(written), RETRY_AFTER_MAX_S)
    try:
        until = parsedate_to_datetime(written)
        now = parsedate_to_datetime(headers["Date"]) if "Date" in headers else datetime.now(UTC)
    except ValueError:
        return None
    return min(max((until - now).total_seconds(), 0.0), RETRY_AFTER_MAX_S)


def _body(answer: requests.Response) -> Any:
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError as garbled:
        raise Unsure("the body is not JSON") from garbled


def _error(answer: requests.Response) -> Mapping[str, Any]:
    """The error body; empty where the body is another's."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
