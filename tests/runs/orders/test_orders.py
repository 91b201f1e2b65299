"""Two clients in every order of their calls: what is run, what is found, and how it is reported."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport, interleaving
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import (
    BODY,
    GIVEN,
    SESSIONS,
    TWO_DRAFTS,
    call,
    campaigns,
    create,
    list_then_create,
)

Client = Callable[[Sandbox], Any]
SHORT_S = 0.3  # real time, for clients that are certainly blocked


def interleaved(server: MockServer, clients: Mapping[str, Client], **options: Any) -> InterleaveReport:
    return server.interleave(clients=clients, settings={"given": GIVEN}, **options)


def promotions() -> dict[str, Client]:
    return {"worker": lambda sandbox: list_then_create(sandbox, "One"), "cron": lambda s: list_then_create(s, "Two")}


def test_the_text_shows_the_serial_runs_the_orders_and_one_lane_per_client(server: MockServer) -> None:
    report = interleaved(server, promotions(), bound=1, prune=False)

    assert [
        "interleaved worker, cron: 2 clients",
        "  serial: worker cron (3 and 1 calls), cron worker (3 and 1 calls)",
        "  bound 1: all 8 orders, 0 merged",
        "  preemption: another client or an event goes first while a client has a call waiting",
        "duplicate: the ledger has 1 duplicate execution, and no serial run more than 0, at 2 orders",
        "  worker  start  listCampaigns                                                           createCampaign  startCampaign 202",
        "  cron                          start  listCampaigns  createCampaign  startCampaign 202",
        "  shortest: 1 preemption, after listCampaigns of worker",
        '  > mockserver_server.interleave(..., schedule="worker*2 cron")',
    ] == report.text().splitlines()


def test_a_schedule_that_names_a_step_that_is_not_there_fails(server: MockServer) -> None:
    report = interleaved(server, promotions(), schedule="worker*9")

    assert report.failed
    assert "step 5 is to be one of worker, which has none there" == report.unplayed


@pytest.mark.parametrize("schedule", ["wroker", "worker*0", "worker**2"])
def test_a_schedule_of_unknown_names_is_refused(server: MockServer, schedule: str) -> None:
    with pytest.raises(ValueError, match="schedule: got"):
        interleaved(server, promotions(), schedule=schedule)


def test_equal_searches_have_equal_bytes(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        list_then_create(sandbox, f"Promotion {random.random()}")

    reports = [interleaved(server, {"worker": work, "cron": work}) for _ in range(2)]

    assert reports[0].text() == reports[1].text()
    assert reports[0].failed


def test_each_client_has_random_numbers_of_its_own_in_each_order(server: MockServer) -> None:
    drawn: dict[str, set[float]] = {"worker": set(), "cron": set()}

    def client(name: str) -> Client:
        def work(sandbox: Sandbox) -> None:
            for _ in range(2):
                campaigns(sandbox)
                drawn[name].add(random.random())

        return work

    interleaved(server, {name: client(name) for name in drawn}, prune=False)

    assert [2, 2] == [len(numbers) for numbers in drawn.values()]
    assert set() == drawn["worker"] & drawn["cron"]


def test_never_two_clients_run_at_a_time(server: MockServer) -> None:
    running: list[str] = []
    seen: list[list[str]] = []

    def client(name: str) -> Client:
        def work(sandbox: Sandbox) -> None:
            for _ in range(3):
                running.append(name)
                sum(range(2_000))
                seen.append(running.copy())
                running.remove(name)
                campaigns(sandbox)

        return work

    interleaved(server, {"one": client("one"), "two": client("two")}, prune=False)

    assert all(len(names) == 1 for names in seen)


def test_a_coroutine_that_calls_without_awaiting_is_refused_by_name(server: MockServer) -> None:
    async def work(sandbox: Sandbox) -> None:
        campaigns(sandbox)

    report = interleaved(server, {"worker": work, "cron": work})

    assert report.failed
    assert "worker that blocks the event loop of the clients; await it" in (report.failed_serial or "").replace(
        "cron that", "worker that"
    )


def test_gathered_calls_are_steps_of_one_client(server: MockServer) -> None:
    async def reads(sandbox: Sandbox) -> None:
        await asyncio.gather(*(sandbox.aio.call("GET", f"/v1/campaigns?n={n}") for n in range(3)))

    report = interleaved(server, {"worker": reads, "cron": reads})

    assert not report.failed
    assert ["worker cron (3 and 3 calls)", "cron worker (3 and 3 calls)"] == report.serial
    assert (None, {}) == (report.difference, report.blocked)


def test_coroutines_that_share_a_lock_wait_without_real_time(server: MockServer) -> None:
    locks: list[asyncio.Lock] = []

    async def work(sandbox: Sandbox) -> None:
        async with locks[-1]:
            rows = (await sandbox.aio.call("GET", "/v1/campaigns")).json()["campaigns"]
            if not rows:
                await sandbox.aio.call("POST", "/v1/campaigns", json={**BODY, "name": f"Promotion {random.random()}"})

    report = interleaved(
        server, {"worker": work, "cron": work}, setup=lambda _: locks.append(asyncio.Lock()), blocked_seconds=600
    )

    assert not report.failed, report.text()


def test_a_client_that_waits_for_another_by_a_lock_is_named(server: MockServer) -> None:
    locks: list[threading.Lock] = []

    def work(sandbox: Sandbox) -> None:
        with locks[-1]:
            list_then_create(sandbox, f"Promotion {random.random()}")

    clients = {"worker": work, "cron": work}
    report = interleaved(server, clients, setup=lambda _: locks.append(threading.Lock()), blocked_seconds=SHORT_S)

    assert not report.failed, report.text()
    assert ["cron", "worker"] == sorted({text.partition(" at test_orders.py:")[0] for text in report.blocked})


@pytest.mark.deep
def test_a_deadlock_is_found_and_ends(server: MockServer) -> None:
    locks: list[tuple[threading.Lock, threading.Lock]] = []

    def client(first: int) -> Client:
        def work(sandbox: Sandbox) -> None:
            one, other = locks[-1][first], locks[-1][1 - first]
            with one:
                campaigns(sandbox)
                with other:
                    campaigns(sandbox)

        return work

    report = interleaved(
        server,
        {"one": client(0), "two": client(1)},
        setup=lambda _: locks.append((threading.Lock(), threading.Lock())),
        blocked_seconds=SHORT_S,
        bound=1,
    )

    assert {"stuck"} == {finding.verdict for finding in report.findings}


@pytest.mark.deep
def test_clients_that_never_end_are_found_in_the_serial_runs(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        while True:
            campaigns(sandbox)

    report = interleaved(server, {"one": work, "two": work})

    assert report.failed
    assert "equal calls in a row changed nothing" in (report.failed_serial or "")


@pytest.mark.deep
def test_a_run_without_an_end_is_not_blamed_on_its_order_if_a_serial_run_has_none(server: MockServer) -> None:
    def reader(sandbox: Sandbox) -> None:
        while campaigns(sandbox):
            pass

    def maker(sandbox: Sandbox) -> None:
        campaigns(sandbox)
        create(sandbox, "One")

    report = interleaved(server, {"reader": reader, "maker": maker}, bound=1)

    (finding,) = report.findings
    assert "stuck" == finding.verdict
    assert finding.message.endswith("equal calls in a row changed nothing, in a serial run too, so not by this order")


def test_a_sleep_on_the_clock_of_the_sandbox_lets_another_client_act(server: MockServer) -> None:
    def slow(sandbox: Sandbox) -> None:
        if not campaigns(sandbox):
            sandbox.sleep(60)
            create(sandbox, "One")

    def quick(sandbox: Sandbox) -> None:
        if not campaigns(sandbox):
            create(sandbox, "Two")

    report = interleaved(server, {"slow": slow, "quick": quick})

    assert ["slow*2 quick"] == [finding.schedule for finding in report.findings]
    assert [0] == [finding.preemptions for finding in report.findings]


def test_a_session_in_process_takes_the_address_of_the_handle(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        session = sandbox.requests_session()
        session.headers["X-API-Key"] = sandbox.secret_key
        if not session.get(f"{sandbox.base_url}/v1/campaigns").json()["campaigns"]:
            session.post(f"{sandbox.base_url}/v1/campaigns", json={**BODY, "name": str(sandbox.base_url)})

    report = interleaved(server, {"worker": work, "cron": work})

    assert ["duplicate"] == [finding.verdict for finding in report.findings], report.text()


def test_an_event_reaches_the_receiver_before_between_and_after_calls(server: MockServer) -> None:
    orders: set[tuple[str, ...]] = set()

    def service(sandbox: Sandbox) -> None:
        order: list[str] = []
        sandbox.receive_webhooks(lambda request: order.append("event"))
        session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
        sandbox.complete_session(session_id, phone="+5511999990000")
        for n in range(2):
            call(sandbox, "GET", f"{SESSIONS}/{session_id}?n={n}")
            order.append("read")
        orders.add(tuple(order))

    report = interleaved(server, {"service": service, "other": campaigns}, bound=1)

    assert not report.failed, report.text()
    assert {("event", "read", "read"), ("read", "event", "read"), ("read", "read")} == orders


def test_a_timer_fires_before_or_after_the_call_of_another(server: MockServer) -> None:
    seen: set[str] = set()

    def waits(sandbox: Sandbox) -> None:
        sandbox.sleep(30 * 60)

    def reads(sandbox: Sandbox) -> None:
        session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
        seen.add(call(sandbox, "GET", f"{SESSIONS}/{session_id}")["status"])

    report = interleaved(server, {"waits": waits, "reads": reads}, bound=1)

    assert {"pending", "expired"} == seen
    assert not report.failed, report.text()


def test_the_check_of_the_user_is_a_verdict(server: MockServer) -> None:
    def check(sandbox: Sandbox) -> None:
        assert len(sandbox.calls("createCampaign")) < 2, "two campaigns"

    report = interleaved(server, promotions(), check=check, bound=1)

    assert ["duplicate", "check"] == [finding.verdict for finding in report.findings]


def test_an_end_that_a_client_reports_by_a_tolerated_exception_is_no_finding(server: MockServer) -> None:
    class Canceled(Exception):
        pass

    def send(sandbox: Sandbox) -> None:
        campaign_id = create(sandbox, "Promotion")
        if sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start").status == 422:
            raise Canceled(campaign_id)

    def cancel_drafts(sandbox: Sandbox) -> None:
        for row in campaigns(sandbox):
            if row["status"] == "draft":
                sandbox.call("POST", f"/v1/campaigns/{row['id']}/cancel")

    clients = {"worker": send, "operator": cancel_drafts}

    def send_silently(sandbox: Sandbox) -> None:
        with contextlib.suppress(Canceled):
            send(sandbox)

    reported = interleaved(server, clients, bound=1, tolerates=(Canceled,))
    assert not reported.failed, reported.text()
    silent = interleaved(server, {**clients, "worker": send_silently}, bound=1)
    assert ["unserial"] == [row.verdict for row in silent.findings]


def test_a_search_shows_how_far_it_is_before_each_run(server: MockServer) -> None:
    shown: list[str] = []

    report = interleaving(server.sandbox, clients=promotions(), settings={"given": GIVEN}).run(shown.append)

    assert report.runs == len(shown)
    assert ("0 runs, 0 findings, 0 s", True) == (shown[0], shown[-1].startswith(f"{report.runs - 1} runs, 1 finding, "))


def test_a_tolerated_exception_reports_an_end_also_if_a_serial_run_has_it(server: MockServer) -> None:
    class AlreadyCanceled(Exception):
        pass

    def send(sandbox: Sandbox) -> None:
        for row in campaigns(sandbox):
            if sandbox.call("POST", f"/v1/campaigns/{row['id']}/start").status == 422:
                raise AlreadyCanceled

    def cancel(sandbox: Sandbox) -> None:
        for row in campaigns(sandbox):
            sandbox.call("POST", f"/v1/campaigns/{row['id']}/cancel")

    clients = {"worker": send, "operator": cancel}

    report = server.interleave(clients=clients, settings={"given": TWO_DRAFTS}, bound=1, tolerates=(AlreadyCanceled,))

    assert ([], True) == (report.findings, "AlreadyCanceled" in str(report.serial)), report.text()


@pytest.mark.parametrize(
    "option",
    [{"bound": -1}, {"bound": 9}, {"runs": 0}, {"seconds": 0}, {"tolerates": ("Refused",)}, {"blocked_seconds": 0}],
)
def test_an_option_out_of_range_is_refused(server: MockServer, option: dict[str, Any]) -> None:
    (name,) = option

    with pytest.raises(ValueError, match=f"{name}: got"):
        interleaved(server, promotions(), **option)


@pytest.mark.parametrize("name", ["two words", "a*2", "timers", "events", "events-2", ""])
def test_a_client_has_a_name_that_a_schedule_can_have(server: MockServer, name: str) -> None:
    with pytest.raises(ValueError, match="clients: got the name"):
        interleaved(server, {name: campaigns})


def test_a_clock_that_follows_the_process_is_refused(server: MockServer) -> None:
    with pytest.raises(ValueError, match="settings: got a clock that follows"):
        server.interleave(clients={"one": campaigns}, settings={"clock": "follow", "now": None})


def test_each_endpoint_has_deliveries_of_its_own(server: MockServer) -> None:
    orders: set[tuple[str, ...]] = set()

    def service(sandbox: Sandbox) -> None:
        order: list[str] = []
        sandbox.receive_webhooks(lambda request: order.append("first"))
        sandbox.receive_webhooks(lambda request: order.append("second"))
        session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
        sandbox.complete_session(session_id, phone="+5511999990000")
        call(sandbox, "GET", f"{SESSIONS}/{session_id}")
        orders.add(tuple(order))

    report = interleaved(server, {"service": service}, bound=1)
    interleaved(server, {"service": service}, schedule="service*5 events-2 service")

    assert {("first", "second"), ("second", "first"), ("first",), ("second",)} >= orders
    assert {("first", "second"), ("second",)} <= orders
    assert not report.failed, report.text()


@pytest.mark.deep
def test_findings_that_differ_by_the_names_of_the_clients_alone_are_one(server: MockServer) -> None:
    def client(own: str) -> Client:
        def work(sandbox: Sandbox) -> None:
            before = [row["name"] for row in campaigns(sandbox)]
            create(sandbox, own)
            met = [row["name"] for row in campaigns(sandbox) if row["name"] not in (own, *before)]
            assert not met, f"{own} meets {met[0]}"

        return work

    names = ("ana", "bia", "caio")
    report = interleaved(server, {name: client(name) for name in names})

    assert [("crashed", 1, set(names))] == [(each.verdict, each.preemptions, each.clients) for each in report.findings]
    assert "orders (ana, bia, caio)\n" in report.text()


def test_a_client_that_registers_a_receiver_calls_by_its_handle_alone(server: MockServer) -> None:
    def work(sandbox: Sandbox) -> None:
        sandbox.receive_webhooks(lambda request: 204)
        campaigns(sandbox)

    report = interleaved(server, {"worker": work, "cron": campaigns})

    assert not report.not_interleaved


def test_a_budget_of_runs_is_kept_and_reported(server: MockServer) -> None:
    report = interleaved(server, promotions(), runs=5, prune=False)

    assert report.runs >= 5
    assert f"not run: {report.left} orders beyond the budget of 5 runs" in report.text()
