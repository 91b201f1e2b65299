"""What a tenant stores on a shared server, opened by its administrator: nothing of it runs on the origin of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><script>{ATTACK}</script></svg>'
PAGES = {
    "html": ("text/html", f"<title>still</title><script>{ATTACK}</script>"),
    "image": ("text/html", "<title>still</title><img src=x onerror='document.title = \"ran\"'>"),
    "svg": ("image/svg+xml", SVG),
    "xhtml": ("application/xhtml+xml", f'<html xmlns="http://www.w3.org/1999/xhtml"><script>{ATTACK}</script></html>'),
    "unknown": ("", f"<!doctype html><html><script>{ATTACK}</script></html>"),
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
