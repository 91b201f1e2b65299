"""
How fast a thousand events leave, and how long a GET takes meanwhile: `python -m tests.benchmarks.latency`.

The server is `mockserver serve`, and server, receiver and client are processes of their own. In each round a thousand
sessions expire at one instant, as the clock is advanced over the control plane; the client polls meanwhile over one
connection.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.receiver import received, receiving

COUNT = 1_000
ROUNDS = 5
QUIET_CALLS = 500
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
TEMPLATE = "/v1/message-templates/template_semana_clareamento"


class Client:
    """Calls of the API and of the control plane over one connection."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc)
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, path, sent, self._headers)
        with self._connection.getresponse() as response:
            content = response.read()
        assert response.status < 300, content
        return json.loads(content or b"null")


def main() -> None:
    with _serving() as (url, key), receiving() as hook:
        client, driver = Client(url, key), Client(url, key)
        for _ in range(ROUNDS):
            client.call("POST", "/_mock/reset", {})
            client.call("POST", "/_mock/scenarios", {"given": {"webhooks": [{"url": hook}]}})
            for _ in range(COUNT):
                client.call("POST", SESSIONS)
            received(hook)
            _round(client, driver, hook)


def _round(client: Client, driver: Client, hook: str) -> None:
    def poll() -> None:
        client.call("GET", TEMPLATE)

    before = [_timed(poll) for _ in range(QUIET_CALLS)]
    took: list[float] = []

    def advance() -> None:
        took.append(_timed(lambda: driver.call("POST", "/_mock/clock/advance", {"by": "20m"})))

    thread = threading.Thread(target=advance)
    thread.start()
    during = []
    while thread.is_alive():
        during.append(_timed(poll))
    thread.join()
    ids, connections = received(hook)
    assert [event["id"] for event in client.call("GET", "/_mock/events")["events"]] == ids
    print(f"{COUNT} events in {took[0]:.0f} ms, {1000 * COUNT / took[0]:.0f} a second, connections: {connections}")
    for name, times in (("before", before), ("during", during)):
        print(f"  a GET {name}: median {median(times):.2f} ms, 99th percentile {quantiles(times, n=100)[-1]:.2f} ms")
    print(f"  ratio of the medians: {median(during) / median(before):.2f} over {len(during)} calls")


@contextmanager
def _serving() -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-format", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[-1]
            yield url, next(line.split()[-1] for line in process.stdout if "secret key" in line)
        finally:
            process.terminate()


def _timed(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
