"""The hosted page against unknown links, link scanners and hostile sites: guarded, escaped, one page for every dead link."""

import re

import pytest

from mockserver import Sandbox
from mockserver.testing.transports.in_process import Response
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.session_calls import NOON, PHONE, create, read
from tests.server.page_calls import GONE, begun, fields, get, inside, link, post, press, visits

EVIL = '"><script>alert(1)</script>{{7*11111}}&amp;'
GUARDS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
KEPT_URLS = (
    "HTTPS://Clinic.Example:0443/",
    "https://clinic.example/?state=a|b[1]^'{}",
    "https://clinic.example/?",
    "https://clinic.example/#",
    "https://clinic..example/",
    f"https://{'a' * 64}.example/",  # the URL standard takes it, the codec `idna` does not
)
OWN = "default-src 'none'; style-src 'self'; img-src 'self'; form-action {}; frame-ancestors 'none'; base-uri 'none'"


def policy(reply: Response) -> str:
    return reply.headers["content-security-policy"]


def refused(sandbox: Sandbox, flow: str, **given: str) -> Response:
    """Submit a form of the flow's current page that is refused; the page with the error."""
    return press(sandbox, flow, **given)


@pytest.mark.clause("session.url")
@pytest.mark.mockserver(now=NOON)
def test_every_page_is_guarded_and_dated_by_the_sandbox(mockserver: Sandbox) -> None:
    path, flow = begun(mockserver)
    pages = [
        get(mockserver, link(mockserver)),
        get(mockserver, flow),
        post(mockserver, flow, {}),
        press(mockserver, flow, account="own"),
        get(mockserver, path),
        get(mockserver, "/connect/unknown"),
        mockserver.call("DELETE", flow, key=""),
    ]

    assert [200, 200, 403, 303, 410, 410, 405] == [page.status for page in pages]
    for page in pages:
        assert GUARDS.items() <= page.headers.items()
        assert "frame-ancestors 'none'; base-uri 'none'" in policy(page)
        assert "Sun, 01 Mar 2026 12:00:00 GMT" == page.headers["date"]


@each_row(
    ("url", "source"),
    [
        (None, "'self'"),
        ("https://clinic.example/back?a=1", "'self' https://clinic.example"),
        ("https://CLINIC.example:8443/#x", "'self' https://clinic.example:8443"),
        ("https://[::1]/back", "'self' https:"),
        ("https://a;b.example/", "'self' https:"),
        ("https://a'b,c.example/", "'self' https:"),
        ("https://clínica.example/", "'self' https://xn--clnica-4va.example"),
        ("https://clinic.example:443/", "'self' https://clinic.example"),
        ("https://cl%69nic.example/", "'self' https://clinic.example"),
    ],
)
def test_forms_post_only_to_the_mock_and_the_origin_of_the_return_url(
    mockserver: Sandbox, url: str | None, source: str
) -> None:
    page = get(mockserver, link(mockserver, {"returnUrl": url} if url else {}))

    assert OWN.format(source) == policy(page)


@pytest.mark.clause("session.url")
@pytest.mark.mockserver(now=NOON)
def test_used_expired_finished_and_unknown_links_are_the_same_to_the_byte(mockserver: Sandbox) -> None:
    used, _ = begun(mockserver, {"returnUrl": "https://clinic.example/"})
    expired = link(mockserver, {"coexistence": True})
    failed = create(mockserver)
    mockserver.fail_session(failed["sessionId"])
    mockserver.expire_session(mockserver.state()["tenants"][0]["sessions"][1]["id"])
    paths = [used, expired, inside(mockserver, failed["url"]), "/connect/unknown", "/connect/", "/connect/walk/unknown"]

    gets, posts = [get(mockserver, path) for path in paths], [post(mockserver, path, b"") for path in paths]

    assert 1 == len({(page.status, page.body, tuple(sorted(page.headers.items()))) for page in gets + posts})
    assert (410, True) == (gets[0].status, GONE in gets[0].body.decode())


@pytest.mark.parametrize("agent", ["TelegramBot (like TwitterBot)", "Slackbot-LinkExpanding 1.0"])
def test_previews_use_no_link_up(mockserver: Sandbox, agent: str) -> None:
    path = link(mockserver)
    before = mockserver.state()

    pages = [get(mockserver, path, user_agent=agent) for _ in range(3)]
    heads = [mockserver.call("HEAD", path, key="", headers={"user-agent": agent}) for _ in range(3)]

    assert {(200, pages[0].body)} == {(page.status, page.body) for page in pages}
    assert {(200, b"", str(len(pages[0].body)))} == {
        (head.status, head.body, head.headers["content-length"]) for head in heads
    }
    assert before == mockserver.state()
    assert 303 == press(mockserver, path).status


@each_row("secret", [None, "", "x", "á", "0" * 40])
@each_row("where", ["link", "flow"])
def test_a_form_without_the_page_s_secret_is_refused_and_moves_nothing(
    mockserver: Sandbox, where: str, secret: str | None
) -> None:
    _, flow = begun(mockserver)
    target = flow if where == "flow" else link(mockserver)
    before = mockserver.state()

    form = {"press": "cancel", "step": "intro"} | ({} if secret is None else {"secret": secret})

    assert 403 == post(mockserver, target, form).status
    assert before == mockserver.state()


