"""
Probes of filters: what is accepted, and what it selects.

Probes of filters: what is accepted, what is refused and with which code. They read alone, through the preview.

Probes of what filters mean, as far as the population tells it.

Each asks for audiences that are empty under one meaning and not under another, because an estimate may be rough.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from mockserver.contract.filters import FIELDS, OPERATORS, PLATFORMS
from mockserver.verify import previews
from mockserver.verify.context import Exchange, RunContext, succeeded
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
# Operators outside their field's type, each with a value that is not what is wrong.
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


def catalog(visit: RunContext) -> None:
    """The catalogue names the documented fields and operators, in whatever shape."""
    exchange = visit.call("readFilterSchema")
    succeeded(exchange, (dict, list))
    text = exchange.body.decode("utf-8", "replace")
    operators = {name for rows in OPERATORS.values() for name in rows}
    missing = [name for name in (*FIELDS, *sorted(operators)) if f'"{name}"' not in text]
    visit.judge("filters.schema", not missing, exchange, f"also {', '.join(missing[:3])}" if missing else "every field")


def fields(visit: RunContext) -> None:
    """Each of the seventeen fields is taken, an unknown one is not; exists needs no value."""
    every = preview(visit, any_of(*(is_(field, "exists") for field in FIELDS)))
    for clause in ("filters.fields", "filters.no-value"):
        visit.judge(clause, every.succeeded, every, "an estimate over the seventeen fields")
    absent = preview(visit, any_of(*(is_(field, "not-exists") for field in FIELDS)))
    visit.judge("filters.no-value", absent.succeeded, absent, "an estimate over the seventeen fields")
    unknown = statement(visit, "chat.mockserverVerify", "exists")
    for clause in ("filters.fields", "filters.invalid"):
        visit.refused(clause, unknown, INVALID)


def operators(visit: RunContext) -> None:
    """Every operator of each type is taken, and some outside it are refused."""
    for field, value in _SAMPLES:
        rows = OPERATORS[FIELDS[field].type].values()
        said = [is_(field, row.name, *_operands(row.operand, value)) for row in rows]
        exchange = preview(visit, any_of(*said))
        visit.judge("filters.operators", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
        visit.judge("filters.value2", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
    for field, operator, value in _FOREIGN:
        exchange = statement(visit, field, operator, value)
        visit.refused("filters.operators", exchange, INVALID)


def _operands(kind: str, value: Any) -> tuple[Any, ...]:
    return {"none": (), "one": (value,), "list": ([value],), "pair": (value, value)}[kind]


def values(visit: RunContext) -> None:
    """A value of another type is refused, and so is a range without its upper bound."""
    for field, operator, value in _MISTYPED:
        exchange = statement(visit, field, operator, value)
        for clause in ("filters.types", "filters.invalid"):
            visit.refused(clause, exchange, INVALID)
    visit.refused("filters.value2", statement(visit, "chat.monetization", "between", 1), *_SHAPE_CODES)
    visit.refused("filters.types", statement(visit, "chat.monetization", "equals"), *_SHAPE_CODES)


def platforms(visit: RunContext) -> None:
    """The four platforms are taken; what another one gets is open."""
    known = statement(visit, "chat.platform", "in", list(PLATFORMS))
    visit.judge("filters.platform-values", known.succeeded, known, "an estimate")
    unknown = statement(visit, "chat.platform", "equals", "mockserver_verify")
    by_code = {INVALID: "invalid-filters", "PLATFORM_UNSUPPORTED": "platform-unsupported"}
    none = unknown.succeeded and size(unknown) == 0
    option = "match-none" if none else by_code.get(str(unknown.code))
    wanted = f"{' or '.join(by_code)}, or an estimate of 0"
    visit.judge("filters.platform-values", option is not None, unknown, wanted)
    visit.observe("platform-value-unknown", [option] if option else [], unknown)
    _parts_of_platforms(visit, known, by_code)


def _parts_of_platforms(visit: RunContext, known: Exchange, by_code: Mapping[str, str]) -> None:
    """The text operators: all four platforms contain `app`, so that with a chat an estimate tells the options apart."""
    part = statement(visit, "chat.platform", "contains", "app")
    if not part.succeeded:
        visit.observe("platform-text-operators", ["whole-values"] if part.code in by_code else [], part)
    elif known.succeeded and size(known):
        visit.observe("platform-text-operators", ["text" if size(part) else "whole-values"], part)


def structure(visit: RunContext) -> None:
    """Filters of a wrong structure are refused, by one code or the other throughout."""
    for wrong in ("text", [{"combinator": "and"}], [{"combinator": "xor", "statements": [_SOME]}]):
        exchange = visit.call("previewAudience", json={"filters": wrong})
        visit.refused("filters.invalid", exchange, *_SHAPE_CODES)
        by_code = {"VALIDATION_ERROR": "split", INVALID: "all-invalid-filters"}
        visit.observe("filter-error-split", [by_code[exchange.code]] if exchange.code in by_code else [], exchange)


_SOME: Final = is_("chat.isAnswered", "exists")


def emptiness(visit: RunContext) -> None:
    """An empty list of groups, and groups without statements."""
    listed = visit.call("previewAudience", json={"filters": []})
    option = "everyone" if listed.succeeded else "reject" if listed.code in _SHAPE_CODES else None
    visit.observe("filters-empty-list", [option] if option else [], listed)
    everyone = previews.size(visit.call("previewAudience", json={}))
    hollow = preview(visit, any_of())
    if not hollow.succeeded:
        visit.observe("group-no-statements", ["reject"] if hollow.code in _SHAPE_CODES else [], hollow)
    elif everyone:
        # An or over nothing is false; a group that is left out restricts nobody.
        visit.observe("group-no-statements", ["ignore" if size(hollow) else "vacuous"], hollow)
    both = preview(visit, all_of())
    if everyone and both.succeeded:
        visit.observe("group-no-statements", ["ignore", "vacuous"] if size(both) else [], both)


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


def joining(visit: RunContext) -> None:
    """Groups are joined by and, statements by their group's combinator."""
    field = first_with(visit, NUMBERS_AND_DATES, "exists", "not-exists")
    if field is None:
        return
    there, absent = is_(field, "exists"), is_(field, "not-exists")
    apart = preview(visit, all_of(there), all_of(absent))
    visit.judge("filters.groups-and", size(apart) == 0, apart, "an estimate of 0: no chat has and lacks a value")
    within = preview(visit, all_of(there, absent))
    visit.judge("filters.combinator", size(within) == 0, within, "an estimate of 0: no chat has and lacks a value")
    either = preview(visit, any_of(there, absent))
    visit.judge("filters.combinator", size(either) > 0, either, "an estimate above 0: every chat has or lacks a value")


