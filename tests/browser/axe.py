"""The rules of axe-core, WCAG and best practices, over what a page shows now; hidden text is not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Else axe writes down every element that each rule passes too: of a long page six megabytes, and most of the time.
_VIOLATIONS_ALONE = {"resultTypes": ["violations"]}


def violations(page: Page) -> list[str]:
    """Return one line for each broken rule and element; the context has to run JavaScript, which a page need not have."""
    from axe_playwright_python.sync_playwright import Axe  # late, as playwright: without it the browser's tests skip

    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}; at {' '.join(map(str, node['target']))}: {node['html'][:200]}"
        for rule in Axe().run(page, options=_VIOLATIONS_ALONE).response["violations"]
        for node in rule["nodes"]
    ]
