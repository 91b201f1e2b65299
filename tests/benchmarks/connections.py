"""
Many connections at a time, held calls, and many short connections: `python -m tests.benchmarks.connections`.

The server is `mockserver serve` in a process of its own; its threads, descriptors and memory are read while

- 10,000 connections are open, each after one call (fewer where the limit of open files is lower),
- 1,000 calls wait 5 s by a rule,
- 10,000 connections have been opened, used for one call and closed, one after another.

Meanwhile a GET on one connection is timed, of another operation than the held ones.

    python -m tests.benchmarks.connections --against ../base   then another checkout of this mock, which has its own .venv
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import socket
import sys
import time
from pathlib import Path
from statistics import median

from tests.benchmarks.serving import ROOT, TEMPLATE, Client, Figures, Served, p99, serving, timed

IDLE, HELD, SHORT = 10_000, 1_000, 10_000
HELD_SECONDS = 5
TIMED_CALLS = 500
DEADLINE_SECONDS = 60.0
_SPARE_DESCRIPTORS = 200


def open_files_at_most() -> int:
    """Raise the limit of open files, which the server inherits, as far as it goes."""
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def request(served: Served, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {served.key}\r\n\r\n".encode()


def connected(served: Served, path: str) -> socket.socket:
    """Return a connection on which this GET was sent."""
    connection = socket.create_connection(served.address, timeout=DEADLINE_SECONDS)
    connection.sendall(request(served, path))
    return connection


def idle(served: Served, client: Client, count: int) -> None:
    began = time.perf_counter()
    connections = []
    for _ in range(count):
        connections.append(connected(served, TEMPLATE))
        assert connections[-1].recv(1 << 16).startswith(b"HTTP/1.1 200")
    took = time.perf_counter() - began
    report(f"{count:,} idle connections", served.figures(), client, f"opened in {took:.1f} s")
    for connection in connections:
        connection.close()


def held(served: Served, client: Client, count: int) -> None:
    script = [{"on": "listTemplates", "do": {"delay": f"{HELD_SECONDS}s"}}]
    client.send("POST", "/_mock/scenarios", {"script": script})
    with selectors.DefaultSelector() as selector:
        sent = {}
        for _ in range(count):
            connection = connected(served, "/v1/message-templates")
            sent[connection] = time.perf_counter()
            selector.register(connection, selectors.EVENT_READ)
        began = next(iter(sent.values()))
        while served.figures().descriptors < count and time.perf_counter() - began < HELD_SECONDS / 2:
            time.sleep(0.1)  # until the server has accepted all, as far as it does
        report(f"{count:,} held calls", served.figures(), client, f"within {time.perf_counter() - began:.1f} s")
        late = []
        while sent:
            for key, _ in selector.select(DEADLINE_SECONDS):
                assert isinstance(key.fileobj, socket.socket)
                assert key.fileobj.recv(1 << 16).startswith(b"HTTP/1.1 200")
                late.append((time.perf_counter() - sent.pop(key.fileobj) - HELD_SECONDS) * 1000)
                selector.unregister(key.fileobj)
                key.fileobj.close()
    print(
        f"    each answered after {HELD_SECONDS} s, late by {median(late):.1f} ms (median), {max(late):.1f} ms (most)"
    )
    client.send("DELETE", "/_mock/rules")


def short(served: Served, client: Client, count: int) -> None:
    began = time.perf_counter()
    for _ in range(count):
        with connected(served, TEMPLATE) as connection:
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
    took = time.perf_counter() - began
    report(f"after {count:,} short connections", served.figures(), client, f"{count / took:,.0f} per second")


def report(name: str, figures: Figures, client: Client, more: str = "") -> None:
    """Print what the server holds, and the latency of a GET now."""
    times = [timed(lambda: client.send("GET", TEMPLATE)) for _ in range(TIMED_CALLS)]
    print(
        f"{name:32} {figures.threads:6,} threads, {figures.descriptors:6,} descriptors, {figures.resident_mb:6.1f} MB; a GET "
        f"{median(times):.2f} ms, 99th percentile {p99(times):.2f} ms{'; ' if more else ''}{more}",
        flush=True,
    )


def measure(checkout: Path) -> None:
    count = min(IDLE, open_files_at_most() - _SPARE_DESCRIPTORS)
    with serving(checkout=checkout) as served:
        client = Client(served.url, served.key)
        report("after the start", served.figures(), client)
        short(served, client, SHORT)
        held(served, client, HELD)
        idle(served, client, count)
    client.close()


def main() -> None:
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    parser = argparse.ArgumentParser("connections")
    parser.add_argument("--against", type=Path, help="another checkout of this mock")
    options = parser.parse_args()
    print(f"load of the machine: {', '.join(f'{value:.2f}' for value in os.getloadavg())}")
    measure(ROOT)
    if options.against:
        print(f"then {options.against.name}:")
        measure(options.against.resolve())


if __name__ == "__main__":
    main()
