"""In process a fault is what it is on a socket: the same exceptions, the same effects, the same words in the journal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.operations.world import DRAFT, GIVEN
from tests.testing.faults import EFFECTS, LONG_S, PAIRS, outcome, patience

OTHER = ("GET", "/v1/message-templates/template_coupon", None)


def _wait_until(holds: Callable[..., Any]) -> None:
    deadline = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.002)


def _left(sandbox: Sandbox) -> tuple[JSON, list[tuple[bool, JSON | None, int | None, str]]]:
    """What took effect, ids and instants included, less the clock: virtual waits move it and real ones do not."""
    state = sandbox.state()
    state.pop("clock")
    for tenant in state["tenants"]:
        for campaign in tenant["campaigns"]:
            campaign.pop("createdAt")
    exchanges = [
        (each["applied"], each["fault"], (each["response"] or {}).get("status"), each["operation"])
        for each in sandbox.log.journal["exchanges"]
    ]
    return state, exchanges


def _play(
    server: MockServer, ask_by: Callable[..., Any], effect: str, request: tuple[str, str, JSON | None]
) -> tuple[
    list[tuple[bytes | int | type[Exception], ...]], tuple[JSON, list[tuple[bool, JSON | None, int | None, str]]]
]:
    with server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z", seed=3) as sandbox:
        sandbox.apply({"script": [{"on": "*", "nth": 2, "do": EFFECTS[effect]}]})
        plain = ask_by(sandbox, LONG_S)
        outcomes = [outcome(plain, *OTHER), outcome(ask_by(sandbox, patience(effect)), *request)]
        sandbox.advance(1)  # a call whose client of this process has given up arrives
        # On the socket it arrives late, and its response is not received.
        gives_up = effect.startswith("delay") and "beyond" in effect
        _wait_until(lambda: _is_recorded(sandbox, gives_up))
        return [*outcomes, outcome(plain, *OTHER)], _left(sandbox)


def _is_recorded(sandbox: Sandbox, gives_up: bool) -> bool:
    exchanges = sandbox.log.journal["exchanges"]
    return len(exchanges) == 2 and (not gives_up or exchanges[1]["response"] is None)


REQUESTS = {"POST": ("POST", "/v1/campaigns", DRAFT), "GET": ("GET", "/v1/campaigns/filters/schema", None)}


@pytest.mark.parametrize("first", ["POST", pytest.param("GET", marks=pytest.mark.deep)])
@pytest.mark.parametrize("client", PAIRS)
def test_both_transports_raise_the_same_and_leave_the_same_state(
    mockserver_server: MockServer, client: str, first: str
) -> None:
    """The effects take the two requests in turn; the deep run swaps them."""
    turns = (REQUESTS[first], *(request for name, request in REQUESTS.items() if name != first))

    played = {
        effect: [_play(mockserver_server, way, effect, turns[number % 2]) for way in PAIRS[client]]
        for number, effect in enumerate(EFFECTS)
    }

    assert {} == {effect: both for effect, both in played.items() if both[0] != both[1]}
