"""The dashboard in a real browser: its actions, closed to scripts of others, open to everyone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from mockserver import MockServer, Sandbox
from mockserver.server.control.page_paths import VIEWS
from tests.browser.axe import violations
from tests.clients.operations import SESSIONS

pytestmark = pytest.mark.deep

NARROW_PX, DESKTOP_PX = {"width": 320, "height": 800}, {"width": 1280, "height": 900}
TABLET_PX = {"width": 768, "height": 1024}
NOON = "2026-03-01T12:00:00Z"
TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": TEMPLATE, "cadence": 10}
WATCH = """
window.broken = [];
document.addEventListener("securitypolicyviolation", (e) => window.broken.push(`${e.violatedDirective} ${e.blockedURI}`));
window.alert = window.confirm = window.prompt = () => { window.broken.push("dialog"); };
"""
XSS = (
    "<script>window.broken.push('script')</script>",
    '"><img src=x onerror="window.broken.push(\'img\')">',
    "'><svg onload=window.broken.push('svg')>",
    "</title></textarea></pre></style></script><script>window.broken.push('closed')</script>",
    "javascript:window.broken.push('url')",
    "<iframe srcdoc='<script>parent.broken.push(1)</script>'></iframe>",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "<form action=//evil.example><button autofocus onfocus=window.broken.push('focus')>",
    "{{ 7 * 7 }}{% raw %}${window.broken.push('template')}",
    "\u202e<b>evil</b>\u0000\u001b[31m",
)


class Tab:
    """A tab with JavaScript, and what the browser complains about."""

    def __init__(self, browser: Any, sandbox: Sandbox, **options: Any) -> None:
        self.messages: list[str] = []
        self.requested: list[str] = []
        self.base = sandbox.base_url
        self.context = browser.new_context(**{"viewport": DESKTOP_PX, **options})
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.page.add_init_script(WATCH)
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))

    def open(self, path: str = "") -> Any:
        self.page.goto(f"{self.base}/_mock/{path}")
        return self.page

    def press(self, name: str, **options: Any) -> None:
        """Press a button, and wait for the words that follow."""
        self.page.get_by_role("button", name=name, **options).first.click()
        self.done()

    def done(self) -> str:
        self.page.locator("#status:not(:empty)").wait_for()
        return str(self.page.locator("#status").inner_text())


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def sandbox(server: MockServer) -> Sandbox:
    return server.sandbox(scenario="demo", now=NOON)


@pytest.fixture
def tab(browser: Any, sandbox: Sandbox) -> Iterator[Callable[..., Tab]]:
    tabs: list[Tab] = []

    def make(own: Sandbox = sandbox, **options: Any) -> Tab:
        tabs.append(Tab(browser, own, **options))
        return tabs[-1]

    yield make
    for each in tabs:
        each.context.close()


def played(sandbox: Sandbox, name: str = "Março") -> dict[str, str]:
    """Let everything happen that a page can show; return the paths of the pages of single things."""
    sandbox.on("startCampaign").nth(1).drop("after")
    answers = iter((500,))
    sandbox.receive_webhooks(lambda request: next(answers, 204))
    campaign = sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": name}).json()["campaignId"]
    for _ in range(2):
        try:
            sandbox.call("POST", f"/v1/campaigns/{campaign}/start", json={})
        except ConnectionError:
            continue
    ended = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
    sandbox.complete_session(ended)
    sandbox.advance(minutes=2)
    pending = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
    event = sandbox.events[0]["id"]
    return {
        "call": "calls/3",
        "campaign": f"objects/{campaign}",
        "session": f"objects/{pending}",
        "webhook": f"objects/{sandbox.call('GET', '/_mock/state').json()['tenants'][0]['webhooks'][0]['id']}",
        "event": f"events/{event}",
        "scenario": "scenarios/start-timeout-applied",
        "sandboxes": "sandboxes",
    }


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        pytest.param(NARROW_PX, "light", id="320-light"),
        pytest.param(NARROW_PX, "dark", id="320-dark"),
        pytest.param(TABLET_PX, "light", id="768-light"),
        pytest.param(DESKTOP_PX, "dark", id="1280-dark"),
    ],
)
def test_every_view_is_without_a_violation_and_fits(
    sandbox: Sandbox, tab: Callable[..., Tab], scheme: str, size: Any
) -> None:
    pages = played(sandbox)
    own = tab(color_scheme=scheme, viewport=size)
    broken = {}
    for path in (*VIEWS, *pages.values()):
        page = own.open(path)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        broken[path] = [*violations(page), *([f"{wide} px too wide"] if wide > 0 else [])]

    assert {} == {path: lines for path, lines in broken.items() if lines}
    assert [] == own.messages
    assert [] == [url for url in own.requested if not url.startswith(own.base.rpartition("/sandboxes/")[0])]


FIRST_SCREENS = {f"{width}x{height}": {"width": width, "height": height} for width, height in ((320, 640), (390, 844), (768, 1024), (1280, 800))}  # fmt: skip


@pytest.mark.parametrize("size", FIRST_SCREENS.values(), ids=FIRST_SCREENS)
def test_the_first_screen_of_now_shows_what_failed_and_what_happens_next(
    sandbox: Sandbox, tab: Callable[..., Tab], size: Any
) -> None:
    for status in (204, 503, 400):
        sandbox.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    sandbox.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    for name in ("Março", "Abril"):
        created = sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": name}).json()["campaignId"]
        sandbox.call("POST", f"/v1/campaigns/{created}/start", json={})
    sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    sandbox.advance(minutes=1)
    sandbox.on("listCampaigns").may_fire().revoke_key()
    for _ in range(2):
        sandbox.call("GET", "/v1/campaigns")
    page = tab(viewport=size).open()
    lines = [
        page.locator("#problems"),
        page.locator("#problem-1"),
        page.locator("#due-next", has_text=re.compile("Next: +the last message of Março +in 2m 54s")),
    ]
    lines += [page.locator(".pick").last, page.locator(".chosen p").first] if size["width"] > 700 else []

    assert [] == [
        line.inner_text() for line in lines if line.bounding_box()["y"] + line.bounding_box()["height"] > size["height"]
    ]


@pytest.mark.parametrize("path", ["", "calls", "calls/1", "objects", "events", "scenarios", "choices"])
def test_without_javascript_each_view_can_be_read_and_shows_no_action(
    sandbox: Sandbox, tab: Callable[..., Tab], path: str
) -> None:
    sandbox.call("GET", "/v1/campaigns")
    page = tab(java_script_enabled=False).open(path)

    assert page.locator("h1").is_visible()
    assert 0 == page.locator("form.act:visible").count()
    assert page.get_by_text("Without JavaScript every page can be read").is_visible()


@pytest.mark.parametrize("text", XSS, ids=range(len(XSS)))
def test_no_text_of_a_sandbox_runs_a_script(server: MockServer, tab: Callable[..., Tab], text: str) -> None:
    sandbox = server.sandbox(scenario="demo", now=NOON)
    pages = played(sandbox, name=text.replace("\0", ""))
    file = quote(text)
    form = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{file}"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n'
    upload = {"Content-Type": "multipart/form-data; boundary=b"}
    sandbox.call("POST", "/v1/messaging/media", body=form.encode(), headers=upload)
    latin = text.encode("ascii", "ignore").decode().translate({0: None, 27: None})
    sandbox.call("GET", f"/v1/campaigns/{quote(text, safe='')}?{quote(text)}={quote(text)}", headers={"X-Note": latin})
    sandbox.call("POST", "/v1/campaigns", body=json.dumps({"name": text, "platform": text, "x": {text: text}}).encode())
    sandbox.apply(
        {
            "script": [
                {
                    "on": "listTemplates",
                    "nth": 1,
                    "do": {"reply": {"status": 418, "body": {"code": text, "message": text}}},
                }
            ]
        }
    )
    sandbox.call("GET", "/v1/message-templates")
    hosted = sandbox._backend.local("its listeners").hosted
    hosted.tenant.name = text
    calls = [f"calls/{n}" for n in range(1, sandbox.log.call_count + 1)]
    own = tab(sandbox)
    broken = {}
    for path in (
        *VIEWS,
        *pages.values(),
        *calls,
        f"calls?text={quote(text)}",
        f"objects/{quote(text, safe='')}",
    ):
        page = own.open(path)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        broken[path] = page.evaluate(
            "[...window.broken, ...[...document.querySelectorAll('main img, main iframe, main script, main style, main link')].map((e) => e.outerHTML)]"
        )

    assert {} == {path: found for path, found in broken.items() if found}
    own.open("calls")
    own.press("Go")
    assert [] == own.page.evaluate("window.broken")
    assert [] == [url for url in own.requested if "evil.example" in urlsplit(url).netloc]


ACTIONS = {
    "advance by": ("", "Go"),
    "advance to the next due": ("", "To next due"),
    "advance until idle": ("", "Until idle"),
    "advance to": ("", "Advance"),
    "let the clock run": ("", "Let the clock run"),
    "reset": ("", "Reset the sandbox"),
    "complete": ("session", "Complete"),
    "fail a session": ("session", "Fail"),
    "cancel": ("session", "Cancel as the end user"),
    "expire": ("session", "Expire"),
    "fail a campaign": ("campaign", "Fail"),
    "resend": ("event", "Resend"),
    "recover": ("events", "Recover"),
    "rotate": ("events", "Rotate"),
    "choose": ("choices", "access-denied"),
    "apply": ("scenario", "Apply"),
    "arm": ("scenarios", "Arm"),
    "arm a delivery": ("scenarios", "Arm"),
    "remove a rule": ("", "Remove rule_1"),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_changes_the_state(sandbox: Sandbox, tab: Callable[..., Tab], action: str) -> None:
    view, button = ACTIONS[action]
    pages = played(sandbox)
    if action == "recover":
        sandbox.receive_webhooks(lambda request: 410)
        sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    own = tab()
    page = own.open(pages.get(view, view))
    before = sandbox.call("GET", "/_mock/state").body
    if page.get_by_role("button", name=button, exact=True).count() == 0 and view == "":
        page.locator("#more--title").click()
    if action == "rotate":
        page.locator("#rotate-1 > summary").click()
        page.get_by_label("New secret").fill("whsec_bmV3LXNlY3JldC1vZi10aGUtZW5kcG9pbnQ=")
    found = page.get_by_role("button", name=button)
    (found.nth(1) if action == "arm a delivery" else found.first).click()
    words = own.done()

    assert not words.startswith("Not done"), words
    assert before != sandbox.call("GET", "/_mock/state").body
    assert [] == own.messages


FOCUSED = """(() => {
    const node = document.activeElement, label = node.labels && node.labels[0];
    return (node.getAttribute("aria-label") || (label || node).innerText).split("\\n")[0].trim();
})()"""


def walked(page: Any, presses: int) -> list[str]:
    """The words of what has the focus after each press of Tab."""
    words = []
    for _ in range(presses):
        page.keyboard.press("Tab")
        words.append(page.evaluate(FOCUSED))
    return words


def test_the_keyboard_goes_through_the_page_in_the_order_of_its_documentation(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    created = sandbox.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    sandbox.call("POST", f"/v1/campaigns/{created}/start", json={})
    sandbox.call("GET", "/v1/campaigns/campaign_none")
    own = tab()
    page = own.open()
    views = ["Now", "Calls", "Objects", "Events", "Choices", "Scenarios"]
    moves = ["Advance by", "Go", "To next due", "Until idle", "More"]

    assert ["Skip to the content", "mockserver", sandbox.id, *views, *moves] == walked(page, 14)
    assert ["problem-1"] == [page.evaluate("document.activeElement.id") for _ in walked(page, 1)]
    page.locator("#by--go").focus()
    page.keyboard.press("Enter")
    assert own.done().startswith("Advance by 20m: the last message of Março")
    assert "Go" == page.evaluate(FOCUSED)
    assert ["To next due", "Until idle", "More"] == walked(page, 3)


def refuse(sandbox: Sandbox) -> None:
    """Make two calls that are refused, for two reasons."""
    sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "cadence": 0})
    sandbox.call("GET", "/v1/campaigns/campaign_none")


def test_keys_and_links_choose_the_problem_that_is_shown_in_place(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    refuse(sandbox)
    own = tab()
    page = own.open()
    page.keyboard.press("j")
    page.locator("#problem-2[aria-current]").wait_for()
    second = page.locator("#chosen").inner_text()
    page.keyboard.press("k")
    page.locator("#problem-1[aria-current]").wait_for()
    first = page.locator("#chosen").inner_text()
    page.locator("#problem-2").click()
    page.locator("#problem-2[aria-current]").wait_for()

    assert first != second == page.locator("#chosen").inner_text()
    assert page.url.endswith("/_mock/now?problem=2")
    assert page.locator("kbd").first.is_visible()
    assert [] == own.messages


def test_on_a_phone_the_bar_is_the_clock_and_next_and_a_problem_opens_in_place(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    refuse(sandbox)
    own = tab(viewport={"width": 390, "height": 844})
    page = own.open()
    own.press("To next due")
    buttons = [node.inner_text().strip() for node in page.locator("#bar :is(button, summary):visible").all()]
    bottoms = [page.locator(f"#problem-{number}").bounding_box()["y"] for number in (1, 2)]
    body = page.locator(".chosen").bounding_box()["y"]

    assert ["To next due", "More"] == buttons
    assert bottoms[0] < body < bottoms[1]


def test_a_clock_that_runs_is_frozen(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    sandbox.call("PUT", "/_mock/clock", json={"follow": True})
    own = tab()
    page = own.open()
    page.locator("#more--title").click()
    own.press("Freeze the clock")

    assert sandbox.call("GET", "/_mock/clock").json()["frozen"]


def test_a_refused_action_shows_why_and_changes_nothing(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab()
    page = own.open()
    before = sandbox.call("GET", "/_mock/state").body
    page.get_by_label("Advance by").fill("soon")
    own.press("Go")

    assert "Not done: by: got 'soon'" in page.locator("#status").inner_text()
    assert before == sandbox.call("GET", "/_mock/state").body
    assert "by--go" == page.evaluate("document.activeElement.id")


def test_a_fault_that_the_page_arms_happens_to_the_next_call(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab()
    page = own.open("scenarios")
    page.get_by_label("The next", exact=True).select_option("listCampaigns")
    page.get_by_label("does this").select_option(label="refuse with INTERNAL_ERROR")
    own.press("Arm")

    assert 500 == sandbox.call("GET", "/v1/campaigns").status
    assert 200 == sandbox.call("GET", "/v1/campaigns").status


def test_the_keyboard_is_enough_to_apply_advance_and_resend(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    received: list[Any] = []
    sandbox.receive_webhooks(lambda request: received.append(request) or 204)
    sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    own = tab()
    page = own.open("scenarios/start-timeout-applied")

    def tab_to(element_id: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if element_id == page.evaluate("document.activeElement.id"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none"
                return
        raise AssertionError(f"{element_id} cannot be reached by Tab")

    def enter(words: str) -> None:
        page.keyboard.press("Enter")
        page.locator("#status", has_text=words).wait_for()

    page.keyboard.press("Tab")
    assert "Skip to the content" == page.locator(":focus").inner_text()
    page.keyboard.press("Enter")
    tab_to("apply--go")
    enter("Apply start-timeout-applied: done.")
    assert "apply--go" == page.evaluate("document.activeElement.id")
    page.keyboard.press("Home")
    page.goto(f"{own.base}/_mock/events")
    tab_to("by")
    page.keyboard.press("Control+A")
    page.keyboard.type("5m")
    enter("Advance by 5m")
    tab_to("resend-1--go")
    enter("Resend")

    assert 2 == len(received)
    assert [] == own.messages


def test_beyond_loopback_the_token_is_typed_once_and_is_in_no_page(
    server: MockServer, sandbox: Sandbox, tab: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server._host, "token", "let-me-in-please")
    own = tab()
    page = own.open("calls")
    assert [] == violations(page)
    page.get_by_label("Token").fill("let-me-in")
    page.get_by_role("button", name="Open").click()
    assert page.title().startswith("Error: ")
    page.get_by_label("Token").fill("let-me-in-please")
    page.get_by_role("button", name="Open").click()
    own.press("Go")
    (cookie,) = own.context.cookies()

    assert f"{own.base}/_mock/calls" == page.url
    assert (True, "Strict", own.base.removeprefix(server.url) + "/_mock/") == (
        cookie["httpOnly"],
        cookie["sameSite"],
        cookie["path"],
    )
    assert [] == [url for url in own.requested if "let-me-in" in url]
    assert "let-me-in" not in page.content()
