"""
A whole suite of 200 small tests, with this mock and with others: `python -m tests.benchmarks.suites`.

Each test makes one thing and reads it, with the client library of the suite that it is compared with. Each suite runs in a
process of its own with the plugins that it needs and no others, `ROUNDS` times, the suites in turn, after one round that
compiles what they import. The figures are medians of the processor time of the whole process, in which a server and its
client run, and of the clock. Three suites show what is left without a mock: `requests` alone takes its answers from an adapter or
from a thread that writes the same bytes to each request, and three fixtures do nothing. At the end two parts of a test of this
mock are timed alone.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from mockserver import MockServer

COUNT = 200
ROUNDS = 9

_OURS = """
import pytest
import requests

GIVEN = {"templates": [{"id": "template_hello"}]}
BODY = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}


@pytest.mark.parametrize("number", range(COUNT))
@pytest.mark.mockserver(given=GIVEN)
def test_it(mockserver, number):
    with SESSION as session:
        session.headers["X-API-Key"] = mockserver.secret_key
        made = session.post(f"{mockserver.base_url}/v1/campaigns", json=BODY).json()
        read = session.get(f"{mockserver.base_url}/v1/campaigns/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""
_BY_HTTPX = """
import pytest

GIVEN = {"templates": [{"id": "template_hello"}]}
BODY = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}


@pytest.mark.parametrize("number", range(COUNT))
@pytest.mark.mockserver(given=GIVEN)
def test_it(mockserver, number):
    with mockserver.httpx_client() as client:
        client.headers["X-API-Key"] = mockserver.secret_key
        made = client.post(f"{mockserver.base_url}/v1/campaigns", json=BODY).json()
        read = client.get(f"{mockserver.base_url}/v1/campaigns/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""
_RESPONSES = """
import pytest
import requests
import responses

URL = "http://peer.test/v1/campaigns"


@pytest.mark.parametrize("number", range(COUNT))
@responses.activate
def test_it(number):
    responses.post(URL, json={"campaignId": "one"})
    responses.get(f"{URL}/one", json={"id": "one", "status": "draft"})
    with requests.Session() as session:
        made = session.post(URL, json={"name": "Hello"}).json()
        read = session.get(f"{URL}/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""
_RESPX = """
import httpx
import pytest

URL = "http://peer.test/v1/campaigns"


@pytest.mark.parametrize("number", range(COUNT))
def test_it(respx_mock, number):
    respx_mock.post(URL).respond(json={"campaignId": "one"})
    respx_mock.get(f"{URL}/one").respond(json={"id": "one", "status": "draft"})
    with httpx.Client() as client:
        made = client.post(URL, json={"name": "Hello"}).json()
        read = client.get(f"{URL}/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""
_EMPTY = """
import pytest


@pytest.mark.parametrize("number", range(COUNT))
def test_it(number):
    pass
"""
_FIXTURES = """
import pytest


@pytest.fixture(scope="session")
def settings():
    return {}


@pytest.fixture(scope="session")
def server(settings):
    yield 1


@pytest.fixture
def sandbox(request, server):
    yield 1


@pytest.mark.parametrize("number", range(COUNT))
def test_it(sandbox, number):
    pass
"""
_CANNED = """
import pytest
import requests


@pytest.mark.parametrize("number", range(COUNT))
def test_it(httpserver, number):
    httpserver.expect_request("/v1/campaigns", method="POST").respond_with_json({"campaignId": "one"})
    httpserver.expect_request("/v1/campaigns/one").respond_with_json({"id": "one", "status": "draft"})
    with requests.Session() as session:
        made = session.post(httpserver.url_for("/v1/campaigns"), json={"name": "Hello"}).json()
        read = session.get(httpserver.url_for(f"/v1/campaigns/{made['campaignId']}")).json()
        assert "draft" == read["status"]
"""
_ALONE = """
import io

import pytest
import requests
from requests.adapters import BaseAdapter
from urllib3 import HTTPResponse

URL = "http://peer.test/v1/campaigns"


class Adapter(BaseAdapter):
    def send(self, request, **kwargs):
        response = requests.Response()
        response.status_code, response.url, response.request = 200, request.url, request
        response._content = b'{"campaignId": "one", "status": "draft"}'
        response.raw = HTTPResponse(io.BytesIO(), status=200, preload_content=False)
        return response

    def close(self):
        pass


@pytest.mark.parametrize("number", range(COUNT))
def test_it(number):
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", Adapter())
        made = session.post(URL, json={"name": "Hello"}).json()
        read = session.get(f"{URL}/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""
_ALONE_ON_A_SOCKET = """
import socket
import threading

import pytest
import requests

BODY = b'{"campaignId": "one", "status": "draft"}'
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(BODY), BODY)


def answer(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            while (received := connection.recv(65536)):
                if received.startswith(b"POST") and not received.endswith(b"}"):
                    connection.recv(65536)
                connection.sendall(ANSWER)


@pytest.fixture(scope="session")
def url():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=answer, args=(listener,), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/v1/campaigns"


@pytest.mark.parametrize("number", range(COUNT))
def test_it(url, number):
    with requests.Session() as session:
        made = session.post(url, json={"name": "Hello"}).json()
        read = session.get(f"{url}/{made['campaignId']}").json()
        assert "draft" == read["status"]
"""


class Suite(NamedTuple):
    """The text of a suite, and the plugin that it needs, if any."""

    text: str
    plugin: str = ""


class Spent(NamedTuple):
    """The seconds of a suite, from the start of its process to the end."""

    processor: float
    clock: float


_PLUGIN = "mockserver.pytest_plugin"
SUITES = {
    "this mock over the socket": Suite(_OURS.replace("SESSION", "requests.Session()"), _PLUGIN),
    "pytest-httpserver": Suite(_CANNED, "pytest_httpserver.pytest_plugin"),
    "requests alone, over a socket": Suite(_ALONE_ON_A_SOCKET),
    "this mock in process, by requests": Suite(_OURS.replace("SESSION", "mockserver.requests_session()"), _PLUGIN),
    "responses": Suite(_RESPONSES),
    "requests alone, in process": Suite(_ALONE),
    "this mock in process, by httpx": Suite(_BY_HTTPX, _PLUGIN),
    "respx": Suite(_RESPX, "respx.plugin"),
    "three fixtures that do nothing": Suite(_FIXTURES),
    "nothing": Suite(_EMPTY),
}
# Each suite of this mock, and the one that it is compared with.
PAIRS = (
    ("this mock over the socket", "pytest-httpserver"),
    ("requests alone, over a socket", "pytest-httpserver"),
    ("this mock in process, by requests", "responses"),
    ("requests alone, in process", "responses"),
    ("this mock in process, by httpx", "respx"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spent: dict[str, list[Spent]] = {name: [] for name in SUITES}
        starts: dict[str, list[Spent]] = {name: [] for name in SUITES}
        for number in range(ROUNDS + 1):
            for name, suite in SUITES.items():
                whole, start = _run(Path(folder), suite, COUNT), _run(Path(folder), suite, 1)
                if number:
                    spent[name].append(whole)
                    starts[name].append(start)
    processor = {name: median(each.processor for each in rounds) for name, rounds in spent.items()}
    start_alone = {name: median(each.processor for each in rounds) for name, rounds in starts.items()}
    nothing, empty_test = processor["nothing"], (processor["nothing"] - start_alone["nothing"]) / (COUNT - 1)
    for name, rounds in spent.items():
        a_test = (processor[name] - start_alone[name]) / (COUNT - 1) - empty_test
        print(
            f"{name:34} {processor[name]:.2f} s, by the clock {median(each.clock for each in rounds):.2f} s; "
            f"over an empty suite the first test takes {(start_alone[name] - start_alone['nothing']) * 1000:4.0f} ms, "
            f"each other {a_test * 1000:5.2f} ms"
        )
    for ours, theirs in PAIRS:
        tests = (processor[ours] - nothing) / (processor[theirs] - nothing)
        print(
            f"{ours} takes {processor[ours] / processor[theirs]:.2f} of {theirs}, {tests:.2f} without what an empty suite takes"
        )
    _print_parts()


def _print_parts() -> None:
    """Print what two parts of a test of this mock take: the least of nine rounds."""
    given = {"templates": [{"id": "template_hello"}]}
    body = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}
    server = MockServer()
    called = server.sandbox(given=given)
    campaign_id = called.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    called.call("GET", f"/v1/campaigns/{campaign_id}")
    sandbox = _least_us(lambda: server.sandbox(given=given).close())
    judgement = _least_us(lambda: called.conduct)
    print(f"a sandbox made and closed takes {sandbox:.0f} µs, the judgement of two calls {judgement:.0f} µs")


def _least_us(part: Callable[[], object]) -> float:
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(COUNT):
            part()
        rounds.append((time.process_time() - began) / COUNT * 1e6)
    return min(rounds)


def _run(folder: Path, suite: Suite, count: int) -> Spent:
    """Run a suite of so many tests."""
    name = f"test_suite_{list(SUITES.values()).index(suite)}_{count}.py"
    (folder / name).write_text(suite.text.replace("COUNT", str(count)), encoding="utf-8")
    # Compiled modules are written, as an installation has them.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ("-p", suite.plugin) if suite.plugin else ()
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, name],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if f"{count} passed" not in done.stdout:
        raise SystemExit(f"{name} did not pass:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Spent(
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        clock,
    )


if __name__ == "__main__":
    main()
