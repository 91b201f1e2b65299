"""The search of the documentation's site, in a real browser: the guide to a task is the first result."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from docs.conf import DOCS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.deep


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built from the pages as they are."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--builder", "html", str(DOCS), str(folder)]
    subprocess.run(command, check=True, cwd=DOCS.parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("words", "guide"), [("freeze clock", "time"), ("mock 429", "faults"), ("webhook signature", "webhooks")]
)
def test_the_first_result_is_the_guide_to_the_task(site: str, page: Page, words: str, guide: str) -> None:
    page.goto(site)
    page.locator(".sidebar-search").fill(words)
    page.keyboard.press("Enter")
    page.locator(".search-summary", has_text="found").wait_for()
    address = page.locator("#search-results ul.search > li > a").first.get_attribute("href") or ""

    assert f"{guide}.html" == address.partition("#")[0].partition("?")[0]
