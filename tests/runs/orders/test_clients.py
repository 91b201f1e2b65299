"""Clients of every kind that a team has: each works and is the same in each run, or is named in the report."""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from types import MappingProxyType
from typing import Any
from urllib.request import Request, urlopen

import httpx
import pytest
import requests

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import BODY, GIVEN, call, campaigns, create, create_or_adopt_on_a_loop, start

Client = Callable[[Sandbox], Any]
PATIENT_S = 60  # real time; none of these clients is blocked


def interleaved(server: MockServer, client: Client, **options: Any) -> InterleaveReport:
    settings = {"given": options.pop("given", GIVEN)}
    values: dict[str, Any] = {"blocked_seconds": PATIENT_S, "bound": 1, **options}
    return server.interleave(clients={"worker": client, "cron": client}, settings=settings, **values)


def _session(sandbox: Sandbox) -> requests.Session:
    session = requests.Session()
    session.headers["X-API-Key"] = sandbox.secret_key
    return session


async def gather_over_sockets(sandbox: Sandbox) -> None:
    async with httpx.AsyncClient(base_url=sandbox.base_url, headers={"X-API-Key": sandbox.secret_key}) as client:
        await asyncio.gather(*(client.get(f"/v1/campaigns?n={n}") for n in range(3)))


def pool_over_sockets(sandbox: Sandbox) -> None:
    url = sandbox.base_url
    with _session(sandbox) as session, ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: session.get(f"{url}/v1/campaigns?n={n}").json(), range(4)))


def thread_of_its_own(sandbox: Sandbox) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    thread = threading.Thread(target=lambda: answers.put(campaigns(sandbox)))
    thread.start()
    answers.get()
    thread.join()
    campaigns(sandbox)


async def to_thread(sandbox: Sandbox) -> None:
    await asyncio.to_thread(campaigns, sandbox)
    await asyncio.to_thread(campaigns, sandbox)


def loop_of_its_own(sandbox: Sandbox) -> None:
    asyncio.run(create_or_adopt_on_a_loop(sandbox))


def program(sandbox: Sandbox) -> None:
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    campaigns(sandbox)


def ends_by_exit(sandbox: Sandbox) -> None:
    campaigns(sandbox)
    sys.exit(0)


OWN: ContextVar[str] = ContextVar("own", default="none")


def context_of_its_own(sandbox: Sandbox) -> None:
    assert OWN.get() == "none"
    OWN.set(sandbox.base_url)
    campaigns(sandbox)
    assert OWN.get() == sandbox.base_url
    copy_context().run(campaigns, sandbox)


async def sleeps_really_on_a_loop(sandbox: Sandbox) -> None:
    await asyncio.sleep(0.002)
    await sandbox.aio.call("GET", "/v1/campaigns")
    await asyncio.sleep(0.002)


KINDS: Mapping[str, Client] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            gather_over_sockets, pool_over_sockets, thread_of_its_own, to_thread, loop_of_its_own, program, ends_by_exit,
            context_of_its_own, sleeps_really_on_a_loop,
        )
    }
)  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_client_is_the_same_in_each_run(server: MockServer, name: str) -> None:
    report = interleaved(server, KINDS[name])

    assert not report.failed, report.text()
    assert (None, {}) == (report.difference, report.blocked), report.text()


@pytest.mark.deep  # a process takes a second to start
def test_a_process_of_a_client_calls_for_the_client(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        request = Request(f"{sandbox.base_url}/v1/campaigns", headers={"X-API-Key": sandbox.secret_key})
        process = multiprocessing.get_context("spawn").Process(target=urlopen, args=(request,))
        process.start()
        process.join()
        assert process.exitcode == 0
        campaigns(sandbox)

    report = interleaved(server, work)

    assert not report.failed, report.text()
    assert (None, {}) == (report.difference, report.blocked), report.text()
    assert ["worker cron (2 and 2 calls)", "cron worker (2 and 2 calls)"] == report.serial


def test_a_race_of_clients_with_a_loop_over_sockets_is_found(server: MockServer) -> None:
    async def work(sandbox: Sandbox) -> None:
        async with httpx.AsyncClient(base_url=sandbox.base_url, headers={"X-API-Key": sandbox.secret_key}) as client:
            if not (await client.get("/v1/campaigns")).json()["campaigns"]:
                await client.post("/v1/campaigns", json={**BODY, "name": f"Promotion {random.random()}"})

    report = interleaved(server, work)

    assert [("duplicate", "worker*2 cron")] == [(row.verdict, row.schedule) for row in report.findings]


@pytest.mark.deep
def test_a_real_sleep_is_named_and_longer_than_a_block(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        campaigns(sandbox)
        time.sleep(0.6)
        campaigns(sandbox)

    report = interleaved(server, work, blocked_seconds=0.5, bound=0)

    assert not report.blocked
    assert "the test or its client sleeps in real time (0.6 s by time.sleep at test_clients.py:" in report.text()


def test_a_copy_of_a_campaign_after_a_conflict_is_a_breach_of_conduct_too(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        if call(sandbox, "GET", "/v1/campaigns/campaign_autumn")["status"] != "draft":
            return
        if sandbox.call("POST", "/v1/campaigns/campaign_autumn/start").status == 422:
            start(sandbox, create(sandbox, "Autumn (2)"))

    autumn = {"id": "campaign_autumn", "name": "Autumn", **BODY}
    report = interleaved(server, work, given={**GIVEN, "campaigns": [autumn]})

    assert [("duplicate", "executions"), ("breach", "clone-after-conflict")] == [
        (finding.verdict, finding.cause) for finding in report.findings
    ]
    assert "  clone-after-conflict, " in report.text()


def test_a_client_that_calls_by_the_time_of_day_is_named(server: MockServer) -> None:
    ticks = iter(range(10_000))

    def work(sandbox: Sandbox) -> None:
        sandbox.call("GET", f"/v1/campaigns?tick={next(ticks)}")
        create(sandbox, f"Promotion at {next(ticks)}")

    report = interleaved(server, work)

    assert "equal runs differ: equal serial runs end with other records" in report.text()
    assert report.difference is not None
