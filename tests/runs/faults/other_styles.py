"""
Careful clients in the styles of three other teams, each with its ordinary test.

1. `converging`: requests and tenacity; a step reads first, writes only what is missing, and is repeated as a whole.
2. `concurrent`: httpx on an event loop, with two campaigns at the same time.
3. `polling`: the calls of the sandbox itself, with its sleep, for a session, its channel and the messages of a chat.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from http.client import HTTPException
from types import MappingProxyType
from typing import Any

import httpx
import requests
import tenacity

from mockserver import Sandbox
from tests.clients.calls import retry_after_s

FINAL = ("completed", "failed", "canceled")
TRIES = 6
TIMEOUT_S = 5
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
GIVEN: Mapping[str, Any] = MappingProxyType(
    {
        "templates": [{"id": "template_t"}],
        "chats": [{"id": f"chat_{number}", "platform": "chatapp"} for number in range(4)],
        "messages": [{"chatId": "chat_0", "text": f"Mensagem {number}"} for number in range(5)],
    }
)
FILTERS = [{"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}]


class GatewayError(Exception):
    """The client reports a failure."""


class Unsure(GatewayError):
    """The call may have taken effect; `wait_s` is how long the service asked to wait, 0 if it did not."""

    def __init__(self, wait_s: float = 0) -> None:
        super().__init__(f"wait {wait_s} s")
        self.wait_s = wait_s


class Busy(Unsure):
    """The call was refused for its pace, and took no effect."""


class Refused(GatewayError):
    """The service refused."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def draft(name: str) -> dict[str, Any]:
    return {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 2, "filters": FILTERS}


def understood(status: int, body: bytes, headers: Mapping[str, str]) -> Any:
    """Return the JSON value of a success, None if it has none; raise for everything else."""
    if status == 429:
        raise Busy(retry_after_s({"Retry-After": headers.get("retry-after", ""), "Date": headers["date"]}) or 5.0)
    if status >= 500:
        raise Unsure
    try:
        value: Any = json.loads(body) if body else None
    except ValueError:
        raise Unsure from None
    if status >= 400:
        raise Refused(value["code"])
    return value


