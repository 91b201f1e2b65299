"""
Checks that send no call: of each exchange as it is recorded, and of all exchanges once a run is over.

1. A body is compared with its schema after two parts are set aside that the document leaves open: fields beyond the
   listed ones (`additive-fields`) and values beyond an open list (`new-enum-values`). The rest has to fit.
2. Each check is a row that names its clauses and choices, as a probe is.
3. What concerns the service as a whole (the format of dates, extra fields, texts of errors) is judged once, from all
   exchanges: single ones could contradict each other by chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.endpoints import DOCUMENTED_STATUS, ENDPOINTS, SUCCESS_STATUS
from mockserver.contract.errors import ERRORS
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import http_date, whole_number
from mockserver.verify.context import Exchange, Probe, RunContext

Place = tuple[str, ...]

# Lists of values that the document leaves open, by operation; a place is a path of keys, without array indexes.
OPEN_LISTS: Final[Mapping[str, frozenset[Place]]] = {
    "listTemplates": frozenset({("templates", "providerTemplateStatus")}),
    "readTemplate": frozenset({("items", "type")}),
    "readEntrypoint": frozenset({("entrypoint", "platform")}),
    "readConnectionSession": frozenset({("entrypoint", "platform")}),
    "listMessages": frozenset({("records", "type"), ("records", "status")}),
}
# "Response shape: not shown", and "required fields of a message record: not shown".
SHAPE_OPEN: Final = frozenset({"readFilterSchema"})
REQUIRED_OPEN: Final = frozenset({"listMessages"})


@dataclass
class Shape:
    """Differences of a body from its schema: unlisted fields, listed and unlisted values of open lists, and violations."""

    extras: list[str] = field(default_factory=list)
    listed: int = 0
    unlisted: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def compare(operation: str, body: Any) -> Shape:
    """Compare the body of a success with the schema of its operation."""
    shape = Shape()
    if operation in SHAPE_OPEN:
        return shape
    name = f"{operation}.response"
    listed_only = _strip(schemas.load(name), body, (), OPEN_LISTS.get(operation, frozenset()), shape)
    for problem in schemas.check(name, listed_only):
        if problem.keyword != "required" or operation not in REQUIRED_OPEN:
            shape.violations.append(str(problem))
    return shape


def _strip(schema: Any, value: Any, place: Place, open_lists: frozenset[Place], shape: Shape) -> Any:
    """Return the value without unlisted fields, and with a listed value in place of each unlisted one; record both."""
    for alternative in schema.get("anyOf", ()):
        if isinstance(value, dict) and "properties" in alternative:
            return _strip(alternative, value, place, open_lists, shape)
    if isinstance(value, list):
        return [_strip(schema.get("items", {}), each, place, open_lists, shape) for each in value]
    if isinstance(value, dict) and "properties" in schema:
        listed = {}
        for key, member in value.items():
            if key in schema["properties"]:
                listed[key] = _strip(schema["properties"][key], member, (*place, key), open_lists, shape)
            else:
                shape.extras.append("/".join((*place, key)))
        return listed
    if place in open_lists and isinstance(value, str) and value:
        if value in schema.get("enum", ()):
            shape.listed += 1
            return value
        shape.unlisted.append("/".join(place) + f" = {value!r}")
        return schema["enum"][0]
    return value


ERROR_KEYS: Final = ("statusCode", "code", "message")


class ResponseCheck(NamedTuple):
    """A check of every exchange, with the clauses and choices that it may judge and observe."""

    run: Callable[[RunContext, Exchange], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()


def error_body(context: RunContext, exchange: Exchange) -> None:
    """Every error has the three keys, and its statusCode is the HTTP status."""
    if exchange.status < 400:
        return
    body = exchange.json
    fits = (
        isinstance(body, dict)
        and all(key in body for key in ERROR_KEYS)
        and type(body["statusCode"]) is int
        and body["statusCode"] == exchange.status
        and isinstance(body["code"], str)
        and isinstance(body["message"], str)
    )
    expected = f"{{statusCode: {exchange.status}, code, message}}"
    context.judge("base.error-body", fits, exchange, expected)
    if exchange.status >= 500:
        context.judge("base.internal", fits and exchange.code == "INTERNAL_ERROR", exchange, "INTERNAL_ERROR as JSON")


def error_status(context: RunContext, exchange: Exchange) -> None:
    """A code has the status of the catalogue, or under /v1/campaigns that of the campaign guide."""
    if exchange.status < 400 or exchange.code is None:
        return
    row = ERRORS.get(str(exchange.code))
    if row is None:
        context.judge("base.error-catalog", False, exchange, "one of the 39 codes of the catalogue")
        return
    guided = row.guide_status != row.status and exchange.path.startswith("/v1/campaigns")
    statuses = {row.status, row.guide_status} if guided else {row.status}
    expected = f"{row.code} as {' or '.join(map(str, sorted(statuses)))}"
    context.judge("base.error-catalog", exchange.status in statuses, exchange, expected)
    if guided:
        context.judge("base.error-guide", exchange.status in statuses, exchange, expected)
        by_option = {"catalog": row.status, "guide": row.guide_status}
        context.observe("dual-status", (each for each in by_option if by_option[each] == exchange.status), exchange)


def subscription_inactive(context: RunContext, exchange: Exchange) -> None:
    """An inactive subscription refuses every call, or writes alone."""
    if exchange.code != "SUBSCRIPTION_INACTIVE" or exchange.operation is None:
        return
    context.judge("auth.subscription", exchange.status == 403, exchange, "403")
    writes = ENDPOINTS[exchange.operation].writes
    if not writes or any(each.succeeded for each in context.exchanges):
        context.observe("subscription-scope", ["writes-only" if writes else "all"], exchange)


def rate_limited(context: RunContext, exchange: Exchange) -> None:
    """A 429 has its code, and gives the time to wait in one of the known formats."""
    if exchange.status == 429:
        context.judge("base.rate-limit", exchange.code == "RATE_LIMIT_EXCEEDED", exchange, "RATE_LIMIT_EXCEEDED")
        context.observe("rate-limit-headers", [_wait_format(exchange.headers)], exchange)


def _wait_format(headers: Mapping[str, str]) -> str:
    after = headers.get("retry-after")
    if after is None:
        return "draft-fields" if "ratelimit" in headers else "none"
    if whole_number(after) is not None:
        return "seconds"
    return "garbage" if http_date(after) is None else "http-date"


def success_status(context: RunContext, exchange: Exchange) -> None:
    """Two success statuses are documented; the others are open."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    status = DOCUMENTED_STATUS.get(operation, exchange.status)
    context.judge("base.success", exchange.status == status, exchange, str(status))
    if operation not in DOCUMENTED_STATUS and ENDPOINTS[operation].method == "POST":
        options = [option for option, row in SUCCESS_STATUS.items() if row[operation] == exchange.status]
        context.observe("success-status", options, exchange)


