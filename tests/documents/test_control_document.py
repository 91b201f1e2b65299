"""The document of the control plane has every command, answer and refusal, and describes none that is not there."""

from __future__ import annotations

import re
import socket
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from freezegun import freeze_time
from openapi_spec_validator import OpenAPIV31SpecValidator

from mockserver import Sandbox
from mockserver.contract import schemas
from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.limits import JSON_BODY_MAX_BYTES
from mockserver.core.instants import SECOND
from mockserver.server.control import routes, webhooks
from mockserver.server.control.openapi import documents
from mockserver.server.control.routes import COMMANDS, ROUTES
from mockserver.server.errors import STATUSES, ControlError
from mockserver.server.exchange import VirtualWait
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.limits import Limiter, ServerLimits
from mockserver.server.hosting.runtime import HostRuntime
from mockserver.server.hosting.shard import Shard
from mockserver.testing.end_user import read_page
from mockserver.wire.request import HttpRequest
from tests.documents.control_calls import NOON, Controls, described_parts, described_refusals, undocumented
from tests.documents.reading import (
    BASE_URL,
    chosen,
    control,
    of_profile,
    operations,
    texts,
    unfit_examples,
    unfit_examples_of_schemas,
    validator,
)
from tests.documents.recorded_control import NamedFiles
from tests.documents.test_public_document import KEY

SERVER = Path(routes.__file__).parents[1]
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": TEMPLATE, "cadence": 60}
# Not refusals of a command: of a path that no command has, and of a call in process.
OTHER_CODES = {"MOCK_WRONG_METHOD", "MOCK_LOOP_BLOCKED", "MOCK_HEAD_TOO_LARGE"}


@pytest.mark.deep
def test_the_document_is_valid_openapi() -> None:
    assert [] == list(OpenAPIV31SpecValidator(control()).iter_errors())


def test_the_document_has_the_commands_of_the_table() -> None:
    assert {row.id: (row.method, row.path) for row in ROUTES} == {
        name: (row.method, row.path) for name, row in operations(control()).items()
    }


def test_the_document_holds_no_key() -> None:
    assert [] == KEY.findall(texts(control()))


# Texts and documents of their own, and answers without content.
WITHOUT_EXAMPLE = {
    "readOpenapi", "readOpenapiYaml", "readDocs", "readDocsScript", "readSample",
    *(row.id for row in ROUTES if row.status == 204),
}  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_every_body_answer_and_own_refusal_has_an_example_that_fits_its_schema(profile: str) -> None:
    document = documents.document("control", chosen(PROFILES[profile]), BASE_URL)
    shown = {name: _examples(row.raw) for name, row in operations(document).items()}

    assert [] == unfit_examples(document)
    assert {row.id for row in ROUTES if row.schema} == {name for name, examples in shown.items() if "body" in examples}
    assert {row.id for row in ROUTES} - WITHOUT_EXAMPLE == {
        name for name, examples in shown.items() if examples.get("answer")
    }
    assert {} == {
        name: missing
        for name, examples in shown.items()
        if (missing := set(COMMANDS[name].refusals) - examples["refusals"])
    }


def _examples(operation: dict[str, Any]) -> dict[str, set[str]]:
    """Return the names of an operation's examples, of the body, the answer and the refusals."""
    named: dict[str, set[str]] = {"refusals": set()}
    if "requestBody" in operation:
        named["body"] = _names(operation["requestBody"])
    for status, answer in operation["responses"].items():
        named.setdefault("refusals" if int(status) >= 400 else "answer", set()).update(_names(answer))
    return named


def _names(body: dict[str, Any]) -> set[str]:
    return {name for content in body.get("content", {}).values() for name in content.get("examples", {})}


def test_every_example_of_a_schema_fits_it() -> None:
    assert [] == unfit_examples_of_schemas(control()) + unfit_examples_of_schemas(of_profile("hostile"))


