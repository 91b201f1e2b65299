"""Faults change responses and their times, never the rules: the laws of the core under random scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.core.operations import sending
from tests.depth import at_depth
from tests.properties.playing import GIVEN, MOVES, NOON, Played, Player, last_states
from tests.properties.programs import programs
from tests.properties.scripts import scripts

PATIENCE_S = 30
DRAIN_US = 5_000_000  # an execution ends so much later than its campaign at most


class Shaken(Player):
    """A player whose calls may break, and who takes up nothing from an answer that cannot be read."""

    def do(self, command: Sequence[Any]) -> Played:
        """As a player's; a call or a wait that raises is a bug of the mock, where a control command may be refused."""
        if command[0] in ("fail", "end", "chat"):
            return super().do(command)
        verb, *arguments = command
        return Played(command, *getattr(self, f"_{verb}")(*arguments))

    def _script(self, script: list[JSON]) -> tuple[str, int, list[str]]:
        return "control", 200, self.sandbox.apply({"script": script})["rules"]

    def _call(self, kind: str, tenant: str, method: str, path: str, body: JSON | None = None) -> tuple[str, int, JSON]:
        try:
            reply = self.sandbox.call(method, path, key=self.keys[tenant], json=body, timeout=PATIENCE_S)
        except (OSError, HTTPException) as failure:
            return kind, 0, {"body": "", "broken": type(failure).__name__}
        return kind, reply.status, {"headers": dict(reply.headers), "body": reply.body.decode(errors="replace")}

    def _keep(self, kind: str, tenant: str, key: str, played: tuple[str, int, JSON]) -> tuple[str, int, JSON]:
        try:
            return super()._keep(kind, tenant, key, played)
        except (ValueError, KeyError, TypeError):
            return played


def shaken(script: list[JSON], seed: int = 0, profile: str = "literal") -> Shaken:
    sandbox = MockServer(strict=True).sandbox(seed=seed, now=NOON, given=GIVEN, profile=profile)
    sandbox.apply({"script": script})
    return Shaken(sandbox)


class Snapshot(NamedTuple):
    """The state of a sandbox: the records of each kind by id, and the sends of each execution."""

    now: int
    campaign: dict[str, Any]
    execution: dict[str, Any]
    session: dict[str, Any]
    counts: dict[str, sending.Counts]


def _snapshot(sandbox: Sandbox) -> Snapshot:
    """Read from the core itself, since the whole state as JSON after each call takes most of a run."""
    core = sandbox._hosted.sandbox
    tables = ("campaigns", "executions", "sessions")
    campaigns, executions, sessions = (
        {id: each for owner in core.tenants.values() for id, each in getattr(owner, table).items()} for table in tables
    )
    counts = {id: sending.counts(each.schedule, core.now) for id, each in executions.items()}
    return Snapshot(core.now, campaigns, executions, sessions, counts)


def _assert_laws(before: Snapshot, after: Snapshot) -> None:
    """Counts only grow within the target, what has ended stays, and a campaign has one execution at most."""
    assert before.now <= after.now
    for execution_id, counts in after.counts.items():
        earlier = before.counts.get(execution_id, counts)
        assert counts.sent + counts.failed <= counts.target == earlier.target
        assert earlier.sent <= counts.sent and earlier.failed <= counts.failed
    for kind in ("campaign", "execution", "session"):
        for id, was in getattr(before, kind).items():
            final = was.status not in MOVES[kind]
            assert not final or was.status == getattr(after, kind)[id].status
    assert all(len(each.execution_ids) <= 1 for each in after.campaign.values())


@pytest.mark.parametrize("profile", ["literal", "hostile"])
@settings(max_examples=at_depth(5, 400))  # 10,000 calls and more in the deep run
@given(programs(most=96), scripts(), scripts(), st.integers(2, 96), st.integers(0, 2**53 - 1))
def test_no_script_breaks_a_law_of_the_core(
    profile: str, program: list[list[Any]], script: list[JSON], later_script: list[JSON], later: int, seed: int
) -> None:
    player = shaken(script, seed, profile)
    before = _snapshot(player.sandbox)
    for command in [*program[:later], ["script", later_script], *program[later:], ["wait", DRAIN_US]]:
        ended = {each.id for each in before.campaign.values() if each.status not in MOVES["campaign"]}
        player.do(command)
        after = _snapshot(player.sandbox)
        _assert_laws(before, after)
        before = after
    lagging = [each for each in after.execution.values() if each.status == "processing"]
    assert [] == [each.id for each in lagging if each.campaign_id in ended]
    last_states(player.sandbox)


@given(programs(most=20), scripts(state=False))
def test_a_call_that_was_not_applied_has_changed_nothing(program: list[list[Any]], script: list[JSON]) -> None:
    player = shaken(script)
    before, seen = player.sandbox.state(), 0
    for command in program:
        player.do(command)
        after, exchanges = player.sandbox.state(), player.sandbox.log.journal["exchanges"]
        new, seen = exchanges[seen:], len(exchanges)
        if len(new) == 1 and not new[0]["applied"] and before["clock"] == after["clock"]:
            assert before["tenants"] == after["tenants"], command
        before = after


@given(programs(most=20), scripts(state=False))
def test_a_wire_fault_leaves_the_state_of_the_applied_calls(program: list[list[Any]], script: list[JSON]) -> None:
    """If no rule advances the clock, the state under faults is the state of the calls that took effect."""
    waits = {"delay", "delay-after", "dribble"}
    player = shaken([each for each in script if not waits & set(each["do"])])
    applied = []
    for command in program:
        known = len(player.sandbox.log.journal["exchanges"])
        ids = {key: list(value) for key, value in player.ids.items()}
        player.do(command)
        new = player.sandbox.log.journal["exchanges"][known:]
        if not new or new[0]["applied"]:
            applied.append((command, ids))
    calm = shaken([])
    for command, ids in applied:
        calm.ids = ids
        calm.do(command)

    assert player.sandbox.state()["tenants"] == calm.sandbox.state()["tenants"]


@given(programs(most=10), programs(most=10), programs(most=10), scripts())
def test_after_a_restore_the_script_continues_from_the_checkpoint(
    before: list[list[Any]], inside: list[list[Any]], after: list[list[Any]], script: list[JSON]
) -> None:
    script = [each for each in script if "rate-limit" not in each["do"]]  # budgets are not part of a checkpoint
    one, other = shaken(script), shaken(script)
    assert one.play(before) == other.play(before)
    ids = {key: list(value) for key, value in one.ids.items()}
    with one.sandbox.checkpoint():
        one.play(inside)
        one.sandbox.admin.remove_rules()
    one.ids, one.chats = ids, other.chats

    assert one.play(after) == other.play(after)
    assert one.sandbox.state() == other.sandbox.state()
    assert one.sandbox.log.journal == other.sandbox.log.journal


def _whole(seed: int, program: list[list[Any]], script: list[JSON]) -> str:
    player = shaken(script, seed)
    played = [each._asdict() for each in player.play(program)]
    return json.dumps([played, player.sandbox.log.journal, player.sandbox.state(), player.sandbox.events])


@given(st.integers(0, 2**53 - 1), programs(), scripts())
def test_the_same_seed_script_and_calls_give_the_same_bytes(
    seed: int, program: list[list[Any]], script: list[JSON]
) -> None:
    assert _whole(seed, program, script) == _whole(seed, program, script)
