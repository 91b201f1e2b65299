"""Keys, tenants and subscriptions: which calls have access, and which of several refusals has precedence."""

from typing import Literal

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, OTHER_KEY, every_success, refused, running, session

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

PUBLIC = {"readFormPolicy"}
WRITES = {"createCampaign", "startCampaign", "cancelCampaign", "createConnectionSession", "uploadMedia"}


def refusals(sandbox: Sandbox, key: str | None = None) -> dict[str, tuple[int, str]]:
    """The status and code of each operation's refusal with this key."""
    return {operation: refused(sandbox.call(*call, key=key)) for operation, call in OPERATIONS.items()}


@pytest.mark.clause("auth.header")
def test_a_secret_key_in_the_header_opens_every_operation(mockserver: Sandbox) -> None:
    replies = every_success(mockserver)

    assert {} == {operation: reply for operation, reply in replies.items() if reply.status >= 300}


@pytest.mark.clause("auth.header")
def test_a_call_without_a_key_is_refused_everywhere(mockserver: Sandbox) -> None:
    assert dict.fromkeys(OPERATIONS, (401, "API_KEY_MISSING")) == refusals(mockserver, key="")


@pytest.mark.clause("auth.header")
@pytest.mark.parametrize("blank", ["", " ", "\t \t"])
def test_a_blank_key_counts_as_none(mockserver: Sandbox, blank: str) -> None:
    reply = mockserver.call("GET", "/v1/campaigns", key="", headers={"X-API-Key": blank})

    assert (401, "API_KEY_MISSING") == refused(reply)


@pytest.mark.clause("auth.header")
@pytest.mark.parametrize("name", ["Authorization", "Api-Key", "X-Api-Token", "Cookie"])
def test_a_key_in_another_place_is_ignored(mockserver: Sandbox, name: str) -> None:
    by_header = mockserver.call("GET", "/v1/campaigns", key="", headers={name: mockserver.secret_key})
    by_query = mockserver.call("GET", f"/v1/campaigns?X-API-Key={mockserver.secret_key}", key="")

    assert (401, "API_KEY_MISSING") == refused(by_header)
    assert (401, "API_KEY_MISSING") == refused(by_query)


@pytest.mark.clause("auth.header")
def test_the_name_of_the_header_ignores_case(mockserver: Sandbox) -> None:
    for name in ("x-api-key", "X-API-KEY", "X-Api-Key"):
        assert 200 == mockserver.call("GET", "/v1/campaigns", key="", headers={name: mockserver.secret_key}).status


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

    assert (401, "API_KEY_INVALID") == refused(mockserver.call("GET", "/v1/campaigns", key=sent))


@pytest.mark.parametrize("kind", ["secret", "public"])
def test_the_reason_of_a_revoked_key_names_its_tenant(mockserver: Sandbox, kind: Literal["secret", "public"]) -> None:
    key = mockserver.secret_key if kind == "secret" else mockserver.public_key
    mockserver.on("listCampaigns").may_fire().revoke_key(kind=kind)
    mockserver.call("GET", "/v1/campaigns")
    reason = mockserver.call("GET", "/v1/campaigns", key=key).headers["x-mock-reason"]

    assert f"got the {kind} key of tenant {mockserver.tenant_id!r}, which is revoked; expected a key of this" in reason


@pytest.mark.clause("auth.unknown")
def test_an_unknown_public_key_is_refused_as_unknown_and_not_as_of_the_wrong_type(mockserver: Sandbox) -> None:
    assert dict.fromkeys(OPERATIONS, (401, "API_KEY_INVALID")) == refusals(mockserver, key="pk_nobodys")


@pytest.mark.clause("auth.secret-only")
def test_a_secret_key_begins_with_its_prefix(mockserver: Sandbox) -> None:
    assert mockserver.secret_key.startswith("sk_")
    assert not mockserver.public_key.startswith("sk_")


@pytest.mark.clause("auth.secret-only", "auth.public-elsewhere")
def test_a_public_key_is_of_the_wrong_type_there(mockserver: Sandbox) -> None:
    calls = {operation: call for operation, call in OPERATIONS.items() if operation not in PUBLIC}
    refusals = {
        operation: refused(mockserver.call(*call, key=mockserver.public_key)) for operation, call in calls.items()
    }

    assert dict.fromkeys(calls, (401, "API_KEY_WRONG_TYPE")) == refusals


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


