"""Filters that are refused, and with which code: preview and creation refuse the same ones, and neither does anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.scenario.parsing import value_of
from tests.harness.filter_oracle import ARRAYS, BOOLEANS, DATES, NUMBERS, STRINGS
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.filter_world import (
    CREATE,
    EVERY_OPERATOR,
    ILLEGAL,
    LEGAL,
    NOW,
    OPERATORS,
    PREVIEW,
    TEMPLATE,
    alone,
    campaign,
    estimated,
    operand_for,
    outcomes,
    statement,
)

GIVEN = {"templates": [TEMPLATE], "chats": [{"id": "chat_one", "monetization": 60}, {"id": "chat_two"}]}
pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOW)

INVALID = (422, "CAMPAIGN_INVALID_FILTERS")
SCHEMA = (400, "VALIDATION_ERROR")
# fmt: off
TYPED = {**dict.fromkeys(STRINGS, "string"), **dict.fromkeys(NUMBERS, "number"), **dict.fromkeys(BOOLEANS, "boolean")}
# fmt: on


def offenders(sandbox: Any, cases: Iterable[Any], wanted: tuple[int, str] = INVALID) -> list[tuple[Any, Any]]:
    """The filters that preview and creation do not both refuse so, with what they got; no campaign is made."""
    found = [(filters, outcomes(sandbox, filters)) for filters in cases]
    assert [] == sandbox.call("GET", CREATE).json()["campaigns"]
    return [row for row in found if row[1] != [wanted] * 2]


@pytest.mark.clause("filters.operators", "filters.invalid", "audience.same-filters")
def test_an_operator_of_another_type_is_refused(mockserver: Sandbox) -> None:
    cases = [statement(field, operator, *operand_for(field, operator)) for field, operator in ILLEGAL]

    assert [] == offenders(mockserver, map(alone, cases))


@pytest.mark.clause("filters.fields", "filters.invalid", "audience.same-filters")
def test_a_field_that_is_not_listed_is_refused(mockserver: Sandbox) -> None:
    fields = [
        "", "status", "chat.Status", "chat.status ", "chat.name", "chat.id", "chat.custom.dentist", "chat.virtual.contact",
        "chat.virtual.participantsCount", "chat.virtual.lastmessageat", "chat.tagIds.0", "chat.__class__", "chat.status == 'open' or chat.status",
    ]  # fmt: skip
    cases = [made for field in fields for made in (statement(field, "equals", "open"), statement(field, "exists"))]

    assert [] == offenders(mockserver, map(alone, cases))


NO_STRING = [1, 0, 1.5, True, False, None, {}, [], ["open"], {"value": "open"}]
NO_NUMBER = ["1", "", True, False, None, {}, [], [1]]
NO_BOOLEAN = ["true", "", 1, 0, None, {}, [], [True]]
NO_DATE: list[Any] = [
    1767225600, 1767225600.5, True, None, {}, [], ["2026-01-01T00:00:00Z"], "", "yesterday", "01/02/2026", "2026",
    "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.000", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
    "2026-01-01T25:00:00Z", "2026-01-01T00:60:00Z", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z or later", "00:00:00Z",
]  # fmt: skip
NO_TAGS = ["tag_a", "", 1, True, None, {}, [], [1], [None], [["tag_a"]], ["tag_a", 1], [{}]]
NO_LISTS: dict[str, list[Any]] = {
    "string": ["open", "", 1, None, True, {}, {"0": "open"}, [], [1], [None], ["open", 1], [["open"]], [True], [{}]],
    "number": [1, "1", None, True, {}, [], ["1"], [True], [1, None], [[1]], [1, "2"], [{}]],
    "date": ["2026-01-01T00:00:00Z", None, {}, [], [1], [None], ["2026-01-01"], ["2026-01-01T00:00:00Z", "never"]],
}
WRONG: dict[str, list[Any]] = {"string": NO_STRING, "number": NO_NUMBER, "boolean": NO_BOOLEAN, "date": NO_DATE}


def kind(field: str) -> str:
    return TYPED.get(field, "date" if field in DATES else "array")


def wrong_values(field: str, operator: str) -> list[dict[str, Any]]:
    """Statements that are right but for their value, value2 or the lack of one."""
    right = operand_for(field, operator)
    if operator in ("in", "not-in"):
        return [statement(field, operator, each) for each in NO_LISTS[kind(field)]] + [statement(field, operator)]
    if field in ARRAYS:
        return [statement(field, operator, each) for each in NO_TAGS] + [statement(field, operator)]
    wrong = WRONG[kind(field)]
    if operator in ("between", "not-between"):
        bounds = [pair for each in wrong for pair in ((each, right[1]), (right[0], each), (each, each))]
        lacking = [statement(field, operator), statement(field, operator, right[0])]
        only_upper = {"field": field, "operator": operator, "value2": right[1]}
        as_list = statement(field, operator, list(right))
        return [statement(field, operator, *pair) for pair in bounds] + [*lacking, only_upper, as_list]
    return [statement(field, operator, each) for each in wrong] + [statement(field, operator)]


@pytest.mark.clause("filters.types", "filters.value2", "filters.dates", "filters.invalid", "audience.same-filters")
@pytest.mark.option("date-only-and-naive", "reject")
@each_row("field", OPERATORS)
def test_a_value_of_another_type_or_shape_is_refused(mockserver: Sandbox, field: str) -> None:
    operators = [each for each in OPERATORS[field] if each not in ("exists", "not-exists")]
    cases = [made for operator in operators for made in wrong_values(field, operator)]

    assert [] == offenders(mockserver, map(alone, cases))


@pytest.mark.clause("filters.types", "filters.invalid")
@each_row("written", ["1e999", "-1e999", "1E400", "1" + "0" * 400])
@each_row("field", NUMBERS)
def test_a_number_beyond_every_number_is_refused(mockserver: Sandbox, field: str, written: str) -> None:
    wanted = (
        f'[{{"combinator": "and", "statements": [{{"field": "{field}", "operator": "equals", "value": {written}}}]}}]'
    )
    made = f'"name": "Março", "platform": "chatapp", "templateId": "{TEMPLATE["id"]}", "cadence": 60'
    bodies = {PREVIEW: f'{{"filters": {wanted}}}', CREATE: f'{{{made}, "filters": {wanted}}}'}

    for path, body in bodies.items():
        reply = mockserver.call("POST", path, body=body.encode(), headers={"Content-Type": "application/json"})

        assert INVALID == (reply.status, reply.json().get("code"))


LARGE = 2**53 + 1  # no double
SPELLINGS = ["{}", "{}.0", "{}e0", "{}0E-1", "{}.000", "0.{}e16", "900719925474099.3e1"]


def counted(sandbox: Any, operator: str, operand: str) -> int:
    made = f'{{"field": "chat.monetization", "operator": "{operator}", {operand}}}'
    body = f'{{"filters": [{{"combinator": "and", "statements": [{made}]}}]}}'.encode()
    reply = sandbox.call("POST", PREVIEW, body=body, headers={"Content-Type": "application/json"})
    count: int = reply.json()["estimatedCount"]
    return count


@pytest.mark.clause("filters.types", "filters.semantics")
@pytest.mark.mockserver(given={"chats": [{"monetization": LARGE + near} for near in (-2, -1, 0, 1, 2)]}, now=NOW)
@each_row("spelling", SPELLINGS)
def test_a_number_that_is_no_double_is_compared_exactly_in_every_format(mockserver: Sandbox, spelling: str) -> None:
    value = spelling.format(LARGE)
    counts = {operator: counted(mockserver, operator, f'"value": {value}') for operator in RANGES}
    lists = {operator: counted(mockserver, operator, f'"value": [{value}]') for operator in ("in", "not-in")}
    pairs = {
        each: counted(mockserver, each, f'"value": {value}, "value2": {value}') for each in ("between", "not-between")
    }

    assert [1, 4, 2, 2, 3, 3] == list(counts.values())
    assert {"in": 1, "not-in": 4, "between": 1, "not-between": 4} == lists | pairs


RANGES = ("equals", "not-equals", "greater-than", "less-than", "greater-than-or-equal", "less-than-or-equal")
SEEDED = {
    "json": '{{"given": {{"chats": [{{"monetization": {}}}]}}}}',
    "yaml": "given:\n  chats:\n  - monetization: {}\n",
}


@pytest.mark.clause("filters.types")
@pytest.mark.mockserver(given={}, now=NOW)
@each_row("form", SEEDED)
@each_row("written", [f"{LARGE}", f"{LARGE}.0", f"{LARGE}e0", "9007199254740993.5", "1e308", "-1e22"])
def test_a_number_of_seed_data_is_found_as_it_was_written(mockserver: Sandbox, form: str, written: str) -> None:
    with mockserver.checkpoint():
        mockserver.apply(value_of(SEEDED[form].format(written), "seeds"))

        assert [1, 0, 0] == [
            counted(mockserver, operator, f'"value": {written}') for operator in ("equals", "less-than", "greater-than")
        ]
        assert float(written) == float(mockserver.state()["tenants"][0]["chats"][0]["monetization"])


@pytest.mark.clause("filters.platform-values", "filters.invalid", "audience.same-filters")
@pytest.mark.option("platform-value-unknown", "invalid-filters")
def test_a_platform_outside_the_four_is_refused(mockserver: Sandbox) -> None:
    values = ["telegram", "", "CHATAPP", "chatapp-lite", " chatapp"]
    operands: list[tuple[str, Any]] = [(operator, value) for value in values for operator in ("equals", "not-equals")]
    operands += [(operator, ["chatapp", value]) for value in values for operator in ("in", "not-in")]
    cases = [statement("chat.platform", operator, operand) for operator, operand in operands]

    assert [] == offenders(mockserver, map(alone, cases))


ODD: list[Any] = ["open", None, 1, [], {}]
BROKEN_SHAPES: list[Any] = [
    {}, "everyone", 1, True, {"combinator": "and", "statements": [statement("chat.status", "exists")]},
    ["group"], [None], [[]], [1],
    [{}], [{"statements": [statement("chat.status", "exists")]}], [{"combinator": "and"}],
    *([{"combinator": each, "statements": [statement("chat.status", "exists")]}] for each in ("xor", "AND", "", None, 1, ["and"])),
    *([{"combinator": "and", "statements": each}] for each in (None, {}, "all", 1, statement("chat.status", "exists"))),
    *([{"combinator": "and", "statements": [each]}] for each in ODD),
    *([{"combinator": "and", "statements": [{"operator": "exists", **each}]}] for each in ({}, {"field": None}, {"field": 1}, {"field": ["chat.status"]})),
    *([{"combinator": "and", "statements": [{"field": "chat.status", **each}]}] for each in ({}, {"operator": None}, {"operator": 1}, {"operator": ["exists"]})),
    [{"combinator": "and", "statements": alone(statement("chat.status", "exists"))}],  # a group in a group
    [*alone(statement("chat.status", "exists")), {"combinator": "and"}],  # the second of two
]  # fmt: skip


@pytest.mark.clause("filters.invalid", "filters.groups-and", "filters.combinator", "campaigns.validation")
@each_option("wanted", "filter-error-split", {"split": SCHEMA, "all-invalid-filters": INVALID})
def test_filters_of_a_wrong_structure_are_refused(mockserver: Sandbox, wanted: tuple[int, str]) -> None:
    assert [] == offenders(mockserver, BROKEN_SHAPES, wanted)


@pytest.mark.clause("filters.invalid", "campaigns.validation")
@in_force("filter-error-split", "all-invalid-filters")
@each_row("more", [{"name": ""}, {"cadence": 0}, {"platform": "botapp"}, {"templateId": None}])
@each_row("filters", ["all", [{}], alone(5), alone({"field": "chat.status"})])
def test_the_schema_of_the_body_is_checked_before_the_structure_of_its_filters(
    mockserver: Sandbox, more: JSON, filters: Any
) -> None:
    refused = mockserver.call("POST", CREATE, json={**campaign(**more), "filters": filters})

    assert SCHEMA == (refused.status, refused.json()["code"])


@pytest.mark.clause("filters.invalid", "base.input")
@in_force("unknown-body-keys", "reject")
@each_option("wanted", "filter-error-split", {"split": SCHEMA, "all-invalid-filters": INVALID})
def test_an_unknown_key_in_filters_is_a_wrong_structure_where_it_is_refused(
    mockserver: Sandbox, wanted: tuple[int, str]
) -> None:
    known = statement("chat.status", "equals", "open")

    assert [] == offenders(mockserver, [alone({**known, "note": "x"}), [{**alone(known)[0], "note": "x"}]], wanted)
    other_key = mockserver.call("POST", PREVIEW, json={"filters2": alone(known)})
    assert SCHEMA == (other_key.status, other_key.json()["code"])


@pytest.mark.clause("filters.invalid", "filters.groups-and")
def test_one_bad_statement_anywhere_invalidates_the_filters(mockserver: Sandbox) -> None:
    good, bad = statement("chat.status", "equals", "open"), statement("chat.status", "equals", 1)
    groups = [alone(good, *more, bad, combinator=each) for each in ("and", "or") for more in ([], [good])]

    assert [] == offenders(mockserver, [*groups, *([*alone(good), *group] for group in groups)])


@pytest.mark.clause("filters.no-value", "filters.value2")
def test_exists_takes_no_notice_of_a_value(mockserver: Sandbox) -> None:
    def counts(field: str, *value: Any) -> list[int]:
        return [estimated(mockserver, alone(statement(field, each, *value))) for each in ("exists", "not-exists")]

    bare = {field: estimated(mockserver, alone(statement(field, "exists"))) for field in OPERATORS}
    given = [(field, value) for field in OPERATORS for value in (*ODD, True)]

    assert [] == [
        (field, value, got)
        for field, value in given
        if (got := counts(field, value, value)) != [bare[field], 2 - bare[field]]
    ]


@pytest.mark.clause("filters.value2")
def test_value2_counts_for_nothing_outside_the_two_ranges(mockserver: Sandbox) -> None:
    cases = [statement(field, each, *operand_for(field, each)) for field, each in LEGAL if "between" not in each]

    assert [] == [
        (bare, ignored)
        for bare in cases
        for ignored in ("x", *ODD)
        if estimated(mockserver, alone(bare)) != estimated(mockserver, alone(bare | {"value2": ignored}))
    ]


@pytest.mark.clause("filters.schema", "filters.fields", "filters.operators", "filters.platform-values")
def test_the_served_schema_lists_exactly_what_is_accepted(mockserver: Sandbox) -> None:
    served = mockserver.call("GET", "/v1/campaigns/filters/schema").json()
    accepted = {
        field: [operator for operator in EVERY_OPERATOR if accepts(mockserver, field, operator)] for field in OPERATORS
    }

    assert {"fields", "combinators"} == set(served)
    assert ["and", "or"] == served["combinators"]
    assert {field: sorted(operators) for field, operators in OPERATORS.items()} == accepted
    assert accepted == {each["field"]: sorted(each["operators"]) for each in served["fields"]}
    assert 17 == len(served["fields"])
    kinds = {field: kind(field) for field in OPERATORS}
    assert kinds == {each["field"]: each["type"] for each in served["fields"]}
    assert all(
        {"field", "type", "valueFormat", "operators"} == set(each) - {"allowedValues"} for each in served["fields"]
    )
    limited = {each["field"]: each["allowedValues"] for each in served["fields"] if "allowedValues" in each}
    assert {"chat.platform": ["chatapp", "chatapp_lite", "photoapp", "botapp"]} == limited


def accepts(sandbox: Any, field: str, operator: str) -> bool:
    filters = alone(statement(field, operator, *operand_for(field, operator)))
    return bool(sandbox.call("POST", PREVIEW, json={"filters": filters}).status == 200)
