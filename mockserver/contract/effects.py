"""
Effects of a scenario's rules: one row per effect, and the other names of some.

A wire effect changes one exchange (`contract/wire_faults.py` has these rows), a state effect changes the state, and a
delivery effect changes one attempt to deliver an event. `schemas/scenario.json` has each effect's argument: of the wire
as these rows generate it, of the rest as written there; a test compares the names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.wire_faults import WIRE_FAULTS, Phase

DELIVERY = "delivery"  # in `on`: the rule is about attempts to deliver an event


class Effect(NamedTuple):
    """One effect: its group, its argument's form as the documentation shows it, and its meaning in one clause."""

    name: str
    group: Literal["wire", "state", "delivery"]
    argument: str
    meaning: str


# fmt: off
_ROWS = (
    Effect("complete-session", "state", "{id?, phone?, name?}",                "the end user finishes the hosted flow"),
    Effect("fail-session",     "state", "{id?, reason?}",                      "the connection fails"),
    Effect("expire-session",   "state", "{id?}",                               "the session expires, also before its deadline"),
    Effect("cancel-session",   "state", "{id?}",                               "the end user cancels the hosted flow"),
    Effect("visit-link",       "state", "{id?, userAgent?}",                   "somebody else, such as a link scanner, opens the link of a connection session"),
    Effect("fail-campaign",    "state", "{id?}",                               "a running campaign fails with an unrecoverable error"),
    Effect("cancel-campaign",  "state", "{id?}",                               "another caller cancels a campaign, as the API would"),
    Effect("stall-sends",      "state", "{id?}",                               "the sends stop until resume-sends"),
    Effect("resume-sends",     "state", "{id?}",                               "the next send is due now, the rest evenly after it at the campaign's own rate"),
    Effect("slow-sends",       "state", "{id?, perMinute}",                    "the sends have this rate, at most the campaign's own, until resume-sends"),
    Effect("fail-sends",       "state", "{id?, ratio | every | chats, reason?}", "some of the remaining sends fail"),
    Effect("set-tenant",       "state", "{tenant?, subscription?, developersEnabled?, name?}", "change a tenant's settings"),
    Effect("revoke-key",       "state", "{tenant?, kind?}",                    "a tenant's key is invalid from the next call on"),
    Effect("rotate-key",       "state", "{tenant?, kind?, key?}",              "a new key replaces a tenant's key"),
    Effect("set-template",     "state", "{id?, tenant?, status?, variables?, text?}", "change a template; while it is not approved, its remaining sends fail"),
    Effect("remove-template",  "state", "{id?, tenant?}",                      "remove a template"),
    Effect("remove-funnel",    "state", "{id?, tenant?}",                      "remove a funnel with its steps"),
    Effect("remove-entrypoint","state", "{id?, tenant?}",                      "remove a channel; without another one of its platform sends fail"),
    Effect("fail-media",       "state", "{ratio | every | names}",             "storage fails: such a file has `success: false`"),
    Effect("given",            "state", "seed data",                           "adds records"),
    Effect("rate-limit",       "state", "off, or {requests, per}",             "sets the choice rate-limit-numbers"),
    Effect("set-choice",       "state", "{id: option}",                        "sets choices"),
    Effect("advance",          "state", "duration",                            "advances the clock"),
    Effect("deliver",          "delivery", "{duplicate, reorder, delay, lose, before-answer, forge, old-secret, spell, unknown-kind}", "changes an attempt to deliver an event"),
)
# fmt: on

EFFECTS: Mapping[str, Effect] = MappingProxyType(
    {row.name: Effect(row.name, "wire", row.argument, row.meaning) for row in WIRE_FAULTS.values()}
    | {row.name: row for row in _ROWS}
)

# Other names of effects: the effect, and the argument that `true` means for it.
ALIASES: Mapping[str, tuple[str, object]] = MappingProxyType(
    {row.alias[0]: (row.name, row.alias[1]) for row in WIRE_FAULTS.values() if row.alias is not None}
)

UNREADABLE = frozenset(name for name, row in WIRE_FAULTS.items() if row.reaches_client == "other")
WITHOUT_RESPONSE = frozenset(name for name, row in WIRE_FAULTS.items() if row.reaches_client == "nothing")
WAITING = frozenset(name for name, row in WIRE_FAULTS.items() if row.keeps_waiting)

# Forged requests: a receiver that verifies signatures refuses each.
FORGERIES = (
    "no-signature",
    "wrong-secret",
    "old-timestamp",
    "changed-body",
    "changed-id",
    "other-tenant",
    "junk-header",
)


def of_group(group: str) -> tuple[str, ...]:
    """Return the names of a group's effects, in the order of the table."""
    return tuple(row.name for row in EFFECTS.values() if row.group == group)


def deciding(phase: Phase) -> tuple[str, ...]:
    """Return the names of the faults that decide a phase: a rule has one of them at most."""
    return tuple(name for name, row in WIRE_FAULTS.items() if phase in row.phases)


def schema_properties() -> Iterator[tuple[str, JSON]]:
    """Yield the name and JSON Schema of each fault and of each alias, as schemas/scenario.json has them."""
    for row in WIRE_FAULTS.values():
        meaning = f"{row.meaning[:1].upper()}{row.meaning[1:]}."
        text = {"title": row.name.replace("-", " ").capitalize(), "description": meaning}
        yield row.name, {**text, **row.schema, **text, "examples": list(row.examples)}
    for row in WIRE_FAULTS.values():
        if row.alias is not None:
            alias, argument = row.alias
            yield (
                alias,
                {
                    "title": alias.replace("_", " ").capitalize(),
                    "description": f"Another name of {row.name}; `true` means {json.dumps(argument)}.",
                    "type": ["boolean", "string", "integer"],
                },
            )
