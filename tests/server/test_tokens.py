"""With a token, a sandbox's control plane opens to the server's token and to its own, and to that of no other sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.server.control.routes import ROUTES
from tests.documents.control_calls import Controls
from tests.harness.rows import each_row
from tests.server.hosts import send

SERVER = "let-me-ín"
OF_THE_SERVER = {"createSandbox", "listSandboxes", "deleteSandboxes", "readMetrics"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def controls() -> Controls:
    controls = Controls()
    controls.host.token = SERVER
    return controls


def create(controls: Controls, **body: Any) -> dict[str, Any]:
    created: dict[str, Any] = controls.run("createSandbox", body, headers=bearer(SERVER))
    return created


def test_a_creation_returns_a_token_only_if_the_server_has_one(controls: Controls) -> None:
    assert create(controls)["token"]
    controls.host.token = None

    assert "token" not in controls.run("createSandbox")


@each_row("row", ROUTES)
def test_the_token_of_another_sandbox_opens_nothing(controls: Controls, row: Any) -> None:
    own, other = create(controls), create(controls)
    params = {"id": other["sandboxId"], "sessionId": "x"}

    for prefix in (f"/sandboxes/{other['sandboxId']}", ""):
        message = controls.refuse(row.id, "MOCK_TOKEN_WANTED", prefix=prefix, headers=bearer(own["token"]), **params)
        assert other["sandboxId"] not in message
    assert other["sandboxId"] in controls.host.sandboxes


@each_row("row", ROUTES)
def test_its_own_token_opens_every_command_of_a_sandbox_and_none_of_the_server(controls: Controls, row: Any) -> None:
    own = create(controls)
    params = {"id": own["sandboxId"], "sessionId": "x"}

    status, _ = controls.call(
        row.id, {}, prefix=f"/sandboxes/{own['sandboxId']}", headers=bearer(own["token"]), **params
    )

    assert (401 == status) == (row.id in OF_THE_SERVER)


@each_row("path", ["/_mock/health", "/_mock/clock", "/_mock/none", "/_mock/", "/_mock/page/style.css"])
@each_row("accept", ["application/json", "text/html"])
@each_row("method", ["GET", "POST"])
def test_a_refusal_does_not_show_whether_a_sandbox_is_open_has_ended_or_never_was(
    controls: Controls, path: str, accept: str, method: str
) -> None:
    own, other, ended = (create(controls, clock={"freeze": "2020-01-01T00:00:00Z"}) for _ in range(3))
    controls.run("deleteSandbox", id=ended["sandboxId"], headers=bearer(SERVER))
    headers = {"accept": accept, **bearer(own["token"])}
    seen = []

    for sandbox_id in (other["sandboxId"], ended["sandboxId"], "sandbox_99"):
        response = send(controls.host, method, f"/sandboxes/{sandbox_id}{path}", **headers)
        seen.append(str((response.status, response.headers, response.body)).replace(sandbox_id, "ID"))

    assert [seen[0]] * 3 == seen


@pytest.mark.parametrize("token", ["own", "server"])
def test_those_with_its_token_read_that_a_sandbox_has_ended(controls: Controls, token: str) -> None:
    own = create(controls)
    prefix = f"/sandboxes/{own['sandboxId']}"
    controls.run("deleteSandbox", id=own["sandboxId"], headers=bearer(SERVER))

    headers = bearer(SERVER if token == "server" else own["token"])

    controls.refuse("readState", "MOCK_SANDBOX_CLOSED", prefix=prefix, headers=headers)


def test_no_token_opens_anything_to_a_page_of_another_site(controls: Controls) -> None:
    headers = {"origin": "https://evil.example", **bearer(SERVER)}

    controls.refuse("readState", "MOCK_FOREIGN_ORIGIN", headers=headers)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic x", "Bearer é", SERVER, f"Basic {SERVER}", f"Bearer{SERVER}"]
)
def test_no_other_header_opens_anything(controls: Controls, header: str) -> None:
    own = create(controls)

    controls.refuse(
        "readState", "MOCK_TOKEN_WANTED", prefix=f"/sandboxes/{own['sandboxId']}", headers={"authorization": header}
    )
