"""
Published clients with their own retries, each under a thin adapter: a function that sends one request of the API.

An adapter returns the status and the body of the last answer, and lets the client's own exceptions through. It imports its
client itself: a machine has those that are installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from mockserver import Sandbox


class Answer(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: bytes


Send = Callable[[str, str, Mapping[str, str], bytes], Answer]  # method, path, headers, body
Adapter = Callable[[Sandbox], Send]
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


def _checked(sandbox: Sandbox) -> Callable[[str, str, Mapping[str, str], bytes], Any]:
    """Return a function of requests that raises for what a policy of retries is for."""
    session = sandbox.requests_session()

    def call(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        answer = session.request(method, sandbox.base_url + path, headers=dict(headers), data=body, timeout=30)
        if answer.status_code in RETRIED:
            answer.raise_for_status()
        return answer

    return call


def _of_policy(retrying: Callable[[Callable[..., Any]], Callable[..., Any]], *, only_reads: bool = False) -> Adapter:
    """requests below a decorator that repeats what raises."""

    def adapter(sandbox: Sandbox) -> Send:
        import requests

        once = _checked(sandbox)
        repeated = retrying(once)

        def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            try:
                call = once if only_reads and method != "GET" else repeated
                answer = call(method, path, headers, body)
            except requests.HTTPError as refused:
                answer = refused.response
            return Answer(answer.status_code, answer.content)

        return send

    return adapter


def tenacity(sandbox: Sandbox) -> Send:
    import requests
    from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

    policy = retry(
        retry=retry_if_exception_type(requests.RequestException),
        stop=stop_after_attempt(4),
        wait=wait_exponential(),
        reraise=True,
        sleep=sandbox.sleep,
    )
    return _of_policy(policy)(sandbox)


def backoff(sandbox: Sandbox) -> Send:
    import backoff
    import requests

    return _of_policy(backoff.on_exception(backoff.expo, requests.RequestException, max_tries=4))(sandbox)


def stamina(sandbox: Sandbox) -> Send:
    import requests
    import stamina

    return _of_policy(stamina.retry(on=requests.RequestException, attempts=4))(sandbox)


def google(*, only_reads: bool) -> Adapter:
    """google-api-core's Retry around each call, or around reads alone."""

    def adapter(sandbox: Sandbox) -> Send:
        import requests
        from google.api_core import retry

        policy = retry.Retry(predicate=retry.if_exception_type(requests.RequestException), timeout=60)
        return _of_policy(policy, only_reads=only_reads)(sandbox)

    return adapter


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


def twilio(sandbox: Sandbox) -> Send:
    from twilio.http.http_client import TwilioHttpClient

    client = TwilioHttpClient(max_retries=3)
    client.session = sandbox.requests_session()

    def send(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        is_json = headers.get("Content-Type") == "application/json"
        data: Any = json.loads(body) if is_json and body else body  # it writes JSON by itself
        fields = {name: value for name, value in headers.items() if body or name != "Content-Type"}
        answer = client.request(method, sandbox.base_url + path, headers=fields, data=data)
        return Answer(answer.status_code, answer.text.encode())

    return send
