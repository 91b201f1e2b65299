"""The document of the control plane has every command, answer and refusal, and describes none that is not there."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time
from openapi_spec_validator import OpenAPIV31SpecValidator

from mockserver import Sandbox
from mockserver.contract import schemas
from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.limits import JSON_BODY_MAX_BYTES
from mockserver.server.control import routes
from mockserver.server.control.openapi import documents
from mockserver.server.control.routes import COMMANDS, ROUTES
from mockserver.server.errors import STATUSES
from tests.clients.operations import SESSIONS
from tests.documents.control_calls import Controls, described_refusals
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

SERVER = Path(routes.__file__).parents[1]
TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": TEMPLATE, "cadence": 60}
# Not refusals of a command: of a path that no command has, and of a call in process.
OTHER_CODES = {"MOCK_WRONG_METHOD", "MOCK_LOOP_BLOCKED"}


@pytest.mark.deep
def test_the_document_is_valid_openapi() -> None:
    assert [] == list(OpenAPIV31SpecValidator(control()).iter_errors())


def test_the_document_has_the_commands_of_the_table() -> None:
    assert {row.id: (row.method, row.path) for row in ROUTES} == {
        name: (row.method, row.path) for name, row in operations(control()).items()
    }


# Texts and documents of their own, and answers without content.
WITHOUT_EXAMPLE = {
    "readOpenapi", "readSample",
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
        if (missing := {*COMMANDS[name].refusals} - examples["refusals"])
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
    assert set(STATUSES) == used | composed


@pytest.mark.deep
def test_every_command_is_refused_for_the_reasons_that_all_share_and_no_other() -> None:
    controls, params = Controls(), {"id": "x", "sessionId": "x", "name": "x"}
    closed = controls.host.create(controls.default.config)
    controls.host.close(closed.id)
    own_port = controls.host.create(controls.default.config)
    own_port.own_origin = "http://127.0.0.1:1"
    for row in ROUTES:
        controls.refuse(row.id, "MOCK_NOT_FOUND", prefix="/sandboxes/none", **params)
        controls.refuse(row.id, "MOCK_SANDBOX_CLOSED", prefix=f"/sandboxes/{closed.id}", **params)
        controls.refuse(row.id, "MOCK_FOREIGN_HOST", headers={"host": "evil.example"}, **params)
        controls.refuse(row.id, "MOCK_FOREIGN_ORIGIN", headers={"origin": "https://evil.example"}, **params)
        if row.method != "GET":
            controls.refuse(row.id, "MOCK_HEADER_WANTED", headers={"origin": "http://127.0.0.1:1"}, **params)
        if row.id != "readHealth":
            controls.refuse(row.id, "MOCK_BAD_QUERY", query="?colour=blue", **params)
        controls.refuse(row.id, "MOCK_BAD_BODY", {"colour": "blue"} if row.schema is None else b"[]", **params)
        if row.schema:
            controls.refuse(row.id, "MOCK_BAD_JSON", b"{", **params)
            controls.refuse(row.id, "MOCK_BODY_TOO_LARGE", b" " * (JSON_BODY_MAX_BYTES + 1), **params)
        if row.target == "host" and row.id != "readHealth":
            controls.refuse(row.id, "MOCK_OWN_PORT", root=own_port, **params)
    controls.host.token = "let-me-in"
    for row in ROUTES:
        controls.refuse(row.id, "MOCK_TOKEN_WANTED", **params)
    controls.host.token = None

    failures = {(row.id, 500, "MOCK_INTERNAL_ERROR") for row in ROUTES}
    own = {(row.id, STATUSES[code], code) for row in ROUTES for code in row.refusals}
    assert described_refusals() == controls.refused | failures | own


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
