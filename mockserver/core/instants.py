"""
Instants and durations of the core: whole microseconds since 1970, UTC.

Integers keep arithmetic exact, compare fast and cannot overflow; `datetime` is used only in parsing and formatting.
Texts are ISO 8601 date-times; the parser reports a missing offset, since the document leaves its meaning open.

The API shows milliseconds, and a sandbox's clock has microseconds. One rule keeps the two consistent (fixed decision
`instants-as-shown`): a past event has its exact instant, which is cut when it is shown; a future one counts from the
instant as it is shown. So a session expires at its own `expiresAt`, and the sends of an execution count from its own
`startedAt`. Dates that a filter compares are cut to the millisecond on both sides.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache

from mockserver.contract.text import http_date, whole_number

Instant = int  # microseconds since 1970-01-01T00:00:00Z
Duration = int  # microseconds

SECOND: Duration = 1_000_000
MINUTE: Duration = 60 * SECOND
HOUR: Duration = 60 * MINUTE
DAY: Duration = 24 * HOUR
MILLISECOND: Duration = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # a naive datetime formats its fields twice as fast
_BRAZIL = timezone(timedelta(hours=-3))
_MICROSECOND = timedelta(microseconds=1)
# Every date-time of ISO 8601-1:2019: calendar, week and ordinal dates, all in the extended or all in the basic format.
_ISO_8601 = r"""
    (?P<year>\d{4}) (?P<dash>-)?
    (?: (?P<month>\d\d) (?(dash)-) (?P<day>\d\d) | W (?P<week>\d\d) (?(dash)-) (?P<weekday>\d) | (?P<ordinal>\d{3}) )
    [Tt] (?P<hour>\d\d) (?: (?(dash):) (?P<minute>\d\d) (?: (?(dash):) (?P<second>\d\d) )? )? (?:[.,](?P<fraction>\d+))?
    (?: (?P<zulu>[Zz]) | (?P<sign>[+\-\u2212]) (?P<zone_hour>\d\d) (?: (?(dash):) (?P<zone_minute>\d\d) )? )?
    """
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

EARLIEST: Instant = (datetime(1, 1, 2, tzinfo=UTC) - _EPOCH) // _MICROSECOND
LATEST: Instant = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def from_datetime(moment: datetime) -> Instant:
    """Return the instant of an aware datetime; raises ValueError for a naive one, whose instant is unknown."""
    if moment.tzinfo is None:
        raise ValueError(
            f"got {moment!r} without a time zone; expected an aware datetime, such as one with tzinfo=timezone.utc"
        )
    return (moment - _EPOCH) // _MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """Return the aware UTC datetime of an instant."""
    return _EPOCH + timedelta(microseconds=instant)


def to_microseconds(duration: timedelta) -> Duration:
    """Return a timedelta in microseconds."""
    return duration // _MICROSECOND


def as_shown(instant: Instant, grain: Duration = MILLISECOND) -> Instant:
    """Return the instant as responses show it: cut to the millisecond, or to a coarser `grain`."""
    return instant // grain * grain


@lru_cache(maxsize=1024)  # a poll shows the same few instants again and again
def format_milliseconds(instant: Instant) -> str:
    """Return the instant as `2026-03-01T12:00:00.000Z`, cut to the millisecond (default of `datetime-spelling`)."""
    return (_NAIVE_EPOCH + timedelta(0, 0, instant)).isoformat("T", "milliseconds") + "Z"


def format_exact(instant: Instant) -> str:
    """Return the instant with microseconds if it has any, as the control plane and the journal show it."""
    return (
        format_milliseconds(instant)
        if instant % MILLISECOND == 0
        else to_datetime(instant).isoformat(timespec="microseconds")[:-6] + "Z"
    )


SHOWABLE = f"an instant that can be shown, from {format_exact(EARLIEST)} to {format_exact(LATEST)}"


def parse(written: str) -> tuple[Instant, bool] | None:
    """
    Return the instant of an ISO 8601 date-time and whether the text has an offset, or None for any other text.

    A text without an offset is parsed as UTC. Basic and extended format do not mix; digits beyond the microsecond are
    cut. The lower case of T and Z and the offset -00:00 are RFC 3339's.
    """
    parts = re.fullmatch(_ISO_8601, written, re.ASCII | re.VERBOSE)
    if parts is None:
        return None
    try:
        day_start, offset_span = _day(parts), _offset(parts)
    except ValueError:
        return None
    clock_span = _clock(parts)
    if clock_span is None:
        return None
    instant = day_start + clock_span - offset_span
    if parts["second"] == "60" and instant % DAY >= SECOND:  # a leap second is the last one of a day in UTC
        return None
    return instant, bool(parts["zulu"] or parts["sign"])


def _day(parts: re.Match[str]) -> Instant:
    """Return the midnight at which the day begins; raises ValueError for a day that does not exist."""
    year = int(parts["year"])
    if parts["week"]:
        day = date.fromisocalendar(year, int(parts["week"]), int(parts["weekday"]))
    elif parts["ordinal"]:
        day = date(year, 1, 1) + timedelta(days=int(parts["ordinal"]) - 1)
        if day.year != year:
            raise ValueError("no such day of the year")
    else:
        day = date(year, int(parts["month"]), int(parts["day"]))
    return (day - _EPOCH.date()).days * DAY


def _clock(parts: re.Match[str]) -> Duration | None:
    """Return the time since midnight, its fraction one of the last unit given, or None for a time that does not exist."""
    hour, minute, second = (int(parts[unit] or 0) for unit in ("hour", "minute", "second"))
    if hour > 24 or minute > 59 or second > 60:
        return None
    unit = HOUR
    if parts["minute"]:
        unit = MINUTE
    if parts["second"]:
        unit = SECOND
    digits = (parts["fraction"] or "0")[:18]
    span = (hour * 60 + minute) * MINUTE + second * SECOND + int(digits) * unit // 10 ** len(digits)
    return span if span <= DAY or (second == 60 and hour < 24) else None


def _offset(parts: re.Match[str]) -> Duration:
    """Return how far the offset is ahead of UTC; raises ValueError for one that does not exist."""
    hours, minutes = int(parts["zone_hour"] or 0), int(parts["zone_minute"] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no such offset")
    return (hours * 60 + minutes) * (MINUTE if parts["sign"] == "+" else -MINUTE)


def usable(written: str) -> tuple[Instant, str]:
    """Return the instant of a text, and "" if a sandbox can have it, else what is valid in its place."""
    parsed = parse(written)
    if parsed is None:
        return 0, "a day and time that exist, as RFC 3339, such as 2026-03-01T12:00:00Z"
    return parsed[0], "" if EARLIEST <= parsed[0] <= LATEST else SHOWABLE


def parse_date(written: str, *, brazil: bool) -> Instant | None:
    """Return the midnight of a date alone, in UTC or in Brazil (UTC-3), or None for any other text."""
    if _DATE.fullmatch(written) is None:
        return None
    try:
        day = date.fromisoformat(written)
    except ValueError:
        return None
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=_BRAZIL if brazil else UTC))


def retry_after(written: str, now: Instant) -> Duration | None:
    """Return the delay of a Retry-After, in seconds or as an HTTP date, or None if it is neither."""
    seconds = whole_number(written.strip())
    if seconds is not None:
        return seconds * SECOND
    date = retry_after_date(written)
    return max(0, date - now) if date is not None else None


def retry_after_date(written: str) -> Instant | None:
    """Return the instant of a Retry-After that is an HTTP date, or None for any other text."""
    if whole_number(written.strip()) is not None:
        return None
    moment = http_date(written.strip())
    return from_datetime(moment) if moment is not None and moment.tzinfo is not None else None


def time_of_day(text: str) -> str:
    """Return the time of day of a formatted instant, with milliseconds if it has any."""
    return text.partition("T")[2].removesuffix("Z")[:12]
