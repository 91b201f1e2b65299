"""The limits of a server: what is refused beyond them, what they end, and what late calls read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mockserver.core.instants import SECOND
from mockserver.server.control import scenarios
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.hosting.limits import Limiter, ServerLimits
from tests.server.hosts import send

MINUTE = 60 * SECOND
LARGE = {"given": {"chats": {"count": 5_000}}}


class Limited:
    """A host within limits, by a clock that the test moves."""

    def __init__(self, **limits: int) -> None:
        self.now = 0
        self.host = SandboxHost()
        self.host.monotonic_us = lambda: self.now
        self.host.create(SandboxConfig("demo"), id=DEFAULT_ID)
        self.limiter = Limiter(self.host, ServerLimits(**limits))
        self.host.admission = self.limiter.admission

    def sweep(self, after: int = 0) -> None:
        self.now += after
        self.limiter.sweep()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], Any]:
        content = b"" if body is None else json.dumps(body).encode()
        response = send(self.host, method, path, content)
        return response.status, dict(response.headers), json.loads(response.body) if response.body else None

    def create(self, **body: Any) -> tuple[int, dict[str, str], Any]:
        return self.call("POST", "/_mock/sandboxes", body)

    def made(self, **body: Any) -> str:
        status, _, answer = self.create(**body)
        assert 201 == status, answer
        return str(answer["sandboxId"])

    def open(self) -> list[str]:
        return [sandbox_id for sandbox_id in self.host.sandboxes if sandbox_id != DEFAULT_ID]


def test_a_sandbox_beyond_the_maximum_is_refused_with_when_to_retry() -> None:
    limited = Limited(sandboxes=3)
    for _ in range(3):
        limited.made()

    status, headers, body = limited.create()

    assert (429, "MOCK_TOO_MANY_SANDBOXES", "sandboxes") == (status, body["code"], body["limit"])
    assert "10" == headers["Retry-After"]
    assert "limit of 3 sandboxes (--max-sandboxes)" in body["message"]
    assert 3 == len(limited.open())

    limited.call("DELETE", f"/_mock/sandboxes/{limited.open()[0]}")
    assert 201 == limited.create()[0]


def test_simultaneous_creations_do_not_exceed_the_maximum() -> None:
    limited = Limited(sandboxes=20)
    together = threading.Barrier(8)

    def create(_: int) -> list[int]:
        together.wait()
        return [limited.create()[0] for _ in range(10)]

    with ThreadPoolExecutor(8) as threads:
        statuses = [status for each in threads.map(create, range(8)) for status in each]

    assert (20, 60) == (statuses.count(201), statuses.count(429))
    assert 20 == len(limited.open())


def _api_call(limited: Limited, sandbox_id: str) -> int:
    return limited.call("GET", f"/sandboxes/{sandbox_id}/v1/campaigns")[0]


def _control_call(limited: Limited, sandbox_id: str) -> int:
    return limited.call("GET", f"/sandboxes/{sandbox_id}/_mock/clock")[0]


@pytest.mark.parametrize("use", [_api_call, _control_call])
def test_a_sandbox_ends_when_it_had_no_call_for_the_idle_time(use: Callable[[Limited, str], int]) -> None:
    limited = Limited(idle=30 * MINUTE)
    used, unused = limited.made(), limited.made()
    limited.sweep(after=29 * MINUTE)
    assert [used, unused] == limited.open()
    assert use(limited, used) < 410

    limited.sweep(after=MINUTE)
    assert [used] == limited.open()

    limited.sweep(after=30 * MINUTE)
    assert [] == limited.open()


def test_a_sandbox_ends_at_its_age_however_much_it_is_used() -> None:
    limited = Limited(age=6 * MINUTE, idle=5 * MINUTE)
    old = limited.made()
    for _ in range(5):
        limited.sweep(after=MINUTE)
        assert 401 == _api_call(limited, old)

    limited.sweep(after=MINUTE)

    assert [] == limited.open()


@pytest.mark.parametrize(
    ("limits", "limit", "words"),
    [
        ({"idle": 30 * MINUTE}, "idle", "it had no call for 30m (--idle)"),
        ({"age": 60 * MINUTE}, "age", "it was open for 1h (--age)"),
        ({"memory": 300_000}, "memory", "all sandboxes together more than 0.3 MB of memory (--memory)"),
    ],
)
def test_a_call_after_the_end_reads_which_limit_has_ended_its_sandbox(
    limits: dict[str, int], limit: str, words: str
) -> None:
    limited = Limited(**limits)
    ended = limited.made(**LARGE)
    limited.sweep()
    limited.sweep(after=60 * MINUTE)

    for path in ("/v1/campaigns", "/_mock/clock"):
        status, _, body = limited.call("GET", f"/sandboxes/{ended}{path}")

        assert (410, "MOCK_SANDBOX_CLOSED", limit) == (status, body["code"], body["limit"])
        assert words in body["message"]
    listed = limited.call("GET", "/_mock/sandboxes")[2]
    assert [{"sandboxId": ended, "lateCalls": 2, "limit": limit}] == listed["closed"]


def test_a_call_while_a_limit_ends_its_sandbox_reads_the_limit() -> None:
    limited = Limited(age=MINUTE)
    ending, answers = limited.made(), []
    sandbox = limited.host.sandboxes[ending].sandbox
    sandbox.runtime.add_wait(
        sandbox, sandbox.epoch, lambda: answers.append(limited.call("GET", f"/sandboxes/{ending}/v1/campaigns"))
    )

    limited.sweep(after=MINUTE)

    assert [(410, "age")] == [(status, body["limit"]) for status, _, body in answers]


def test_beyond_its_memory_the_sandbox_that_takes_most_ends_and_the_others_stay() -> None:
    limited = Limited(memory=2_500_000)
    small, large, other = limited.made(), limited.made(**LARGE), limited.made()
    limited.sweep()
    assert [small, large, other] == limited.open()

    limited.call("POST", f"/sandboxes/{large}/_mock/scenarios", {"given": {"chats": {"count": 3_000}}})
    limited.sweep()

    assert [small, other] == limited.open()


def test_at_its_memory_a_server_refuses_sandboxes_and_ends_none() -> None:
    limited = Limited(memory=2_200_000)
    limited.made(labels={"job": "large"}, **LARGE)
    made = 1
    while (created := limited.create())[0] == 201:
        made += 1
        limited.sweep(after=SECOND)

    status, _, body = created
    assert (429, "memory") == (status, body["limit"])
    assert "2.2 MB of memory (--memory)" in body["message"]
    assert made == len(limited.open())


def test_a_sweep_waits_for_no_sandbox() -> None:
    limited = Limited(idle=MINUTE, memory=10**9)
    busy = limited.host.sandboxes[limited.made()]
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with busy.sandbox.lock:
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    busy.usage.is_called = True
    limited.sweep(after=MINUTE)  # returns while the other thread has the lock
    assert busy.id in limited.host.sandboxes
    done.set()
    holder.join()


def estimated(hosted: HostedSandbox) -> int:
    hosted.host.refreshed()
    return hosted.usage.memory_bytes


class TestMemory:
    """The estimate, against what the interpreter allocates."""

    @pytest.mark.parametrize(
        ("body", "bytes_each"),
        [
            ({}, 15_000),
            ({"scenario": "demo"}, 63_000),
            ({"given": {"chats": {"count": 10_000}}}, 1_950_000),
            ({"given": {"templates": [{"id": f"t{n}", "name": "T"} for n in range(1_000)]}}, 400_000),
        ],
    )
    def test_it_is_of_the_size_that_a_sandbox_has(self, body: dict[str, Any], bytes_each: int) -> None:
        hosted = SandboxHost().create(SandboxConfig(**body))

        assert bytes_each / 2 < estimated(hosted) < bytes_each * 3

    def test_it_grows_with_the_messages_of_a_chat(self) -> None:
        hosted = SandboxHost().create(SandboxConfig(given={"chats": [{"id": "chat_a"}]}))
        messages = {"given": {"messages": [{"chatId": "chat_a", "text": "x" * 1_000}] * 100}}

        def grown() -> int:
            before = estimated(hosted)
            hosted.run_command(scenarios.apply_scenario, messages, recorded="apply_scenario")
            return estimated(hosted) - before

        assert 100_000 < grown() == pytest.approx(grown(), rel=0.5)


class TestLabels:
    def test_they_are_listed_and_select_sandboxes_in_lists_and_ends(self) -> None:
        limited = Limited()
        first = limited.made(labels={"job": "1", "os": "linux"})
        second = limited.made(labels={"job": "1", "os": "mac"})
        third = limited.made()

        def listed(query: str) -> list[str]:
            return [row["sandboxId"] for row in limited.call("GET", f"/_mock/sandboxes{query}")[2]["sandboxes"]]

        assert [DEFAULT_ID, first, second, third] == listed("")
        assert [first, second] == listed("?label=job:1")
        assert [second] == listed("?label=job:1,os:mac") == listed("?label=job:1&label=os:mac")
        assert [] == listed("?label=job:2")
        assert {"ended": [first, second]} == limited.call("DELETE", "/_mock/sandboxes?label=job:1")[2]
        assert [third] == limited.open()

    @pytest.mark.parametrize("query", ["", "?label=", "?label=job", "?label=:1", "?lable=job:1"])
    def test_without_a_label_nothing_is_ended(self, query: str) -> None:
        limited = Limited()
        limited.made(labels={"job": "1"})

        status, _, body = limited.call("DELETE", f"/_mock/sandboxes{query}")

        assert (400, "MOCK_BAD_QUERY") == (status, body["code"])
        assert 1 == len(limited.open())

    @pytest.mark.parametrize(
        "labels",
        [{"": "a"}, {"job name": "a"}, {"job": ""}, {"job": "a,b"}, {"job": 1}, {"job": "x" * 129}]
        + [{f"k{n}": "v" for n in range(17)}, ["job"]],
    )
    def test_labels_that_no_query_could_name_are_refused(self, labels: Any) -> None:
        status, _, body = Limited().create(labels=labels)

        assert (400, "MOCK_BAD_BODY") == (status, body["code"])
