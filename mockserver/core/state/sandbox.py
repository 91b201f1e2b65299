"""
The state of one sandbox: clock, tenants, choices, timers and journal, and the runtime that the server gives it.

What only the rooms around the core can do for a script, as an object that they hand in.

A sandbox: one isolated universe with a clock, tenants, choices, timers and a journal.

1. Whoever asks first lets time pass up to now (`settle`), so what fell due has happened before anything is answered.
2. `now` never goes back but by restoring a checkpoint, resetting, or freezing a sandbox that has no past.
3. State is what `checkpoint` keeps. Rate budgets, previews remembered by a choice, the epoch and what is under way are no part of it.
4. The lock and the process's clock are handed in by the edge; the core imports neither threads nor time.

The journal's entry of an exchange: the call, what came of it, and the choices that were not the default at the time.

Finding a record by its id, and refusing by the code that the choice `cross-tenant-code` gives another tenant's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from heapq import heappush
from typing import Any, NamedTuple

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.limits import (
    JOURNAL_ANSWER_MAX_BYTES,
    JOURNAL_BODY_MAX_BYTES,
    JOURNAL_MAX_ENTRIES,
    JSON_BODY_MAX_BYTES,
)
from mockserver.core import ids
from mockserver.core.instants import Duration, Instant
from mockserver.core.state import journal
from mockserver.core.state.calls import ApiError, Call, CallResult, Refused, Success
from mockserver.core.state.journal import DEFAULT_LIMITS, Journal, JournalEntry, Limits
from mockserver.core.state.outbox import Outbox
from mockserver.core.state.records import Event, PageVisit
from mockserver.core.state.rule_set import RuleSet
from mockserver.core.state.rules import AppliedFault
from mockserver.core.state.tenant import Tenant


class Runtime:
    """The stage on which a sandbox stands; this one is empty: a sandbox of the core alone needs no other."""

    def apply_seed_data(self, sandbox: SandboxState, given: Mapping[str, Any]) -> None:
        """Add seed data, the lock held; ValueError says what is wrong with it, and then nothing was added."""
        raise ValueError("nobody here reads seed data")

    def advance_clock(self, sandbox: SandboxState, by: Duration) -> None:
        """Let time pass in the middle of a call, the lock held."""
        raise ValueError("nobody here moves the clock")

    def pass_virtual_time(self, sandbox: SandboxState, by: Duration) -> None:
        """Let time pass while a call waits, the lock free."""

    def wait_real_time(self, sandbox: SandboxState, epoch: int, seconds: float) -> bool:
        """Wait in real time, the lock free; True at once when the sandbox leaves this epoch."""
        return sandbox.epoch != epoch

    def monotonic_us(self) -> Duration | None:
        """Real time that only goes on, from anywhere; None where there is none."""
        return None

    def process_frozen_at(self) -> Instant | None:
        """The process's instant if something has frozen its clock."""
        return None

    def cancel_waits(self) -> None:
        """Let everything go that is held for an older epoch."""


NULL_RUNTIME = Runtime()


# The kinds of records that share one space of ids.
WITH_IDS = ("chat", "template", "campaign", "execution", "session", "entrypoint", "media", "form", "funnel")


Position = tuple[Instant, int, int]  # an instant, with the exchange and the transition before it


class Timer(NamedTuple):
    """What is due to happen to one record, once, unless its state has changed since the timer was scheduled."""

    due: Instant
    order: int
    kind: str
    trigger: str
    tenant_id: str
    id: str
    state_version: int
    rule_id: str = ""  # the rule that scheduled it, if one did


class KeyOwner(NamedTuple):
    """Whose key this is, and whether it is `secret` or `public`."""

    tenant_id: str
    kind: str


class Clock(NamedTuple):
    """The sandbox's own clock: frozen at `now`, or following the process's clock plus `lead`."""

    now: Instant
    frozen: bool
    lead: Duration = 0


class Checkpoint(NamedTuple):
    """A sandbox's state at one moment; its parts are copies that nothing else writes to."""

    clock: Clock
    tenants: Mapping[str, Tenant]
    keys: Mapping[str, KeyOwner]
    choices: Mapping[str, object]
    timers: tuple[Timer, ...]
    counters: Mapping[str, int]
    events: tuple[Event, ...]
    journal: Journal
    outbox: Outbox
    rule_set: RuleSet
    visits: tuple[PageVisit, ...] = ()

    def __repr__(self) -> str:  # its keys are whole
        return f"Checkpoint(tenants={list(self.tenants)}, exchanges={self.journal.last_exchange})"


