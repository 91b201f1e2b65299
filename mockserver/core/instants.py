"""
Instants and durations as the core keeps them: whole microseconds since 1970, UTC.

Whole numbers keep arithmetic exact, compare fast and cannot overflow; a `datetime` appears only at the faces.
Texts are RFC 3339 date-times; a text without an offset is told apart, since the document leaves it open.

The API shows milliseconds, and a sandbox's clock has microseconds. One rule keeps the two consistent (fixed decision
`instants-as-shown`): what has happened keeps its exact instant and is cut when it is shown; what is promised for later is
counted from the instant as it is shown. So a session expires at its own `expiresAt`, and the sends of an execution
count from its own `startedAt`. Dates that a filter compares are cut to the millisecond on both sides.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

Instant = int  # microseconds since 1970-01-01T00:00:00Z
Span = int  # microseconds

SECOND: Span = 1_000_000
MINUTE: Span = 60 * SECOND
DAY: Span = 24 * 60 * MINUTE
MILLISECOND: Span = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BRAZIL = timezone(timedelta(hours=-3))
_MICROSECOND = timedelta(microseconds=1)
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

EARLIEST: Instant = (datetime(1, 1, 2, tzinfo=UTC) - _EPOCH) // _MICROSECOND
LATEST: Instant = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime. Refuses a naive one: nobody could say which instant it means."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware datetime, for example with tzinfo=timezone.utc")
    return (moment - _EPOCH) // _MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """The aware UTC datetime of an instant."""
    return _EPOCH + timedelta(microseconds=instant)


def span(duration: timedelta) -> Span:
    """A timedelta in microseconds."""
    return duration // _MICROSECOND


def as_shown(instant: Instant, grain: Span = MILLISECOND) -> Instant:
    """Return the instant as answers show it: cut to the millisecond, or to a coarser `grain`."""
    return instant // grain * grain


def text(instant: Instant) -> str:
    """The instant as `2026-03-01T12:00:00.000Z`, cut to the millisecond (choice `datetime-spelling`, default)."""
    return to_datetime(instant).isoformat(timespec="milliseconds")[:-6] + "Z"


def exact_text(instant: Instant) -> str:
    """The instant with microseconds where it has any: what the control plane and the journal show."""
    return (
        text(instant)
        if instant % MILLISECOND == 0
        else to_datetime(instant).isoformat(timespec="microseconds")[:-6] + "Z"
    )


def parse(written: str) -> tuple[Instant, bool] | None:
    """
    The instant of an ISO 8601 date-time with seconds optional, and whether it said its offset.

    A text without an offset is read as UTC and answers False. None where the text is no date-time at all.
    Digits beyond the microsecond are cut.
    """
    found = _DATE_TIME.fullmatch(written)
    if found is None:
        return None
    day, clock, fraction, offset = found.groups()
    zone = "+00:00" if offset in (None, "Z", "z") else offset
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    microseconds = int((fraction or "0").ljust(6, "0")[:6])
    return from_datetime(moment) + microseconds, offset is not None


def parse_date(written: str, *, brazil: bool) -> Instant | None:
    """The midnight of a date alone, in UTC or in Brazil (UTC-3); None where the text is no date."""
    if _DATE.fullmatch(written) is None:
        return None
    try:
        day = date.fromisoformat(written)
    except ValueError:
        return None
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=_BRAZIL if brazil else UTC))
