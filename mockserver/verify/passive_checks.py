"""
Checks of every exchange of a run, and of all exchanges together.

The body of a success, held to its schema, with two things taken apart first that the document leaves open.

Fields beyond the listed ones are `additive-fields`; a value beyond an open list is `new-enum-values`. What is left
to complain about is a breach of the contract.

What is judged of every exchange as it comes: the envelope of errors, statuses, and the shape of successes.

Each watcher is a row that names its clauses and choices, as a probe's does.

What is judged once a run is over, from all its exchanges together: spelling, extra fields, texts, open lists.

These points are about the service as a whole, so one look at the sum replaces many that could disagree by chance.
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

# Lists of values that the document leaves open, by operation; a place is its keys, without the numbers of elements.
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
    """What a body is like beside its schema: unlisted fields, values of open lists and those unlisted, and breaches."""

    extras: list[str] = field(default_factory=list)
    listed: int = 0
    unlisted: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)


def read(operation: str, body: Any) -> Shape:
    """The shape of a success body of this operation."""
    shape = Shape()
    if operation in SHAPE_OPEN:
        return shape
    name = f"{operation}.response"
    plain = _walk(schemas.load(name), body, (), OPEN_LISTS.get(operation, frozenset()), shape)
    for problem in schemas.check(name, plain):
        if problem.keyword != "required" or operation not in REQUIRED_OPEN:
            shape.breaches.append(str(problem))
    return shape


def _walk(schema: Any, value: Any, place: Place, open_lists: frozenset[Place], shape: Shape) -> Any:
    """The value without unlisted fields, and with a listed value where an open list has an unlisted one."""
    for alternative in schema.get("anyOf", ()):
        if isinstance(value, dict) and "properties" in alternative:
            return _walk(alternative, value, place, open_lists, shape)
    if isinstance(value, list):
        return [_walk(schema.get("items", {}), each, place, open_lists, shape) for each in value]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        shape.extras += ["/".join((*place, key)) for key in value if key not in known]
        return {
            key: _walk(known[key], each, (*place, key), open_lists, shape)
            for key, each in value.items()
            if key in known
        }
    if place in open_lists and isinstance(value, str) and value:
        if value in schema.get("enum", ()):
            shape.listed += 1
            return value
        shape.unlisted.append("/".join(place) + f" = {value!r}")
        return schema["enum"][0]
    return value


ERROR_KEYS: Final = ("statusCode", "code", "message")


class ResponseCheck(NamedTuple):
    """What looks at every exchange, with the clauses and choices that it may speak of."""

    run: Callable[[RunContext, Exchange], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()


def error_body(visit: RunContext, exchange: Exchange) -> None:
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
    wanted = f"{{statusCode: {exchange.status}, code, message}}"
    visit.judge("base.error-body", fits, exchange, wanted)
    if exchange.status >= 500:
        visit.judge("base.internal", fits and exchange.code == "INTERNAL_ERROR", exchange, "INTERNAL_ERROR as JSON")


def error_status(visit: RunContext, exchange: Exchange) -> None:
    """A code has its catalogue's status, or the campaign guide's in the guide's own realm."""
    if exchange.status < 400 or exchange.code is None:
        return
    row = ERRORS.get(str(exchange.code))
    if row is None:
        visit.judge("base.error-catalog", False, exchange, "one of the 39 codes of the catalogue")
        return
    guided = row.guide_status != row.status and exchange.path.startswith("/v1/campaigns")
    statuses = {row.status, row.guide_status} if guided else {row.status}
    wanted = f"{row.code} as {' or '.join(map(str, sorted(statuses)))}"
    visit.judge("base.error-catalog", exchange.status in statuses, exchange, wanted)
    if guided:
        visit.judge("base.error-guide", exchange.status in statuses, exchange, wanted)
        by_option = {"catalog": row.status, "guide": row.guide_status}
        visit.observe("dual-status", (each for each in by_option if by_option[each] == exchange.status), exchange)


