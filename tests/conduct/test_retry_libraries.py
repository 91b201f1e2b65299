"""
Real retry libraries over a socket: what conduct finds of each, in eight situations.

They sleep by moving the sandbox's clock; only the time that a client waits for an answer, in two situations, is real.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import aiohttp
import aiohttp_retry
import httpx
import httpx_retries
import pytest
import tenacity
import urllib3

from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
CREATE = "/v1/campaigns"
NEW = {"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
ATTEMPTS = 3
FAILURES = (429, 500, 503)
PATIENCE_S = 10.0
IMPATIENCE_S = 0.3


class Policy(NamedTuple):
    """How a client retries: which methods, at which statuses, and how long it waits for an answer."""

    methods: tuple[str, ...] = ("GET", "POST")
    statuses: Collection[int] = FAILURES
    timeout_s: float = PATIENCE_S


class Ask(NamedTuple):
    """One call of a client."""

    sandbox: Sandbox
    method: str
    path: str
    body: Any = None

    @property
    def url(self) -> str:
        return self.sandbox.base_url + self.path

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.sandbox.secret_key}


def by_urllib3(ask: Ask, policy: Policy) -> None:
    retries = urllib3.Retry(
        ATTEMPTS - 1, allowed_methods=policy.methods, status_forcelist=policy.statuses, backoff_factor=1
    )
    with urllib3.PoolManager(retries=retries, timeout=policy.timeout_s) as pool:
        pool.request(ask.method, ask.url, headers=ask.headers, json=ask.body)


def by_httpx_retries(ask: Ask, policy: Policy) -> None:
    retry = httpx_retries.Retry(
        total=ATTEMPTS - 1, allowed_methods=policy.methods, status_forcelist=policy.statuses, backoff_factor=1
    )
    transport = httpx_retries.RetryTransport(transport=httpx.HTTPTransport(), retry=retry)
    with httpx.Client(transport=transport, timeout=policy.timeout_s) as client:
        client.request(ask.method, ask.url, headers=ask.headers, json=ask.body)


def by_aiohttp_retry(ask: Ask, policy: Policy) -> None:
    options = aiohttp_retry.ExponentialRetry(
        ATTEMPTS,
        start_timeout=1,
        statuses=set(policy.statuses),
        exceptions={aiohttp.ClientError, asyncio.TimeoutError},
        methods=set(policy.methods),
        retry_all_server_errors=False,
    )

    async def run() -> None:
        timeout = aiohttp.ClientTimeout(total=policy.timeout_s)
        async with (
            aiohttp_retry.RetryClient(retry_options=options, timeout=timeout) as client,
            client.request(ask.method, ask.url, headers=ask.headers, json=ask.body),
        ):
            pass

    asyncio.run(run())


def by_tenacity(ask: Ask, policy: Policy) -> None:
    is_retried = ask.method in policy.methods
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS if is_retried else 1),
        wait=tenacity.wait_fixed(1),
        retry=tenacity.retry_if_exception_type(httpx.TransportError)
        | tenacity.retry_if_result(lambda answer: answer.status_code in policy.statuses),
        sleep=ask.sandbox.sleep,
    )
    with httpx.Client(timeout=policy.timeout_s) as client:
        retrying(client.request, ask.method, ask.url, headers=ask.headers, json=ask.body)


LIBRARIES: dict[str, Callable[[Ask, Policy], None]] = {
    "urllib3": by_urllib3,
    "httpx-retries": by_httpx_retries,
    "aiohttp-retry": by_aiohttp_retry,
    "tenacity": by_tenacity,
}


def failing_create(sandbox: Sandbox) -> Ask:
    sandbox.on("createCampaign").nth(1).error("INTERNAL_ERROR")
    return Ask(sandbox, "POST", CREATE, NEW)


def lost_create(sandbox: Sandbox) -> Ask:
    sandbox.on("createCampaign").nth(1).bad_gateway("after")
    return Ask(sandbox, "POST", CREATE, NEW)


def dropped_start(sandbox: Sandbox) -> Ask:
    campaign = Client(sandbox).create()
    sandbox.on("startCampaign").nth(1).drop("after")
    return Ask(sandbox, "POST", f"{CREATE}/{campaign}/start")


def held_start(sandbox: Sandbox) -> Ask:
    campaign = Client(sandbox).create()
    sandbox.on("startCampaign").nth(1).delay_after("1h")
    return Ask(sandbox, "POST", f"{CREATE}/{campaign}/start")


def held_create(sandbox: Sandbox) -> Ask:
    sandbox.on("createCampaign").nth(1).delay_after("1h")
    return Ask(sandbox, "POST", CREATE, NEW)


def limited_read(sandbox: Sandbox) -> Ask:
    sandbox.on("listCampaigns").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=7)
    return Ask(sandbox, "GET", CREATE)


def refused_create(sandbox: Sandbox) -> Ask:
    return Ask(sandbox, "POST", CREATE, {**NEW, "name": ""})


class Situation(NamedTuple):
    """The response to a client, its retries, and the rules that they violate, by library where they differ."""

    arrange: Callable[[Sandbox], Ask]
    policy: Policy
    found: set[str]
    by_library: Mapping[str, set[str]] = MappingProxyType({})


SITUATIONS = {
    "failing create": Situation(failing_create, Policy(), set()),  # the second one leaves the only campaign
    "lost create": Situation(lost_create, Policy(statuses=(502,)), {"blind-post-retry"}),
    "dropped start": Situation(dropped_start, Policy(), {"duplicate-start"}),
    "held start": Situation(held_start, Policy(timeout_s=IMPATIENCE_S), {"duplicate-start"}),
    "held create": Situation(held_create, Policy(timeout_s=IMPATIENCE_S), {"blind-post-retry"}),
    "limited read": Situation(
        limited_read,
        Policy(),
        {"ignore-retry-after"},
        {"urllib3": set(), "httpx-retries": set()},  # these two obey Retry-After
    ),
    "refused create": Situation(refused_create, Policy(statuses=(400, 422)), {"retry-hopeless"}),
    "failing create, retries of reads alone": Situation(failing_create, Policy(methods=("GET",)), set()),
}
CASES = [
    pytest.param(situation, library, id=f"{library}: {name}")
    for name, situation in SITUATIONS.items()
    for library in LIBRARIES
]


@pytest.fixture
def virtual_sleep(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sleep of a library moves the sandbox's clock."""
    sleep = asyncio.sleep

    async def sleep_async(seconds: float, result: Any = None) -> Any:
        if seconds > 0:
            mockserver.advance(seconds)
        return await sleep(0, result)

    monkeypatch.setattr(time, "sleep", mockserver.advance)
    monkeypatch.setattr(asyncio, "sleep", sleep_async)


@pytest.mark.usefixtures("virtual_sleep")
@pytest.mark.parametrize("situation, library", CASES)
def test_the_behaviour_of_a_retry_library_gets_the_right_findings(
    mockserver: Sandbox, situation: Situation, library: str
) -> None:
    ask = situation.arrange(mockserver)
    with suppress(OSError, urllib3.exceptions.HTTPError, httpx.HTTPError, aiohttp.ClientError, tenacity.RetryError):
        LIBRARIES[library](ask, situation.policy)  # what its last attempt raises does not matter here

    assert situation.by_library.get(library, situation.found) == {each.rule for each in mockserver.conduct}
