"""
The budgets of the dashboard: `python -m tests.benchmarks.dashboard`.

It prints the processor time and the size of each view of a sandbox with 10,000 calls, and how much four open streams raise
the median of a GET at 500 calls a second, by turns in one process, whose readers are another one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from http.client import HTTPConnection
from typing import Any
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


def streams(client: Client) -> None:
    """Print the medians without and with open streams, by turns, and the median of their ratios."""
    ratios = []
    for _ in range(TURNS):
        without = median_us(client)
        with open_streams(client):
            with_streams = median_us(client)
        ratios.append(with_streams / without)
        print(f"median without {without:6.0f} us, with {READERS} streams {with_streams:6.0f} us")
    print(f"ratio of the medians: {statistics.median(ratios):.3f}")


class open_streams:
    """Streams that another process reads."""

    def __init__(self, client: Client) -> None:
        parts = client.parts
        address = (str(parts.hostname), str(parts.port), parts.path + "/_mock/stream", str(READERS))
        self._process: Any = subprocess.Popen(
            [sys.executable, "-c", _READERS, *address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> None:
        self._process.stdout.readline()

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()


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
        streams(client)


if __name__ == "__main__":
    main()
