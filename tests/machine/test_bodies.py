"""Bodies: a sandbox with their seed data accepts every valid one."""

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
from tests.machine.steady import STEADY, find

WITH_JSON = [row.id for row in ENDPOINTS.values() if row.body == "json"]


@pytest.fixture(scope="module")
def world(mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox with the records to which bodies refer."""
    with mockserver_server.sandbox(given=dict(GIVEN), now="2026-03-01T12:00:00Z") as sandbox:
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


@STEADY
@given(files=bodies("uploadMedia"))
def test_files_are_taken(world: Sandbox, files: list[tuple[str, tuple[str, bytes, str]]]) -> None:
    with world.checkpoint():
        uploaded = world.requests_session().post(
            f"{world.base_url}/v1/messaging/media", files=files, headers={"X-API-Key": world.secret_key}
        )

    assert [True] * len(files) == [each["success"] for each in uploaded.json()]


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
    ],
)
def test_a_wrong_question_is_refused(ask: Callable[..., Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ask()
