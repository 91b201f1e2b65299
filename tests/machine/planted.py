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

# What each bug does, by its name.
BUGS: Mapping[str, str] = MappingProxyType(
    {bug: str(planter.__doc__) for bug, planter in (*planted.BUGS.items(), *planted_receivers.BUGS.items())}
)

# How each bug shows: the invariants that it may break first, or the words of the machine's own assertion.
SHOWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "duplicate-start": ("reads-before-restart",),
        "clone-after-conflict": ("no-clone", "no-restart-of-ended"),
        "rename-after-lost-create": ("no-clone",),
        "blind-retry": ("no-blind-retry", "reads-before-restart"),
        "only-200-is-ok": ("no-repeat-after-success", "no-session-storm"),
        "lost-filters": ("no-start-without-filters",),
        "platform-is-audience": ("audience-on-platform",),
        "poll-after-final": ("no-poll-after-final",),
        "page-early-stop": ("reads-all-pages",),
        "json-on-204": ("no-repeat-after-success",),
        "message-matched": ("a refusal was misread",),
        "status-matched": ("a refusal was misread",),
        "ignore-retry-after": ("heeds-retry-after",),
        "retry-hopeless": ("no-hopeless-retry",),
        "session-storm": ("no-session-storm",),
        "waits-only-for-completed": ("no-poll-after-final", "no-endless-wait"),
        "cadence-unit": ("cadence-in-reach",),
        "restart-ended": ("no-restart-of-ended",),
        "key-in-query": ("secrets-unseen",),
        "poll-too-fast": ("polls-gently",),
        "cancel-and-forget": ("cancels-until-sure",),
        "wrong-variable-keys": ("known-variables",),
        "naive-dates": ("dates-with-offset",),
        "no-dedupe": ("an event was taken for two",),
        "forged-accepted": ("a forged event was accepted",),
        "late-event-overwrites": ("a late event of an old session overwrote the new",),
    }
)
assert list(BUGS) == list(SHOWS)

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
    """Run its machine around a client with this bug, every invariant on."""
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
