"""
Checks of single answers: of each by itself, and of what all of them have in common.

1. A body is compared with its schema after two parts are set aside that the document leaves open: fields beyond the
   listed ones (`additive-fields`) and values beyond an open list (`new-enum-values`). The rest has to fit.
2. What concerns the service as a whole (extra fields, texts of errors) is judged once, from all answers: single ones could
   contradict each other by chance.
3. An answer that is not the service's word, or that the recorder left out, is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.endpoints import DOCUMENTED_STATUS, ENDPOINTS, SUCCESS_STATUS
from mockserver.contract.errors import ERRORS
from mockserver.contract.schemas import ABSENT
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace

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
    name = ENDPOINTS[operation].response_schema
    if operation in SHAPE_OPEN or name is None:
        return shape
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


Answers = Sequence[Exchange]


class Judgement(NamedTuple):
    """Whether a clause holds in one exchange, and the response that it expects."""

    clause: str
    holds: bool
    exchange: Exchange
    expected: str


class Observation(NamedTuple):
    """The options of a choice that lead to the response of one exchange; none if no option does."""

    choice: str
    options: frozenset[str]
    exchange: Exchange


Shown = Judgement | Observation


class AnswerCheck(NamedTuple):
    """A check of answers, with the clauses that it may judge."""

    run: Callable[[Answers], Iterator[Shown]]
    clauses: tuple[str, ...] = ()


def _observe(choice: str, options: Iterable[str], exchange: Exchange) -> Observation:
    return Observation(choice, frozenset(options), exchange)


def error_body(answers: Answers) -> Iterator[Shown]:
    """Every error has the three keys, and its statusCode is the HTTP status."""
    for exchange in _errors(answers):
        body = exchange.response_json
        fits = (
            isinstance(body, dict)
            and all(key in body for key in ERROR_KEYS)
            and type(body["statusCode"]) is int
            and body["statusCode"] == exchange.status
            and isinstance(body["code"], str)
            and isinstance(body["message"], str)
        )
        expected = f"{{statusCode: {exchange.status}, code, message}}"
        yield Judgement("base.error-body", fits, exchange, expected)
        if (exchange.status or 0) >= 500:
            is_internal = fits and exchange.code == "INTERNAL_ERROR"
            yield Judgement("base.internal", is_internal, exchange, "INTERNAL_ERROR as JSON")


def _errors(answers: Answers) -> Iterator[Exchange]:
    yield from (exchange for exchange in answers if (exchange.status or 0) >= 400)


def error_status(answers: Answers) -> Iterator[Shown]:
    """A code has the status of the catalogue, or under /v1/campaigns that of the campaign guide."""
    for exchange in _errors(answers):
        if exchange.code is None:
            continue
        row = ERRORS.get(exchange.code)
        if row is None:
            yield Judgement("base.error-catalog", False, exchange, "one of the 39 codes of the catalogue")
            continue
        guided = row.guide_status != row.status and exchange.path.startswith("/v1/campaigns")
        statuses = {row.status, row.guide_status} if guided else {row.status}
        expected = f"{row.code} as {' or '.join(map(str, sorted(statuses)))}"
        yield Judgement("base.error-catalog", exchange.status in statuses, exchange, expected)
        if guided:
            yield Judgement("base.error-guide", exchange.status in statuses, exchange, expected)
            by_option = {"catalog": row.status, "guide": row.guide_status}
            options = [option for option, status in by_option.items() if status == exchange.status]
            yield _observe("dual-status", options, exchange)


def subscription_inactive(answers: Answers) -> Iterator[Shown]:
    """The refusal for an inactive subscription has its status."""
    for exchange in answers:
        if exchange.code == "SUBSCRIPTION_INACTIVE" and exchange.operation is not None:
            yield Judgement("auth.subscription", exchange.status == 403, exchange, "403")


def rate_limited(answers: Answers) -> Iterator[Shown]:
    """A 429 has its code."""
    for exchange in answers:
        if exchange.status == 429:
            is_known = exchange.code == "RATE_LIMIT_EXCEEDED"
            yield Judgement("base.rate-limit", is_known, exchange, "RATE_LIMIT_EXCEEDED")


def success_status(answers: Answers) -> Iterator[Shown]:
    """Two success statuses are documented; the others are open."""
    for exchange in answers:
        operation = exchange.operation
        if not exchange.succeeded or operation is None:
            continue
        status = DOCUMENTED_STATUS.get(operation, exchange.status)
        yield Judgement("base.success", exchange.status == status, exchange, str(status))
        if operation not in DOCUMENTED_STATUS and ENDPOINTS[operation].method == "POST":
            options = [option for option, row in SUCCESS_STATUS.items() if row[operation] == exchange.status]
            yield _observe("success-status", options, exchange)


def success_body(answers: Answers) -> Iterator[Shown]:
    """A success is JSON of the documented shape; other checks judge what the document leaves open."""
    for exchange in answers:
        if not exchange.succeeded or exchange.operation is None:
            continue
        endpoint = ENDPOINTS[exchange.operation]
        if endpoint.response_schema is None:
            yield Judgement("base.success", not exchange.response_body, exchange, "no content")
            continue
        headers = exchange.response_headers or _LEFT_OUT
        is_json = exchange.response_json is not ABSENT and "json" in headers.get("content-type", "")
        yield Judgement("base.json", is_json, exchange, "a JSON body with a JSON Content-Type")
        clauses = [endpoint.clause, *(["messages.record"] if exchange.operation == "listMessages" else [])]
        wrong: dict[str, str] = {}
        for violation in compare(exchange.operation, exchange.response_json).violations:
            is_of_record = violation.startswith("/records/")
            wrong.setdefault("messages.record" if is_of_record else endpoint.clause, violation)
        for clause in clauses:
            yield Judgement(clause, clause not in wrong, exchange, wrong.get(clause, "the documented shape"))


# For the headers of an answer whose recorder has none: what follows from its body.
_LEFT_OUT: Final = {"content-type": "application/json"}
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


def _successes(answers: Answers) -> list[ShapedExchange]:
    return [
        ShapedExchange(exchange, compare(exchange.operation, exchange.response_json))
        for exchange in answers
        if exchange.operation is not None and exchange.succeeded and isinstance(exchange.response_json, dict | list)
    ]


def date_time_format(answers: Answers) -> Iterator[Shown]:
    """Date-times are ISO 8601 in one format; the expiresAt of a session has Z in every format."""
    for exchange, _ in _successes(answers):
        for key, text in _date_times(exchange.response_json):
            is_date_time = _DATE_TIME.fullmatch(text) is not None
            yield Judgement("base.output", is_date_time, exchange, f"{key} as ISO 8601 date-time")
            if key == "expiresAt":
                yield Judgement("session.expires-at", text.endswith("Z"), exchange, "expiresAt in UTC, with Z")
            options = {name for name, pattern in _DATE_TIME_FORMATS.items() if pattern.fullmatch(text)}
            if key == "expiresAt" and "milliseconds" in options:
                options.add("offset")
            yield _observe("datetime-spelling", options, exchange)


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


def unlisted_values(answers: Answers) -> Iterator[Shown]:
    """Fields beyond the listed ones in any success, and values beyond the open lists."""
    successes = _successes(answers)
    if not successes:
        return
    extra = next((exchange for exchange, shape in successes if shape.extras), None)
    yield _observe("additive-fields", ["unknown-fields" if extra else "none"], extra or successes[0].exchange)
    unlisted = next((exchange for exchange, shape in successes if shape.unlisted), None)
    listed = next((exchange for exchange, shape in successes if shape.listed), None)
    if unlisted is not None:
        yield _observe("new-enum-values", ["unseen"], unlisted)
    elif listed is not None:
        yield _observe("new-enum-values", ["listed"], listed)


def error_keys(answers: Answers) -> Iterator[Shown]:
    """Keys of an error body in addition to the three, without those that the service adds to every response."""
    errors = [exchange for exchange in _errors(answers) if isinstance(exchange.response_json, dict)]
    successes = _successes(answers)
    everywhere = {extra.rpartition("/")[2] for _, shape in successes for extra in shape.extras}
    if errors and not successes:  # what every error has may be in every response
        everywhere = set.intersection(*(set(exchange.response_json) for exchange in errors)) - _ERROR_DETAILS
    for exchange in errors:
        extras = set(exchange.response_json) - set(ERROR_KEYS) - everywhere
        foreign = sorted(extras - _ERROR_DETAILS)
        expected = f"no {', '.join(foreign)}" if foreign else "three keys"
        yield Judgement("base.error-body", not foreign, exchange, expected)
        options = ["details" if extras else "none"]
        yield _observe("error-extra-keys", [] if foreign else options, exchange)


def error_texts(answers: Answers) -> Iterator[Shown]:
    """The texts of errors: those of this mock, others, or none; never English."""
    errors = [
        (exchange, str(exchange.response_json.get("message", "")))
        for exchange in answers
        if isinstance(exchange.response_json, dict) and exchange.code in ERRORS
    ]
    with_text = [(exchange, text) for exchange, text in errors if text.strip()]
    for exchange, text in with_text:
        yield Judgement("base.error-portuguese", not _ENGLISH.search(text), exchange, "a Portuguese text")
    empty = next((exchange for exchange, text in errors if not text.strip()), None)
    if empty is not None:
        yield _observe("message-text", ["empty"], empty)
    if with_text:
        other = next((exchange for exchange, text in with_text if not _is_canonical(exchange, text)), None)
        yield _observe("message-text", ["reworded" if other else "canonical"], other or with_text[0][0])


def _is_canonical(exchange: Exchange, text: str) -> bool:
    pattern = re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(ERRORS[str(exchange.code)].message))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def no_secrets(answers: Answers) -> Iterator[Shown]:
    """No response about a session has a field for a code, a token or a secret of the provider."""
    secret_name = re.compile(r"(access|refresh|provider|auth\w*)_?(token|code)|secret|password", re.IGNORECASE)
    for exchange in answers:
        if exchange.operation in ("createConnectionSession", "readConnectionSession") and exchange.succeeded:
            names = [key for key in _keys(exchange.response_json) if secret_name.search(key)]
            expected = f"no field {names[0]}" if names else "no such field"
            yield Judgement("session.no-secrets", not names, exchange, expected)


def _keys(value: Any) -> Iterator[str]:
    """Yield the keys of every object in a JSON value."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for member in value if isinstance(value, list) else ():
        yield from _keys(member)


