"""
One call of the API with its answer, and one request to a receiver: what every judge reads.

1. Instants are microseconds. Those of a sandbox are of its clock; those of a recording are of the recorder's, and rounded
   outwards, so that an answer shows the state at some instant from `sent_at` to `ended_at`.
2. The service's own instants (`Date`, the dates in bodies) may be those of another clock.
3. What a source does not show is None, and so is a JSON value that is not there ABSENT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl

from mockserver.contract.endpoints import ENDPOINTS, Kind
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import http_date, json_value
from mockserver.core.instants import Duration, Instant, from_datetime, retry_after
from mockserver.core.state.calls import Refused

TOO_MANY: Final = 429
# Why an answer is not the service's word: it is counted, nothing in it is judged, and the effect of its call is unknown.
NOT_THE_SERVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no-answer": "no answer arrived",
        "proxy-page": "a page of HTML where the API has JSON, such as that of a proxy",
        "broken-body": "a body that is cut, or is not the JSON that its Content-Type names",
        "other-failure": "a failure (5xx) without the error body of the document",
    }
)
NOT_RECEIVED: Final = ("no-answer", "broken-body")


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """
    One call and its answer.

    Attributes:
        number: Its number in the trace, from 1: of a sandbox in the order of arrival, else of `sent_at`.
        source: `sandbox`, the name of the file that contains it, or the address of the service.
        method: In capitals.
        path: The raw path from `/v1` on, with its query.
        operation: The operation's id in `ENDPOINTS`; None for a path that the document does not contain, for HEAD and OPTIONS.
        params: The parameters of the path, percent-decoded.
        request_headers: By lower-case name; of several with one name, joined by a comma.
        request_body: b"" if there was none, None if the recorder left it out.
        status: None if no answer arrived.
        response_headers: As those of the request.
        response_body: b"" if there was none, None if the recorder left it out.
        key: The tenant: its id in a sandbox, else a hash of the key with its prefix, such as `sk_3f0c...`; None if neither is
            known.
        trouble: A kind of `NOT_THE_SERVICE`; None if the answer is the service's word.
        sent_at: When its client sent it.
        at: When it arrived; `sent_at` in a recording.
        ended_at: When the client had its answer; `at` in a sandbox.
        is_timed: False if the source has no times; each of its calls then is a day after the one before.
        is_ordered: True if the order of the source is that of the calls, which did not overlap.
        retry_after: The answer's Retry-After; empty without one.
        follows: The number of the last exchange that was over when its client sent it.
        since: The number after which its client received what it got next: its own, but for one that its client gave up.
        delay: How long a rule delayed it, or how long a recorded answer took if that is two minutes or more; else 0.
        is_reset: The connection, which had carried another call or may have, ended without a byte of an answer.
        late_status: The status of an answer that was sent after the client had repeated the call, and so received by no client.
        is_given_up: It arrived after its client had given it up.
        arrived_late: A rule delayed the call until its client had disconnected, so that its client did not choose its time.
        applied: Whether the operation took effect; None if that is not shown.
        refusal: Why the service refused it, also if no client received that; of a recording None.
        fault: The effects of the rule that changed the exchange on the wire; empty without one.
        stopwatch: Real time, in microseconds of any beginning; None if nothing measured it.
        process_at: The process's own instant if a test had frozen it.
        limited_at: The process's instant at a 429.
        read_body: The JSON value of the request's body, if the source has read it.
        cut_from_bytes: The size of the request's body if `request_body` is only its beginning.
    """

    number: int
    source: str
    method: str
    path: str
    operation: str | None
    params: Mapping[str, str]
    request_headers: Mapping[str, str]
    request_body: bytes | None
    status: int | None
    response_headers: Mapping[str, str]
    response_body: bytes | None
    key: str | None
    trouble: str | None
    sent_at: Instant
    at: Instant
    ended_at: Instant
    retry_after: str
    follows: int
    since: int
    applied: bool | None
    is_timed: bool = True
    is_ordered: bool = True
    delay: Duration = 0
    is_reset: bool = False
    late_status: int | None = None
    is_given_up: bool = False
    arrived_late: bool = False
    refusal: Refused | None = None
    fault: Mapping[str, Any] = field(default_factory=dict)
    stopwatch: Duration | None = None
    process_at: Instant | None = None
    limited_at: Instant | None = None
    read_body: Any = None
    cut_from_bytes: int | None = None

    @property
    def creates(self) -> Kind | None:
        """The kind of the records that its operation creates; None if it creates none."""
        return ENDPOINTS[self.operation].creates if self.operation is not None else None

    @property
    def reads(self) -> Kind | None:
        """The kind of the one record that its operation shows; None if it shows none."""
        return ENDPOINTS[self.operation].reads if self.operation is not None else None

    @property
    def trigger(self) -> str | None:
        """The transition that its operation causes in a campaign: `start`, `cancel` or None."""
        return ENDPOINTS[self.operation].trigger if self.operation is not None else None

    @cached_property
    def request_json(self) -> Any:
        """The JSON value of the request's body; ABSENT if it has none."""
        if self.read_body is not None:
            return self.read_body
        return ABSENT if self.request_body is None else json_value(self.request_body, ABSENT)

    @property
    def sent(self) -> Mapping[str, Any]:
        """The request's JSON object, or an empty one."""
        return self.request_json if isinstance(self.request_json, dict) else {}

    @cached_property
    def response_json(self) -> Any:
        """The JSON value of the answer's body; ABSENT if it has none."""
        return ABSENT if self.response_body is None else json_value(self.response_body, ABSENT)

    @cached_property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The pairs of the query, decoded."""
        _, _, query = self.path.partition("?")
        return tuple(parse_qsl(query, keep_blank_values=True, errors="replace")) if query else ()

    @cached_property
    def date(self) -> Instant | None:
        """The instant of the answer's `Date`, by the service's clock; None if it has none."""
        moment = http_date(self.response_headers.get("date", ""))
        return from_datetime(moment) if moment is not None and moment.tzinfo is not None else None

    @property
    def is_answered(self) -> bool:
        """Return True if the answer is the service's word; else the effect of the call is unknown."""
        return self.status is not None and self.trouble is None

    @property
    def was_received(self) -> bool:
        """Return True if the client received the whole answer as it was sent."""
        return self.status is not None and self.trouble not in NOT_RECEIVED

    @property
    def succeeded(self) -> bool:
        """Return True if the client received a 2xx."""
        return self.is_answered and self.status is not None and 200 <= self.status < 300

    @property
    def has_failed(self) -> bool:
        """Return True if the client received no whole answer, or a 5xx."""
        return not self.was_received or (self.status or 0) >= 500

    @property
    def has_to_be_retried(self) -> bool:
        """Return True if the client received no whole answer, a 5xx or a 429."""
        return self.has_failed or self.status == TOO_MANY

    @cached_property
    def code(self) -> str | None:
        """The error code that the client received, or None."""
        code = self.field("code") if self.is_answered and (self.status or 0) >= 400 else None
        return code if isinstance(code, str) else None

    @property
    def outcome(self) -> str:
        """What the client received, in words: the status, or no answer."""
        return f"status {self.status}" if self.was_received else "no answer"

    @property
    def client(self) -> tuple[str, str]:
        """The caller: its API key and user agent. Workers that share a key differ in the latter, if at all."""
        return self.request_headers.get("x-api-key", ""), self.request_headers.get("user-agent", "")

    @cached_property
    def request(self) -> tuple[object, ...]:
        """A key that is equal for equal requests; two bodies that a recorder has left out are not equal."""
        body = self.request_body
        size = self.number if body is None and self.read_body is None else self.cut_from_bytes
        return self.operation, tuple(self.params.items()), self.query, body, size

    @property
    def requested_wait(self) -> Duration | None:
        """The wait that the answer's Retry-After asks for; None if it has no readable one."""
        return retry_after(self.retry_after, self.at)

    @property
    def place_as_sent(self) -> tuple[int, bool, int]:
        """The key that sorts exchanges as clients sent them, not as they arrived."""
        return self.follows, not self.is_given_up, self.number

    def query_value(self, name: str) -> str | None:
        """Return the last value of a parameter of the query, or None."""
        return dict(self.query).get(name)

    def field(self, name: str) -> Any:
        """Return a field of the JSON object that the client received, or None."""
        answer = self.response_json if self.was_received else None
        return answer.get(name) if isinstance(answer, dict) else None

    def __repr__(self) -> str:  # headers and bodies contain people's data
        return f"Exchange(#{self.number} {self.method} {self.operation or 'unknown'} -> {self.status})"


