"""Careful clients in a machine: behaviour that no invariant may report, each next to the bug that resembles it."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.testing.machine import INVARIANTS, GatewayMachine, InvariantError
from tests.clients.operations import SESSIONS


class Plain(GatewayMachine):
    invariants = tuple(INVARIANTS)
    given = {  # noqa: RUF012 - seed data, never changed
        "templates": [{"id": "template_t", "name": "T"}],
        "chats": [{"id": f"chat_{n}"} for n in range(9)],
    }

    def create(self, name: str) -> Any:
        body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 1}
        return self.sandbox.call("POST", "/v1/campaigns", json=body)

    def start(self, made: Any) -> str:
        path = f"/v1/campaigns/{made.json()['campaignId']}"
        return f"{path}/executions/{self.sandbox.call('POST', f'{path}/start').json()['executionId']}"

    def launch(self, name: str) -> str:
        return self.start(self.create(name))

    def read(self, path: str) -> Any:
        return self.sandbox.call("GET", path)

    def step(self) -> None:
        """The end of a rule, as Hypothesis has it."""
        if self._is_broken():
            self.client_keeps_its_invariants()


@pytest.fixture
def machine() -> Any:
    made = Plain()
    yield made
    made.teardown()


def lose(machine: Plain, operation: str, when: str, times: int = 1) -> None:
    machine.inject_fault({"on": operation, "skip": 0, "times": times, "do": {"drop": when}})


def test_two_steps_that_launch_the_same_are_intended(machine: Plain) -> None:
    for name in ("Natal", "Carnaval"):
        machine.launch(name)
        machine.step()
    machine.sandbox.advance("1h")
    machine.step()

    assert 2 == len(machine.sandbox.ledger.executions)


def test_one_step_that_launches_the_same_twice_is_a_duplicate(machine: Plain) -> None:
    machine.launch("Natal")
    machine.launch("Carnaval")

    with pytest.raises(InvariantError, match="no-duplicate-execution"):
        machine.step()


def test_the_sends_of_one_step_that_launched_twice_are_duplicates() -> None:
    machine: Any = type("Sends", (Plain,), {"invariants": ("no-duplicate-send",)})()
    machine.launch("Natal")
    machine.launch("Carnaval")

    with pytest.raises(InvariantError, match="no-duplicate-send"):
        machine.step()
    machine.teardown()


def test_sessions_whose_answers_were_lost_make_no_storm(machine: Plain) -> None:
    lose(machine, "createConnectionSession", "after", times=3)
    for wait in (1, 2, 4):
        with pytest.raises(OSError):
            machine.sandbox.call("POST", SESSIONS, json={}, timeout=5)
        machine.sleep(wait)
    machine.sandbox.call("POST", SESSIONS, json={})

    machine.step()


def test_a_session_after_each_created_one_is_a_storm() -> None:
    machine: Any = type("Storm", (Plain,), {"invariants": ("no-session-storm",)})()
    for _ in range(3):
        machine.sandbox.call("POST", SESSIONS, json={})
        machine.sleep(2)

    with pytest.raises(InvariantError, match="one step created 3 connection sessions"):
        machine.step()
    machine.teardown()


def test_a_read_delayed_by_a_fault_is_not_too_fast(machine: Plain) -> None:
    path = f"{SESSIONS}/{machine.sandbox.call('POST', SESSIONS, json={}).json()['sessionId']}"
    machine.step()
    late = {"on": "readConnectionSession", "skip": 0, "times": 1, "do": {"delay": 30}}
    machine.inject_fault(late)
    with pytest.raises(TimeoutError):
        machine.sandbox.call("GET", path, timeout=9)
    for wait in (5, 5, 5, 5, 5):
        machine.sleep(wait)
        machine.read(path)

    machine.step()
    assert 7 == len(machine.sandbox.calls("*"))


def test_a_create_delayed_by_a_fault_is_not_a_blind_retry(machine: Plain) -> None:
    """The campaign is searched for and not found, created again, and then both exist."""
    machine.inject_fault({"on": "createCampaign", "skip": 0, "times": 2, "do": {"delay": 54}})
    for _ in range(2):
        with pytest.raises(TimeoutError):
            machine.sandbox.call("POST", "/v1/campaigns", json={"name": "Natal"}, timeout=20)
        assert [] == machine.read("/v1/campaigns").json()["campaigns"]
    machine.sleep(60)

    machine.step()
    assert 2 == len(machine.sandbox.calls("createCampaign"))


def test_starts_delayed_by_a_fault_are_not_blind_restarts(machine: Plain) -> None:
    made = machine.create("Natal")
    path = f"/v1/campaigns/{made.json()['campaignId']}"
    machine.inject_fault({"on": "startCampaign", "skip": 0, "times": 2, "do": {"delay": 54}})
    for _ in range(2):
        with pytest.raises(TimeoutError):
            machine.sandbox.call("POST", f"{path}/start", timeout=20)
        assert "draft" == machine.read(path).json()["status"]
    machine.sleep(60)

    machine.step()
    assert 2 == len(machine.sandbox.calls("startCampaign"))
    assert not machine.sandbox.conduct
