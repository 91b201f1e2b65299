"""
GETs of a running campaign over sockets, next to other servers: `python -m tests.benchmarks.socket`.

`wrk` calls each server in turn with 1, 16, 64 and 256 connections; then `http.client` calls each in turn over one connection.
The figures are the medians of the rounds. This mock does all that a call takes: key, state, journal, representation; the
others answer with the same body from memory, localstripe and moto with a small record of their own.

    python -m tests.benchmarks.socket --peers             gets WireMock, json-server and Prism by npm first
    python -m tests.benchmarks.socket --against ../base   next to another checkout of this mock, which has its own .venv
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.peers import PEERS, Target, Unavailable, download, serving_peer
from tests.benchmarks.serving import NOON, p99, running_campaign, serving, timed

CONNECTIONS = (1, 16, 64, 256)
WARM_UP_SECONDS = 5.0  # in which a virtual machine compiles what it runs
CALLS = 300  # of `http.client` to each server in a round
OURS = "this mock"
BEFORE = "this mock before"
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


class Run(NamedTuple):
    """The figures of one run of wrk, and the share of a core that wrk itself took."""

    per_second: float
    p50_ms: float
    p99_ms: float
    wrk_cores: float
    errors: int
    requests: int


def wrk(target: Target, connections: int, seconds: float, script: Path | None = None) -> Run:
    """Run wrk with one thread; the script is Lua."""
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    headers = [part for name, value in target.headers.items() for part in ("-H", f"{name}: {value}")]
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency", *headers]
    if script is not None:
        command += ["-s", str(script)]
    began = time.perf_counter()
    process = subprocess.Popen([*command, target.url], stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    took = time.perf_counter() - began
    process.stdout.close()
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    if refused:
        raise SystemExit(f"{target.url}: {refused[0]}")
    lost = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    found, sent = re.search(r"Requests/sec:\s*([\d.]+)", text), re.search(r"(\d+) requests in", text)
    assert found and sent, text
    return Run(
        float(found[1]),
        _milliseconds("50%", text),
        _milliseconds("99%", text),
        (usage.ru_utime + usage.ru_stime) / took,
        sum(int(number) for number in lost.groups()) if lost else 0,
        int(sent[1]),
    )


def _milliseconds(percentile: str, text: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s|m)", text)
    assert found, text
    return float(found[1]) * _MS[found[2]]


def by_http_client(targets: dict[str, Target], rounds: int) -> dict[str, tuple[float, float]]:
    """The median and the 99th percentile of GETs over one connection, in microseconds; each server in turn."""
    times: dict[str, list[float]] = {name: [] for name in targets}
    for _ in range(rounds):
        for name, target in targets.items():
            parts = urlsplit(target.url)
            connection = HTTPConnection(parts.netloc)

            def call(connection: HTTPConnection = connection, path: str = parts.path, target: Target = target) -> None:
                connection.request("GET", path, headers=dict(target.headers))
                with connection.getresponse() as response:
                    response.read()
                assert response.status == 200

            call()
            times[name] += [timed(call) * 1000 for _ in range(CALLS)]
            connection.close()
    return {name: (median(own), p99(own)) for name, own in times.items()}


def targets_of(stack: ExitStack, against: Path | None) -> dict[str, Target]:
    """Start every server, and print which ones are skipped."""
    targets = {}
    checkouts = {OURS: None, BEFORE: against} if against else {OURS: None}
    for name, checkout in checkouts.items():
        own = {"checkout": checkout.resolve()} if checkout else {}
        served = stack.enter_context(serving("--freeze", NOON, **own))
        targets[name] = Target(served.url + running_campaign(served), {"X-API-Key": served.key})
    body = body_of(targets[OURS])
    for peer in PEERS:
        try:
            targets[peer.name], _ = stack.enter_context(serving_peer(peer, body))
        except Unavailable as reason:
            print(f"{peer.name} is skipped: {reason}")
    return targets


def body_of(target: Target) -> bytes:
    parts = urlsplit(target.url)
    connection = HTTPConnection(parts.netloc)
    connection.request("GET", parts.path, headers=dict(target.headers))
    body = connection.getresponse().read()
    connection.close()
    return body


def measure(targets: dict[str, Target], rounds: int, seconds: float) -> None:
    """Print the figures of all servers; first each one is warmed up."""
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    for target in targets.values():
        wrk(target, 16, WARM_UP_SECONDS)
    for connections in CONNECTIONS:
        runs: dict[str, list[Run]] = {name: [] for name in targets}
        for _ in range(rounds):
            for name, target in targets.items():
                runs[name].append(wrk(target, connections, seconds))
        for name, own in runs.items():
            middle = Run(*(median(column) for column in zip(*own, strict=True)))
            print(
                f"{connections:4} connections, {name:18} {middle.per_second:8,.0f} per second, p50 {middle.p50_ms:8.2f} ms, "
                f"p99 {middle.p99_ms:8.2f} ms, wrk took {middle.wrk_cores:.2f} of a core, {middle.errors:.0f} errors",
                flush=True,
            )
    by_client = by_http_client(targets, rounds * 3)
    ours = by_client[OURS][0]
    for name, (middle_us, slow_us) in by_client.items():
        print(
            f"http.client, {name:18} median {middle_us:6.0f} us, p99 {slow_us:6.0f} us; this mock takes {ours / middle_us:.2f}"
        )


def main() -> None:
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    parser = argparse.ArgumentParser("socket")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run of wrk (default: %(default)s)")
    parser.add_argument("--against", type=Path, help="another checkout of this mock")
    parser.add_argument("--peers", action="store_true", help="get the peers that npm has")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("got no wrk; expected it on the path, as by `apt-get install wrk`")
    if options.peers:
        download()
    print(f"load of the machine: {', '.join(f'{value:.2f}' for value in os.getloadavg())}")
    with ExitStack() as stack:
        measure(targets_of(stack, options.against), options.rounds, options.seconds)


if __name__ == "__main__":
    main()
