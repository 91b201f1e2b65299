"""
A soak of `mockserver serve` in a process of its own: memory, threads, descriptors and latency stay flat, and no event is lost.

    python -m tests.benchmarks.soak                     ten minutes of calls of all kinds
    python -m tests.benchmarks.soak --minutes 2
    python -m tests.benchmarks.soak --calls 100000      that many calls instead

It runs in rounds. In each, four clients make calls of all kinds while a script breaks some of them; then the receiver of
webhooks is down for 30 minutes of the sandbox's time while sessions end, and up again; then each event must have been
accepted exactly once; then GETs on one connection are timed by turns with GETs of a second, idle server, so that what else the
machine does falls on both; then the sandbox is reset, so that its records do not count. The first round is a warm-up: what
follows is compared with the second, and the ratio of the two latencies in the last third of the rounds with the first third.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.server.http1.server import Server
from tests.server.wsgi import WsgiHandler

CLIENTS = 4
CALLS_A_ROUND = 12_000  # more than a journal holds
SESSIONS_A_ROUND = 60
TOLERANCE, TOLERANCE_MB = 1.10, 8.0  # what the last sample may be above the first
TOLERANCE_LATENCY = 1.25  # the last third of the rounds compared with the first third
TIMED_CALLS = 500
DEADLINE_SECONDS = 60
NOON = "2026-03-01T12:00:00Z"
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
FORM = "multipart/form-data; boundary=b"
SCRIPT = [
    {"on": "listTemplates", "every": 17, "do": {"drop": "after"}},
    {"on": "listCampaigns", "every": 13, "do": {"error": "INTERNAL_ERROR"}},
    {"on": "readTemplate", "every": 19, "do": {"reset": "after"}},
    {"on": "listMessages", "every": 23, "do": {"truncate": 20}},
    {"on": "readFilterSchema", "every": 29, "do": {"garble": True}},
    {"on": "uploadMedia", "every": 31, "do": {"delay": "5ms"}},
    {"on": "readEntrypoint", "every": 37, "do": {"dribble": {"chunks": 3, "over": "6ms"}}},
    {"on": "previewAudience", "every": 41, "do": {"error": "RATE_LIMIT_EXCEEDED"}},
]


class Sample(NamedTuple):
    """The server's process at one moment, and the milliseconds of its GETs just before; `get_ratio` is to those of an idle server."""

    seconds: float
    calls: int
    events: int
    resident_mb: float
    threads: int
    descriptors: int
    get_ms: float = 0.0
    get_p99_ms: float = 0.0
    get_ratio: float = 0.0


class Process:
    """A `mockserver serve`, and its demo data by id."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.pid = process.pid
        self.url = process.stdout.readline().split()[-1]
        self.key = next(line.split()[-1] for line in process.stdout if "secret key" in line)
        self.public_key = next(line.split()[-1] for line in process.stdout if "public key" in line)
        tenant = Client(self).json("GET", "/_mock/state")["tenants"][0]
        self.ids = {kind: tenant[kind][0]["id"] for kind in ("chats", "templates", "entrypoints", "forms")}

    def sample(self, began: float, calls: int, events: int, *latency: float) -> Sample:
        folder = Path(f"/proc/{self.pid}")
        resident = next(
            line for line in (folder / "status").read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS")
        )
        return Sample(
            time.monotonic() - began,
            calls,
            events,
            int(resident.split()[1]) / 1024,
            len(list((folder / "task").iterdir())),
            len(list((folder / "fd").iterdir())),
            *latency,
        )


class Client:
    """One persistent connection, opened again if a fault has ended it."""

    def __init__(self, served: Process) -> None:
        self._host, self._key = urlsplit(served.url).netloc, served.key
        self._connection = HTTPConnection(self._host, timeout=DEADLINE_SECONDS)

    def call(self, method: str, path: str, body: Any = None, key: str | None = None, kind: str = "") -> bytes | None:
        """The body of the response, None if the fault left none."""
        headers = {"X-API-Key": key or self._key, "Content-Type": kind or "application/json"}
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, path, sent, headers)
            return self._connection.getresponse().read()
        except (HTTPException, OSError):
            self._connection.close()
            return None

    def done(self, method: str, path: str, body: Any = None) -> bytes:
        """The answer's body of a call that must succeed."""
        answer = self.call(method, path, body)
        if answer is None or b'"statusCode"' in answer[:20]:
            raise AssertionError(f"{method} {path}: {'no answer' if answer is None else answer[:500]!r}")
        return answer

    def json(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.done(method, path, body))


