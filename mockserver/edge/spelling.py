"""
How things are spelled on the wire where the document leaves it open: date-times, errors, extra fields, order.

Every choice of representation is read here or in `represent`, and nowhere in the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, TypeVar

from mockserver.contract.endpoints import SUCCESS_STATUS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.core import ids
from mockserver.core.calls import ApiError
from mockserver.core.instants import SECOND, Instant, text, to_datetime
from mockserver.core.records import Campaign, Template

Row = TypeVar("Row", Campaign, Template)
Choices = Mapping[str, object]

_UNKNOWN_FIELD = ("unlistedField", "a field that the document does not list")
_UNSEEN = MappingProxyType(
    {
        "providerTemplateStatus": "UNDER_SECOND_REVIEW",
        "itemType": "hologram",
        "platform": "chatapp_next",
        "messageType": "hologram",
        "messageStatus": "parked",
    }
)
_DATE_TIMES: Mapping[str, Callable[[Instant], str]] = MappingProxyType(
    {
        "milliseconds": text,
        "seconds": lambda instant: to_datetime(instant).isoformat(timespec="seconds")[:-6] + "Z",
        "microseconds": lambda instant: text(instant)[:-1] + "000Z",
        "offset": lambda instant: text(instant)[:-1] + "+00:00",
    }
)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


# The phrases of RFC 9110 that Python before 3.13 has in older words.
_PHRASES = MappingProxyType(
    {413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}
)


@lru_cache(maxsize=64)
def reason_phrase(status: int) -> str:
    """The reason phrase of a status as IANA registers it (fixed decision `reason-phrase`)."""
    try:
        return _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def date_time(choices: Choices, instant: Instant) -> str:
    """An instant as `datetime-spelling` has it, cut to the millisecond."""
    return _DATE_TIMES[str(choices["datetime-spelling"])](instant)


def promised_date_time(choices: Choices, instant: Instant) -> str:
    """A session's instant: promised in UTC with `Z`, whatever the spelling of its fraction (session.expires-at)."""
    return text(instant) if choices["datetime-spelling"] == "offset" else date_time(choices, instant)


def http_date(instant: Instant) -> str:
    """The instant as an HTTP date, cut to the second (RFC 9110, 5.6.7)."""
    return _http_date(instant // SECOND)


@lru_cache(maxsize=16)
def _http_date(second: int) -> str:
    moment = to_datetime(second * SECOND)
    day, month = _WEEKDAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment.day:02d} {month} {moment.year:04d} {moment:%H:%M:%S} GMT"


def status_of_success(choices: Choices, endpoint: Endpoint) -> int:
    """The success status of an operation by `success-status`; 202 and 204 stand where the document gives them."""
    return SUCCESS_STATUS[str(choices["success-status"])][endpoint.id]


def error(choices: Choices, refusal: ApiError, endpoint: Endpoint | None) -> tuple[int, dict[str, Any]]:
    """The status and body of a refusal: code, status of the catalogue or the campaign guide, Portuguese message."""
    row = ERRORS[refusal.code]
    guided = choices["dual-status"] == "guide" and endpoint is not None and endpoint.path.startswith("/v1/campaigns")
    status = row.guide_status if guided else row.status
    worded = {"canonical": row.message, "reworded": row.reworded, "empty": ""}[str(choices["message-text"])]
    body: dict[str, Any] = {
        "statusCode": status,
        "code": refusal.code,
        "message": worded.format_map(refusal.facts),
    }
    if choices["error-extra-keys"] == "details":
        body |= {"details": [{"path": refusal.at}], "requestId": "req_" + ids.draw(0, refusal.code, refusal.reason)}
    return status, body


def retry_headers(choices: Choices, refusal: ApiError, now: Instant) -> list[tuple[str, str]]:
    """What a 429 says of the wait, as `rate-limit-headers` has it; the wait is true where the mock set a budget."""
    wait_s = refusal.facts.get("wait_s", 1)
    if not isinstance(wait_s, int):
        return []
    quota, window_s = refusal.facts.get("quota", 0), refusal.facts.get("window_s", 60)
    return {
        "seconds": [("Retry-After", str(wait_s))],
        "http-date": [("Retry-After", http_date(now + (wait_s + 1) * SECOND - 1))],
        "none": [],
        "garbage": [("Retry-After", "soon")],
        "draft-fields": [
            ("RateLimit-Policy", f'"default";q={quota};w={window_s}'),
            ("RateLimit", f'"default";r=0;t={wait_s}'),
        ],
    }[str(choices["rate-limit-headers"])]


def ordered(choices: Choices, seed: int, rows: Sequence[Row]) -> list[Row]:
    """A listing in the order of `list-order`, by the instant of creation; of one instant the later made is the newer."""
    order = choices["list-order"]
    if order == "shuffled":
        return sorted(rows, key=lambda row: ids.draw(seed, "order", row.id))
    return sorted(rows, key=lambda row: (row.created_at, row.seq), reverse=order == "newest-first")


def enum_value(choices: Choices, field: str, value: str) -> str:
    """A value of an open enumeration, or one never seen where `new-enum-values` has it so."""
    return _UNSEEN[field] if choices["new-enum-values"] == "unseen" else value


def with_unknown_fields(value: Any) -> Any:
    """The body with one undocumented field in every object (choice `additive-fields`)."""
    if isinstance(value, dict):
        return {key: with_unknown_fields(each) for key, each in value.items()} | dict([_UNKNOWN_FIELD])
    if isinstance(value, list):
        return [with_unknown_fields(each) for each in value]
    return value
