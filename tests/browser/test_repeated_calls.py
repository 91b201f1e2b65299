"""A browser repeats a lost call by itself, as the page on faults states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockserver import MockServer
from tests.pages.blocks import read

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CONNECTIONS_MAX = 6  # of Chromium to one host
SEND = """async ([url, key, method]) => {
  try { return (await fetch(url, {method, headers: {'X-API-Key': key}})).status; } catch { return null; }
}"""


@pytest.mark.deep
@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/campaigns"), ("POST", "/v1/messaging/media")])
@pytest.mark.parametrize(("lost", "is_shown"), [(1, False), (CONNECTIONS_MAX + 1, True)])
def test_a_browser_shows_a_lost_call_only_if_its_repetitions_are_lost_too(
    browser: Browser, method: str, path: str, lost: int, is_shown: bool
) -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{sandbox.base_url}/_mock/")  # over a connection, which is then in use
        sandbox.on("*").times(lost).drop("before")
        received = page.evaluate(SEND, [sandbox.base_url + path, sandbox.secret_key, method])
        context.close()

        assert is_shown == (received is None)
        assert 2 <= len(sandbox.log.exchanges) <= CONNECTIONS_MAX + 1
    assert f"`times({CONNECTIONS_MAX + 1})` those of a browser" in read("docs/faults.md")