@pytest.mark.clause("auth.developers-disabled")
def test_the_developer_environment_of_one_tenant_does_not_affect_another(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(developersEnabled=False)
    assert 200 == mockserver.call("GET", "/v1/campaigns", key=OTHER_KEY).status

    mockserver.admin.set_tenant(developersEnabled=True)
    assert 200 == mockserver.call("GET", "/v1/campaigns").status


@pytest.mark.clause("auth.subscription")
@pytest.mark.option("subscription-scope", "all")
@pytest.mark.parametrize("state", ["suspended", "canceled", "none"])
def test_without_an_active_subscription_nothing_is_open(mockserver: Sandbox, state: str) -> None:
    mockserver.admin.set_tenant(subscription=state)

    assert dict.fromkeys(OPERATIONS, (403, "SUBSCRIPTION_INACTIVE")) == refusals(mockserver)


@pytest.mark.clause("auth.subscription")
def test_a_subscription_can_lapse_between_two_polls(mockserver: Sandbox) -> None:
    session_id = session(mockserver)

    mockserver.admin.set_tenant(subscription="suspended")
    assert (403, "SUBSCRIPTION_INACTIVE") == refused(mockserver.call("GET", f"{SESSIONS}/{session_id}"))

    mockserver.admin.set_tenant(subscription="active")
    assert 200 == mockserver.call("GET", f"{SESSIONS}/{session_id}").status


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
    "execution.read",
    "entrypoints.read",
)
@pytest.mark.option("cross-tenant-code", "not-found")
@pytest.mark.parametrize("what", ACROSS)
def test_another_tenants_record_is_not_there(mockserver: Sandbox, what: str) -> None:
    theirs = neighbours_ids(mockserver)
    code = ACROSS[what][3]

    assert (404, code) == reach(mockserver, what, theirs) == reach(mockserver, what, NOBODYS)


@pytest.mark.clause("auth.denied", "base.tenant-scope")
@in_force("cross-tenant-code", "access-denied")
@pytest.mark.parametrize("what", [what for what in ACROSS if what != OF_NEW_CAMPAIGN])
def test_another_tenants_record_may_be_denied_instead(mockserver: Sandbox, what: str) -> None:
    theirs = neighbours_ids(mockserver)

    assert (403, "RESOURCE_ACCESS_DENIED") == reach(mockserver, what, theirs)
    assert (404, ACROSS[what][3]) == reach(mockserver, what, NOBODYS)


@pytest.mark.clause("campaigns.template", "auth.denied")
@pytest.mark.parametrize(
    ("option", "code"),
    [("message-template", "MESSAGE_TEMPLATE_NOT_FOUND"), ("campaign-template", "CAMPAIGN_TEMPLATE_NOT_FOUND")],
)
def test_another_tenants_template_of_a_new_campaign_is_never_denied(
    mockserver: Sandbox, option: str, code: str
) -> None:
    theirs = neighbours_ids(mockserver)
    mockserver.choose({"cross-tenant-code": "access-denied", "template-not-found-code": option})

    assert (404, code) == reach(mockserver, OF_NEW_CAMPAIGN, theirs) == reach(mockserver, OF_NEW_CAMPAIGN, NOBODYS)


@pytest.mark.clause("auth.denied")
@pytest.mark.parametrize("option", ["not-found", "access-denied"])
def test_reaching_across_tenants_changes_nothing(mockserver: Sandbox, option: str) -> None:
    theirs = neighbours_ids(mockserver)
    mockserver.choose({"cross-tenant-code": option})
    before = mockserver.state()

    for what in ACROSS:
        reach(mockserver, what, theirs)

    assert before == mockserver.state()


@pytest.mark.clause("auth.any-secret-key")
def test_a_session_is_read_with_whatever_secret_key_the_tenant_has_now(mockserver: Sandbox) -> None:
    old = mockserver.secret_key
    at = f"{SESSIONS}/{session(mockserver, key=old)}"

    mockserver.apply({"given": {"tenants": [{"id": mockserver.tenant_id, "secretKey": "sk_rotated"}]}})

    assert 200 == mockserver.call("GET", at, key="sk_rotated").status
    assert (401, "API_KEY_INVALID") == refused(mockserver.call("GET", at, key=old))
    assert (401, "API_KEY_WRONG_TYPE") == refused(mockserver.call("GET", at, key=mockserver.public_key))
    assert (404, "RESOURCE_NOT_FOUND") == refused(mockserver.call("GET", at, key=OTHER_KEY))


def test_no_answer_invites_a_page_of_another_site(mockserver: Sandbox) -> None:
    headers = {"Origin": "https://www.clinica.example", "Access-Control-Request-Method": "GET"}
    for method in ("GET", "OPTIONS"):
        reply = mockserver.call(method, "/v1/campaigns", headers=headers)

        assert [] == [name for name in reply.headers if name.startswith("access-control-")]
