"""`mockserver open`: the state after a call of a traced run, served as a live mock."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.report.trace_page import render
from mockserver.scenario import documents
from tests.processes import OWN_GROUP, interrupt
from tests.testing.test_replay import GIVEN, NOW, campaigning, visiting
from tests.testing.test_traces import run_of

TIMEOUT_SECONDS = 60


class Opened:
    """A `mockserver open` in a process of its own; it listens once this exists."""

    def __init__(self, file: Path, *arguments: str) -> None:
        command = [sys.executable, "-W", "error", "-m", "mockserver", "open", str(file), "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **OWN_GROUP)  # fmt: skip
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline()]
        while self.lines[-1] and "The state is that of" not in self.lines[-1]:
            self.lines.append(self.process.stdout.readline())
        self.url = self.lines[0].split()[-1]
        self.session = requests.Session()
        self.session.trust_env = False

    def ask(self, method: str, path: str, **rest: Any) -> requests.Response:
        return self.session.request(method, self.url + path, timeout=TIMEOUT_SECONDS, **rest)

    def state(self) -> bytes:
        return self.ask("GET", "/_mock/state").content

    def close(self) -> str:
        """End the process; its standard error."""
        self.session.close()
        interrupt(self.process)
        return str(self.process.communicate(timeout=TIMEOUT_SECONDS)[1])


@pytest.fixture
def opened() -> Iterator[Callable[..., Any]]:
    running: list[Opened] = []

    def start(file: Path, *arguments: str) -> Opened:
        running.append(Opened(file, *arguments))
        return running[-1]

    yield start
    for each in running:
        each.close()


def state_bytes(sandbox: Sandbox) -> bytes:
    """The state as the control plane sends it."""
    return sandbox.call("GET", "/_mock/state", key="").body


def stored(sandbox: Sandbox, folder: Path) -> Path:
    file = folder / "trace.html"
    file.write_bytes(render(run_of(sandbox)))
    return file


@pytest.mark.parametrize("play", [campaigning, visiting])
def test_the_last_state_is_served_byte_for_byte(
    tmp_path: Path, opened: Callable[..., Any], play: Callable[..., Any]
) -> None:
    with MockServer() as server, server.sandbox(now=NOW, given=GIVEN) as sandbox:
        play(sandbox)
        file, expected = stored(sandbox, tmp_path), state_bytes(sandbox)

    assert expected == opened(file).state()


def test_what_is_served_can_go_back_to_each_of_the_last_calls(tmp_path: Path, opened: Callable[..., Any]) -> None:
    before = []
    with MockServer() as server, server.sandbox(now=NOW, given=GIVEN) as sandbox:
        for number in range(25):
            before.append(state_bytes(sandbox))
            sandbox.call("POST", "/v1/campaigns", json={"name": f"{number}", "platform": "chatapp", "templateId": "t", "cadence": 1})  # fmt: skip
            sandbox.advance("1m")
        file = stored(sandbox, tmp_path)
    served = opened(file)

    rows = served.ask("GET", "/_mock/checkpoints").json()["checkpoints"]
    served.ask("POST", f"/_mock/checkpoints/{rows[3]['checkpointId']}/restore")

    assert (["POST /v1/campaigns"] * 20, before[8]) == ([row["label"] for row in rows], served.state())


def test_what_is_served_answers_calls(tmp_path: Path, opened: Callable[..., Any]) -> None:
    with MockServer() as server, server.sandbox(now=NOW, given=GIVEN) as sandbox:
        campaigning(sandbox)
        key = sandbox.secret_key
        file = stored(sandbox, tmp_path)
    served = opened(file)

    listed = served.ask("GET", "/v1/campaigns", headers={"X-API-Key": key})
    advanced = served.ask("POST", "/_mock/clock/advance", data=json.dumps({"by": "1h"}))

    assert (200, 1, 200) == (listed.status_code, len(listed.json()["campaigns"]), advanced.status_code)
    assert any(line.strip() == f"secret key   {key}" for line in served.lines)
    assert served.lines[-1].startswith("The state is that of tests/test_it.py::test_it after GET /v1/campaigns")
    log = served.close()  # it has these two, and no call of those that were repeated
    assert ["GET /v1/campaigns", "POST /_mock/clock/advance"] == re.findall(r" 200 (\w+ \S+)", log)


def test_a_document_of_a_failed_test_is_served_too(tmp_path: Path, opened: Callable[..., Any]) -> None:
    file = tmp_path / "run.yaml"
    with MockServer() as server, server.sandbox(now=NOW, given=GIVEN) as sandbox:
        sandbox.call("GET", "/v1/campaigns")
        expected = state_bytes(sandbox)
        campaigning(sandbox)
        file.write_text(documents.dump(sandbox.log.replay_document()), encoding="utf-8")

    assert expected == opened(file, "--at", "1").state()


def refusal(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "mockserver", "open", "--port", "0", *arguments], check=False, capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS)  # fmt: skip
    assert 2 == done.returncode
    return done.stderr


@pytest.mark.parametrize("at", ["0", "3"])
@pytest.mark.parametrize("form", ["html", "yaml"])
def test_a_call_that_the_run_does_not_have_is_refused(tmp_path: Path, at: str, form: str) -> None:
    with MockServer() as server, server.sandbox(now=NOW) as sandbox:
        for _ in range(2):
            sandbox.call("GET", "/v1/campaigns")
        file = stored(sandbox, tmp_path)
        (tmp_path / "trace.yaml").write_text(documents.dump(sandbox.log.replay_document()), encoding="utf-8")

    assert f"mockserver: got call {at}; expected one from 1 to 2\n" == refusal(
        str(file.with_suffix(f".{form}")), "--at", at
    )


def test_another_page_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.html"
    file.write_text("<title>Other</title>", encoding="utf-8")

    assert "got a page without a trace; expected one that --mockserver-trace has written" in refusal(str(file))