class Converging:
    """Brings the service into the wanted state: whatever a call has done, the next try reads it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._http, self._url, self._sleep = sandbox.requests_session(), sandbox.base_url, sandbox.sleep
        self._http.headers["X-API-Key"] = sandbox.secret_key
        self._again = tenacity.Retrying(
            sleep=sandbox.sleep,
            stop=tenacity.stop_after_attempt(TRIES),
            retry=tenacity.retry_if_exception_type(Unsure),
            wait=_wait_s,
            reraise=True,
        )

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        try:
            answer = self._http.request(method, self._url + path, json=body, timeout=TIMEOUT_S)
        except requests.RequestException:
            raise Unsure from None
        return understood(answer.status_code, answer.content, answer.headers)

    def _read(self, path: str) -> Any:
        return self._again(self._call, "GET", path)

    def drafted(self, name: str) -> str:
        def once() -> str:
            listed = {row["name"]: row["id"] for row in self._read("/v1/campaigns")["campaigns"]}
            return str(
                listed[name] if name in listed else self._call("POST", "/v1/campaigns", draft(name))["campaignId"]
            )

        return self._again(once)

    def started(self, campaign: str) -> None:
        def once() -> None:
            if self._read(campaign)["status"] == "draft":
                self._call("POST", f"{campaign}/start", {})

        self._again(once)

    def ended(self, campaign: str) -> str:
        for _ in range(200):
            status = str(self._read(campaign)["status"])
            if status in FINAL:
                return status
            self._sleep(20)
        raise GatewayError(campaign)


def _wait_s(state: tenacity.RetryCallState) -> float:
    failure = state.outcome.exception() if state.outcome else None
    return float(max(failure.wait_s if isinstance(failure, Unsure) else 0, 2**state.attempt_number))


def converging(sandbox: Sandbox) -> None:
    sandbox.apply(given=dict(GIVEN))
    client = Converging(sandbox)
    campaign = f"/v1/campaigns/{client.drafted('Natal')}"
    client.started(campaign)
    assert client.ended(campaign) in FINAL


class Concurrent:
    """Looks up what a write has done whenever its answer is lost."""

    def __init__(self, sandbox: Sandbox, http: httpx.AsyncClient) -> None:
        self._http, self._key, self._sleep = http, sandbox.secret_key, sandbox.aio.sleep

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"X-API-Key": self._key}
        for _ in range(TRIES):
            try:
                answer = await self._http.request(method, path, json=body, headers=headers, timeout=TIMEOUT_S)
                return understood(answer.status_code, answer.content, answer.headers)
            except httpx.TransportError:
                raise Unsure from None
            except Busy as busy:
                await self._sleep(busy.wait_s)
        raise GatewayError(path)

    async def _read(self, path: str) -> Any:
        return await self._until_sure(lambda: self._call("GET", path))

    async def _until_sure(self, call: Callable[[], Awaitable[Any]]) -> Any:
        for attempt in range(TRIES):
            try:
                return await call()
            except Unsure:
                await self._sleep(2**attempt)
        raise GatewayError("no answer")

    async def created(self, name: str) -> str:
        async def once() -> str:
            try:
                return str((await self._call("POST", "/v1/campaigns", draft(name)))["campaignId"])
            except Unsure as lost:
                failure: GatewayError = lost
            except Refused as refusal:
                if refusal.code != "CAMPAIGN_NAME_ALREADY_EXISTS":
                    raise
                failure = refusal
            listed = {row["name"]: row["id"] for row in (await self._read("/v1/campaigns"))["campaigns"]}
            if name not in listed:
                raise failure
            return str(listed[name])

        return str(await self._until_sure(once))

    async def started(self, campaign: str) -> str:
        async def once() -> str:
            try:
                return str((await self._call("POST", f"{campaign}/start", {}))["executionId"])
            except Unsure as lost:
                failure: GatewayError = lost
            except Refused as refusal:
                if refusal.code not in ("CAMPAIGN_NOT_DRAFT", "CAMPAIGN_ALREADY_PROCESSING"):
                    raise
                failure = refusal
            runs = (await self._read(campaign))["executions"]
            if not runs:
                raise failure
            return str(runs[0]["id"])

        return str(await self._until_sure(once))

    async def followed(self, campaign: str, execution: str) -> str:
        for _ in range(200):
            status = str((await self._read(f"{campaign}/executions/{execution}"))["status"])
            if status in FINAL:
                return status
            await self._sleep(15)
        raise GatewayError(campaign)

    async def canceled(self, campaign: str) -> str:
        for _ in range(TRIES):
            try:
                await self._call("POST", f"{campaign}/cancel")
            except Unsure:
                await self._sleep(2)
            except Refused as refusal:
                if refusal.code not in ("UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT"):
                    raise
            status = str((await self._read(campaign))["status"])
            if status in FINAL:
                return status
        raise GatewayError(campaign)


async def concurrent(sandbox: Sandbox) -> None:
    sandbox.apply(given=dict(GIVEN))
    async with sandbox.aio.httpx_client() as http:
        client = Concurrent(sandbox, http)

        async def follow() -> str:
            campaign = f"/v1/campaigns/{await client.created('Natal')}"
            return await client.followed(campaign, await client.started(campaign))

        async def cancel() -> str:
            campaign = f"/v1/campaigns/{await client.created('Carnaval')}"
            await client.started(campaign)
            return await client.canceled(campaign)

        assert {*FINAL} >= {*await asyncio.gather(follow(), cancel())}


class Polling:
    """Reads until the answer is final or the deadline has passed; a session whose link was lost is created again."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        for attempt in range(TRIES):
            try:
                answer = self._sandbox.call(method, path, json=body, timeout=TIMEOUT_S)
                return understood(answer.status, answer.body, answer.headers)
            except (OSError, HTTPException):
                self._sandbox.sleep(2**attempt)
            except Unsure as unsure:
                self._sandbox.sleep(max(unsure.wait_s, 2**attempt))
        raise GatewayError(path)

    def connected(self) -> Any:
        created = self._call("POST", SESSIONS, {})
        end = datetime.fromisoformat(created["expiresAt"]) + timedelta(minutes=1)
        while True:
            session = self._call("GET", f"{SESSIONS}/{created['sessionId']}")
            if session["status"] != "pending" or self._sandbox.now > end:
                return session
            self._sandbox.sleep(4)

    def channel(self, entrypoint: str) -> Any:
        try:
            return self._call("GET", f"/v1/entrypoints/{entrypoint}")["entrypoint"]
        except Refused as refusal:
            if refusal.code == "ENTRYPOINT_NOT_FOUND":
                return None
            raise

    def history(self, chat: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        query = ""
        while True:
            page = self._call("GET", f"/v1/messaging/chats/{chat}{query}")
            seen |= {record["id"]: record for record in page["records"]}
            if not page.get("nextCursor"):
                return seen
            query = f"?cursor={page['nextCursor']}"


def polling(sandbox: Sandbox) -> None:
    sandbox.apply(given=dict(GIVEN))
    sandbox.on("readConnectionSession").nth(3).complete_session()
    client = Polling(sandbox)
    session = client.connected()
    if session["status"] == "completed":
        channel = client.channel(session["entrypoint"]["id"])
        assert channel is None or channel["id"] == session["entrypoint"]["id"]
    assert len(GIVEN["messages"]) == len(client.history("chat_0"))
