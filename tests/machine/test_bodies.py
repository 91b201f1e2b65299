"""Bodies: a sandbox with their seed data accepts every valid one and refuses every invalid one with its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver.contract.endpoints import ENDPOINTS, Operation
from mockserver.testing.strategies import GIVEN, bodies
from mockserver.testing.transports.in_process import Response
from tests.machine.invalid import invalid_bodies
from tests.machine.steady import STEADY, find, generate_one

TAKEN = "Já existe"
WITH_JSON = [row.id for row in ENDPOINTS.values() if row.body == "json"]


@pytest.fixture(scope="module")
def world(mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox with the records to which bodies refer, and a draft with the name that is taken."""
    with mockserver_server.sandbox(given=dict(GIVEN), now="2026-03-01T12:00:00Z") as sandbox:
        draft(sandbox, TAKEN)
        yield sandbox


def draft(sandbox: Sandbox, name: str) -> str:
    body = {"name": name, "platform": "chatapp", "templateId": "template_asking", "cadence": 60}
    return str(sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"])


def send(sandbox: Sandbox, operation: Operation, body: object) -> Response:
    """The answer to the operation with this body, on a draft of its own where it starts one."""
    path = ENDPOINTS[operation].path
    if operation == "startCampaign":
        path = path.replace("{id}", draft(sandbox, "Outra"))
    return sandbox.call("POST", path, json=body)


@pytest.mark.parametrize("operation", WITH_JSON)
@STEADY
@given(data=st.data())
def test_a_valid_body_is_taken(world: Sandbox, operation: Operation, data: st.DataObject) -> None:
    body = data.draw(bodies(operation))

    with world.checkpoint():
        reply = send(world, operation, body)

    assert (reply.status < 300, reply.headers.get("x-mock-reason")) == (True, None)


@pytest.mark.parametrize("operation", WITH_JSON)
@STEADY
@given(data=st.data())
def test_an_invalid_body_gets_its_code(world: Sandbox, operation: Operation, data: st.DataObject) -> None:
    wrong = data.draw(invalid_bodies(operation, taken=(TAKEN,) if operation == "createCampaign" else ()))

    with world.checkpoint():
        reply = send(world, operation, wrong.body)

    assert (wrong.code, wrong.why) == (reply.json().get("code"), wrong.why)


@STEADY
@given(files=bodies("uploadMedia"))
def test_files_are_taken(world: Sandbox, files: list[tuple[str, tuple[str, bytes, str]]]) -> None:
    with world.checkpoint():
        uploaded = world.requests_session().post(
            f"{world.base_url}/v1/messaging/media", files=files, headers={"X-API-Key": world.secret_key}
        )

    assert [True] * len(files) == [each["success"] for each in uploaded.json()]


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        pytest.param("createCampaign", "VALIDATION_ERROR", marks=pytest.mark.deep),
        ("createCampaign", "MESSAGE_TEMPLATE_NOT_FOUND"),
        ("createCampaign", "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH"),
        ("createCampaign", "CAMPAIGN_INVALID_FILTERS"),
        ("createCampaign", "CAMPAIGN_NAME_ALREADY_EXISTS"),
        ("previewAudience", "CAMPAIGN_INVALID_FILTERS"),
        ("startCampaign", "CAMPAIGN_MISSING_COMMON_VARIABLES"),
        ("createConnectionSession", "VALIDATION_ERROR"),
    ],
)
def test_every_refusal_of_a_body_can_be_generated(operation: Operation, code: str) -> None:
    assert code == generate_one(invalid_bodies(operation, taken=(TAKEN,)), lambda wrong: wrong.code == code).code


@pytest.mark.deep
def test_bodies_refer_to_the_named_records() -> None:
    given = {"templates": [{"id": "template_mine"}]}

    assert "template_mine" == find(bodies("createCampaign", given=given), lambda _: True)["templateId"]
    assert "funnelId" not in find(bodies("createConnectionSession", given=given), lambda _: True)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (
            lambda: bodies("startCampain"),  # type: ignore[arg-type]
            "got operation 'startCampain'; expected an operation id; did you mean 'startCampaign'?",
        ),
        (lambda: bodies("createCampaign", given={}), "got seed data without a template"),
        (
            lambda: bodies("startCampaign", template_id="t"),
            "got template 't'; expected one of given\\['templates'\\]: template_internal",
        ),
    ],
)
def test_a_wrong_question_is_refused(ask: Callable[..., Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ask()
