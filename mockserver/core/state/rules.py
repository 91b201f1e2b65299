"""
Rules: when something scripted happens, and what.

1. A rule waits for calls (`operations`), for attempts to deliver (`deliveries`), for an instant (`at`), or for the
   progress of each execution (`sent`); exactly one of them.
2. Of the calls that match `where` and `condition`, `skip` leaves the first alone, `nth` takes one of the rest, `every`
   each nth of it; `opens` and `closes` bound the time, `chance` lets each that is left fire or not, `times` ends it.
3. A rule is never changed; how often it matched and fired is the script's to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from mockserver.core import ids
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.calls import Call
from mockserver.core.state.records import Campaign, Session

_CHANCES = 1_000_000  # a chance is told to the millionth


class AppliedFault(NamedTuple):
    """What a rule did to an exchange on the wire, for the journal: the rule's id and its wire effects as written."""

    rule: str
    effects: Mapping[str, Any]


class Latency(NamedTuple):
    """A length of time that is drawn anew at each firing: lognormal through its median and 99th percentile, capped."""

    median: Duration
    p99: Duration
    maximum: Duration


class WireFaults(NamedTuple):
    """
    The faults of the wire of one rule, as the rows in `contract/wire_faults.py` set them.

    With `skips_operation` the operation does not run: the client gets `reply`, or the `termination` of the connection.
    The other faults change the response to an operation that has run.
    """

    error: tuple[str, int | None] | None = None  # code, and the seconds of Retry-After
    reply: tuple[int, Mapping[str, str], Any] | None = None
    delay_before: Duration | Latency = 0
    delay_after: Duration | Latency = 0
    termination: Literal["drop", "reset"] | None = None
    skips_operation: bool = False
    truncate_bytes: int | None = None
    garble: bool = False
    chunks: int = 0
    over: Duration = 0
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in force. `written` is the rule as its document has it, for whoever lists the rules."""

    seq: int
    id: str
    scenario: str | None
    source: Mapping[str, Any]
    applied_at: Instant
    operations: tuple[str, ...] = ()
    deliveries: bool = False
    at: Instant | None = None
    after_sent: int | None = None
    skip: int = 0
    nth: int | None = None
    every: int | None = None
    times: int | None = None
    chance: float | None = None
    active_from: Instant | None = None
    active_until: Instant | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    condition: Mapping[str, Any] = field(default_factory=dict)
    before_operation: bool = False  # world effects before the operation
    wire_faults: WireFaults | None = None
    state_effects: tuple[tuple[str, Any], ...] = ()
    delivery_faults: Mapping[str, Any] | None = None
    must_fire: bool = False

    @property
    def is_count_only(self) -> bool:
        """True where counting calls alone tells at which of them it fires."""
        bounds = (self.chance, self.active_from, self.active_until)
        return not self.where and not self.condition and all(bound is None for bound in bounds)

    def fault(self) -> AppliedFault:
        """The wire effects as the journal keeps them."""
        return AppliedFault(self.id, self.source["do"])

    def selects(self, match: int) -> bool:
        """True where the match of this number, from 1, is one that `skip`, `nth` and `every` leave."""
        place = match - self.skip
        if place < 1 or (self.nth is not None and place != self.nth):
            return False
        return self.every is None or place % self.every == 0

    def next_selected(self, after: int) -> int | None:
        """The first match after this one that `takes` has; None where there is none."""
        first = max(after + 1, self.skip + 1)
        if self.nth is not None:
            match = self.skip + self.nth
            return match if match >= first and self.selects(match) else None
        step = self.every or 1
        return self.skip + -(-(first - self.skip) // step) * step

    def is_active_at(self, now: Instant) -> bool:
        return (self.active_from is None or now >= self.active_from) and (
            self.active_until is None or now < self.active_until
        )

    def passes_chance(self, seed: int, match: int) -> bool:
        """The drawn chance of this match; the same seed draws the same."""
        if self.chance is None:
            return True
        return ids.seeded_int(seed, "chance", self.seq, match, below=_CHANCES) < round(self.chance * _CHANCES)


class Subject(NamedTuple):
    """
    What a firing is about: the tenant, campaign and session of the call that triggered it, where it has them.

    `started` is the id of the execution that this very call has started.
    """

    tenant_id: str | None = None
    campaign: Campaign | None = None
    session: Session | None = None
    template_id: str | None = None
    entrypoint_id: str | None = None
    started_execution_id: str | None = None


class DeferredCall(NamedTuple):
    """A call whose client has given up on it while it was delayed; it arrives all the same when its time has come."""

    call: Call
    rule_ids: tuple[str, ...]
