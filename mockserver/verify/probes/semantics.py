"""
Probes of what filters mean, as far as the population tells it.

Each asks for audiences that are empty under one meaning and not under another, because an estimate may be rough.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from mockserver.contract.filters import FIELDS
from mockserver.verify.asking import (
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
from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit

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


def joining(visit: Visit) -> None:
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


def exactness(visit: Visit) -> None:
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


def missing_values(visit: Visit) -> None:
    """Whether chats without a value satisfy a negative operator."""
    field = first_with(visit, NUMBERS_AND_DATES, "not-exists")
    if field is None:
        return
    value = "1850-01-01T00:00:00Z" if FIELDS[field].type == "date" else -987654321.5
    exchange = preview(visit, all_of(is_(field, "not-exists"), is_(field, "not-equals", value)))
    visit.judge("filters.semantics", exchange.succeeded, exchange, "an estimate")
    visit.observe("missing-value-negative-ops", ["match" if size(exchange) else "no-match"], exchange)


def empty_texts(visit: Visit) -> None:
    """Whether a text that is there and empty exists."""
    if not has_any(visit, any_of(*(is_(field, "equals", "") for field in _TEXTS))):
        return
    for field in _TEXTS:
        if has_any(visit, all_of(is_(field, "equals", ""))):
            exchange = preview(visit, all_of(is_(field, "equals", "")), all_of(is_(field, "exists")))
            visit.observe("exists-meaning", ["not-null" if size(exchange) else "not-empty"], exchange)
            return


def letter_case(visit: Visit) -> None:
    for field, operator, text in _CASED:
        if has_any(visit, all_of(is_(field, operator, text))):
            exchange = statement(visit, field, operator, text.upper())
            if exchange.succeeded:
                visit.observe("case-sensitivity", ["insensitive" if size(exchange) else "sensitive"], exchange)
                return


def bounds(visit: Visit) -> None:
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


def dates(visit: Visit) -> None:
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


def _accepted(visit: Visit, choice: str, exchange: Exchange, taken: list[str], refused: list[str]) -> None:
    options = taken if exchange.succeeded else refused if exchange.code == "CAMPAIGN_INVALID_FILTERS" else []
    visit.observe(choice, options, exchange)


def _offsets_are_instants(visit: Visit, field: str, hour: datetime) -> None:
    """The earliest date is not before its hour, and before the next, however these are spelt."""
    for hours, wanted in ((0, False), (1, True)):
        local = (hour + timedelta(hours=hours - 3)).strftime("%Y-%m-%dT%H:%M:%S-03:00")
        exchange = statement(visit, field, "less-than", local)
        text = f"{'some' if wanted else 'no'} chat, as with {zulu(hour + timedelta(hours=hours))}"
        visit.judge("filters.dates", (size(exchange) > 0) is wanted, exchange, text)


def _naive_zone(visit: Visit, field: str, hour: datetime) -> None:
    """Read as UTC the earliest date's hour has nothing before it; read in Brazil it is three hours later, and has."""
    exchange = statement(visit, field, "less-than", hour.strftime("%Y-%m-%dT%H:%M:%S"))
    visit.observe("date-only-and-naive", ["midnight-brazil" if size(exchange) else "midnight-utc"], exchange)


def _birth_zone(visit: Visit, hour: datetime) -> None:
    """The earliest birth date lies exactly on a midnight: that of UTC, or that of Brazil at three o'clock."""
    exchange = statement(visit, BIRTH, "equals", zulu(hour))
    zones = {0: "utc", 3: "brazil"}
    if size(exchange) and hour.hour in zones:
        visit.observe("birthdate-zone", [zones[hour.hour]], exchange)
