"""Every field with every operator of its type selects what the document specifies, compared with independent filters."""

from __future__ import annotations

import json
import re
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.documents.reading import public
from tests.harness.filter_oracle import DATES, Rules, selected
from tests.harness.options import each_option, in_force, option_case
from tests.harness.rows import each_row
from tests.operations.filter_world import (
    LEGAL,
    NOW,
    OPERANDS,
    OPERATORS,
    alone,
    documented,
    estimated,
    population,
    statements,
    world,
)

BRAZIL = timezone(timedelta(hours=-3))
SEEDS = population()
CHATS = [documented(each) for each in SEEDS]
WORLD = world(SEEDS)
NAIVE = ["1990-05-17", "1990-05-17T00:00:00", "1990-05-17T03:00:00Z", "2026-02-28", "2026-02-28T12:00:00"]


def expected(filters: list[dict[str, Any]], rules: Rules) -> list[str]:
    return [chat["id"] for chat in selected(CHATS, filters, rules)]


def disagreements(sandbox: Any, rules: Rules, made: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int, int]]:
    """The statements whose preview differs from the reference count: the statement, the reference count, and the preview."""
    counted = [(each, len(expected(alone(each), rules)), estimated(sandbox, alone(each))) for each in made]
    return [row for row in counted if row[1] != row[2]]


def every_statement() -> list[dict[str, Any]]:
    return [made for field, operator in LEGAL for made in statements(field, operator)]


@pytest.mark.clause("filters.fields", "filters.operators", "audience.preview", "audience.same-filters")
@pytest.mark.option("estimated-count-exactness", "exact")
@pytest.mark.mockserver(given=WORLD, now=NOW)
@each_row("field", OPERATORS)
def test_an_operator_of_the_type_of_the_field_selects_its_chats(mockserver: Sandbox, field: str) -> None:
    made = [each for operator in OPERATORS[field] for each in statements(field, operator)]

    assert [] == disagreements(mockserver, Rules(), made)


@pytest.mark.clause("filters.semantics", "filters.groups-and", "filters.combinator")
@pytest.mark.mockserver(given=WORLD, now=NOW)
@pytest.mark.parametrize(
    "rules",
    [
        option_case("missing-value-negative-ops", "match", Rules()),
        option_case("missing-value-negative-ops", "no-match", Rules(missing_matches_negatives=False)),
        option_case("case-sensitivity", "insensitive", Rules(case_counts=False)),
        option_case("between-bounds", "upper-exclusive", Rules(upper_bound_included=False)),
        option_case("exists-meaning", "not-null", Rules(empty_exists=True)),
        option_case("birthdate-zone", "brazil", Rules(birth_zone=BRAZIL)),
    ],
)
@pytest.mark.option("case-sensitivity", "sensitive")
@pytest.mark.option("between-bounds", "inclusive")
@pytest.mark.option("exists-meaning", "not-empty")
@pytest.mark.option("birthdate-zone", "utc")
def test_an_option_of_meaning_changes_every_operator_as_described(mockserver: Sandbox, rules: Rules) -> None:
    assert [] == disagreements(mockserver, rules, every_statement())


@each_row(
    "noon",
    [
        "2026-03-01T09:00:00-03",
        "20260301T120000,000Z",
        "2026-W09-7T12:00Z",
    ],
)
@each_row("field", ["chat.virtual.lastMessageAt", "chat.virtual.lastUpdateAt"])
@pytest.mark.option("date-offset", "any")
@pytest.mark.clause("filters.dates")
def test_a_date_may_have_any_form_of_iso_8601_with_an_offset(
    mockserver_server: MockServer, field: str, noon: str
) -> None:
    dates = [f"2026-03-01T{clock}Z" for clock in ("11:59:59.999", "12:00:00.000", "12:00:00.001")]
    chats = [{"id": f"chat_{n}", field.rpartition(".")[2]: written} for n, written in enumerate(dates)]
    group = {"combinator": "and", "statements": [{"field": field, "operator": "equals", "value": noon}]}
    with mockserver_server.sandbox(given={"chats": chats}, now="2026-03-02T00:00:00Z") as sandbox:
        reply = sandbox.call("POST", "/v1/campaigns/audience-preview", json={"filters": [group]})

    assert (200, 1) == (reply.status, reply.json().get("estimatedCount"))


@pytest.mark.clause("filters.dates")
@pytest.mark.mockserver(given=WORLD, now=NOW)
@in_force("date-offset", "z-only")
@pytest.mark.parametrize("field", DATES)
def test_dates_in_utc_mean_the_same_where_only_z_is_taken(mockserver: Sandbox, field: str) -> None:
    in_utc = [each for each in OPERANDS[field] if each.endswith("Z")]
    made = [each for operator in OPERATORS[field] for each in statements(field, operator, in_utc)]

    assert [] == disagreements(mockserver, Rules(), made)


@pytest.mark.parametrize(("option", "words"), [("z-only", "with Z;"), ("any", "with Z or an offset;")])
def test_the_served_document_describes_a_date_as_it_is_taken(option: str, words: str) -> None:
    assert {words} == set(
        re.findall("An ISO 8601 date-time (with .*?;)", json.dumps(public(**{"date-offset": option})))
    )


@pytest.mark.clause("filters.dates")
@pytest.mark.mockserver(given=WORLD, now=NOW)
@pytest.mark.parametrize("field", DATES)
@each_option(
    "rules", "date-only-and-naive", {"midnight-utc": Rules(naive_zone=UTC), "midnight-brazil": Rules(naive_zone=BRAZIL)}
)
def test_dates_without_a_time_or_an_offset_begin_at_the_chosen_midnight(
    mockserver: Sandbox, field: str, rules: Rules
) -> None:
    made = [each for operator in OPERATORS[field] for each in statements(field, operator, NAIVE)]

    assert [] == disagreements(mockserver, rules, made)
