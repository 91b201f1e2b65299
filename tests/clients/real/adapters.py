"""
Published clients with their own retries, each under a thin adapter: a function that sends one request of the API.

An adapter returns the status and the body of the last answer, and lets the client's own exceptions through. It imports its
client itself: a machine has those that are installed.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple
from unittest import mock

from mockserver import Sandbox


class Answer(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: bytes


Send = Callable[[str, str, Mapping[str, str], bytes], Answer]  # method, path, headers, body
Adapter = Callable[[Sandbox], Send]
BRIDGE = Path(__file__).with_name("axios_bridge.mjs")
RETRIED = (429, 500, 502, 503, 504)


def requests_plain(sandbox: Sandbox) -> Send:
    session = sandbox.requests_session()

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = session.request(method, sandbox.base_url + path, headers=dict(headers), data=body)
        return Answer(answer.status_code, answer.content)

    return send


def urllib3_retry(methods: Literal["reads", "all"]) -> Adapter:
    """requests with urllib3's Retry, for the methods that it repeats by default, or for all."""

    def adapter(sandbox: Sandbox) -> Send:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util.retry import Retry

        allowed: dict[str, Any] = {} if methods == "reads" else {"allowed_methods": None}
        retry = Retry(4, backoff_factor=1, status_forcelist=RETRIED, raise_on_status=False, **allowed)
        session = requests.Session()  # by the socket: the adapter of a sandbox has no Retry
        session.trust_env = False
        session.mount("http://", HTTPAdapter(max_retries=retry))

        def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            answer = session.request(method, sandbox.base_url + path, headers=dict(headers), data=body, timeout=30)
            return Answer(answer.status_code, answer.content)

        return send

    return adapter


def stripe(retries: int) -> Adapter:
    """stripe's HTTP client, with the retries of its requests."""

    def adapter(sandbox: Sandbox) -> Send:
        import stripe

        client = stripe.RequestsClient(session=sandbox.requests_session())

        def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            content, status, _ = client.request_with_retries(
                method.lower(), sandbox.base_url + path, dict(headers), body or None, max_network_retries=retries
            )
            return Answer(status, content if isinstance(content, bytes) else content.encode())

        return send

    return adapter


def openai(retries: int) -> Adapter:
    """openai's client, with the retries of its requests."""

    def adapter(sandbox: Sandbox) -> Send:
        import httpx
        import openai
        from openai._models import FinalRequestOptions

        client = openai.OpenAI(
            api_key="unused", base_url=sandbox.base_url, http_client=sandbox.httpx_client(), max_retries=retries
        )

        def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            # A media type has no case; the client would write a body of its own for the usual spelling of this one.
            fields = {name: value.replace("multipart/", "Multipart/") for name, value in headers.items()}
            options = FinalRequestOptions.construct(
                method=method.lower(), url=path, headers=fields, content=body or None
            )
            try:
                answer: Any = client.request(httpx.Response, options)
            except openai.APIStatusError as refused:
                answer = refused.response
            return Answer(answer.status_code, answer.content)

        return send

    return adapter


def tenacity(sandbox: Sandbox) -> Send:
    """requests below a decorator that repeats what raises."""
    import requests
    from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

    policy = retry(
        retry=retry_if_exception_type(requests.RequestException),
        stop=stop_after_attempt(4),
        wait=wait_exponential(),
        reraise=True,
        sleep=sandbox.sleep,
    )
    session = sandbox.requests_session()

    @policy
    def call(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        answer = session.request(method, sandbox.base_url + path, headers=dict(headers), data=body, timeout=30)
        if answer.status_code in RETRIED:
            answer.raise_for_status()
        return answer

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        try:
            answer = call(method, path, headers, body)
        except requests.HTTPError as refused:
            answer = refused.response
        return Answer(answer.status_code, answer.content)

    return send


def httpx_retries(sandbox: Sandbox) -> Send:
    import httpx
    from httpx_retries import Retry, RetryTransport

    client = sandbox.httpx_client()
    transport = RetryTransport(transport=client._transport, retry=Retry(total=4, backoff_factor=0.5))
    repeating = httpx.Client(transport=transport, base_url=sandbox.base_url)

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = repeating.request(method, path, headers=dict(headers), content=body)
        return Answer(answer.status_code, answer.content)

    return send


def aiohttp_retry(sandbox: Sandbox) -> Send:
    """aiohttp-retry for every method, status and error of the connection."""
    import aiohttp
    from aiohttp_retry import ExponentialRetry, RetryClient

    options = ExponentialRetry(attempts=4, statuses={429}, exceptions={aiohttp.ClientError})

    async def send_async(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        async with (
            RetryClient(retry_options=options) as client,
            client.request(method, sandbox.base_url + path, headers=dict(headers), data=body or None) as answer,
        ):
            return Answer(answer.status, await answer.read())

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        with mock.patch("asyncio.sleep", sandbox.aio.sleep):
            return asyncio.run(send_async(method, path, headers, body))

    return send


class NoAnswer(Exception):
    """axios has rejected a request without an answer."""


def axios(options: Mapping[str, object]) -> Adapter:
    """axios with axios-retry and these options, in one process of Node for all runs."""
    processes: list[subprocess.Popen[str]] = []

    def adapter(sandbox: Sandbox) -> Send:
        if not processes:
            command = ["node", str(BRIDGE), os.environ["CLIENTS_NODE"], json.dumps(options)]
            processes.append(subprocess.Popen(command, stdin=-1, stdout=-1, encoding="utf-8"))
            atexit.register(processes[0].kill)
        stdin, stdout = processes[0].stdin, processes[0].stdout
        assert stdin is not None and stdout is not None

        def ask(document: Mapping[str, object]) -> Any:
            print(json.dumps(document), file=stdin, flush=True)
            return json.loads(stdout.readline())

        def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            data = base64.b64encode(body).decode() if body else None
            url = sandbox.base_url + path
            answer = ask({"method": method, "url": url, "headers": dict(headers), "data": data})
            while "sleep" in answer:
                sandbox.sleep(answer["sleep"])
                answer = ask({"slept": True})
            if "error" in answer:
                raise NoAnswer(answer["error"])
            return Answer(answer["status"], answer["text"].encode())

        return send

    return adapter
