"""Disposal of what a reset discards: the caller frees nothing that takes long, and no other thread waits for it."""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from weakref import ref

import pytest

from mockserver import MockServer
from mockserver.core.state.sandbox import Discarded
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.disposal import Disposal
from mockserver.server.hosting.host import SandboxHost
from mockserver.wire.request import HttpRequest

THREAD = "mockserver disposal"


class Record:
    """A record that appends the name of the thread which frees it."""

    def __init__(self, freed: list[str]) -> None:
        self.freed = freed

    def __del__(self) -> None:
        self.freed.append(threading.current_thread().name)


class Spy(Disposal):
    """Disposal that stores the tables."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Discarded] = []

    def add(self, discarded: Discarded) -> None:
        self.tables.append(discarded)


def nothing(freed: list[str]) -> None:
    """Do nothing in a pause."""


def dispose(make: Callable[[Any], Any], count: int, pause: Callable[[list[str]], Any] = nothing) -> list[str]:
    """Dispose of a table with this many records; return the names of the threads that freed them, and the return."""
    freed: list[str] = []
    returned = threading.Event()
    disposal = Disposal(pause=lambda: pause(freed) if returned.wait() else None)
    disposal.add((make([Record(freed) for _ in range(count)]), []))
    freed.append("returned")
    returned.set()
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()
    return freed


@pytest.mark.parametrize("make", [list, deque, tuple, lambda records: dict(enumerate(records))])
def test_another_thread_frees_the_records_of_a_long_table(make: Callable[[list[str]], Any]) -> None:
    assert ["returned", *[THREAD] * 1_000] == dispose(make, 1_000)


def test_no_slice_takes_long() -> None:
    counts = [0]

    dispose(list, 1_000, lambda freed: counts.append(freed.count(THREAD)))

    assert 200 >= max(after - before for before, after in pairwise(counts))


def test_a_reset_disposes_of_its_calls_and_records() -> None:
    with MockServer().sandbox(given={"templates": [{"id": "template_hello"}]}) as sandbox:
        sandbox._hosted.host.disposal = spy = Spy()
        body = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}
        campaign_id = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
        state = sandbox._hosted.sandbox
        exchanges, campaigns = state.journal.exchanges, state.tenants["tenant_default"].campaigns

        sandbox.reset()

        (discarded,) = spy.tables
        assert any(table is exchanges for table in discarded)
        assert any(table is campaigns for table in discarded)
        assert [campaign_id] == list(campaigns)
        assert 404 == sandbox.call("GET", f"/v1/campaigns/{campaign_id}").status


def test_a_closed_sandbox_is_freed_without_the_garbage_collector() -> None:
    host = SandboxHost()
    hosted = host.create(SandboxConfig(given={"chats": {"count": 3}}))
    handle_request(host, HttpRequest("GET", f"/sandboxes/{hosted.id}/v1/campaigns", {}, b"", host.origin))
    closed: list[ref[Any]] = [ref(hosted), ref(hosted.sandbox)]
    gc.disable()
    try:
        host.close(hosted.id)
        del hosted

        assert [None, None] == [each() for each in closed]
    finally:
        gc.enable()
