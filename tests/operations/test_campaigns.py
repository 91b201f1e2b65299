"""Creating campaigns: every rule of the document's table, what it leaves open, and what lists and details show."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.filter_world import TEMPLATE, alone, answers, campaign, statement
from tests.operations.world import DRAFT, GIVEN, campaigns_in_each_status, draft, refused

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


LARGEST = 9007199254740991


def create_with_cadence(sandbox: Any, written: str) -> Any:
    """A creation whose cadence is this very text of JSON."""
    body = f'{{"name": "Março", "platform": "chatapp", "templateId": "{TEMPLATE["id"]}", "cadence": {written}}}'
    return sandbox.call("POST", CAMPAIGNS, body=body.encode(), headers={"Content-Type": "application/json"})


@pytest.mark.clause("campaigns.cadence", "campaigns.cadence-kept")
@pytest.mark.parametrize(
    ("written", "cadence"),
    [
        ("1", 1),
        ("60", 60),
        ("60.0", 60),
        ("6e1", 60),
        ("6E+1", 60),
        ("600e-1", 60),
        ("60.000000000000000000000", 60),
        ("9007199254740990", LARGEST - 1),
        ("9007199254740991", LARGEST),
        ("9007199254740991.0", LARGEST),
        ("9.007199254740991e15", LARGEST),
    ],
)
def test_a_whole_number_in_the_range_is_accepted_and_read_back_as_it_is(
    mockserver: Sandbox, written: str, cadence: int
) -> None:
    reply = create_with_cadence(mockserver, written)

    assert 201 == reply.status
    (entry,) = mockserver.call("GET", CAMPAIGNS).json()["campaigns"]
    detail = mockserver.call("GET", f"{CAMPAIGNS}/{reply.json()['campaignId']}")
    assert (cadence, int) == (entry["cadence"], type(entry["cadence"]))
    assert f'"cadence":{cadence},'.encode() in detail.body.replace(b" ", b"")


@pytest.mark.clause("campaigns.cadence", "campaigns.validation")
@each_row(
    "written",
    [
        "0",
        "-0",
        "0.0",
        "-1",
        "-60",
        "9007199254740992",
        "9007199254740993",
        "9007199254740991.4",
        "9007199254740991.5",
        "9007199254740992.0",
        "60.5",
        "0.5",
        "1.0000000000000000001",
        "59.99999999999999999999",
        "1e400",
        "-1e400",
        "1e16",
        "1e-400",
        "1" + "0" * 400,
        '"60"',
        '""',
        "true",
        "false",
        "null",
        "[]",
        "[60]",
        "{}",
        "60.",
        "+60",
        "060",
        "NaN",
        "Infinity",
    ],
)
def test_anything_else_is_refused(mockserver: Sandbox, written: str) -> None:
    assert (400, "VALIDATION_ERROR") == refused(create_with_cadence(mockserver, written))
    assert {"campaigns": []} == mockserver.call("GET", CAMPAIGNS).json()


OPEN = statement("chat.status", "equals", "open")


def created(sandbox: Any, **fields: Any) -> dict[str, Any]:
    """The list entry of a new campaign."""
    draft(sandbox, **fields)
    campaigns: JSON = sandbox.call("GET", CAMPAIGNS).json()["campaigns"][0]
    return campaigns


@pytest.mark.clause("campaigns.template")
@each_row("template_id", ["template_none", "template_other", "Template_plain", "template_plain%20"])
@each_option(
    "code",
    "template-not-found-code",
    {"message-template": "MESSAGE_TEMPLATE_NOT_FOUND", "campaign-template": "CAMPAIGN_TEMPLATE_NOT_FOUND"},
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