def lapsed(visit: RunContext, exchange: Exchange) -> None:
    """A lapsed subscription refuses everything, or writes alone."""
    if exchange.code != "SUBSCRIPTION_INACTIVE" or exchange.operation is None:
        return
    visit.judge("auth.subscription", exchange.status == 403, exchange, "403")
    writes = ENDPOINTS[exchange.operation].writes
    if not writes or any(each.succeeded for each in visit.exchanges):
        visit.observe("subscription-scope", ["writes-only" if writes else "all"], exchange)


def too_often(visit: RunContext, exchange: Exchange) -> None:
    """A 429 has its code, and tells the wait in one of the known ways."""
    if exchange.status == 429:
        visit.judge("base.rate-limit", exchange.code == "RATE_LIMIT_EXCEEDED", exchange, "RATE_LIMIT_EXCEEDED")
        visit.observe("rate-limit-headers", [_told(exchange.headers)], exchange)


def _told(headers: Mapping[str, str]) -> str:
    after = headers.get("retry-after")
    if after is None:
        return "draft-fields" if "ratelimit" in headers else "none"
    if whole_number(after) is not None:
        return "seconds"
    return "garbage" if http_date(after) is None else "http-date"


def success_status(visit: RunContext, exchange: Exchange) -> None:
    """Two success statuses are documented; the others are open."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    status = DOCUMENTED_STATUS.get(operation, exchange.status)
    visit.judge("base.success", exchange.status == status, exchange, str(status))
    if operation not in DOCUMENTED_STATUS and ENDPOINTS[operation].method == "POST":
        options = [option for option, row in SUCCESS_STATUS.items() if row[operation] == exchange.status]
        visit.observe("success-status", options, exchange)


def success_body(visit: RunContext, exchange: Exchange) -> None:
    """A success is JSON of the documented shape; what the document leaves open is left to the surveys."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    endpoint = ENDPOINTS[operation]
    if endpoint.response_schema is None:
        visit.judge("base.success", not exchange.body, exchange, "no content")
        return
    is_json = exchange.json is not ABSENT and "json" in exchange.headers.get("content-type", "")
    visit.judge("base.json", is_json, exchange, "a JSON body with a JSON Content-Type")
    breaches = read(operation, exchange.json).breaches
    visit.judge(endpoint.clause, not breaches, exchange, breaches[0] if breaches else "the documented shape")


_SHOWN: Final = tuple(row.clause for row in ENDPOINTS.values() if row.response_schema is not None)
RESPONSE_CHECKS: Final[tuple[ResponseCheck, ...]] = (
    ResponseCheck(error_body, ("base.error-body", "base.internal")),
    ResponseCheck(error_status, ("base.error-catalog", "base.error-guide"), ("dual-status",)),
    ResponseCheck(lapsed, ("auth.subscription",), ("subscription-scope",)),
    ResponseCheck(too_often, ("base.rate-limit",), ("rate-limit-headers",)),
    ResponseCheck(success_status, ("base.success",), ("success-status",)),
    ResponseCheck(success_body, ("base.json", "base.success", *_SHOWN)),
)


DATE_KEYS: Final = frozenset({"createdAt", "updatedAt", "startedAt", "completedAt"})
_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_SPELLINGS: Final = {
    "milliseconds": re.compile(_ISO + r"\.\d{3}Z"),
    "seconds": re.compile(_ISO + "Z"),
    "microseconds": re.compile(_ISO + r"\.\d{6}Z"),
    "offset": re.compile(_ISO + r"(\.\d+)?\+00:00"),
}
_DATE_TIME: Final = re.compile(_ISO + r"(\.\d+)?(Z|[+-]\d\d:\d\d)")
# Keys that an option of error-extra-keys speaks of; any other one beside the three is a breach.
_ERROR_DETAILS: Final = frozenset({"details", "requestId"})
_ENGLISH: Final = re.compile(
    r"\b(the|not found|is required|invalid|must be|should|unauthori[sz]ed|forbidden|bad request)\b", re.IGNORECASE
)


class ShapedExchange(NamedTuple):
    """An exchange beside the shape of its body."""

    exchange: Exchange
    shape: Shape


def _successes(visit: RunContext) -> list[ShapedExchange]:
    return [
        ShapedExchange(each, read(each.operation, each.json))
        for each in visit.exchanges
        if each.operation is not None and each.succeeded and each.body and isinstance(each.json, dict | list)
    ]


