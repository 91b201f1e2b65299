"""
Probes of filters, through the preview alone: which filters a service accepts, and which chats they select.

A probe of the meaning uses an audience that is empty under one option and not under another, because an estimate may be
rough.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from mockserver.contract.filters import FIELDS, OPERATORS, PLATFORMS
from mockserver.verify import previews
from mockserver.verify.context import Exchange, RunContext, require_success
from mockserver.verify.previews import (
    DATES,
    NUMBERS_AND_DATES,
    all_of,
    any_of,
    earliest_hour,
    first_with,
    has_any,
    is_,
    preview,
    size,
    statement,
    zulu,
)

INVALID: Final = "CAMPAIGN_INVALID_FILTERS"
_SHAPE_CODES: Final = ("VALIDATION_ERROR", INVALID)

# One field of each type, with a value that fits it.
_SAMPLES: Final[tuple[tuple[str, Any], ...]] = (
    ("chat.attentionReason", "mockserver verify"),
    ("chat.monetization", 1.5),
    ("chat.isAnswered", True),
    ("chat.virtual.lastUpdateAt", "2020-01-01T00:00:00Z"),
    ("chat.tagIds", "tag_mockserver_verify"),
)
# Operators that the type of their field does not have, each with a value that is valid otherwise.
_FOREIGN: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.status", "greater-than", "open"),
    ("chat.status", "has-any", ["open"]),
    ("chat.monetization", "contains", 1),
    ("chat.monetization", "starts-with", 1),
    ("chat.isAnswered", "in", [True]),
    ("chat.isAnswered", "contains", True),
    ("chat.virtual.lastUpdateAt", "ends-with", "2020-01-01T00:00:00Z"),
    ("chat.virtual.lastUpdateAt", "has-all", ["2020-01-01T00:00:00Z"]),
    ("chat.tagIds", "equals", "tag_mockserver_verify"),
    ("chat.tagIds", "in", ["tag_mockserver_verify"]),
    ("chat.tagIds", "mockserver-verify", ["tag_mockserver_verify"]),
)
_MISTYPED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.monetization", "equals", "1"),
    ("chat.monetization", "equals", True),
    ("chat.attentionReason", "equals", 1),
    ("chat.isAnswered", "equals", "true"),
    ("chat.isAnswered", "equals", 1),
    ("chat.virtual.lastUpdateAt", "less-than", 5),
    ("chat.tagIds", "has-any", "tag_mockserver_verify"),
)


def catalog(context: RunContext) -> None:
    """The catalogue contains the documented fields and operators, in any shape."""
    exchange = context.call("readFilterSchema")
    require_success(exchange, (dict, list))
    text = exchange.body.decode("utf-8", "replace")
    operators = {name for rows in OPERATORS.values() for name in rows}
    missing = [name for name in (*FIELDS, *sorted(operators)) if f'"{name}"' not in text]
    context.judge(
        "filters.schema", not missing, exchange, f"also {', '.join(missing[:3])}" if missing else "every field"
    )


def fields(context: RunContext) -> None:
    """Each of the seventeen fields is accepted, an unknown one is refused; exists needs no value."""
    every = preview(context, any_of(*(is_(field, "exists") for field in FIELDS)))
    for clause in ("filters.fields", "filters.no-value"):
        context.judge(clause, every.succeeded, every, "an estimate over the seventeen fields")
    absent = preview(context, any_of(*(is_(field, "not-exists") for field in FIELDS)))
    context.judge("filters.no-value", absent.succeeded, absent, "an estimate over the seventeen fields")
    unknown = statement(context, "chat.mockserverVerify", "exists")
    for clause in ("filters.fields", "filters.invalid"):
        context.judge_refusal(clause, unknown, INVALID)


def operators(context: RunContext) -> None:
    """Every operator of each type is accepted, and some of other types are refused."""
    for field, value in _SAMPLES:
        rows = OPERATORS[FIELDS[field].type].values()
        operands = {"none": (), "one": (value,), "list": ([value],), "pair": (value, value)}
        statements = [is_(field, row.name, *operands[row.operand]) for row in rows]
        exchange = preview(context, any_of(*statements))
        context.judge("filters.operators", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
        context.judge("filters.value2", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
    for field, operator, value in _FOREIGN:
        exchange = statement(context, field, operator, value)
        context.judge_refusal("filters.operators", exchange, INVALID)


def values(context: RunContext) -> None:
    """A value of another type is refused, and so is a range without its upper bound."""
    for field, operator, value in _MISTYPED:
        exchange = statement(context, field, operator, value)
        for clause in ("filters.types", "filters.invalid"):
            context.judge_refusal(clause, exchange, INVALID)
    context.judge_refusal("filters.value2", statement(context, "chat.monetization", "between", 1), *_SHAPE_CODES)
    context.judge_refusal("filters.types", statement(context, "chat.monetization", "equals"), *_SHAPE_CODES)


def platforms(context: RunContext) -> None:
    """The four platforms are accepted; the response to another one is open."""
    known = statement(context, "chat.platform", "in", list(PLATFORMS))
    context.judge("filters.platform-values", known.succeeded, known, "an estimate")
    unknown = statement(context, "chat.platform", "equals", "mockserver_verify")
    by_code = {INVALID: "invalid-filters", "PLATFORM_UNSUPPORTED": "platform-unsupported"}
    is_empty = unknown.succeeded and size(unknown) == 0
    option = "match-none" if is_empty else by_code.get(str(unknown.code))
    expected = f"{' or '.join(by_code)}, or an estimate of 0"
    context.judge("filters.platform-values", option is not None, unknown, expected)
    context.observe("platform-value-unknown", [option] if option else [], unknown)
    _observe_text_operators(context, known, by_code)


def _observe_text_operators(context: RunContext, known: Exchange, by_code: Mapping[str, str]) -> None:
    """The text operators: all four platforms contain `app`, so that an estimate over any chat distinguishes the options."""
    part = statement(context, "chat.platform", "contains", "app")
    if not part.succeeded:
        context.observe("platform-text-operators", ["whole-values"] if part.code in by_code else [], part)
    elif known.succeeded and size(known):
        context.observe("platform-text-operators", ["text" if size(part) else "whole-values"], part)


def structure(context: RunContext) -> None:
    """Filters of a wrong structure are refused, all by the same one of two codes."""
    for wrong in ("text", [{"combinator": "and"}], [{"combinator": "xor", "statements": [_SOME]}]):
        exchange = context.call("previewAudience", json={"filters": wrong})
        context.judge_refusal("filters.invalid", exchange, *_SHAPE_CODES)
        by_code = {"VALIDATION_ERROR": "split", INVALID: "all-invalid-filters"}
        context.observe("filter-error-split", [by_code[exchange.code]] if exchange.code in by_code else [], exchange)


_SOME: Final = is_("chat.isAnswered", "exists")


def emptiness(context: RunContext) -> None:
    """An empty list of groups, and groups without statements."""
    listed = context.call("previewAudience", json={"filters": []})
    option = "everyone" if listed.succeeded else "reject" if listed.code in _SHAPE_CODES else None
    context.observe("filters-empty-list", [option] if option else [], listed)
    everyone = previews.size(context.call("previewAudience", json={}))
    hollow = preview(context, any_of())
    if not hollow.succeeded:
        context.observe("group-no-statements", ["reject"] if hollow.code in _SHAPE_CODES else [], hollow)
    elif everyone:
        # An `or` without statements is false; an ignored group selects every chat.
        context.observe("group-no-statements", ["ignore" if size(hollow) else "vacuous"], hollow)
    both = preview(context, all_of())
    if everyone and both.succeeded:
        context.observe("group-no-statements", ["ignore", "vacuous"] if size(both) else [], both)


BIRTH: Final = "chat.virtual.dm-participant.birthDate"
_TEXTS: Final = tuple(name for name, row in FIELDS.items() if row.type == "string" and name != "chat.platform")
_TAUTOLOGIES: Final = ("chat.monetization", "chat.isAnswered", "chat.tagIds", "chat.status", "chat.assignedUserId")
# Texts that chats are likely to hold, in their usual case.
_CASED: Final = (
    ("chat.status", "equals", "open"),
    ("chat.entrypointId", "starts-with", "entrypoint_"),
    ("chat.funnelStepId", "starts-with", "funnel_step_"),
)
_ROUGH_FROM: Final = 20  # an estimate within five per cent is exact below this size


def combined(context: RunContext) -> None:
    """Groups are joined by and, statements by their group's combinator."""
    field = first_with(context, NUMBERS_AND_DATES, "exists", "not-exists")
    if field is None:
        return
    present, absent = is_(field, "exists"), is_(field, "not-exists")
    apart = preview(context, all_of(present), all_of(absent))
    context.judge("filters.groups-and", size(apart) == 0, apart, "an estimate of 0: no chat has and lacks a value")
    within = preview(context, all_of(present, absent))
    context.judge("filters.combinator", size(within) == 0, within, "an estimate of 0: no chat has and lacks a value")
    either = preview(context, any_of(present, absent))
    context.judge(
        "filters.combinator", size(either) > 0, either, "an estimate above 0: every chat has or lacks a value"
    )


