"""The trace of a test in a real browser, as a file: its slider, its safety, and that everybody can read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockserver import Sandbox
from mockserver.testing.report import trace_page
from mockserver.testing.report.trace import trace
from tests.browser.axe import violations
from tests.browser.looks import DESKTOP_PX, LOOKS
from tests.server.hostile import TEXTS
from tests.testing.test_replay import NOW
from tests.testing.test_traces import CAMPAIGN, SEED, campaigns, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.deep

EVIL = (
    "</script><script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title = 'run'\">",
    "\"'><svg onload=\"document.title = 'run'\">",
    "__proto__",
    "constructor",
)


class Tab:
    """A tab at a trace, what the browser complains about, and the addresses that it requests."""

    def __init__(self, browser: Any, file: Path, fragment: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": DESKTOP_PX, **options})
        self.context.set_default_timeout(10_000)
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requested: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.goto(file.as_uri() + fragment)

    def world(self) -> str:
        return str(self.page.locator(".objects").inner_text())

    def position(self) -> str:
        return str(self.page.locator("output").inner_text())


@pytest.fixture
def open_trace(browser: Browser, mockserver: Sandbox, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    tabs = []

    def start(fragment: str = "", **options: Any) -> Tab:
        file = tmp_path / "trace.html"
        file.write_bytes(trace_page.render(trace(run_of(mockserver, name=options.pop("name", "test_it")))))
        tabs.append(Tab(browser, file, fragment, **options))
        return tabs[-1]

    yield start
    for each in tabs:
        each.context.close()


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_the_slider_shows_the_state_after_each_step(mockserver: Sandbox, open_trace: Callable[..., Tab]) -> None:
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    mockserver.advance("1h")
    tab = open_trace()

    seen = [(tab.position(), created in tab.world())]
    tab.page.locator("#at").focus()
    for _ in range(3):
        tab.page.keyboard.press("ArrowLeft")
        seen.append((tab.position(), created in tab.world()))
    assert [("3 of 3", True), ("2 of 3", True), ("1 of 3", True), ("0 of 3", False)] == seen
    tab.page.get_by_role("button", name="Forward").click()
    tab.page.get_by_role("button", name="Forward").click()
    assert "changed, was draft" in tab.world()
    assert "2: 12:00:00.000 #2 startCampaign POST" in tab.page.locator("#at").get_attribute("aria-valuetext")
    assert "step" == tab.page.locator("#step-2").get_attribute("aria-current")
    assert NOW[:19] == tab.page.locator(".moment").inner_text()[:19]
    assert [] == tab.messages


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_fragment_and_a_call_that_is_opened_lead_to_their_step(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    for _ in range(3):
        mockserver.call("GET", "/v1/campaigns")
        mockserver.advance("1s")
    tab = open_trace("#call-2")

    seen = [tab.position()]
    tab.page.locator("#call-3 summary").click()
    tab.page.locator("#step-5[aria-current]").wait_for()
    seen.append(tab.position())
    tab.page.evaluate("location.hash = '#step-1'")
    tab.page.locator("#step-1[aria-current]").wait_for()

    assert ["3 of 6", "5 of 6", "1 of 6"] == [*seen, tab.position()]


def steps_of(mockserver: Sandbox) -> None:
    """Fifty reads that are equal, and a refused call after each ten others."""
    for _ in range(50):
        mockserver.call("GET", "/v1/campaigns")
    for _ in range(3):
        mockserver.call("GET", "/v1/campaigns/campaign_x")
        for _ in range(10):
            mockserver.call("GET", "/v1/campaigns")
            mockserver.call("GET", "/v1/message-templates")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_jump_to_a_call_ends_with_the_call_at_the_top(
    mockserver: Sandbox, open_trace: Callable[..., Tab], width: int
) -> None:
    steps_of(mockserver)
    for call in (40, 72):
        tab = open_trace(f"#call-{call}", viewport={"width": width, "height": 800})
        tab.page.locator(f"#call-{call}[open]").wait_for()
        tab.page.wait_for_function(f"Math.abs(document.getElementById('call-{call}').getBoundingClientRect().top) < 60")


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_the_keys_and_the_next_failure_move_the_slider_and_the_list(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    steps_of(mockserver)
    tab = open_trace("#step-1")
    seen = []
    for press in ("j", "j", "k"):
        tab.page.keyboard.press(press)
        seen.append(tab.position().split()[0])
    for _ in range(4):
        tab.page.get_by_role("button", name="Next failure").click()
        seen.append(tab.position().split()[0])
    tab.page.locator("#call-60 summary").click()

    assert ["2", "3", "2", "51", "72", "93", "51"] == seen
    assert "60 of 113" == tab.position()
    assert "step" == tab.page.locator("#step-60").get_attribute("aria-current")
    assert (
        "mockserver open trace.html --at 60 --port 5055" == tab.page.locator("[aria-labelledby=again] pre").inner_text()
    )


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_link_to_a_call_opens_it_and_the_report_is_copied_with_its_problems(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    steps_of(mockserver)
    tab = open_trace(permissions=["clipboard-read", "clipboard-write"])
    tab.page.get_by_role("button", name="Copy the report").click()
    tab.page.get_by_role("button", name="Copied").wait_for()
    copied = tab.page.evaluate("navigator.clipboard.readText()")
    tab.page.locator(".told a", has_text="#72").click()
    tab.page.locator("#call-72[open]").wait_for()

    assert ["AssertionError: assert 1 == 2", "what happened:"] == [
        words for words in ("AssertionError: assert 1 == 2", "what happened:") if words in copied
    ]
    assert "72" == tab.position().split()[0]
    assert "JavaScript" not in tab.page.locator("main").inner_text()
    assert [] == tab.messages


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_equal_steps_are_folded_and_a_search_and_the_failures_alone_show_theirs(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    steps_of(mockserver)
    tab = open_trace()
    fold = tab.page.locator(".fold > details > summary")
    search, only = tab.page.get_by_label("Search"), tab.page.get_by_label("Only failures")

    assert ["listCampaigns GET /v1/campaigns 200 ×50"] == [text.rpartition(" ")[0] for text in fold.all_inner_texts()]
    assert not tab.page.locator("#call-40").is_visible()
    search.fill("message-templates")
    assert 30 == tab.page.locator(".steps-of-run details[id]:visible").count()
    search.fill("")
    only.check()
    assert ["call-51", "call-72", "call-93"] == [
        each.get_attribute("id") for each in tab.page.locator(".steps-of-run details[id]:visible").all()
    ]
    assert [] == tab.messages


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_changed_record_shows_its_changed_fields_and_all_on_request(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    tab = open_trace("#step-2")
    record = tab.page.locator(".objects details details", has_text=created).first

    assert "changed, was draft" in record.inner_text()
    assert "promo" not in record.locator("dl").inner_text()
    tab.page.get_by_label("All fields").check()
    assert "promo" in record.locator("dl").inner_text()
    assert not tab.page.locator(".objects b", has_text="t1").first.is_visible()


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_each_changed_member_of_a_field_shows_its_former_value(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    mockserver.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    mockserver.advance(seconds=10)
    mockserver.advance(minutes=30)
    tab = open_trace("#step-5")
    execution = tab.page.locator(".objects details details", has_text="sends").first

    assert re.search(r"changed, sent was \d+, failed was \d+", execution.inner_text())


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_no_rule_of_accessibility_is_broken_and_nothing_is_wider_than_the_screen(
    mockserver: Sandbox, open_trace: Callable[..., Tab], look: str
) -> None:
    mockserver.admin.set_tenant(name="Associação-Interestadual-de-Odontologia-Reconstrutiva-" * 3)
    campaigns(mockserver, 12)
    mockserver.call("POST", "/v1/campaigns", json={"name": "x" * 300})
    tab = open_trace("#step-2", **LOOKS[look])

    assert [] == violations(tab.page)
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert [] == violations(tab.page)
    wide, seen = tab.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert (wide, []) == (seen, tab.messages)


@pytest.mark.mockserver(now=NOW)
def test_no_text_of_a_run_is_run(mockserver: Sandbox, open_trace: Callable[..., Tab]) -> None:
    for text in filter(str.strip, (*EVIL, *TEXTS)):
        mockserver.call("POST", "/v1/campaigns", json={"name": text, text: text, **CAMPAIGN})
        mockserver.admin.set_tenant(name=text)
    for id in EVIL:
        mockserver.apply(given={"templates": [{"id": id, "name": id}], "tenants": [{"id": f"tenant {id}", "name": id}]})
    tab = open_trace(name=EVIL[0])
    for position in range(0, len(mockserver.log.steps) + mockserver.log.call_count, 7):
        tab.page.evaluate("(at) => { const input = document.getElementById('at'); input.value = at; input.dispatchEvent(new Event('input')); }", position)  # fmt: skip

    assert f"{EVIL[0]} · mockserver trace" == tab.page.title()
    tab.page.evaluate("location.hash = '#step-9999'")
    assert [1] * len(EVIL) == [tab.page.locator(".objects section", has_text="templates (").locator("b", has_text=re.compile(f"^{re.escape(id)}$")).count() for id in EVIL]  # fmt: skip
    assert 0 == tab.page.locator("main :is(img, svg, script)").count()
    assert [] == tab.messages
    assert 1 == len(tab.requested)


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_without_javascript_the_history_and_the_last_state_can_be_read(
    mockserver: Sandbox, open_trace: Callable[..., Tab]
) -> None:
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    tab = open_trace(java_script_enabled=False)

    tab.page.locator("#call-1 summary").click()
    text = tab.page.locator("main").inner_text()
    assert '"name": "promo"' in text
    assert f"campaigns {created}: status draft → processing" in text
    assert "The state at the end." in text
    assert not tab.page.locator(".slider").is_visible()
    tab.page.locator(".objects summary", has_text=created).click()
    assert "processing" in tab.page.locator(".objects details[open]").inner_text()


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_on_a_server_the_slider_serves_the_state_of_its_position(browser: Browser, mockserver: Sandbox) -> None:
    campaigns(mockserver, 4)
    ids, states = [], []
    for number in range(2):
        mockserver.advance(minutes=5 * number + 1)
        states.append(mockserver.call("GET", "/_mock/state").body)
        ids.append(mockserver.call("POST", "/_mock/checkpoints", json={}).json()["checkpointId"])
    html = trace_page.render(trace(run_of(mockserver))).decode()
    mockserver._hosted.trace_page = trace_page.served(html, ids)
    page = browser.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"{mockserver.base_url}/_mock/trace#step-0")
    assert [] == violations(page)
    page.get_by_role("button", name="Serve this state").press("Enter")
    page.get_by_text("The mock has the state after step 0.").wait_for()
    served = mockserver.call("GET", "/_mock/state").body
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("button", name="Serve this state").click()
    page.get_by_text("The mock has the state after step 1.").wait_for()

    assert states == [served, mockserver.call("GET", "/_mock/state").body]
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("button", name="Serve this state").click()
    page.get_by_text("Not served: checkpoint: got 'undefined'").wait_for()
    page.get_by_role("link", name="Dashboard").click()
    page.get_by_text("The trace of the run").wait_for(state="attached")
    assert [] == [line for line in messages if "404" not in line]
    page.close()
