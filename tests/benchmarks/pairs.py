"""
One call next to another, by turns, so that whatever else the machine does affects both: `python -m tests.benchmarks.pairs`.

A round is some calls of each; the result is the median of the rounds' ratios, with the range of their middle half.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain

import httpx
import pytest_httpserver
import requests
import responses
import respx

from mockserver import MockServer, Sandbox
from tests.benchmarks.test_scripts import SCRIPTS
from tests.benchmarks.worlds import running

ROUNDS, CALLS = 150, 40
CANNED = {"id": "one", "executions": []}
URL = "http://peer.test/v1/campaigns/one"

Act = Callable[[], object]


def seconds(act: Act) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        act()
    return time.perf_counter() - began


def compared(ours: Act, theirs: Act) -> str:
    """The ratio of the first to the second."""
    ratios = []
    for number in range(ROUNDS):
        first, second = (ours, theirs) if number % 2 else (theirs, ours)
        times = {id(first): seconds(first), id(second): seconds(second)}
        ratios.append(times[id(ours)] / times[id(theirs)])
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def in_process(stack: ExitStack, sandbox: Sandbox, url: str) -> Iterator[tuple[str, Act, Act]]:
    """Clients in process next to the libraries that answer for the network."""
    headers = {"X-API-Key": sandbox.secret_key}
    session, client, plain = sandbox.requests_session(), sandbox.httpx_client(), requests.Session()
    canned = stack.enter_context(responses.RequestsMock(assert_all_requests_are_fired=False))
    canned.get(URL, json=CANNED)
    yield (
        "requests in process, compared with responses",
        lambda: session.get(url, headers=headers),
        lambda: plain.get(URL, headers=headers),
    )
    routes = stack.enter_context(respx.mock(assert_all_called=False))
    routes.get(URL).respond(json=CANNED)
    other = stack.enter_context(httpx.Client())
    yield (
        "httpx in process, compared with respx",
        lambda: client.get(url, headers=headers),
        lambda: other.get(URL, headers=headers),
    )


def over_sockets(stack: ExitStack, sandbox: Sandbox, url: str) -> Iterator[tuple[str, Act, Act]]:
    """One client over two servers' sockets."""
    peer = stack.enter_context(pytest_httpserver.HTTPServer())
    peer.expect_request("/v1/campaigns/one").respond_with_json(CANNED)
    session, headers = requests.Session(), {"X-API-Key": sandbox.secret_key}
    there = peer.url_for("/v1/campaigns/one")
    yield (
        "over the socket, compared with pytest-httpserver",
        lambda: session.get(url, headers=headers),
        lambda: session.get(there, headers=headers),
    )


def polls(server: MockServer, sandbox: Sandbox, path: str) -> Iterator[tuple[str, Act, Act]]:
    """A campaign of a million next to one of a hundred."""
    large, campaign = running(server, 1_000_000)
    yield (
        "polling 1,000,000 targets, compared with 100",
        lambda: large.call("GET", f"/v1/campaigns/{campaign}"),
        lambda: sandbox.call("GET", path),
    )


def with_rules(server: MockServer, sandbox: Sandbox, path: str) -> Iterator[tuple[str, Act, Act]]:
    """Two hundred rules that wait for the call and do not fire, compared with none."""
    for name in ("200 by nth", "200 by value"):
        other, campaign = running(server, 100)
        other.apply({"script": SCRIPTS[name]})
        there = f"/v1/campaigns/{campaign}"
        yield (
            f"a call with {name}, compared with none",
            partial(other.call, "GET", there),
            lambda: sandbox.call("GET", path),
        )


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # or the peer would write one line per call
    with MockServer() as server, ExitStack() as stack:
        sandbox, campaign = running(server, 100)
        path = f"/v1/campaigns/{campaign}"
        url = sandbox.base_url + path
        pairs = chain(  # in process last: its peers answer for the whole process's network
            over_sockets(stack, sandbox, url),
            polls(server, sandbox, path),
            with_rules(server, sandbox, path),
            in_process(stack, sandbox, url),
        )
        for name, ours, theirs in pairs:
            print(f"{name:45}{compared(ours, theirs)}", flush=True)


if __name__ == "__main__":
    main()
