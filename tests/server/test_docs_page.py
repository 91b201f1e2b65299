"""The page of the OpenAPI documents: what is on it, what it may load, and that text of the document stays text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urljoin

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.server.control.openapi import documents
from mockserver.server.control.page_paths import VIEWS
from mockserver.server.control.routes import ROUTES
from mockserver.server.docs_page.page import render
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.request import HttpRequest
from tests.documents.reading import JSON

ADDRESSES = ("href", "src", "action", "formaction", "srcset", "poster", "data", "content")
VOID = ("input", "link", "meta", "br", "hr", "img")
XSS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "</textarea></pre></code><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "`<b>code</b>`",
)
PAGES = pytest.mark.parametrize("plane", ["public", "control"], scope="module")


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str | None]


class Page(HTMLParser):
    """The elements of a page, and whether each one is closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert [] == self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), (tag, attrs)
        self.elements.append(Element(tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._open.pop(), self.getpos()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(attribute)) is not None]


def get(sandbox: Sandbox, path: str, **headers: str) -> Any:
    return sandbox.call("GET", f"/_mock/{path}", headers=headers)


def page(sandbox: Sandbox, plane: str = "public") -> Page:
    return Page(get(sandbox, f"docs?plane={plane}").body.decode())


@pytest.fixture(scope="module")
def fresh(mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox that the tests of this module only read, so that each of its documents is made once."""
    with mockserver_server.sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def shown(fresh: Sandbox, plane: str) -> Page:
    """The page of a plane as a fresh sandbox has it."""
    return page(fresh, plane)


@pytest.mark.parametrize(
    ("plane", "operations"),
    [("public", set(ENDPOINTS)), ("control", {route.id for route in ROUTES})],
    scope="module",
)
def test_the_page_has_every_operation_and_a_form_to_send_it(shown: Page, plane: str, operations: set[str]) -> None:
    articles = {
        element.attributes["id"] for element in shown.all("article") if element.attributes.get("class") == "card entry"
    }
    events = {"EventConnected", "EventConnectionFailed"} if plane == "public" else set()

    assert operations | events == articles
    assert operations == {
        (element.attributes["aria-labelledby"] or "").removeprefix("send-") for element in shown.all("form")
    }


@PAGES
def test_the_page_has_every_schema_status_and_code_of_the_document(fresh: Sandbox, shown: Page, plane: str) -> None:
    document = get(fresh, f"openapi.json?plane={plane}").json()
    answers = [answer for operation in operations_of(document) for answer in operation["responses"].items()]

    assert {f"schema-{name}" for name in document["components"]["schemas"]} <= set(shown.values("id"))
    assert len(answers) == sum(element.attributes.get("class") == "answer" for element in shown.all("details"))
    text = "".join(shown.texts)
    assert [] == [answer["description"] for _, answer in answers if answer["description"] not in text]


@PAGES
def test_every_address_on_the_page_is_of_this_sandbox(fresh: Sandbox, shown: Page, monkeypatch: Any) -> None:
    monkeypatch.setattr(documents, "_yaml", json.dumps)  # which is YAML too, and takes no half a second
    prefix = "/sandboxes/sandbox_7"
    linked = {name: shown.values(name) for name in ADDRESSES}
    resolved = {urljoin(f"{prefix}/_mock/docs", value).partition("#")[0] for value in linked["href"] + linked["src"]}

    assert [] == linked["action"] + linked["formaction"] + linked["srcset"] + linked["poster"] + linked["data"]
    assert {path.removeprefix(prefix).partition("?")[0] for path in resolved} == {
        "/_mock/",
        "/_mock/sandboxes",
        *(f"/_mock/{view}" for view in VIEWS),
        "/_mock/page/icon.svg",
        "/_mock/page/style.css",
        "/_mock/docs",
        "/_mock/docs/script.js",
        "/_mock/openapi.json",
        "/_mock/openapi.yaml",
    }
    assert all(path.startswith(f"{prefix}/") for path in resolved)
    answers = [get(fresh, path.removeprefix(f"{prefix}/_mock/"), Accept="text/html,*/*") for path in sorted(resolved)]
    assert [200] * len(resolved) == [answer.status for answer in answers]


@PAGES
def test_every_link_within_the_page_has_its_target_and_no_id_is_there_twice(shown: Page) -> None:
    ids = Counter(shown.values("id"))
    named = [id for name in ("for", "aria-labelledby", "aria-describedby") for id in shown.values(name)]
    linked = [value[1:] for value in shown.values("href") if value.startswith("#")]

    assert [] == [id for id, count in ids.items() if count > 1]
    assert set() == {*linked, *named} - ids.keys()


def test_the_page_has_its_policy_and_headers(fresh: Sandbox) -> None:
    headers = get(fresh, "docs").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))

    assert {
        "default-src": "'none'",
        "style-src": "'self'",
        "script-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    } == policy
    for path, kind in (("docs", "html"), ("docs/script.js", "javascript")):
        headers = get(fresh, path).headers
        assert f"text/{kind}; charset=utf-8" == headers["content-type"]
        assert ("nosniff", "no-referrer", "no-store") == tuple(
            headers[name] for name in ("x-content-type-options", "referrer-policy", "cache-control")
        )


@pytest.mark.mockserver(scenario="demo")
@PAGES
def test_no_page_holds_a_key_outside_of_its_field_or_the_sandbox_s_data(mockserver: Sandbox, plane: str) -> None:
    mockserver.receive_webhooks(lambda request: 204)
    mockserver.admin.set_tenant(name=XSS[0])
    name = {"name": XSS[1], "platform": "chatapp", "templateId": "template_atualizacao_cadastro", "cadence": 60}
    assert 201 == mockserver.call("POST", "/v1/campaigns", json=name).status
    secrets = mockserver._hosted.sandbox.secrets()
    html = get(mockserver, f"docs?plane={plane}").body.decode()
    if plane == "public":
        html = html.replace(f'class="secret" value="{mockserver.secret_key}"', 'class="secret" value=""', 1)

    assert mockserver.secret_key in secrets
    assert [] == [text for text in (*secrets, mockserver.public_key, *XSS[:2], "alert(1)") if text in html]
    assert [] == re.findall(
        r"\b(?:sk|pk|whsec)_\w{8,}(?!\w|\.\.\.)", html
    )  # `sk_tenant_default...` is what a HAR has for a key


def test_hostile_names_of_a_document_stay_text() -> None:
    document: JSON = {
        "openapi": XSS[0],
        "info": {"title": XSS[1], "version": XSS[2], "description": XSS[0]},
        "servers": [{"url": XSS[4]}],
        "tags": [{"name": XSS[3], "description": XSS[5]}],
        "paths": {
            XSS[1]: {
                XSS[0]: {
                    "operationId": XSS[1],
                    "tags": [XSS[3]],
                    "summary": XSS[0],
                    "description": XSS[6],
                    "x-clause": XSS[0],
                    "x-choices": {XSS[1]: XSS[3]},
                    "parameters": [
                        {"name": XSS[1], "in": XSS[1], "description": XSS[0], "schema": {"enum": [XSS[3], XSS[1]]}}
                    ],
                    "requestBody": {
                        "content": {XSS[1]: {"schema": {"$ref": XSS[1]}, "examples": {XSS[0]: {"value": XSS[3]}}}}
                    },
                    "responses": {XSS[0]: {"description": XSS[1], "links": {XSS[0]: {"operationId": XSS[1]}}}},
                }
            }
        },
        "components": {
            "schemas": {
                XSS[1]: {"type": XSS[0], "format": XSS[1], "properties": {XSS[0]: {"const": XSS[1], "pattern": XSS[0]}}}
            }
        },
    }
    shown = Page(render(document, "public", XSS[1], sandbox_id=XSS[0], key=XSS[1], views=()))

    assert ["svg"] == [element.tag for element in shown.all("img", "svg", "b")]  # of the head
    assert 1 == len(shown.all("script"))
    assert [] == [
        name for _, attributes in shown.elements for name in attributes if name.startswith("on") or name == "autofocus"
    ]
    assert [] == [value for value in shown.values("href") if value.startswith("javascript:")]


@pytest.mark.parametrize(
    ("path", "status", "hint"),
    [
        ("docs?plane=contrl", 400, "did you mean 'control'?"),
        ("docs?profile=gide", 400, "did you mean 'guide'?"),
        ("docs?plan=control", 400, "did you mean 'plane'?"),
        ("docz", 404, "did you mean '/_mock/docs'?"),
        ("docs/script.j", 404, "did you mean '/_mock/docs/script.js'?"),
    ],
)
def test_a_wrong_plane_profile_or_path_is_refused_with_the_nearest_name(
    fresh: Sandbox, path: str, status: int, hint: str
) -> None:
    answer = get(fresh, path)

    assert status == answer.status
    assert hint in answer.json()["message"]


@pytest.mark.parametrize("path", ["docs", "docs/script.js"])
def test_the_page_and_its_assets_have_the_guards_of_the_control_plane(path: str) -> None:
    host = SandboxHost()
    host.create(SandboxConfig("demo"), id=DEFAULT_ID)

    def status(**headers: str) -> int:
        request = HttpRequest.create("GET", f"/_mock/{path}", {"host": "127.0.0.1", **headers}, b"", "http://127.0.0.1")
        response: Any = handle_request(host, request)[0]
        assert response.status == 200 or b"<" not in response.body
        return int(response.status)

    assert 200 == status()
    assert 403 == status(host="rebound.example")
    assert 403 == status(origin="https://evil.example")
    host.token = "a-token"
    assert 401 == status()
    assert 200 == status(authorization="Bearer a-token")


@pytest.mark.parametrize("setting", ["token", "is_exposed", "is_shared"])
def test_a_page_that_others_or_other_sites_may_open_has_no_key(setting: str) -> None:
    host = SandboxHost()
    hosted = host.create(SandboxConfig("demo"), id=DEFAULT_ID)
    headers = {"host": "127.0.0.1", "authorization": "Bearer a-token"}

    def has_key() -> bool:
        request = HttpRequest.create("GET", "/_mock/docs", headers, b"", "http://127.0.0.1")
        response: Any = handle_request(host, request)[0]
        assert 200 == response.status
        return hosted.tenant.secret_key in response.body.decode()

    assert has_key()
    setattr(host, setting, "a-token" if setting == "token" else True)
    assert not has_key()


def operations_of(document: JSON) -> Iterator[JSON]:
    for item in (*document["paths"].values(), *document.get("webhooks", {}).values()):
        yield from item.values()
