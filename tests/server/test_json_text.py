"""Every value is written as JSON that every parser reads."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.wire.formats import SLICE, encoded, encoded_in_slices
from tests.server.hostile import VALUE, strict_json


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        ("a\ud800b", "a\\ud800b"),
        (10**4_000, 10**4_000),
        (10**9_000, "an integer of 29898 bits"),
        (Decimal("1.5"), 1.5),
    ],
    ids=["infinity", "minus infinity", "nan", "half a pair", "a long integer", "too long an integer", "a decimal"],
)
def test_a_value_without_a_form_in_json_is_written_as_text(value: str | float | Decimal, shown: str | float) -> None:
    assert {"a": [shown]} == strict_json(encoded({"a": [value]}))


def test_a_key_without_a_form_is_written_as_its_escape() -> None:
    assert {"\\udfff": 1} == strict_json(encoded({"\udfff": 1}))


@given(VALUE)
def test_whatever_the_value_the_text_is_json(value: JSON | list[Any] | None) -> None:
    strict_json(encoded(value))


def test_a_scripted_reply_nested_too_deeply_is_text_in_the_journal(mockserver: Sandbox) -> None:
    body = "[" * 5000 + "]" * 5000
    mockserver.on("listCampaigns").reply(200, body=body)
    mockserver.call("GET", "/v1/campaigns")

    assert body == mockserver.call("GET", "/_mock/journal").json()["exchanges"][0]["response"]["body"]


@given(VALUE)
def test_slices_of_a_value_have_the_bytes_of_the_whole(value: Any) -> None:
    several, many = [value] * 3, [value] * (2 * SLICE + 1)
    for whole in (value, {"a": {"b": several, "c": many}, "d": []}, [many, {}]):
        assert encoded(whole) == encoded_in_slices(whole)
