"""The trace of a test in a real browser, as a file: its links, its safety, and that everybody can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockserver import Sandbox
from mockserver.report.trace_page import render
from tests.browser.axe import violations
from tests.browser.looks import LOOKS
from tests.browser.tabs import Tab
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


@pytest.fixture
def open_trace(browser: Browser, mockserver: Sandbox, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    opened: list[Tab] = []

    def start(fragment: str = "", **options: Any) -> Tab:
        file = tmp_path / "trace.html"
        file.write_bytes(render(run_of(mockserver, name=options.pop("name", "test_it"))))
        opened.append(Tab(browser, **options))
        opened[-1].page.goto(file.as_uri() + fragment)
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def steps_of(mockserver: Sandbox) -> None:
    """Fifty reads that are equal, and a refused call after each ten others."""
    for _ in range(50):
        mockserver.call("GET", "/v1/campaigns")
    for _ in range(3):
        mockserver.call("GET", "/v1/campaigns/campaign_x")
        for _ in range(10):
            mockserver.call("GET", "/v1/campaigns")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_link_to_a_call_ends_with_the_call_at_the_top(
    mockserver: Sandbox, open_trace: Callable[..., Tab], width: int
) -> None:
    steps_of(mockserver)
    tab = open_trace("#call-40", viewport={"width": width, "height": 800})
    at_top = "(number) => Math.abs(document.getElementById(`call-${number}`).getBoundingClientRect().top) < 60"
    tab.page.wait_for_function(at_top, arg=40)
    tab.page.locator("[aria-labelledby=why] a", has_text="#51").first.click()
    tab.page.wait_for_function(at_top, arg=51)

    tab.page.locator("#call-51 summary").click()
    assert "campaign_x" in tab.page.locator("#call-51[open] pre").first.inner_text()
    assert [] == tab.messages


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_no_rule_of_accessibility_is_broken_and_nothing_is_wider_than_the_screen(
    mockserver: Sandbox, open_trace: Callable[..., Tab], look: str
) -> None:
    mockserver.admin.set_tenant(name="Associação-Interestadual-de-Odontologia-Reconstrutiva-" * 3)
    campaigns(mockserver, 12)
    mockserver.call("POST", "/v1/campaigns", json={"name": "x" * 300})
    tab = open_trace("#call-2", **LOOKS[look])

    assert [] == violations(tab.page)
    tab.unfold()
    assert [] == violations(tab.page)
    assert (0, []) == (tab.excess_px(), tab.messages)


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_without_javascript_everything_can_be_read(mockserver: Sandbox, open_trace: Callable[..., Tab]) -> None:
    mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN})
    tab = open_trace(java_script_enabled=False)

    tab.page.locator("#call-1 summary").click()
    text = tab.page.locator("main").inner_text()
    assert '"name": "promo"' in text
    assert "campaign promo: draft" in text
    assert "JavaScript" not in text
