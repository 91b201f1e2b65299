"""The laws of the core, each over random programs of calls, control commands and waits, under the default choices."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer
from mockserver._json import JSON
from tests.properties.playing import GIVEN, NOON, TENANTS, Played, Player, whole, world
from tests.properties.programs import programs


def _answers_of(played: list[Played]) -> list[tuple[int | None, Any]]:
    """The answers of the commands, without the waits."""
    return [(each.status, each.answer) for each in played if each.kind != "wait"]


def _fired(played: list[Played]) -> list[JSON]:
    return [each for one in played if one.kind == "wait" for each in one.answer]


def _world(player: Player) -> str:
    return json.dumps(player.sandbox.state())


@given(programs(), st.data())
def test_many_small_waits_equal_one_long_wait(program: list[list[Any]], data: st.DataObject) -> None:
    small = []
    for command in program:
        if command[0] != "wait":
            small.append(command)
            continue
        cuts = sorted(data.draw(st.lists(st.integers(0, command[1]), max_size=3)))
        small += [["wait", end - begin] for begin, end in pairwise([0, *cuts, command[1]])]
    with world() as one, world() as other:
        long_waits, small_waits = one.play(program), other.play(small)

        assert _answers_of(long_waits) == _answers_of(small_waits)
        assert _fired(long_waits) == _fired(small_waits)
        assert _world(one) == _world(other)
        assert one.sandbox.log.journal == other.sandbox.log.journal


@given(programs())
def test_a_refused_call_changes_nothing_but_the_journal(program: list[list[Any]]) -> None:
    with world() as player:
        before = _world(player)
        for command in program:
            refused, now = player.do(command).is_refused, _world(player)
            assert not refused or before == now, command
            before = now


@given(programs())
def test_refused_calls_do_not_affect_later_responses(program: list[list[Any]]) -> None:
    _without_matters_not(program, lambda played: played.is_refused)


@given(programs())
def test_reading_never_changes_what_any_later_call_answers(program: list[list[Any]]) -> None:
    _without_matters_not(program, lambda played: played.kind == "read")


# One more of everything that is made, so that whatever moved an id, a number or a queue on the way is seen.
EPILOGUE = [
    command
    for each in TENANTS
    for command in (
        ["create", each, "internal", {"name": "Last", "platform": "chatapp", "cadence": 60}],
        ["start", each, each, -1, {}],
        ["connect", each, {}],
        ["end", each, -1, None],
    )
]


def _without_matters_not(program: list[list[Any]], is_left_out: Callable[..., Any]) -> None:
    """The program answers the same, ids included, where some of its commands are left out."""
    with world() as one, world() as other:
        kept = [played for played in one.play([*program, *EPILOGUE]) if not is_left_out(played)]
        again = other.play([played.command for played in kept])

        assert kept == again
        assert _world(one) == _world(other)
        assert [one.survey(each) for each in TENANTS] == [other.survey(each) for each in TENANTS]


EVERY_VERB: list[list[Any]] = [
    ["create", "tenant_default", "official", {"name": "A", "platform": "chatapp", "cadence": 7}],
    ["create", "tenant_other", "asking", {"name": "A", "platform": "photoapp", "cadence": 4800}],
    ["create", "tenant_default", "internal", {"name": "A", "platform": "chatapp", "cadence": 1}],
    ["connect", "tenant_default", {"coexistence": True}],
    ["connect", "tenant_other", {}],
    ["connect", "tenant_other", {}],
    ["start", "tenant_default", "tenant_default", 0, {}],
    ["start", "tenant_other", "tenant_other", 0, {"commonVariables": {"var1": "DEZ"}}],
    ["preview", "tenant_other", {}],
    ["wait", 8_571_429],
    ["chat", "tenant_default", "chatapp"],
    ["read", "tenant_default", "tenant_default", "messages", 0],
    ["end", "tenant_default", 0, "+5511900000000"],
    ["end", "tenant_other", 0, "+5511900000000"],
    ["fail", "tenant_default", 0],
    ["cancel", "tenant_other", "tenant_other", 0],
    ["wait", 1_200_000_000],
    ["read", "tenant_other", "tenant_other", "session", 1],
]


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_another_process_gives_the_same_bytes(hash_seed: str) -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.properties.playing"],
        input=json.dumps([7, EVERY_VERB]),
        capture_output=True,
        encoding="utf-8",
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
        timeout=60,
        check=True,
    )

    assert json.dumps(whole(7, EVERY_VERB)) == ran.stdout


@given(programs(), programs())
def test_two_sandboxes_of_one_server_never_see_each_other(
    program: list[list[Any]], neighbours: list[list[Any]]
) -> None:
    server = MockServer(strict=True)
    with (
        world() as alone,
        server.sandbox(now=NOON, given=GIVEN) as first,
        server.sandbox(now=NOON, given=GIVEN) as second,
    ):
        one, other = Player(first), Player(second)
        played = []
        for number in range(max(len(program), len(neighbours))):
            played += one.play(program[number : number + 1])
            other.play(neighbours[number : number + 1])

        assert alone.play(program) == played
        assert alone.sandbox.state() == first.state()
        assert alone.sandbox.log.journal == first.log.journal
    server.close()


DRAWN = re.compile(
    r"\b(campaign|execution|connection_session|entrypoint|message)_[a-z0-9]{20}\b|connect/\w+|\b\d{15}\b"
)


def _known_by_order(bodies: list[Any]) -> str:
    """Drawn ids, tokens and numbers named by the order of their first appearance, which no other tenant moves."""
    names: dict[str, Any] = {}
    return DRAWN.sub(lambda found: f"<{found[1]} {names.setdefault(found[0], len(names))}>", json.dumps(bodies))


def _body(played: Played) -> tuple[int | None, str | None]:
    """Status and body alone: a refused control command names what there is, whosever it is."""
    return played.status, played.answer["body"] if played.kind in ("call", "read") else None


@given(programs())
def test_two_tenants_of_one_sandbox_never_see_each_other(program: list[list[Any]]) -> None:
    mine, theirs = TENANTS
    with world() as one, world() as other:
        played = [each for each in one.play(program) if theirs not in each.command[1:2]]
        alone = other.play([each.command for each in played])

        bodies, bodies_alone = ([_body(each) for each in run if each.kind != "wait"] for run in (played, alone))
        assert _known_by_order(bodies) == _known_by_order(bodies_alone)
        assert _known_by_order(list(one.survey(mine).values())) == _known_by_order(list(other.survey(mine).values()))