@pytest.mark.deep
def test_the_examples_fit_under_each_option_of_each_choice() -> None:
    options = [(row.id, option) for row in CHOICES.values() for option in row.options if option != row.default]
    documented = {
        (choice, option): documents.document("control", chosen({choice: option}), BASE_URL)
        for choice, option in options
    }

    assert {} == {pair: unfit for pair, document in documented.items() if (unfit := unfit_examples(document))}


def test_the_same_choices_give_the_same_bytes_on_any_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a sample was sent to a server"))
    first = documents.document("control", DEFAULTS, BASE_URL)
    with freeze_time("2031-05-01T12:00:00Z"):
        second = documents.document("control", DEFAULTS, BASE_URL)

    assert texts(first) == texts(second)


def test_a_command_has_the_parameters_that_its_query_may_have() -> None:
    documented = {
        row.id: tuple(each["name"] for each in row.raw.get("parameters", ()) if each["in"] == "query")
        for row in operations(control()).values()
    }

    assert {row.id: row.query_names for row in ROUTES} == documented


def test_a_label_is_required_only_where_sandboxes_are_ended() -> None:
    required = {
        row.id: [parameter.get("required", False) for parameter in row.raw["parameters"]]
        for row in operations(control()).values()
        if row.id in ("listSandboxes", "deleteSandboxes")
    }

    assert {"listSandboxes": [False], "deleteSandboxes": [True]} == required


def test_a_body_has_the_properties_of_its_schema_file() -> None:
    bodies = {name: row.raw["requestBody"] for name, row in operations(control()).items() if "requestBody" in row.raw}
    shown = {name: _properties(body["content"]["application/json"]["schema"]) for name, body in bodies.items()}
    files: dict[str, set[str]] = {
        row.id: set(schemas.load(row.schema).get("properties", ())) for row in ROUTES if row.schema
    }

    assert shown.keys() == files.keys()
    assert {name: properties for name, properties in files.items() if properties} == {
        name: properties for name, properties in shown.items() if files[name]
    }


def _properties(schema: dict[str, Any]) -> set[str]:
    alternatives = schema.get("oneOf", [schema])
    return {name for alternative in alternatives for name in alternative.get("properties", ())}


def test_every_effect_rule_and_seed_is_a_component() -> None:
    definitions = schemas.read("scenario")["$defs"]
    components = control()["components"]["schemas"]
    effects = components["Effects"]["properties"]

    assert set(definitions["effects"]["properties"]) == set(effects)
    assert {"Scenario", "Rule", "Effects", "SeedData", "SeedChat", "SeedCampaign", "DropEffect"} <= set(components)
    assert [] == [name for name, effect in effects.items() if effect["$ref"].rpartition("/")[2] not in components]


def test_every_code_of_the_control_plane_is_described_and_used() -> None:
    described = {code for row in ROUTES for codes in row.codes_by_status().values() for code in codes}
    own = {SERVER / "errors.py", *(SERVER / "control" / "openapi").glob("control.py")}
    source = "".join(file.read_text(encoding="utf-8") for file in SERVER.rglob("*.py") if file not in own)
    used = set(re.findall(r'"(MOCK_[A-Z_]+)"', source))
    composed = {"MOCK_BAD_PLANE", "MOCK_BAD_PROFILE", "MOCK_BAD_OPENAPI", "MOCK_BAD_SCENARIO", "MOCK_NOT_FOUND"}

    assert set(STATUSES) - OTHER_CODES == described
    assert set(STATUSES) | {"MOCK_HEAD_TOO_LARGE"} == used | composed


def test_a_refusal_has_the_status_of_its_code() -> None:
    assert [409, 400] == [ControlError(code, "no").status for code in ("MOCK_OWN_PORT", "MOCK_BAD_QUERY")]


def test_an_undocumented_status_field_or_code_is_detected() -> None:
    health = {"status": "ok", "version": "1"}
    refusal = {"statusCode": 404, "code": "MOCK_NOT_FOUND", "message": "no"}

    assert [] == undocumented("readHealth", 200, "application/json", health)
    assert [] == undocumented("readHealth", 404, "application/json", refusal)
    assert [] != undocumented("readHealth", 200, "application/json", {**health, "extra": 1})
    assert [] != undocumented("readHealth", 202, "application/json", health)
    assert [] != undocumented("readHealth", 404, "application/json", {**refusal, "code": "MOCK_OTHER"})
    assert [] != undocumented("readHealth", 404, "application/json", {**refusal, "extra": 1})
    assert [] != undocumented("readHealth", 200, "text/plain", "ok")


