"""
A soak of `mockserver serve` in a process of its own: memory, threads and descriptors stay flat, and no event is lost.

    python -m tests.benchmarks.soak                     ten minutes of calls of all kinds
    python -m tests.benchmarks.soak --minutes 2

It runs in rounds. In each, four clients make calls of all kinds while a script breaks some of them; then the receiver of
webhooks is down for 30 minutes of the sandbox's time while sessions end, and up again; then each event must have been
accepted exactly once; then the sandbox is reset, so that its records do not count. The first round is a warm-up: what
follows is compared with the second.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mockserver.server.http1.server import Server
from tests.benchmarks.serving import NOON, Client, Served, serving
from tests.server.wsgi import WsgiHandler

CLIENTS = 4
CALLS_A_ROUND = 12_000  # more than a journal holds
SESSIONS_A_ROUND = 60
TOLERANCE, TOLERANCE_MB = 1.10, 8.0  # what the last sample may be above the first
DEADLINE_SECONDS = 60
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
TEMPLATE, CHAT = "template_semana_clareamento", "chat_helena"
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
    """The server's process after a round."""

    resident_mb: float
    threads: int
    descriptors: int


def sample(pid: int) -> Sample:
    folder = Path(f"/proc/{pid}")
    lines = (folder / "status").read_text(encoding="utf-8").splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return Sample(resident / 1024, len([*(folder / "task").iterdir()]), len([*(folder / "fd").iterdir()]))


class Caller:
    """One persistent connection of calls that may fail, opened again if a fault has ended it."""

    def __init__(self, served: Served) -> None:
        self._key = served.key
        self._connection = HTTPConnection(urlsplit(served.url).netloc, timeout=DEADLINE_SECONDS)

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


class Receiver:
    """A webhook receiver that counts what it has accepted, by message id; while it is down it answers 503."""

    def __init__(self) -> None:
        self.accepted: Counter[str] = Counter()
        self.is_down = False
        self._lock = threading.Lock()

    def __call__(self, environ: Any, start: Any) -> list[bytes]:
        environ["wsgi.input"].read()
        if not self.is_down:
            with self._lock:
                self.accepted[environ["HTTP_WEBHOOK_ID"]] += 1
        start("503 Service Unavailable" if self.is_down else "204 No Content", [])
        return []


def upload(content: bytes, kind: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a"\r\nContent-Type: '
    return head + kind + b"\r\n\r\n" + content + b"\r\n--b--\r\n"


def calls_of_all_kinds(caller: Caller, chance: random.Random) -> Iterator[Callable[[], object]]:
    """Calls without end: each operation, refusals of each layer, and now and then a large one."""
    call, names, campaigns = caller.call, count(), ["campaign_unknown"]

    def create() -> None:
        name = f"Soak {next(names)} {chance.random()}"
        made = call(
            "POST", "/v1/campaigns", {"name": name, "platform": "chatapp", "templateId": TEMPLATE, "cadence": 60}
        )
        with suppress(TypeError, ValueError, KeyError):
            campaigns.append(json.loads(made or b"")["campaignId"])

    def about(method: str, tail: str) -> Callable[[], object]:
        return lambda: call(method, f"/v1/campaigns/{chance.choice(campaigns[-5:])}{tail}")

    note = {"filters": [], "note": "x" * 100_000}
    kinds: list[tuple[int, Callable[[], object]]] = [
        (20, lambda: call("GET", "/v1/message-templates")),
        (20, lambda: call("GET", f"/v1/message-templates/{TEMPLATE}")),
        (10, lambda: call("GET", "/v1/campaigns/filters/schema")),
        (10, lambda: call("POST", "/v1/campaigns/audience-preview", {"filters": []})),
        (10, lambda: call("GET", "/v1/campaigns")),
        (10, lambda: call("GET", f"/v1/messaging/chats/{CHAT}?limit=50")),
        (10, lambda: call("GET", "/v1/entrypoints/entrypoint_recepcao")),
        (10, lambda: call("GET", "/v1/forms/form_primeira_consulta/embed-frame-policy")),
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


def make_calls(served: Served, seed: int) -> None:
    """Make the calls of a round from several clients at a time."""

    def run(number: int) -> None:
        made = calls_of_all_kinds(Caller(served), random.Random(seed * CLIENTS + number))
        for _ in range(CALLS_A_ROUND // CLIENTS):
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
        session = client.call("POST", SESSIONS, {})["sessionId"]
        if number % 3 == 0:
            client.call("POST", f"/_mock/sessions/{session}/complete", {})
        elif number % 3 == 1:
            client.call("POST", f"/_mock/sessions/{session}/fail", {"reason": "phone_in_use"})
    for _ in range(6):
        client.call("POST", "/_mock/clock/advance", {"by": "5m"})
    receiver.is_down = False
    for _ in range(3):
        client.call("POST", "/_mock/clock/advance", {"by": "6h"})
    events = client.call("GET", "/_mock/events")["events"]
    statuses = Counter(delivery["status"] for event in events for delivery in event["deliveries"])
    accepted = Counter(receiver.accepted.values())
    if statuses != {"delivered": len(events)} or accepted != {1: len(events)} or len(events) < SESSIONS_A_ROUND:
        raise AssertionError(f"{len(events)} events; deliveries {statuses}; accepted so many times {accepted}")
    receiver.accepted.clear()
    return len(events)


def soak(served: Served, receiver: Receiver, url: str, seconds: float) -> list[Sample]:
    """Return a sample for each round, while the journal is full."""
    began = time.monotonic()
    samples: list[Sample] = []
    while time.monotonic() - began < seconds:
        client = Client(served.url, served.key)
        client.send("POST", "/_mock/reset", {})
        client.send("POST", "/_mock/scenarios", {"given": {"webhooks": [{"url": url}]}, "script": SCRIPT})
        client.close()
        make_calls(served, seed=len(samples))
        client = Client(served.url, served.key)
        client.send("DELETE", "/_mock/rules")
        events = deliver_events(client, receiver)
        client.close()
        samples.append(sample(served.pid))
        print(f"{time.monotonic() - began:6.0f} s, {events} events, {samples[-1]}", flush=True)
    return samples


def is_flat(samples: list[Sample]) -> bool:
    """Whether the last sample is about the first one after the warm-up."""
    first, last = samples[min(1, len(samples) - 1)], samples[-1]
    most = Sample(first.resident_mb * TOLERANCE + TOLERANCE_MB, first.threads + CLIENTS, first.descriptors + CLIENTS)
    return all(figure <= bound for figure, bound in zip(last, most, strict=True))


def main() -> int:
    """0 where everything is flat and every event arrived exactly once."""
    parser = argparse.ArgumentParser("soak", description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10)
    asked = parser.parse_args()
    receiver = Receiver()
    with Server(WsgiHandler(receiver)) as own, serving("--freeze", NOON) as served:
        samples = soak(served, receiver, own.url, 60 * asked.minutes)
    print(f"{len(samples) * CALLS_A_ROUND:,} calls: {'flat' if is_flat(samples) else 'GROWS'}")
    return 0 if is_flat(samples) else 1


if __name__ == "__main__":
    raise SystemExit(main())
