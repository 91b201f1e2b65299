"""Sixteen threads on one sandbox, in process and over a socket: nothing is lost, counted twice, or out of order."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS

THREADS, ROUNDS = 16, 12
ALL = THREADS * ROUNDS


def sessions_in_process(sandbox: Sandbox) -> list[str]:
    return [make(sandbox.call("POST", SESSIONS, json={}).body, sandbox) for _ in range(ROUNDS)]


def sessions_over_a_socket(sandbox: Sandbox) -> list[str]:
    parts = urlsplit(sandbox.base_url)
    client = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    headers = {"X-API-Key": sandbox.secret_key, "Content-Type": "application/json"}
    ids = []
    for _ in range(ROUNDS):
        client.request("POST", parts.path + SESSIONS, b"{}", headers)
        ids.append(make(client.getresponse().read(), sandbox))
    client.close()
    return ids


def make(answer: bytes, sandbox: Sandbox) -> str:
    """Complete the session of this answer, and let a second pass."""
    session: str = json.loads(answer)["sessionId"]
    sandbox.complete_session(session)
    sandbox.advance(seconds=1)
    return session


@pytest.mark.parametrize("sessions", [sessions_in_process, sessions_over_a_socket])
def test_each_call_is_in_the_journal_once_and_each_event_is_delivered_once(sessions: Callable[..., Any]) -> None:
    received: list[str] = []
    together = threading.Barrier(THREADS)

    def run(sandbox: Sandbox) -> list[str]:
        together.wait(30)
        found: list[str] = sessions(sandbox)
        return found

    with MockServer() as server, server.sandbox() as sandbox, ThreadPoolExecutor(THREADS) as threads:
        rule = sandbox.on("createConnectionSession").every(4).advance("1s")
        sandbox.receive_webhooks(lambda request: received.append(request.headers["webhook-id"]))
        made = [id for ids in threads.map(run, [sandbox] * THREADS) for id in ids]
        exchanges, events = sandbox.log.journal["exchanges"], sandbox.events

    assert (ALL, ALL, ALL // 4) == (len(made), len(set(made)), rule.fired)
    assert list(range(1, ALL + 1)) == [each["n"] for each in exchanges]
    assert sorted(made) == sorted(each["response"]["body"]["sessionId"] for each in exchanges)
    assert sorted(each["at"] for each in exchanges) == [each["at"] for each in exchanges]
    assert Counter({"delivered": ALL}) == Counter(row["status"] for event in events for row in event["deliveries"])
    assert Counter(dict.fromkeys((event["id"] for event in events), 1)) == Counter(received)


def test_sandboxes_that_threads_make_have_ids_of_their_own_and_share_nothing() -> None:
    def run(server: MockServer) -> tuple[str, int]:
        with server.sandbox() as sandbox:
            sessions_in_process(sandbox)
            return sandbox.id, len(sandbox.log.journal["exchanges"])

    with MockServer() as server, ThreadPoolExecutor(THREADS) as threads:
        ended = list(threads.map(run, [server] * THREADS))

    assert {(f"sandbox_{number}", ROUNDS) for number in range(1, THREADS + 1)} == set(ended)