@each_row(
    ("headers", "status"),
    [
        ({}, 303),
        ({"origin": "null"}, 303),
        ({"origin": "null", "sec_fetch_site": "same-origin"}, 303),
        ({"origin": "{own}", "sec_fetch_site": "same-origin"}, 303),
        ({"sec_fetch_site": "none"}, 303),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "{own}.evil.example"}, 403),
        ({"origin": "null", "sec_fetch_site": "cross-site"}, 403),
        ({"origin": "{own}", "sec_fetch_site": "same-site"}, 403),
        ({"origin": ""}, 403),
    ],
)
def test_a_form_of_another_site_is_refused(mockserver: Sandbox, headers: dict[str, str], status: int) -> None:
    path = link(mockserver)
    own = mockserver._hosted.in_process_url.removesuffix(mockserver._hosted.prefix)
    form = fields(get(mockserver, path)) | {"press": "continue"}

    reply = post(mockserver, path, form, **{name: each.format(own=own) for name, each in headers.items()})

    assert status == reply.status


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", "application/x-www-form-urlencoded", 403),
        (b"\xff\xfe%zz=&&&=", "application/x-www-form-urlencoded", 403),
        (b"a=1&" * 200, "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 415),
        (b"", "", 415),
        (b"press=continue&" + b"x" * 20_000, "application/x-www-form-urlencoded", 413),
    ],
)
def test_junk_gets_an_error_page_and_uses_nothing_up(
    mockserver: Sandbox, body: bytes, content_type: str, status: int
) -> None:
    path = link(mockserver)

    reply = post(mockserver, path, body, content_type=content_type)

    assert (status, "text/html; charset=utf-8") == (reply.status, reply.headers["content-type"])
    assert 200 == get(mockserver, path).status


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "BREW"])
def test_other_methods_are_refused_with_those_that_there_are(mockserver: Sandbox, method: str) -> None:
    path = link(mockserver)

    reply = mockserver.call(method, path, key="")

    assert (405, "GET, HEAD, POST") == (reply.status, reply.headers["allow"])
    assert 200 == get(mockserver, path).status


def test_all_text_of_callers_is_escaped(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(name=EVIL)
    _, flow = begun(mockserver, {"returnUrl": "https://clinic.example/?q=" + "'><svg/onload=alert(1)>"})
    bodies = [get(mockserver, link(mockserver)), get(mockserver, flow)]
    bodies.append(refused(mockserver, flow, account="new", name=EVIL + "\x07x"))
    press(mockserver, flow, account="new", name=EVIL)
    bodies.append(refused(mockserver, flow, number="other", phone=EVIL))
    press(mockserver, flow, number=PHONE)
    bodies.append(get(mockserver, flow))
    press(mockserver, flow)
    bodies.append(get(mockserver, flow))

    assert [200, 200, 422, 422, 200, 200] == [reply.status for reply in bodies]
    for reply in bodies:
        page = reply.body.decode()
        assert not re.search(r"<script|<svg/|onload=alert\(1\)>|77777", page)
    assert "&lt;script&gt;" in bodies[1].body.decode()


@pytest.mark.clause("session.return")
@each_row(
    ("url", "location"),
    [
        *((url, url) for url in KEPT_URLS),
        ("https://clínica.example/ação?é=1", "https://xn--clnica-4va.example/a%C3%A7%C3%A3o?%C3%A9=1"),
        ("https://clinic.example/\u0085\u2028x", "https://clinic.example/%C2%85%E2%80%A8x"),
        ("https://clinic.example/%0d%0aSet-Cookie:x=1", "https://clinic.example/%0d%0aSet-Cookie:x=1"),
        ('https://clinic.example/"<>^`{|}', 'https://clinic.example/"<>^`{|}'),
    ],
)
def test_a_return_url_is_kept_and_remains_one_ascii_header(mockserver: Sandbox, url: str, location: str) -> None:
    page = mockserver.end_user(create(mockserver, {"returnUrl": url})).connect()

    assert (303, location) == (page.status, page.headers["location"])


def test_visits_and_flows_follow_checkpoint_and_reset(mockserver: Sandbox) -> None:
    path = link(mockserver)
    get(mockserver, path)
    before = mockserver.state()
    with mockserver.checkpoint():
        press(mockserver, path)
        assert 410 == get(mockserver, path).status

    assert (1, before) == (len(visits(mockserver)), mockserver.state())
    assert 200 == get(mockserver, path).status
    mockserver.reset()
    assert [] == visits(mockserver)


@pytest.mark.option("simulate-panel", "shown")
def test_the_panel_that_ends_a_session_is_shown(mockserver: Sandbox) -> None:
    assert "Simular" in mockserver.end_user(create(mockserver)).open().text


@in_force("simulate-panel", "hidden")
def test_a_hidden_panel_is_neither_shown_nor_obeyed(mockserver: Sandbox) -> None:
    session = create(mockserver)
    path = inside(mockserver, session["url"])

    page = get(mockserver, path).body.decode()

    assert [] == [each for each in ("Simular", "simulate-") if each in page]
    assert 400 == press(mockserver, path, "simulate-expire").status
    assert "pending" == read(mockserver, session["sessionId"])["status"]
