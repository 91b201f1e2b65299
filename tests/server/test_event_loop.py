"""The server's event loop: real time under a frozen clock, no wait for a sandbox, few threads, forks and exits."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import time_machine
from freezegun import freeze_time

from mockserver import MockServer, Sandbox
from mockserver.core.faults import injection
from mockserver.core.operations.dispatch import handle_call
from mockserver.server.http1.messages import Request, Response, ResponseOrDisconnect
from tests.harness.waiting import wait_until
from tests.processes import run_apart
from tests.server.clocked import Echo
from tests.server.conftest import Serve
from tests.server.rawclient import DEADLINE_SECONDS, RawClient

PATH = "/v1/campaigns"
DAY = "2026-03-01T12:00:00+00:00"


def ask(client: RawClient, sandbox: Sandbox, method: str = "GET", path: str = PATH) -> RawClient:
    parts = urlsplit(sandbox.base_url)
    return client.send(f"{method} {parts.path}{path} HTTP/1.1", f"X-API-Key: {sandbox.secret_key}")


def connected(sandbox: Sandbox) -> RawClient:
    return RawClient(urlsplit(sandbox.base_url).port or 0)


FREEZERS: dict[str, Callable[[], Any]] = {
    "freezegun": lambda: freeze_time(DAY),
    "time-machine": lambda: time_machine.travel(datetime.fromisoformat(DAY), tick=False),
}


@pytest.mark.parametrize("freeze", FREEZERS.values(), ids=FREEZERS)
def test_a_delay_takes_real_time_while_the_clock_of_the_process_is_frozen(
    freeze: Callable[[], AbstractContextManager[Any]],
) -> None:
    with freeze(), MockServer() as server, server.sandbox() as sandbox:
        sandbox.on("listCampaigns").delay("50ms")
        with connected(sandbox) as client:
            assert 200 == ask(client, sandbox).answer().status


@pytest.mark.parametrize("freezer", ["freezegun", "time_machine"])
def test_a_server_that_is_imported_under_a_frozen_clock_waits_in_real_time(freezer: str) -> None:
    frozen = {
        "freezegun": f"from freezegun import freeze_time; freeze_time('{DAY}').start()",
        "time_machine": f"import time_machine, datetime; time_machine.travel(datetime.datetime.fromisoformat('{DAY}'), tick=False).start()",
    }[freezer]
    code = f"""
{frozen}
from mockserver import MockServer
import urllib.request
with MockServer() as server, server.sandbox() as sandbox:
    sandbox.on("listCampaigns").delay("50ms")
    request = urllib.request.Request(sandbox.base_url + "{PATH}", headers={{"X-API-Key": sandbox.secret_key}})
    print(urllib.request.urlopen(request, timeout=10).status)
"""
    done = run_apart(code)

    assert ("200\n", "") == (done.stdout, done.stderr)


def test_a_busy_sandbox_delays_only_its_own_calls(mockserver_server: MockServer) -> None:
    busy, free = mockserver_server.sandbox(), mockserver_server.sandbox()
    with busy, free, connected(busy) as waiting, connected(free) as other:
        with busy._hosted.sandbox.lock:
            ask(waiting, busy)
            for _ in range(20):
                assert 200 == ask(other, free).answer().status
            assert [] == busy.log.journal["exchanges"]
        assert 200 == waiting.answer().status


def test_responses_keep_the_order_of_their_requests(serve: Serve) -> None:
    """Also where one runs in a worker, one waits and one is answered on the loop."""

    class Handler(Echo):
        def respond(self, request: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:  # type: ignore[override]
            response = Response(200, (), request.target.encode())
            if request.target == "/worker":
                return request.in_worker(lambda: time.sleep(0.01) or response)
            return self.late(response) if request.target == "/late" else response

        async def late(self, response: Response) -> ResponseOrDisconnect:
            await asyncio.sleep(0.01)
            return response

    targets = ["/worker", "/late", "/now", "/worker", "/now", "/late"]
    with RawClient(serve(Handler()).port) as client:
        client.socket.sendall(b"".join(f"GET {each} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for each in targets))

        assert targets == [client.answer().body.decode() for _ in targets]


@contextmanager
def many_descriptors(count: int) -> Iterator[None]:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] != resource.RLIM_INFINITY and limits[1] < count:
        pytest.skip(f"the system lets a process have {limits[1]} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], count), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def threads_of(url: str) -> list[str]:
    return [thread.name for thread in threading.enumerate() if f"{url} " in f"{thread.name} "]


def test_a_thousand_waiting_calls_take_fewer_than_ten_threads_and_end_with_the_server() -> None:
    count = 1_000
    with many_descriptors(2 * count + 200), MockServer() as server, ExitStack() as clients:
        sandbox = server.sandbox()
        rule = sandbox.on("listCampaigns").delay("1h")
        callers = [clients.enter_context(connected(sandbox)) for _ in range(count)]
        for caller in callers:
            ask(caller, sandbox)
        wait_until(lambda: rule.fired == count)

        url = server.url
        assert 0 < len(threads_of(url)) < 10
        server.close()
        assert all(caller.ended() for caller in callers)
    wait_until(lambda: not threads_of(url))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_reaches_a_sandbox_of_its_parent_and_one_of_its_own_by_their_addresses() -> None:
    code = f"""
