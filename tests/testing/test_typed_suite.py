"""Types: a user's test that mypy accepts, and another with errors that it reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


USER = """
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from mockserver import MockServer, Sandbox
from mockserver.testing.machine import GatewayMachine


class Waiting:
    def __init__(self, sleep: Callable[[float], None], sleep_async: Callable[[float], Awaitable[None]]) -> None:
        self.sleep, self.sleep_async = sleep, sleep_async


class Launches(GatewayMachine):
    conduct = ("duplicate-start", "poll-too-fast")
    faults = ("drop-after",)
    fault_operations = ("startCampaign",)
    choices = {"dual-status": "guide"}

    def make_client(self) -> Sandbox:
        return self.sandbox

    @rule(name=st.sampled_from(["Natal", "Carnaval"]))
    def launch(self, name: str) -> None:
        self.client.call("POST", "/v1/campaigns", json={"name": name})
        Waiting(self.sleep, self.sleep_async)


def test_launches(mockserver_server: MockServer) -> None:
    Launches.check(mockserver_server)


@pytest.mark.mockserver(scenario="demo", choices={"dual-status": "guide"}, seed=7)
def test_mine(mockserver: Sandbox, mockserver_server: MockServer) -> None:
    call = mockserver.calls("createCampaign").where(name="promo").one()
    name: str = call.body["name"]
    status: int | None = mockserver.calls("previewAudience").last.status
    mockserver.calls.assert_order("createCampaign", "startCampaign", exact=True)
    assert mockserver.calls.wait_for("startCampaign", times=2, within="5m")
    assert mockserver.calls.wait_for("startCampaign", timeout=2).last.status == 202
    worst: str = mockserver.conduct[0].advice
    Waiting(mockserver.sleep, mockserver.aio.sleep)
    mockserver.on("startCampaign").nth(1).may_fire().drop("after")
    mockserver.on("POST /v1/campaigns/{id}/start").error("INTERNAL_ERROR")
    mockserver.on("*").garble()
    mockserver.on("delivery").deliver(lose=True)
    assert len(mockserver.calls("*")) == len(mockserver.calls("GET /v1/campaigns"))
    mockserver.calls.assert_order("*", "GET /v1/campaigns/{id}")
    mockserver.advance(minutes=3, seconds=0.5)
    mockserver.advance("3m")
    with mockserver_server.sandbox(seed=3) as other:
        assert other.id and name and status and worst
"""
WRONG = """
from mockserver import Sandbox


def test_mine(mockserver: Sandbox) -> None:
    mockserver.calls("createCampaign").one().boddy
    mockserver.calls.assert_order("createCampain")
    mockserver.conduct[0].advise
    mockserver.on("startCampagn")
    mockserver.on("GET /v1/campaign")
    mockserver.on("deliveries")
    mockserver.calls("startCampagn")
    mockserver.calls.wait_for("startCampagn")
    mockserver.advance(minuets=3)
    mockserver.advance(minutes="3")


async def test_async(mockserver: Sandbox) -> None:
    await mockserver.aio.advance(minuets=3)
    await mockserver.aio.call("GET", "/", timout=1)
"""
WRONG_LINES = (*range(6, 16), 19, 20)


@pytest.mark.deep
def test_mypy_accepts_a_correct_test_and_reports_the_errors_of_another(tmp_path: Path) -> None:
    (tmp_path / "test_right.py").write_text(USER, encoding="utf-8")
    (tmp_path / "test_wrong.py").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]

    found = subprocess.run(
        [*command, "test_right.py", "test_wrong.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    lines = [each.partition(": error:")[0] for each in found.stdout.splitlines() if ": error:" in each]
    assert [f"test_wrong.py:{number}" for number in WRONG_LINES] == list(dict.fromkeys(lines)), found.stdout
