"""
How long a call waits at a server that delivers a thousand events meanwhile: `python -m tests.benchmarks.latency`.

The server is `mockserver serve` in a process of its own, the receiver a small one in this process, both over sockets.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import requests

from mockserver.server.http1.server import Server
from tests.server.wsgi import WsgiHandler

COUNT = 1_000
QUIET_CALLS = 500
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def main() -> None:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-format", "off"]
    seen: list[int] = []
    with (
        Server(WsgiHandler(_receiver(seen))) as receiver,
        subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        key = next(line.split()[-1] for line in process.stdout if "secret key" in line)
        client = requests.Session()
        client.headers["X-API-Key"] = key
        hook = {"given": {"webhooks": [{"url": receiver.url}]}}
        client.post(f"{url}/_mock/scenarios", json=hook).raise_for_status()
        for _ in range(COUNT):
            client.post(url + SESSIONS).raise_for_status()

        def poll() -> None:
            client.get(f"{url}/v1/message-templates/template_semana_clareamento").raise_for_status()

        before = [_timed(poll) for _ in range(QUIET_CALLS)]
        began = time.perf_counter()
        driver = threading.Thread(target=lambda: requests.post(f"{url}/_mock/clock/advance", json={"by": "20m"}))
        driver.start()
        during = []
        while len(seen) < COUNT:
            during.append(_timed(poll))
        took = time.perf_counter() - began
        driver.join()
        process.terminate()
    print(f"{COUNT} events over sockets in {took:.2f} s, {COUNT / took:.0f} a second")
    for name, times in (("before", before), ("during", during)):
        print(
            f"a GET {name}: median {median(times):.2f} ms, 99th percentile {quantiles(times, n=100)[-1]:.2f} ms, {len(times)} calls"
        )


def _timed(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def _receiver(seen: list[int]) -> Any:
    def app(environ: Any, start: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        seen.append(1)
        start("204 No Content", [])
        return []

    return app


if __name__ == "__main__":
    main()
