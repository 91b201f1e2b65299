"""What `mockserver serve` has loaded when it first answers, and what its garbage collector leaves out."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.test_packaging import HEAVY
from tests.wheels import ROOT, run

# Modules that the first call does not need, each with what loads it.
LATE = {
    "encodings.idna": "a host's name",
    "http.client": "a call of another server",
    **{
        f"mockserver.cli.{name}": "that command"
        for name in ("coverage", "explore", "health", "judge", "listing", "probe")
    },
    "mockserver.cli.play_log": "`mockserver play`",
    "mockserver.judge": "a report of findings",
    "mockserver.scenario.parsing": "a YAML file",
    "mockserver.server.control.har": "a HAR",
    "mockserver.server.control.page_access": "a page of the dashboard",
    "mockserver.server.control.replay_document": "a replay document",
    "mockserver.server.control.routes": "a command of the control plane",
    "mockserver.testing": "a test",
    "mockserver.trace": "a report of findings",
    "mockserver.probe": "`mockserver probe`",
    "secrets": "an address beyond loopback",
}

SERVE = """
import gc, json, os, socket, sys, threading

class Output:
    def write(self, text):
        if "listens on" in text:
            threading.Thread(target=ask, args=(text.split()[4],)).start()

    def flush(self):
        pass

    def isatty(self):
        return False

def ask(url):
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as client:  # not `create_connection`, which looks the host up
        client.connect((host, int(port)))
        client.sendall(f"GET {PATH} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        status = client.recv(65536).split()[1].decode()
    collector = [gc.isenabled(), gc.get_freeze_count() > 10_000]
    print(json.dumps({"status": status, "collector": collector, "switch_seconds": sys.getswitchinterval(), "loaded": sorted(sys.modules)}), file=sys.__stdout__, flush=True)
    os._exit(0)

PATH = sys.argv.pop()
sys.stdout = Output()
from mockserver.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def first_answer() -> dict[str, Any]:
    """The status of the first response of `serve`, the collector of its process, and the modules loaded then."""
    path = "/v1/message-templates"
    done = run(sys.executable, "-c", SERVE, "serve", "--port", "0", "--log-format", "off", path, PYTHONPATH=str(ROOT))
    answer: dict[str, Any] = json.loads(done.stdout)
    assert "401" == answer["status"]
    return answer


def test_the_first_call_loads_nothing_that_it_does_not_need(first_answer: dict[str, Any]) -> None:
    assert [] == sorted({*HEAVY, *LATE} & set(first_answer["loaded"]))


def test_a_thread_of_serve_waits_for_another_one_for_less_than_the_default_of_5_ms(
    first_answer: dict[str, Any],
) -> None:
    """A short call waits several times while a worker runs a long one."""
    assert 0.001 > first_answer["switch_seconds"]


def test_the_collector_leaves_out_what_the_start_has_loaded(first_answer: dict[str, Any]) -> None:
    assert [True, True] == first_answer["collector"]
