"""What a tenant stores on a shared server, opened by its administrator: nothing of it runs on the origin of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer, Sandbox

pytestmark = pytest.mark.deep

TOKEN = "let-me-in-please"
LIST = "/v1/message-templates"
# It changes what the test reads, and with the administrator's cookie it ends the first sandbox.
ATTACK = """
self.name = document.title = "ran";
fetch("/_mock/sandboxes/sandbox_1", {method: "DELETE", headers: {"X-Mock-Request": "1"}});
"""
WORKER = 'self.postMessage ? self.postMessage("ran") : self.addEventListener("connect", (e) => e.ports[0].postMessage("ran"))'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><script>{ATTACK}</script></svg>'
PAGES = {
    "html": ("text/html", f"<title>still</title><script>{ATTACK}</script>"),
    "image": ("text/html", "<title>still</title><img src=x onerror='document.title = \"ran\"'>"),
    "svg": ("image/svg+xml", SVG),
    "xhtml": ("application/xhtml+xml", f'<html xmlns="http://www.w3.org/1999/xhtml"><script>{ATTACK}</script></html>'),
    "unknown": ("", f"<!doctype html><html><script>{ATTACK}</script></html>"),
}
LOADS = {
    "worker": "(url) => new Promise((end) => { const w = new Worker(url); w.onmessage = (e) => end(e.data); w.onerror = () => end('refused'); })",
    "shared worker": "(url) => new Promise((end) => { const w = new SharedWorker(url); w.port.onmessage = (e) => end(e.data); w.onerror = () => end('refused'); })",
    "service worker": "(url) => navigator.serviceWorker.register(url).then(() => 'ran', () => 'refused')",
    "script": "(url) => new Promise((end) => { const s = document.createElement('script'); s.src = url; s.onload = () => end('ran'); s.onerror = () => end('refused'); document.head.append(s); })",
    "style": "(url) => new Promise((end) => { const s = document.createElement('link'); s.rel = 'stylesheet'; s.href = url; s.onload = () => end('ran'); s.onerror = () => end('refused'); document.head.append(s); })",
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        server._host.token = TOKEN
        yield server


@pytest.fixture
def page(browser: Any, server: MockServer) -> Iterator[Any]:
    """A page of the administrator, who has typed the server's token at the root."""
    context = browser.new_context()
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.goto(f"{server.url}/_mock/sandboxes")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="Sandboxes").first.wait_for()
    yield page
    context.close()


def store(server: MockServer, kind: str, body: str) -> Sandbox:
    """A sandbox of a tenant whose list of templates is a page or a script."""
    sandbox = server.sandbox()
    headers = {"Content-Type": kind} if kind else {}
    allowed = {"Service-Worker-Allowed": "/", "Content-Security-Policy": "sandbox allow-scripts allow-same-origin"}
    reply = {"status": 200, "headers": {**headers, **allowed}, "body": body}
    sandbox.apply({"script": [{"on": "listTemplates", "do": {"reply": reply}}]})
    return sandbox


@pytest.mark.parametrize(("kind", "body"), PAGES.values(), ids=PAGES)
def test_a_page_that_a_rule_returns_runs_no_script(server: MockServer, page: Any, kind: str, body: str) -> None:
    other, evil = server.sandbox(), store(server, kind, body)

    page.goto(evil.base_url + LIST)
    page.wait_for_load_state("networkidle")

    assert "ran" != page.title()
    assert "null" == page.evaluate("self.origin")
    assert other.base_url.endswith("/sandbox_1")
    assert "sandbox_1" in server._host.sandboxes


def test_a_page_over_http_to_another_machine_runs_no_script(browser: Any, server: MockServer) -> None:
    """A browser sends no Sec-Fetch-Dest to a host that it does not trust; the proxy makes the server such a host."""
    evil = store(server, *PAGES["html"])
    server._host.allowed_hosts.add("mock.example")
    context = browser.new_context(proxy={"server": server.url})
    page = context.new_page()
    answer = page.goto("http://mock.example" + urlsplit(evil.base_url).path + LIST)

    assert "sec-fetch-dest" not in answer.request.all_headers()
    assert "null" == page.evaluate("self.origin")
    assert "still" == page.title()
    context.close()


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_page_of_the_dashboard_loads_no_script_from_the_api(server: MockServer, page: Any, load: str) -> None:
    evil = store(server, "text/css" if "stylesheet" in load else "text/javascript", WORKER)

    assert "refused" == page.evaluate(load, evil.base_url + LIST)


def test_a_frame_of_the_origin_shows_a_page_of_another_origin(server: MockServer, page: Any) -> None:
    evil = store(server, *PAGES["html"])
    page.goto(f"{server.url}/connect/none")  # a page that may have frames needs no token
    page.goto(store(server, "text/html", f"<iframe src='{evil.base_url}{LIST}'></iframe>").base_url + LIST)

    assert ["null", "null"] == [frame.evaluate("self.origin") for frame in page.frames]


@pytest.mark.parametrize("name", ["a.txt", "a.svg", "a.html", "<script>.txt"])
def test_an_upload_is_shown_as_what_it_was_accepted_for(server: MockServer, page: Any, name: str) -> None:
    sandbox = server.sandbox()
    form = (
        f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
        f"Content-Type: text/plain\r\n\r\n{PAGES['html'][1]}\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    (uploaded,) = sandbox.call("POST", "/v1/messaging/media", body=form.encode(), headers=headers).json()
    page.goto(f"{sandbox.base_url}/media/{uploaded['id']}")

    assert "<script>" in page.inner_text("body")
    assert ("null", "text/plain") == (page.evaluate("self.origin"), page.evaluate("document.contentType"))


def test_a_report_with_the_words_of_a_tenant_is_text(server: MockServer, page: Any) -> None:
    sandbox = server.sandbox()
    sandbox.call("POST", "/v1/campaigns", json={"name": PAGES["html"][1]})
    page.set_extra_http_headers({"Authorization": f"Bearer {TOKEN}"})
    page.goto(f"{sandbox.base_url}/_mock/report")

    assert "createCampaign" in page.content()
    assert "null" == page.evaluate("self.origin")
    assert 0 == page.locator("script").count()
