"""Texts, numbers and dates, each biased to its boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

# What programs trip over: accents, emoji of one and of many code points, other scripts, quotes, blanks, placeholders.
AWKWARD = (
    "São João ☕/",
    "👩‍👩‍👧‍👦",
    "🎉",
    "e\u0301",
    "اختبار",
    "  ",
    "\"'\\",
    "<b>&amp;</b>",
    "{{1}}",
    "null",
    "0",
    "a\nb\tc",
)
_ZONES = (UTC, timezone(timedelta(hours=-3)), timezone(timedelta(hours=5, minutes=30)))
_CHARACTERS = st.characters(codec="utf-8")
_EARLIEST, _LATEST = datetime(1900, 1, 1), datetime(2100, 1, 1)


def texts(least: int, most: int | None = None, *, plain: Sequence[str] = ("a",)) -> st.SearchStrategy[str]:
    """Texts of `least` to `most` code points: plain ones, awkward ones, and those of the two extreme lengths."""
    longest = most if most is not None else least + 200
    ends = [character * length for length in (least, longest, longest) for character in ("x", "ã", "😀")]
    fitting = [text for text in (*plain, *AWKWARD) if least <= len(text) <= longest]
    return st.one_of(
        st.sampled_from(fitting or ends),
        st.sampled_from(ends),
        st.text(_CHARACTERS, min_size=least, max_size=min(longest, least + 30)),
    )


def integers(least: int, most: int) -> st.SearchStrategy[int]:
    """Whole numbers from `least` to `most`; the ends and their neighbours often."""
    ends = sorted({least, min(least + 1, most), max(least, most - 1), most})
    return st.one_of(st.sampled_from(ends), st.integers(least, min(most, least + 10_000)), st.integers(least, most))


def numbers() -> st.SearchStrategy[int | float]:
    """Numbers as JSON has them."""
    return st.one_of(
        st.sampled_from([0, 1, -1, 10, 250.5, 0.1, -0.0, 2**53 - 1]),
        st.integers(-1000, 1000),
        st.floats(-1e9, 1e9, allow_nan=False, width=32),
    )


@st.composite
def instants(draw: st.DrawFn, near: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> str:
    """RFC 3339 date-times with an offset, often around `near` and at its day's ends, to the millisecond or finer."""
    moment = draw(
        st.one_of(
            st.sampled_from(
                [timedelta(0), timedelta(milliseconds=-1), timedelta(milliseconds=1), timedelta(days=-1)]
            ).map(lambda away: near + away),
            st.datetimes(_EARLIEST, _LATEST, timezones=st.just(UTC)),
        )
    )
    zone = draw(st.sampled_from(_ZONES))
    detail = draw(st.sampled_from(["milliseconds", "seconds", "microseconds"]))
    written = moment.astimezone(zone).isoformat(timespec=detail)
    return written.replace("+00:00", "Z") if zone is UTC else written


def dates() -> st.SearchStrategy[str]:
    """Days alone, leap days and turns of the year often."""
    odd = st.sampled_from(["1990-02-28", "2000-02-29", "1999-12-31", "1970-01-01", "1969-12-31"])
    return st.one_of(odd, st.dates(_EARLIEST.date(), _LATEST.date()).map(str))


def ids(prefix: str) -> st.SearchStrategy[str]:
    """Semantic ids: the prefix of the kind and a short tail."""
    return st.text("abcdef0123456789", min_size=1, max_size=8).map(f"{prefix}{{}}".format)
