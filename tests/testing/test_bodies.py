"""Types: bodies as the schemas have them, `calls` typed by operation, and a user's test that mypy accepts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_overloads, get_type_hints

import pytest

from mockserver.contract.endpoints import OPERATIONS
from mockserver.testing import bodies, call_log
from mockserver.testing.call_log import CallLog
from mockserver.testing.calls import Calls
from tests.testing.typed_bodies import HOME, modules, names

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", modules())
def test_the_bodies_are_those_of_the_schemas(name: str) -> None:
    assert ast.dump(ast.parse(modules()[name])) == ast.dump(ast.parse((HOME / name).read_text(encoding="utf-8")))


def test_every_body_of_an_operation_has_its_name_in_the_package() -> None:
    wanted = {name for pair in names().values() for name in pair} - {"None", "Any"}

    assert wanted == set(bodies.__all__)


def test_calls_are_typed_by_operation() -> None:
    space = {**vars(call_log), "bodies": bodies}
    found = {}
    for overload in get_overloads(CallLog.__call__):
        hints = get_type_hints(overload, space)
        if get_origin(hints["operation"]) is Literal:
            assert Calls is get_origin(hints["return"])
            found[get_args(hints["operation"])[0]] = get_args(hints["return"])

    kinds: dict[str, Any] = {"None": None, "Any": Any}
    assert {
        operation: tuple(kinds[name] if name in kinds else getattr(bodies, name) for name in pair)
        for operation, pair in names().items()
    } == found
    assert set(OPERATIONS) == set(found)


USER = """
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from mockserver import MockServer, Sandbox
from mockserver.testing.machine import GatewayMachine


class Waiting:
    def __init__(self, sleep: Callable[[float], None], sleep_async: Callable[[float], Awaitable[None]]) -> None:
        self.sleep, self.sleep_async = sleep, sleep_async


class Launches(GatewayMachine):
    invariants = ("reads-before-restart", "polls-gently")
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
    campaign: str = call.answer["campaignId"]
    status: Literal["draft"] = call.answer["status"]
    first: str = mockserver.calls("listCampaigns")[0].answer["campaigns"][0]["name"]
    number: int = mockserver.calls("previewAudience").last.answer["estimatedCount"]
    nothing: None = mockserver.calls("cancelCampaign").one().answer
    mockserver.assert_order("createCampaign", "startCampaign", exact=True)
    with mockserver.calls.expecting("startCampaign", times=2, within="5m"):
        pass
    assert mockserver.wait_for("startCampaign", timeout=2).last.status == 202
    worst: str = mockserver.conduct[0].advice
    Waiting(mockserver.sleep, mockserver.aio.sleep)
    mockserver.on("startCampaign").nth(1).may_fire().drop("after")
    mockserver.on("POST /v1/campaigns/{id}/start").error("INTERNAL_ERROR")
    mockserver.on("*").garble()
    mockserver.on("delivery").deliver(lose=True)
    assert len(mockserver.calls("*")) == len(mockserver.calls("GET /v1/campaigns"))
    mockserver.assert_order("*", "GET /v1/campaigns/{id}")
    mockserver.advance(minutes=3, seconds=0.5)
    mockserver.advance("3m")
    with mockserver_server.sandbox(seed=3) as other:
        assert other.id and name and campaign and status and first and number and worst and nothing is None
"""
WRONG = """
from mockserver import Sandbox


def test_mine(mockserver: Sandbox) -> None:
    mockserver.calls("createCampaign").one().body["nme"]
    mockserver.calls("createCampaign").one().answer["campaign"]
    mockserver.assert_order("createCampain")
    with mockserver.calls.expecting("startCampain"):
        pass
    mockserver.conduct[0].advise
    mockserver.on("startCampagn")
    mockserver.on("GET /v1/campaign")
    mockserver.on("deliveries")
    mockserver.calls("startCampagn")
    mockserver.wait_for("startCampagn")
    mockserver.advance(minuets=3)
    mockserver.advance(minutes="3")


async def test_async(mockserver: Sandbox) -> None:
    await mockserver.aio.advance(minuets=3)
    await mockserver.aio.wait_for("startCampagn")
"""
WRONG_LINES = (*range(6, 10), *range(11, 19), 22, 23)


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
