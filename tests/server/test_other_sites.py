"""Pages of other sites and origins, and names that were rebound to this machine: what a browser sends for them, and what it may read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests

from mockserver import MockServer
from mockserver.server.control import page_paths as paths
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.response import HttpResponse
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row
from tests.server.control_calls import make
from tests.server.hosts import header, host_of, send

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"
PAGES = [paths.ROOT, *(f"/_mock/{view}" for view in paths.VIEWS), "/_mock/sandboxes"]
READS = sorted({route.path for route in ROUTES if route.method == "GET"})
FOREIGN_PAGES = ("cross-site", "same-site", "any other value")
FOREIGN_NAMES = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "192.0.2.7")
OWN_NAMES = (
    "localhost",
    "LOCALHOST",
    "127.0.0.1",
    "127.1.2.3",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "localhost.",
    "crm.localhost",
    "mockserver.test",
)


@pytest.fixture
def host() -> SandboxHost:
    return host_of()


class TestPages:
    """What a browser sends for a page of another site, such as `<img src="http://127.0.0.1:5055/_mock/replay">`."""

    @pytest.mark.parametrize("site", FOREIGN_PAGES)
    @pytest.mark.parametrize("path", READS)
    def test_an_image_or_a_script_reads_no_command(self, host: SandboxHost, path: str, site: str) -> None:
        refused = send(host, "GET", path, accept="*/*", sec_fetch_site=site, sec_fetch_mode="no-cors")

        assert (403, "MOCK_FOREIGN_ORIGIN") == (refused.status, refused.json()["code"])

    @pytest.mark.parametrize("path", PAGES)
    def test_a_link_of_another_site_leads_to_a_page(self, host: SandboxHost, path: str) -> None:
        visit = {"accept": BROWSER, "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}

        assert 200 == send(host, "GET", path, **visit).status

    def test_a_page_of_this_machine_reads_where_the_server_allows_it(self, host: SandboxHost) -> None:
        page = {"origin": "http://localhost:5173", "sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}

        assert 403 == send(host, "GET", "/_mock/clock", **page).status
        host.is_shared = True
        assert 200 == send(host, "GET", "/_mock/clock", **page).status
        assert 403 == send(host, "GET", "/_mock/clock", **{**page, "origin": "https://evil.example"}).status

    @pytest.mark.parametrize(
        "target", [*READS, "/_mock/clock?x=1", "/_mock/none", "/_mock/openapi.json?plane=control", "/_mock/calls"]
    )
    def test_every_answer_has_its_type_alone_and_belongs_to_its_origin(self, host: SandboxHost, target: str) -> None:
        answer = send(host, "GET", target)

        assert "nosniff" == header(answer, "x-content-type-options")
        assert "same-origin" == header(answer, "cross-origin-resource-policy")
        assert len(answer.headers) == len({name.lower() for name, _ in answer.headers})


def upload(base: str, key: str) -> Any:
    files = {"files": ("a.txt", b"hello", "text/plain")}
    return requests.post(f"{base}/v1/messaging/media", headers={"X-API-Key": key}, files=files, timeout=10).json()


@pytest.fixture(scope="module")
def places(mockserver_server: MockServer) -> dict[str, str]:
    """The targets of each part of the server, by what they are."""
    made = make(mockserver_server.url)
    (media,) = upload(made.base, made.secret_key)
    session = made.api("POST", SESSIONS, {}).json()
    prefix = made.base.removeprefix(made.server)
    return {
        "api": f"{prefix}/v1/campaigns",
        "api at the root": "/v1/campaigns",
        "unknown path": "/none",
        "unknown sandbox": "/sandboxes/sandbox_999999/v1/campaigns",
        "hosted page": session["url"].removeprefix(made.server),
        "asset of the hosted page": "/connect/style.css",
        "media": f"{prefix}/media/{media['id']}",
        "control plane": f"{prefix}/_mock/clock",
        "dashboard": "/_mock/",
    }


class TestNames:
    """A name of the attacker's that leads to this machine: a page of it is of one origin with the server."""

    @pytest.mark.parametrize("name", FOREIGN_NAMES)
    def test_a_foreign_name_is_refused_wherever_it_leads(
        self, mockserver_server: MockServer, places: dict[str, str], name: str
    ) -> None:
        for target in places.values():
            for method in ("GET",) if "_mock" in target else ("GET", "POST"):
                refused = requests.request(
                    method, mockserver_server.url + target, headers={"Host": name}, timeout=10, allow_redirects=False
                )
                assert (method, target, 403) == (method, target, refused.status_code)
                assert "MOCK_FOREIGN_HOST" in refused.text
                assert "another name is allowed by --allow-host" in refused.text

    @pytest.mark.parametrize("name", OWN_NAMES)
    def test_a_name_of_this_machine_is_answered(self, mockserver_server: MockServer, name: str) -> None:
        made = make(mockserver_server.url)
        port = mockserver_server.url.rpartition(":")[2]
        headers = {"Host": f"{name}:{port}", "X-API-Key": made.secret_key}

        assert 200 == requests.get(f"{made.base}/v1/campaigns", headers=headers, timeout=10).status_code

    @pytest.fixture
    def own_server(self) -> Iterator[MockServer]:
        with ExitStack() as stack:
            yield stack.enter_context(MockServer())

    def test_an_allowed_and_a_public_name_are_answered(self, own_server: MockServer) -> None:
        own_server._host.allowed_hosts |= {"mock"}
        own_server._host.publish("https://mock.example/crm")
        made = make(own_server.url)

        for name in ("mock", "mock:80", "mock.example", "mock.example.", "MOCK.EXAMPLE"):
            headers = {"Host": name, "X-API-Key": made.secret_key}
            assert 200 == requests.get(f"{made.base}/v1/campaigns", headers=headers, timeout=10).status_code

    def test_a_server_that_other_machines_reach_is_answered_under_any_name(self, own_server: MockServer) -> None:
        own_server._host.is_exposed = True
        made = make(own_server.url)
        headers = {"Host": "mock.example", "X-API-Key": made.secret_key}

        assert 200 == requests.get(f"{made.base}/v1/campaigns", headers=headers, timeout=10).status_code

    def test_a_token_on_loopback_excepts_the_control_plane_alone(self, own_server: MockServer) -> None:
        made = make(own_server.url)
        own_server._host.token = "let-me-in"
        headers = {"Host": "evil.example", "X-API-Key": made.secret_key, "Authorization": "Bearer let-me-in"}

        paths = ("/_mock/clock", "/v1/campaigns")
        assert [200, 403] == [requests.get(made.base + path, headers=headers, timeout=10).status_code for path in paths]


