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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.endpoints import ENDPOINTS, SUCCESS_STATUS
from mockserver.contract.errors import ERRORS
from mockserver.contract.schemas import ABSENT
from mockserver.judge.service.verdicts import ClauseCheck, Found, answered, observed
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace

Place = tuple[str, ...]

# Lists of values that the document leaves open, by operation; a place is a path of keys, without array indexes.
_OPEN_LISTS: Final[Mapping[str, frozenset[Place]]] = {
    "listTemplates": frozenset({("templates", "providerTemplateStatus")}),
    "readTemplate": frozenset({("items", "type")}),
    "readEntrypoint": frozenset({("entrypoint", "platform")}),
    "readConnectionSession": frozenset({("entrypoint", "platform")}),
    "listMessages": frozenset({("records", "type"), ("records", "status")}),
}
# "Response shape: not shown", and "required fields of a message record: not shown".
_SHAPE_OPEN: Final = frozenset({"readFilterSchema"})
_REQUIRED_OPEN: Final = frozenset({"listMessages"})
_RECORDS: Final[Mapping[str, str]] = {"listMessages": "messages.record"}  # the clause of the records of a list


@dataclass
class Shape:
    """Differences of a body from its schema: unlisted fields, and violations."""

    extras: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def compare(operation: str, body: Any) -> Shape:
    """Compare the body of a success with the schema of its operation."""
    shape = Shape()
    name = ENDPOINTS[operation].response_schema
    if operation in _SHAPE_OPEN or name is None:
        return shape
    listed_only = _strip(schemas.load(name), body, (), _OPEN_LISTS.get(operation, frozenset()), shape)
    for problem in schemas.check(name, listed_only):
        if problem.keyword != "required" or operation not in _REQUIRED_OPEN:
            shape.violations.append(f"{problem.pointer or 'the body'}: expected {problem.wanted}")
    return shape


def _strip(schema: Any, value: Any, place: Place, open_lists: frozenset[Place], shape: Shape) -> Any:
    """Return the value without unlisted fields, which are noted, and with a listed value in place of each of an open list."""
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
        return schema["enum"][0]
    return value


_ERROR_KEYS: Final = ("statusCode", "code", "message")
_DATE_KEYS: Final = frozenset({"createdAt", "updatedAt", "startedAt", "completedAt"})
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
_SECRET: Final = re.compile(r"(access|refresh|provider|auth\w*)_?(token|code)|secret|password", re.IGNORECASE)
# For the headers of an answer whose recorder has none: what follows from its body.
_LEFT_OUT: Final = {"content-type": "application/json"}


class _ShapedAnswer(NamedTuple):
    """A success with a JSON object or list, and how its body differs from the schema."""

    answer: Exchange
    shape: Shape


def words_of_the_service(trace: Trace) -> Trace:
    """Return the trace of the answers that are the service's word."""
    answered = [call for call in trace.exchanges if call.is_answered and call.method != "HEAD"]
    return replace(trace, exchanges=[call for call in answered if call.response_body is not None])


def _errors(answers: Trace) -> list[Exchange]:
    return [answer for answer in answers.exchanges if (answer.status or 0) >= 400]


def _successes(answers: Trace) -> list[Exchange]:
    return [answer for answer in answers.calls if answer.succeeded]


def _shaped(answers: Trace) -> Sequence[_ShapedAnswer]:
    with_body = [answer for answer in _successes(answers) if isinstance(answer.response_json, dict | list)]
    return [_ShapedAnswer(answer, compare(answer.operation or "", answer.response_json)) for answer in with_body]


def error_body(answers: Trace) -> Found:
    """Every error has the three keys, and its statusCode is the HTTP status."""
    for answer in _errors(answers):
        body = answer.response_json
        fits = (
            isinstance(body, dict)
            and type(body.get("statusCode")) is int
            and body["statusCode"] == answer.status
            and isinstance(body.get("code"), str)
            and isinstance(body.get("message"), str)
        )
        expected = f"{{statusCode: {answer.status}, code, message}}"
        yield answered("base.error-body", fits, answer, expected)
        if (answer.status or 0) >= 500:
            is_internal = fits and answer.code == "INTERNAL_ERROR"
            yield answered("base.internal", is_internal, answer, "INTERNAL_ERROR as JSON")


