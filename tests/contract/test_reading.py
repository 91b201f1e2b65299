"""Numbers and dates of text from outside: whatever it holds, a value or None comes of it."""

from __future__ import annotations

import pytest

from mockserver.contract.text import http_date, whole_number

NO_NUMBERS = [
    "",
    " 1",
    "1 ",
    "+1",
    "-1",
    "1_0",
    "1.0",
    "1e3",
    "0x1",
    "²",
    "٣",
    "१",
    "9" * 16,
    "9" * 5000,
    "1\n",
    "5, 5",
]
NO_DATES = [
    "", "soon", "Mon, 01 Jan 2026 00:00:00 +99999999999999", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "9" * 5000,
    "Mon, 32 Jan 2026 00:00:00 GMT", "Mon, ² Jan 2026 00:00:00 GMT",
]  # fmt: skip


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 15, 10**15 - 1)])
def test_ascii_digits_are_a_whole_number(text: str, number: int) -> None:
    assert number == whole_number(text)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:20])
def test_any_other_text_is_none(text: str) -> None:
    assert whole_number(text) is None


def test_an_http_date_is_a_moment() -> None:
    moment = http_date("Sun, 01 Mar 2026 12:00:00 GMT")

    assert moment is not None
    assert "2026-03-01T12:00:00+00:00" == moment.isoformat()


@pytest.mark.parametrize("text", NO_DATES, ids=lambda text: text[:45])
def test_what_is_no_date_is_none(text: str) -> None:
    assert http_date(text) is None