import os, urllib.request
from mockserver import MockServer
def status(sandbox):
    request = urllib.request.Request(sandbox.base_url + "{PATH}", headers={{"X-API-Key": sandbox.secret_key}})
    return urllib.request.urlopen(request, timeout=10).status
with MockServer() as server, server.sandbox() as sandbox:
    if not (child := os.fork()):
        own = server.sandbox()
        print(status(sandbox), status(own), len(own.log.journal["exchanges"]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(len(sandbox.log.journal["exchanges"]))
"""
    done = run_apart(code)

    assert ["200 200 1", "1"] == done.stdout.splitlines(), done


def test_the_exit_of_the_interpreter_waits_neither_for_the_loop_nor_for_a_worker() -> None:
    code = f"""
import threading, time, socket
from mockserver.server.http1.messages import Response
from mockserver.server.http1.server import Server
class Busy:
    def body_max_bytes(self, head): return 0
    def respond(self, request): return request.in_worker(lambda: reached.set() or time.sleep(3_600))
reached = threading.Event()
server = Server(Busy())
server.start()
client = socket.create_connection((server.host, server.port))
client.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
reached.wait({DEADLINE_SECONDS})
"""
    done = run_apart(code, "-W", "error")  # by its deadline the call has an hour to go

    assert ("", "", 0) == (done.stdout, done.stderr, done.returncode)


def test_a_call_that_reads_many_chats_runs_in_a_worker(
    mockserver_server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return handle_call(*arguments)

    monkeypatch.setattr("mockserver.core.faults.injection.handle_call", watched)
    with mockserver_server.sandbox(given={"chats": {"count": 3_000}}) as sandbox:
        url, headers = sandbox.base_url, {"X-API-Key": sandbox.secret_key}
        requests.get(url + PATH, headers=headers, timeout=10)
        requests.post(f"{url}/v1/campaigns/audience-preview", json={"filters": []}, headers=headers, timeout=10)

    assert [False, True] == [name.endswith("worker") for name in threads]


def test_a_socket_needs_neither_flask_nor_werkzeug() -> None:
    code = f"""
import sys, urllib.request
from mockserver import MockServer
with MockServer() as server, server.sandbox() as sandbox:
    request = urllib.request.Request(sandbox.base_url + "{PATH}", headers={{"X-API-Key": sandbox.secret_key}})
    print(urllib.request.urlopen(request, timeout=10).status)
    urllib.request.urlopen(server.url + "/_mock/health", timeout=10)
print([name for name in ("flask", "werkzeug", "jinja2") if name in sys.modules])
"""
    done = run_apart(code)

    assert ("200\n[]\n", "") == (done.stdout, done.stderr)


def test_a_call_goes_on_in_a_worker_after_a_wait(
    mockserver_server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    run_operation = injection.run_operation

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return run_operation(*arguments)

    monkeypatch.setattr(injection, "run_operation", watched)
    with mockserver_server.sandbox() as sandbox:
        sandbox.on("previewAudience").delay("1ms")
        url, headers = f"{sandbox.base_url}/v1/campaigns/audience-preview", {"X-API-Key": sandbox.secret_key}
        requests.post(url, json={"filters": []}, headers=headers, timeout=10)

    assert [True] == [name.endswith("worker") for name in threads]