def success_body(context: RunContext, exchange: Exchange) -> None:
    """A success is JSON of the documented shape; `RUN_CHECKS` judge what the document leaves open."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    endpoint = ENDPOINTS[operation]
    if endpoint.response_schema is None:
        context.judge("base.success", not exchange.body, exchange, "no content")
        return
    is_json = exchange.json is not ABSENT and "json" in exchange.headers.get("content-type", "")
    context.judge("base.json", is_json, exchange, "a JSON body with a JSON Content-Type")
    violations = compare(operation, exchange.json).violations
    context.judge(endpoint.clause, not violations, exchange, violations[0] if violations else "the documented shape")


_BODY_CLAUSES: Final = tuple(row.clause for row in ENDPOINTS.values() if row.response_schema is not None)
RESPONSE_CHECKS: Final[tuple[ResponseCheck, ...]] = (
    ResponseCheck(error_body, ("base.error-body", "base.internal")),
    ResponseCheck(error_status, ("base.error-catalog", "base.error-guide"), ("dual-status",)),
    ResponseCheck(subscription_inactive, ("auth.subscription",), ("subscription-scope",)),
    ResponseCheck(rate_limited, ("base.rate-limit",), ("rate-limit-headers",)),
    ResponseCheck(success_status, ("base.success",), ("success-status",)),
    ResponseCheck(success_body, ("base.json", "base.success", *_BODY_CLAUSES)),
)


DATE_KEYS: Final = frozenset({"createdAt", "updatedAt", "startedAt", "completedAt"})
_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_DATE_TIME_FORMATS: Final = {
    "milliseconds": re.compile(_ISO + r"\.\d{3}Z"),
    "seconds": re.compile(_ISO + "Z"),
    "microseconds": re.compile(_ISO + r"\.\d{6}Z"),
    "offset": re.compile(_ISO + r"(\.\d+)?\+00:00"),
}
_DATE_TIME: Final = re.compile(_ISO + r"(\.\d+)?(Z|[+-]\d\d:\d\d)")
# Keys of the option `details` of error-extra-keys; any other key in addition to the three is a violation.
_ERROR_DETAILS: Final = frozenset({"details", "requestId"})
_ENGLISH: Final = re.compile(
    r"\b(the|not found|is required|invalid|must be|should|unauthori[sz]ed|forbidden|bad request)\b", re.IGNORECASE
)


class ShapedExchange(NamedTuple):
    """An exchange, and how its body differs from the schema."""

    exchange: Exchange
    shape: Shape


def _successes(context: RunContext) -> list[ShapedExchange]:
    return [
        ShapedExchange(exchange, compare(exchange.operation, exchange.json))
        for exchange in context.exchanges
        if exchange.operation is not None and exchange.succeeded and isinstance(exchange.json, dict | list)
    ]


def date_time_format(context: RunContext) -> None:
    """Date-times are ISO 8601 in one format; the expiresAt of a session has Z in every format."""
    date_times = ((exchange, *field) for exchange, _ in _successes(context) for field in _date_times(exchange.json))
    for exchange, key, text in date_times:
        is_date_time = _DATE_TIME.fullmatch(text) is not None
        context.judge("base.output", is_date_time, exchange, f"{key} as ISO 8601 date-time")
        options = {name for name, pattern in _DATE_TIME_FORMATS.items() if pattern.fullmatch(text)}
        if key == "expiresAt" and "milliseconds" in options:
            options.add("offset")
        context.observe("datetime-spelling", options, exchange)


def _date_times(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the key and text of each date-time in a JSON value."""
    if isinstance(value, list):
        for element in value:
            yield from _date_times(element)
    elif isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, str) and (key in DATE_KEYS or key == "expiresAt"):
                yield key, member
            else:
                yield from _date_times(member)


