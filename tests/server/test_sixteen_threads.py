"""Sixteen threads on one sandbox, in process and over a socket: nothing is lost, counted twice, or out of order."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.access import Access, in_process

THREADS, ROUNDS = 16, 12
ALL = THREADS * ROUNDS


def play(sandbox: Sandbox, access: Access) -> list[str]:
    """Complete new sessions, and let a second pass after each."""
    headers = {"X-API-Key": sandbox.secret_key, "Content-Type": "application/json"}
    made = []
    for _ in range(ROUNDS):
        made.append(access.ask("POST", SESSIONS, headers, b"{}").json()["sessionId"])
        sandbox.complete_session(made[-1])
        sandbox.advance(seconds=1)
    return made


def test_each_call_is_in_the_journal_once_and_each_event_is_delivered_once(mockserver: Sandbox, access: Access) -> None:
    received: list[str] = []
    together = threading.Barrier(THREADS)

    def run(_: int) -> list[str]:
        together.wait(30)
        return play(mockserver, access)

    with ThreadPoolExecutor(THREADS) as threads:
        rule = mockserver.on("createConnectionSession").every(4).advance("1s")
        mockserver.receive_webhooks(lambda request: received.append(request.headers["webhook-id"]))
        made = [id for ids in threads.map(run, range(THREADS)) for id in ids]
        exchanges, events = mockserver.log.journal["exchanges"], mockserver.events

    assert (ALL, ALL, ALL // 4) == (len(made), len(set(made)), rule.fired)
    assert list(range(1, ALL + 1)) == [each["n"] for each in exchanges]
    assert sorted(made) == sorted(each["response"]["body"]["sessionId"] for each in exchanges)
    assert sorted(each["at"] for each in exchanges) == [each["at"] for each in exchanges]
    assert Counter({"delivered": ALL}) == Counter(row["status"] for event in events for row in event["deliveries"])
    assert Counter(dict.fromkeys((event["id"] for event in events), 1)) == Counter(received)


def test_sandboxes_that_threads_make_have_ids_of_their_own_and_share_nothing() -> None:
    def run(server: MockServer) -> tuple[str, int]:
        with server.sandbox() as sandbox:
            play(sandbox, in_process(sandbox))
            return sandbox.id, len(sandbox.log.journal["exchanges"])

    with MockServer() as server, ThreadPoolExecutor(THREADS) as threads:
        ended = list(threads.map(run, [server] * THREADS))

    assert {(f"sandbox_{number}", ROUNDS) for number in range(1, THREADS + 1)} == set(ended)
