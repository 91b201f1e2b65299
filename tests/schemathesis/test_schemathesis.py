"""
Schemathesis against the generated document of the public API: whatever is sent, the answer is a declared one.

Each generated call runs against a sandbox with the same past, so that a failure can be reproduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.openapi import from_dict
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.schemas import OpenApiSchema

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS, SUCCESS_STATUS
from tests.harness.rows import each_row
from tests.schemathesis.openapi import document

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
MODES = tuple(GenerationMode)
# How many calls of one operation, in each mode; with neither body nor query there is only the key to break.
IN_PROCESS_EXAMPLES, SOCKET_EXAMPLES, KEY_EXAMPLES = 6, 2, 2  # Flask has those of the socket
DEEP_EXAMPLES, DEEP_SOCKET_EXAMPLES = 100, 30
CAMPAIGN = {
    "name": "Revisão de março",
    "platform": "chatapp",
    "templateId": "template_atualizacao_cadastro",
    "cadence": 60,
}
BODIES: Mapping[str, Any] = {
    "previewAudience": {"filters": [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "exists"}]}]},
    "createCampaign": {**CAMPAIGN, "name": "Uma campanha nova"},
    "startCampaign": {"commonVariables": {}},
    "createConnectionSession": {"coexistence": True, "returnUrl": "https://clinic.example/back"},
    "uploadMedia": {"files": ["Orçamento aprovado"]},
}  # fmt: skip


class World(NamedTuple):
    """A sandbox with the demo, a running campaign, a draft and a session, and the document that contains their ids."""

    sandbox: Sandbox
    api: OpenApiSchema

    def operation(self, operation_id: str) -> APIOperation[Any, Any, Any, Any]:
        return self.api.find_operation_by_id(operation_id)


@pytest.fixture(scope="module")
def world(mockserver_server: MockServer) -> Iterator[World]:
    with mockserver_server.sandbox("demo", now="2026-03-01T12:00:00Z") as sandbox:
        running = sandbox.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
        execution = sandbox.call("POST", f"/v1/campaigns/{running}/start").json()["executionId"]
        draft = sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": "Rascunho"}).json()["campaignId"]
        session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions").json()["sessionId"]
        known: dict[str, dict[str, list[str]]] = {
            "readTemplate": {"id": ["template_revisao_semestral", "template_vizinha_buque"]},
            "createCampaign": {"templateId": [str(CAMPAIGN["templateId"]), "template_revisao_semestral"]},
            "readCampaign": {"id": [running, draft]},
            "readExecution": {"id": [running], "executionId": [execution]},
            "startCampaign": {"id": [draft, running]},
            "cancelCampaign": {"id": [running, draft]},
            "readConnectionSession": {"sessionId": [session]},
            "readEntrypoint": {"id": ["entrypoint_recepcao"]},
            "listMessages": {"chatId": ["chat_helena", "chat_vizinha_celia"]},
            "readFormPolicy": {"id": ["form_primeira_consulta"]},
        }
        yield World(sandbox, from_dict(document(known, BODIES)))


Ask = Callable[[Case[Any], str | None], Response]
Record = Callable[[str, object], None]


@pytest.fixture
def in_process(world: World) -> Ask:
    session = world.sandbox.requests_session()

    def ask(case: Case[Any], key: str | None) -> Response:
        with world.sandbox.checkpoint():
            headers = {"X-API-Key": key} if key else None
            return case.call(base_url=world.sandbox.base_url, session=session, headers=headers)

    return ask


@pytest.fixture
def through_flask(world: World) -> Ask:
    app = world.sandbox.admin.app

    def ask(case: Case[Any], key: str | None) -> Response:
        with world.sandbox.checkpoint():
            try:
                return case.call(app=app, headers={"X-API-Key": key} if key else None)
            except ValueError as refusal:
                if "Query string is defined" not in str(refusal):
                    raise
                reject()  # werkzeug's test client sends no path with a question mark; a socket's client does

    return ask


@pytest.fixture
def over_the_socket(world: World) -> Ask:
    def ask(case: Case[Any], key: str | None) -> Response:
        with world.sandbox.checkpoint():
            return case.call(base_url=world.sandbox.base_url, headers={"X-API-Key": key} if key else None)

    return ask


def exercise(
    world: World, operation_id: str, mode: GenerationMode, ask: Ask, examples: int, record: Record, of: str
) -> None:
    """Send generated calls, most of them with the secret key, and hold every answer to the document."""
    row, operation = ENDPOINTS[operation_id], world.operation(operation_id)
    if mode is GenerationMode.NEGATIVE and row.body == "none" and not row.query:
        examples = KEY_EXAMPLES
    keys = st.sampled_from([world.sandbox.secret_key] * 4 + [world.sandbox.public_key, None])
    figures: JSON = {"of": f"Schemathesis, {of}", "cases": 0, "findings": 1}  # until the run has ended without one
    record("figures", figures)

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=operation.as_strategy(generation_mode=mode), key=keys)
    def run(case: Case[Any], key: str | None) -> None:
        if key is not None:
            case.headers["X-API-Key"] = key
        figures["cases"] += 1
        answer = ask(case, key)
        case.validate_response(answer, checks=CHECKS)

    run()
    figures["findings"] = 0


@each_row("mode", MODES)
@each_row("operation_id", OPERATIONS)
@pytest.mark.clause("base.error-body", "base.internal", "base.json")
def test_whatever_is_sent_the_answer_is_a_declared_one(
    world: World, in_process: Ask, operation_id: str, mode: GenerationMode, record_property: Record
) -> None:
    exercise(world, operation_id, mode, in_process, IN_PROCESS_EXAMPLES, record_property, "in process")


@pytest.mark.deep
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation_id", OPERATIONS)
@pytest.mark.parametrize(
    ("way", "examples"),
    [("in_process", DEEP_EXAMPLES), ("through_flask", DEEP_SOCKET_EXAMPLES), ("over_the_socket", DEEP_SOCKET_EXAMPLES)],
)
def test_so_it_is_in_many_more_calls(
    world: World,
    request: pytest.FixtureRequest,
    way: str,
    examples: int,
    operation_id: str,
    mode: GenerationMode,
    record_property: Record,
) -> None:
    ask = request.getfixturevalue(way)
    exercise(world, operation_id, mode, ask, examples, record_property, way.replace("_", " "))


@pytest.mark.parametrize("way", ["in_process", "through_flask", "over_the_socket"])
@pytest.mark.parametrize("operation_id", OPERATIONS)
@pytest.mark.clause("base.prefix", "base.success")
def test_a_known_id_and_a_good_body_succeed(
    world: World, request: pytest.FixtureRequest, operation_id: str, way: str
) -> None:
    operation = world.operation(operation_id)
    path_parameters = {each.name: each.definition["example"] for each in operation.path_parameters}
    body = {"body": BODIES[operation_id]} if operation_id in BODIES else {}
    if operation_id == "uploadMedia":
        body["multipart_content_types"] = {"files": "text/plain"}
    case = operation.Case(path_parameters=path_parameters, headers={"X-API-Key": world.sandbox.secret_key}, **body)

    answer = request.getfixturevalue(way)(case, None)

    assert SUCCESS_STATUS["rest"][operation_id] == answer.status_code
    case.validate_response(answer, checks=CHECKS)
