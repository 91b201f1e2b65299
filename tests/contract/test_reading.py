"""Numbers and dates of text from outside: any text yields a value or None."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mockserver.contract.text import brief, http_date, json_value, whole_number
from tests.harness.rows import each_row

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


@each_row("text", NO_NUMBERS)
def test_any_other_text_is_none(text: str) -> None:
    assert whole_number(text) is None


@each_row(
    "text",
    ["Sun, 01 Mar 2026 12:00:00 GMT", "Sunday, 01-Mar-26 12:00:00 GMT", "Sun Mar  1 12:00:00 2026"],
)
def test_an_http_date_of_any_format_is_a_moment(text: str) -> None:
    assert datetime(2026, 3, 1, 12, tzinfo=UTC) == http_date(text)


@pytest.mark.parametrize("text", NO_DATES, ids=lambda text: text[:45])
def test_a_text_that_is_not_a_date_is_none(text: str) -> None:
    assert http_date(text) is None


@pytest.mark.parametrize("text", ["", "{", "nul", b"\xff", "[" * 100_000], ids=lambda text: repr(text[:5]))
def test_a_text_that_is_not_json_is_the_fallback(text: str | bytes) -> None:
    assert (None, "fallback") == (json_value(text), json_value(text, "fallback"))


def test_a_text_that_is_json_is_its_value() -> None:
    assert [None, {"a": 1.5}] == [json_value("null", "fallback"), json_value(b'{"a": 1.5}')]


def test_a_long_text_is_cut_to_its_limit_and_a_short_one_is_whole() -> None:
    assert ("1234567890", "1234567...") == (brief("1234567890", 10), brief("12345678901", 10))
