"""What Explore tries: faults of the wire, acts of others and faults of deliveries, one row each, by their effects in a script."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.contract.effects import FORGERIES
from mockserver.contract.endpoints import CREATING, ENDPOINTS, READING

# A time that no client waits on purpose: its own timeout ends the wait before, and the connection closes for one without.
NO_ANSWER_FOR = "1h"
RETRY_AFTER_S = 30
STALL_ENDS_AFTER = 20  # reads of the client, after which the sends that stall go on
_TRUNCATE_BYTES = 20
_CUT = "truncate"
BEFORE_ANSWER = "before-answer"
TIME_ZONE = "time-zone"  # of the process of the client, for a whole run
AHEAD = "<+13>-13"  # of UTC by 13 hours, as the variable TZ has it
VERDICTS = ("silent", "breach", "crashed", "reported", "survived")  # on a run, the worst first
ADVICE = "advice"  # of a finding of the least severity, which does not change the verdict on its run
ORDER = (*VERDICTS, ADVICE)  # of findings
DEVIATES = VERDICTS[:3]
OUTDATED = "stale"  # the effect by which a read is answered as before the last change


class WireRow(NamedTuple):
    """
    A fault of the wire.

    Attributes:
        name: As in reports and options.
        effects: The effects of its rule.
        changes: `before` if the operation does not run, `after` if it takes effect; the same for an operation that only reads.
        twin: The fault that is the same for a call that changes nothing.
        needs_time: Takes real time over a socket, where it is not tried.
        requires: What a call must have for it: a `body` to cut, or a `change` before it, for a read that may miss that.
        calls: How many calls of the operation in a row it concerns; None for all from that one on, after which a test can
            only report that.
        choices: The options of the run that it needs.
        variant_of: The fault whose name selects it too. It depends on how the client treats the operation, so that one call
            of each operation is enough.
    """

    name: str
    effects: Mapping[str, Any]
    changes: Literal["before", "after"]
    twin: str | None = None
    needs_time: bool = False
    requires: Literal["body", "change"] | None = None
    calls: int | None = 1
    choices: Mapping[str, str] = MappingProxyType({})
    variant_of: str | None = None

    @property
    def is_in_pairs(self) -> bool:
        """True if pairs contain it: a fault of one call that is no variant of another."""
        return self.calls == 1 and self.variant_of is None

    def effects_at(self, answer_bytes: int) -> Mapping[str, Any]:
        """Return the effects at a call whose answer has this length, before whose end it is cut."""
        is_whole = answer_bytes <= _TRUNCATE_BYTES
        return {**self.effects, _CUT: answer_bytes // 2} if _CUT in self.effects and is_whole else self.effects


class ActRow(NamedTuple):
    """
    An act of another between two calls.

    Attributes:
        name: As in reports and options.
        effect: The effect of its rule.
        argument: Its argument; the id of the record is added where `concerns` is a kind whose effect needs one.
        concerns: What must exist for it: a running campaign, a pending session, a template in use, an entrypoint, or a key.
        matters_to: The operations that depend on what it changes, while no campaign runs; None for all.
    """

    name: str
    effect: str
    argument: Mapping[str, Any]
    concerns: Literal["campaign", "session", "template", "entrypoint", "tenant"]
    matters_to: frozenset[str] | None = None


class DeliveryRow(NamedTuple):
    """
    A fault of an attempt to deliver an event.

    Attributes:
        name: As in reports and options.
        argument: The argument of the effect `deliver`.
        withholds: The receiver gets less, or gets it later, than in the clean run.
    """

    name: str
    argument: Mapping[str, Any]
    withholds: bool = False


# The operations whose outcome depends on the status of a template.
_OF_TEMPLATES = frozenset((READING["template"].id, CREATING["campaign"].id, CREATING["execution"].id))

_HEADERS = "rate-limit-headers"


def _too_many(seconds: int) -> Mapping[str, Any]:
    """Return the effects of a 429 whose `Retry-After` is so long."""
    return {"error": {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": seconds}}


# fmt: off
_WIRE = (
    WireRow("drop-before",    {"drop": "before"},                                             "before"),
    WireRow("drop-after",     {"drop": "after"},                                              "after",  twin="drop-before"),
    WireRow("reset-before",   {"reset": "before"},                                            "before"),
    WireRow("reset-after",    {"reset": "after"},                                             "after",  twin="reset-before"),
    WireRow("timeout-before", {"delay-after": NO_ANSWER_FOR, "drop": "before"},               "before", needs_time=True),
    WireRow("timeout-after",  {"delay-after": NO_ANSWER_FOR, "drop": "after"},                "after",  twin="timeout-before", needs_time=True),
    WireRow("internal-error", {"error": "INTERNAL_ERROR"},                                    "before"),
    WireRow("rate-limit",     _too_many(RETRY_AFTER_S),                                       "before"),
    WireRow("bad-gateway",    {"bad-gateway": "after"},                                       "after"),
    WireRow("truncate",       {_CUT: _TRUNCATE_BYTES},                                        "after",  requires="body"),
    WireRow("garble",         {"garble": True},                                               "after"),
    WireRow("dribble",        {"dribble": {"chunks": 5, "over": "10s"}},                      "after",  needs_time=True, requires="body"),
    WireRow("stale",          {OUTDATED: True},                                               "before", requires="change"),
    WireRow("outage",            {"drop": "before"},      "before", calls=3),
    WireRow("outage-for-good",   {"drop": "before"},      "before", calls=None, variant_of="outage"),
    WireRow("rate-limit-short",  _too_many(1),            "before", variant_of="rate-limit"),
    WireRow("rate-limit-long",   _too_many(120),          "before", variant_of="rate-limit"),
    WireRow("rate-limit-date",   _too_many(RETRY_AFTER_S), "before", choices={_HEADERS: "http-date"}, variant_of="rate-limit"),
    WireRow("rate-limit-bare",   _too_many(RETRY_AFTER_S), "before", choices={_HEADERS: "none"},      variant_of="rate-limit"),
    WireRow("rate-limit-twice",  _too_many(RETRY_AFTER_S), "before", calls=2, variant_of="rate-limit"),
)
_ACTS = (
    ActRow("campaign-canceled",   "cancel-campaign",   {},                            "campaign"),
    ActRow("campaign-fails",      "fail-campaign",     {},                            "campaign"),
    ActRow("sends-stall",         "stall-sends",       {},                            "campaign"),
    ActRow("template-paused",     "set-template",      {"status": "PAUSED"},          "template", matters_to=_OF_TEMPLATES),
    ActRow("key-revoked",         "revoke-key",        {},                            "tenant"),
    ActRow("subscription-lapses", "set-tenant",        {"subscription": "suspended"}, "tenant"),
    ActRow("session-expires",     "expire-session",    {},                            "session"),
    ActRow("user-cancels",        "cancel-session",    {},                            "session"),
    ActRow("number-in-use",       "fail-session",      {"reason": "phone_in_use"},    "session"),
    ActRow("entrypoint-removed",  "remove-entrypoint", {},                            "entrypoint"),
)
_DELIVERIES = (
    DeliveryRow("duplicate",      {"duplicate": 1}),
    DeliveryRow("delay",          {"delay": "30m"},           withholds=True),
    DeliveryRow("reorder",        {"reorder": True},          withholds=True),
    DeliveryRow("lose",           {"lose": True},             withholds=True),
    DeliveryRow(BEFORE_ANSWER,    {BEFORE_ANSWER: True},      withholds=True),
    *(DeliveryRow(f"forge-{forgery}", {"forge": forgery}) for forgery in FORGERIES),
    DeliveryRow("unknown-kind",   {"unknown-kind": "entrypoints.photoapp.renamed"}),
)
# fmt: on

FAULTS: Mapping[str, WireRow] = MappingProxyType({row.name: row for row in _WIRE})
ACTS: Mapping[str, ActRow] = MappingProxyType({row.name: row for row in _ACTS})
DELIVERY_FAULTS: Mapping[str, DeliveryRow] = MappingProxyType({row.name: row for row in _DELIVERIES})
NAMES: tuple[str, ...] = (*FAULTS, *ACTS, *DELIVERY_FAULTS, TIME_ZONE)


def variant_of(name: str) -> str:
    """Return the fault that this one is a variant of; the name itself if it is none."""
    return (FAULTS[name].variant_of if name in FAULTS else None) or name


# The order of second faults at one call: those that leave a client in doubt are first.
SECOND = (
    "internal-error", "drop-after", "drop-before", "rate-limit", "stale", "bad-gateway", "timeout-after", "garble", "truncate",
)  # fmt: skip

READS = frozenset(row.id for row in ENDPOINTS.values() if not row.writes)  # the audience preview too
