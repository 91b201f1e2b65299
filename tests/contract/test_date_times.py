"""Date-times: every form of ISO 8601 with an offset is the instant that it names, and nothing else is one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.instants import from_datetime, parse, to_datetime
from tests.harness.rows import each_row

NOON = from_datetime(datetime(2026, 3, 1, 12, tzinfo=UTC))  # a Sunday, in week 9, the 60th day

AT_NOON = [
    "2026-03-01T12:00:00Z",
    "2026-03-01t12:00:00z",
    "2026-03-01T12:00Z",
    "2026-03-01T12Z",
    "2026-03-01T12:00:00.000Z",
    "2026-03-01T12:00:00,000Z",
    "2026-03-01T12:00:00.0000000000Z",
    "2026-03-01T12:00:00+00",
    "2026-03-01T12:00:00+00:00",
    "2026-03-01T12:00:00-00:00",
    "2026-03-01T09:00:00-03",
    "2026-03-01T09:00:00-03:00",
    "2026-03-01T09:00:00\u221203:00",
    "2026-03-01T17:30:00+05:30",
    "2026-03-02T01:00+13",
    "20260301T120000Z",
    "20260301T1200Z",
    "20260301T12Z",
    "20260301T120000,0Z",
    "20260301T090000-0300",
    "20260301T090000-03",
    "2026-W09-7T12:00:00Z",
    "2026W097T120000Z",
    "2026-060T12:00:00Z",
    "2026060T120000Z",
    "2026-03-01T11,999999999999999999999Z",
]
NO_DATE_TIMES = [
    "",
    "2026-03-01",
    "12:00:00Z",
    "T12:00:00Z",
    "2026-03-01 12:00:00Z",
    "2026-03T12:00:00Z",
    "26-03-01T12:00:00Z",
    "+002026-03-01T12:00:00Z",
    "20260301T12:00:00Z",
    "2026-03-01T120000Z",
    "2026-03-01T12:00:00+0000",
    "20260301T120000+00:00",
    "2026-03-01T12:0000Z",
    "2026-0301T12:00:00Z",
    "2026W09-7T120000Z",
    "2026-02-29T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-W00-1T12:00:00Z",
    "2026-W54-1T12:00:00Z",
    "2026-W09-0T12:00:00Z",
    "2026-W09-8T12:00:00Z",
    "2026-000T12:00:00Z",
    "2026-366T12:00:00Z",
    "2026-03-01T12:60:00Z",
    "2026-03-01T12:00:61Z",
    "2026-03-01T12:00:60Z",
    "2026-03-01T12:59:60Z",
    "2026-03-01T24:00:01Z",
    "2026-03-01T24:30Z",
    "2026-03-01T24:59:60+01:00",
    "2026-03-01T23:59:60+01:00",
    "2026-03-01T25Z",
    "2026-03-01T12:00:00+24:00",
    "2026-03-01T12:00:00+03:60",
    "2026-03-01T12:00:00.Z",
    "2026-03-01T12:00:00 Z",
    "2026-03-01T12:00:00Z\n",
    "2026-03-01T12:00:00ZZ",
    "0000-03-01T12:00:00Z",
    "\u0662026-03-01T12:00:00Z",
]


@each_row("text", AT_NOON)
def test_every_form_of_a_date_time_is_its_instant(text: str) -> None:
    instant, has_offset = parse(text) or (None, None)

    assert (NOON if ",9999" not in text else NOON - 1, True) == (instant, has_offset)


@each_row("text", NO_DATE_TIMES)
def test_a_text_that_is_not_a_date_time_is_not_an_instant(text: str) -> None:
    assert parse(text) is None


@each_row(
    ("text", "seconds"),
    [
        ("2026-03-01T12,5Z", 1800),
        ("2026-03-01T12:30.5Z", 1830),
        ("20260301T1230,25Z", 1815),
        ("2026-03-01T12:00:00,0000015Z", 0.000001),
        ("2026-03-01T24:00:00Z", 43_200),
        ("2026-03-01T24Z", 43_200),
        ("2026-03-01T23:59:60Z", 43_200),
        ("2026-03-01T20:59:60-03:00", 43_200),
        ("2026-03-02T05:29:60+05:30", 43_200),
    ],
)
def test_a_fraction_belongs_to_the_last_unit_and_a_day_may_end_with_its_last_second(text: str, seconds: float) -> None:
    assert (NOON + round(seconds * 1_000_000), True) == parse(text)


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00", "20260301T120000", "2026-W09-7T12", "2026-060T12:00,0"])
def test_a_text_without_an_offset_is_read_as_utc_and_marked(text: str) -> None:
    assert (NOON, False) == parse(text)


def test_a_fraction_of_any_length_is_read() -> None:
    assert (NOON + 123_456, True) == parse(f"2026-03-01T12:00:00.123456{'9' * 100_000}Z")


MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moment=MOMENTS, zone=OFFSETS)
def test_each_format_of_one_moment_is_one_instant(moment: datetime, zone: timezone) -> None:
    local = moment.astimezone(zone)
    week, ordinal = local.isocalendar(), local.timetuple().tm_yday
    clock, offset = f"{local:%H:%M:%S.%f}", local.isoformat()[-6:]
    days = [f"{local.year:04}-{local:%m-%d}", f"{local.year:04}-{ordinal:03}", f"{week[0]:04}-W{week[1]:02}-{week[2]}"]

    extended = [f"{day}T{clock}{offset}" for day in days]
    basic = [f"{day.replace('-', '')}T{clock.replace(':', '')}{offset.replace(':', '')}" for day in days]

    assert {(from_datetime(moment), True)} == {parse(text) for text in extended + basic}


@given(text=st.from_regex(r"2[0-9]{3}-?(W?[0-9-]{2,6})T[0-9:.,]{2,12}([Z]|[+-][0-9:]{2,5})?", fullmatch=True))
def test_a_text_that_resembles_a_date_time_never_raises(text: str) -> None:
    read = parse(text)

    assert read is None or to_datetime(read[0]).year in range(int(text[:4]) - 1, int(text[:4]) + 2)
