"""What `mockserver serve` has loaded when it first answers."""

from __future__ import annotations

import json
import sys

import pytest

from tests.test_packaging import HEAVY
from tests.wheels import ROOT, run

# What Flask imports: it carries each request to the front controller.
BY_FLASK = frozenset({"flask", "jinja2", "werkzeug"})

SERVE = """
import json, os, socket, sys, threading

class Output:
    def write(self, text):
        if "listens on" in text:
            threading.Thread(target=ask, args=(text.split()[4],)).start()

    def flush(self):
        pass

def ask(url):
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(f"GET {PATH} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        status = client.recv(65536).split()[1].decode()
    print(json.dumps({"status": status, "loaded": sorted(sys.modules)}), file=sys.__stdout__, flush=True)
    os._exit(0)

PATH = sys.argv.pop()
sys.stdout = Output()
from mockserver.cli import main
sys.exit(main())
"""


def loaded_at(path: str) -> tuple[str, set[str]]:
    """Return the status of the first response of `serve`, and the names of the modules loaded then."""
    done = run(sys.executable, "-c", SERVE, "serve", "--port", "0", "--log-format", "off", path, PYTHONPATH=str(ROOT))
    seen = json.loads(done.stdout)
    return seen["status"], set(seen["loaded"])


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    status, modules = loaded_at("/v1/message-templates")
    assert "401" == status
    return modules


def test_the_first_call_loads_nothing_heavy(loaded: set[str]):
    assert [] == sorted((set(HEAVY) - BY_FLASK) & loaded)
