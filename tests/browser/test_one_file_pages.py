"""The pages of one file (explorations, coverage) in a real browser: everyone can read them, and no text of a run is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mockserver.judge.coverage.coverage import Coverage
from mockserver.report import coverage_page, explore_page
from tests.browser.axe import violations
from tests.browser.looks import LOOKS
from tests.browser.tabs import Tab
from tests.runs.faults.test_explore_page import hostile

pytestmark = pytest.mark.deep

PAGES = {
    "coverage": lambda: coverage_page.render(Coverage()),
    "explored": lambda: explore_page.render([hostile("a test " * 9), hostile("x" * 200)]),
    "nothing-explored": lambda: explore_page.render([]),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_a_page_breaks_no_rule_of_accessibility_and_fits(
    browser: Any, tmp_path: Path, make: Any, look: dict[str, Any]
) -> None:
    file = tmp_path / "page.html"
    file.write_text(make(), encoding="utf-8")
    tab = Tab(browser, **look)
    tab.page.goto(file.as_uri())
    for summary in tab.page.locator("summary").all()[:2]:
        summary.click()

    assert [] == violations(tab.page)
    assert 0 == tab.excess_px()
    assert [file.as_uri()] == tab.requested
    tab.close()
