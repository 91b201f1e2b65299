"""Errors: each code with its status and its Portuguese sentence, in a body of exactly three keys."""

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.errors import ERRORS
from mockserver.core.operations.dispatch import READERS
from mockserver.testing.transports.in_process import Response
from tests.clients.operations import SESSIONS
from tests.harness.codes import INJECTED_ONLY
from tests.harness.options import each_option
from tests.harness.rows import each_row
from tests.operations.refusals import REFUSALS, Refusal
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, refused, session

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def provoked(server: MockServer, choices: JSON) -> dict[str, tuple[Refusal, Response]]:
    """Each refusal, by its code, with its reply under these choices; each in a sandbox of its own."""
    replies = {}
    for refusal in REFUSALS:
        with server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z") as sandbox:
            sandbox.choose({**refusal.choices, **choices})
            replies[refusal.code] = (refusal, refusal.provoke(sandbox))
    return replies


# The four codes to which the campaign guide gives another status than the catalogue.
GUIDE_422 = {
    "CAMPAIGN_NAME_ALREADY_EXISTS",
    "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
    "CAMPAIGN_MISSING_COMMON_VARIABLES",
    "VALIDATION_ERROR",
}


# session `message` -> what brings it about.
SESSION_TEXTS = {
    "expired": "O link de conexão expirou antes da conclusão. Gere um novo link.",
    "token_exchange_failed": "O provedor não concluiu a autorização. Inicie uma nova conexão.",
    "phone_in_use": "Este número já está vinculado a outra conta ou a outro canal.",
    "funnel_not_found": "O funil ou a etapa informada não existe mais nesta organização.",
}


def ended_session(sandbox: Sandbox, reason: str) -> JSON:
    session_id = session(sandbox)
    if reason == "expired":
        sandbox.expire_session(session_id)
    else:
        sandbox.fail_session(session_id, reason=reason)
    body: JSON = sandbox.call("GET", f"{SESSIONS}/{session_id}").json()
    return body


@pytest.mark.clause("base.error-catalog")
def test_every_code_of_the_catalogue_is_provoked_here_or_only_injected() -> None:
    provoked = [refusal.code for refusal in REFUSALS]

    assert 39 == len(ERRORS)
    assert set(ERRORS) == {*provoked, *INJECTED_ONLY}
    assert len(provoked) == len(set(provoked))


FORMS: dict[str, JSON] = {
    "default": {},
    "reworded": {"message-text": "reworded"},
    "empty": {"message-text": "empty"},
    "details": {"error-extra-keys": "details"},
    "guide": {"dual-status": "guide"},
}


@pytest.mark.clause("base.error-catalog", "base.error-body", "base.error-guide", "base.error-portuguese")
@pytest.mark.option("error-extra-keys", "none")
@pytest.mark.option("error-extra-keys", "details")
@pytest.mark.option("message-text", "canonical")
@pytest.mark.option("message-text", "reworded")
@pytest.mark.option("message-text", "empty")
@pytest.mark.option("dual-status", "catalog")
@pytest.mark.option("dual-status", "guide")
@pytest.mark.parametrize("option", ["default", "reworded", "empty", "details", "guide"])
def test_a_refusal_is_its_status_its_code_and_a_portuguese_sentence_as_chosen(
    mockserver_server: MockServer, option: str
) -> None:
    replies = provoked(mockserver_server, FORMS[option])

    for code, (refusal, reply) in replies.items():
        status = 422 if option == "guide" and code in GUIDE_422 else refusal.status
        shown = reply.json()
        message = shown.pop("message")
        extra = {"details", "requestId"} & shown.keys()
        assert {"statusCode": status, "code": code} == {key: shown[key] for key in shown if key not in extra}
        assert ({"details", "requestId"} if option == "details" else set()) == extra
        assert (status, "application/json; charset=utf-8") == (reply.status, reply.headers["content-type"])
        if option == "reworded":
            assert message.strip() not in ("", refusal.message)
        else:
            assert ("" if option == "empty" else refusal.message) == message
            assert message.encode() in reply.body


@pytest.mark.option("message-text", "canonical")
@pytest.mark.parametrize(("reason", "text"), SESSION_TEXTS.items())
def test_the_reason_of_a_session_is_portuguese(mockserver: Sandbox, reason: str, text: str) -> None:
    read = ended_session(mockserver, reason)

    assert (reason, text) == (read["reason"], read["message"])


VALIDATION: list[tuple[str, str, JSON | None]] = [
    ("POST", SESSIONS, {"colour": "red"}),
    ("POST", SESSIONS, {"funnelId": "funnel_sales"}),
    ("GET", "/v1/messaging/chats/chat_ana?limit=0", None),
    ("POST", "/v1/campaigns/audience-preview", {"filters": 7}),
    ("POST", "/v1/campaigns", DRAFT | {"cadence": "60"}),
    ("POST", "/v1/campaigns/campaign_none/start", {"commonVariables": []}),
]


@pytest.mark.clause("base.error-guide", "campaigns.validation")
@each_option("of_campaigns", "dual-status", {"catalog": 400, "guide": 422})
@each_row(("method", "path", "body"), VALIDATION)
def test_the_chosen_status_is_that_of_every_campaign_endpoint_and_of_no_other(
    mockserver: Sandbox, of_campaigns: int, method: str, path: str, body: JSON | None
) -> None:
    status = of_campaigns if path.startswith("/v1/campaigns") else 400

    assert (status, "VALIDATION_ERROR") == refused(mockserver.call(method, path, json=body))


@pytest.mark.clause("base.internal")
def test_what_breaks_unexpectedly_is_an_internal_error_and_no_page(
    mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("<h1>Traceback</h1>")

    monkeypatch.setattr("mockserver.core.operations.dispatch.READERS", {**READERS, "listTemplates": broken})

    reply = mockserver.call(*OPERATIONS["listTemplates"])

    assert (500, "INTERNAL_ERROR") == refused(reply)
    assert "Ocorreu um erro inesperado. Tente novamente em instantes." == reply.json()["message"]
    assert b"<" not in reply.body and b"RuntimeError" not in reply.body
    assert ["unexpected failure in GET /v1/message-templates"] == [record.message for record in caplog.records]
    assert 200 == mockserver.call(*OPERATIONS["listCampaigns"]).status