class SandboxState:
    """
    One universe. Lives from its creation until it is closed; two of them never see each other.

    `process_now` reads the process's clock in microseconds and is asked only while the clock follows it.
    """

    def __init__(
        self,
        *,
        seed: int,
        clock: Clock,
        lock: AbstractContextManager[Any],
        process_now: Callable[[], Instant],
        choices: Mapping[str, object] = DEFAULTS,
        runtime: Runtime = NULL_RUNTIME,
        journal_limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.seed = seed
        self.clock = clock
        self.lock = lock
        self.process_now = process_now
        self.runtime = runtime
        self.choices = choices
        self.tenants: dict[str, Tenant] = {}
        self.keys: dict[str, KeyOwner] = {}
        self.timers: list[Timer] = []
        self.counters: dict[str, int] = {}
        self.events: list[Event] = []
        self.visits: deque[PageVisit] = deque(maxlen=JOURNAL_MAX_ENTRIES)
        self.journal = Journal(journal_limits)
        self.outbox = Outbox()
        self.rule_set = RuleSet()
        self.epoch = 0
        self.advances = 0  # rules that are letting time pass now, one within another
        self.rate_budgets: dict[str, deque[Instant]] = {}
        self.cached_previews: dict[tuple[str, str], tuple[Instant, int]] = {}

    @property
    def now(self) -> Instant:
        """The last instant that this sandbox gave out."""
        return self.clock.now

    def read_clock(self) -> Instant:
        """The instant it is now by this sandbox's clock; it never lies before the last one given out."""
        if self.clock.frozen:
            return self.clock.now
        return max(self.clock.now, self.process_now() + self.clock.lead)

    def set_now(self, instant: Instant) -> None:
        """Note that it is now `instant`."""
        self.clock = self.clock._replace(now=instant)

    def next_number(self, purpose: str) -> int:
        """The next number, from 1, of this purpose."""
        number = self.counters.get(purpose, 0) + 1
        self.counters[purpose] = number
        return number

    def new_id(self, prefix: str) -> str:
        """A fresh semantic id: the prefix of its kind and a drawn tail; never one that `has_id` knows as taken."""
        while True:
            drawn = prefix + ids.seeded_id(self.seed, prefix, self.next_number(prefix))
            if not self.has_id(drawn):
                return drawn

    def has_id(self, record_id: str) -> bool:
        """Return True if a tenant or a record of any kind in `WITH_IDS` has this id."""
        return record_id in self.tenants or any(
            record_id in tenant.table(kind) for tenant in self.tenants.values() for kind in WITH_IDS
        )

    def find(self, kind: str, record_id: str) -> tuple[Tenant, Any] | None:
        """Return the record of this kind and id with its tenant, whichever that is, or None if there is none."""
        for tenant in self.tenants.values():
            record = tenant.table(kind).get(record_id)
            if record is not None:
                return tenant, record
        return None

    def records(self, kind: str) -> Iterator[tuple[Tenant, Any]]:
        """Yield every record of this kind with its tenant, tenant by tenant in order of creation; not for chats."""
        for tenant in self.tenants.values():
            for record in tenant.table(kind).values():
                yield tenant, record

    def position(self) -> Position:
        """Return now, with the last exchange and the last transition so far: what follows comes after them."""
        return self.now, self.journal.last_exchange, self.journal.last_transition

    def next_seq(self) -> int:
        """The next place in the order of creation."""
        return self.next_number("seq")

    def schedule(
        self,
        due: Instant,
        kind: str,
        trigger: str,
        tenant_id: str,
        record_id: str,
        state_version: int,
        rule_id: str = "",
    ) -> None:
        """Have `trigger` happen to the record at `due`, unless its state has changed by then."""
        heappush(
            self.timers,
            Timer(due, self.next_number("timer"), kind, trigger, tenant_id, record_id, state_version, rule_id),
        )

    def timer_target(self, timer: Timer) -> object | None:
        """Return the record that a timer acts on, or None once its state has changed since the timer was scheduled."""
        if timer.kind in ("rule", "call"):
            return self.rule_set.rules.get(timer.id) or self.rule_set.deferred_calls.get(timer.id)
        tenant = self.tenants.get(timer.tenant_id)
        if timer.kind == "delivery":
            record = self.outbox.deliveries.get(timer.id)
        else:
            record = tenant.table(timer.kind).get(timer.id) if tenant else None
        return record if record is not None and record.state_version == timer.state_version else None

    def key_owner(self, key: str) -> KeyOwner | None:
        return self.keys.get(key)

    def secrets(self) -> list[str]:
        """Every key and signing secret of the sandbox: what no answer, journal or log may show."""
        signing = (
            secret
            for _, webhook in self.records("webhook")
            for secret in (webhook.secret, webhook.old_secret)
            if secret
        )
        return [*self.keys, *signing]

    def checkpoint(self) -> Checkpoint:
        """The state as it is, to be restored any number of times."""
        return Checkpoint(
            self.clock,
            {tenant.id: tenant.copy() for tenant in self.tenants.values()},
            self.keys.copy(),
            self.choices,
            tuple(self.timers),
            self.counters.copy(),
            tuple(self.events),
            self.journal.copy(),
            self.outbox.copy(),
            self.rule_set.copy(),
            tuple(self.visits),
        )

    def clone(self) -> SandboxState:
        """A sandbox of its own in the same state, to be looked at while this one goes on."""
        twin = SandboxState(seed=self.seed, clock=self.clock, lock=nullcontext(), process_now=self.process_now)
        twin.load(self.checkpoint())
        return twin

    def restore(self, kept: Checkpoint) -> None:
        """
        Be again as at the checkpoint: what followed it never happened.

        A frozen clock goes back with everything else; a following one gives back its lead alone, since the process's
        time went on.
        """
        self.load(kept)
        if not self.clock.frozen:
            self.clock = self.clock._replace(now=max(self.clock.now, self.process_now() + self.clock.lead))
        self.rate_budgets = {}
        self.cached_previews = {}
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """From now on whatever was under way belongs to an older epoch: it is let go, and its reports are thrown away."""
        self.epoch += 1
        self.runtime.cancel_waits()

    def load(self, kept: Checkpoint) -> None:
        """Put the state of a checkpoint in place of the sandbox's own; the checkpoint stays as it is."""
        self.clock = kept.clock
        self.tenants = {tenant.id: tenant.copy() for tenant in kept.tenants.values()}
        self.keys = dict(kept.keys)
        self.choices = kept.choices
        self.timers = list(kept.timers)
        self.counters = dict(kept.counters)
        self.events = list(kept.events)
        self.journal = kept.journal.copy()
        self.outbox = kept.outbox.copy()
        self.rule_set = kept.rule_set.copy()
        self.visits = deque(kept.visits, maxlen=JOURNAL_MAX_ENTRIES)

    def __repr__(self) -> str:
        return f"Sandbox(seed={self.seed}, tenants={list(self.tenants)})"


def journal_entry(
    sandbox: SandboxState,
    call: Call,
    answered: CallResult,
    status: int | None,
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    fault: AppliedFault | None = None,
) -> JournalEntry:
    """The next exchange of the sandbox's journal; of a very long body, asked or answered, it holds only the beginning."""
    outcome, sent = answered.outcome, call.body or b""
    has_value = answered.request_body is not None and len(sent) <= JSON_BODY_MAX_BYTES
    call, answer = cut(call), body[:JOURNAL_ANSWER_MAX_BYTES]
    size_bytes = journal.ENTRY_BYTES + journal.of_call(call) + len(answer) + (journal.of_json(sent) if has_value else 0)
    return JournalEntry(  # by position, which takes half the time
        sandbox.journal.last_exchange + 1,
        sandbox.now,
        call.endpoint.id if call.endpoint else None,
        answered.tenant_id,
        call,
        answered.request_body if has_value else None,
        status,
        headers,
        answer,
        isinstance(outcome, Success),
        _refused(outcome) if isinstance(outcome, ApiError) else None,
        sandbox.journal.non_default_choices(sandbox.choices),
        fault,
        sandbox.runtime.monotonic_us(),
        sandbox.runtime.process_frozen_at(),
        len(body) if len(answer) < len(body) else None,
        size_bytes,
    )


def cut(call: Call) -> Call:
    """The call as a record holds it: without what is past the bound of its body, and then without its files."""
    if call.body is None or len(call.body) <= JOURNAL_BODY_MAX_BYTES:
        return call
    return call._replace(
        body=call.body[:JOURNAL_BODY_MAX_BYTES], read_files=lambda _: (), cut_from_bytes=len(call.body)
    )


def _refused(refusal: ApiError) -> Refused:
    return Refused(refusal.code, refusal.clause, refusal.location, refusal.reason)


def require_record(
    sandbox: SandboxState, tenant: Tenant, kind: str, record_id: str, *, code: str, clause: str, at: str = "path.id"
) -> Any:
    """
    The tenant's record of this id.

    Refuses an unknown id with `code`, and another tenant's likewise or with RESOURCE_ACCESS_DENIED, by choice.
    """
    record = tenant.table(kind).get(record_id)
    if record is not None:
        return record
    is_foreign = sandbox.find(kind, record_id) is not None
    if is_foreign and sandbox.choices["cross-tenant-code"] == "access-denied":
        raise ApiError(
            "RESOURCE_ACCESS_DENIED",
            clause="auth.denied",
            location=at,
            reason=f"{record_id!r} belongs to another tenant than the key",
        )
    owner = "another tenant has it" if is_foreign else f"the tenant has {_known_ids(tenant, kind)}"
    raise ApiError(code, clause=clause, location=at, reason=f"no {kind} with id {record_id!r}; {owner}")


def _known_ids(tenant: Tenant, kind: str) -> str:
    rows = tenant.table(kind)
    first = ", ".join(list(rows)[:3]) if len(rows) <= 1000 else next(iter(rows))
    return f"{len(rows)} ({first}{', ...' if len(rows) > 3 else ''})" if len(rows) else "none"