@pytest.fixture(scope="module")
def played() -> Controls:
    """A host on which every command has succeeded, and has been refused for every reason."""
    controls = Controls()
    _play_server(controls)
    _play_virtual_calls(controls)
    _play_behaviour(controls)
    _play_calls(controls)
    _play_early_event(controls)
    _play_time(controls)
    _play_evidence(controls)
    _play_access(controls)
    _play_shard(controls)
    return controls


def _play_server(controls: Controls) -> None:
    controls.run("readHealth")
    made = controls.run(
        "createSandbox", {"seed": 7, "profile": "guide", "choices": {"dual-status": "guide"}, "clock": {"freeze": NOON}}
    )
    controls.refuse("createSandbox", "MOCK_BAD_SCENARIO", {"choices": {"dual-stats": "guide"}})
    controls.run("deleteSandbox", query="?failed=true&name=StartTest", id=made["sandboxId"])
    controls.host.note_late_call(made["sandboxId"])
    controls.refuse("deleteSandbox", "MOCK_DEFAULT_SANDBOX", id="default")
    controls.refuse("deleteSandbox", "MOCK_NOT_FOUND", id="sandbox_9")
    controls.run("listSandboxes")
    _play_limits(controls)
    checkpoint = controls.run("createCheckpoint")["checkpointId"]
    controls.run("restoreCheckpoint", id=checkpoint)
    controls.run("createCheckpoint", {"label": "advance by 20m"})
    controls.run("listCheckpoints")
    controls.refuse("restoreCheckpoint", "MOCK_NOT_FOUND", id="checkpoint_9")
    controls.run("reset")
    for command, unwanted in (
        ("readOpenapi", "text/html"),
        ("readOpenapiYaml", "text/html"),
        ("readDocs", "image/png"),
    ):
        controls.run(command, query="?plane=control")
        controls.refuse(command, "MOCK_BAD_PLANE", query="?plane=contrl")
        controls.refuse(command, "MOCK_BAD_PROFILE", query="?profile=gide")
        controls.refuse(command, "MOCK_BAD_QUERY", query="?profil=guide")
        controls.refuse(command, "MOCK_NOT_ACCEPTABLE", headers={"accept": unwanted})
    for command in ("readOpenapi", "readOpenapiYaml"):
        controls.refuse(command, "MOCK_BAD_OPENAPI", query="?openapi=3.2")
    controls.run("readOpenapi", query="?openapi=3.0")
    controls.run("readDocsScript")
    controls.refuse("readDocsScript", "MOCK_NOT_ACCEPTABLE", headers={"accept": "image/png"})


def _play_limits(controls: Controls) -> None:
    """Reach the limits of a server, have one end a sandbox, and end others by their label."""
    host, now = controls.host, [0]
    host.monotonic_us, host.token = lambda: now[0], "let-me-in"
    limiter = Limiter(host, ServerLimits(sandboxes=2, idle=60 * SECOND))
    host.admission = limiter.admission
    own = {"authorization": "Bearer let-me-in"}
    left, labelled = (controls.run("createSandbox", body, headers=own) for body in ({}, {"labels": {"job": "a"}}))
    controls.refuse("createSandbox", "MOCK_TOO_MANY_SANDBOXES", {}, headers=own)
    now[0] = 30 * SECOND
    controls.run("readClock", prefix=f"/sandboxes/{labelled['sandboxId']}", headers=own)
    limiter.sweep()
    now[0] = 60 * SECOND
    limiter.sweep()
    controls.refuse("readClock", "MOCK_SANDBOX_CLOSED", prefix=f"/sandboxes/{left['sandboxId']}", headers=own)
    host.token = None
    controls.run("listSandboxes", query="?label=job:a")
    controls.run("readMetrics")
    controls.run("readSample", query="?type=text/plain")
    controls.refuse("readSample", "MOCK_BAD_QUERY")
    for command in ("listSandboxes", "deleteSandboxes"):
        controls.refuse(command, "MOCK_BAD_QUERY", query="?lable=job:a")
    controls.refuse("readMetrics", "MOCK_NOT_ACCEPTABLE", headers={"accept": "image/png"})
    assert {"ended": [labelled["sandboxId"]]} == controls.run("deleteSandboxes", query="?label=job:a")