@pytest.fixture
def shared_host(host: SandboxHost) -> SandboxHost:
    """A host that pages of this machine may read."""
    host.is_shared = True
    return host


PAGE = "http://localhost:5173"
FOREIGN = (
    "null", "http://example.com", "http://localhost.example.com", "http://localhost@example.com", "http://a@localhost",
    "file://", "", "http://[::1", "*",
)  # fmt: skip
REFUSED = (*FOREIGN, "file://localhost", "http://localhost:x", "http://localhost/page")


def shared(response: HttpResponse) -> dict[str, str]:
    """The headers of a response that concern origins."""
    return {name: value for name, value in response.headers if name.startswith("Access-Control-") or name == "Vary"}


@pytest.mark.parametrize("origin", [PAGE, "http://127.0.0.1:3000", "http://[::1]:3000", "https://localhost"])
def test_a_page_of_this_machine_reads_the_response_and_each_of_its_headers(
    shared_host: SandboxHost, origin: str
) -> None:
    response = send(shared_host, "GET", "/v1/campaigns", origin=origin)

    headers = shared(response)

    assert (origin, "Origin") == (headers["Access-Control-Allow-Origin"], headers["Vary"])
    assert {"Content-Type", "X-Mock-Reason", "Date"} <= set(headers["Access-Control-Expose-Headers"].split(", "))
    assert "Access-Control-Allow-Credentials" not in headers


def test_a_preflight_request_is_answered_and_is_no_call_of_the_api(shared_host: SandboxHost) -> None:
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
def test_a_refusal_can_be_read_too(shared_host: SandboxHost, path: str) -> None:
    assert PAGE == shared(send(shared_host, "GET", path, origin=PAGE))["Access-Control-Allow-Origin"]


@each_row("origin", FOREIGN)
def test_a_page_of_another_site_reads_and_runs_no_command(host: SandboxHost, origin: str) -> None:
    for method, path in (("GET", "/_mock/state"), ("GET", "/_mock/"), ("POST", "/_mock/reset")):
        refused = send(host, method, path, origin=origin)
        assert (403, True) == (refused.status, b"MOCK_FOREIGN_ORIGIN" in refused.body)


@each_row("origin", REFUSED)
@each_row("method", ["GET", "OPTIONS"])
def test_another_origin_gets_no_header(shared_host: SandboxHost, origin: str, method: str) -> None:
    response = send(shared_host, method, "/v1/campaigns", origin=origin, access_control_request_method="POST")

    assert {} == {name: value for name, value in shared(response).items() if name != "Vary"}
    assert 204 != response.status


def test_without_the_option_no_page_gets_a_header(host: SandboxHost) -> None:
    for method in ("GET", "OPTIONS"):
        response = send(host, method, "/v1/campaigns", origin=PAGE, access_control_request_method="GET")
        assert {} == shared(response)


def test_a_page_of_another_site_that_sends_no_origin_is_refused_by_a_shared_server_too(
    shared_host: SandboxHost,
) -> None:
    response = send(shared_host, "GET", "/_mock/state", sec_fetch_site="cross-site")

    assert (403, "MOCK_FOREIGN_ORIGIN") == (response.status, response.json()["code"])
