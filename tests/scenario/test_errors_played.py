"""
The scenarios of the 39 error codes: each is provoked by a call, and answered with the catalogue's status and code.

A code is returned by an operation that declares it; those that no documented operation returns are injected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mockserver import MockServer, Sandbox
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, Operation
from mockserver.contract.errors import ERRORS
from tests.clients.operations import SESSIONS
from tests.harness.codes import INJECTED_ONLY
from tests.operations.media_files import PDF, PNG, TEXT, File, upload
from tests.operations.world import refused
from tests.scenario.scenario_runs import played

NOBODY = "that_never_was"
ORPHANS = INJECTED_ONLY - {*COMMON_ERRORS}


class Play(NamedTuple):
    """The operation that refuses, and the calls that lead there: the answer of the last is the refusal."""

    operation: Operation
    calls: Callable[[Sandbox], Any]


def get(path: str, **rest: Any) -> Callable[[Sandbox], Any]:
    return lambda sandbox: sandbox.call("GET", path, **rest)


def post(path: str, body: Any = None) -> Callable[[Sandbox], Any]:
    return lambda sandbox: sandbox.call("POST", path, json=body)


def twice(call: Callable[[Sandbox], Any]) -> Callable[[Sandbox], Any]:
    def calls(sandbox: Sandbox) -> Any:
        assert 400 > call(sandbox).status
        return call(sandbox)

    return calls


def draft(template: str, **changes: Any) -> Callable[[Sandbox], Any]:
    body = {"name": "Promo", "platform": "chatapp", "templateId": f"template_{template}", "cadence": 60}
    return post("/v1/campaigns", body | changes)


def acts(template: str, *verbs: str, pause_s: float = 0) -> Callable[[Sandbox], Any]:
    """A draft, and then what is done to it, with a pause after each."""

    def calls(sandbox: Sandbox) -> Any:
        campaign_id = draft(template)(sandbox).json()["campaignId"]
        for verb in verbs:
            answer = sandbox.call("POST", f"/v1/campaigns/{campaign_id}/{verb}")
            sandbox.advance(pause_s)
        return answer

    return calls


def files(*sent: File) -> Callable[[Sandbox], Any]:
    return lambda sandbox: upload(sandbox, *sent)


TEMPLATES = "/v1/message-templates"
LISTING = get(TEMPLATES)
POLICY = get(f"/v1/forms/form_{NOBODY}/embed-frame-policy")
SESSION = post(SESSIONS, {})
MISFIT = [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "greater-than", "value": 1}]}]
STRANGE = [{"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "fax"}]}]

# fmt: off
PLAYS = {
    "API_KEY_MISSING":                    Play("listTemplates", get(TEMPLATES, key="")),
    "API_KEY_INVALID":                    Play("listTemplates", twice(LISTING)),
    "API_KEY_WRONG_TYPE":                 Play("listTemplates", get(TEMPLATES, key="pk_wrong_type_scenario")),
    "DEVELOPERS_DISABLED":                Play("listTemplates", LISTING),
    "SUBSCRIPTION_INACTIVE":              Play("createConnectionSession", SESSION),
    "LEAD_LIMIT_EXCEEDED":                Play("createConnectionSession", SESSION),
    "FORM_INACTIVE":                      Play("readFormPolicy", get("/v1/forms/form_error_inactive/embed-frame-policy")),
    "RESOURCE_ACCESS_DENIED":             Play("readTemplate", get(f"{TEMPLATES}/template_access_denied")),
    "ENTRYPOINT_NOT_FOUND":               Play("readEntrypoint", twice(get("/v1/entrypoints/entrypoint_error_gone"))),
    "FORM_NOT_FOUND":                     Play("readFormPolicy", POLICY),
    "CHAT_NOT_FOUND":                     Play("listMessages", get("/v1/messaging/chats/chat_error_theirs")),
    "RESOURCE_NOT_FOUND":                 Play("readConnectionSession", get(f"{SESSIONS}/connection_session_{NOBODY}")),
    "FORM_ALREADY_SUBMITTED":             Play("readFormPolicy", POLICY),
    "VALIDATION_ERROR":                   Play("createCampaign", draft("error_validation", cadence=0)),
    "INVALID_PHONE":                      Play("createConnectionSession", SESSION),
    "ENTRYPOINT_PLATFORM_UNSUPPORTED":    Play("readEntrypoint", get("/v1/entrypoints/entrypoint_error_platform")),
    "PLATFORM_UNSUPPORTED":               Play("previewAudience", post("/v1/campaigns/audience-preview", {"filters": STRANGE})),
    "FORM_MISSING_ENTRYPOINTS":           Play("readFormPolicy", POLICY),
    "FORM_INVALID_ANSWERS":               Play("readFormPolicy", POLICY),
    "FORM_INVALID_DESTINATION":           Play("readFormPolicy", POLICY),
    "MEDIA_UPLOAD_EMPTY":                 Play("uploadMedia", files(File(PNG, "image/png", field="file"))),
    "MEDIA_UPLOAD_TOO_MANY_FILES":        Play("uploadMedia", files(*[File(PNG, "image/png")] * 3)),
    "MEDIA_FILE_TOO_LARGE":               Play("uploadMedia", files(File(PDF, "application/pdf"))),
    "MEDIA_INVALID_FORMAT":               Play("uploadMedia", files(File(TEXT, "image/png"))),
    "INVALID_REQUEST":                    Play("createConnectionSession", post(SESSIONS, {"funnelId": "funnel_error_alone"})),
    "UNPROCESSABLE_REQUEST":              Play("cancelCampaign", acts("error_unprocessable", "start", "cancel", pause_s=60)),
    "MESSAGE_CAMPAIGN_NOT_ALLOWED":       Play("startCampaign", acts("error_reference", "start")),
    "CAMPAIGN_NOT_FOUND":                 Play("startCampaign", post(f"/v1/campaigns/campaign_{NOBODY}/start")),
    "CAMPAIGN_NAME_ALREADY_EXISTS":       Play("createCampaign", twice(draft("error_name"))),
    "CAMPAIGN_TEMPLATE_NOT_FOUND":        Play("createCampaign", draft(NOBODY)),
    "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH": Play("createCampaign", draft("error_mismatch", platform="chatapp_lite")),
    "CAMPAIGN_INVALID_FILTERS":           Play("previewAudience", post("/v1/campaigns/audience-preview", {"filters": MISFIT})),
    "CAMPAIGN_NOT_DRAFT":                 Play("startCampaign", acts("error_not_draft", "cancel", "start")),
    "CAMPAIGN_ALREADY_PROCESSING":        Play("startCampaign", acts("error_already", "start", "start")),
    "CAMPAIGN_MISSING_COMMON_VARIABLES":  Play("startCampaign", acts("error_variables", "start")),
    "CAMPAIGN_SIZE_LIMIT_EXCEEDED":       Play("startCampaign", acts("error_size", "start")),
    "MESSAGE_TEMPLATE_NOT_FOUND":         Play("readTemplate", twice(get(f"{TEMPLATES}/template_error_template"))),
    "RATE_LIMIT_EXCEEDED":                Play("listTemplates", twice(LISTING)),
    "INTERNAL_ERROR":                     Play("listTemplates", LISTING),
}
# fmt: on


def scenario_of(code: str) -> str:
    """`error-api-key-missing` and its like."""
    return f"error-{code.lower().replace('_', '-')}"


def test_each_code_is_provoked_at_an_operation_that_declares_it(mockserver_server: MockServer) -> None:
    expected = {code: (ERRORS[code].status, code, PLAYS[code].operation) for code in ERRORS}
    refusals = {}
    for code in ERRORS:
        with played(mockserver_server, scenario_of(code)) as run:
            answer = refused(PLAYS[code].calls(run.sandbox))
            refusals[code] = (*answer, run.sandbox.log.journal["exchanges"][-1]["operation"])

    assert expected == refusals
    declared = {code: {*COMMON_ERRORS, *ENDPOINTS[play.operation].errors} for code, play in PLAYS.items()}
    assert set() == {code for code in ERRORS if code not in declared[code]} - ORPHANS


def test_a_reachable_code_is_provoked_by_seed_data_choices_or_the_call(
    mockserver_server: MockServer,
) -> None:
    injected = set()
    for code in ERRORS:
        with mockserver_server.sandbox(scenario_of(code)) as sandbox:
            injected |= {code for rule in sandbox.rules if "error" in rule["do"]}

    assert set(INJECTED_ONLY) == injected
