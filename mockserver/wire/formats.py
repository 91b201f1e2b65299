"""
Formats that the choices decide: dates, errors, extra fields, order, absent or null; and JSON text.

1. Every choice of representation is read here or in `serializers`, and in no operation.
2. JSON text is valid by RFC 8259. A value without a JSON form becomes text: a number beyond a double `"Infinity"` or
   `"-Infinity"`, half of a surrogate pair its escape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from email.utils import format_datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from mockserver._json import JSON, changed
from mockserver.contract.endpoints import SUCCESS_STATUS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.core import ids
from mockserver.core.instants import SECOND, Instant, format_milliseconds, to_datetime
from mockserver.core.state.calls import ApiError
from mockserver.core.state.records import Campaign, Template

Row = TypeVar("Row", Campaign, Template)
Choices = Mapping[str, object]

_UNKNOWN_FIELD = ("unlistedField", "a field that the document does not list")
_UNKNOWN_VALUES = MappingProxyType(
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
        "milliseconds": format_milliseconds,
        "seconds": lambda instant: to_datetime(instant).isoformat(timespec="seconds")[:-6] + "Z",
        "microseconds": lambda instant: format_milliseconds(instant)[:-1] + "000Z",
        "offset": lambda instant: format_milliseconds(instant)[:-1] + "+00:00",
    }
)


def date_time(choices: Choices, instant: Instant) -> str:
    """Return an instant in the format of the choice `datetime-spelling`, cut to the millisecond."""
    return _DATE_TIMES[str(choices["datetime-spelling"])](instant)


def session_date_time(choices: Choices, instant: Instant) -> str:
    """Return a session's instant: in UTC with `Z`, in any format of its fraction (session.expires-at)."""
    return format_milliseconds(instant) if choices["datetime-spelling"] == "offset" else date_time(choices, instant)


def http_date(instant: Instant) -> str:
    """Return the instant as an HTTP date, cut to the second (RFC 9110, 5.6.7)."""
    return _http_date(instant // SECOND)


@lru_cache(maxsize=16)
def _http_date(second: int) -> str:
    return format_datetime(to_datetime(second * SECOND), usegmt=True)


def success_status(choices: Choices, endpoint: Endpoint) -> int:
    """Return an operation's success status by `success-status`; 202 and 204 where the document specifies them."""
    return SUCCESS_STATUS[str(choices["success-status"])][endpoint.id]


def message_text(choices: Choices, canonical: str, reworded: str) -> str:
    """Return one of the two texts of a message, or none, by `message-text`."""
    return {"canonical": canonical, "reworded": reworded, "empty": ""}[str(choices["message-text"])]


def error_body(choices: Choices, refusal: ApiError, endpoint: Endpoint | None) -> tuple[int, dict[str, Any]]:
    """Return status and body of an error: status of the catalogue or the campaign guide, code, Portuguese message."""
    row = ERRORS[refusal.code]
    own_status = row.status_of(endpoint.path, choices) if endpoint is not None else row.status
    status = refusal.details.get("http_status", own_status)
    assert isinstance(status, int)
    message = message_text(choices, row.message, row.reworded)
    body: dict[str, Any] = {
        "statusCode": status,
        "code": refusal.code,
        "message": message.format_map(refusal.details),
    }
    if choices["error-extra-keys"] == "details":
        body |= {
            "details": [{"path": refusal.location}],
            "requestId": "req_" + ids.seeded_id(0, refusal.code, refusal.clause, refusal.location or ""),
        }
    return status, body


def rate_limit_headers(choices: Choices, refusal: ApiError, now: Instant) -> list[tuple[str, str]]:
    """Return the headers of a 429 by `rate-limit-headers`; the wait is exact if the mock's own budget caused it."""
    wait_s = refusal.details.get("wait_s", 1)
    if not isinstance(wait_s, int):
        return []
    free_at = refusal.details.get("free_at", now + wait_s * SECOND)
    assert isinstance(free_at, int)
    quota, window_s = refusal.details.get("quota", 0), refusal.details.get("window_s", 60)
    return {
        "seconds": [("Retry-After", str(wait_s))],
        "http-date": [("Retry-After", http_date(free_at + SECOND - 1))],
        "none": [],
        "garbage": [("Retry-After", "soon")],
        "draft-fields": [
            ("RateLimit-Policy", f'"default";q={quota};w={window_s}'),
            ("RateLimit", f'"default";r=0;t={wait_s}'),
        ],
    }[str(choices["rate-limit-headers"])]


def sort_listing(choices: Choices, seed: int, rows: Sequence[Row]) -> list[Row]:
    """Return rows in the order of `list-order`, by the instant of creation, then by the order of creation."""
    order = choices["list-order"]
    if order == "shuffled":
        return sorted(rows, key=lambda row: ids.seeded_id(seed, "order", row.id))
    return sorted(rows, key=lambda row: (row.created_at, row.seq), reverse=order == "newest-first")


def enum_value(choices: Choices, field: str, value: str) -> str:
    """Return a value of an open enumeration, or an unknown one by the choice `new-enum-values`."""
    return _UNKNOWN_VALUES[field] if choices["new-enum-values"] == "unseen" else value


def with_unknown_fields(value: Any) -> Any:
    """Return the body with one undocumented field in every object (choice `additive-fields`)."""
    return changed(value, lambda part: part | dict([_UNKNOWN_FIELD]))


class SerializationContext(NamedTuple):
    """Context of a serializer: the choices, the seed, the instant, and the prefix of urls."""

    choices: Mapping[str, object]
    seed: int
    now: Instant
    base_url: str


def empty_value(view: SerializationContext, choice: str, key: str, blank: object = "") -> JSON:
    """Return a key that has no value, as a choice has it: absent, null, or blank."""
    shapes: Mapping[str, JSON] = {"absent": {}, "null": {key: None}, "empty": {key: blank}}
    return shapes[str(view.choices[choice])]


# Compact, accents as they are; a Decimal is a number that a client wrote with a fraction; a body is never circular.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), default=float, allow_nan=False
)
SLICE = 100  # records that are formatted in one step, which holds the interpreter for half a millisecond
_SLICED_LEVELS = 4  # the state, its tenants, a tenant, its table
# Of an integer, about 4,214 digits; the interpreter formats at most 4,300 (sys.set_int_max_str_digits).
_BITS_MAX = 14_000