def error_status(answers: Trace) -> Found:
    """A code has the status of the catalogue, or under /v1/campaigns that of the campaign guide."""
    for answer in _errors(answers):
        if answer.code is None:
            continue
        row = ERRORS.get(answer.code)
        if row is None:
            yield answered("base.error-catalog", False, answer, "one of the 39 codes of the catalogue")
            continue
        by_option = {"catalog": row.status}
        is_guided = row.guide_status != row.status and answer.path.startswith("/v1/campaigns")
        if is_guided:
            by_option["guide"] = row.guide_status
        options = [option for option, status in by_option.items() if status == answer.status]
        expected = f"{row.code} as {' or '.join(map(str, sorted(by_option.values())))}"
        yield answered("base.error-catalog", bool(options), answer, expected)
        if is_guided:
            yield answered("base.error-guide", bool(options), answer, expected)
            yield observed("dual-status", options, answer)


def refusals(answers: Trace) -> Found:
    """The refusal for an inactive subscription has its status, and a 429 its code."""
    for answer in answers.exchanges:
        if answer.code == "SUBSCRIPTION_INACTIVE" and answer.operation is not None:
            yield answered("auth.subscription", answer.status == 403, answer, "403")
        if answer.status == 429:
            is_known = answer.code == "RATE_LIMIT_EXCEEDED"
            yield answered("base.rate-limit", is_known, answer, "RATE_LIMIT_EXCEEDED")


def success_status(answers: Trace) -> Found:
    """Two success statuses are documented; the others are open."""
    for answer in _successes(answers):
        endpoint = ENDPOINTS[answer.operation or ""]
        status = endpoint.status if endpoint.has_documented_status else answer.status
        yield answered("base.success", answer.status == status, answer, str(status))
        if not endpoint.has_documented_status and endpoint.method == "POST":
            options = [option for option, row in SUCCESS_STATUS.items() if row[endpoint.id] == answer.status]
            yield observed("success-status", options, answer)


def success_body(answers: Trace) -> Found:
    """A success is JSON of the documented shape; other checks judge what the document leaves open."""
    for answer in _successes(answers):
        endpoint = ENDPOINTS[answer.operation or ""]
        if endpoint.response_schema is None:
            yield answered("base.success", not answer.response_body, answer, "no content")
            continue
        kind = (answer.response_headers or _LEFT_OUT).get("content-type", "")
        is_json = answer.response_json is not ABSENT and "json" in kind
        yield answered("base.json", is_json, answer, "a JSON body with a JSON Content-Type")
        clause_of_records = _RECORDS.get(endpoint.id, endpoint.clause)
        wrong: dict[str, str] = {}
        for violation in compare(endpoint.id, answer.response_json).violations:
            is_of_record = violation.startswith("/records/")
            wrong.setdefault(clause_of_records if is_of_record else endpoint.clause, violation)
        for clause in dict.fromkeys((endpoint.clause, clause_of_records)):
            yield answered(clause, clause not in wrong, answer, wrong.get(clause, ""))


def date_time_format(answers: Trace) -> Found:
    """Date-times are ISO 8601 in one format; the expiresAt of a session has Z in every format."""
    for answer, _ in answers.once(_shaped):
        for key, text in _date_times(answer.response_json):
            is_date_time = _DATE_TIME.fullmatch(text) is not None
            yield answered("base.output", is_date_time, answer, f"{key} as ISO 8601 date-time")
            options = {name for name, pattern in _DATE_TIME_FORMATS.items() if pattern.fullmatch(text)}
            if key == "expiresAt":
                yield answered("session.expires-at", text.endswith("Z"), answer, "expiresAt in UTC, with Z")
                if "milliseconds" in options:
                    options.add("offset")
            yield observed("datetime-spelling", options, answer)