def _play_shard(controls: Controls) -> None:
    """Answer as one of several servers, and drain."""
    host = controls.host
    host.shard = Shard(0, 2)
    for command in ("readHealth", "listSandboxes"):
        controls.run(command)
    controls.run("deleteSandboxes", query="?label=job:none")
    limiter = Limiter(host, ServerLimits())
    host.admission = limiter.admission
    limiter.drain(None)
    controls.refuse("createSandbox", "MOCK_DRAINING", {})


def _play_virtual_calls(controls: Controls) -> None:
    """Call the API through the control plane: whole, cut, broken off, and with a timeout before and in the body."""
    body = {"method": "GET", "path": "/v1/campaigns", "headers": {"x-api-key": controls.default.tenant.secret_key}}
    for effects, end in (
        ({"truncate": 10}, "cut"),
        ({"dribble": {"chunks": 2, "over": "1h"}}, "timeout"),
        ({"drop": "after"}, "drop"),
        ({"reset": "after"}, "reset"),
        ({"delay": "1h"}, "timeout"),
        ({}, "whole"),
    ):
        if effects:
            controls.run("applyScenario", {"script": [{"on": "listCampaigns", "times": 1, "do": effects}]})
        answer = controls.run("sendCall", {**body, "timeout": "30s"})
        assert end == answer.get("end", answer.get("noResponse")), (effects, answer)
    controls.refuse("sendCall", "MOCK_BAD_CALL", {**body, "bodyBase64": "?"})
    controls.refuse("sendCall", "MOCK_BAD_DURATION", {**body, "timeout": "soon"})


def _play_time(controls: Controls) -> None:
    controls.run("readClock")
    controls.run("setClock", {"freeze": "2026-05-01T12:30:00Z"})
    controls.refuse("setClock", "MOCK_BAD_CLOCK", {})
    controls.refuse("setClock", "MOCK_BAD_INSTANT", {"freeze": "noon"})
    controls.refuse("setClock", "MOCK_TIME_GOES_FORWARD", {"freeze": "2026-02-01T12:00:00Z"})
    controls.refuse("setClock", "MOCK_BAD_QUERY", {"freeze": "2026-05-01T12:31:00Z"}, query="?wait=flase")
    controls.refuse("advanceClock", "MOCK_BAD_ADVANCE", {})
    controls.refuse("advanceClock", "MOCK_BAD_INSTANT", {"to": "noon"})
    controls.refuse("advanceClock", "MOCK_BAD_DURATION", {"by": "soon"})
    controls.refuse("advanceClock", "MOCK_TIME_GOES_FORWARD", {"to": "2026-02-01T12:00:00Z"})


