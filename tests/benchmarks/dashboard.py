"""
The budgets of the dashboard: `python -m tests.benchmarks.dashboard [--pages]`.

It prints the processor time and the size of each view of a sandbox with 10,000 calls, and how much four open streams raise
the median of a GET at 500 calls a second, by turns in one process, whose readers are another one. With `--pages` the readers
are four pages in Chromium, which also takes processor time of its own on the same machine.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

from mockserver import MockServer, Sandbox
from mockserver.server.dashboard.paths import VIEWS

CALLS = 10_000
PER_SECOND = 500
TURNS = 8
READERS = 4
_READERS = """
import socket, sys, threading
host, port, path, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
def read(first):
    wire = socket.create_connection((host, port))
    wire.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
    wire.recv(65536)
    first.set()
    while wire.recv(65536):
        pass
events = [threading.Event() for _ in range(count)]
for event in events:
    threading.Thread(target=read, args=(event,), daemon=True).start()
for event in events:
    event.wait(10)
print("open", flush=True)
sys.stdin.read()
"""
_PAGES = """
import sys
from playwright.sync_api import sync_playwright
executable, base, *paths = sys.argv[1:]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
    for path in paths:
        page = browser.new_page()
        page.goto(f"{base}/_mock/{path}")
        page.locator("#link", has_text="live").wait_for()
    print("open", flush=True)
    sys.stdin.read()
    browser.close()
"""
PAGES = ("now", "timeline", "calls", "calls?refused=1")


class Client:
    """One connection to the server of a sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.parts = urlsplit(sandbox.base_url)
        self._wire = HTTPConnection(str(self.parts.hostname), self.parts.port or 80)
        self._key = sandbox.secret_key

    def send(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> bytes:
        own = {"X-API-Key": self._key, "Content-Type": "application/json", **headers}
        self._wire.request(method, self.parts.path + path, body, own)
        return self._wire.getresponse().read()


def views(client: Client) -> None:
    """Print the processor time and the size of each view."""
    for path in (*VIEWS, "calls?refused=1", "calls?text=nothing+has+this"):
        client.send(f"/_mock/{path}", Accept="text/html")
        begin = time.process_time()
        size = len(client.send(f"/_mock/{path}", Accept="text/html"))
        print(f"{path:28} {size:8,} bytes {1000 * (time.process_time() - begin):6.0f} ms")


def median_us(client: Client, calls: int = 1_000) -> float:
    """Return the median of a GET in microseconds, at 500 calls a second."""
    durations, due = [], time.perf_counter()
    for _ in range(calls):
        due += 1 / PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
        begin = time.perf_counter()
        client.send("/v1/message-templates/template_aniversario")
        durations.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(durations)


def readers(client: Client, name: str, *command: str) -> None:
    """Print the medians without and with the readers of a command, by turns, and the median of their ratios."""
    ratios = []
    for _ in range(TURNS):
        without = median_us(client)
        with running(*command):
            with_readers = median_us(client)
        ratios.append(with_readers / without)
        print(f"median without {without:6.0f} us, with {READERS} {name} {with_readers:6.0f} us")
    print(f"ratio of the medians: {statistics.median(ratios):.3f}")


@contextmanager
def running(*command: str) -> Iterator[None]:
    """Run readers in another process, from when all of them are open."""
    process = subprocess.Popen([sys.executable, "-c", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.stdin.close()
        process.wait()


def main() -> None:
    with MockServer() as server:
        sandbox = server.sandbox(scenario="demo", now="2026-03-01T12:00:00Z")
        client = Client(sandbox)
        for number in range(CALLS // 4):
            client.send("/v1/entrypoints/chatapp/connection-sessions", "POST", b"{}")
            client.send("/v1/campaigns")
            client.send(f"/v1/campaigns/none_{number}")
            client.send("/v1/message-templates")
        views(client)
        parts = client.parts
        address = (str(parts.hostname), str(parts.port), parts.path + "/_mock/stream", str(READERS))
        readers(client, "streams", _READERS, *address)
        if "--pages" in sys.argv:
            readers(client, "pages", _PAGES, str(shutil.which("chromium")), sandbox.base_url, *PAGES)


if __name__ == "__main__":
    main()
