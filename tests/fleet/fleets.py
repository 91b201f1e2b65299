"""A `mockserver fleet` in a process of its own, and clients that use it while shards are killed, drained and restarted."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from mockserver.fleet.proxies import PROXIES, find_program

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 60
POLL_SECONDS = 0.01
TOKEN = "let-me-in"

INSTALLED = tuple(name for name in PROXIES if find_program(name) is not None)
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="it reads the processes of the fleet from /proc")


def each_proxy(*names: str, fixture: str | None = None) -> pytest.MarkDecorator:
    """Run a test, or this fixture of it, with each of these proxies; one that is not installed is skipped by its name."""
    marks = {
        name: [] if name in INSTALLED else [pytest.mark.skip(reason=f"{name} is not on this machine")]
        for name in names or PROXIES
    }
    rows = [pytest.param(name, marks=own, id=name) for name, own in marks.items()]
    return pytest.mark.parametrize(fixture or "proxy", rows, indirect=fixture is not None, scope="module")


def one_proxy_or_each() -> pytest.MarkDecorator:
    """Run a test that shows the fleet rather than its proxy with one proxy, and in the deep run with each."""
    marks = {
        name: [pytest.mark.deep] if name in INSTALLED else [pytest.mark.skip(reason=f"{name} is not on this machine")]
        for name in PROXIES
        if name not in INSTALLED[:1]
    }
    params = [*INSTALLED[:1], *(pytest.param(name, marks=own) for name, own in marks.items())]
    return pytest.mark.parametrize("proxy", params)


class Process(NamedTuple):
    """A process of the system, as Linux lists it."""

    pid: int
    command: str


def children(pid: int) -> list[Process]:
    """The processes below a process, at any depth."""
    parents: dict[int, list[Process]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text(encoding="utf-8").replace("\0", " ").strip()
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(Process(int(folder.name), command))
    below, left = [], [pid]
    while left:
        own = parents.get(left.pop(), [])
        below += own
        left += [each.pid for each in own]
    return below


def is_running(pid: int) -> bool:
    """True for a process that has not ended."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_condition(condition: Callable[[], Any], what: str) -> Any:
    """Return the first result that is true; the condition is real and outside this process, so it is read repeatedly."""
    until = time.monotonic() + DEADLINE_SECONDS
    pause = threading.Event()
    while not (result := condition()):
        assert time.monotonic() < until, f"after {DEADLINE_SECONDS} s not: {what}"
        pause.wait(POLL_SECONDS)
    return result


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Answer(NamedTuple):
    """The answer to one call; the status is 0 for a connection that ended without one."""

    status: int
    body: Any
    seconds: float


