"""Every access into a sandbox gives the same answers, and a client made for it reaches nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
import requests

from mockserver import MockServer, Sandbox, create_app
from mockserver.contract.limits import JSON_BODY_MAX_BYTES
from tests.harness.access import ALL, MOUNT, Access, Answer, by_socket, mounted
from tests.harness.rows import each_row

NOW = "2026-03-01T12:00:00Z"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": "template_atualizacao_cadastro", "cadence": 60}
UPLOAD = (
    b'--frontier\r\nContent-Disposition: form-data; name="files"; filename="or\xc3\xa7amento.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nOr\xc3\xa7amento\r\n--frontier--\r\n"
)
# Headers that a connection adds; a Content-Length is compared with its body instead.
OF_THE_CONNECTION = {"connection", "content-length", "keep-alive", "server"}


class Step(NamedTuple):
    """A call; `{campaignId}` and its like in the path are replaced by values of an earlier response."""

    method: str
    path: str
    body: Any = None
    key: str = "secret"
    content_type: str = "application/json"


STEPS = (
    Step("GET", "/v1/message-templates"),
    Step("GET", "/v1/message-templates/template_revisao_semestral"),
    Step("GET", "/v1/message-templates/a%2Fb"),
    Step("GET", "/v1/message-templates/%C3%A7%20%3F%23"),
    Step("GET", "/v1/messaging/chats/chat_helena?limit=2"),
    Step("GET", "/v1/messaging/chats/chat_helena?limit=2&cursor={nextCursor}"),
    Step("GET", "/v1/messaging/chats/chat_helena?limit=%20&limit=2"),
    Step("GET", "/v1/campaigns", key="none"),
    Step("GET", "/v1/campaigns", key="public"),
    Step("GET", "/v1/campaigns", key="wrong"),
    Step("GET", "/v1/campaigns/"),
    Step("GET", "/v1/nowhere?x=1"),
    Step("HEAD", "/v1/campaigns"),
    Step("DELETE", "/v1/campaigns"),
    Step("OPTIONS", "/v1/campaigns"),
    Step("POST", "/v1/campaigns", CAMPAIGN),
    Step("POST", "/v1/campaigns", CAMPAIGN),
    Step("POST", "/v1/campaigns", b'{"name": '),
    Step("POST", "/v1/campaigns", b"\xff\xfe"),
    Step("POST", "/v1/campaigns", CAMPAIGN, content_type="text/plain"),
    Step("POST", "/v1/campaigns", json.dumps({**CAMPAIGN, "name": "Grande"}).encode() + b" " * JSON_BODY_MAX_BYTES),
    Step("POST", "/v1/campaigns/{campaignId}/start"),
    Step("GET", "/v1/campaigns/{campaignId}/executions/{executionId}"),
    Step("POST", "/v1/campaigns/{campaignId}/cancel"),
    Step("POST", "/v1/entrypoints/chatapp/connection-sessions", {"returnUrl": "https://clinic.example/back"}),
    Step("GET", "/v1/entrypoints/chatapp/connection-sessions/{sessionId}"),
    Step("POST", "/v1/messaging/media", UPLOAD, content_type="multipart/form-data; boundary=frontier"),
    Step("GET", "/media/{id}", key="none"),
    Step("GET", "/_mock/clock", key="none"),
    Step("GET", "/v1/forms/form_primeira_consulta/embed-frame-policy", key="public"),
)


def played(sandbox: Sandbox, access: Access) -> list[Answer]:
    """The answers to all steps, without what is the access's own."""
    keys = {"secret": sandbox.secret_key, "public": sandbox.public_key, "wrong": "sk_of_nobody"}
    given: dict[str, str] = {}
    answers = []
    for step in STEPS:
        body = (
            step.body if isinstance(step.body, bytes) else b"" if step.body is None else json.dumps(step.body).encode()
        )
        headers = ({"X-API-Key": keys[step.key]} if step.key in keys else {}) | (
            {"Content-Type": step.content_type} if body else {}
        )
        answer = access.ask(step.method, step.path.format_map(given), headers, body)
        given |= names_in(answer)
        answers.append(stripped(answer, access, step))
    return answers


def names_in(answer: Answer) -> dict[str, str]:
    """The ids and cursors that an answer gave, by their names."""
    if answer.status >= 400 or "json" not in answer.headers.get("content-type", "") or not answer.body:
        return {}
    found = json.loads(answer.body)
    found = found[0] if isinstance(found, list) else found
    return {name: value for name, value in found.items() if isinstance(value, str)}