class Receiver:
    """A webhook receiver that counts what it has accepted, by message id; while it is down it answers 503."""

    def __init__(self) -> None:
        self.accepted: Counter[str] = Counter()
        self.refused = 0
        self.is_down = False
        self._lock = threading.Lock()

    def __call__(self, environ: Any, start: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        with self._lock:
            if self.is_down:
                self.refused += 1
            else:
                self.accepted[environ["HTTP_WEBHOOK_ID"]] += 1
        start("503 Service Unavailable" if self.is_down else "204 No Content", [])
        return []


def upload(content: bytes, kind: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a"\r\nContent-Type: '
    return head + kind + b"\r\n\r\n" + content + b"\r\n--b--\r\n"


def calls_of_all_kinds(client: Client, served: Process, chance: random.Random) -> Iterator[Callable[[], object]]:
    """Calls without end: each operation, refusals of each layer, and now and then a large one."""
    ids, call = served.ids, client.call
    names, campaigns = count(), ["campaign_unknown"]

    def create() -> None:
        name = f"Soak {next(names)} {chance.random()}"
        body = {"name": name, "platform": "chatapp", "templateId": ids["templates"], "cadence": 60}
        made = call("POST", "/v1/campaigns", body)
        with suppress(TypeError, ValueError, KeyError):
            campaigns.append(json.loads(made or b"")["campaignId"])

    def about(method: str, tail: str) -> Callable[[], object]:
        return lambda: call(method, f"/v1/campaigns/{chance.choice(campaigns[-5:])}{tail}")

    note = {"filters": [], "note": "x" * 100_000}
    kinds: list[tuple[int, Callable[[], object]]] = [
        (20, lambda: call("GET", "/v1/message-templates")),
        (20, lambda: call("GET", f"/v1/message-templates/{ids['templates']}")),
        (10, lambda: call("GET", "/v1/campaigns/filters/schema")),
        (10, lambda: call("POST", "/v1/campaigns/audience-preview", {"filters": []})),
        (10, lambda: call("GET", "/v1/campaigns")),
        (10, lambda: call("GET", f"/v1/messaging/chats/{ids['chats']}?limit=50")),
        (10, lambda: call("GET", f"/v1/entrypoints/{ids['entrypoints']}")),
        (10, lambda: call("GET", f"/v1/forms/{ids['forms']}/embed-frame-policy", key=served.public_key)),
        (20, about("GET", "")),
        (10, about("GET", "/executions/execution_unknown")),
        (2, about("POST", "/start")),
        (2, about("POST", "/cancel")),
        (1, create),
        (2, lambda: call("GET", f"{SESSIONS}/connection_session_unknown")),
        (5, lambda: call("POST", "/v1/campaigns", {"name": 1})),
        (5, lambda: call("GET", "/v1/campaigns", key="sk_unknown")),
        (5, lambda: call("GET", "/v1/nowhere")),
        (3, lambda: call("POST", "/v1/campaigns", b"{")),
        (1, lambda: call("POST", "/v1/campaigns/audience-preview", note)),
        (1, lambda: call("POST", "/v1/messaging/media", upload(b"Ol\xc3\xa1", b"text/plain"), kind=FORM)),
        (1, lambda: call("POST", "/v1/messaging/media", upload(b"x" * 200_000, b"application/x-other"), kind=FORM)),
        (1, lambda: call("GET", "/_mock/journal?limit=20")),
    ]
    weights = [weight for weight, _ in kinds]
    while True:
        yield chance.choices(kinds, weights)[0][1]


def make_calls(served: Process, calls: int, seed: int) -> None:
    """Make this many calls from several clients at a time."""

    def run(number: int) -> None:
        client = Client(served)
        made = calls_of_all_kinds(client, served, random.Random(seed * CLIENTS + number))
        for _ in range(calls // CLIENTS):
            next(made)()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def deliver_events(client: Client, receiver: Receiver) -> int:
    """End sessions while the receiver is down for 30 minutes, and check what it has accepted in the end; how many events."""
    receiver.is_down = True
    for number in range(SESSIONS_A_ROUND):
        session = client.json("POST", SESSIONS, {})["sessionId"]
        if number % 3 == 0:
            client.json("POST", f"/_mock/sessions/{session}/complete", {})
        elif number % 3 == 1:
            client.json("POST", f"/_mock/sessions/{session}/fail", {"reason": "phone_in_use"})
    for _ in range(6):
        client.json("POST", "/_mock/clock/advance", {"by": "5m"})
    receiver.is_down = False
    for _ in range(3):
        client.json("POST", "/_mock/clock/advance", {"by": "6h"})
    events = client.json("GET", "/_mock/events")["events"]
    statuses = Counter(delivery["status"] for event in events for delivery in event["deliveries"])
    accepted = Counter(receiver.accepted.values())
    if statuses != {"delivered": len(events)} or accepted != {1: len(events)} or len(events) < SESSIONS_A_ROUND:
        raise AssertionError(f"{len(events)} events; deliveries {statuses}; accepted so many times {accepted}")
    receiver.accepted.clear()
    return len(events)


def latency(served: Process, idle: Process) -> tuple[float, float, float]:
    """The median and the 99th percentile of GETs of a template in milliseconds, and the median compared with an idle server's."""
    times: list[list[float]] = [[], []]
    path = f"/v1/message-templates/{served.ids['templates']}"
    clients = Client(served), Client(idle)
    for _ in range(TIMED_CALLS):
        for client, own in zip(clients, times, strict=True):
            began = time.perf_counter()
            client.done("GET", path)
            own.append((time.perf_counter() - began) * 1000)
    return median(times[0]), quantiles(times[0], n=100)[-1], median(times[0]) / median(times[1])


def soak(
    served: Process, idle: Process, receiver: Receiver, url: str, is_over: Callable[[float, int], bool]
) -> list[Sample]:
    """A sample for each round, while the journal is full."""
    began: float = time.monotonic()
    samples: list[Sample] = []
    calls = events = 0
    while not is_over(time.monotonic() - began, calls):
        client = Client(served)
        client.done("POST", "/_mock/reset")
        client.done("POST", "/_mock/scenarios", {"given": {"webhooks": [{"url": url}]}, "script": SCRIPT})
        make_calls(served, CALLS_A_ROUND, seed=len(samples))
        client = Client(served)  # the server has ended the other one where the calls took longer than it waits for more
        client.done("DELETE", "/_mock/rules")
        calls += CALLS_A_ROUND
        events += deliver_events(client, receiver)
        samples.append(served.sample(began, calls, events, *latency(served, idle)))
        print(line(samples[-1]), flush=True)
    return samples


HEADINGS = ("seconds", "calls", "events", "MB", "threads", "descriptors", "a GET, ms", "its p99", "ratio")


def line(sample: Sample) -> str:
    decimals = (0, 0, 0, 1, 0, 0, 2, 2, 2)
    return "".join(f"{value:>12,.{places}f}" for value, places in zip(sample, decimals, strict=True))


def verdict(samples: list[Sample]) -> bool:
    """Print the first and the last figures, and whether each is flat; the first sample is a warm-up."""
    first, last = samples[min(1, len(samples) - 1)], samples[-1]
    most = {
        "resident_mb": first.resident_mb * TOLERANCE + TOLERANCE_MB,
        "threads": first.threads + CLIENTS,
        "descriptors": first.descriptors + CLIENTS,
    }
    print(f"{'':<14}{'first':>10}{'last':>10}")
    for name, bound in most.items():
        one, other = getattr(first, name), getattr(last, name)
        print(f"{name:<14}{one:>10,.1f}{other:>10,.1f}  {'flat' if other <= bound else 'GROWS'}")
    return all(getattr(last, name) <= bound for name, bound in most.items()) and is_latency_flat(samples[1:])


def is_latency_flat(samples: list[Sample]) -> bool:
    """Print the latency of the first and of the last third of the rounds, and whether its ratio to the idle server's drifts."""
    third = len(samples) // 3
    if not third or not samples[0].get_ratio:
        return True
    parts = samples[:third], samples[-third:]
    first, last = (median(sample.get_ratio for sample in part) for part in parts)
    first_ms, last_ms = (median(sample.get_ms for sample in part) for part in parts)
    is_flat = last <= first * TOLERANCE_LATENCY
    print(f"{'a GET, ms':<14}{first_ms:>10.2f}{last_ms:>10.2f}")
    print(f"{'of an idle one':<14}{first:>10.2f}{last:>10.2f}  {'flat' if is_flat else 'DRIFTS'}")
    return is_flat


@contextmanager
def serving() -> Iterator[Process]:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--freeze", NOON]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        try:
            yield Process(process)
        finally:
            process.terminate()


def main() -> int:
    """0 where everything is flat and every event arrived exactly once."""
    parser = argparse.ArgumentParser("soak", description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--calls", type=int, help="end after so many calls instead")
    asked = parser.parse_args()
    receiver = Receiver()
    with Server(WsgiHandler(receiver)) as own, serving() as served, serving() as idle:
        print("".join(f"{heading:>12}" for heading in HEADINGS))
        if asked.calls:
            samples = soak(served, idle, receiver, own.url, lambda seconds, calls: calls >= asked.calls)
        else:
            samples = soak(served, idle, receiver, own.url, lambda seconds, calls: seconds >= 60 * asked.minutes)
    events = f"; {samples[-1].events:,} events, each accepted exactly once" if samples[-1].events else ""
    is_flat = verdict(samples)
    print(f"{samples[-1].calls:,} calls{events}")
    return 0 if is_flat else 1


if __name__ == "__main__":
    raise SystemExit(main())
