"""A tab with JavaScript, what the browser complains about, and the addresses that it requests."""

from __future__ import annotations

from typing import Any

from tests.browser.looks import DESKTOP_PX


class Tab:
    """A tab of a browser profile of its own; `options` are those of the profile."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.messages: list[str] = []
        self.requested: list[str] = []
        self.context = browser.new_context(**{"viewport": DESKTOP_PX, **options})
        self.context.set_default_timeout(10_000)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))

    def unfold(self) -> None:
        """Open every part of the page that can be closed."""
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def excess_px(self) -> int:
        """How much wider than the screen the page is."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def close(self) -> None:
        self.context.close()
