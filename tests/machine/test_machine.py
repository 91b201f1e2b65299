"""The machine: its actors, the rules of conduct by name, and the ways to run it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import Phase, settings

from mockserver import MockServer, Sandbox
from mockserver.testing.machine import FAULTS, ConductError, GatewayMachine
from mockserver.testing.machine.faults import drawn
from tests.harness.rows import each_row
from tests.machine.campaigns import Campaigns, with_bug
from tests.machine.steady import STEADY, generate_one

FEW = settings(STEADY, max_examples=15, stateful_step_count=10)
LOST = {"on": "startCampaign", "skip": 0, "times": 1, "do": {"drop": "after"}}


def played(bug: str | None = None, **attributes: Any) -> Campaigns:
    """A machine whose steps the test calls itself, on a server of its own."""
    made: Campaigns = type("Campaigns", (with_bug(bug),), attributes)()
    return made


def lived(machine: Campaigns) -> None:
    """A little of everything: faults, people, time and the client."""
    machine.inject_fault({"on": "readConnectionSession", "skip": 1, "times": 2, "do": {"error": "INTERNAL_ERROR"}})
    machine.connect()
    machine.time_passes(1.5)
    machine.inject_fault(LOST)
    machine.launch(60)
    machine.operator_acts({"given": {"chats": [{"platform": "chatapp"}]}})
    machine.end_user_acts(machine.sessions[0], {"complete-session": {"phone": "+5511900000001"}})
    machine.await_connection(machine.sessions[0])
    machine.operator_acts({"set-tenant": {"subscription": "suspended"}})
    machine.launch(60)


def calls(machine: Campaigns) -> list[Any]:
    """The fault of each call, from the first of the example on."""
    exchanges = machine.sandbox.log.journal["exchanges"]
    return [(each["operation"], each["at"], each["response"] and each["response"]["status"]) for each in exchanges]


def test_the_careful_client_breaks_no_rule(mockserver_server: MockServer) -> None:
    Campaigns.check(mockserver_server, settings=FEW)


def test_a_failing_example_is_reported_with_its_calls(mockserver_server: MockServer) -> None:
    machine: Any = type("Mine", (with_bug("lost-filters"),), {"faults": (), "operator": False})

    with pytest.raises(
        ConductError,
        match=r"^lost-filters, severity 1 .*: campaign .* after a preview with filters \(calls #\d+, #\d+, #\d+\)\n",
    ) as violation:
        machine.check(mockserver_server, settings=settings(FEW, max_examples=50, report_multiple_bugs=False))

    sandbox = mockserver_server.made[-1]
    assert " previewAudience POST " in sandbox.report(violation.value)
    assert " previewAudience POST " not in sandbox.report()


@pytest.mark.parametrize(
    "actor", ["time", *(pytest.param(actor, marks=pytest.mark.deep) for actor in ("end_user", "operator"))]
)
def test_an_actor_that_is_switched_off_does_nothing(
    mockserver_server: MockServer, monkeypatch: pytest.MonkeyPatch, actor: str
) -> None:
    happened: list[str] = []
    machine = type("Quiet", (Campaigns,), {actor: False})
    advance = Sandbox.advance

    def advanced(sandbox: Sandbox, seconds: float) -> None:
        happened.extend(["advance"] if seconds else [])
        advance(sandbox, seconds)

    class Watching(machine):  # type: ignore[misc, valid-type]
        def apply_effects(self, effects: Mapping[str, Any]) -> None:
            happened.extend(effects)
            super().apply_effects(effects)

    monkeypatch.setattr(Sandbox, "advance", advanced)

    Watching.check(mockserver_server, settings=settings(FEW, max_examples=40, phases=[Phase.generate]))

    off = {"time": {"advance"}, "operator": {"set-tenant", "set-template", "given"}}
    off["end_user"] = {"cancel-session", "expire-session"}
    assert happened
    assert set() == off[actor] & set(happened)


def test_no_faults_means_no_faults(mockserver_server: MockServer) -> None:
    class Calm(Campaigns):
        faults = ()

        def teardown(self) -> None:
            assert [] == self.sandbox.rules
            super().teardown()

    Calm.check(mockserver_server, settings=FEW)


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"conduct": ("duplicate-starts",)}, "got 'duplicate-starts'; expected a rule of conduct that one run shows; did you mean 'duplicate-start'?"),
        ({"conduct": ("match-on-message",)}, "got 'match-on-message'; expected a rule of conduct that one run shows"),
        ({"faults": ("drop-afer",)}, "got 'drop-afer'; expected a fault; did you mean 'drop-after'?"),
        ({"fault_operations": ("startCampain",)}, "got 'startCampain'; expected an operation; did you mean 'startCampaign'?"),
        ({"varied": ("dual-statu",)}, "got 'dual-statu'; expected a choice or a family; did you mean 'dual-status'?"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_the_closest_match(attributes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        type("Misspelt", (GatewayMachine,), attributes)


def test_a_text_in_place_of_the_ids_of_rules_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a tuple of ids, such as \\('duplicate-start',\\)"):
        type("Misspelt", (GatewayMachine,), {"conduct": "duplicate-start"})


def test_the_end_of_an_example_names_the_rule_the_calls_and_the_advice() -> None:
    machine = played("duplicate-start")
    machine.inject_fault(LOST)
    machine.launch(60)

    with pytest.raises(ConductError) as broken:
        machine.teardown()

    first, clause, advice = str(broken.value).splitlines()
    assert first.startswith("duplicate-start, severity 1 (money, spam or security): campaign ")
    assert first.endswith("after a start without an answer, which had taken effect (calls #5, #6)")
    assert clause.startswith("  breaks ")
    assert advice.startswith("  advice: ")


def test_a_rule_that_the_machine_does_not_name_fails_no_example() -> None:
    machine = played("duplicate-start", conduct=("poll-too-fast",))
    machine.inject_fault(LOST)
    machine.launch(60)

    machine.teardown()


def test_waiting_without_end_is_a_violation() -> None:
    machine = played(waits_at_most=3)

    with pytest.raises(AssertionError, match="^the client waited 3 times in one step"):
        for _ in range(4):
            machine.sleep(1)


def test_a_client_may_await_its_waits_which_count_as_well() -> None:
    machine = played(waits_at_most=2)
    before = machine.sandbox.now

    async def wait(times: int) -> None:
        for _ in range(times):
            assert None is await machine.sleep_async(60)

    asyncio.run(wait(2))
    assert 120 == (machine.sandbox.now - before).total_seconds()
    with pytest.raises(AssertionError, match="^the client waited 2 times in one step"):
        asyncio.run(wait(1))


def test_every_fault_has_a_description() -> None:
    assert all(row.meaning and row.operations for row in FAULTS.values())


@each_row("name", sorted(FAULTS))
def test_every_fault_applies_at_its_operations(mockserver_server: MockServer, name: str) -> None:
    with mockserver_server.sandbox() as sandbox:
        for operation in FAULTS[name].operations:
            strategy = drawn([name], [operation])
            assert strategy is not None
            entry = generate_one(strategy)
            assert operation == entry["on"]
            assert sandbox.apply({"script": [entry]})["rules"]
