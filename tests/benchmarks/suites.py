"""
A whole suite of 200 small tests, with this mock and with others: `python -m tests.benchmarks.suites`.

Each test makes one thing and reads it, by requests. Each suite runs in a process of its own, `ROUNDS` times, the suites in turn,
so that what else the machine does falls on all alike; the figures are the least and the median of the whole process, and what
a test takes over an empty suite.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

COUNT = 200
ROUNDS = 5

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
_MOTO = """
import pytest
import requests
from moto.server import ThreadedMotoServer


@pytest.fixture(scope="session")
def moto():
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.mark.parametrize("number", range(COUNT))
def test_it(moto, number):
    with requests.Session() as session:
        session.post(f"{moto}/moto-api/reset").raise_for_status()
        session.put(f"{moto}/hello").raise_for_status()
        assert 200 == session.get(f"{moto}/hello").status_code
"""
SUITES = {
    "this mock over the socket": _OURS.replace("SESSION", "requests.Session()"),
    "pytest-httpserver": _CANNED,
    "moto's server": _MOTO,
    "this mock in process, by requests": _OURS.replace("SESSION", "mockserver.requests_session()"),
    "responses": _RESPONSES,
    "this mock in process, by httpx": _BY_HTTPX,
    "respx": _RESPX,
    "nothing": _EMPTY,
}
# Each suite of this mock, and the one that it is compared with.
PAIRS = (
    ("this mock over the socket", "pytest-httpserver"),
    ("this mock over the socket", "moto's server"),
    ("this mock in process, by requests", "responses"),
    ("this mock in process, by httpx", "respx"),
)
_OPTIONS = ("-q", "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:schemathesis", "-p", "no:cacheprovider")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spent: dict[str, list[float]] = {name: [] for name in SUITES}
        for _ in range(ROUNDS):
            for place, (name, text) in enumerate(SUITES.items()):
                spent[name].append(_run(Path(folder), f"test_suite_{place}.py", text))
    nothing = median(spent["nothing"])
    for name, each in spent.items():
        a_test = (median(each) - nothing) / COUNT * 1000
        print(
            f"{name:36} least {min(each):.2f} s, median {median(each):.2f} s, {a_test:5.2f} ms a test over an empty suite"
        )
    for ours, theirs in PAIRS:
        whole = median(spent[ours]) / median(spent[theirs])
        tests = (median(spent[ours]) - nothing) / (median(spent[theirs]) - nothing)
        print(f"{ours} takes {whole:.2f} of {theirs}, {tests:.2f} without what an empty suite takes")


def _run(folder: Path, name: str, text: str) -> float:
    """Seconds of one suite from the start of its process to the end."""
    (folder / name).write_text(text.replace("COUNT", str(COUNT)), encoding="utf-8")
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *_OPTIONS, name],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if f"{COUNT} passed" not in done.stdout:
        raise SystemExit(f"{name} did not pass:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