def exactness(visit: RunContext) -> None:
    """One audience said in several ways: everyone. A rough estimate differs from one way to the next."""
    first = visit.call("previewAudience", json={})
    said = [preview(visit, any_of(is_(field, "exists"), is_(field, "not-exists"))) for field in _TAUTOLOGIES]
    last = visit.call("previewAudience", json={})
    total = size(first)
    near = all(abs(size(each) - total) <= max(1, total // 5) for each in said)
    visit.judge("audience.all", near, said[0], f"about {total}, as without filters")
    if size(last) == total and total >= _ROUGH_FROM:
        differs = next((each for each in said if size(each) != total), None)
        visit.observe("estimated-count-exactness", ["rough"] if differs else ["exact", "cached"], differs or first)


def missing_values(visit: RunContext) -> None:
    """Whether chats without a value satisfy a negative operator."""
    field = first_with(visit, NUMBERS_AND_DATES, "not-exists")
    if field is None:
        return
    value = "1850-01-01T00:00:00Z" if FIELDS[field].type == "date" else -987654321.5
    exchange = preview(visit, all_of(is_(field, "not-exists"), is_(field, "not-equals", value)))
    visit.judge("filters.semantics", exchange.succeeded, exchange, "an estimate")
    visit.observe("missing-value-negative-ops", ["match" if size(exchange) else "no-match"], exchange)


def empty_texts(visit: RunContext) -> None:
    """Whether a text that is there and empty exists."""
    if not has_any(visit, any_of(*(is_(field, "equals", "") for field in _TEXTS))):
        return
    for field in _TEXTS:
        if has_any(visit, all_of(is_(field, "equals", ""))):
            exchange = preview(visit, all_of(is_(field, "equals", "")), all_of(is_(field, "exists")))
            visit.observe("exists-meaning", ["not-null" if size(exchange) else "not-empty"], exchange)
            return


def letter_case(visit: RunContext) -> None:
    for field, operator, text in _CASED:
        if has_any(visit, all_of(is_(field, operator, text))):
            exchange = statement(visit, field, operator, text.upper())
            if exchange.succeeded:
                visit.observe("case-sensitivity", ["insensitive" if size(exchange) else "sensitive"], exchange)
                return


def bounds(visit: RunContext) -> None:
    """A range from a value to itself, for a value that some chat has."""
    for field, value in (
        ("chat.virtual.participants-count", 1),
        ("chat.monetization", 0),
        ("chat.virtual.participants-count", 2),
        ("chat.monetization", 100),
    ):
        if has_any(visit, all_of(is_(field, "equals", value))):
            exchange = statement(visit, field, "between", value, value)
            visit.observe("between-bounds", ["inclusive" if size(exchange) else "upper-exclusive"], exchange)
            return


def dates(visit: RunContext) -> None:
    """Offsets, dates alone, date-times without an offset, and the midnight of a birth date."""
    nonsense = statement(visit, DATES[0], "less-than", "yesterday")
    visit.refused("filters.dates", nonsense, "CAMPAIGN_INVALID_FILTERS")
    plain = statement(visit, DATES[0], "less-than", "2020-01-01T00:00:00Z")
    visit.judge("filters.dates", plain.succeeded, plain, "an estimate: an ISO 8601 date-time in UTC")
    offset = statement(visit, DATES[0], "less-than", "2020-01-01T00:00:00-03:00")
    _accepted(visit, "date-offset", offset, ["any"], ["z-only"])
    day = statement(visit, DATES[0], "less-than", "2020-01-01")
    naive = statement(visit, DATES[0], "less-than", "2020-01-01T00:00:00")
    for exchange in (day, naive):
        _accepted(visit, "date-only-and-naive", exchange, ["midnight-utc", "midnight-brazil"], ["reject"])
    field = first_with(visit, DATES, "exists")
    hour = earliest_hour(visit, field) if field else None
    if field is None or hour is None:
        return
    if offset.succeeded:
        _offsets_are_instants(visit, field, hour)
    if naive.succeeded:
        _naive_zone(visit, field, hour)
    if field == BIRTH:
        _birth_zone(visit, hour)


def _accepted(visit: RunContext, choice: str, exchange: Exchange, taken: list[str], refused: list[str]) -> None:
    options = taken if exchange.succeeded else refused if exchange.code == "CAMPAIGN_INVALID_FILTERS" else []
    visit.observe(choice, options, exchange)


def _offsets_are_instants(visit: RunContext, field: str, hour: datetime) -> None:
    """The earliest date is not before its hour, and before the next, however these are spelt."""
    for hours, wanted in ((0, False), (1, True)):
        local = (hour + timedelta(hours=hours - 3)).strftime("%Y-%m-%dT%H:%M:%S-03:00")
        exchange = statement(visit, field, "less-than", local)
        text = f"{'some' if wanted else 'no'} chat, as with {zulu(hour + timedelta(hours=hours))}"
        visit.judge("filters.dates", (size(exchange) > 0) is wanted, exchange, text)


def _naive_zone(visit: RunContext, field: str, hour: datetime) -> None:
    """Read as UTC the earliest date's hour has nothing before it; read in Brazil it is three hours later, and has."""
    exchange = statement(visit, field, "less-than", hour.strftime("%Y-%m-%dT%H:%M:%S"))
    visit.observe("date-only-and-naive", ["midnight-brazil" if size(exchange) else "midnight-utc"], exchange)


def _birth_zone(visit: RunContext, hour: datetime) -> None:
    """The earliest birth date lies exactly on a midnight: that of UTC, or that of Brazil at three o'clock."""
    exchange = statement(visit, BIRTH, "equals", zulu(hour))
    zones = {0: "utc", 3: "brazil"}
    if size(exchange) and hour.hour in zones:
        visit.observe("birthdate-zone", [zones[hour.hour]], exchange)
