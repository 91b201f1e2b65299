"""The seeded bugs: how each shows, and a run of the machine that finds it, with its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hypothesis import Phase, settings

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.testing.machine import GatewayMachine
from tests.clients import planted, planted_receivers
from tests.machine.campaigns import Campaigns
from tests.machine.receiving import Receiving
from tests.machine.steady import STEADY

# How each bug shows: the rules of conduct that it may break, or the words of the machine's own assertion.
SHOWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "duplicate-start": ("duplicate-start",),
        "clone-after-conflict": ("clone-after-conflict",),
        "blind-retry": ("blind-post-retry", "duplicate-start"),
        "only-200-is-ok": ("only-200-is-ok",),
        "lost-filters": ("lost-filters",),
        "platform-is-audience": ("platform-used-as-audience",),
        "page-early-stop": ("page-early-stop",),
        "message-matched": ("a refusal was misread",),
        "status-matched": ("a refusal was misread",),
        "ignore-retry-after": ("ignore-retry-after",),
        "waits-only-for-completed": ("the client waited 50 times in one step",),
        "cadence-unit": ("cadence-units",),
        "restart-ended": ("restart-canceled",),
        "key-in-query": ("key-in-wrong-place",),
        "poll-too-fast": ("poll-too-fast", "the client waited 50 times in one step"),
        "cancel-and-forget": ("cancel-and-forget",),
        "wrong-variable-keys": ("wrong-variable-keys",),
        "naive-dates": ("naive-dates",),
        "no-dedupe": ("an event was taken for two",),
        "forged-accepted": ("a forged event was accepted",),
        "late-event-overwrites": ("a late event of an old session overwrote the new",),
    }
)
# Those that a careful client seems to have too if its user repeats a step, and one that few examples prove.
NOT_HUNTED = ("poll-after-final", "json-on-204", "retry-hopeless", "session-storm", "rename-after-lost-create")
assert {*planted.BUGS, *planted_receivers.BUGS} == {*SHOWS, *NOT_HUNTED}

ROUNDS = settings(
    STEADY,
    max_examples=400,
    stateful_step_count=20,
    report_multiple_bugs=False,
    print_blob=False,
    phases=(Phase.generate, Phase.shrink),
)


class Found(NamedTuple):
    """Result of a run: the failure or None, the number of examples, and the faults of the last one."""

    failure: Exception | None
    examples: int
    faults: list[JSON]


def fired(sandbox: Sandbox) -> list[JSON]:
    """Return the calls and the attempts to deliver that a fault has changed, by their numbers among those of one operation."""
    counts: Counter[str | None] = Counter()
    found: list[JSON] = []
    for call in sandbox.log.exchanges:
        counts[call.operation] += 1
        if call.fault:
            found.append({"on": call.operation, "nth": counts[call.operation]})
    attempts = [
        attempt for event in sandbox.events for delivery in event["deliveries"] for attempt in delivery["attempts"]
    ]
    found += [{"on": "delivery", "nth": number} for number, row in enumerate(attempts, 1) if "fault" in row]
    return found


def hunt(
    server: MockServer, bug: str | None, rounds: settings = ROUNDS, machine: type[GatewayMachine] | None = None
) -> Found:
    """Run its machine around a client with this bug, with its rules of conduct."""
    base: Any = machine or (Receiving if bug in planted_receivers.BUGS else Campaigns)
    counts: dict[str, Any] = {"made": 0, "faults": []}

    class Hunting(base):  # type: ignore[misc]
        def make_client(self) -> Any:
            counts["made"] += 1
            return super().make_client()

        def teardown(self) -> None:
            counts["faults"] = fired(self.sandbox)
            super().teardown()

    Hunting.bug = bug
    failure: Exception | None = None
    try:
        Hunting.check(server, settings=rounds)
    except Exception as raised:  # noqa: BLE001 - any error of the client or the machine
        failure = raised
    return Found(failure=failure, examples=counts["made"], faults=counts["faults"])