class Client:
    """A client with a connection of its own, opened again after each failure."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._address = urlsplit(url).netloc
        self._token = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._wire: HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a call once."""
        began = time.monotonic()
        if self._wire is None:
            self._wire = HTTPConnection(self._address, timeout=DEADLINE_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            self._wire.request(
                method, path, content, {"Content-Type": "application/json", **self._token, **(headers or {})}
            )
            response = self._wire.getresponse()
            text = response.read()
        except (HTTPException, OSError):
            self.close()
            return Answer(0, None, time.monotonic() - began)
        is_json = "json" in (response.getheader("Content-Type") or "")
        return Answer(response.status, json.loads(text) if is_json and text else text, time.monotonic() - began)

    def create(self, also: tuple[int, ...] = (), **body: Any) -> dict[str, Any]:
        """Create a sandbox, and repeat a creation that is refused by a shard that drains, or with these statuses."""

        def created() -> dict[str, Any] | None:
            answer = self.ask("POST", "/_mock/sandboxes", body)
            assert answer.status in (201, 503, *also), answer
            return answer.body if answer.status == 201 else None

        made: dict[str, Any] = await_condition(created, "a sandbox is created")
        return {**made, "path": urlsplit(made["baseUrl"]).path, "shard": int(made["sandboxId"].split("_")[1])}

    def list_campaigns(self, made: Mapping[str, Any]) -> Answer:
        return self.ask("GET", f"{made['path']}/v1/campaigns", headers={"X-API-Key": made["secretKey"]})

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


class Fleet:
    """A fleet; once this exists, every shard answers through the proxy."""

    def __init__(self, proxy: str, *arguments: str, processes: int = 2, port: int = 0) -> None:
        self._clients: list[Client] = []
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by `close`
        own = ("--proxy", proxy, "--processes", str(processes), "--port", str(port), "--log-format", "off")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "mockserver", "fleet", *own, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        self.greeting = self.first_line
        while "Ctrl-C" not in self.greeting and (line := self.process.stdout.readline()):
            self.greeting += line
        self.url = self.first_line.split()[-1] if self.first_line else ""
        self.started = children(self.process.pid)

    def client(self) -> Client:
        """A client of the control plane, which ends with the fleet."""
        self._clients.append(Client(self.url, TOKEN if TOKEN in self.greeting else None))
        return self._clients[-1]

    def shard_pid(self, number: int) -> int:
        """The process id of a shard's present run."""
        pid: int = await_condition(
            lambda: next((each.pid for each in children(self.process.pid) if f"--shard {number}/" in each.command), 0),
            f"shard {number} runs",
        )
        return pid

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """The exit status after a signal, and the seconds until then."""
        began = time.monotonic()
        self.send(number)
        return self.process.wait(DEADLINE_SECONDS), time.monotonic() - began

    def log(self) -> str:
        """What it has printed to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        """End it; afterwards none of its processes runs."""
        for client in self._clients:
            client.close()
        everything = {*self.started, *children(self.process.pid)}
        if self.process.poll() is None:
            self.stop(signal.SIGINT)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()
        await_condition(lambda: not [each for each in everything if is_running(each.pid)], "every process has ended")


class Load:
    """
    Clients that call their sandboxes until they are stopped.

    Each owns a sandbox. It repeats a call that gets 503, or no response, and replaces a sandbox that is gone (410), or that
    has had `calls_of_a_sandbox`, and which it then ends.
    """

    def __init__(
        self, fleet: Fleet, clients: int, *, calls_of_a_sandbox: float = math.inf, may_lose_creations: bool = False
    ) -> None:
        self._fleet = fleet
        self._accepted = (0,) if may_lose_creations else ()
        self._calls_of_a_sandbox = calls_of_a_sandbox
        self._stopped = threading.Event()
        self._answers: list[tuple[int, Answer]] = []
        self.problems: list[str] = []
        self.completed = 0
        self._threads = [threading.Thread(target=self._work) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        client = self._fleet.client()
        try:
            made, left = client.create(), self._calls_of_a_sandbox
            while not self._stopped.is_set():
                answer = client.list_campaigns(made)
                self._answers.append((made["shard"], answer))
                if answer.status == 410:
                    made, left = client.create(also=self._accepted), self._calls_of_a_sandbox
                elif answer.status == 200:
                    self.completed += 1
                    left -= 1
                elif answer.status not in (0, 503):
                    self.problems.append(f"{made['sandboxId']}: got {answer}")
                if left <= 0:
                    assert 204 == client.ask("DELETE", f"/_mock/sandboxes/{made['sandboxId']}").status
                    made, left = client.create(), self._calls_of_a_sandbox
        except BaseException as failure:
            self.problems.append(repr(failure))
            raise
        finally:
            client.close()

    def await_calls(self, count: int) -> None:
        """Wait for this number of further calls that succeed."""
        until = self.completed + count
        await_condition(lambda: self.completed >= until or self.problems, f"{count} calls succeed")

    def stop(self) -> dict[int, list[Answer]]:
        """End the clients; return the answers by the shard of the sandbox."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
        by_shard: dict[int, list[Answer]] = {}
        for shard, answer in self._answers:
            by_shard.setdefault(shard, []).append(answer)
        return by_shard