def _play_behaviour(controls: Controls) -> None:
    controls.refuse("readTrackedChoices", "MOCK_NOT_WATCHED")
    controls.run("trackChoices")
    controls.run("readChoices")
    controls.run("choose", {"detail-fields": "full", "rate-limit-numbers": {"requests": 1000}})
    controls.refuse("choose", "MOCK_BAD_CHOICE", {"dual-stats": "guide"})
    controls.run("listScenarios")
    controls.run("readScenario", name="start-timeout-applied")
    controls.refuse("readScenario", "MOCK_NOT_FOUND", name="start-timeout-aplied")
    controls.run("applyScenario", {"name": "start-timeout-applied"})
    controls.refuse("applyScenario", "MOCK_BAD_SCENARIO", {"name": "start-timeout-aplied"})
    controls.run("addRules", {"on": "readExecution", "nth": 9, "do": {"drop": "before"}})
    controls.run("addRules", [{"on": "readExecution", "nth": 9, "do": {"drop": "before"}}])
    controls.refuse("addRules", "MOCK_BAD_SCENARIO", {"on": "readExecutions", "do": {"drop": "before"}})
    controls.run("readCheck", query="?conduct=error")
    controls.refuse("applyScenario", "MOCK_BAD_SCENARIO", {"name": "start-timeout-applied"})  # its ids are in use now
    controls.refuse("removeRule", "MOCK_NOT_FOUND", id="rule_9")
    controls.run("readTenant", id="tenant_default")
    controls.refuse("readTenant", "MOCK_NOT_FOUND", id="tenant_defult")
    controls.run("setTenant", {"name": "Clínica"}, id="tenant_default")
    controls.refuse("setTenant", "MOCK_NOT_FOUND", {}, id="tenant_defult")


SCENARIO = {
    "scenario": "faults",
    "seed": 7,
    "given": {
        "webhooks": [{"url": "http://127.0.0.1:9/hook", "events": ["entrypoints"]}],
        "tenants": [{"id": "tenant_new"}],
        "messages": [{"chatId": "chat_helena", "text": "oi"}],
    },
    "script": [
        {"on": "readTemplate", "nth": 1, "do": {"drop": "after"}},
        {"on": "readFormPolicy", "do": {"fail-campaign": {}}},
        {"on": "listTemplates", "do": {"delay": "1h"}},
        {"on": "delivery", "do": {"deliver": {"forge": "no-signature"}}},
        {"on": "delivery", "nth": 2, "do": {"deliver": {"delay": "1m"}}},
        {"on": "readExecution", "nth": 1, "do": {"fail-campaign": {}}},
    ],
}


def _large_campaigns(first: int) -> list[dict[str, str]]:
    """Return 300 campaigns; a list of 600 is larger than what the journal stores of an answer."""
    rows = range(first, first + 300)
    return [{"id": f"campaign_{n}", "templateId": TEMPLATE, "name": f"{n}", "description": "d" * 2000} for n in rows]


def _play_early_event(controls: Controls) -> None:
    """Have an event sent before the answer to the call that caused it."""
    hosted = controls.host.create(SandboxConfig("connect-complete-before-202", clock={"freeze": NOON}))
    webhooks.register(hosted, lambda request: 204, "tenant_default", ("entrypoints",), None, "/hook")
    headers = {"x-api-key": hosted.tenant.secret_key, "content-type": "application/json"}
    target = f"/sandboxes/{hosted.id}{SESSIONS}"
    handle_request(controls.host, HttpRequest("POST", target, headers, b"{}", controls.host.origin))
    controls.run("readJournal", prefix=f"/sandboxes/{hosted.id}")
    controls.run("deleteSandbox", id=hosted.id)


