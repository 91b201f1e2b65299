"""The dashboard in a real browser: live under traffic, undone byte for byte, closed to scripts of others, open to everyone."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self
from urllib.parse import quote, urlsplit

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.server.dashboard.paths import VIEWS
from tests.browser.axe import violations

pytestmark = pytest.mark.deep

NARROW_PX, DESKTOP_PX = {"width": 320, "height": 800}, {"width": 1280, "height": 900}
TABLET_PX = {"width": 768, "height": 1024}
NOON = "2026-03-01T12:00:00Z"
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
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

    def open(self, path: str = "", *, is_live: bool = True) -> Any:
        self.page.goto(f"{self.base}/_mock/{path}")
        if is_live:
            self.page.locator("#link", has_text="live").wait_for()
        return self.page

    def press(self, name: str, **options: Any) -> None:
        """Press a button, and wait for the words that follow."""
        self.page.get_by_role("button", name=name, **options).first.click()
        self.done()

    def done(self) -> str:
        self.page.locator("#status:not(:empty)").wait_for()
        return str(self.page.locator("#status").inner_text())

    @property
    def new(self) -> int:
        """The number of the button that counts what is new."""
        button = self.page.locator("#fresh")
        return int(button.inner_text().split()[0].replace(",", "")) if button.is_visible() else 0

    def wait_for_new(self, count: int) -> None:
        self.page.locator("#fresh", has_text=f"{count:,} new").wait_for()


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


class Traffic:
    """A client that sends calls at a rate, over one connection, until it is stopped."""

    def __init__(self, sandbox: Sandbox, per_second: int = 500) -> None:
        self._url = sandbox.base_url + "/v1/message-templates"
        self._headers = {"X-API-Key": sandbox.secret_key}
        self._pause = threading.Event()
        self._gap = 1 / per_second
        self._thread = threading.Thread(target=self._run)
        self.sent = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pause.set()
        self._thread.join()

    def _run(self) -> None:
        with requests.Session() as session:
            while not self._pause.wait(self._gap):
                session.get(self._url, headers=self._headers, timeout=10)
                self.sent += 1


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width_px", [390, 820, 1440])
def test_the_pages_without_a_sandbox_and_of_a_refusal_are_without_a_violation_and_fit(
    server: MockServer, sandbox: Sandbox, tab: Callable[..., Tab], width_px: int, scheme: str
) -> None:
    labels = {"test": f"checkout::test_{'of_a_long_name_' * 6}"}
    created = requests.post(f"{server.url}/_mock/sandboxes", json={"labels": labels}, timeout=60).json()
    requests.delete(f"{server.url}/_mock/sandboxes/{created['sandboxId']}", timeout=60)
    pages = [
        f"{created['baseUrl']}/_mock/",
        f"{server.url}/sandboxes/sandbox_99/_mock/",
        f"{sandbox.base_url}/_mock/calls/9",
    ]
    own = tab(color_scheme=scheme, viewport={"width": width_px, "height": 844})
    broken = {}
    for url in pages:
        own.page.goto(url)
        wide = own.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        broken[url] = [*violations(own.page), *([f"{wide} px too wide"] if wide > 0 else [])]

    assert {} == {url: lines for url, lines in broken.items() if lines}


def test_the_newest_axe_core_of_npm_finds_no_violation_either(
    sandbox: Sandbox, tab: Callable[..., Tab], axe_of_npm: str
) -> None:
    pages = played(sandbox)
    own = tab()
    broken = {}
    for path in (*VIEWS, *pages.values(), "nonsense", "docs"):
        page = own.open(path, is_live=path not in ("nonsense", "docs"))
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        broken[path] = violations(page, axe_of_npm)

    assert {} == {path: lines for path, lines in broken.items() if lines}


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


def test_on_a_phone_the_content_begins_in_the_first_third_and_what_is_new_stays_in_sight(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    played(sandbox)
    own = tab(viewport=NARROW_PX)
    page = own.open("calls")
    begin = page.evaluate("document.querySelector('h1').getBoundingClientRect().top")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    sandbox.call("GET", "/v1/campaigns")
    own.wait_for_new(1)

    assert begin < NARROW_PX["height"] / 3
    assert page.evaluate("document.getElementById('fresh').getBoundingClientRect().bottom") <= NARROW_PX["height"]


def test_the_number_of_a_call_is_on_one_line(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    for _ in range(12):
        sandbox.call("GET", "/v1/campaigns/a-campaign-whose-name-is-as-long-as-the-id-of-a-campaign")
    page = tab().open("calls")

    assert 1 == page.evaluate("document.getElementById('call-12').getClientRects().length")


def test_forced_colours_keep_an_edge_on_each_button_and_badge(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    pages = played(sandbox)
    own = tab(forced_colors="active", reduced_motion="reduce", viewport=TABLET_PX)
    bare = """[...document.querySelectorAll("button:not([hidden]), .badge")].filter((node) =>
        node.offsetParent && parseFloat(getComputedStyle(node).borderTopWidth) === 0).length"""
    broken = {}
    for path in (*VIEWS, *pages.values()):
        page = own.open(path)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        broken[path] = (page.evaluate(bare), max(0, wide), violations(page))

    assert {} == {path: found for path, found in broken.items() if found != (0, 0, [])}


@pytest.mark.parametrize(
    "path", ["", "calls", "calls/1", "objects", "events", "scenarios", "choices", "conduct", "timeline"]
)
def test_without_javascript_each_view_can_be_read_and_shows_no_action(
    sandbox: Sandbox, tab: Callable[..., Tab], path: str
) -> None:
    sandbox.call("GET", "/v1/campaigns")
    page = tab(java_script_enabled=False).open(path, is_live=False)

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
    hosted.checkpoints.add(hosted.sandbox.checkpoint(), text)
    calls = [f"calls/{n}" for n in range(1, sandbox.log.call_count + 1)]
    own = tab(sandbox)
    broken = {}
    for path in (
        *VIEWS,
        *pages.values(),
        *calls,
        f"calls?text={quote(text)}&code={quote(text)}",
        f"objects/{quote(text, safe='')}",
    ):
        page = own.open(path, is_live=False)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        broken[path] = page.evaluate(
            "[...window.broken, ...[...document.querySelectorAll('main img, main iframe, main script, main style, main link')].map((e) => e.outerHTML)]"
        )

    assert {} == {path: found for path, found in broken.items() if found}
    own.open("calls")
    own.press("Go")
    assert [] == own.page.evaluate("window.broken")
    assert [] == [url for url in own.requested if "evil.example" in urlsplit(url).netloc]


def test_under_traffic_the_rows_in_view_do_not_move_and_the_count_is_right(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    for _ in range(60):
        sandbox.call("GET", "/v1/campaigns")
    own = tab()
    page = own.open("calls")
    page.evaluate("document.getElementById('call-20').scrollIntoView({ block: 'center' })")
    page.locator("#call-20").focus()
    place = "JSON.stringify([document.getElementById('call-20').getBoundingClientRect(), scrollY, document.querySelector('main').innerText])"
    before = page.evaluate(place)
    with Traffic(sandbox) as traffic:
        page.locator("#fresh", has_text=re.compile("[3-9][0-9][0-9] new")).wait_for()
        assert before == page.evaluate(place)
        assert [] == violations(page)
    own.wait_for_new(traffic.sent)

    assert before == page.evaluate(place)
    assert "call-20" == page.evaluate("document.activeElement.id")
    page.locator("#fresh").click()
    page.locator(f"#call-{60 + traffic.sent}").wait_for()
    assert 0 == own.new


def test_a_pause_and_a_lost_stream_leave_no_gap(server: MockServer, sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab()
    page = own.open("calls")
    sandbox.call("GET", "/v1/campaigns")
    own.wait_for_new(1)
    page.get_by_role("button", name="Pause").click()
    page.locator("#link", has_text="paused").wait_for()
    for _ in range(5):
        sandbox.call("GET", "/v1/campaigns")
    assert 1 == own.new
    page.get_by_role("button", name="Pause").click()
    own.wait_for_new(6)

    deferred: Any = server._server
    socket_server = deferred._server
    for connection in list(socket_server._open):
        socket_server._loop.call_soon_threadsafe(connection.abort)
    for _ in range(4):
        sandbox.call("GET", "/v1/campaigns")
    own.wait_for_new(10)


@pytest.mark.parametrize("query", ["refused=1", "text=campaign_none&operation=readCampaign", "code=CAMPAIGN_NOT_FOUND"])
def test_with_a_filter_the_calls_that_match_it_are_counted_as_new(
    sandbox: Sandbox, tab: Callable[..., Tab], query: str
) -> None:
    own = tab()
    page = own.open(f"calls?{query}")
    with Traffic(sandbox) as traffic:
        for sent in range(1, 4):
            sandbox.call("GET", "/v1/campaigns/campaign_none")
            own.wait_for_new(sent)
    assert traffic.sent > 3
    page.get_by_role("button", name="Pause").click()
    sandbox.call("GET", "/v1/campaigns/campaign_none")
    page.get_by_role("button", name="Pause").click()
    own.wait_for_new(4)
    page.locator("#fresh").click()
    page.locator("#fresh").wait_for(state="hidden")

    assert 4 == page.locator("table.list tbody tr").count()


def test_four_pages_under_traffic_count_right_and_none_stops(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    pages = [tab() for _ in range(4)]
    for own, path in zip(pages, ("", "timeline", "calls", "calls?refused=1"), strict=True):
        own.open(path)
    with Traffic(sandbox) as traffic:
        pages[2].page.locator("#fresh", has_text=re.compile("[1-9][0-9][0-9][0-9] new|[0-9],[0-9]+ new")).wait_for(
            timeout=300_000
        )
    sandbox.call("GET", "/v1/campaigns/campaign_none")
    for own, new in zip(pages, (traffic.sent + 1, None, traffic.sent + 1, 1), strict=True):
        if new is not None:
            own.wait_for_new(new)

    assert ["live"] * 4 == [own.page.locator("#link").inner_text() for own in pages]
    assert [[]] * 4 == [own.messages for own in pages]


def test_what_is_shown_on_request_has_the_number_of_failing_endpoints(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    sandbox.receive_webhooks(lambda request: 503)
    own = tab()
    page = own.open("calls")
    sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    own.wait_for_new(1)
    page.locator("#fresh").click()
    page.locator("#call-1").wait_for()

    assert "Events 1" == page.locator("nav a", has_text="Events").inner_text().splitlines()[0]
    assert page.title().startswith("(1) Calls")


def test_the_clock_is_shown_live(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    page = tab().open()
    sandbox.advance(minutes=7)

    page.locator("#now", has_text="12:07:00").wait_for()


def test_a_state_that_is_restored_by_another_client_is_announced(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    page = tab().open("calls")
    sandbox.call("POST", "/_mock/reset")

    page.locator("#fresh", has_text="The state was restored").wait_for()


def test_two_sandboxes_open_side_by_side_never_mix(
    server: MockServer, sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    other = server.sandbox(scenario="demo", now=NOON)
    one, two = tab(), tab(other)
    one.open("calls")
    two.open("calls")
    for _ in range(3):
        sandbox.call("GET", "/v1/campaigns")
    other.call("GET", "/v1/campaigns")
    one.wait_for_new(3)
    two.wait_for_new(1)
    one.press("Go")

    assert ["2026-03-01T12:20:00+00:00", "2026-03-01T12:00:00+00:00"] == [
        sandbox.now.isoformat(),
        other.now.isoformat(),
    ]
    assert {one.base, two.base} == {url.partition("/_mock/")[0] for each in (one, two) for url in each.requested}


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
def test_undo_of_an_action_restores_equal_bytes_of_the_state(
    sandbox: Sandbox, tab: Callable[..., Tab], action: str
) -> None:
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
    after = sandbox.call("GET", "/_mock/state").body
    page.locator("#undo--title").click()
    page.locator("#undo-1").click()
    page.locator("#status", has_text="Undo").wait_for()

    assert not words.startswith("Not done"), words
    assert before != after
    assert before == sandbox.call("GET", "/_mock/state").body
    assert [] == own.messages


def test_an_advance_lists_by_name_what_it_caused(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    created = sandbox.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    sandbox.call("POST", f"/v1/campaigns/{created}/start", json={})
    own = tab()
    own.open("calls")
    own.press("Go")

    assert "Advance by 20m: the last message of Março." == own.page.locator("#status").inner_text()


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
    views = ["Now", "Timeline", "Calls", "Objects", "Events", "Conduct", "Choices", "Scenarios", "API"]
    moves = ["Advance by", "Go", "To next due", "Until idle", "More"]

    assert ["Skip to the content", "mockserver", sandbox.id, *views, *moves, "Pause"] == walked(page, 18)
    assert ["problem-1"] == [page.evaluate("document.activeElement.id") for _ in walked(page, 1)]
    page.locator("#by--go").focus()
    page.keyboard.press("Enter")
    assert own.done().startswith("Advance by 20m: the last message of Março")
    assert "Go" == page.evaluate(FOCUSED)
    assert ["To next due", "Until idle", "More", "Undo", "Pause"] == walked(page, 5)


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


def test_without_javascript_a_link_chooses_the_problem(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    refuse(sandbox)
    page = tab(java_script_enabled=False).open(is_live=False)
    page.locator("#problem-2").click()

    assert page.locator("#problem-2[aria-current]").inner_text().startswith(page.locator("#chosen").inner_text())


def test_a_key_copies_the_curl_of_the_first_call(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    refuse(sandbox)
    own = tab(permissions=["clipboard-read", "clipboard-write"])
    page = own.open()
    page.keyboard.press("c")
    assert "Copied." == own.done()

    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"{sandbox.base_url}/v1/campaigns" in copied
    assert f"X-API-Key: {sandbox.secret_key}" in copied


def test_a_key_leads_to_the_latest_undo_but_not_while_a_field_is_typed_into(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    own = tab()
    page = own.open()
    own.press("Go")
    page.locator("#by").press("u")
    assert "by" == page.evaluate("document.activeElement.id")
    page.locator("#content").focus()
    page.keyboard.press("u")
    assert "undo-1" == page.evaluate("document.activeElement.id")
    page.keyboard.press("Enter")
    page.locator("#status", has_text="Undo").wait_for()

    assert NOON == f"{sandbox.now:%Y-%m-%dT%H:%M:%SZ}"


def test_on_a_phone_the_bar_is_the_clock_next_and_undo_and_a_problem_opens_in_place(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    refuse(sandbox)
    own = tab(viewport={"width": 390, "height": 844})
    page = own.open()
    own.press("To next due")
    buttons = [node.inner_text().strip() for node in page.locator("#bar :is(button, summary):visible").all()]
    bottoms = [page.locator(f"#problem-{number}").bounding_box()["y"] for number in (1, 2)]
    body = page.locator(".chosen").bounding_box()["y"]

    assert ["To next due", "More", "Undo"] == buttons
    assert bottoms[0] < body < bottoms[1]


def test_paper_has_no_button_and_what_is_folded(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    refuse(sandbox)
    page = tab().open("calls/1")
    page.emulate_media(media="print")

    assert 0 == page.locator("button:visible").count()
    assert page.get_by_text("def test_create_campaign").is_visible()


def test_escape_closes_what_is_open_and_what_is_new_leads_to_the_content(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    own = tab()
    page = own.open()
    page.locator("#more--title").focus()
    page.keyboard.press("Enter")
    inside = walked(page, 1)
    page.keyboard.press("Escape")
    back = page.evaluate(FOCUSED)
    page.keyboard.press("Shift+Tab")
    before = page.evaluate(FOCUSED)
    sandbox.call("GET", "/v1/campaigns")
    own.wait_for_new(1)
    page.locator("#more--title").focus()
    assert ["1 new"] == walked(page, 1)
    page.keyboard.press("Enter")
    page.locator(".story a").first.wait_for()

    assert (["Advance to"], "More", "Until idle") == (inside, back, before)
    assert "content" == page.evaluate("document.activeElement.id")


def test_a_clock_that_runs_is_frozen_and_undone(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    sandbox.call("PUT", "/_mock/clock", json={"follow": True})
    own = tab()
    page = own.open()
    page.locator("#more--title").click()
    own.press("Freeze the clock")
    assert sandbox.call("GET", "/_mock/clock").json()["frozen"]
    page.locator("#undo--title").click()
    page.locator("#undo-1").click()
    page.locator("#status", has_text="Undo").wait_for()

    assert not sandbox.call("GET", "/_mock/clock").json()["frozen"]


def test_a_refused_action_shows_why_and_changes_nothing(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab()
    page = own.open()
    before = sandbox.call("GET", "/_mock/state").body
    page.get_by_label("Advance by").fill("soon")
    own.press("Go")

    assert "Not done: by: got 'soon'" in page.locator("#status").inner_text()
    assert before == sandbox.call("GET", "/_mock/state").body
    assert "by--go" == page.evaluate("document.activeElement.id")


def test_an_action_that_removes_what_its_page_shows_can_be_undone_there(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    campaign = sandbox.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
    own = tab()
    page = own.open(f"objects/{campaign}")
    page.locator("#more--title").click()
    own.press("Reset the sandbox")
    refused = page.locator("h1").inner_text()
    page.locator("#undo--title").click()
    page.locator("#undo-1").click()
    page.locator("#status", has_text="Undo").wait_for()

    assert f"Refused: GET /_mock/objects/{campaign}" == refused
    assert "Refused" not in page.locator("h1").inner_text()


def test_an_action_on_a_closed_sandbox_ends_at_the_page_that_names_its_end(
    sandbox: Sandbox, tab: Callable[..., Tab]
) -> None:
    page = tab().open()
    sandbox.close()
    page.get_by_role("button", name="Go").first.click()
    page.locator("h1", has_text=f"{sandbox.id} was closed on").wait_for()

    assert "Its test or another client has closed it." in page.locator("main").inner_text()


def test_a_resend_is_seen_to_arrive(sandbox: Sandbox, tab: Callable[..., Tab]) -> None:
    received: list[Any] = []
    sandbox.receive_webhooks(lambda request: received.append(request) or 204)
    sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    own = tab()
    own.open("events")
    own.press("Resend")

    assert 2 == len(received)
    assert "delivered (answer 204)" in own.page.locator("#status").inner_text()
    assert own.page.get_by_text("2 attempts, answer 204").is_visible()


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
    page.locator("#link", has_text="live").wait_for()
    tab_to("by")
    page.keyboard.press("Control+A")
    page.keyboard.type("5m")
    enter("Advance by 5m")
    before = sandbox.call("GET", "/_mock/state").body
    tab_to("resend-1--go")
    enter("Resend")
    assert 2 == len(received)
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if "undo--title" == page.evaluate("document.activeElement.id"):
            break
    page.keyboard.press("Enter")
    tab_to("undo-1")
    enter("Undo: resend")

    assert before == sandbox.call("GET", "/_mock/state").body
    assert [] == own.messages


def test_a_frame_shows_nothing_of_the_page(
    sandbox: Sandbox, tab: Callable[..., Tab], shop: Callable[[str], str]
) -> None:
    own = tab()
    own.page.goto(shop(f"<iframe src='{own.base}/_mock/' width=300 height=300></iframe>"))

    assert "chrome-error://chromewebdata/" == own.page.frames[1].url


def test_a_form_of_another_site_changes_nothing(
    sandbox: Sandbox, tab: Callable[..., Tab], shop: Callable[[str], str]
) -> None:
    before = sandbox.call("POST", "/_mock/clock/advance", json={"by": "1m"}).json()["now"]
    own = tab()
    own.page.goto(shop(f"<form method=post action='{own.base}/_mock/reset'><button>Win</button></form>"))
    own.page.get_by_role("button").click()
    own.page.get_by_text("MOCK_").first.wait_for()

    assert before == sandbox.call("GET", "/_mock/clock").json()["now"]


def test_beyond_loopback_the_token_is_typed_once_and_is_in_no_page(
    server: MockServer, sandbox: Sandbox, tab: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server._host, "token", "let-me-in-please")
    own = tab()
    page = own.open("calls", is_live=False)
    assert [] == violations(page)
    page.get_by_label("Token").fill("let-me-in")
    page.get_by_role("button", name="Open").click()
    assert page.title().startswith("Error: ")
    page.get_by_label("Token").fill("let-me-in-please")
    page.get_by_role("button", name="Open").click()
    page.locator("#link", has_text="live").wait_for()
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
    page.goto(f"{own.base}/_mock/docs?plane=control")
    assert "control plane" in page.locator("h1").inner_text()
