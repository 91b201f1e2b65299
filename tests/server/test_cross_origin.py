"""Requests of pages that this machine serves at other origins, on a server that allows them and on one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.server import front_controller
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.harness.rows import each_row

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


@pytest.mark.parametrize("path", ["/_mock/clock", "/_mock/nothing", "/v1/nothing", "/sandboxes/none/v1/campaigns"])
def test_a_refusal_can_be_read_too(path: str) -> None:
    assert PAGE == shared(send(host(), "GET", path, origin=PAGE))["Access-Control-Allow-Origin"]


@each_row("origin", REFUSED)
@each_row("method", ["GET", "OPTIONS"])
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
