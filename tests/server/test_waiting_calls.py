"""Calls that a rule makes wait on a socket: a reset, a restore or a close cancels the wait, and nothing is left behind."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from urllib.parse import urlsplit

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.harness.waiting import PATIENCE_SECONDS, wait_until
from tests.operations.world import DRAFT, GIVEN
from tests.server.rawclient import RawClient

PATH = "/v1/campaigns"


class Caller:
    """A client on a thread of its own, and the result of its call."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.result: int | type[Exception] | None = None
        self._asked = sandbox.base_url + PATH, sandbox.secret_key
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        url, key = self._asked
        try:
            answer = requests.post(url, json=DRAFT, headers={"X-API-Key": key}, timeout=30)
            is_whole = len(answer.content) == int(answer.headers["Content-Length"])  # urllib3 1.26 does not look
            self.result = answer.status_code if is_whole else requests.ConnectionError
        except requests.RequestException as failure:
            self.result = type(failure)


@pytest.fixture(params=["delay", "delay-after", "dribble"])
def effect(request: pytest.FixtureRequest) -> JSON:
    return {request.param: {"chunks": 2, "over": "1h"} if request.param == "dribble" else "1h"}


@each_row("end", ["reset", "restore", "close", "server"])
def test_waiting_calls_are_canceled_immediately_and_leave_no_thread(end: str, effect: JSON) -> None:
    server = MockServer()
    url = server.url
    sandbox = server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z")
    kept = sandbox.checkpoint()
    kept.__enter__()
    rule = sandbox.on("createCampaign").do(effect)
    callers = [Caller(sandbox) for _ in range(3)]
    wait_until(lambda: rule.fired == 3)

    {
        "reset": sandbox.reset,
        "restore": lambda: kept.__exit__(None, None, None),
        "close": sandbox.close,
        "server": server.close,
    }[end]()

    for caller in callers:
        caller.thread.join(PATIENCE_SECONDS)
    assert not any(each.thread.is_alive() for each in callers)
    assert not any(isinstance(each.result, int) and each.result < 300 for each in callers), [
        each.result for each in callers
    ]
    if end in ("reset", "restore"):
        assert [] == sandbox.log.journal["exchanges"] == sandbox.log.journal["transitions"] == sandbox.rules
    server.close()
    # Another server of the run may start a worker meanwhile.
    wait_until(lambda: not any(f"{url} " in f"{thread.name} " for thread in threading.enumerate()))


@pytest.mark.parametrize(
    "effect", [{"drop": "before"}, {"reset": "after"}, {"truncate": 5}, {"garble": True}, {"error": "INTERNAL_ERROR"}]
)
def test_a_connection_stays_open_only_after_a_complete_response(mockserver: Sandbox, effect: JSON) -> None:
    mockserver.apply({"script": [{"on": "listCampaigns", "nth": 2, "do": effect}]})
    parts = urlsplit(mockserver.base_url)
    with RawClient(parts.port) as client, RawClient(parts.port) as other:
        ask = f"GET {parts.path}{PATH} HTTP/1.1"
        key = f"X-API-Key: {mockserver.secret_key}"
        assert 200 == client.send(ask, key).answer().status
        client.send(ask, key)
        if effect in ({"garble": True}, {"error": "INTERNAL_ERROR"}):
            assert client.answer().status in (200, 500)
            assert 200 == client.send(ask, key).answer().status
        else:
            with pytest.raises((OSError, AssertionError, ValueError, IndexError)):
                client.answer()
                client.send(ask, key).answer()
        assert 200 == other.send(ask, key).answer().status


def _late_answer(mockserver: Sandbox, client: RawClient) -> None:
    """Send a call whose answer is late, on a connection of its own."""
    mockserver.on("listCampaigns").delay_after(0.1)
    path = urlsplit(mockserver.base_url).path + PATH
    client.send(f"GET {path} HTTP/1.1", f"X-API-Key: {mockserver.secret_key}")


def test_a_late_answer_that_a_half_closed_client_still_reads_is_not_lost(mockserver: Sandbox) -> None:
    with RawClient(urlsplit(mockserver.base_url).port) as client:
        _late_answer(mockserver, client)
        client.socket.shutdown(socket.SHUT_WR)

        assert 200 == client.answer().status
        assert client.ended()
    assert 200 == mockserver.log.journal["exchanges"][0]["response"]["status"]


def test_a_late_answer_to_a_client_that_has_closed_its_socket_is_lost(mockserver: Sandbox) -> None:
    with RawClient(urlsplit(mockserver.base_url).port) as client:
        _late_answer(mockserver, client)

    wait_until(
        lambda: mockserver.log.journal["exchanges"] and mockserver.log.journal["exchanges"][0]["response"] is None
    )


# What curl's exit code is for each (52 empty reply, 56 failure in receiving, 18 partial file, 28 timeout).
CURL: dict[str, tuple[JSON, int]] = {
    "drop": ({"drop": "after"}, 52),
    "reset": ({"reset": "after"}, 56),
    "truncate": ({"truncate": 5}, 18),
    "delay": ({"delay": 5}, 28),
    "garble": ({"garble": True}, 0),
}


@pytest.mark.parametrize("name", CURL)
def test_curl_has_an_exit_code_for_each_fault(mockserver: Sandbox, name: str) -> None:
    curl = shutil.which("curl") or pytest.skip("curl is not installed here: its exit codes are not looked at")
    effect, code = CURL[name]
    mockserver.on("listCampaigns").do(effect)
    done = subprocess.run(
        [curl, "-s", "-m", "0.3" if name == "delay" else "10", mockserver.base_url + PATH],
        capture_output=True,
        check=False,
    )

    assert code == done.returncode
