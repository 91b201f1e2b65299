"""Requests of pages that this machine serves at other origins, on a server that allows them and on one that does not."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from mockserver import MockServer
from mockserver.server import app, front_controller
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse

PAGE = "http://localhost:5173"
REFUSED = (
    "null", "http://example.com", "http://localhost.example.com", "http://localhost@example.com", "http://a@localhost",
    "file://localhost", "http://localhost:x", "http://localhost/page", "", "http://[::1", "*",
)  # fmt: skip


def host(**settings: Any) -> SandboxHost:
    host = SandboxHost()
    host.create(SandboxConfig(), id=DEFAULT_ID)
    host.is_shared = settings.get("is_shared", True)
    return host


def send(host: SandboxHost, method: str, path: str, **headers: str) -> HttpResponse:
    named = {"host": "127.0.0.1:5055", **{name.replace("_", "-"): value for name, value in headers.items()}}
    response, _ = front_controller.handle_request(
        host, HttpRequest.create(method, path, named, b"", "http://127.0.0.1:5055")
    )
    assert isinstance(response, HttpResponse)
    return response


def shared(response: HttpResponse) -> dict[str, str]:
    """The headers of a response that concern origins."""
    return {name: value for name, value in response.headers if name.startswith("Access-Control-") or name == "Vary"}


@pytest.mark.parametrize("origin", [PAGE, "http://127.0.0.1:3000", "http://[::1]:3000", "https://localhost"])
def test_a_page_of_this_machine_reads_the_response_and_each_of_its_headers(origin: str) -> None:
    response = send(host(), "GET", "/v1/campaigns", origin=origin)

    headers = shared(response)

    assert (origin, "Origin") == (headers["Access-Control-Allow-Origin"], headers["Vary"])
    assert {"Content-Type", "X-Mock-Reason", "Date"} <= set(headers["Access-Control-Expose-Headers"].split(", "))
    assert "Access-Control-Allow-Credentials" not in headers


def test_a_preflight_request_is_answered_and_is_no_call_of_the_api() -> None:
    shared_host = host()
    response = send(
        shared_host,
        "OPTIONS",
        "/v1/campaigns",
        origin=PAGE,
        access_control_request_method="POST",
        access_control_request_headers="content-type,x-api-key",
    )

    headers = shared(response)

    assert (204, PAGE) == (response.status, headers["Access-Control-Allow-Origin"])
    assert "POST" in headers["Access-Control-Allow-Methods"].split(", ")
    assert "content-type,x-api-key" == headers["Access-Control-Allow-Headers"]
    assert 0 == shared_host.sandboxes[DEFAULT_ID].sandbox.journal.last_exchange


def test_field_names_that_are_none_are_not_returned() -> None:
    wanted = {"access_control_request_method": "POST", "access_control_request_headers": "a b\r\nX-Evil: 1"}

    assert "Access-Control-Allow-Headers" not in shared(send(host(), "OPTIONS", "/v1/campaigns", origin=PAGE, **wanted))


@pytest.mark.parametrize("path", ["/_mock/clock", "/_mock/nothing", "/v1/nothing", "/sandboxes/none/v1/campaigns"])
def test_a_refusal_can_be_read_too(path: str) -> None:
    assert PAGE == shared(send(host(), "GET", path, origin=PAGE))["Access-Control-Allow-Origin"]


@pytest.mark.parametrize("origin", REFUSED)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_another_origin_gets_no_header(origin: str, method: str) -> None:
    response = send(host(), method, "/v1/campaigns", origin=origin, access_control_request_method="POST")

    assert {} == {name: value for name, value in shared(response).items() if name != "Vary"}
    assert 204 != response.status


def test_without_the_option_no_page_gets_a_header() -> None:
    for method in ("GET", "OPTIONS"):
        response = send(
            host(is_shared=False), method, "/v1/campaigns", origin=PAGE, access_control_request_method="GET"
        )
        assert {} == shared(response)


def test_without_an_origin_a_response_is_as_without_the_option() -> None:
    one, other = (send(host(is_shared=is_shared), "GET", "/_mock/health") for is_shared in (True, False))

    assert other.headers[:2] == one.headers[:2]
    assert {} == shared(one)


def test_the_socket_responds_to_a_page_as_the_calls_in_process_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockServer() as server:
        monkeypatch.setattr(server._host, "is_shared", True)
        sandbox = server.sandbox()
        wanted = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        preflight = requests.options(sandbox.base_url + "/v1/campaigns", headers=wanted, timeout=10)
        refused = requests.get(sandbox.base_url + "/v1/campaigns", headers={"Origin": PAGE}, timeout=10)
        sandbox.on("listCampaigns").delay("10ms")
        key = {"Origin": PAGE, "X-API-Key": sandbox.secret_key}
        waited = requests.get(sandbox.base_url + "/v1/campaigns", headers=key, timeout=10)
        control = requests.get(sandbox.base_url + "/_mock/clock", headers={"Origin": PAGE}, timeout=10)

        responses = [preflight, refused, waited, control]
        assert [204, 401, 200, 200] == [response.status_code for response in responses]
        assert {PAGE} == {response.headers["Access-Control-Allow-Origin"] for response in responses}
        assert 2 == len(sandbox.log.exchanges)


def test_the_flask_application_responds_to_a_page_as_the_calls_in_process_do() -> None:
    client = app.build(host()).test_client()
    wanted = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}

    responses = [
        client.options("/v1/campaigns", headers=wanted),
        client.options("/_mock/clock", headers=wanted),
        client.get("/v1/campaigns", headers={"Origin": PAGE}),
        client.get("/nowhere", headers={"Origin": PAGE}),
    ]

    assert [204, 204, 401, 404] == [response.status_code for response in responses]
    assert {PAGE} == {response.headers["Access-Control-Allow-Origin"] for response in responses}