def _date_times(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the key and text of each date-time in a JSON value."""
    for key, member in _members(value):
        if isinstance(member, str) and (key in _DATE_KEYS or key == "expiresAt"):
            yield key, member


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each key and member of every object in a JSON value."""
    inner = value if isinstance(value, list) else []
    if isinstance(value, dict):
        for key, member in value.items():
            yield key, member
            yield from _members(member)
    for element in inner:
        yield from _members(element)


def additive_fields(answers: Trace) -> Found:
    """Fields beyond the listed ones in any success."""
    shaped = answers.once(_shaped)
    if not shaped:
        return
    extra = next((answer for answer, shape in shaped if shape.extras), None)
    yield observed("additive-fields", ["unknown-fields" if extra else "none"], extra or shaped[0].answer)


def error_keys(answers: Trace) -> Found:
    """Keys of an error body in addition to the three, without those that the service adds to every response."""
    errors = [answer for answer in _errors(answers) if isinstance(answer.response_json, dict)]
    shaped = answers.once(_shaped)
    everywhere = {extra.rpartition("/")[2] for _, shape in shaped for extra in shape.extras}
    if errors and not shaped:  # what every error has may be in every response
        everywhere = set.intersection(*(set(answer.response_json) for answer in errors)) - _ERROR_DETAILS
    for answer in errors:
        extras = set(answer.response_json) - set(_ERROR_KEYS) - everywhere
        foreign = sorted(extras - _ERROR_DETAILS)
        yield answered("base.error-body", not foreign, answer, f"no {', '.join(foreign)}")
        options = ["details" if extras else "none"]
        yield observed("error-extra-keys", [] if foreign else options, answer)


def error_texts(answers: Trace) -> Found:
    """The texts of errors: those of this mock, others, or none; never English."""
    errors = [
        answer for answer in answers.exchanges if isinstance(answer.response_json, dict) and answer.code in ERRORS
    ]
    texts = [(answer, str(answer.response_json.get("message", ""))) for answer in errors]
    with_text = [(answer, text) for answer, text in texts if text.strip()]
    for answer, text in with_text:
        yield answered("base.error-portuguese", not _ENGLISH.search(text), answer, "a Portuguese text")
    empty = next((answer for answer, text in texts if not text.strip()), None)
    other = next((answer for answer, text in with_text if not _is_canonical(answer, text)), None)
    if empty is not None:
        yield observed("message-text", ["empty"], empty)
    if with_text:
        yield observed("message-text", ["reworded" if other else "canonical"], other or with_text[0][0])


def _is_canonical(answer: Exchange, text: str) -> bool:
    pattern = re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(ERRORS[str(answer.code)].message))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def no_secrets(answers: Trace) -> Found:
    """No response about a session has a field for a code, a token or a secret of the provider."""
    for answer in answers.of("createConnectionSession", "readConnectionSession"):
        if answer.succeeded:
            names = [key for key, _ in _members(answer.response_json) if _SECRET.search(key)]
            yield answered("session.no-secrets", not names, answer, f"no field {', '.join(names[:1])}")


_BODY_CLAUSES: Final = tuple(row.clause for row in ENDPOINTS.values() if row.response_schema is not None)
CHECKS: Final = (
    ClauseCheck(("base.error-body", "base.internal"), error_body, scope="answers"),
    ClauseCheck(("base.error-catalog", "base.error-guide"), error_status, scope="answers"),
    ClauseCheck(("auth.subscription", "base.rate-limit"), refusals, scope="answers"),
    ClauseCheck(("base.success",), success_status, scope="answers"),
    ClauseCheck(("base.json", "base.success", "messages.record", *_BODY_CLAUSES), success_body, scope="answers"),
    ClauseCheck(("base.output", "session.expires-at"), date_time_format, scope="answers"),
    ClauseCheck((), additive_fields, scope="answers"),
    ClauseCheck(("base.error-body",), error_keys, scope="answers"),
    ClauseCheck(("session.no-secrets",), no_secrets, scope="answers"),
    ClauseCheck(("base.error-portuguese",), error_texts, scope="answers"),
)
