"""Keys, tenants and subscriptions: which calls have access, and which of several refusals has precedence."""

from typing import Literal

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, OTHER_KEY, refused, running, session

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

PUBLIC = {"readFormPolicy"}
WRITES = {"createCampaign", "startCampaign", "cancelCampaign", "createConnectionSession", "uploadMedia"}


def refusals(sandbox: Sandbox, key: str | None = None) -> dict[str, tuple[int, str]]:
    """The status and code of each operation's refusal with this key."""
    return {operation: refused(sandbox.call(*call, key=key)) for operation, call in OPERATIONS.items()}


@pytest.mark.clause("auth.header")
def test_a_call_without_a_key_is_refused_everywhere(mockserver: Sandbox) -> None:
    assert dict.fromkeys(OPERATIONS, (401, "API_KEY_MISSING")) == refusals(mockserver, key="")


@pytest.mark.clause("auth.header")
@each_row(
    ("name", "value"),
    [("X-API-Key", blank) for blank in ("", " ", "\t \t")]
    + [(name, "{key}") for name in ("Authorization", "Api-Key", "X-Api-Token", "Cookie")],
)
def test_a_blank_key_and_one_in_another_place_count_as_none(mockserver: Sandbox, name: str, value: str) -> None:
    key = mockserver.secret_key
    for query in ("", f"?X-API-Key={key}"):
        reply = mockserver.call("GET", f"/v1/campaigns{query}", key="", headers={name: value.format(key=key)})

        assert (401, "API_KEY_MISSING") == refused(reply)
    for header in ("x-api-key", "X-API-KEY"):
        assert 200 == mockserver.call("GET", "/v1/campaigns", key="", headers={header: key}).status


@pytest.mark.clause("auth.unknown")
@each_row(
    "key",
    [
        "sk_",
        "sk_nobodys",
        "pk_nobodys",
        "nobodys",
        "SK_nobodys",
        "Bearer {key}",
        '"{key}"',
        "{key},{key}",
        "{key}x",
        "\xa0{key}",
        "{key}\x85",
        "\xa0",
    ],
)
def test_a_key_that_is_not_recognised_is_refused(mockserver: Sandbox, key: str) -> None:
    sent = key.format(key=mockserver.secret_key)

    for operation in ("listCampaigns", *PUBLIC):
        assert (401, "API_KEY_INVALID") == refused(mockserver.call(*OPERATIONS[operation], key=sent))


@pytest.mark.parametrize("kind", ["secret", "public"])
def test_the_reason_of_a_revoked_key_names_its_tenant(mockserver: Sandbox, kind: Literal["secret", "public"]) -> None:
    key = mockserver.secret_key if kind == "secret" else mockserver.public_key
    mockserver.on("listCampaigns").may_fire().revoke_key(kind=kind)
    mockserver.call("GET", "/v1/campaigns")
    reason = mockserver.call("GET", "/v1/campaigns", key=key).headers["x-mock-reason"]

    assert f"got the {kind} key of tenant {mockserver.tenant_id!r}, which is revoked; expected a key of this" in reason


@pytest.mark.clause("auth.secret-only", "auth.public-elsewhere")
def test_a_public_key_is_of_the_wrong_type_there(mockserver: Sandbox) -> None:
    calls = {operation: call for operation, call in OPERATIONS.items() if operation not in PUBLIC}
    refusals = {
        operation: refused(mockserver.call(*call, key=mockserver.public_key)) for operation, call in calls.items()
    }

    assert dict.fromkeys(calls, (401, "API_KEY_WRONG_TYPE")) == refusals
    assert [True, False] == [key.startswith("sk_") for key in (mockserver.secret_key, mockserver.public_key)]


@pytest.mark.clause("auth.public-elsewhere")
def test_the_embed_policy_takes_a_public_key_and_a_secret_one(mockserver: Sandbox) -> None:
    replies = [
        mockserver.call(*OPERATIONS["readFormPolicy"], key=key)
        for key in (mockserver.public_key, mockserver.secret_key)
    ]

    assert mockserver.public_key.startswith("pk_")
    assert [200, 200] == [reply.status for reply in replies]
    assert replies[0].body == replies[1].body


