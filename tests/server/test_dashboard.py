"""The pages of the dashboard: their paths, who may read them, and that each shows the control plane's own answers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.cli import serve
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import VIEWS
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.wire.response import HttpResponse
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row
from tests.server import hosts
from tests.server.hosts import ORIGIN, header, host_of, key_of

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
NOON = "2026-03-01T12:00:00Z"
SHARED = ("events", "choices", "scenarios", "sandboxes")
TOKEN = "let-me-in"
KEY = "sk_live_0123456789abcdef0123456789abcdef"


@pytest.fixture
def host() -> SandboxHost:
    return host_of("demo", clock={"freeze": NOON})


def send(
    sandboxes: SandboxHost, method: str, path: str, body: bytes = b"", /, *, accept: str = BROWSER, **headers: str
) -> HttpResponse:
    """As `hosts.send`, of a browser unless another `Accept` or none is given."""
    return hosts.send(sandboxes, method, path, body, **({"accept": accept} if accept else {}), **headers)


def is_page(response: HttpResponse) -> bool:
    return (header(response, "content-type") or "").startswith("text/html")


def default(host: SandboxHost) -> HostedSandbox:
    return host.sandboxes[DEFAULT_ID]


def call(host: SandboxHost, method: str, path: str, body: bytes = b"") -> HttpResponse:
    return hosts.send(host, method, path, body, x_api_key=key_of(host), content_type="application/json")


@each_row("path", ["/_mock/", *(f"/_mock/{view}" for view in VIEWS)])
def test_each_view_is_a_page_that_links_all_by_absolute_path(host: SandboxHost, path: str) -> None:
    response = send(host, "GET", path)

    assert (200, True) == (response.status, is_page(response))
    assert [] == [view for view in VIEWS if f'href="/_mock/{view}"' not in response.body.decode()]


@pytest.mark.parametrize("path", ["/", "/_mock"])
def test_a_browser_at_the_root_is_sent_to_the_page(host: SandboxHost, path: str) -> None:
    response = send(host, "GET", path)

    assert (303, "/_mock/", "Accept") == (response.status, header(response, "location"), header(response, "vary"))
    assert 0 == default(host).sandbox.journal.last_exchange


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/html;q=0", "text/htmlx"])
def test_any_other_client_at_the_root_gets_the_documented_error(host: SandboxHost, accept: str) -> None:
    response = send(host, "GET", "/", accept=accept)

    assert 404 == response.status
    assert {"statusCode", "code", "message"} == set(response.json())
    assert 1 == default(host).sandbox.journal.last_exchange


@pytest.mark.parametrize("view", SHARED)
def test_a_path_of_the_control_plane_is_a_page_only_where_accept_names_html(host: SandboxHost, view: str) -> None:
    page, json = send(host, "GET", f"/_mock/{view}"), send(host, "GET", f"/_mock/{view}", accept="*/*")

    assert (True, False) == (is_page(page), is_page(json))
    assert isinstance(json.json(), dict)
    assert ["Accept", "Accept"] == [header(page, "vary"), header(json, "vary")]


def test_without_a_default_sandbox_the_page_lists_the_sandboxes() -> None:
    host = SandboxHost()
    other = host.create(SandboxConfig())
    response = send(host, "GET", "/_mock/")

    assert 200 == response.status
    assert f'href="{ORIGIN}{other.prefix}/_mock/"' in response.body.decode()
    assert "/_mock/" == header(send(host, "GET", "/"), "location")
    assert 404 == send(host, "GET", "/_mock/calls").status


def test_each_call_and_each_record_has_an_address(host: SandboxHost) -> None:
    refused = call(host, "GET", "/v1/campaigns/none")
    template = next(iter(default(host).tenant.templates))

    page = send(host, "GET", "/_mock/calls/1").body.decode()
    assert refused.status == 404
    assert "CAMPAIGN_NOT_FOUND" in page
    assert "<code>campaigns.detail</code>" in page
    assert template in send(host, "GET", f"/_mock/objects/{template}").body.decode()
    assert 200 == send(host, "GET", "/_mock/scenarios/demo").status


def test_the_page_of_a_session_has_its_legal_steps_and_the_link_of_its_end_user(host: SandboxHost) -> None:
    session = call(host, "POST", SESSIONS, b"{}").json()

    def commands() -> tuple[list[str], bool]:
        page = send(host, "GET", f"/_mock/objects/{session['sessionId']}").body.decode()
        return re.findall(
            r'data-path="_mock/sessions/\w+/(\w+)"', page
        ), f'href="{session["url"][len(ORIGIN) :]}"' in page

    assert (["complete", "fail", "cancel", "expire"], True) == commands()
    call(host, "POST", f"/_mock/sessions/{session['sessionId']}/expire")
    assert ([], False) == commands()


@pytest.mark.parametrize(
    "path", ["/_mock/calls/2", "/_mock/calls/x", "/_mock/objects/none", "/_mock/events/none", "/_mock/scenarios/none"]
)
def test_an_address_of_nothing_is_a_page_with_the_reason(host: SandboxHost, path: str) -> None:
    response = send(host, "GET", path)

    assert (404, True) == (response.status, is_page(response))
    assert "MOCK_NOT_FOUND" in response.body.decode()
    assert [] == [view for view in VIEWS if f'href="/_mock/{view}"' not in response.body.decode()]


def labelled(host: SandboxHost, **labels: str) -> HostedSandbox:
    return host.create(SandboxConfig(labels=labels, clock={"freeze": NOON}))


def heading(response: HttpResponse) -> str:
    match = re.search(r"<h1>(.*?)</h1>", response.body.decode(), re.DOTALL)
    assert match is not None
    return re.sub(r"<[^>]+>", "", match[1])


@each_row("accept", ["", "*/*", "application/json", "text/html"])
@each_row("path", ["/", "/_mock/", "/_mock/calls", "/_mock/state", "/connect/x", "/media/x", "/v1/campaigns"])
def test_a_closed_and_an_unknown_sandbox_are_refused_in_json_for_every_client(
    host: SandboxHost, path: str, accept: str
) -> None:
    closed = labelled(host, test="checkout")
    host.close(closed.id)
    gone = send(host, "GET", closed.prefix + path, accept=accept)
    unknown = send(host, "GET", f"/sandboxes/sandbox_99{path}", accept=accept)

    assert (410, "MOCK_SANDBOX_CLOSED") == (gone.status, gone.json()["code"])
    assert f"sandbox '{closed.id}' is closed; this call arrived after its test had ended" == gone.json()["message"]
    assert (404, "MOCK_NOT_FOUND") == (unknown.status, unknown.json()["code"])


def test_the_page_of_a_refusal_begins_with_what_was_refused_and_why(host: SandboxHost) -> None:
    page = send(host, "GET", "/_mock/calls/x")

    assert "Refused: GET /_mock/calls/x" == heading(page)
    assert re.search(r"</h1>\n<p>call: got &#39;x&#39;; expected", page.body.decode())


def test_no_page_can_be_framed_and_none_runs_foreign_code(host: SandboxHost) -> None:
    policy = header(send(host, "GET", "/_mock/"), "content-security-policy")

    assert (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ) == policy


@pytest.mark.parametrize("path", ["/_mock/", "/_mock/calls", "/_mock/events", "/_mock/page/script.js"])
def test_a_rebound_name_reads_nothing(host: SandboxHost, path: str) -> None:
    response = send(host, "GET", path, host="evil.example:5055")

    assert 403 == response.status
    assert b"MOCK_FOREIGN_HOST" in response.body


@pytest.mark.parametrize(
    "headers",
    [{"origin": ORIGIN}, {"origin": "http://localhost:5173"}, {"sec_fetch_site": "same-origin"}],
    ids=["own origin", "another port", "fetch metadata"],
)
def test_a_write_of_a_page_needs_a_header_that_no_form_can_send(host: SandboxHost, headers: dict[str, str]) -> None:
    form = {"content_type": "text/plain", "accept": "*/*"}
    refused = send(host, "POST", "/_mock/reset", **headers, **form)
    named = send(host, "POST", "/_mock/reset", x_mock_request="page", **headers, **form)

    assert (403, "MOCK_HEADER_WANTED") == (refused.status, refused.json()["code"])
    assert 204 == named.status
    advanced = {"content_type": "application/json; charset=utf-8", "accept": "*/*", **headers}
    assert 200 == send(host, "POST", "/_mock/clock/advance", b'{"by": 1}', **advanced).status


def sign_in(host: SandboxHost, /, token: str = TOKEN, next_path: str = "/_mock/calls", **headers: str) -> HttpResponse:
    body = f"token={token}&next={next_path}".encode()
    named = {"content_type": "application/x-www-form-urlencoded", "origin": ORIGIN, **headers}
    return send(host, "POST", "/_mock/", body, **named)


def signed_in(host: SandboxHost) -> str:
    """The cookie of who has typed the token."""
    return (header(sign_in(host), "set-cookie") or "").partition(";")[0]


@pytest.mark.parametrize("path", ["/_mock/", "/_mock/calls?status=refused", "/_mock/events"])
def test_beyond_loopback_a_browser_types_the_token_into_a_form_once(host: SandboxHost, path: str) -> None:
    host.token = TOKEN
    asked = send(host, "GET", path)
    answer = sign_in(host, next_path=path)
    cookie = header(answer, "set-cookie") or ""

    assert (401, True) == (asked.status, is_page(asked))
    assert f'name="next" value="{path}"'.encode() in asked.body
    assert (303, path) == (answer.status, header(answer, "location"))
    assert "; Path=/_mock/; HttpOnly; SameSite=Strict" in cookie
    assert TOKEN not in cookie
    page = send(host, "GET", path, cookie=f"other=1; {cookie.partition(';')[0]}")
    assert 200 == page.status
    assert TOKEN.encode() not in page.body


def test_a_browser_signs_out_by_a_form_of_each_page(host: SandboxHost) -> None:
    host.token = TOKEN
    cookie = signed_in(host)
    page = send(host, "GET", "/_mock/calls", cookie=cookie)
    answer = send(host, "POST", "/_mock/", b"leave=1", origin=ORIGIN, content_type="application/x-www-form-urlencoded")
    cleared = [value for name, value in answer.headers if name == "Set-Cookie"]

    assert b'name="leave"' in page.body
    assert (303, "/_mock/") == (answer.status, header(answer, "location"))
    assert f"{cookie.partition('=')[0]}=; Path=/_mock/; Max-Age=0; HttpOnly; SameSite=Strict" in cleared


@pytest.mark.parametrize(("name", "is_secure"), [("mock.example", True), ("127.0.0.1:5055", False)])
def test_the_cookie_of_an_https_address_is_sent_over_https_alone(host: SandboxHost, name: str, is_secure: bool) -> None:
    host.token = TOKEN
    host.publish("https://mock.example")

    response = sign_in(host, host=name, origin=host.base_url_of(name))

    assert is_secure == (header(response, "set-cookie") or "").endswith("; Secure")


def test_a_wrong_token_gets_the_form_again_and_no_cookie(host: SandboxHost) -> None:
    host.token = TOKEN
    answer = sign_in(host, "let-me-in-too")

    assert (401, None) == (answer.status, header(answer, "set-cookie"))
    assert b"aria-invalid" in answer.body


@pytest.mark.parametrize(
    "next_path",
    ["https://evil.example/", "//evil.example/_mock/", "/_mock/%0d%0aX-Evil: 1", "/v1/x", "/_mock/%E2%82%AC"],
)
def test_the_form_leads_to_a_page_of_this_sandbox_alone(host: SandboxHost, next_path: str) -> None:
    host.token = TOKEN

    assert "/_mock/" == header(sign_in(host, next_path=next_path), "location")


def test_a_write_with_the_cookie_needs_the_header_too(host: SandboxHost) -> None:
    host.token = TOKEN
    cookie = signed_in(host)
    answers = [
        send(host, "POST", "/_mock/reset", accept="*/*", cookie=cookie),
        send(host, "POST", "/_mock/reset", accept="*/*", cookie=cookie, x_mock_request="page"),
        send(host, "POST", "/_mock/reset", accept="*/*", authorization=f"Bearer {TOKEN}"),
    ]

    assert [403, 204, 204] == [answer.status for answer in answers]


def test_reading_every_page_changes_nothing(host: SandboxHost) -> None:
    call(host, "GET", "/v1/campaigns")
    before = call(host, "GET", "/_mock/state").body, call(host, "GET", "/_mock/replay").body
    for path in ("/_mock/", *(f"/_mock/{view}" for view in VIEWS), "/_mock/calls/1"):
        assert 200 == send(host, "GET", path).status

    assert before == (call(host, "GET", "/_mock/state").body, call(host, "GET", "/_mock/replay").body)


def test_the_filters_of_calls_select_by_operation_and_text(host: SandboxHost) -> None:
    call(host, "GET", "/v1/campaigns")
    call(host, "GET", "/v1/campaigns/none")
    call(host, "POST", SESSIONS, b"{}")
    numbers: Callable[[str], list[int]] = lambda query: [
        n for n in (1, 2, 3) if f'id="call-{n}"' in send(host, "GET", f"/_mock/calls?{query}").body.decode()
    ]

    assert [1, 2, 3] == numbers("")
    assert [2] == numbers("text=CAMPAIGN_NOT_FOUND")
    assert [1] == numbers("operation=listCampaigns")
    assert [3] == numbers("text=PENDING")
    assert [] == numbers("operation=listCampaigns&text=PENDING")
    assert [1] == numbers("before=2")


def test_the_calls_are_in_pages_of_200_the_newest_first(host: SandboxHost) -> None:
    for _ in range(201):
        call(host, "GET", "/v1/message-templates")
    first = send(host, "GET", "/_mock/calls").body.decode()
    second = send(host, "GET", "/_mock/calls?before=2").body.decode()

    assert 200 == first.count('<tr><th scope="row" class="number">')
    assert first.index('id="call-201"') < first.index('id="call-2"')
    assert "before=2" in first
    assert 1 == second.count('<tr><th scope="row" class="number">')


def test_a_refused_call_quotes_the_sentence_of_the_document_that_it_broke(host: SandboxHost) -> None:
    call(host, "POST", "/v1/campaigns/none/start")
    page = send(host, "GET", "/_mock/calls/1").body.decode()

    assert "<blockquote><p>Unknown campaign: `CAMPAIGN_NOT_FOUND`.</p>" in page
    assert "API document, L299</footer>" in page
    assert "<code>start.unknown</code>" in page


def test_the_curl_of_a_call_has_the_key_unless_a_token_is_required(host: SandboxHost) -> None:
    key = key_of(host)
    call(host, "GET", "/v1/campaigns/none")
    shown = [send(host, "GET", path).body.decode() for path in ("/_mock/", "/_mock/calls/1")]
    host.token = TOKEN
    cookie = signed_in(host)
    hidden = [send(host, "GET", path, cookie=cookie).body.decode() for path in ("/_mock/", "/_mock/calls/1")]

    assert [True, True] == [f"-H &#39;X-API-Key: {key}&#39;" in text for text in shown]
    assert [True, True] == ["-H &#34;X-API-Key: $KEY&#34;" in text for text in hidden]
    assert [] == [text for text in hidden if key in text]


def test_a_bug_of_a_page_is_a_page(
    host: SandboxHost, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = PageAccess.read

    def read(self: PageAccess, command: str, **arguments: str) -> Any:
        return 1 / 0 if command == "readJournal" else original(self, command, **arguments)

    monkeypatch.setattr(PageAccess, "read", read)
    response = send(host, "GET", "/_mock/calls")

    assert (500, True) == (response.status, is_page(response))
    assert "ZeroDivisionError" in caplog.text


def test_the_port_of_one_sandbox_lists_no_other(host: SandboxHost) -> None:
    default(host).own_origin = ORIGIN

    assert 409 == send(host, "GET", "/_mock/sandboxes").status
    assert 200 == send(host, "GET", "/_mock/calls").status


@pytest.mark.parametrize("token", [None, TOKEN])
def test_serve_prints_the_addresses_of_its_pages_after_its_first_line(host: SandboxHost, token: str | None) -> None:
    url, options = default(host).base_url, argparse.Namespace(log_format="text", token_file=None, public_url=None)
    first, *others = serve._start_lines(url, default(host), token, options).splitlines()

    assert first.endswith(f" listens on {url}")
    openapi = f"  openapi      {url}/_mock/openapi.json   (?plane=control: of the calls under /_mock)"
    assert [f"  dashboard    {url}/_mock/", openapi] == [
        line for line in others if line.startswith(("  dashboard ", "  openapi "))
    ]
