"""The helper that other tests of pages use: it names what a page breaks, also where a policy forbids foreign scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.deep

POLICY = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
WHOLE = f"<html lang='en'><head><title>Page</title>{POLICY}</head><body><main><h1>Page</h1>%s</main></body></html>"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_a_page_without_faults_has_no_violation(page: Page) -> None:
    page.set_content(WHOLE % "<p>Text</p>")

    assert [] == violations(page)


def test_each_element_that_breaks_a_rule_is_named(page: Page) -> None:
    page.set_content(WHOLE % "<img id=a src=a.png><img id=b src=b.png><input id=c>")

    assert ["image-alt #a", "image-alt #b", "label #c"] == sorted(
        f"{line.split()[0]} {line.split('; at ')[1].split(':')[0]}" for line in violations(page)
    )


def test_text_without_contrast_is_named(page: Page) -> None:
    page.set_content(WHOLE % "<p>Text</p>")
    page.evaluate("document.querySelector('p').style.color = '#aaa'")

    (line,) = violations(page)
    assert line.startswith("color-contrast (serious): ")
