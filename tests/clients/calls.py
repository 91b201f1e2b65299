"""
The calls of a careful client: what an answer is worth, and when a call is made again.

1. A call whose answer is lost may have taken effect: one that changes nothing is repeated, any other is not.
2. A refusal is told by its `code`; any 2xx is a success.
3. Waiting is somebody else's: `wait(seconds)` is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests

Wait = Callable[[float], object]

TIMEOUT_S = 10
TRIES = 8
BACK_OFF_MAX_S = 30.0
RETRY_AFTER_MAX_S = 300.0


class Refused(Exception):
    """The service said no, and nothing happened. `code` is None where a proxy on the way said it."""

    def __init__(self, status: int, code: str | None) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


class Unsure(Exception):
    """No answer that can be believed: the call may have taken effect, or not."""


class Busy(Exception):
    """Too many calls, and nothing happened; `told_s` is how long to wait, where the answer tells it."""

    def __init__(self, told_s: float | None) -> None:
        super().__init__(f"wait {told_s} s")
        self.told_s = told_s


class Unreachable(Exception):
    """The service did not answer however often it was asked."""


class Calls:
    """
    Calls with one tenant's key.

    `renew_key` is asked for the present key where the one in use has become unknown.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        http: requests.Session,
        wait: Wait,
        renew_key: Callable[[], str] | None = None,
    ) -> None:
        self._base_url = base_url
        self._key = key
        self._http = http
        self.wait = wait
        self._renew_key = renew_key

    def read(self, path: str, **rest: Any) -> Any:
        return self.repeatable("GET", path, **rest)

    def repeatable(self, method: str, path: str, **rest: Any) -> Any:
        """A call that changes nothing, made until it is answered."""
        for attempt in range(TRIES):
            try:
                return self._call(method, path, **rest)
            except Unsure:
                self.wait(back_off_s(attempt))
            except Busy as busy:
                self.wait(back_off_s(attempt) if busy.told_s is None else busy.told_s)
        raise Unreachable(path)

    def write(self, path: str, **rest: Any) -> Any:
        """A call that changes something: repeated where it was refused for its pace, and never where it is unsure."""
        for attempt in range(TRIES):
            try:
                return self._call("POST", path, **rest)
            except Busy as busy:
                self.wait(back_off_s(attempt) if busy.told_s is None else busy.told_s)
        raise Unreachable(path)

    def _call(self, method: str, path: str, **rest: Any) -> Any:
        """The body of a success, None where it has none; one call, or two where the key was renewed between."""
        try:
            return self._ask(method, path, **rest)
        except Refused as refusal:
            renewed = self._renew_key() if self._renew_key and refusal.code == "API_KEY_INVALID" else self._key
            if renewed == self._key:
                raise
        self._key = renewed
        return self._ask(method, path, **rest)

    def _ask(self, method: str, path: str, **rest: Any) -> Any:
        headers = {"X-API-Key": self._key}
        try:
            answer = self._http.request(method, self._base_url + path, headers=headers, timeout=TIMEOUT_S, **rest)
        except requests.RequestException as lost:
            raise Unsure(f"{method} {path}: {type(lost).__name__}") from lost
        if 200 <= answer.status_code < 300:
            return _body(answer)
        code = _code(answer)
        if code == "RATE_LIMIT_EXCEEDED" or answer.status_code == 429:
            raise Busy(retry_after_s(answer.headers))
        if code == "INTERNAL_ERROR" or answer.status_code >= 500:
            raise Unsure(f"{method} {path}: {answer.status_code}")
        raise Refused(answer.status_code, code)


def back_off_s(attempt: int) -> float:
    """1, 2, 4 ... seconds, to a bound."""
    return min(2.0**attempt, BACK_OFF_MAX_S)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that an answer asks for, in seconds or as a date by its own clock; None where it says nothing of use."""
    told = headers.get("Retry-After", "")
    if told.isdigit():
        return min(float(told), RETRY_AFTER_MAX_S)
    try:
        until = parsedate_to_datetime(told)
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


def _code(answer: requests.Response) -> str | None:
    """The code of an error body; None where the body is another's."""
    try:
        code = answer.json()["code"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(code)
