"""Figures, not tests: what it takes to deliver a thousand events that fall due at one instant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.benchmarks.receiver import received, receiving

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
COUNT = 1_000


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running_server:
        yield running_server


def _pending(server: MockServer) -> Sandbox:
    sandbox = server.sandbox(now="2026-03-01T12:00:00Z")
    for _ in range(COUNT):
        assert sandbox.call("POST", SESSIONS, json={}).status == 202
    return sandbox


@pytest.mark.benchmark(group="a thousand sessions expire at one instant")
@pytest.mark.parametrize("way", ["no receiver", "in process", "over a socket to another process"])
def test_a_thousand_sessions_expire(benchmark: Any, server: MockServer, way: str) -> None:
    seen: list[int] = []

    with receiving() as url:

        def ready() -> tuple[tuple[Sandbox], dict[str, Any]]:
            seen.clear()
            received(url)
            sandbox = _pending(server)
            if way == "in process":
                sandbox.receive_webhooks(lambda webhook: seen.append(1))
            elif way != "no receiver":
                sandbox.receive_webhooks(url)
            return (sandbox,), {}

        def expire(sandbox: Sandbox) -> None:
            sandbox.advance("20m")
            count = len(seen) + len(received(url)[0])
            assert count == (0 if way == "no receiver" else COUNT)

        benchmark.pedantic(expire, setup=ready, rounds=5)
