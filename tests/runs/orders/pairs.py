"""Clients that race with one another, and careful ones, as a team writes them: from the API document and the page on schedules alone."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.testing.sandbox import Sandbox

GIVEN = {"templates": [{"id": "template_hello"}], "chats": {"count": 3}}
DRAFT = {**GIVEN, "campaigns": [{"id": "campaign_autumn", "name": "Autumn", "templateId": "template_hello"}]}
BODY = {"platform": "chatapp", "templateId": "template_hello", "cadence": 60}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


class Refused(Exception):
    """The API has refused a call."""


class AlreadyRunning(Exception):
    """Another worker was first, and this one reports it."""


class Pair(NamedTuple):
    """
    Clients of one sandbox.

    Attributes:
        make: Returns the clients by name, with a memory that they share in one run and in no other.
        given: The seed data.
        verdict: Of the race; None for a careful pair.
        tolerates: Exceptions by which a careful client reports that it was not the first.
    """

    make: Callable[[], Mapping[str, Callable[[Sandbox], Any]]]
    given: Mapping[str, Any] = GIVEN
    verdict: str | None = None
    tolerates: tuple[type[BaseException], ...] = ()


def call(sandbox: Sandbox, method: str, path: str, body: Any = None) -> Any:
    response = sandbox.call(method, path, json=body)
    if response.status >= 400:
        raise Refused(f"{response.status} {response.json()['code']}")
    return response.json() if response.body else None


def campaigns(sandbox: Sandbox) -> list[Any]:
    rows: list[Any] = call(sandbox, "GET", "/v1/campaigns")["campaigns"]
    return rows


def create(sandbox: Sandbox, name: str) -> str:
    campaign_id: str = call(sandbox, "POST", "/v1/campaigns", {**BODY, "name": name})["campaignId"]
    return campaign_id


def start(sandbox: Sandbox, campaign_id: str) -> None:
    call(sandbox, "POST", f"/v1/campaigns/{campaign_id}/start")


# Races


def list_then_create(sandbox: Sandbox, name: str) -> None:
    if not campaigns(sandbox):
        start(sandbox, create(sandbox, name))


def read_then_start(sandbox: Sandbox) -> None:
    if call(sandbox, "GET", "/v1/campaigns/campaign_autumn")["status"] == "draft":
        start(sandbox, "campaign_autumn")


def cancel_if_draft(sandbox: Sandbox) -> None:
    if call(sandbox, "GET", "/v1/campaigns/campaign_autumn")["status"] == "draft":
        call(sandbox, "POST", "/v1/campaigns/campaign_autumn/cancel")


def start_if_draft(sandbox: Sandbox) -> None:
    try:
        read_then_start(sandbox)
    except Refused as refusal:
        if not str(refusal).startswith("422"):
            raise


def number_by_count(sandbox: Sandbox) -> None:
    create(sandbox, f"Promotion {len(campaigns(sandbox)) + 1}")


def one_at_a_time(sandbox: Sandbox, campaign_id: str) -> None:
    if all(row["status"] != "processing" for row in campaigns(sandbox)):
        start(sandbox, campaign_id)


def create_or_adopt_then_start(sandbox: Sandbox) -> None:
    try:
        campaign_id = create(sandbox, "Promotion")
    except Refused:
        (campaign_id,) = (row["id"] for row in campaigns(sandbox) if row["name"] == "Promotion")
    if call(sandbox, "GET", f"/v1/campaigns/{campaign_id}")["status"] == "draft":
        start(sandbox, campaign_id)


def session_by_memory() -> Mapping[str, Callable[[Sandbox], Any]]:
    memory: dict[str, str] = {}

    def connect(sandbox: Sandbox) -> None:
        if "session" not in memory:
            memory["session"] = call(sandbox, "POST", SESSIONS, {})["sessionId"]

    return {"page": connect, "job": connect}


def poll_and_webhook(*, is_careful: bool) -> Mapping[str, Callable[[Sandbox], Any]]:
    done: set[str] = set()
    lock = threading.Lock()

    def welcome(sandbox: Sandbox, session_id: str) -> None:
        if is_careful:
            with lock:
                if session_id in done:
                    return
                done.add(session_id)
            create(sandbox, f"Welcome {uuid.uuid4()}")
        elif session_id not in done:
            create(sandbox, f"Welcome {uuid.uuid4()}")
            done.add(session_id)

    def service(sandbox: Sandbox) -> None:
        sandbox.receive_webhooks(lambda request: welcome(sandbox, request.json()["data"]["sessionId"]))
        session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
        created.append(session_id)
        for _ in range(5):
            if call(sandbox, "GET", f"{SESSIONS}/{session_id}")["status"] == "completed":
                welcome(sandbox, session_id)
                return
            sandbox.sleep(30)

    created: list[str] = []

    def user(sandbox: Sandbox) -> None:
        sandbox.sleep(1)
        if created:
            sandbox.complete_session(created[0], phone="+5511999990000", name="Ana")

    return {"service": service, "user": user}


# Careful clients


def create_or_adopt_carefully(sandbox: Sandbox) -> None:
    try:
        campaign_id = create(sandbox, "Promotion")
    except Refused as refusal:
        if "NAME" not in str(refusal):
            raise
        (campaign_id,) = (row["id"] for row in campaigns(sandbox) if row["name"] == "Promotion")
    try:
        start(sandbox, campaign_id)
    except Refused as refusal:
        if not str(refusal).startswith("422"):
            raise


def create_or_report(sandbox: Sandbox) -> None:
    try:
        start(sandbox, create(sandbox, "Promotion"))
    except Refused as refusal:
        raise AlreadyRunning(str(refusal)) from refusal


def start_and_follow(sandbox: Sandbox) -> None:
    try:
        start(sandbox, "campaign_autumn")
    except Refused as refusal:
        if not str(refusal).startswith("422"):
            raise
    for _ in range(50):
        if call(sandbox, "GET", "/v1/campaigns/campaign_autumn")["status"] in ("completed", "failed", "canceled"):
            return
        sandbox.sleep(10)
    raise TimeoutError("the campaign has not ended")


def follow(sandbox: Sandbox) -> None:
    for _ in range(200):
        if call(sandbox, "GET", "/v1/campaigns/campaign_autumn")["status"] in ("completed", "failed", "canceled"):
            return
        sandbox.sleep(10)
    raise TimeoutError("the campaign has not ended")


async def create_or_adopt_on_a_loop(sandbox: Sandbox) -> None:
    async with sandbox.aio.httpx_client() as client:
        client.headers["x-api-key"] = sandbox.secret_key
        response = await client.post("/v1/campaigns", json={**BODY, "name": "Promotion"})
        if response.status_code == 201:
            campaign_id = response.json()["campaignId"]
        else:
            rows = (await client.get("/v1/campaigns")).json()["campaigns"]
            (campaign_id,) = (row["id"] for row in rows if row["name"] == "Promotion")
        started = await client.post(f"/v1/campaigns/{campaign_id}/start")
        assert started.status_code in (202, 422)


def read_in_a_pool(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert len(list(pool.map(lambda _: campaigns(sandbox), range(3)))) == 3
    create_or_adopt_carefully(sandbox)


def under_a_lock() -> Mapping[str, Callable[[Sandbox], Any]]:
    lock = threading.Lock()

    def work(sandbox: Sandbox, name: str) -> None:
        with lock:
            list_then_create(sandbox, name)

    return {"worker": lambda sandbox: work(sandbox, "One"), "cron": lambda sandbox: work(sandbox, "Two")}


def both(function: Callable[[Sandbox], Any]) -> Callable[[], Mapping[str, Callable[[Sandbox], Any]]]:
    return lambda: {"worker": function, "cron": function}


TWO_DRAFTS = {
    **GIVEN,
    "campaigns": [
        {"id": "campaign_spring", "name": "Spring", "templateId": "template_hello"},
        {"id": "campaign_autumn", "name": "Autumn", "templateId": "template_hello"},
    ],
}

RACES: Mapping[str, Pair] = MappingProxyType(
    {
        "list-then-create": Pair(
            lambda: {"worker": lambda s: list_then_create(s, "One"), "cron": lambda s: list_then_create(s, "Two")},
            verdict="duplicate",
        ),
        "read-then-start": Pair(both(read_then_start), DRAFT, verdict="crashed"),
        "read-then-cancel": Pair(
            lambda: {"worker": start_if_draft, "cleaner": cancel_if_draft}, DRAFT, verdict="unserial"
        ),
        "number-by-count": Pair(both(number_by_count), verdict="crashed"),
        "one-at-a-time": Pair(
            lambda: {
                "spring": lambda s: one_at_a_time(s, "campaign_spring"),
                "autumn": lambda s: one_at_a_time(s, "campaign_autumn"),
            },
            TWO_DRAFTS,
            verdict="duplicate",
        ),
        "adopt-then-start": Pair(both(create_or_adopt_then_start), verdict="crashed"),
        "session-by-memory": Pair(session_by_memory, verdict="duplicate"),
        "poll-and-webhook": Pair(lambda: poll_and_webhook(is_careful=False), verdict="duplicate"),
    }
)

CAREFUL: Mapping[str, Pair] = MappingProxyType(
    {
        "adopts": Pair(both(create_or_adopt_carefully)),
        "reports": Pair(both(create_or_report), tolerates=(AlreadyRunning,)),
        "starts-and-follows": Pair(both(start_and_follow), DRAFT),
        "follows-another": Pair(lambda: {"follower": follow, "worker": start_if_draft}, DRAFT),
        "on-a-loop": Pair(both(create_or_adopt_on_a_loop)),
        "in-a-pool": Pair(both(read_in_a_pool)),
        "under-a-lock": Pair(under_a_lock),
        "poll-and-webhook": Pair(lambda: poll_and_webhook(is_careful=True)),
    }
)
