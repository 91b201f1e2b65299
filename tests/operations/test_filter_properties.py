"""What holds for any filters over any chats: the preview is the judge's count, and the laws of and, or and not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import MockServer
from mockserver._json import JSON
from tests.depth import at_depth
from tests.harness.filter_oracle import DATES, NUMBERS, STRINGS, Rules, selected
from tests.operations.filter_world import (
    ABSENT,
    LEGAL,
    NOW,
    OPERANDS,
    SEED_KEY,
    VALUES,
    documented,
    estimated,
    statement,
    targets,
    world,
)

BRAZIL = timezone(timedelta(hours=-3))
# Texts that often combine letters, their case, accents and the wildcards of other languages.
TEXTS = st.text(alphabet="aAbBãÃ%_.*\\ '\"", max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
AMOUNTS = st.one_of(st.integers(-3, 3), FINITE)
ZONES = st.sampled_from([UTC, BRAZIL, timezone(timedelta(hours=14)), timezone(timedelta(hours=5, minutes=45))])
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2050, 1, 1), timezones=ZONES).map(datetime.isoformat)

SEEDED: dict[str, st.SearchStrategy[Any]] = {
    "chat.attentionReason": st.none() | TEXTS,
    "chat.virtual.dm-participant.contact": st.none() | TEXTS,
    "chat.monetization": st.none() | AMOUNTS,
    "chat.virtual.participants-count": st.integers(0, 3),
    "chat.virtual.lastMessageAt": st.none() | MOMENTS,
}


def operands(field: str) -> st.SearchStrategy[Any]:
    usual = st.sampled_from(OPERANDS[field])
    if field in STRINGS and field != "chat.platform":
        return usual | TEXTS
    if field in NUMBERS:
        return usual | AMOUNTS
    return usual | MOMENTS if field in DATES else usual


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """A chat as seed data has it."""
    drawn = {
        key: draw(st.sampled_from(VALUES[field]) | SEEDED.get(field, st.nothing())) for field, key in SEED_KEY.items()
    }
    return {key: value for key, value in drawn.items() if value is not ABSENT}


@st.composite
def a_statement(draw: st.DrawFn) -> dict[str, Any]:
    field, operator = draw(st.sampled_from(LEGAL))
    value = operands(field)
    if operator in ("exists", "not-exists"):
        return statement(field, operator)
    if operator in ("in", "not-in", "has-any", "has-all", "has-none"):
        return statement(field, operator, draw(st.lists(value, min_size=1, max_size=3)))
    if operator in ("between", "not-between"):
        return statement(field, operator, draw(value), draw(value))
    return statement(field, operator, draw(value))


GROUPS = st.fixed_dictionaries(
    {"combinator": st.sampled_from(["and", "or"]), "statements": st.lists(a_statement(), min_size=1, max_size=4)}
)
FILTERS = st.lists(GROUPS, max_size=3)
POPULATIONS = st.lists(chats(), max_size=8).map(
    lambda seeds: [{"id": f"chat_{n}", **each} for n, each in enumerate(seeds)]
)


@st.composite
def patterns(draw: st.DrawFn) -> dict[str, Any]:
    """A pattern of chats: some fields are the same for all, some alternate."""
    varied = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=4, unique=True))
    given_values = {field: [each for each in VALUES[field] if each is not ABSENT] for field in VALUES}
    shared = {
        SEED_KEY[field]: draw(st.sampled_from(values)) for field, values in given_values.items() if draw(st.booleans())
    }
    vary = {
        SEED_KEY[field]: draw(st.lists(st.sampled_from(given_values[field]), min_size=1, max_size=3))
        for field in varied
    }
    return {"count": draw(st.integers(1, 60)), "each": shared, "vary": vary}


def listed(pattern: dict[str, Any]) -> list[dict[str, Any]]:
    """The chats of a pattern, each with the fields of its own."""
    count = pattern["count"]
    columns = {key: list(islice(cycle(values), count)) for key, values in pattern.get("vary", {}).items()}
    return [
        {**pattern.get("each", {}), **{key: column[row] for key, column in columns.items()}, "id": f"chat_{row}"}
        for row in range(count)
    ]


# Choices, each with the corresponding argument of the reference filters.
CHOSEN = st.fixed_dictionaries(
    {},
    optional={
        "missing-value-negative-ops": st.just(("no-match", {"missing_matches_negatives": False})),
        "case-sensitivity": st.just(("insensitive", {"case_counts": False})),
        "between-bounds": st.just(("upper-exclusive", {"upper_bound_included": False})),
        "exists-meaning": st.just(("not-null", {"empty_exists": True})),
        "birthdate-zone": st.just(("brazil", {"birth_zone": BRAZIL})),
    },
)


@pytest.mark.clause("filters.groups-and", "filters.combinator", "filters.semantics", "audience.preview")
@given(seeds=POPULATIONS | patterns(), filters=FILTERS, chosen=CHOSEN)
def test_the_audience_is_that_of_the_reference_filters_under_every_choice(
    mockserver_server: MockServer,
    seeds: list[JSON] | JSON,
    filters: list[JSON],
    chosen: dict[str, tuple[str, JSON]],
) -> None:
    """Also of chats that seed data has as a pattern, and whose ids it assigns."""
    rules = Rules(**{name: value for _, argument in chosen.values() for name, value in argument.items()})
    choices = {choice: option for choice, (option, _) in chosen.items()}
    chats = listed(seeds) if isinstance(seeds, dict) else seeds
    judged = [chat["id"] for chat in selected([documented(each) for each in chats], filters, rules)]

    with mockserver_server.sandbox(given=world(seeds), now=NOW, choices=choices) as sandbox:
        places = {chat["id"]: f"chat_{place}" for place, chat in enumerate(sandbox.state()["tenants"][0]["chats"])}

        assert len(judged) == estimated(sandbox, filters)
        assert judged == [places[chat_id] for chat_id in targets(sandbox, filters)]


@settings(max_examples=at_depth(5, 100))
@given(pattern=patterns())
def test_the_state_shows_a_pattern_as_the_same_chats_listed(mockserver_server: MockServer, pattern: JSON) -> None:
    with (
        mockserver_server.sandbox(given=world(pattern), now=NOW) as one,
        mockserver_server.sandbox(given=world(listed(pattern)), now=NOW) as other,
    ):
        shown, expected = (sandbox.state()["tenants"][0]["chats"] for sandbox in (one, other))

    assert [{**chat, "id": ""} for chat in expected] == [{**chat, "id": ""} for chat in shown]
    assert [list(chat) for chat in expected] == [list(chat) for chat in shown]
