"""A real browser: Debian's chromium, driven by playwright; without them the tests are skipped, or fail where they are required."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ViewportSize

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
PHONE_PX: ViewportSize = {"width": 390, "height": 844}


def missing(what: str) -> None:
    """Skip with one sentence, or fail if SUITE_BROWSER=required declares that there is a browser."""
    if os.environ.get("SUITE_BROWSER") == "required":
        pytest.fail(f"SUITE_BROWSER=required, but {what}")
    pytest.skip(f"{what}, so no test of the hosted page runs in a real browser")


# Of one module: playwright leaves an event loop running in the thread, which other modules could not tolerate.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed (pip install playwright)")
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        missing(f"there is no {' or '.join(CHROMIUMS)} on the PATH (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def shop() -> Iterator[Callable[[str], str]]:
    """A site of another origin: give it a page, and it returns the url of that page."""
    pages: dict[str, bytes] = {}

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, b""))

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    def show(html: str) -> str:
        pages["/shop"] = html.encode()
        return f"http://127.0.0.1:{server.server_port}/shop"

    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield show
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A browser profile of its own, on a phone unless a test sets another device, without scripts; https://clinic.example returns a page, every other host fails."""
    context = browser.new_context(viewport=getattr(request, "param", PHONE_PX), java_script_enabled=False)
    context.set_default_timeout(10_000)
    context.route("https://**", lambda route: route.abort())
    context.route(
        "https://clinic.example/**", lambda route: route.fulfill(content_type="text/html", body="<title>Clinic</title>")
    )
    yield context
    context.close()
