"""
A recording: the exchanges that some client had with some service, and the events that the service delivered.

1. Times are whole milliseconds since 1970 by the recorder's clock. A response is the state at some instant from `started`
   to `ended`; both are rounded outwards, so that this holds for any precision of the recorder.
2. The service's own instants (`Date`, the dates in bodies) are those of another clock.
3. No key is stored: a header with one has its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import http_date, json_value

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Why an answer is not the service's word: it is counted, nothing in it is judged, and the effect of its call is unknown.
NOT_THE_SERVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no-answer": "no answer arrived",
        "proxy-page": "a page of HTML where the API has JSON, such as that of a proxy",
        "broken-body": "a body that is cut, or is not the JSON that its Content-Type names",
        "other-failure": "a failure (5xx) without the error body of the document",
    }
)
# Entries of a recording that are no exchanges with the API.
LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "other": "of another address",
        "preflight": "a preflight of a browser",
        "cached": "a duplicate from the recorder's cache",
        "redirect": "a redirect before the API",
        "unfinished": "without a request that can be read",
    }
)


@dataclass(frozen=True)
class RecordedExchange:
    """
    One call and its answer.

    Attributes:
        index: Its number in the recording, from 1, in order of `started`.
        source: The name of the file that contains it.
        method: In capitals.
        path: The raw path from `/v1` on, with its query.
        operation: The operation's id in `ENDPOINTS`; None for a path that the document does not contain, and for HEAD.
        params: The parameters of the path, percent-decoded.
        request_headers: By lower-case name; of several with one name, joined by a comma.
        request_body: b"" if there was none, None if the recorder left it out.
        started: Milliseconds of the recorder's clock.
        ended: Likewise; at least `started`.
        status: None if no answer arrived.
        response_headers: As those of the request.
        response_body: b"" if there was none, None if the recorder left it out.
        key: A hash of the key, with the key's prefix, such as `sk_3f0c...`; None if the recording shows no key.
        trouble: A kind of `NOT_THE_SERVICE`; None if the answer is the service's word.
        is_timed: False if the recorder has no times; `started` and `ended` then are the index.
        is_ordered: True if the order of the file is that of the calls, which did not overlap: a cassette, a journal.
    """

    index: int
    source: str
    method: str
    path: str
    operation: str | None
    params: Mapping[str, str]
    request_headers: Mapping[str, str]
    request_body: bytes | None
    started: int
    ended: int
    status: int | None
    response_headers: Mapping[str, str]
    response_body: bytes | None
    key: str | None = None
    trouble: str | None = None
    is_timed: bool = True
    is_ordered: bool = False

    @cached_property
    def request_json(self) -> Any:
        """The JSON value of the request's body; ABSENT if it has none."""
        return ABSENT if self.request_body is None else json_value(self.request_body, ABSENT)

    @cached_property
    def response_json(self) -> Any:
        """The JSON value of the answer's body; ABSENT if it has none."""
        return ABSENT if self.response_body is None else json_value(self.response_body, ABSENT)

    @cached_property
    def date(self) -> int | None:
        """The instant of the answer's `Date`, in whole seconds by the service's clock; None if it has none."""
        moment = http_date(self.response_headers.get("date", ""))
        return (moment - _EPOCH) // timedelta(seconds=1) if moment is not None and moment.tzinfo is not None else None

    @property
    def is_answered(self) -> bool:
        """Return True if the answer is the service's word; else the effect of the call is unknown."""
        return self.status is not None and self.trouble is None

    @property
    def succeeded(self) -> bool:
        """Return True if the service answered with a 2xx."""
        return self.is_answered and self.status is not None and 200 <= self.status < 300

    @property
    def code(self) -> str | None:
        """The error code of the answer, or None."""
        if not self.is_answered or self.status is None or self.status < 400 or not isinstance(self.response_json, dict):
            return None
        code = self.response_json.get("code")
        return code if isinstance(code, str) else None

    def precedes(self, other: RecordedExchange) -> bool:
        """Return True if this exchange was over before the other one began, whatever the recorder's rounding."""
        if self.is_ordered and other.is_ordered and self.source == other.source:
            return self.index < other.index
        return self.is_timed and other.is_timed and self.ended < other.started

    def __repr__(self) -> str:  # headers and bodies contain people's data
        return f"RecordedExchange(#{self.index} {self.method} {self.operation or 'unknown'} -> {self.status})"


@dataclass(frozen=True)
class RecordedDelivery:
    """
    One event that a receiver got, and its response.

    Attributes:
        index: Its number among the recording's deliveries, from 1, in order of `started`.
        source: The name of the file that contains it.
        headers: By lower-case name.
        body: The bytes of the event.
        started: Milliseconds of the recorder's clock.
        ended: Likewise; at least `started`.
        status: The receiver's answer; None if there was none.
        url: The address of the receiver, without its query.
    """

    index: int
    source: str
    headers: Mapping[str, str]
    body: bytes
    started: int
    ended: int
    status: int | None
    url: str = ""

    @cached_property
    def json(self) -> Any:
        """The JSON value of the event; ABSENT if it is not JSON."""
        return json_value(self.body, ABSENT)

    def __repr__(self) -> str:  # the body contains phone numbers
        return f"RecordedDelivery(#{self.index} -> {self.status})"


@dataclass(frozen=True)
class Recording:
    """
    What was read from one or several files.

    Attributes:
        exchanges: In order of `started`, those of a file without times in its order.
        deliveries: In order of `started`.
        left_out: The number of entries that are no exchanges with the API, by a kind of `LEFT_OUT`.
        prefix: The part of the addresses before `/v1`.
        sources: The names of the files.
    """

    exchanges: Sequence[RecordedExchange]
    deliveries: Sequence[RecordedDelivery]
    left_out: Mapping[str, int]
    prefix: str
    sources: Sequence[str] = ()

    @cached_property
    def histories(self) -> Mapping[str | None, Sequence[RecordedExchange]]:
        """The exchanges by the hash of their key: each is the history of one tenant; None has those without a key."""
        by_key: dict[str | None, list[RecordedExchange]] = {}
        for exchange in self.exchanges:
            by_key.setdefault(exchange.key, []).append(exchange)
        return by_key

    @property
    def troubles(self) -> Mapping[str, int]:
        """The number of answers that are not the service's word, by a kind of `NOT_THE_SERVICE`."""
        kinds = [exchange.trouble for exchange in self.exchanges if exchange.trouble is not None]
        return {kind: kinds.count(kind) for kind in NOT_THE_SERVICE if kind in kinds}

    @property
    def span_ms(self) -> int:
        """The milliseconds from the first start to the last end; 0 for an empty recording."""
        if not self.exchanges:
            return 0
        return max(each.ended for each in self.exchanges) - min(each.started for each in self.exchanges)


def trouble_of(status: int | None, headers: Mapping[str, str], body: bytes | None, method: str) -> str | None:
    """Return why an answer is not the service's word, as a kind of `NOT_THE_SERVICE`; None if it is."""
    if status is None:
        return "no-answer"
    if method == "HEAD":
        return None
    value = json_value(body or b"")
    if status >= 500:
        has_error = isinstance(value, dict) and {"statusCode", "code"} <= value.keys()
        return None if has_error else "other-failure"
    if body is None or status == 204 or headers.get("content-length") == "0":
        return None
    if value is None and body.strip() != b"null":
        is_json = "json" in headers.get("content-type", "") or not body
        return "broken-body" if is_json and not body.lstrip().startswith(b"<") else "proxy-page"
    return None