def encoded(value: Any) -> bytes:
    """Return the value as JSON in UTF-8."""
    try:
        return _ENCODER.encode(value).encode()
    except ValueError:  # rare, so that an ordinary value is read only once
        return _ENCODER.encode(_writable(value)).encode()


def encoded_in_slices(value: Any) -> bytes:
    """Return the same bytes as `encoded`, made in short steps: other threads run in between, however large the value is."""
    return b"".join(_slices(value, _SLICED_LEVELS))


def _slices(value: Any, levels: int) -> Iterator[bytes]:
    if isinstance(value, dict) and value and levels:
        mark = b"{"
        for key, item in value.items():
            yield b"%s%s:" % (mark, encoded(key))
            yield from _slices(item, levels - 1)
            mark = b","
        yield b"}"
    elif isinstance(value, list) and value and levels:
        mark = b"["
        if len(value) > SLICE:
            for begin in range(0, len(value), SLICE):
                yield mark + encoded(value[begin : begin + SLICE])[1:-1]
                mark = b","
        else:
            for item in value:
                yield mark
                yield from _slices(item, levels - 1)
                mark = b","
        yield b"]"
    else:
        yield encoded(value)


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else json.dumps(value)
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS_MAX else f"an integer of {value.bit_length()} bits"
    if isinstance(value, Decimal):
        is_double = math.isfinite(float(value))
        return float(value) if is_double else f"an integer of {value.adjusted() + 1} digits"
    if isinstance(value, Mapping):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return value


# The JSON text of an event, by option of `wh-body-bytes`.
BODY_FORMATS: Mapping[str, Callable[[JSON], str]] = MappingProxyType(
    {
        "compact": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        "escaped": lambda value: json.dumps(value, ensure_ascii=True, separators=(",", ":")),
        "spaced": lambda value: json.dumps(value, ensure_ascii=False, separators=(", ", ": ")),
        "reordered-keys": lambda value: json.dumps(
            changed(value, lambda part: dict(reversed(part.items()))), ensure_ascii=False, separators=(",", ":")
        ),
    }
)
