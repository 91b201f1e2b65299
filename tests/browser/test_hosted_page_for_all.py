"""The hosted page for everybody: axe-core, contrast, forced colours and a narrow screen, at every step and every end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mockserver import Sandbox
from tests.browser.axe import violations
from tests.browser.looks import LOOKS as DESKTOP_LOOKS
from tests.browser.test_hosted_page import BACK, PHONE_PX, create_at_socket, go, press
from tests.operations.session_calls import PHONE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.deep

LOOKS = {**DESKTOP_LOOKS, "forced-colours": {"viewport": PHONE_PX, "forced_colors": "active"}}
SIMULATED = ("token_exchange_failed", "phone_in_use", "funnel_not_found", "expire")


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that looks as the test's parameter says; axe-core needs scripts, the hosted page runs none."""
    context = browser.new_context(**LOOKS[request.param])
    context.set_default_timeout(10_000)
    context.route("https://**", lambda route: route.fulfill(content_type="text/html", body="<title>Clinic</title>"))
    yield context.new_page()
    context.close()


looks = pytest.mark.parametrize("page", list(LOOKS), indirect=True)


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


def each_step(mockserver: Sandbox, page: Page) -> Iterator[str]:
    """Go through the coexistence flow, with an invalid number on the way; yields at each page, unfolded."""
    page.goto(create_at_socket(mockserver, {"coexistence": True})["url"])
    for number in (None, "12", PHONE, None, None, None):
        unfold(page)
        yield page.title()
        go(page, number=number)
    unfold(page)
    yield page.title()


def each_end(mockserver: Sandbox, page: Page) -> Iterator[str]:
    """Every page without a step: the ends that are not a success, a number in use, and no link."""
    for end in SIMULATED:
        page.goto(create_at_socket(mockserver, {"returnUrl": BACK})["url"])
        unfold(page)
        press(page, page.locator(f"[value=simulate-{end}]"))
        yield end
    page.goto(create_at_socket(mockserver)["url"])
    unfold(page)
    press(page, page.locator("[value=cancel]"))
    yield "cancelled"
    page.goto(mockserver.base_url + "/connect/unknown")
    yield "gone"


@looks
def test_no_step_breaks_a_rule_of_accessibility(mockserver: Sandbox, page: Page) -> None:
    seen = [(title, violations(page)) for title in each_step(mockserver, page)]

    assert [] == [each for each in seen if each[1]]
    assert 7 == len({title for title, _ in seen})


@looks
def test_no_end_breaks_a_rule_of_accessibility(mockserver: Sandbox, page: Page) -> None:
    seen = [(end, violations(page)) for end in each_end(mockserver, page)]

    assert [] == [each for each in seen if each[1]]
    assert 6 == len(seen)


@pytest.mark.parametrize("page", ["light-320"], indirect=True)
def test_a_screen_of_320_pixels_shows_everything(mockserver: Sandbox, page: Page) -> None:
    mockserver.admin.set_tenant(name="Associação-Interestadual-de-Odontologia-Reconstrutiva " * 3)
    outside = "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.outerHTML)"

    seen = [page.evaluate(outside) for each in (each_step, each_end) for _ in each(mockserver, page)]

    assert [[]] * 13 == seen
