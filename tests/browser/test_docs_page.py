"""The page of the OpenAPI documents in a real browser: a call is sent from it, and it fits, in both colour schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from mockserver import Sandbox
from tests.browser import tabs
from tests.browser.axe import violations
from tests.browser.conftest import PHONE_PX
from tests.browser.looks import DESKTOP_PX, NARROW_PX

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.deep


class Tab(tabs.Tab):
    """A tab at the page of a sandbox."""

    def __init__(self, browser: Any, sandbox: Sandbox, **options: Any) -> None:
        super().__init__(browser, **options)
        self.sandbox = sandbox

    def open(self, query: str = "") -> Any:
        self.page.goto(f"{self.sandbox.base_url}/_mock/docs{query}")
        return self.page

    def operation(self, operation: str) -> Any:
        """Open an operation, which is closed at first."""
        self.page.locator(f"#{operation} > details").evaluate("(each) => { each.open = true; }")
        return self.page.locator(f"#{operation}")

    def button(self, operation: str) -> Any:
        return self.operation(operation).get_by_role("button", name="Send")

    def send(self, operation: str, status: int) -> str:
        """Press the button of an operation; return what is shown under the status."""
        self.button(operation).click()
        result = self.page.locator(f"#{operation} .result")
        result.locator("strong", has_text=str(status)).wait_for()
        return str(result.inner_text())


@pytest.fixture
def tab(browser: Browser, mockserver: Sandbox) -> Iterator[Callable[..., Tab]]:
    opened = []

    def open_tab(query: str = "", **options: Any) -> Tab:
        opened.append(Tab(browser, mockserver, **options))
        opened[-1].open(query)
        return opened[-1]

    yield open_tab
    for each in opened:
        each.close()


@pytest.mark.mockserver(scenario="demo")
def test_a_call_is_sent_with_the_key_of_the_sandbox_or_the_typed_one_and_its_answer_is_shown(
    mockserver: Sandbox, tab: Callable[..., Tab]
) -> None:
    own = tab()
    shown = own.send("listCampaigns", 200)
    own.page.get_by_label("API key").fill("")
    refused = own.send("listCampaigns", 401)

    assert "API_KEY_MISSING" in refused
    assert "x-mock-reason" in refused
    assert '"campaigns": [' in shown
    assert "application/json; charset=utf-8" in shown
    assert " ms" in shown
    assert [200, 401] == [each["response"]["status"] for each in mockserver.log.journal["exchanges"]]
    assert [message for message in own.messages if "401" not in message] == []  # chromium logs each refused call
    assert [] == [url for url in own.requested if not url.startswith(f"{mockserver.base_url}/")]


@pytest.mark.mockserver(scenario="demo")
def test_a_body_parameters_and_files_are_sent(mockserver: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab()
    own.send("createCampaign", 201)
    campaign = mockserver.call("GET", "/v1/campaigns").json()["campaigns"][0]
    own.operation("readCampaign").get_by_label("id in path").fill(campaign["id"])
    read = own.send("readCampaign", 200)
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"}
    own.page.locator("#uploadMedia input[type=file]").set_input_files(files=[file])
    own.send("uploadMedia", 201)
    own.operation("listMessages").get_by_label("chatId in path").fill("a/b?c#d")
    own.send("listMessages", 404)

    assert campaign["name"] in read
    assert ["createCampaign", "listCampaigns", "readCampaign", "uploadMedia", "listMessages"] == [
        exchange["operation"] for exchange in mockserver.log.journal["exchanges"]
    ]


def test_operations_are_closed_until_a_link_or_a_click_opens_one(tab: Callable[..., Tab]) -> None:
    own = tab("#startCampaign")
    opened = "[...document.querySelectorAll('.whole[open]')].map((each) => each.parentElement.id)"
    by_address = own.page.evaluate(opened)
    own.page.get_by_role("link", name="List campaigns", exact=True).click()
    own.page.locator("#listCampaigns > details[open]").wait_for()
    own.page.locator("#readCampaign > details > summary").click()

    assert ["startCampaign"] == by_address
    assert ["listCampaigns", "readCampaign", "startCampaign"] == sorted(own.page.evaluate(opened))


def test_a_command_of_the_control_plane_is_sent(mockserver: Sandbox, tab: Callable[..., Tab]) -> None:
    own = tab("?plane=control")
    own.operation("setClock").get_by_label("Body").fill('{"freeze": "2031-05-01T12:00:00Z"}')
    shown = own.send("setClock", 200)
    own.operation("readJournal").get_by_label("operation in query").select_option("listCampaigns")
    own.send("readJournal", 200)

    assert '"frozen": true' in shown
    assert "2031-05-01T12:00:00Z" == mockserver.call("GET", "/_mock/clock").json()["now"][:19] + "Z"
    assert [] == own.messages
    assert own.requested[-1].endswith("/_mock/journal?operation=listCampaigns")


def test_beyond_loopback_the_token_is_typed_once_and_the_cookie_goes_to_the_control_plane_alone(
    mockserver: Sandbox, tab: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mockserver._hosted.host, "token", "let-me-in-please")
    own = tab("?plane=control")
    own.page.get_by_label("Token").fill("let-me-in-please")
    own.page.get_by_role("button", name="Open").click()
    own.page.locator("#readClock").wait_for()
    requests: list[Any] = []
    own.page.on("request", lambda sent: requests.append(sent))
    shown = own.send("readClock", 200)
    changed = own.send("setClock", 200)
    opened = own.page.url
    own.open()
    refused = own.send("listCampaigns", 401)

    assert f"{mockserver.base_url}/_mock/docs?plane=control" == opened
    assert "" == own.page.get_by_label("API key").input_value()
    assert '"now": ' in shown and '"frozen": ' in changed
    assert "API_KEY_MISSING" in refused
    with_cookie = {sent.url.removeprefix(mockserver.base_url): "cookie" in sent.all_headers() for sent in requests}
    assert (True, False) == (with_cookie["/_mock/clock"], with_cookie["/v1/campaigns"])
    assert [] == [url for url in own.requested if "let-me-in" in url]


@pytest.mark.parametrize("query", ["", "?plane=control"], ids=["public", "control"])
@pytest.mark.parametrize("size", [NARROW_PX, PHONE_PX, DESKTOP_PX], ids=["320", "390", "1280"])
def test_the_page_is_never_wider_than_the_screen(tab: Callable[..., Tab], query: str, size: int) -> None:
    own = tab(query, viewport=size)
    own.unfold()
    own.page.evaluate("document.querySelectorAll('.result').forEach((each) => { each.textContent = 'x'.repeat(999); })")

    assert 0 == own.excess_px()
    outside = (
        "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert 0 == own.page.evaluate(outside)
    assert [] == own.messages


# Each scheme and each width once a plane: axe reads a page for ten seconds.
@pytest.mark.parametrize(
    ("query", "scheme", "size"),
    [
        ("", "light", DESKTOP_PX),
        ("", "dark", NARROW_PX),
        ("?plane=control", "light", NARROW_PX),
        ("?plane=control", "dark", DESKTOP_PX),
    ],
)
def test_no_rule_of_accessibility_is_broken_in_either_colour_scheme(
    tab: Callable[..., Tab], query: str, scheme: str, size: int
) -> None:
    own = tab(query, color_scheme=scheme, viewport=size)
    own.unfold()
    own.send("listRules" if query else "listCampaigns", 200)

    assert [] == violations(own.page)
    ground = own.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ("rgb(17, 22, 28)" if scheme == "dark" else "rgb(243, 245, 248)") == ground


@pytest.mark.mockserver(scenario="demo")
def test_the_keyboard_is_enough(tab: Callable[..., Tab]) -> None:
    own = tab()
    own.page.keyboard.press("Tab")
    assert "Skip to the content" == own.page.locator(":focus").inner_text()
    own.page.keyboard.press("Enter")
    own.page.keyboard.press("Tab")
    assert own.page.locator("#key:focus").count()
    assert "3px" == own.page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    for part in ("> details > summary", "button"):
        for _ in range(20):
            own.page.keyboard.press("Tab")
            if own.page.locator(f"#listTemplates {part}:focus").count():
                break
        own.page.keyboard.press("Enter")

    own.page.locator("#listTemplates .result strong", has_text="200").wait_for()
    assert own.page.locator("#listTemplates button:focus").count()


def test_without_javascript_the_page_is_complete_and_has_no_form(browser: Browser, mockserver: Sandbox) -> None:
    own = Tab(browser, mockserver, java_script_enabled=False)
    page = own.open()
    page.locator("#createCampaign > details > summary").click()
    page.locator("#createCampaign .answer summary", has_text="400").click()

    assert page.locator("#createCampaign .answer[open] pre").first.is_visible()
    assert not page.locator("#key").is_visible()
    assert 0 == page.locator("form:visible").count()
    assert page.get_by_text("Without JavaScript this page is complete").is_visible()
    own.close()
