"""
How long a reset takes after 0, 400 and 30,000 calls, over a socket and in process: `python -m tests.benchmarks.reset`.

The server is `mockserver serve` in a process of its own. What a call of another sandbox waits while the discarded calls are
freed is measured in the same run, next to the same calls of a quiet server.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from statistics import median, quantiles

from mockserver import MockServer

ROUNDS = {0: 50, 400: 15, 30_000: 3}
OTHER_CALLS = 200
COMMAND = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-format", "off"]
TEMPLATE = "/v1/message-templates/template_semana_clareamento"
BODY = {"platform": "chatapp", "templateId": "template_semana_clareamento", "cadence": 60}

Call = Callable[[str, str, object], object]


@contextmanager
def served() -> Iterator[tuple[Call, Call]]:
    """Yield the calls of the default sandbox and of another one."""
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        authority = process.stdout.readline().split()[-1].removeprefix("http://")
        key = next(line.split()[-1] for line in process.stdout if "secret key" in line)
        connection = HTTPConnection(authority)
        call = partial(_send, connection, key)
        other = json.loads(call("POST", "/_mock/sandboxes", {"scenario": "demo"}))
        prefix, other_key = other["baseUrl"].removeprefix(f"http://{authority}"), other["secretKey"]
        yield call, lambda method, path, body: _send(connection, other_key, method, prefix + path, body)
    finally:
        process.kill()
        process.communicate()


def _send(connection: HTTPConnection, key: str, method: str, path: str, body: object) -> bytes:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    assert response.status < 300, text
    return text


def make_calls(call: Call, count: int) -> None:
    """Make calls, a quarter of which create a campaign."""
    for number in range(count):
        if number % 4:
            call("GET", TEMPLATE, None)
        else:
            call("POST", "/v1/campaigns", BODY | {"name": f"Hello {number}"})


def timed(call: Callable[[], object]) -> float:
    """Return the milliseconds of the call."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def over_http() -> None:
    with served() as (call, other):
        quiet = [timed(lambda: other("GET", TEMPLATE, None)) for _ in range(OTHER_CALLS)]
        for count, rounds in ROUNDS.items():
            resets, meanwhile = [], []
            for _ in range(rounds):
                make_calls(call, count)
                resets.append(timed(lambda: call("POST", "/_mock/reset", None)))
                meanwhile += [timed(lambda: other("GET", TEMPLATE, None)) for _ in range(OTHER_CALLS)]
            report(f"reset over HTTP after {count:,} calls", resets)
            report("  a GET of another sandbox before", quiet)
            report("  a GET of another sandbox after", meanwhile)


def in_process() -> None:
    with MockServer().sandbox(scenario="demo") as sandbox:

        def call(method: str, path: str, body: object) -> None:
            assert sandbox.call(method, path, json=body).status < 300

        for count, rounds in ROUNDS.items():
            resets = []
            for _ in range(rounds):
                make_calls(call, count)
                resets.append(timed(sandbox.reset))
            report(f"reset in process after {count:,} calls", resets)


def report(name: str, times: list[float]) -> None:
    tail = quantiles(times, n=100)[-1] if len(times) >= 100 else max(times)
    print(f"{name}: least {min(times):.2f} ms, median {median(times):.2f} ms, 99th percentile {tail:.2f} ms")


if __name__ == "__main__":
    over_http()
    in_process()
