"""`mockserver open`: the state after a call of a traced run, served as a live mock."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.cli import main
from mockserver.cli import serve as serving
from mockserver.report.trace_page import render
from mockserver.scenario import documents
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.testing.backend import LocalBackend
from mockserver.testing.settings import Settings
from tests.test_cli_serve import Served
from tests.testing.test_replay import BODY, GIVEN, NOW, campaigning, visiting
from tests.testing.test_traces import run_of

Opened = Callable[..., Sandbox]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Return the sandbox that the command would serve."""
    made: list[HostedSandbox] = []

    def create_alone(*_: Any, create: Callable[[SandboxHost], HostedSandbox]) -> int:
        made.append(create(SandboxHost()))
        return 0

    def open_file(file: Path, *arguments: str) -> Sandbox:
        assert 0 == main(["open", str(file), *arguments])
        return Sandbox(LocalBackend(made[-1], lambda: None), Settings({}, {}))

    monkeypatch.setattr(serving, "serve", create_alone)
    return open_file


def state_bytes(sandbox: Sandbox) -> bytes:
    """The state as the control plane sends it."""
    return sandbox.call("GET", "/_mock/state", key="").body


def stored(sandbox: Sandbox, folder: Path) -> Path:
    file = folder / "trace.html"
    file.write_bytes(render(run_of(sandbox)))
    return file


def stored_document(sandbox: Sandbox, folder: Path) -> Path:
    file = folder / "run.yaml"
    file.write_text(documents.dump(sandbox.log.replay_document()), encoding="utf-8")
    return file


@pytest.fixture
def played() -> Iterator[Sandbox]:
    with MockServer() as server, server.sandbox(now=NOW, given=GIVEN) as sandbox:
        yield sandbox


@pytest.mark.parametrize("play", [campaigning, visiting])
def test_the_last_state_is_served_byte_for_byte(
    tmp_path: Path, played: Sandbox, opened: Opened, play: Callable[..., Any]
) -> None:
    play(played)

    assert state_bytes(played) == state_bytes(opened(stored(played, tmp_path)))


def test_what_is_served_can_go_back_to_each_of_the_last_calls(tmp_path: Path, played: Sandbox, opened: Opened) -> None:
    before = []
    for number in range(25):
        before.append(state_bytes(played))
        played.call("POST", "/v1/campaigns", json={**BODY, "name": f"{number}"})
        played.advance("1m")
    served = opened(stored(played, tmp_path))

    rows = served.call("GET", "/_mock/checkpoints").json()["checkpoints"]
    served.call("POST", f"/_mock/checkpoints/{rows[3]['checkpointId']}/restore")

    assert (["POST /v1/campaigns"] * 20, before[8]) == ([row["label"] for row in rows], state_bytes(served))


def test_what_is_served_answers_calls(tmp_path: Path, played: Sandbox) -> None:
    campaigning(played)
    with closing(Served(str(stored(played, tmp_path)), command="open")) as served:
        listed = served.ask("GET", "/v1/campaigns", key=played.secret_key)
        advanced = served.ask("POST", "/_mock/clock/advance", key=None, json={"by": "1h"})
        assert served.process.stdout is not None
        served.process.stdout.readline()
        state = served.process.stdout.readline()
        logged = re.findall(r" 200 (\w+ \S+)", "\n".join(served.log()))

    assert (200, 1, 200) == (listed.status_code, len(listed.json()["campaigns"]), advanced.status_code)
    assert f"secret key   {played.secret_key}\n" in served.greeting
    assert state.startswith("The state is that of tests/test_it.py::test_it after GET /v1/campaigns")
    assert ["GET /v1/campaigns", "POST /_mock/clock/advance"] == logged  # and no call of those that were repeated


def test_a_document_of_a_failed_test_is_served_too(tmp_path: Path, played: Sandbox, opened: Opened) -> None:
    played.call("GET", "/v1/campaigns")
    expected = state_bytes(played)
    campaigning(played)

    assert expected == state_bytes(opened(stored_document(played, tmp_path), "--at", "1"))


@pytest.mark.parametrize("at", ["0", "3"])
@pytest.mark.parametrize("store", [stored, stored_document])
def test_a_call_that_the_run_does_not_have_is_refused(
    tmp_path: Path, played: Sandbox, capsys: pytest.CaptureFixture[str], at: str, store: Callable[[Sandbox, Path], Path]
) -> None:
    for _ in range(2):
        played.call("GET", "/v1/campaigns")

    assert 2 == main(["open", str(store(played, tmp_path)), "--port", "0", "--at", at])
    assert f"mockserver: got call {at}; expected one from 1 to 2\n" == capsys.readouterr().err
