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
from functools import partial
from http.client import HTTPConnection
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.receiver import received, receiving

COUNT = 1_000
ROUNDS = 7
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


class Round(NamedTuple):
    """The figures of a round; a GET is quiet before and after the events."""

    events_per_second: float
    connections: int
    quiet_ms: float
    meanwhile_ms: float
    meanwhile_p99_ms: float

    @property
    def ratio(self) -> float:
        return self.meanwhile_ms / self.quiet_ms


def main() -> None:
    with _serving() as (url, key), receiving() as hook:
        client, driver = Client(url, key), Client(url, key)
        rounds = [_round(client, driver, hook) for _ in range(ROUNDS)]
    for each in rounds:
        print(
            f"{each.events_per_second:.0f} events a second, connections: {each.connections}; a GET {each.quiet_ms:.2f} ms, "
            f"meanwhile {each.meanwhile_ms:.2f} ms, a ratio of {each.ratio:.2f}, 99th percentile {each.meanwhile_p99_ms:.1f} ms"
        )
    speed = median(each.events_per_second for each in rounds)
    print(f"medians: {speed:.0f} events a second, a ratio of {median(each.ratio for each in rounds):.2f}")


def _round(client: Client, driver: Client, hook: str) -> Round:
    client.call("POST", "/_mock/reset", {})
    client.call("POST", "/_mock/scenarios", {"given": {"webhooks": [{"url": hook}]}})
    for _ in range(COUNT):
        client.call("POST", SESSIONS)
    received(hook)

    def poll() -> float:
        return _timed(lambda: client.call("GET", TEMPLATE))

    took: list[float] = []
    advance = partial(driver.call, "POST", "/_mock/clock/advance", {"by": "20m"})
    thread = threading.Thread(target=lambda: took.append(_timed(advance)))
    quiet = [poll() for _ in range(QUIET_CALLS)]
    thread.start()
    meanwhile = []
    while thread.is_alive():
        meanwhile.append(poll())
    thread.join()
    quiet += [poll() for _ in range(QUIET_CALLS)]
    ids, connections = received(hook)
    assert [event["id"] for event in client.call("GET", "/_mock/events")["events"]] == ids
    return Round(1000 * COUNT / took[0], connections, median(quiet), median(meanwhile), quantiles(meanwhile, n=100)[-1])


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
