"""What the document leaves open about campaigns: codes, a missing platform, the detail, nulls and unknown keys."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.harness.options import in_force, option_case
from tests.harness.rows import each_row
from tests.operations.filter_world import alone, answers, campaign, statement
from tests.operations.world import DRAFT, GIVEN, draft, refused

CAMPAIGNS = "/v1/campaigns"
INVALID = (400, "VALIDATION_ERROR")
OPEN = statement("chat.status", "equals", "open")
pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def created(sandbox: Any, **fields: Any) -> dict[str, Any]:
    """The list entry of a new campaign."""
    draft(sandbox, **fields)
    campaigns: JSON = sandbox.call("GET", CAMPAIGNS).json()["campaigns"][0]
    return campaigns


@pytest.mark.clause("campaigns.template")
@each_row("template_id", ["template_none", "template_other", "Template_plain", "template_plain%20"])
@pytest.mark.parametrize(
    "code",
    [
        option_case("template-not-found-code", "message-template", "MESSAGE_TEMPLATE_NOT_FOUND"),
        option_case("template-not-found-code", "campaign-template", "CAMPAIGN_TEMPLATE_NOT_FOUND"),
    ],
)
def test_an_unknown_template_has_one_of_two_codes(mockserver: Sandbox, code: str, template_id: str) -> None:
    assert (404, code) == refused(mockserver.call("POST", CAMPAIGNS, json=campaign(templateId=template_id)))
    # Reading a template has one code under either option.
    read = mockserver.call("GET", f"/v1/message-templates/{template_id}")
    assert (404, "MESSAGE_TEMPLATE_NOT_FOUND") == refused(read)


@pytest.mark.clause("campaigns.platform", "campaigns.template-mismatch")
@in_force("platform-required", "default-chatapp")
def test_a_creation_without_a_platform_may_be_for_chatapp(mockserver: Sandbox) -> None:
    body = {key: value for key, value in DRAFT.items() if key != "platform"} | {"templateId": "template_official"}

    campaign_id = mockserver.call("POST", CAMPAIGNS, json=body).json()["campaignId"]

    assert "chatapp" == mockserver.call("GET", f"{CAMPAIGNS}/{campaign_id}").json()["platform"]
    assert "photoapp" == created(mockserver, name="Abril", platform="photoapp")["platform"]
    assert INVALID == refused(mockserver.call("POST", CAMPAIGNS, json=campaign("Maio", platform="botapp")))
    assert INVALID == refused(mockserver.call("POST", CAMPAIGNS, json=campaign("Maio", platform=None)))


FULL = {"id", "name", "description", "status", "platform", "templateId", "cadence", "filters", "executions"}


@pytest.mark.clause("campaigns.detail", "campaigns.description")
@in_force("detail-fields", "full")
def test_the_detail_may_show_description_and_filters_as_they_were_sent(mockserver: Sandbox) -> None:
    filters = [
        {"combinator": "or", "statements": [OPEN, statement("chat.monetization", "between", 1, 2.5)]},
        {"combinator": "and", "statements": [statement("chat.tagIds", "has-any", ["tag_b", "tag_a"])]},
    ]
    campaign_id = draft(mockserver, description="Volta às aulas", filters=filters)

    detail = mockserver.call("GET", f"{CAMPAIGNS}/{campaign_id}").json()

    assert set(detail) == FULL
    assert ("Volta às aulas", filters) == (detail["description"], detail["filters"])
    bare = mockserver.call("GET", f"{CAMPAIGNS}/{draft(mockserver, name='Bare')}").json()
    assert (FULL, None, []) == (set(bare), bare["description"], bare["filters"])


@pytest.mark.clause("base.input", "filters.types", "audience.same-filters")
@in_force("null-for-optional", "omit")
@pytest.mark.parametrize(
    ("made", "count"),
    [
        (statement("chat.status", "exists", None, None), 3),
        (statement("chat.status", "equals", "open", None), 3),
        (statement("chat.monetization", "not-exists", None), 3),
    ],
)
def test_null_may_replace_an_optional_value(mockserver: Sandbox, made: JSON, count: int) -> None:
    preview, creation = answers(mockserver, alone(made))

    assert (200, {"estimatedCount": count}) == (preview.status, preview.json())
    assert 201 == creation.status


@pytest.mark.clause("base.input", "campaigns.validation", "filters.invalid")
@each_row("option", ["reject", "omit"])
@each_row(
    "filters",
    [
        [None],
        [{"combinator": None, "statements": [OPEN]}],
        [{"combinator": "and", "statements": None}],
        [{"combinator": "and", "statements": [None]}],
        [{"combinator": "and", "statements": [{"field": None, "operator": "exists"}]}],
        [{"combinator": "and", "statements": [{"field": "chat.status", "operator": None}]}],
    ],
)
def test_null_never_replaces_a_required_part_of_filters(
    mockserver: Sandbox, option: str, filters: list[JSON | None]
) -> None:
    mockserver.choose({"null-for-optional": option})

    assert [INVALID] * 2 == [refused(each) for each in answers(mockserver, filters)]