def _play_calls(controls: Controls) -> None:
    """Make calls with side effects of every kind, and move records through the control plane."""
    applied = controls.run("applyScenario", SCENARIO)
    controls.run("expireSession", sessionId=controls.api("POST", SESSIONS, {})["sessionId"])
    (event,) = controls.run("readEvents")["events"]
    controls.refuse("redeliverEvent", "MOCK_ILLEGAL_MOVE", id=event["id"])  # its endpoint does not answer
    for first in (0, 300):
        controls.run("applyScenario", {"given": {"campaigns": _large_campaigns(first)}})
    answers = iter((204, 204, 204))
    webhooks.register(
        controls.default, lambda request: next(answers, 410), "tenant_default", ("entrypoints",), None, "/hook"
    )
    for path in (
        "/v1/message-templates/" + TEMPLATE,
        "/v1/forms/form_primeira_consulta/embed-frame-policy",
        "/v1/campaigns",
    ):
        controls.api("GET", path)
    controls.run("readReport", headers={"accept": "application/json"})  # the last call that a rule changed
    controls.api("POST", "/v1/campaigns", {**CAMPAIGN, "name": "Fevereiro", "extra": "e" * 70_000})
    controls.run("listRules")
    controls.run("removeRule", id=applied["rules"][0])
    running = _start(controls, CAMPAIGN)
    controls.run("failCampaign", id=running)
    controls.refuse("failCampaign", "MOCK_ILLEGAL_MOVE", id=running)
    controls.refuse("failCampaign", "MOCK_NOT_FOUND", id="campaign_none")
    for name in ("Abril", "Maio"):
        _start(controls, {**CAMPAIGN, "name": name})
    controls.run("advanceClock", {"by": "30m"})
    moves: dict[str, Any] = {
        "completeSession": {},
        "failSession": {"reason": "phone_in_use"},
        "cancelSession": None,
        "expireSession": None,
    }
    for command, body in moves.items():
        session = controls.api("POST", SESSIONS, {})["sessionId"]
        if command == "completeSession":
            controls.refuse(command, "MOCK_BAD_PHONE", {"phone": "12"}, sessionId=session)
        if command == "failSession":
            controls.refuse(command, "MOCK_BAD_REASON", {"reason": "phone"}, sessionId=session)
        controls.run(command, body, sessionId=session)
        controls.refuse(command, "MOCK_ILLEGAL_MOVE", body, sessionId=session)
        controls.refuse(command, "MOCK_NOT_FOUND", body, sessionId="session_none")
        controls.refuse(command, "MOCK_BAD_QUERY", body, query="?wait=flase", sessionId="session_none")
    events = controls.run("readEvents")["events"]
    webhook = next(delivery["endpoint"] for delivery in events[0]["deliveries"] if delivery["status"] == "waiting")
    for event in events:
        controls.run("readEvent", id=event["id"])
    for command in ("readEvent", "redeliverEvent"):
        controls.refuse(command, "MOCK_NOT_FOUND", id="event_none")
    controls.run("advanceClock", {"until": "idle"})
    controls.run("redeliverEvent", id=events[1]["id"])
    controls.run("recoverWebhook", id=webhook)
    controls.refuse("recoverWebhook", "MOCK_NOT_FOUND", id="webhook_none")
    controls.refuse("recoverWebhook", "MOCK_BAD_QUERY", query="?wait=flase", id=webhook)
    controls.run("rotateWebhook", {"secret": "whsec_bmV3IHNlY3JldA=="}, id=webhook)
    controls.refuse("rotateWebhook", "MOCK_BAD_SECRET", {"secret": "new secret"}, id=webhook)
    endpoint = {"url": "http://127.0.0.1:9/new", "events": ["entrypoints"]}
    controls.run("createWebhook", endpoint)
    controls.refuse("createWebhook", "MOCK_BAD_QUERY", endpoint, query="?wait=flase")
    controls.refuse("createWebhook", "MOCK_BAD_SECRET", {**endpoint, "secret": "abc"})
    controls.refuse("createWebhook", "MOCK_BAD_TARGET", {"url": "http://clinic.example/"})
    controls.refuse("createWebhook", "MOCK_BAD_EVENT", {**endpoint, "events": ["entrypoint"]})
    controls.refuse("createWebhook", "MOCK_NOT_FOUND", {**endpoint, "tenantId": "tenant_none"})
    controls.refuse("rotateWebhook", "MOCK_NOT_FOUND", {"secret": "new secret"}, id="webhook_none")

    _play_ledger(controls)
    _use_each_control_of_the_page(controls)
    _leave_a_refused_form(controls)


def _play_ledger(controls: Controls) -> None:
    """Clone a campaign after its name was refused, start one with a rule that fails it, and upload a file that nothing uses."""
    groups = [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "exists"}]}]
    body = {**CAMPAIGN, "name": "Junho", "filters": groups}
    for name in ("Junho", "Junho", "Junho (2)"):
        controls.api("POST", "/v1/campaigns", {**body, "name": name})
    failing = _start(controls, {**CAMPAIGN, "name": "Julho"})
    controls.api("GET", f"/v1/campaigns/{failing}/executions/{_execution(controls, failing)}")
    form = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nnote\r\n--b--\r\n'
    controls.api("POST", "/v1/messaging/media", form, content_type="multipart/form-data; boundary=b")
    controls.api("POST", "/v1/campaigns", b"e" * 70_000)


