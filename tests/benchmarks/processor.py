"""
The processor time of a request over sockets, as its user meets it: `python -m tests.benchmarks.processor`.

`wrk` calls each server in turn with 16 and 64 connections. The figures are microseconds of the server's own process for each
request, in the program and in the kernel, as the system counts them; the medians of the rounds. This mock has its default
settings, with the log in a file and without it, its journal full, and 400 campaigns read in turn. Each of its rows is that of
several processes, since two processes of the same code differ by up to a fifth. The servers next to it answer with the same
body from memory: `canned` does the least that a server in Python does.

    python -m tests.benchmarks.processor --peers             gets WireMock by npm first; it is measured cold and warm
    python -m tests.benchmarks.processor --against ../base   next to another checkout of this mock, which has its own .venv
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks import canned
from tests.benchmarks.peers import PEERS, Peer, Target, Unavailable, download, serving_peer
from tests.benchmarks.serving import NOON, ROOT, Client, Served, processor_seconds, running_campaign, serving

CAMPAIGNS = 400
CONNECTIONS = (16, 64)
JOURNAL_ENTRIES = 10_000  # `serve --journal-max-entries`
WARM_CALLS = 40_000
BASE = "canned"
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_CREATED = {"platform": "chatapp", "templateId": "template_semana_clareamento", "cadence": 60}

_IN_TURN = """
local paths, at = {%s}, 0
request = function() at = at %% #paths + 1; return wrk.format("GET", paths[at]) end
"""


class Process(NamedTuple):
    """A server's process, and what `wrk` asks it."""

    pid: int
    target: Target
    script: Path | None = None  # of wrk, in Lua


class Cost(NamedTuple):
    """Of one request: microseconds in the program and in the kernel, requests per second, and 99th percentile in ms."""

    user_us: float
    kernel_us: float
    per_second: float
    p99_ms: float

    @property
    def whole_us(self) -> float:
        return self.user_us + self.kernel_us


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


def body_of(target: Target) -> bytes:
    parts = urlsplit(target.url)
    connection = HTTPConnection(parts.netloc)
    connection.request("GET", parts.path, headers=dict(target.headers))
    body = connection.getresponse().read()
    connection.close()
    return body


def cost(process: Process, connections: int, seconds: float) -> Cost:
    """Return what a request costs while wrk calls the server."""
    before = processor_seconds(process.pid)
    run = wrk(process.target, connections, seconds, process.script)
    user, kernel = (now - then for now, then in zip(processor_seconds(process.pid), before, strict=True))
    return Cost(user / run.requests * 1e6, kernel / run.requests * 1e6, run.per_second, run.p99_ms)


def campaigns_in_turn(served: Served) -> str:
    """Start campaigns in the default sandbox, fill its journal, and return the script that reads them in turn."""
    client = Client(served.url, served.key)
    first = running_campaign(served)
    bodies = [{**_CREATED, "name": str(number)} for number in range(CAMPAIGNS)]
    ids = [client.call("POST", "/v1/campaigns", body)["campaignId"] for body in bodies]
    for _ in range(JOURNAL_ENTRIES):
        client.send("GET", first)
    client.close()
    return _IN_TURN % ", ".join(f'"/v1/campaigns/{campaign_id}"' for campaign_id in ids)


def ours(
    stack: ExitStack, name: str, checkout: Path, folder: Path, count: int, *, is_logged: bool
) -> dict[str, list[Process]]:
    """Start this mock so many times, and return all."""
    processes = []
    log = folder / "log.txt" if is_logged else None
    for _ in range(count):
        served = stack.enter_context(serving("--freeze", NOON, checkout=checkout, log=log))
        file = folder / f"{served.pid}.lua"
        file.write_text(campaigns_in_turn(served), encoding="utf-8")
        processes.append(Process(served.pid, Target(f"{served.url}/v1/campaigns", {"X-API-Key": served.key}), file))
    return {name: processes}


def others(stack: ExitStack, body: bytes) -> dict[str, list[Process]]:
    """Start the servers next to this one, and print which ones are skipped."""
    processes: dict[str, list[Process]] = {}
    least = Peer(
        BASE,
        lambda port, folder: [sys.executable, "-P", canned.__file__, str(port), str(folder / "body.json")],
        lambda url: Target(url + "/campaigns/one", {}),
    )
    for peer in (least, *(peer for peer in PEERS if peer.name in ("WireMock", "pytest-httpserver"))):
        try:
            target, pid = stack.enter_context(serving_peer(peer, body))
        except Unavailable as reason:
            print(f"{peer.name} is skipped: {reason}")
        else:
            processes[peer.name] = [Process(pid, target)]
    return processes


def show(name: str, own: Cost, base: Cost | None) -> None:
    ratios = ""
    if base is not None:
        parts = (own.whole_us / base.whole_us, own.user_us / base.user_us, own.kernel_us / base.kernel_us)
        ratios = "  whole {:5.1f}, user {:5.1f}, kernel {:5.1f} times canned".format(*parts)
    print(
        f"{name:40}{own.whole_us:7.1f} us: {own.user_us:6.1f} user, {own.kernel_us:5.1f} kernel, "
        f"{own.per_second:7,.0f} per second, p99 {own.p99_ms:6.1f} ms{ratios}",
        flush=True,
    )


def measure(processes: dict[str, list[Process]], rounds: int, seconds: float) -> None:
    """Print what a request costs at each server, those of each number of connections by turns."""
    if "WireMock" in processes:
        show("WireMock, 16 connections, cold", cost(processes["WireMock"][0], 16, seconds), None)
        warmed = 0
        while warmed < WARM_CALLS:
            warmed += wrk(processes["WireMock"][0].target, 16, seconds).requests
    for connections in CONNECTIONS:
        costs: dict[str, list[Cost]] = {name: [] for name in processes}
        for _ in range(rounds):
            for name, alike in processes.items():
                costs[name] += [cost(process, connections, seconds) for process in alike]
        middle = {name: Cost(*map(median, zip(*own, strict=True))) for name, own in costs.items()}
        for name, own in middle.items():
            show(f"{name}, {connections} connections", own, middle.get(BASE))


def main() -> None:
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    parser = argparse.ArgumentParser("processor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=3, help="of this mock in each row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run of wrk (default: %(default)s)")
    parser.add_argument("--against", type=Path, help="another checkout of this mock")
    parser.add_argument("--peers", action="store_true", help="get WireMock by npm")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("got no wrk; expected it on the path, as by `apt-get install wrk`")
    if options.peers:
        download()
    print(f"load of the machine: {', '.join(f'{value:.2f}' for value in os.getloadavg())}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        count = options.processes
        processes = ours(stack, "this mock", ROOT, folder, count, is_logged=True)
        processes |= ours(stack, "without a log", ROOT, folder, count, is_logged=False)
        if options.against:
            processes |= ours(stack, "the other checkout", options.against.resolve(), folder, count, is_logged=True)
        body = body_of(_first_campaign(processes["this mock"][0]))
        measure(others(stack, body) | processes, options.rounds, options.seconds)


def _first_campaign(process: Process) -> Target:
    assert process.script is not None
    path = process.script.read_text(encoding="utf-8").partition('"')[2].partition('"')[0]
    return process.target._replace(url=process.target.url.removesuffix("/v1/campaigns") + path)


if __name__ == "__main__":
    main()