_BODY_CLAUSES: Final = tuple(row.clause for row in ENDPOINTS.values() if row.response_schema is not None)
# What they find does not depend on the texts of a recording: they read the one with stand-ins.
ANSWER_CHECKS: Final[tuple[AnswerCheck, ...]] = (
    AnswerCheck(error_body, ("base.error-body", "base.internal")),
    AnswerCheck(error_status, ("base.error-catalog", "base.error-guide")),
    AnswerCheck(subscription_inactive, ("auth.subscription",)),
    AnswerCheck(rate_limited, ("base.rate-limit",)),
    AnswerCheck(success_status, ("base.success",)),
    AnswerCheck(success_body, ("base.json", "base.success", "messages.record", *_BODY_CLAUSES)),
    AnswerCheck(date_time_format, ("base.output", "session.expires-at")),
    AnswerCheck(unlisted_values),
    AnswerCheck(error_keys, ("base.error-body",)),
    AnswerCheck(no_secrets, ("session.no-secrets",)),
)
TEXT_CHECK: Final = AnswerCheck(error_texts, ("base.error-portuguese",))


def judged_answers(recording: Trace, plain: Trace | None = None) -> list[Judgement]:
    """
    Return which clauses the answers keep and break, each by itself.

    Args:
        recording: Its texts are printed in proofs.
        plain: The same recording with the texts of errors as the service wrote them, if `recording` has stand-ins.
    """
    shown = {exchange.number: exchange for exchange in recording.exchanges}
    rows = [row for check in ANSWER_CHECKS for row in check.run(_answers(recording)) if isinstance(row, Judgement)]
    for row in TEXT_CHECK.run(_answers(plain or recording)):
        if isinstance(row, Judgement):
            rows.append(row._replace(exchange=shown[row.exchange.number]))
    return rows


def observed_choices(recording: Trace) -> list[Observation]:
    """Return the options that the checks of single answers observe."""
    answers = _answers(recording)
    rows = [row for check in (*ANSWER_CHECKS, TEXT_CHECK) for row in check.run(answers)]
    return [row for row in rows if isinstance(row, Observation)]


def _answers(recording: Trace) -> Answers:
    return [
        exchange
        for exchange in recording.exchanges
        if exchange.is_answered and exchange.response_body is not None and exchange.method != "HEAD"
    ]
