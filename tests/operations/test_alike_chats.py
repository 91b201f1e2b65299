"""Chats with equal attributes: a pattern of seed data counts and selects like the same chats listed one by one."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.depth import at_depth
from tests.harness.filter_oracle import Rules, selected
from tests.operations.filter_world import (
    ABSENT,
    NOW,
    SEED_KEY,
    VALUES,
    alone,
    documented,
    estimated,
    statement,
    targets,
    world,
)
from tests.operations.test_filter_properties import CHOSEN, FILTERS

OPEN = alone(statement("chat.status", "equals", "open"))
PATTERN: JSON = {"count": 40, "vary": {"status": ["open", "closed"], "tagIds": [["tag_a"], [], ["tag_b"], []]}}


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


def positions(sandbox: Any, filters: Any) -> list[int]:
    """The targets of a campaign, by their places among the chats."""
    places = {chat["id"]: place for place, chat in enumerate(sandbox.state()["tenants"][0]["chats"])}
    return [places[chat_id] for chat_id in targets(sandbox, filters)]


@pytest.mark.clause("filters.groups-and", "filters.combinator", "filters.semantics", "audience.preview")
@given(pattern=patterns(), filters=FILTERS, chosen=CHOSEN)
def test_a_pattern_has_the_audience_of_the_reference_filters_under_every_choice(
    mockserver_server: MockServer, pattern: JSON, filters: list[JSON], chosen: dict[str, tuple[str, JSON]]
) -> None:
    rules = Rules(**{name: value for _, argument in chosen.values() for name, value in argument.items()})
    choices = {choice: option for choice, (option, _) in chosen.items()}
    chats = listed(pattern)
    judged = [chat["id"] for chat in selected([documented(each) for each in chats], filters, rules)]

    with mockserver_server.sandbox(given=world(pattern), now=NOW, choices=choices) as sandbox:
        assert len(judged) == estimated(sandbox, filters)
        assert judged == [f"chat_{place}" for place in positions(sandbox, filters)]


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


@pytest.mark.mockserver(given=world(PATTERN), now=NOW)
def test_chats_added_after_a_preview_are_in_the_next_one(mockserver: Sandbox) -> None:
    assert 20 == estimated(mockserver, OPEN)

    mockserver.apply({"given": {"chats": [{"id": "chat_new", "status": "open"}]}})
    mockserver.apply({"given": {"chats": {"count": 3, "vary": {"status": ["open", "closed"]}}}})

    assert 23 == estimated(mockserver, OPEN)
    assert 23 == len(targets(mockserver, OPEN))
