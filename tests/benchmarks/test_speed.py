"""
Figures, not tests: how long things take, measured side by side in one run.

They are left out of the test run; `python -m pytest tests/benchmarks --benchmark-only` takes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from tests.benchmarks.worlds import FILTERS, draft, given, running, world


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running_server:
        yield running_server


@pytest.fixture(scope="module")
def million(server: MockServer) -> tuple[Sandbox, str]:
    return running(server, 1_000_000)


def test_a_fresh_sandbox(benchmark: Any) -> None:
    host = SandboxHost()
    benchmark(lambda: host.create(SandboxConfig()))


def test_a_fresh_sandbox_with_the_demo(benchmark: Any) -> None:
    host = SandboxHost()
    benchmark(lambda: host.create(SandboxConfig("demo")))


@pytest.mark.benchmark(group="poll a campaign, in process")
@pytest.mark.parametrize("chats", [100, 1_000_000])
def test_polling_a_campaign(benchmark: Any, server: MockServer, million: tuple[Sandbox, str], chats: int) -> None:
    sandbox, campaign_id = million if chats == 1_000_000 else running(server, chats)
    answer = benchmark(lambda: sandbox.call("GET", f"/v1/campaigns/{campaign_id}"))
    assert answer.json()["executions"][0]["targetCount"] == chats


@pytest.mark.benchmark(group="a GET by way of")
def test_a_get_over_the_socket_by_requests(benchmark: Any, server: MockServer) -> None:
    sandbox, campaign_id = running(server, 100)
    session, url = requests.Session(), f"{sandbox.base_url}/v1/campaigns/{campaign_id}"
    session.headers["X-API-Key"] = sandbox.secret_key
    assert benchmark(lambda: session.get(url)).status_code == 200


@pytest.mark.benchmark(group="a GET by way of")
def test_a_get_in_process_by_requests(benchmark: Any, server: MockServer) -> None:
    sandbox, campaign_id = running(server, 100)
    session, url = sandbox.requests_session(), f"{sandbox.base_url}/v1/campaigns/{campaign_id}"
    session.headers["X-API-Key"] = sandbox.secret_key
    assert benchmark(lambda: session.get(url)).status_code == 200


@pytest.mark.benchmark(group="a GET by way of")
def test_a_get_in_process_by_httpx(benchmark: Any, server: MockServer) -> None:
    sandbox, campaign_id = running(server, 100)
    client, url = sandbox.httpx_client(), f"{sandbox.base_url}/v1/campaigns/{campaign_id}"
    client.headers["X-API-Key"] = sandbox.secret_key
    assert benchmark(lambda: client.get(url)).status_code == 200


@pytest.mark.benchmark(group="a GET by way of")
def test_a_canned_reply_of_responses(benchmark: Any) -> None:
    responses = pytest.importorskip("responses")
    with responses.RequestsMock() as canned:
        canned.get("http://peer.test/v1/campaigns/one", json={"id": "one", "executions": []})
        session = requests.Session()
        assert benchmark(lambda: session.get("http://peer.test/v1/campaigns/one")).status_code == 200


@pytest.mark.benchmark(group="a GET by way of")
def test_a_canned_reply_of_respx(benchmark: Any) -> None:
    respx, httpx = pytest.importorskip("respx"), pytest.importorskip("httpx")
    with respx.mock() as canned, httpx.Client() as client:
        canned.get("http://peer.test/v1/campaigns/one").respond(json={"id": "one", "executions": []})
        assert benchmark(lambda: client.get("http://peer.test/v1/campaigns/one")).status_code == 200


@pytest.mark.benchmark(group="a GET by way of")
def test_a_canned_reply_of_pytest_httpserver(benchmark: Any) -> None:
    peer = pytest.importorskip("pytest_httpserver").HTTPServer()
    peer.start()
    peer.expect_request("/v1/campaigns/one").respond_with_json({"id": "one", "executions": []})
    session, url = requests.Session(), peer.url_for("/v1/campaigns/one")
    assert benchmark(lambda: session.get(url)).status_code == 200
    peer.stop()


@pytest.mark.benchmark(group="start a campaign")
@pytest.mark.parametrize("chats", [100_000, 1_000_000])
def test_starting(benchmark: Any, server: MockServer, chats: int) -> None:
    sandbox = world(server, chats)
    numbers = iter(range(1_000))

    def fresh_draft() -> tuple[tuple[str], dict[str, str]]:
        return (draft(sandbox, f"Campanha {next(numbers)}"),), {}

    def start(campaign_id: str) -> None:
        assert sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start").status == 202

    benchmark.pedantic(start, setup=fresh_draft, rounds=5)


def preview(sandbox: Sandbox) -> int:
    count: int = sandbox.call("POST", "/v1/campaigns/audience-preview", json={"filters": FILTERS}).json()[
        "estimatedCount"
    ]
    return count


@pytest.mark.benchmark(group="preview four statements over a million chats")
def test_previewing_four_statements(benchmark: Any, million: tuple[Sandbox, str]) -> None:
    sandbox, _ = million
    assert benchmark(lambda: preview(sandbox)) == 300_000


@pytest.mark.benchmark(group="preview four statements over a million chats")
def test_a_preview_after_each_new_chat(benchmark: Any, server: MockServer) -> None:
    sandbox = world(server, 1_000_000)
    preview(sandbox)

    def add_a_chat() -> None:
        sandbox.apply({"given": {"chats": [{"platform": "botapp"}]}})

    assert benchmark.pedantic(lambda: preview(sandbox), setup=add_a_chat, rounds=7) == 300_000


@pytest.mark.benchmark(group="preview four statements over a million chats")
def test_a_preview_of_chats_that_all_differ(benchmark: Any, server: MockServer) -> None:
    chats = given(1_000_000)
    chats["chats"]["vary"]["contact"] = [
        f"+55119{number:08}" for number in range(99_991)
    ]  # with the others: a period of millions
    sandbox = server.sandbox(given=chats, now="2026-03-01T12:00:00Z")
    assert benchmark.pedantic(lambda: preview(sandbox), rounds=7) == 300_000


@pytest.mark.benchmark(group="preview four statements over a million chats")
def test_the_same_four_statements_as_closures(benchmark: Any, million: tuple[Sandbox, str]) -> None:
    sandbox, _ = million
    rows = sandbox._hosted.tenant.chats.rows
    tags = frozenset(("tag_a", "tag_b"))
    statements = (
        lambda chat: chat.attributes.platform == "chatapp",
        lambda chat: chat.attributes.monetization is not None and chat.attributes.monetization > 100,
        lambda chat: not tags.isdisjoint(chat.attributes.tag_ids),
        lambda chat: chat.attributes.contact is not None and chat.attributes.contact.startswith("+55"),
    )
    assert benchmark(lambda: sum(all(holds(chat) for holds in statements) for chat in rows)) == 300_000