def spelling(visit: RunContext) -> None:
    """Date-times are ISO 8601, spelt in one way; those of sessions have Z whatever the spelling."""
    for seen in _successes(visit):
        for key, text in _date_times(seen.exchange.json):
            visit.judge("base.output", bool(_DATE_TIME.fullmatch(text)), seen.exchange, f"{key} as ISO 8601 date-time")
            options = {name for name, pattern in _SPELLINGS.items() if pattern.fullmatch(text)}
            if key == "expiresAt" and "milliseconds" in options:
                options.add("offset")
            visit.observe("datetime-spelling", options, seen.exchange)


def _date_times(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _date_times(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str) and (key in DATE_KEYS or key == "expiresAt"):
                yield key, each
            else:
                yield from _date_times(each)


def additions(visit: RunContext) -> None:
    """Fields beyond the listed ones in any success, and values beyond the open lists."""
    successes = _successes(visit)
    if not successes:
        return
    extra = next((seen for seen in successes if seen.shape.extras), None)
    shown = (extra or successes[0]).exchange
    visit.observe("additive-fields", ["unknown-fields" if extra else "none"], shown)
    unlisted = next((seen for seen in successes if seen.shape.unlisted), None)
    listed = next((seen for seen in successes if seen.shape.listed), None)
    if unlisted or listed:
        visit.observe(
            "new-enum-values", ["unseen" if unlisted else "listed"], (unlisted or listed or successes[0]).exchange
        )


def error_keys(visit: RunContext) -> None:
    """Keys beside the three of an error body, less those that the service adds to every answer."""
    errors = [each for each in visit.exchanges if each.status >= 400 and isinstance(each.json, dict)]
    everywhere = {extra.rpartition("/")[2] for seen in _successes(visit) for extra in seen.shape.extras}
    for each in errors:
        extras = set(each.json) - set(ERROR_KEYS) - everywhere
        foreign = sorted(extras - _ERROR_DETAILS)
        visit.judge("base.error-body", not foreign, each, f"no {', '.join(foreign)}" if foreign else "three keys")
        visit.observe("error-extra-keys", ["details" if extras else "none"] if not foreign else [], each)


def messages(visit: RunContext) -> None:
    """The texts of errors: this mock's own, others, or none; never English."""
    known = [
        (each, str(each.json.get("message", "")))
        for each in visit.exchanges
        if isinstance(each.json, dict) and each.code in ERRORS
    ]
    worded = [(each, text) for each, text in known if text.strip()]
    for each, text in worded:
        visit.judge("base.error-portuguese", not _ENGLISH.search(text), each, "a Portuguese text")
    if not known:
        return
    if len(worded) < len(known):
        empty = next(each for each, text in known if not text.strip())
        visit.observe("message-text", ["empty"], empty)
    if worded:
        other = next((each for each, text in worded if not _is_canonical(each, text)), None)
        visit.observe("message-text", ["reworded" if other else "canonical"], other or worded[0][0])


def _is_canonical(exchange: Exchange, text: str) -> bool:
    pattern = re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(ERRORS[str(exchange.code)].message))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def no_secrets(visit: RunContext) -> None:
    """No answer about a session has a field for a code, a token or a secret of the provider."""
    named = re.compile(r"(access|refresh|provider|auth\w*)_?(token|code)|secret|password", re.IGNORECASE)
    for each in visit.exchanges:
        if each.operation in ("createConnectionSession", "readConnectionSession") and each.succeeded:
            found = [key for key in _keys(each.json) if named.search(key)]
            visit.judge("session.no-secrets", not found, each, f"no field {found[0]}" if found else "no such field")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(each)


RUN_CHECKS: Final[tuple[Probe, ...]] = (
    Probe("date-times", spelling, ("base.output",), ("datetime-spelling",)),
    Probe("additions", additions, (), ("additive-fields", "new-enum-values")),
    Probe("keys of errors", error_keys, ("base.error-body",), ("error-extra-keys",)),
    Probe("texts of errors", messages, ("base.error-portuguese",), ("message-text",)),
    Probe("secrets in sessions", no_secrets, ("session.no-secrets",)),
)