def _execution(controls: Controls, campaign: str) -> str:
    return str(controls.api("GET", f"/v1/campaigns/{campaign}")["executions"][0]["id"])


def _use_each_control_of_the_page(controls: Controls) -> None:
    """Complete a session as an end user does, with another account and number than proposed."""
    body = {
        "funnelId": "funnel_pacientes_novos",
        "funnelStepId": "funnel_step_primeiro_contato",
        "returnUrl": "https://clinic.example/",
    }
    path = urlsplit(controls.api("POST", SESSIONS, body)["url"]).path
    own = {"account": "new", "name": "Outra clínica", "number": "other", "phone": "+5511955501234"}
    response = controls.page("GET", path)
    while forms := read_page(response)[2]:
        values = {**forms[0].values, "press": "continue"}
        values |= {name: own[name] for name in values.keys() & own.keys()}
        response = controls.page("POST", urlsplit(forms[0].action).path or path, values)


def _leave_a_refused_form(controls: Controls) -> None:
    """Start a flow, and leave it with a form that its step has refused."""
    path = urlsplit(controls.api("POST", SESSIONS, {})["url"]).path
    response = controls.page("GET", path)
    for own in ({}, {"account": "new", "name": ""}):
        form = read_page(response)[2][0]
        response = controls.page("POST", urlsplit(form.action).path, {**form.values, **own, "press": "continue"})


def _start(controls: Controls, body: dict[str, Any]) -> str:
    campaign = str(controls.api("POST", "/v1/campaigns", body)["campaignId"])
    controls.api("POST", f"/v1/campaigns/{campaign}/start", {})
    return campaign


def _play_evidence(controls: Controls) -> None:
    with freeze_time("2030-01-01T12:00:00Z"):
        controls.api("GET", SESSIONS + "/" + controls.api("POST", SESSIONS, {})["sessionId"])
        controls.run("readHistory")  # two clocks that differ
    controls.api(
        "GET", "/v1/message-templates", client=VirtualWait(SECOND)
    )  # its client gives up, the call is deferred
    controls.run("readHistory")
    ticks = count(step=SECOND)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostRuntime, "monotonic_us", lambda _: next(ticks))
        for _ in range(3):
            controls.api("GET", "/v1/campaigns/filters/schema")
        controls.run("readHistory")  # a client that polls a clock that does not move
    for command in (
        "readState",
        "readJournal",
        "readHistory",
        "readReplay",
        "readHar",
        "readReport",
        "readLedger",
        "readConduct",
        "readCoverage",
        "readTrackedChoices",
    ):
        controls.run(command)
    controls.run("readReport", query="?failure=got+1", headers={"accept": "application/json"})
    controls.host.failures = NamedFiles()
    controls.run("keepReport", query="?failure=got+1&name=StartTest", headers={"accept": "application/json"})
    controls.host.failures = None
    for command in ("readReport", "keepReport"):
        controls.refuse(command, "MOCK_NOT_ACCEPTABLE", headers={"accept": "text/html"})
    controls.run("readJournal", query="?last=2")
    for command in ("readState", "readJournal", "readReplay", "readHar", "readReport", "keepReport"):
        controls.refuse(command, "MOCK_BAD_QUERY", query="?color=blue")
    for name in ("", "n" * 201):
        assert "name: got" in controls.refuse("readReplay", "MOCK_BAD_QUERY", query=f"?name={name}")
    controls.refuse("readJournal", "MOCK_BAD_OPERATION", query="?operation=listCampaign")
    controls.run("verifyJournal", {"operation": "createCampaign", "times": 1, "where": {"body.name": "Junho"}})
    controls.refuse("verifyJournal", "MOCK_BAD_WHERE", {"operation": "*", "where": {"color": 1}})
    controls.refuse("verifyJournal", "MOCK_BAD_VERIFY", {"operation": "*", "times": 1, "atLeast": 1})
    controls.refuse("verifyJournal", "MOCK_BAD_OPERATION", {"operation": "listCampaign", "times": 1})
    controls.run("removeRules")


