"""What a browser gets that would show or run an answer of the API on the dashboard's origin, and what other clients get."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.server.control.routes import ROUTES, run_command
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.response import HttpResponse
from tests.harness.rows import each_row
from tests.operations.world import GIVEN
from tests.server import hosts
from tests.server.hosts import host_of, key_of

LIST = "/v1/message-templates"
PAGES = ("document", "iframe", "frame", "embed", "object", "fencedframe", "image", "font", "manifest", "", "new-kind")
SCRIPTS = (
    "worker", "sharedworker", "serviceworker", "script", "audioworklet", "paintworklet", "style", "xslt", "Worker",
)  # fmt: skip
# A reply of a rule that is as hostile as a tenant can write it.
HOSTILE = {
    "Content-Type": "text/html",
    "Content-Security-Policy": "sandbox allow-scripts allow-same-origin",
    "X-Content-Type-Options": "any",
    "Set-Cookie": "bomb=" + "x" * 3000,
    "Clear-Site-Data": '"*"',
    "Service-Worker-Allowed": "/",
    "Alt-Svc": 'h2="evil.example:443"',
    "Strict-Transport-Security": "max-age=31536000",
    "WWW-Authenticate": "Basic",
    "X-Other": "kept",
}


@pytest.fixture
def host() -> SandboxHost:
    return host_of(given=GIVEN, clock={"freeze": "2026-03-01T12:00:00Z"})


def send(host: SandboxHost, path: str = LIST, **headers: str) -> HttpResponse:
    return hosts.send(host, "GET", path, x_api_key=key_of(host), **headers)


def reply(host: SandboxHost) -> None:
    """Have the list of templates return a hostile page."""
    do = {"reply": {"status": 200, "headers": HOSTILE, "body": "<script>alert(1)</script>"}}
    run_command(host.sandboxes[DEFAULT_ID], "applyScenario", {"script": [{"on": "listTemplates", "do": do}]})


def values(response: HttpResponse, name: str) -> list[str]:
    return [value for key, value in response.headers if key.lower() == name.lower()]


@each_row("to", [*PAGES, *SCRIPTS])
def test_what_a_browser_loads_by_itself_is_a_page_without_scripts_and_without_an_origin(
    host: SandboxHost, to: str
) -> None:
    reply(host)

    response = send(host, sec_fetch_dest=to)

    assert "sandbox" == values(response, "Content-Security-Policy")[-1]
    assert ["nosniff"] == values(response, "X-Content-Type-Options")
    assert ["Sec-Fetch-Dest"] == values(response, "Vary")


@each_row("to", SCRIPTS)
def test_what_a_browser_would_run_as_a_script_is_plain_text(host: SandboxHost, to: str) -> None:
    reply(host)

    assert ["text/plain; charset=utf-8"] == values(send(host, sec_fetch_dest=to), "Content-Type")


def test_no_header_of_a_page_concerns_the_whole_origin(host: SandboxHost) -> None:
    reply(host)

    names = {name for name, _ in send(host, sec_fetch_dest="document").headers} & HOSTILE.keys()

    assert {"Content-Type", "Content-Security-Policy", "X-Content-Type-Options", "X-Other"} == names


def test_no_cache_gives_the_answer_to_a_fetch_to_a_navigation(host: SandboxHost) -> None:
    reply(host)

    by_fetch, by_another = send(host, sec_fetch_dest="empty"), send(host)

    assert (*by_another.headers, ("Vary", "Sec-Fetch-Dest")) == by_fetch.headers
    assert by_another.body == by_fetch.body


@pytest.mark.parametrize(
    "row", [row for row in ROUTES if row.form != "json" or row.id == "readOpenapi"], ids=lambda row: row.id
)
def test_a_text_of_the_control_plane_is_no_page(host: SandboxHost, row: Any) -> None:
    """A report, a document or a metric contains texts of a tenant, and names of the client."""
    response = send(host, row.path, sec_fetch_dest="document", accept="*/*")

    expected = (("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"))
    assert (200, []) == (response.status, [header for header in expected if header not in response.headers])
