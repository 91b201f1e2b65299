"""The documents as a server serves them and as the command prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.cli import main
from mockserver.contract.choices.profiles import PROFILES
from tests.documents.control_calls import Controls
from tests.documents.reading import control, of_profile, operations
from tests.documents.test_public_document import KEY
from tests.harness.rows import each_row


def read(sandbox: Sandbox, path: str, **headers: str) -> Any:
    return sandbox.call("GET", f"/_mock/{path}", headers=headers)


def test_the_document_is_served_as_json(mockserver: Sandbox) -> None:
    as_json = read(mockserver, "openapi.json")

    assert "application/json; charset=utf-8" == as_json.headers["content-type"]
    assert f"http://mockserver.test/sandboxes/{mockserver.id}" == as_json.json()["servers"][0]["url"]


def test_the_address_in_a_text_is_that_by_which_the_client_has_addressed_the_server(
    mockserver_server: MockServer,
) -> None:
    sandbox, port = mockserver_server.sandbox(), mockserver_server.url.rpartition(":")[2]
    base_url = f"http://localhost:{port}/sandboxes/{sandbox.id}"
    sandbox.call("GET", "/v1/campaigns")

    texts = {
        name: requests.get(f"{base_url}/_mock/{name}", timeout=60).text
        for name in ("openapi.json", "openapi.json?plane=control", "report")
    }

    assert base_url == json.loads(texts["openapi.json"])["servers"][0]["url"]
    assert base_url == json.loads(texts["openapi.json?plane=control"])["servers"][0]["url"]
    assert f"curl -s {base_url}/_mock/replay" in texts["report"]
    made = operations(json.loads(texts["openapi.json?plane=control"]))["createSandbox"].raw["responses"]["201"]
    example = made["content"]["application/json"]["examples"]["demo"]["value"]
    assert f"http://localhost:{port}/sandboxes/{example['sandboxId']}" == example["baseUrl"]


def test_the_document_follows_the_choices_of_the_sandbox(mockserver: Sandbox) -> None:
    mockserver.choose({"success-status": "all-200"})

    own = operations(read(mockserver, "openapi.json").json())["createCampaign"].raw["responses"]
    of_guide = operations(read(mockserver, "openapi.json?profile=guide").json())["createCampaign"].raw["responses"]

    assert "200" in own
    assert "201" in of_guide
    assert "CAMPAIGN_NAME_ALREADY_EXISTS" in of_guide["422"]["description"]


def test_reading_a_document_changes_nothing_and_uses_no_choice(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/_mock/choices/watch")
    before = mockserver.state()
    read(mockserver, "openapi.json")

    assert before == mockserver.state()
    assert [] == mockserver.call("GET", "/_mock/choices/watch").json()["read"]


@pytest.mark.mockserver(scenario="demo")
@each_row("profile", PROFILES)
@each_row("plane", ["public", "control"])
def test_no_document_holds_a_key(mockserver: Sandbox, plane: str, profile: str) -> None:
    mockserver.receive_webhooks(lambda request: 204)
    text = read(mockserver, f"openapi.json?plane={plane}&profile={profile}").body.decode()

    secrets = {*mockserver._hosted.sandbox.secrets(), mockserver.public_key}
    assert mockserver.secret_key in secrets
    assert [] == [secret for secret in secrets if secret in text]
    assert [] == KEY.findall(text)


PLANES, PROFILE_NAMES = "expected public, control", "expected literal, guide, hostile"
QUERY = "expected some of plane, profile, openapi"
WRONG = {
    "?plane=contrl": f"MOCK_BAD_PLANE plane: got 'contrl'; {PLANES}; did you mean 'control'?",
    "?plane=CONTROL": f"MOCK_BAD_PLANE plane: got 'CONTROL'; {PLANES}; did you mean 'control'?",
    "?plane=": f"MOCK_BAD_PLANE plane: got ''; {PLANES}",
    "?profile=gide": f"MOCK_BAD_PROFILE profile: got 'gide'; {PROFILE_NAMES}; did you mean 'guide'?",
    "?profile=a.yaml": f"MOCK_BAD_PROFILE profile: got 'a.yaml'; {PROFILE_NAMES}",
    "?profile": f"MOCK_BAD_PROFILE profile: got ''; {PROFILE_NAMES}",
    "?openapi=30": "MOCK_BAD_OPENAPI openapi: got '30'; expected 3.1, 3.0; did you mean '3.0'?",
    "?openapi=2": "MOCK_BAD_OPENAPI openapi: got '2'; expected 3.1, 3.0",
    "?plan=control": f"MOCK_BAD_QUERY query: got 'plan'; {QUERY}; did you mean 'plane'?",
    "?Profile=guide": f"MOCK_BAD_QUERY query: got 'Profile'; {QUERY}; did you mean 'profile'?",
    "?plane=public&plane=control": "MOCK_BAD_QUERY query: got 'plane' twice; expected it once",
}


def test_a_wrong_plane_or_profile_is_refused_with_the_nearest_name() -> None:
    controls = Controls()
    answers = {query: controls.call("readOpenapi", query=query)[1] for query in WRONG}

    assert WRONG == {query: f"{answer['code']} {answer['message']}" for query, answer in answers.items()}


def test_the_command_prints_either_document(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for plane in ([], ["--control"]):
        assert 0 == main(["openapi", *plane])
        printed.append(json.loads(capsys.readouterr().out))

    assert [of_profile("literal"), control()] == printed
