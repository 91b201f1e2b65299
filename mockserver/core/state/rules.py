"""
Rules: when a scripted fault or change happens, and what it is.

1. A rule waits for exactly one of: calls (`operations`), attempts of deliveries (`deliveries`), an instant (`at`), or
   the progress of each execution (`after_sent`).
2. Of the calls that match `where` and `condition`, `skip` ignores the first ones, `nth` selects one of the rest,
   `every` each nth of them; `active_from` and `active_until` bound the time, `chance` is the probability of each, and
   `times` the maximum number of firings.
3. A rule never changes; the rule set counts its matches and firings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from mockserver.core import ids
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.calls import Call
from mockserver.core.state.records import Campaign, Execution, Session

_CHANCES = 1_000_000  # resolution of a chance


class AppliedFault(NamedTuple):
    """The faults of a rule on one exchange, for the journal: the rule's id and its effects as in its document."""

    rule: str
    effects: Mapping[str, Any]


class WireFaults(NamedTuple):
    """
    The faults of the wire of one rule, as the rows in `contract/effects/wire.py` set them.

    With `skips_operation` the operation does not run: the client gets `reply`, or the `termination` of the connection.
    The other faults change the response to an operation that has run.
    """

    error: tuple[str, int | None] | None = None  # code, and the seconds of Retry-After
    reply: tuple[int, Mapping[str, str], Any] | None = None
    delay_before: Duration = 0
    delay_after: Duration = 0
    termination: Literal["drop", "reset"] | None = None
    skips_operation: bool = False
    truncate_bytes: int | None = None
    garble: bool = False
    chunks: int = 0
    over: Duration = 0
    stale: bool = False

    @property
    def has_waits(self) -> bool:
        """True if the client waits: before the operation, for the response, or between pieces of its body."""
        return bool(self.delay_before or self.delay_after or self.chunks)


class Rule(NamedTuple):
    """An active rule; `source` is the rule as in its document, for lists of rules."""

    seq: int
    id: str
    scenario: str | None
    source: Mapping[str, Any]
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
    where: Mapping[str, Any] = {}
    condition: Mapping[str, Any] = {}
    before_operation: bool = False  # state effects before the operation
    wire_faults: WireFaults | None = None
    state_effects: tuple[tuple[str, Any], ...] = ()
    delivery_faults: Mapping[str, Any] | None = None

    def fault(self) -> AppliedFault:
        """Return the wire effects for the journal."""
        return AppliedFault(self.id, self.source["do"])

    def selects(self, match: int) -> bool:
        """Return True if `skip`, `nth` and `every` select the match of this number, counted from 1."""
        place = match - self.skip
        if place < 1 or (self.nth is not None and place != self.nth):
            return False
        return self.every is None or place % self.every == 0

    def is_active_at(self, now: Instant) -> bool:
        return (self.active_from is None or now >= self.active_from) and (
            self.active_until is None or now < self.active_until
        )

    def passes_chance(self, seed: int, match: int) -> bool:
        """Return True if the seeded chance selects this match."""
        if self.chance is None:
            return True
        return ids.seeded_int(seed, "chance", self.seq, match, below=_CHANCES) < round(self.chance * _CHANCES)


class Subject(NamedTuple):
    """
    The subject of a firing: tenant, campaign and session of the call that triggered it, each None if it has none.

    `started_execution_id` is the execution that this call has started.
    """

    tenant_id: str | None = None
    campaign: Campaign | None = None
    session: Session | None = None
    template_id: str | None = None
    entrypoint_id: str | None = None
    started_execution_id: str | None = None

    @classmethod
    def of_record(cls, tenant_id: str, record: Campaign | Execution | Session) -> Subject:
        """Return the subject of a firing that a delivery about this record triggered."""
        return cls(
            tenant_id,
            campaign=record if isinstance(record, Campaign) else None,
            session=record if isinstance(record, Session) else None,
        )


class GivenUp(NamedTuple):
    """
    When a client sent a call that arrived after the client had disconnected, and when it disconnected.

    `last_exchange` is the number of the last exchange when the client sent the call.
    """

    sent_at: Instant
    at: Instant
    last_exchange: int


class DeferredCall(NamedTuple):
    """A delayed call whose client has disconnected; it still runs when its delay is over."""

    call: Call
    rule_ids: tuple[str, ...]
    given_up: GivenUp
