"""
What a rule of a scenario can do, each effect declared once: its row, and its Python method.

A wire effect changes one exchange (`wire`), a state effect changes the state (`state`), and a delivery effect changes one
attempt to deliver an event (`deliveries`). `schemas/scenario.json` has the schemas of the rows, which a command writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from mockserver._json import JSON
from mockserver.contract.effects import deliveries, state, wire
from mockserver.contract.effects.deliveries import FORGERIES
from mockserver.contract.effects.model import Effect, EffectGroup, Phase, WireFault

__all__ = [
    "DELIVERY",
    "EFFECTS",
    "FORGERIES",
    "GROUPS",
    "UNREADABLE",
    "WAITING",
    "WIRE_FAULTS",
    "WITHOUT_RESPONSE",
    "deciding",
    "of_group",
    "schema_properties",
]
DELIVERY: Final = "delivery"  # in `on`: the rule is about attempts to deliver an event

# fmt: off
GROUPS: Final = (
    EffectGroup("wire",     "on the wire",   "These change what the client receives, and when."),
    EffectGroup("state",    "on the state",  "These change the service itself: records, keys, settings, choices, time."),
    EffectGroup("delivery", "on deliveries", "This changes what a receiver of webhooks gets."),
)
# fmt: on
WIRE_FAULTS: Final[Mapping[str, WireFault]] = MappingProxyType({row.name: row for row in wire.ROWS})
EFFECTS: Final[Mapping[str, Effect]] = MappingProxyType(
    {row.name: row for row in (*wire.ROWS, *state.ROWS, *deliveries.ROWS)}
)

UNREADABLE: Final = frozenset(row.name for row in wire.ROWS if row.reaches_client == "other")
WITHOUT_RESPONSE: Final = frozenset(row.name for row in wire.ROWS if row.reaches_client == "nothing")
WAITING: Final = frozenset(row.name for row in wire.ROWS if row.keeps_waiting)


def of_group(group: str) -> tuple[str, ...]:
    """Return the names of a group's effects, in the order of the table."""
    return tuple(row.name for row in EFFECTS.values() if row.group == group)


def deciding(phase: Phase) -> tuple[str, ...]:
    """Return the names of the faults that decide a phase: a rule has one of them at most."""
    return tuple(row.name for row in wire.ROWS if phase in row.phases)


def schema_properties() -> Iterator[tuple[str, JSON]]:
    """Yield the name and JSON Schema of each effect, as schemas/scenario.json has them."""
    for row in EFFECTS.values():
        words = {"title": row.title, "description": row.sentence}
        yield row.name, {**words, **row.schema, **words} | ({"examples": list(row.examples)} if row.examples else {})
