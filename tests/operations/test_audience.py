"""Whom an audience holds: groups and statements joined, everyone where nothing restricts, and what a preview does not do."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.harness.options import each_option, in_force, option_case
from tests.harness.rows import each_row
from tests.operations.filter_world import (
    CREATE,
    NOW,
    PREVIEW,
    TEMPLATE,
    alone,
    campaign,
    estimated,
    outcomes,
    statement,
    targets,
)

# Six chats, few enough to see at a glance which of them match.
CHATS: list[JSON] = [
    {"id": "chat_ana", "platform": "chatapp", "status": "open", "tagIds": ["tag_vip"], "monetization": 10, "isAnswered": True},
    {"id": "chat_bia", "platform": "chatapp", "status": "closed", "tagIds": ["tag_vip", "tag_new"], "attentionReason": ""},
    {"id": "chat_caio", "platform": "chatapp_lite", "status": "open", "monetization": 20, "attentionReason": "Preço"},
    {"id": "chat_davi", "platform": "photoapp", "status": "open", "tagIds": ["tag_new"], "monetization": 30},
    {"id": "chat_eva", "platform": "botapp", "status": "closed", "monetization": 10, "attentionReason": "preço"},
    {"id": "chat_grupo", "platform": "chatapp", "status": "open", "isGroupChat": True, "contact": "+55119", "birthDate": "1990-05-17"},
]  # fmt: skip
THEIRS = {"id": "tenant_other", "chats": [{"id": "chat_theirs"}, {"id": "chat_theirs_too"}], "templates": [{}]}
GIVEN = {"templates": [TEMPLATE], "chats": CHATS, "tenants": [THEIRS]}
pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOW)

EVERYONE = [chat["id"] for chat in CHATS]
OPEN = statement("chat.status", "equals", "open")
VIP = statement("chat.tagIds", "has-any", ["tag_vip"])
INVALID = (422, "CAMPAIGN_INVALID_FILTERS")
TEN = statement("chat.monetization", "equals", 10)


def group(combinator: str, *made: dict[str, Any]) -> dict[str, Any]:
    return {"combinator": combinator, "statements": list(made)}


def names(sandbox: Any, filters: Any) -> list[str]:
    """The chats that are targeted; the estimate has to be their number."""
    count = estimated(sandbox, filters)
    found = [chat_id.removeprefix("chat_") for chat_id in targets(sandbox, filters)]
    assert count == len(found)
    return found


@pytest.mark.clause("filters.groups-and", "filters.combinator", "audience.same-filters")
@each_row(
    ("filters", "wanted"),
    [
        ([group("and", OPEN, VIP)], ["ana"]),
        ([group("or", VIP, TEN)], ["ana", "bia", "eva"]),
        ([group("or", OPEN), group("or", VIP, TEN)], ["ana"]),
        ([group("or", OPEN, TEN), group("or", VIP, TEN)], ["ana", "eva"]),
    ],
)
def test_groups_are_joined_by_and_and_statements_by_their_groups_word(
    mockserver: Sandbox, filters: list[JSON], wanted: list[str]
) -> None:
    with mockserver.checkpoint():
        assert wanted == names(mockserver, filters)


@pytest.mark.clause("audience.all", "audience.preview", "base.tenant-scope", "campaigns.create", "filters.groups-and")
@pytest.mark.option("filters-empty-list", "everyone")
def test_without_filters_every_chat_of_the_organisation_is_counted_and_targeted_and_no_other(
    mockserver: Sandbox,
) -> None:
    their_key, _ = mockserver.admin.keys("tenant_other")
    made = mockserver.call("POST", CREATE, json=campaign("Everyone")).json()["campaignId"]
    mockserver.call("POST", f"{CREATE}/{made}/start")

    assert {"estimatedCount": 6} == mockserver.call("POST", PREVIEW, json={}).json()
    assert {"estimatedCount": 2} == mockserver.call("POST", PREVIEW, json={}, key=their_key).json()
    assert EVERYONE == mockserver.state()["tenants"][0]["executions"][0]["targets"]
    assert [each.removeprefix("chat_") for each in EVERYONE] == names(mockserver, [])


@pytest.mark.clause("filters.groups-and", "audience.same-filters")
@in_force("filters-empty-list", "reject")
@each_option("wanted", "filter-error-split", {"split": (400, "VALIDATION_ERROR"), "all-invalid-filters": INVALID})
def test_an_empty_list_of_filters_may_be_refused(mockserver: Sandbox, wanted: tuple[int, str]) -> None:
    assert [wanted] * 2 == outcomes(mockserver, [])
    assert {"estimatedCount": 6} == mockserver.call("POST", PREVIEW, json={}).json()


@pytest.mark.clause("filters.groups-and", "filters.invalid", "audience.same-filters")
@pytest.mark.option("group-no-statements", "reject")
@pytest.mark.parametrize("combinator", ["and", "or"])
def test_a_group_without_statements_is_refused(mockserver: Sandbox, combinator: str) -> None:
    refused = (400, "VALIDATION_ERROR")

    assert [refused] * 2 == outcomes(mockserver, [group(combinator)])
    assert [refused] * 2 == outcomes(mockserver, [group("and", OPEN), group(combinator)])


@pytest.mark.clause("filters.groups-and", "filters.combinator")
@pytest.mark.parametrize(
    ("combinator", "without", "beside_open"),
    [
        option_case("group-no-statements", "vacuous", "and", 6, 4),
        option_case("group-no-statements", "vacuous", "or", 0, 0),
        option_case("group-no-statements", "ignore", "and", 6, 4),
        option_case("group-no-statements", "ignore", "or", 6, 4),
    ],
)
def test_a_group_without_statements_may_mean_something(
    mockserver: Sandbox, combinator: str, without: int, beside_open: int
) -> None:
    assert without == len(names(mockserver, [group(combinator)]))
    assert beside_open == estimated(mockserver, [group("and", OPEN), group(combinator)])
    assert [(400, "VALIDATION_ERROR")] * 2 == outcomes(mockserver, [{"statements": []}])


@pytest.mark.clause("filters.platform-values", "filters.invalid", "audience.same-filters")
@in_force("platform-value-unknown", "platform-unsupported")
@pytest.mark.parametrize(("operator", "value"), [("equals", "telegram"), ("not-in", ["chatapp", "telegram"])])
def test_an_unknown_platform_may_have_a_code_of_its_own(mockserver: Sandbox, operator: str, value: Any) -> None:
    assert [(400, "PLATFORM_UNSUPPORTED")] * 2 == outcomes(
        mockserver, alone(statement("chat.platform", operator, value))
    )
    assert [INVALID] * 2 == outcomes(mockserver, alone(statement("chat.platform", "equals", 1)))


@pytest.mark.clause("filters.platform-values")
@in_force("platform-value-unknown", "match-none")
@each_row(
    ("operator", "value", "count"),
    [
        ("equals", "telegram", 0),
        ("not-equals", "telegram", 6),
        ("in", ["telegram", "photoapp"], 1),
        ("not-in", ["x"], 6),
    ],
)
def test_an_unknown_platform_may_match_no_chat(mockserver: Sandbox, operator: str, value: Any, count: int) -> None:
    with mockserver.checkpoint():
        assert count == len(names(mockserver, alone(statement("chat.platform", operator, value))))


# An operator that compares a part of a text, with a part of a platform, and how many of the six chats it selects.
PARTS = [
    ("contains", "chat", 4),
    ("not-contains", "chat", 2),
    ("starts-with", "photo", 1),
    ("ends-with", "app", 5),
    ("not-starts-with", "photo", 5),
    ("not-ends-with", "app", 1),
    ("contains", "telegram", 0),
]


@pytest.mark.clause("filters.platform-values", "filters.operators")
@pytest.mark.option("platform-text-operators", "whole-values")
@pytest.mark.option("platform-text-operators", "text")
@each_row(("operator", "part", "count"), PARTS)
def test_a_part_of_a_platform_is_no_platform_unless_platforms_are_compared_as_texts(
    mockserver: Sandbox, operator: str, part: str, count: int
) -> None:
    filters = alone(statement("chat.platform", operator, part))
    with mockserver.checkpoint():
        assert [INVALID] * 2 == outcomes(mockserver, filters)
    with mockserver.checkpoint():
        mockserver.choose({"platform-text-operators": "text"})
        assert count == len(names(mockserver, filters))


@pytest.mark.clause("filters.platform-values", "filters.semantics")
@in_force("case-sensitivity", "insensitive")
def test_platforms_and_tags_have_their_letter_case_where_that_of_texts_does_not_count(mockserver: Sandbox) -> None:
    def shouted(field: str, operator: str, value: Any) -> list[JSON]:
        return alone(statement(field, operator, value))

    assert [INVALID] * 2 == outcomes(mockserver, shouted("chat.platform", "equals", "CHATAPP"))
    assert 0 == estimated(mockserver, shouted("chat.tagIds", "has-any", ["TAG_VIP"]))
    mockserver.choose({"platform-text-operators": "text"})
    operators = ("contains", "starts-with", "not-ends-with")
    assert [0, 0, 6] == [estimated(mockserver, shouted("chat.platform", operator, "CHATAPP")) for operator in operators]