@pytest.mark.clause("auth.developers-disabled")
def test_nothing_is_open_while_the_developer_environment_is_off(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(developersEnabled=False)

    assert dict.fromkeys(OPERATIONS, (401, "DEVELOPERS_DISABLED")) == refusals(mockserver)
    assert 200 == mockserver.call("GET", "/v1/campaigns", key=OTHER_KEY).status
    mockserver.admin.set_tenant(developersEnabled=True)
    assert 200 == mockserver.call("GET", "/v1/campaigns").status


@pytest.mark.clause("auth.subscription")
@pytest.mark.option("subscription-scope", "all")
@each_row("state", ["suspended", "canceled", "none"])
def test_without_an_active_subscription_nothing_is_open(mockserver: Sandbox, state: str) -> None:
    mockserver.admin.set_tenant(subscription=state)

    assert dict.fromkeys(OPERATIONS, (403, "SUBSCRIPTION_INACTIVE")) == refusals(mockserver)
    mockserver.admin.set_tenant(subscription="active")
    assert 200 == mockserver.call(*OPERATIONS["listCampaigns"]).status


@pytest.mark.clause("auth.subscription")
@in_force("subscription-scope", "writes-only")
def test_a_lapsed_subscription_may_leave_reading_open(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(subscription="canceled")
    codes = {
        operation: mockserver.call(method, path).json().get("code") for operation, (method, path) in OPERATIONS.items()
    }

    assert WRITES == {operation for operation, code in codes.items() if code == "SUBSCRIPTION_INACTIVE"}
    assert {"CAMPAIGN_NOT_FOUND", "RESOURCE_NOT_FOUND", None} == {
        codes[each] for each in OPERATIONS if each not in WRITES
    }


# What reaches for a record of the other tenant, and the code that an unknown id gets there.
OF_NEW_CAMPAIGN = "template of a new campaign"
ACROSS: dict[str, tuple[str, str, JSON | None, str]] = {
    "template": ("GET", "/v1/message-templates/{template}", None, "MESSAGE_TEMPLATE_NOT_FOUND"),
    OF_NEW_CAMPAIGN: ("POST", "/v1/campaigns", {"templateId": "{template}"}, "MESSAGE_TEMPLATE_NOT_FOUND"),
    "campaign": ("GET", "/v1/campaigns/{campaign}", None, "CAMPAIGN_NOT_FOUND"),
    "execution": ("GET", "/v1/campaigns/{campaign}/executions/{execution}", None, "CAMPAIGN_NOT_FOUND"),
    "campaign to start": ("POST", "/v1/campaigns/{campaign}/start", {}, "CAMPAIGN_NOT_FOUND"),
    "campaign to cancel": ("POST", "/v1/campaigns/{campaign}/cancel", None, "CAMPAIGN_NOT_FOUND"),
    "session": ("GET", SESSIONS + "/{session}", None, "RESOURCE_NOT_FOUND"),
    "entrypoint": ("GET", "/v1/entrypoints/{entrypoint}", None, "ENTRYPOINT_NOT_FOUND"),
    "chat": ("GET", "/v1/messaging/chats/{chat}", None, "CHAT_NOT_FOUND"),
    "form": ("GET", "/v1/forms/{form}/embed-frame-policy", None, "FORM_NOT_FOUND"),
}
NOBODYS = dict.fromkeys(("template", "campaign", "execution", "session", "entrypoint", "chat", "form"), "nobodys_id")


def reach(sandbox: Sandbox, what: str, ids: JSON) -> tuple[int, str]:
    method, path, body, _ = ACROSS[what]
    if body and "templateId" in body:
        body = DRAFT | {"templateId": ids["template"]}
    return refused(sandbox.call(method, path.format(**ids), json=body))


def neighbours_ids(sandbox: Sandbox) -> JSON:
    campaign_id, execution_id = running(sandbox, key=OTHER_KEY, templateId="template_other")
    made = {"campaign": campaign_id, "execution": execution_id, "session": session(sandbox, key=OTHER_KEY)}
    return made | {kind: f"{kind}_other" for kind in ("template", "entrypoint", "chat", "form")}


@pytest.mark.clause(
    "auth.denied",
    "base.tenant-scope",
    "start.unknown",
    "cancel.unknown",
    "campaigns.detail",
    "campaigns.template",
    "execution.read",
    "entrypoints.read",
)
@pytest.mark.option("cross-tenant-code", "not-found")
@pytest.mark.option("cross-tenant-code", "access-denied")
@each_row("what", ACROSS)
def test_another_tenants_record_is_not_there_or_denied_but_for_a_template_of_a_new_campaign(
    mockserver: Sandbox, what: str
) -> None:
    with mockserver.checkpoint():
        theirs = neighbours_ids(mockserver)
        absent = (404, ACROSS[what][3])

        assert absent == reach(mockserver, what, theirs) == reach(mockserver, what, NOBODYS)
        mockserver.choose({"cross-tenant-code": "access-denied"})
        denied = absent if what == OF_NEW_CAMPAIGN else (403, "RESOURCE_ACCESS_DENIED")
        assert [denied, absent] == [reach(mockserver, what, ids) for ids in (theirs, NOBODYS)]


@pytest.mark.clause("auth.any-secret-key")
def test_a_session_is_read_with_whatever_secret_key_the_tenant_has_now(mockserver: Sandbox) -> None:
    old = mockserver.secret_key
    at = f"{SESSIONS}/{session(mockserver, key=old)}"

    mockserver.apply({"given": {"tenants": [{"id": mockserver.tenant_id, "secretKey": "sk_rotated"}]}})

    assert 200 == mockserver.call("GET", at, key="sk_rotated").status
    assert (401, "API_KEY_INVALID") == refused(mockserver.call("GET", at, key=old))
    assert (401, "API_KEY_WRONG_TYPE") == refused(mockserver.call("GET", at, key=mockserver.public_key))
    assert (404, "RESOURCE_NOT_FOUND") == refused(mockserver.call("GET", at, key=OTHER_KEY))