def _play_access(controls: Controls) -> None:
    """Let every command be refused for the reasons that all share."""
    closed = controls.host.create(controls.default.config)
    controls.host.close(closed.id)
    own_port = controls.host.create(controls.default.config)
    own_port.own_origin = "http://127.0.0.1:1"
    for row in ROUTES:
        own: dict[str, Any] = {"id": "x", "sessionId": "x", "name": "x"}
        controls.refuse(row.id, "MOCK_NOT_FOUND", prefix="/sandboxes/none", **own)
        controls.refuse(row.id, "MOCK_SANDBOX_CLOSED", prefix=f"/sandboxes/{closed.id}", **own)
        controls.refuse(row.id, "MOCK_FOREIGN_HOST", headers={"host": "evil.example"}, **own)
        controls.refuse(row.id, "MOCK_FOREIGN_ORIGIN", headers={"origin": "https://evil.example"}, **own)
        if row.method != "GET":
            controls.refuse(row.id, "MOCK_HEADER_WANTED", headers={"origin": "http://127.0.0.1:1"}, **own)
        if row.id != "readHealth":
            controls.refuse(row.id, "MOCK_BAD_QUERY", query="?colour=blue", **own)
        controls.refuse(row.id, "MOCK_BAD_BODY", {"colour": "blue"} if row.schema is None else b"[]", **own)
        if row.schema:
            controls.refuse(row.id, "MOCK_BAD_JSON", b"{", **own)
            controls.refuse(row.id, "MOCK_BODY_TOO_LARGE", b" " * (JSON_BODY_MAX_BYTES + 1), **own)
        if row.target == "host" and row.id != "readHealth":
            controls.refuse(row.id, "MOCK_OWN_PORT", root=own_port, **own)
    controls.host.token = "let-me-in"
    for row in ROUTES:
        controls.refuse(row.id, "MOCK_TOKEN_WANTED", id="x", sessionId="x")
    controls.host.token = None


@pytest.mark.deep
def test_every_command_succeeds_as_described(played: Controls) -> None:
    assert {row.id for row in ROUTES} == played.succeeded


@pytest.mark.deep
def test_every_described_refusal_happens_and_no_other(played: Controls) -> None:
    failures = {(row.id, 500, "MOCK_INTERNAL_ERROR") for row in ROUTES}

    assert described_refusals() == played.refused | failures


def test_a_bug_of_the_mock_is_refused_as_described(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    controls = Controls()
    control()  # its samples are answers of the control plane, recorded before the bug
    monkeypatch.setattr(routes, "_match", lambda request: 1 / 0)
    for row in ROUTES:
        controls.refuse(row.id, "MOCK_INTERNAL_ERROR", id="x", sessionId="x")

    assert {row.id for row in ROUTES} == {command for command, _, _ in controls.refused}
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.deep
def test_every_described_field_of_an_answer_is_in_one(played: Controls) -> None:
    assert set() == described_parts() - played.parts


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.mockserver(scenario="demo")
def test_a_record_of_the_api_has_the_shape_of_the_profile(mockserver: Sandbox, profile: str) -> None:
    mockserver.choose(PROFILES[profile])
    document = mockserver.call("GET", "/_mock/openapi.json?plane=control").json()
    session = mockserver.call("POST", SESSIONS, json={}).json()["sessionId"]
    campaign = mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{campaign}/start", json={})
    commands = {
        "completeSession": ("POST", f"/_mock/sessions/{session}/complete"),
        "failCampaign": ("POST", f"/_mock/campaigns/{campaign}/fail"),
        "readEvents": ("GET", "/_mock/events"),
    }
    for command, (method, path) in commands.items():
        answer = mockserver.call(method, path)
        content = operations(document)[command].raw["responses"]["200"]["content"]["application/json"]

        assert 200 == answer.status
        assert [] == list(validator(document, content["schema"]).iter_errors(answer.json())), command
