"""One server for many jobs: no cross-talk, and flat memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.hosting.limits import BEYOND_LOOPBACK, Limiter
from mockserver.testing.remote import RemoteServer
from mockserver.wire.request import HttpRequest
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.test_cli_serve import Served

TOKEN = "let-me-in"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
DEADLINE_SECONDS = 60
GROWTH_MAX_BYTES = 8_000_000  # after 100,000 sandboxes; one kilobyte lost with each would be 100 MB


@pytest.fixture
def served() -> Iterator[Served]:
    server = Served("--token", TOKEN, "--log-format", "off")
    yield server
    server.close()


def resident_bytes(pid: int) -> int:
    """The memory that a process has, of Linux."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def in_threads(count: int, run: Callable[[int], Any]) -> list[Any]:
    """What each of these workers returns; all of them begin together."""
    together = threading.Barrier(count)

    def begin(number: int) -> Any:
        together.wait(DEADLINE_SECONDS)
        return run(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begin, range(count)))


def wrong_answers(url: str, workers: int = 200, sandboxes: int = 10) -> list[str]:
    """Each answer that is not of the sandbox that was called, of workers that make, use and end sandboxes, all different."""
    keys: list[str] = []

    def use(sandbox: Sandbox) -> tuple[object, ...]:
        foreign = keys[-1:]
        keys.append(sandbox.secret_key)
        session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
        sandbox.advance("20m")
        return (
            [row["name"] for row in sandbox.call("GET", "/v1/message-templates").json()["templates"]],
            sandbox.call("POST", "/v1/campaigns/audience-preview", json={}).json()["estimatedCount"],
            {sandbox.call("GET", "/v1/campaigns", key=key).status for key in foreign} - {401},
            sandbox.call("GET", f"{SESSIONS}/{session}").json()["status"],
            len(sandbox.log.journal["exchanges"]) - len(foreign),
        )

    def work(worker: int) -> list[str]:
        wrong = []
        server = RemoteServer(url, token=TOKEN, labels={"job": f"job-{worker}"})
        for number in range(sandboxes):
            name, chats = f"job-{worker}-{number}", worker % 7 + number
            given: dict[str, Any] = {
                "templates": [{"id": f"template_{worker}_{number}", "name": name}],
                "chats": {"count": chats},
            }
            with server.sandbox(given=given) as sandbox:
                seen = use(sandbox)
            expected = ([name], chats, set[int](), "expired", 4)
            wrong += [f"{name}: got {seen}; expected {expected}"] if seen != expected else []
        return wrong

    wrong = [line for lines in in_threads(workers, work) for line in lines]
    assert workers * sandboxes == len(set(keys))
    return wrong


@pytest.mark.deep
def test_2000_sandboxes_of_200_workers_never_see_each_other(served: Served) -> None:
    assert [] == wrong_answers(served.url)

    rest = served.ask("GET", "/_mock/sandboxes", key=None, headers=BEARER).json()
    assert [DEFAULT_ID] == [row["sandboxId"] for row in rest["sandboxes"]]
    assert [] == rest["closed"]  # no call arrived late


@pytest.mark.law
@pytest.mark.skipif(sys.platform != "linux", reason="it reads the memory of a process from Linux")
def test_many_sandboxes_made_and_ended_take_no_memory() -> None:
    many = at_depth(500, 100_000)
    host = SandboxHost()
    host.create(SandboxConfig("demo"), id=DEFAULT_ID)
    host.token = TOKEN
    limiter = Limiter(host, BEYOND_LOOPBACK)
    host.admission = limiter.admission
    headers = {"host": "127.0.0.1", "authorization": BEARER["Authorization"]}

    def ask(method: str, path: str, body: bytes = b"", **more: str) -> Any:
        response, after = handle_request(
            host, HttpRequest.create(method, path, {**headers, **more}, body, "http://127.0.0.1")
        )
        after()
        return response

    def use(count: int) -> None:
        for number in range(count):
            made = ask("POST", "/_mock/sandboxes", b'{"labels": {"job": "%d"}}' % number).json()
            key = {"x-api-key": made["secretKey"]}
            assert 200 == ask("GET", f"/sandboxes/{made['sandboxId']}/v1/campaigns", **key).status
            assert 204 == ask("DELETE", f"/_mock/sandboxes/{made['sandboxId']}").status
            if not number % 100:
                limiter.sweep()

    pid = int(Path("/proc/self").resolve().name)
    use(many // 8)  # in the deep run until every table that is bounded is full
    before = resident_bytes(pid)
    use(many)

    assert resident_bytes(pid) - before < GROWTH_MAX_BYTES
    assert [DEFAULT_ID] == list(host.sandboxes)
