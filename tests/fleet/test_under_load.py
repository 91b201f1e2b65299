"""A fleet whose shards are killed, restarted and drained while clients call: no call of another shard is lost."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from mockserver.fleet.rules import Address
from mockserver.fleet.status import read_status, reader
from mockserver.server.hosting.host import DEFAULT_ID
from tests.depth import at_depth
from tests.fleet.fleets import TOKEN, Answer, Fleet, Load, await_condition, each_proxy, is_running, needs_linux
from tests.test_many_jobs import in_threads, wrong_answers

if sys.platform == "win32":
    pytest.skip("the fleet runs on POSIX alone", allow_module_level=True)

pytestmark = [needs_linux, pytest.mark.deep]  # each starts a fleet, a second or more
Start = Callable[..., Fleet]
CALLS = at_depth(200, 2_000)  # before, between and after what happens
CLIENTS = 8
ANSWER_MAX_SECONDS = 5.0  # of any call, also while its shard starts again: it gets an answer, it does not wait
END_SECONDS = 1.0


def counts(answers: list[Answer]) -> dict[int, int]:
    return dict(Counter(answer.status for answer in answers))


def slowest(by_shard: dict[int, list[Answer]]) -> float:
    return max(answer.seconds for answers in by_shard.values() for answer in answers)


@each_proxy()
def test_a_shard_that_is_killed_loses_no_call_of_another(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    load = Load(fleet, CLIENTS, may_lose_creations=True)
    load.await_calls(CALLS)
    killed = fleet.shard_pid(1)

    os.kill(killed, signal.SIGKILL)
    await_condition(lambda: not is_running(killed) and fleet.shard_pid(1) != killed, "the shard starts again")
    await_condition(lambda: "shard_1 answers again" in fleet.log(), "the shard answers again")
    load.await_calls(CALLS)
    by_shard = load.stop()

    assert [] == load.problems
    assert {200} == set(counts(by_shard[0]))
    lost = counts(by_shard[1])
    assert 410 in lost  # its sandboxes are gone
    assert set(lost) <= {200, 410, 503, 0}
    assert lost.get(0, 0) <= CLIENTS  # at most the call of each client that the shard had
    assert slowest(by_shard) < ANSWER_MAX_SECONDS


@each_proxy()
def test_a_sandbox_of_a_killed_shard_is_gone_with_the_reason(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    client = fleet.client()
    made = next(each for each in (client.create() for _ in range(4)) if each["shard"] == 1)

    os.kill(fleet.shard_pid(1), signal.SIGKILL)
    gone = await_condition(
        lambda: (answer := client.list_campaigns(made)).status not in (0, 200, 503) and answer, "the sandbox is gone"
    )

    assert (410, "MOCK_SANDBOX_CLOSED", "restart") == (gone.status, gone.body["code"], gone.body["limit"])
    assert "shard 1 was restarted" in gone.body["message"]


@each_proxy()
def test_a_shard_that_does_not_run_has_the_answer_503_and_creations_go_to_others(
    start_fleet: Start, proxy: str
) -> None:
    fleet = start_fleet(proxy)
    client = fleet.client()
    made = next(each for each in (client.create() for _ in range(4)) if each["shard"] == 1)
    os.kill(fleet.process.pid, signal.SIGSTOP)  # so that nothing starts it again
    killed = fleet.shard_pid(1)
    os.kill(killed, signal.SIGKILL)
    await_condition(lambda: not is_running(killed), "the shard has ended")

    try:
        client.list_campaigns(made)  # the connection to the shard may have been open
        down = client.list_campaigns(made)
        others = [client.create(labels={"job": "a"}) for _ in range(4)]
    finally:
        os.kill(fleet.process.pid, signal.SIGCONT)

    assert (503, "MOCK_SHARD_DOWN") == (down.status, down.body["code"])
    assert {0} == {each["shard"] for each in others}


@each_proxy()
def test_a_rolling_restart_loses_no_call_of_a_client_that_tries_again(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    load = Load(fleet, CLIENTS)
    load.await_calls(CALLS)
    former = {number: fleet.shard_pid(number) for number in range(2)}

    fleet.send(signal.SIGHUP)
    await_condition(lambda: "every shard has been restarted" in fleet.log(), "every shard is restarted")
    load.await_calls(CALLS)
    by_shard = load.stop()

    assert [] == load.problems
    assert not {number for number, pid in former.items() if fleet.shard_pid(number) == pid}
    assert set(counts([*by_shard[0], *by_shard[1]])) <= {200, 410, 503}  # none without a response
    assert slowest(by_shard) < ANSWER_MAX_SECONDS


@each_proxy()
def test_a_rolling_restart_that_drains_loses_no_call_and_no_sandbox_of_clients_that_end_theirs(
    start_fleet: Start, proxy: str
) -> None:
    fleet = start_fleet(proxy, "--drain", "10m")
    load = Load(fleet, CLIENTS, calls_of_a_sandbox=50)
    load.await_calls(CALLS)

    fleet.send(signal.SIGHUP)
    await_condition(lambda: "every shard has been restarted" in fleet.log(), "every shard is restarted")
    load.await_calls(CALLS)
    by_shard = load.stop()

    assert [] == load.problems
    assert {200} == set(counts([*by_shard[0], *by_shard[1]]))


@each_proxy()
def test_sigterm_under_load_ends_within_a_second(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    load = Load(fleet, CLIENTS, may_lose_creations=True)
    load.await_calls(CALLS)

    code, seconds = fleet.stop()
    load.stop()

    assert 0 == code
    assert seconds < END_SECONDS


@each_proxy()
def test_a_long_answer_to_a_request_with_a_body_arrives_whole(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)

    def choose(worker: int) -> list[int]:
        client = fleet.client()
        path = f"{client.create()['path']}/_mock/choices"
        return [
            client.ask("PATCH", path, {"unapproved-template": "not-found"}).status for _ in range(at_depth(100, 1_500))
        ]

    assert {200} == {status for statuses in in_threads(16, choose) for status in statuses}


@each_proxy()
def test_2000_sandboxes_of_200_workers_never_see_each_other(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy, "--token", TOKEN)

    assert [] == wrong_answers(fleet.url)

    shards = read_status(reader(Address("127.0.0.1", urlsplit(fleet.url).port or 0), TOKEN))
    assert [[DEFAULT_ID]] * 2 == [[row["sandboxId"] for row in shard.sandboxes or []] for shard in shards]
    assert [[], []] == [shard.closed for shard in shards]  # no call arrived late


@each_proxy("haproxy", "caddy")
@pytest.mark.deep
def test_a_rolling_restart_that_drains_loses_no_sandbox(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy, "--drain", "10m")
    client = fleet.client()
    made = [client.create() for _ in range(4)]
    former = fleet.shard_pid(0)

    fleet.send(signal.SIGHUP)
    for _ in range(CALLS):  # the first shard drains: all of its sandboxes answer
        assert [200] * 4 == [client.list_campaigns(each).status for each in made]
    assert former == fleet.shard_pid(0)
    for each in sorted(made, key=lambda each: each["shard"]):
        assert 204 == client.ask("DELETE", f"/_mock/sandboxes/{each['sandboxId']}").status
    await_condition(lambda: "every shard has been restarted" in fleet.log(), "every shard is restarted")

    assert former != fleet.shard_pid(0)
    assert re.search(r"shard_0 ended with status 0", fleet.log())
