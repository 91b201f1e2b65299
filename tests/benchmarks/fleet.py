"""
Throughput of a fleet of two shards next to one of one shard, and what many parallel jobs need by these figures.

`python -m tests.benchmarks.fleet [--proxy NAME] [--seconds S] [--rounds N]` needs `wrk` on the path.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.fleet.fleets import Client, Fleet, children

CONNECTIONS = 16
SANDBOXES_MEASURED = 50
CALLS_OF_A_SANDBOX = 100
CLIENTS = 2
# A shard with a core of its own is loaded up to this part, so that bursts wait little.
UTILIZATION = 0.7


class Figures(NamedTuple):
    """
    What one call takes.

    Attributes:
        per_second: calls of all clients.
        shard_us: processor time of a shard.
        proxy_us: processor time of the proxy.
    """

    per_second: float
    shard_us: float
    proxy_us: float


class Job(NamedTuple):
    """
    The load of one job of a CI.

    Attributes:
        calls_per_second: while it runs, on average.
        sandboxes: that it has open.
        sandbox_mb: memory of each, of its process.
    """

    calls_per_second: float
    sandboxes: int
    sandbox_mb: float


class Need(NamedTuple):
    """What a fleet needs for many jobs at the same time."""

    calls_per_second: float
    shards: int
    shard_mb: float
    proxy_cores: float


def need(jobs: int, job: Job, figures: Figures, empty_shard_mb: float) -> Need:
    """
    Return what a fleet needs.

    Args:
        jobs: that run at the same time.
        job: what one of them does.
        figures: the cost of a call.
        empty_shard_mb: memory of a shard without sandboxes of clients.
    """
    rate = jobs * job.calls_per_second
    shards = max(1, math.ceil(rate * figures.shard_us / 1e6 / UTILIZATION))
    memory = empty_shard_mb + jobs * job.sandboxes * job.sandbox_mb / shards
    return Need(rate, shards, memory, rate * figures.proxy_us / 1e6 / UTILIZATION)


def cpu_seconds(pid: int) -> float:
    """The processor time of a process so far."""
    values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / 100


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


class Parts(NamedTuple):
    """The processes of a fleet."""

    shards: list[int]
    proxy: list[int]

    @classmethod
    def of(cls, fleet: Fleet) -> Parts:
        below = children(fleet.process.pid)
        shards = [each.pid for each in below if "--shard" in each.command]
        return cls(shards, [each.pid for each in below if each.pid not in shards])

    def seconds(self) -> tuple[float, float]:
        return sum(map(cpu_seconds, self.shards)), sum(map(cpu_seconds, self.proxy))


def sandboxes(fleet: Fleet, count: int) -> list[dict[str, Any]]:
    """Sandboxes in turn of each shard."""
    client = Client(fleet.url)
    made = [client.create(scenario="demo") for _ in range(count)]
    client.close()
    return made


def load(fleet: Fleet, seconds: float) -> Figures:
    """Call one sandbox from each of two clients, as much as they can."""
    parts, before = Parts.of(fleet), Parts.of(fleet).seconds()
    began = time.monotonic()
    clients = [
        subprocess.Popen(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "-H", f"X-API-Key: {made['secretKey']}",
             f"{made['baseUrl']}/v1/campaigns"],
            stdout=subprocess.PIPE, encoding="utf-8",
        )
        for made in sandboxes(fleet, CLIENTS)
    ]  # fmt: skip
    outputs = [client.communicate()[0] for client in clients]
    elapsed = time.monotonic() - began
    calls = sum(int(re.findall(r"(\d+) requests in", output)[0]) for output in outputs)
    shard_s, proxy_s = (now - then for now, then in zip(parts.seconds(), before, strict=True))
    return Figures(calls / elapsed, shard_s / calls * 1e6, proxy_s / calls * 1e6)


def memory(proxy: str) -> tuple[float, float]:
    """The memory of an empty shard, and of a sandbox with the demo and a journal of calls, in MB."""
    fleet = Fleet(proxy, processes=1)
    try:
        (pid,) = Parts.of(fleet).shards
        empty = resident_mb(pid)
        for made in sandboxes(fleet, SANDBOXES_MEASURED):
            client = fleet.client()
            for _ in range(CALLS_OF_A_SANDBOX):
                client.list_campaigns(made)
            client.close()
        return empty, (resident_mb(pid) - empty) / SANDBOXES_MEASURED
    finally:
        fleet.close()


def measure(proxy: str, seconds: float, rounds: int) -> dict[int, Figures]:
    """The median of each figure, by the number of shards; the fleets take turns."""
    rows: dict[int, list[Figures]] = {1: [], 2: []}
    for _ in range(rounds):
        for processes, taken in rows.items():
            fleet = Fleet(proxy, processes=processes)
            try:
                taken.append(load(fleet, seconds))
            finally:
                fleet.close()
    return {processes: Figures(*map(median, zip(*taken, strict=True))) for processes, taken in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proxy", default="haproxy")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--calls-per-second", type=float, default=2)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("got no wrk on the path; expected it installed, such as by `apt install wrk`")
    figures = measure(options.proxy, options.seconds, options.rounds)
    for processes, row in figures.items():
        print(
            f"{processes} shards  {row.per_second:,.0f}/s  shard {row.shard_us:.0f} µs  proxy {row.proxy_us:.0f} µs a call"
        )
    print(f"ratio of throughput {figures[2].per_second / figures[1].per_second:.2f}")
    empty, sandbox = memory(options.proxy)
    print(f"memory  an empty shard {empty:.0f} MB, a sandbox with {CALLS_OF_A_SANDBOX} calls {sandbox:.2f} MB")
    print(need(options.jobs, Job(options.calls_per_second, 1, sandbox), figures[2], empty))


if __name__ == "__main__":
    main()