def exactness(context: RunContext) -> None:
    """Several filters that select every chat; rough estimates of them differ."""
    first = context.call("previewAudience", json={})
    previews_of_all = [
        preview(context, any_of(is_(field, "exists"), is_(field, "not-exists"))) for field in _TAUTOLOGIES
    ]
    last = context.call("previewAudience", json={})
    total = size(first)
    is_near = all(abs(size(each) - total) <= max(1, total // 5) for each in previews_of_all)
    context.judge("audience.all", is_near, previews_of_all[0], f"about {total}, as without filters")
    if size(last) == total and total >= _ROUGH_FROM:
        differs = next((each for each in previews_of_all if size(each) != total), None)
        context.observe("estimated-count-exactness", ["rough"] if differs else ["exact", "cached"], differs or first)


def missing_values(context: RunContext) -> None:
    """Whether chats without a value satisfy a negative operator."""
    field = first_with(context, NUMBERS_AND_DATES, "not-exists")
    if field is None:
        return
    value = "1850-01-01T00:00:00Z" if FIELDS[field].type == "date" else -987654321.5
    exchange = preview(context, all_of(is_(field, "not-exists"), is_(field, "not-equals", value)))
    context.judge("filters.semantics", exchange.succeeded, exchange, "an estimate")
    context.observe("missing-value-negative-ops", ["match" if size(exchange) else "no-match"], exchange)


def empty_texts(context: RunContext) -> None:
    """Whether an empty text satisfies `exists`."""
    if not has_any(context, any_of(*(is_(field, "equals", "") for field in _TEXTS))):
        return
    for field in _TEXTS:
        if has_any(context, all_of(is_(field, "equals", ""))):
            exchange = preview(context, all_of(is_(field, "equals", "")), all_of(is_(field, "exists")))
            context.observe("exists-meaning", ["not-null" if size(exchange) else "not-empty"], exchange)
            return


def letter_case(context: RunContext) -> None:
    """Whether a text in capitals selects chats that its usual form selects."""
    for field, operator, text in _CASED:
        is_usual = has_any(context, all_of(is_(field, operator, text)))
        exchange = statement(context, field, operator, text.upper()) if is_usual else None
        if exchange is not None and exchange.succeeded:
            context.observe("case-sensitivity", ["insensitive" if size(exchange) else "sensitive"], exchange)
            return


def bounds(context: RunContext) -> None:
    """A range whose two bounds are the same value, for a value of some chat."""
    for field, value in (
        ("chat.virtual.participants-count", 1),
        ("chat.monetization", 0),
        ("chat.virtual.participants-count", 2),
        ("chat.monetization", 100),
    ):
        if has_any(context, all_of(is_(field, "equals", value))):
            exchange = statement(context, field, "between", value, value)
            context.observe("between-bounds", ["inclusive" if size(exchange) else "upper-exclusive"], exchange)
            return


def dates(context: RunContext) -> None:
    """Offsets, dates without a time, date-times without an offset, and the midnight of a birth date."""
    nonsense = statement(context, DATES[0], "less-than", "yesterday")
    context.judge_refusal("filters.dates", nonsense, "CAMPAIGN_INVALID_FILTERS")
    plain = statement(context, DATES[0], "less-than", "2020-01-01T00:00:00Z")
    context.judge("filters.dates", plain.succeeded, plain, "an estimate: an ISO 8601 date-time in UTC")
    offset = statement(context, DATES[0], "less-than", "2020-01-01T00:00:00-03:00")
    _observe_acceptance(context, "date-offset", offset, ["any"], ["z-only"])
    day = statement(context, DATES[0], "less-than", "2020-01-01")
    naive = statement(context, DATES[0], "less-than", "2020-01-01T00:00:00")
    for exchange in (day, naive):
        _observe_acceptance(context, "date-only-and-naive", exchange, ["midnight-utc", "midnight-brazil"], ["reject"])
    field = first_with(context, DATES, "exists")
    hour = earliest_hour(context, field) if field else None
    if field is None or hour is None:
        return
    if offset.succeeded:
        _judge_offsets(context, field, hour)
    if naive.succeeded:
        # The hour of the earliest date has no date before it in UTC; read as Brazil's, it is three hours later, and has.
        before = statement(context, field, "less-than", hour.strftime("%Y-%m-%dT%H:%M:%S"))
        context.observe("date-only-and-naive", ["midnight-brazil" if size(before) else "midnight-utc"], before)
    if field == BIRTH:
        # The earliest birth date is a midnight: in UTC, or in Brazil, which is three o'clock UTC.
        born = statement(context, BIRTH, "equals", zulu(hour))
        zones = {0: "utc", 3: "brazil"}
        if size(born) and hour.hour in zones:
            context.observe("birthdate-zone", [zones[hour.hour]], born)


def _observe_acceptance(
    context: RunContext, choice: str, exchange: Exchange, accepted: list[str], refused: list[str]
) -> None:
    options = accepted if exchange.succeeded else refused if exchange.code == "CAMPAIGN_INVALID_FILTERS" else []
    context.observe(choice, options, exchange)


def _judge_offsets(context: RunContext, field: str, hour: datetime) -> None:
    """With an offset too, the earliest date is not before its own hour, and is before the next one."""
    for hours, expected in ((0, False), (1, True)):
        local = (hour + timedelta(hours=hours - 3)).strftime("%Y-%m-%dT%H:%M:%S-03:00")
        exchange = statement(context, field, "less-than", local)
        text = f"{'some' if expected else 'no'} chat, as with {zulu(hour + timedelta(hours=hours))}"
        context.judge("filters.dates", (size(exchange) > 0) is expected, exchange, text)