@dataclass(frozen=True, kw_only=True)
class DeliveryAttempt:
    """
    One request to a receiver, and the receiver's answer.

    Attributes:
        number: Its number among those of the trace, from 1, in order of `at`.
        source: As of an exchange.
        endpoint: The endpoint's id, or the address of the receiver without its query.
        event_id: The id of the event; of a recorded one without an id, its number.
        kind: The kind of the event.
        session_id: The session that the event is about; empty if it names none.
        at: When it was sent.
        ended_at: When the receiver's answer was there.
        status: The receiver's answer; None if there was none.
        headers: By name.
        body: The bytes of the request.
        answer: The beginning of the body of the receiver's answer.
        fault: The fault or forgery of a rule; None for the event itself.
        delivery: The id of the delivery that it belongs to; empty if the source has none.
        attempt: The number of the attempt at that delivery, from 1; a request that a rule adds has that of the attempt. 0 if unknown.
        is_lost: A rule has lost it, so that it reached no receiver.
    """

    number: int
    source: str
    endpoint: str
    event_id: str
    kind: str
    session_id: str
    at: Instant
    ended_at: Instant
    status: int | None
    headers: Mapping[str, str]
    body: bytes
    answer: bytes = b""
    fault: str | None = None
    delivery: str = ""
    attempt: int = 0
    is_lost: bool = False

    @cached_property
    def json(self) -> Any:
        """The JSON value of the body; ABSENT if it is not JSON."""
        return json_value(self.body, ABSENT)

    @property
    def accepted(self) -> bool:
        """Return True for a 2xx."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_genuine(self) -> bool:
        """Return True for the event itself and its copies, False for a forged request."""
        return self.fault in (None, "duplicate")

    @property
    def label(self) -> str:
        """The name of the attempt in findings."""
        return f"{self.event_id} at {self.endpoint}"

    def __repr__(self) -> str:  # the body contains phone numbers
        return f"DeliveryAttempt(#{self.number} -> {self.status})"


Cited = Exchange | DeliveryAttempt


def trouble_of(status: int | None, headers: Mapping[str, str], body: bytes | None, method: str) -> str | None:
    """Return why a recorded answer is not the service's word, as a kind of `NOT_THE_SERVICE`; None if it is."""
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