def unlisted_values(context: RunContext) -> None:
    """Fields beyond the listed ones in any success, and values beyond the open lists."""
    successes = _successes(context)
    if not successes:
        return
    first = successes[0].exchange
    extra = next((exchange for exchange, shape in successes if shape.extras), None)
    context.observe("additive-fields", ["unknown-fields" if extra else "none"], extra or first)
    unlisted = next((exchange for exchange, shape in successes if shape.unlisted), None)
    listed = next((exchange for exchange, shape in successes if shape.listed), None)
    if unlisted or listed:
        context.observe("new-enum-values", ["unseen" if unlisted else "listed"], unlisted or listed or first)


def error_keys(context: RunContext) -> None:
    """Keys of an error body in addition to the three, without those that the service adds to every response."""
    errors = [each for each in context.exchanges if each.status >= 400 and isinstance(each.json, dict)]
    successes = _successes(context)
    everywhere = {extra.rpartition("/")[2] for _, shape in successes for extra in shape.extras}
    if errors and not successes:  # what every error has may be in every response
        everywhere = set.intersection(*(set(each.json) for each in errors)) - _ERROR_DETAILS
    for exchange in errors:
        extras = set(exchange.json) - set(ERROR_KEYS) - everywhere
        foreign = sorted(extras - _ERROR_DETAILS)
        context.judge("base.error-body", not foreign, exchange, f"no {', '.join(foreign)}" if foreign else "three keys")
        context.observe("error-extra-keys", ["details" if extras else "none"] if not foreign else [], exchange)


def error_texts(context: RunContext) -> None:
    """The texts of errors: those of this mock, others, or none; never English."""
    errors = [
        (exchange, str(exchange.json.get("message", "")))
        for exchange in context.exchanges
        if isinstance(exchange.json, dict) and exchange.code in ERRORS
    ]
    with_text = [(exchange, text) for exchange, text in errors if text.strip()]
    for exchange, text in with_text:
        context.judge("base.error-portuguese", not _ENGLISH.search(text), exchange, "a Portuguese text")
    empty = next((exchange for exchange, text in errors if not text.strip()), None)
    if empty:
        context.observe("message-text", ["empty"], empty)
    if with_text:
        other = next((exchange for exchange, text in with_text if not _is_canonical(exchange, text)), None)
        context.observe("message-text", ["reworded" if other else "canonical"], other or with_text[0][0])


def _is_canonical(exchange: Exchange, text: str) -> bool:
    pattern = re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(ERRORS[str(exchange.code)].message))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def no_secrets(context: RunContext) -> None:
    """No response about a session has a field for a code, a token or a secret of the provider."""
    secret_name = re.compile(r"(access|refresh|provider|auth\w*)_?(token|code)|secret|password", re.IGNORECASE)
    for exchange in context.exchanges:
        if exchange.operation in ("createConnectionSession", "readConnectionSession") and exchange.succeeded:
            names = [key for key in _keys(exchange.json) if secret_name.search(key)]
            context.judge(
                "session.no-secrets", not names, exchange, f"no field {names[0]}" if names else "no such field"
            )


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(member)


RUN_CHECKS: Final[tuple[Probe, ...]] = (
    Probe("date-times", date_time_format, ("base.output",), ("datetime-spelling",)),
    Probe("unlisted values", unlisted_values, (), ("additive-fields", "new-enum-values")),
    Probe("keys of errors", error_keys, ("base.error-body",), ("error-extra-keys",)),
    Probe("texts of errors", error_texts, ("base.error-portuguese",), ("message-text",)),
    Probe("secrets in sessions", no_secrets, ("session.no-secrets",)),
)
