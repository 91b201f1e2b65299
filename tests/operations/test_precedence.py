"""The precedence of refusals: from the key to the state of the resource."""

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response
from tests.operations.world import GIVEN, OPERATIONS, draft, refused

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


@pytest.mark.clause("auth.precedence")
def test_of_everything_that_is_wrong_the_key_is_reported_first_and_the_body_last(mockserver: Sandbox) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 1, "per": 60}})
    for key in (mockserver.public_key, mockserver.secret_key):
        assert 200 == mockserver.call(*OPERATIONS["readFormPolicy"], key=key).status
    mockserver.admin.set_tenant(developersEnabled=False, subscription="suspended")

    def ask(key: str) -> str:
        headers = {"Content-Type": "application/json"}
        return refused(mockserver.call("POST", "/v1/campaigns", key=key, body=b"{broken", headers=headers))[1]

    assert "API_KEY_MISSING" == ask("")
    assert "API_KEY_INVALID" == ask("sk_nobodys")
    assert "DEVELOPERS_DISABLED" == ask(mockserver.public_key)
    mockserver.admin.set_tenant(developersEnabled=True)
    assert "SUBSCRIPTION_INACTIVE" == ask(mockserver.public_key)
    mockserver.admin.set_tenant(subscription="active")
    assert "API_KEY_WRONG_TYPE" == ask(mockserver.public_key)
    assert "RATE_LIMIT_EXCEEDED" == ask(mockserver.secret_key)
    mockserver.advance("60s")
    assert "VALIDATION_ERROR" == ask(mockserver.secret_key)


@pytest.mark.clause("auth.precedence")
def test_the_body_and_the_query_are_looked_at_before_the_resource(mockserver: Sandbox) -> None:
    start = mockserver.call("POST", "/v1/campaigns/campaign_none/start", json={"commonVariables": 7})
    messages = mockserver.call("GET", "/v1/messaging/chats/chat_none?limit=0")

    assert (400, "VALIDATION_ERROR") == refused(start)
    assert (400, "VALIDATION_ERROR") == refused(messages)


NO_SUCH_FIELD = [{"combinator": "and", "statements": [{"field": "chat.no", "operator": "exists"}]}]
WRONG_FILTERS: list[Any] = [
    NO_SUCH_FIELD,
    None,
    [{"combinator": "and", "statements": []}],
    [{"statements": [{"field": "chat.status", "operator": "exists"}]}],  # no combinator
    [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "exists", "note": 1}]}],
    [],
    [{}] * 1001,  # too many groups
    [{"combinator": 1, "statements": [{}, {}]}] * 300,  # more problems than are told
]
STRICT = {
    "filter-error-split": "all-invalid-filters",
    "unknown-body-keys": "reject",
    "filters-empty-list": "reject",
}


@pytest.mark.clause("auth.precedence", "filters.invalid")
@pytest.mark.option("filter-error-split", "all-invalid-filters")
@pytest.mark.parametrize(("choices", "filters"), [({}, NO_SUCH_FIELD), *((STRICT, each) for each in WRONG_FILTERS)])
def test_a_creation_is_checked_from_its_schema_to_its_name_and_filters_with_one_code_have_one_place_there(
    mockserver: Sandbox, choices: JSON, filters: list[JSON] | None
) -> None:
    draft(mockserver, name="Taken")
    mockserver.choose(choices)
    body: JSON = {
        "name": "Taken",
        "platform": "chatapp_lite",
        "templateId": "nobodys",
        "cadence": 0,
        "filters": filters,
        **({"x": 1} if choices else {}),
    }
    repairs: list[tuple[str, JSON]] = [
        ("VALIDATION_ERROR", {"cadence": 1}),
        *([("VALIDATION_ERROR", {"x": None})] if choices else []),
        ("MESSAGE_TEMPLATE_NOT_FOUND", {"templateId": "template_official"}),
        ("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", {"platform": "chatapp"}),
        ("CAMPAIGN_INVALID_FILTERS", {"filters": None}),
        ("CAMPAIGN_NAME_ALREADY_EXISTS", {"name": "Free"}),
    ]

    for code, repair in repairs:
        assert code == refused(mockserver.call("POST", "/v1/campaigns", json=body))[1]
        body = {**body, **repair}
        body = {key: value for key, value in body.items() if key not in repair or value is not None}
    assert 201 == mockserver.call("POST", "/v1/campaigns", json=body).status


@pytest.mark.clause("auth.precedence")
def test_a_start_is_checked_from_the_campaign_to_its_audience(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 2}})
    campaign_id = draft(mockserver, templateId="template_coupon")

    def start(id: str, **values: str) -> Response:
        return mockserver.call("POST", f"/v1/campaigns/{id}/start", json={"commonVariables": values})

    assert "CAMPAIGN_NOT_FOUND" == refused(start("campaign_none"))[1]
    assert "CAMPAIGN_MISSING_COMMON_VARIABLES" == refused(start(campaign_id))[1]
    assert "CAMPAIGN_SIZE_LIMIT_EXCEEDED" == refused(start(campaign_id, var1="X"))[1]
    mockserver.choose({"size-limit-values": {"chatapp": 3}})
    assert 202 == start(campaign_id, var1="X").status
    mockserver.choose({"size-limit-values": {"chatapp": 2}})
    assert "CAMPAIGN_ALREADY_PROCESSING" == refused(start(campaign_id))[1]
    mockserver.advance(until="idle")
    assert "CAMPAIGN_NOT_DRAFT" == refused(start(campaign_id))[1]