def stripped(answer: Answer, access: Access, step: Step) -> Answer:
    """The answer without what a connection adds; the sandbox's own Date is the API's alone."""
    length = answer.headers.get("content-length")
    if length is not None and step.method != "HEAD":
        assert int(length) == len(answer.body)
    added = OF_THE_CONNECTION if step.path.startswith("/v1/") else OF_THE_CONNECTION | {"date"}
    headers = {name: value for name, value in answer.headers.items() if name not in added}
    return answer._replace(headers=headers, body=answer.body.replace(access.base_url.encode(), b"{base}"))


@pytest.fixture
def demo(mockserver_server: MockServer) -> Iterator[Sandbox]:
    with mockserver_server.sandbox("demo", now=NOW) as sandbox:
        yield sandbox


@pytest.mark.parametrize("name", [name for name in ALL if name != "socket"])
@pytest.mark.clause("base.prefix", "base.unknown-path")
def test_every_transport_returns_the_responses_of_the_socket(
    mockserver_server: MockServer, demo: Sandbox, name: str
) -> None:
    with mockserver_server.sandbox("demo", now=NOW) as other:
        expected = played(other, by_socket(other))
    found = played(demo, ALL[name](demo))

    for step, wanted, answer in zip(STEPS, expected, found, strict=True):
        assert wanted == answer, step
    assert {200, 201, 202, 204, 400, 401, 404} == {answer.status for answer in found}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.clause("media.upload")
def test_a_returned_url_starts_with_the_base_url_of_its_request(demo: Sandbox, name: str) -> None:
    access = ALL[name](demo)
    base_url = access.base_url
    headers = {"X-API-Key": demo.secret_key, "Content-Type": "multipart/form-data; boundary=frontier"}
    uploaded = json.loads(access.ask("POST", "/v1/messaging/media", headers, UPLOAD).body)[0]["url"]
    session = json.loads(
        access.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", {"X-API-Key": demo.secret_key}, b"").body
    )["url"]

    assert uploaded.startswith(base_url + "/media/")
    assert session.startswith(base_url + "/")
    assert "Orçamento".encode() == access.ask("GET", uploaded.removeprefix(base_url), {}, b"").body


def test_create_app_serves_a_default_sandbox_under_any_mount() -> None:
    app = create_app("demo", seed=3)
    with MockServer() as server, server.sandbox("demo", seed=3) as twin:
        headers = {"X-API-Key": twin.secret_key}
    access = mounted(app)

    templates = access.ask("GET", "/v1/message-templates", headers, b"")
    session = access.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", headers, b"")

    assert 200 == templates.status
    assert json.loads(templates.body)["templates"]
    assert json.loads(session.body)["url"].startswith(f"http://localhost{MOUNT}/")


ELSEWHERE = {
    "http://api.clinic.example/v1/campaigns": "reaches no other host",
    "https://{host}/v1/campaigns": "the sandbox has no TLS",
    "http://localhost:9/v1/campaigns": "reaches no other host",
}


async def get_async(demo: Sandbox, url: str) -> None:
    async with demo.aio.httpx_client() as client:
        await client.get(url)


@each_row("url", ELSEWHERE)
def test_a_client_of_a_sandbox_reaches_no_other_host(demo: Sandbox, url: str) -> None:
    address = url.format(host=demo.base_url.split("/")[2])

    with pytest.raises(requests.exceptions.ConnectionError, match=ELSEWHERE[url]):
        demo.requests_session().get(address)
    with pytest.raises(httpx.ConnectError, match=ELSEWHERE[url]):
        demo.httpx_client().get(address)
    with pytest.raises(httpx.ConnectError, match=ELSEWHERE[url]):
        asyncio.run(get_async(demo, address))
    assert [] == demo.log.journal["exchanges"]


def test_responses_equal_those_of_the_library(demo: Sandbox) -> None:
    headers = {"X-API-Key": demo.secret_key}
    by_requests = demo.requests_session().get(demo.base_url + "/v1/nowhere", headers=headers)
    streamed = demo.requests_session().get(demo.base_url + "/v1/campaigns", headers=headers, stream=True)
    by_httpx = demo.httpx_client().get("/v1/nowhere", headers=headers)

    with pytest.raises(requests.exceptions.HTTPError):
        by_requests.raise_for_status()
    with pytest.raises(httpx.HTTPStatusError):
        by_httpx.raise_for_status()
    assert "application/json; charset=utf-8" == by_requests.headers["content-type"] == by_httpx.headers["content-type"]
    assert demo.base_url + "/v1/nowhere" == by_requests.url == str(by_httpx.url)
    assert b'{"campaigns":[]}' == b"".join(streamed.iter_content(4))
    assert "Not Found" == by_requests.reason == by_httpx.reason_phrase
