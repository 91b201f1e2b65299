"""
The processor time of one call in process, by kind and by way: `python -m tests.benchmarks.gateway`.

The first rows are the gateway alone, from the front controller on; the last ones have the client's part too. A figure is
the least of some rounds, in microseconds, with the journal full.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from mockserver import MockServer, Sandbox
from mockserver.server import front_controller
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.benchmarks.worlds import FILTERS, running

ROUNDS, CALLS = 9, 400
TARGETS = 1_000

Act = Callable[[], object]


def microseconds(act: Act, before: Act = lambda: None) -> float:
    """Return the processor time of one call in the fastest round; `before` precedes each round."""
    return min(_round(act, before) for _ in range(ROUNDS))


def _round(act: Act, before: Act) -> float:
    before()
    began = time.process_time()
    for _ in range(CALLS):
        act()
    return (time.process_time() - began) / CALLS * 1e6


class Gateway:
    """Requests to the front controller, as a server passes them on."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._hosted = sandbox._hosted
        self._headers = {
            "host": "mockserver.test", "user-agent": "benchmark/1", "accept": "*/*", "accept-encoding": "gzip, deflate",
            "connection": "keep-alive", "content-type": "application/json", "x-api-key": sandbox.secret_key,
        }  # fmt: skip

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> int:
        """Send a request and return the status of its response."""
        headers = self._headers if key is None else {**self._headers, "x-api-key": key}
        content = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest.create(method, self._hosted.prefix + path, headers, content, "http://mockserver.test")
        response, after = front_controller.handle_request(self._hosted.host, request)
        after()
        assert isinstance(response, HttpResponse)
        return response.status


def kinds(gateway: Gateway, path: str) -> Iterator[tuple[str, int, Act]]:
    """Yield calls of the gateway alone that change nothing, with the status of each."""
    filters, invalid = {"filters": FILTERS}, {"name": ""}
    yield "GET of a running campaign", 200, lambda: gateway.send("GET", path)
    yield "GET of the list of campaigns", 200, lambda: gateway.send("GET", "/v1/campaigns")
    yield "GET of an unknown campaign", 404, lambda: gateway.send("GET", "/v1/campaigns/campaign_unknown")
    yield "GET without a key", 401, lambda: gateway.send("GET", path, key="")
    yield "POST of a preview, 1,000 chats", 200, lambda: gateway.send("POST", "/v1/campaigns/audience-preview", filters)
    yield "POST of an invalid campaign", 400, lambda: gateway.send("POST", "/v1/campaigns", invalid)


def ways(sandbox: Sandbox, path: str) -> Iterator[tuple[str, Act]]:
    """Yield the GET of a running campaign by way of each client in process."""
    url, headers = sandbox.base_url + path, {"X-API-Key": sandbox.secret_key}
    session, client, flask = sandbox.requests_session(), sandbox.httpx_client(), sandbox.admin.app.test_client()
    yield "Sandbox.call", lambda: sandbox.call("GET", path)
    yield "requests", lambda: session.get(url, headers=headers)
    yield "httpx", lambda: client.get(url, headers=headers)
    yield "Flask's test client", lambda: flask.get(path, headers=headers)


def main() -> None:
    with MockServer() as server:
        sandbox, campaign_id = running(server, TARGETS)
        gateway, path, numbers = Gateway(sandbox), f"/v1/campaigns/{campaign_id}", count()
        for _ in range(10_000):
            gateway.send("GET", path)
        for name, status, act in kinds(gateway, path):
            assert act() == status, name
            print(f"{name:45}{microseconds(act):8.1f} us", flush=True)
        for way, act in ways(sandbox, path):
            print(f"{'GET of a running campaign, ' + way:45}{microseconds(act):8.1f} us", flush=True)
        body = {"platform": "chatapp", "templateId": "template_one", "cadence": 600}
        took = microseconds(
            lambda: gateway.send("POST", "/v1/campaigns", {**body, "name": str(next(numbers))}), before=sandbox.reset
        )
        print(f"{'POST of a campaign, up to 400 of them':45}{took:8.1f} us")


if __name__ == "__main__":
    main()
