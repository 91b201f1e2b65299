"""Receivers that call the server back while it delivers to them: no number of them takes the threads of the others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import requests

from mockserver import MockServer, Sandbox
from tests.harness.waiting import PATIENCE_SECONDS

COUNT = 40  # more than the threads of the pool


def test_forty_receivers_that_call_back_at_a_time_are_all_answered() -> None:
    all_called = threading.Barrier(COUNT)
    statuses: list[int] = []

    def prepare(sandbox: Sandbox) -> str:
        def receive(_: object) -> int:
            all_called.wait(PATIENCE_SECONDS)  # each of them keeps a thread of the server meanwhile
            answer = requests.get(f"{sandbox.base_url}/_mock/clock", timeout=PATIENCE_SECONDS)  # takes another one
            statuses.append(answer.status_code)
            return 200

        sandbox.receive_webhooks(receive)
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        return f"{sandbox.base_url}/_mock/clock/advance"

    def advance(url: str) -> int:
        return requests.post(url, json={"by": "20m"}, timeout=3 * PATIENCE_SECONDS).status_code

    with MockServer() as server, ThreadPoolExecutor(COUNT) as clients:
        sandboxes = [server.sandbox() for _ in range(COUNT)]
        answers = list(clients.map(advance, [prepare(sandbox) for sandbox in sandboxes]))

        assert [200] * COUNT == answers
        assert [200] * COUNT == statuses
        assert {"delivered"} == {sandbox.events[0]["deliveries"][0]["status"] for sandbox in sandboxes}
