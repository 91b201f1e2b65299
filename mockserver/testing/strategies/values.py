"""
Strategies of texts, numbers and instants, biased to their boundaries, and of values that are valid by a JSON Schema.

They support the keywords of JSON Schema that the request schemas use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

# Texts that programs often handle wrongly: accents, emoji of one and of many code points, other scripts, quotes, blanks, placeholders.
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
    """Return a strategy of texts of `least` to `most` code points: plain, awkward, and of the two extreme lengths."""
    longest = most if most is not None else least + 200
    ends = [character * length for length in (least, longest, longest) for character in ("x", "ã", "😀")]
    fitting = [text for text in (*plain, *AWKWARD) if least <= len(text) <= longest]
    return st.one_of(
        st.sampled_from(fitting or ends),
        st.sampled_from(ends),
        st.text(_CHARACTERS, min_size=least, max_size=min(longest, least + 30)),
    )


def integers(least: int, most: int) -> st.SearchStrategy[int]:
    """Return a strategy of integers from `least` to `most`, with many at the ends and next to them."""
    ends = sorted({least, min(least + 1, most), max(least, most - 1), most})
    return st.one_of(st.sampled_from(ends), st.integers(least, min(most, least + 10_000)), st.integers(least, most))


def numbers() -> st.SearchStrategy[int | float]:
    """Return a strategy of JSON numbers."""
    return st.one_of(
        st.sampled_from([0, 1, -1, 10, 250.5, 0.1, -0.0, 2**53 - 1]),
        st.integers(-1000, 1000),
        st.floats(-1e9, 1e9, allow_nan=False, width=32),
    )


@st.composite
def instants(draw: st.DrawFn, near: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> str:
    """Draw an RFC 3339 date-time with an offset, often around `near`."""
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
    text = moment.astimezone(zone).isoformat(timespec=detail)
    return text.replace("+00:00", "Z") if zone is UTC else text


Schema = Mapping[str, Any]
Own = Mapping[str, st.SearchStrategy[Any]]  # by property: a narrower strategy than the schema's


def from_schema(schema: Schema, own: Own | None = None) -> st.SearchStrategy[Any]:
    """Return a strategy of valid values; raises ValueError for a type that no request schema has."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        return texts(schema.get("minLength", 0), schema.get("maxLength"))
    if kind == "integer":
        return integers(schema["minimum"], schema["maximum"])
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(from_schema(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        return _objects(schema, own or {})
    raise ValueError(f"got a schema of type {kind!r}; expected string, integer, boolean, array or object")


def _objects(schema: Schema, own: Own) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    if not properties:
        return st.dictionaries(texts(1, 10), from_schema(schema["additionalProperties"]), max_size=3)
    members = {name: own[name] if name in own else from_schema(below) for name, below in properties.items()}
    required = {name: members[name] for name in properties if name in schema.get("required", ())}
    optional = {name: members[name] for name in properties if name not in required}
    dependent = schema.get("dependentRequired", {})

    def with_companions(drawn: Mapping[str, Any]) -> dict[str, Any]:  # without those whose companion is not drawn
        return {name: value for name, value in drawn.items() if drawn.keys() >= set(dependent.get(name, ()))}

    return st.fixed_dictionaries(required, optional=optional).map(with_companions)
