"""Creating campaigns: every rule of the document's table, the order of the checks, and what lists and details show."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.operations.filter_world import alone, campaign, statement
from tests.operations.world import DRAFT, GIVEN, campaigns_in_each_status, refused

CAMPAIGNS = "/v1/campaigns"
NOW = "2026-03-01T12:00:00Z"
PENDING = {"id": "template_pending", "providerTemplateStatus": "PENDING"}
WORLD = {**GIVEN, "templates": [*GIVEN["templates"], PENDING]}
pytestmark = pytest.mark.mockserver(given=WORLD, now=NOW)

INVALID = (400, "VALIDATION_ERROR")
MISMATCH = (400, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH")
BEYOND = alone(statement("chat.status", "greater-than", 1))


def create(sandbox: Any, *, key: str | None = None, **fields: Any) -> Any:
    return sandbox.call("POST", CAMPAIGNS, json=campaign(**fields), key=key)


def listed(sandbox: Any) -> list[dict[str, Any]]:
    campaigns: list[JSON] = sandbox.call("GET", CAMPAIGNS).json()["campaigns"]
    return campaigns


@pytest.mark.clause("campaigns.create", "base.ids", "campaigns.status-values")
def test_a_creation_answers_the_id_of_a_draft_and_sends_nothing(mockserver: Sandbox) -> None:
    reply = create(mockserver)

    assert 201 == reply.status
    assert {"campaignId", "status"} == set(reply.json())
    assert "draft" == reply.json()["status"]
    assert reply.json()["campaignId"].startswith("campaign_")
    assert [] == mockserver.advance(hours=1)
    assert [] == mockserver.call("GET", "/v1/messaging/chats/chat_bia").json()["records"]
    assert "draft" == listed(mockserver)[0]["status"]


@pytest.mark.clause("campaigns.list", "campaigns.cadence-kept", "campaigns.description")
def test_the_list_shows_seven_fields_and_null_for_no_description(mockserver: Sandbox) -> None:
    first = create(mockserver, name="Maio", description="Volta às aulas").json()["campaignId"]
    second = create(mockserver, name="Junho", platform="photoapp", cadence=7, filters=BEYOND[:0]).json()["campaignId"]

    reply = mockserver.call("GET", CAMPAIGNS)

    common = {"status": "draft", "templateId": "template_plain"}
    assert 200 == reply.status
    assert {
        "campaigns": [
            {"id": second, "name": "Junho", "description": None, "platform": "photoapp", "cadence": 7, **common},
            {"id": first, "name": "Maio", "description": "Volta às aulas", "platform": "chatapp", "cadence": 60, **common},
        ]
    } == reply.json()  # fmt: skip


@pytest.mark.clause("campaigns.detail")
@pytest.mark.option("detail-fields", "literal")
def test_the_detail_shows_seven_fields_and_neither_description_nor_filters(mockserver: Sandbox) -> None:
    open_chats = alone(statement("chat.status", "equals", "open"))
    campaign_id = create(mockserver, description="Volta às aulas", filters=open_chats).json()["campaignId"]

    reply = mockserver.call("GET", f"{CAMPAIGNS}/{campaign_id}")

    assert 200 == reply.status
    assert {
        "id": campaign_id,
        "name": "Março",
        "status": "draft",
        "platform": "chatapp",
        "templateId": "template_plain",
        "cadence": 60,
        "executions": [],
    } == reply.json()


@pytest.mark.clause("campaigns.status-values")
def test_a_campaign_passes_through_the_documented_statuses(mockserver: Sandbox) -> None:
    ids = campaigns_in_each_status(mockserver)

    details = {name: mockserver.call("GET", f"{CAMPAIGNS}/{ids[name]}").json() for name in ids}

    assert {name: name for name in ids} == {each["name"]: each["status"] for each in listed(mockserver)}
    assert {name: name for name in ids} == {name: each["status"] for name, each in details.items()}
    ran = {name: [execution["status"] for execution in each["executions"]] for name, each in details.items()}
    assert {
        "draft": [],
        "processing": ["processing"],
        "completed": ["completed"],
        "canceled": [],
        "failed": ["failed"],
    } == ran


@pytest.mark.clause("campaigns.name")
@each_row("name", ["a", "a" * 100, "😀" * 100, "e\u0301" * 50, "   ", " Março ", "\u00a0", "0", "null", "\n"])
def test_a_name_of_1_to_100_code_points_is_stored_as_sent(mockserver: Sandbox, name: str) -> None:
    assert 201 == create(mockserver, name=name).status
    assert name == listed(mockserver)[0]["name"]


WRONG: dict[str, list[Any]] = {
    "name": ["", "a" * 101, "😀" * 101, "e\u0301" * 51, None, 1, True, [], ["Março"], {}],
    "description": ["a" * 2001, "😀" * 2001, None, 1, True, [], {}],
    "platform": ["botapp", "CHATAPP", "chatapp ", "chatapp-lite", "whatsapp", "", None, 1, ["chatapp"], {}],
    "templateId": [None, 1, True, [], ["template_plain"], {}],
}


@pytest.mark.clause(
    "campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.validation"
)
@each_row(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])
def test_a_field_beyond_its_bounds_or_of_another_type_is_refused(mockserver: Sandbox, field: str, value: Any) -> None:
    assert INVALID == refused(create(mockserver, **{field: value}))
    assert [] == listed(mockserver)


@pytest.mark.clause("campaigns.name", "campaigns.validation", "campaigns.template", "campaigns.cadence")
@pytest.mark.parametrize("key", ["name", "platform", "templateId", "cadence"])
@pytest.mark.option("platform-required", "required")
def test_four_fields_are_required(mockserver: Sandbox, key: str) -> None:
    body = {name: value for name, value in DRAFT.items() if name != key}

    assert INVALID == refused(mockserver.call("POST", CAMPAIGNS, json=body))
    assert [] == listed(mockserver)


@pytest.mark.clause("campaigns.description")
@each_row("description", ["", "a" * 1999, "😀" * 2000, " "])
def test_a_description_of_up_to_2000_code_points_is_stored(mockserver: Sandbox, description: str) -> None:
    assert 201 == create(mockserver, name=f"Of {len(description)}", description=description).status
    assert description == listed(mockserver)[0]["description"]


@pytest.mark.clause("campaigns.template-mismatch", "campaigns.platform")
@pytest.mark.parametrize("platform", ["chatapp", "chatapp_lite", "photoapp"])
@pytest.mark.parametrize("template_id", ["template_plain", "template_official", "template_pending"])
def test_only_an_official_template_on_the_lite_channel_is_a_mismatch(
    mockserver: Sandbox, template_id: str, platform: str
) -> None:
    reply = create(mockserver, templateId=template_id, platform=platform)

    if (template_id, platform) == ("template_official", "chatapp_lite"):
        assert MISMATCH == refused(reply)
        assert [] == listed(mockserver)
    else:
        assert 201 == reply.status
        assert [(platform, template_id)] == [(each["platform"], each["templateId"]) for each in listed(mockserver)]


@pytest.mark.clause("campaigns.template-mismatch", "campaigns.platform")
def test_a_template_that_has_become_official_is_not_sent_on_the_lite_channel(mockserver: Sandbox) -> None:
    reply = create(mockserver, templateId="template_pending", platform="chatapp_lite")
    mockserver.at("1s").set_template(id="template_pending", status="APPROVED")
    mockserver.advance("1s")

    start = f"{CAMPAIGNS}/{reply.json()['campaignId']}/start"
    assert MISMATCH == refused(mockserver.call("POST", start, json={}))
    assert ["draft"] == [each["status"] for each in listed(mockserver)]
