"""
The state of one sandbox: clock, tenants, choices, timers, journal, outbox and rules, and the runtime that the server
provides.

1. Each caller first runs the timers due by now (`scheduler.run_until`), so every response shows the effects of the
   past.
2. `now` never decreases, except by a restored checkpoint, a reset, or a freeze of a sandbox without history.
3. State is what `load` copies. Rate budgets, previews cached by a choice, the epoch and attempts in flight are
   not.
4. The server passes in the lock and the process's clock; the core imports neither threads nor time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from heapq import heappush
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.limits import (
    JOURNAL_ANSWER_MAX_BYTES,
    JOURNAL_BODY_MAX_BYTES,
    JOURNAL_MAX_ENTRIES,
    JSON_BODY_MAX_BYTES,
)
from mockserver.core import ids
from mockserver.core.instants import LATEST, Duration, Instant
from mockserver.core.redaction import masked_excerpt
from mockserver.core.state import journal
from mockserver.core.state.calls import ApiError, Call, CallResult, Refused, Success, no_files
from mockserver.core.state.journal import DEFAULT_LIMITS, Journal, JournalEntry, Limits
from mockserver.core.state.outbox import Outbox
from mockserver.core.state.records import Event, PageVisit
from mockserver.core.state.rule_set import RuleSet
from mockserver.core.state.rules import AppliedFault
from mockserver.core.state.tenant import OfTenants, Tenant

_TOO_MANY = 429


class Runtime:
    """
    The functions that the server provides to the core; this one provides none, for a sandbox of the core alone.

    Attributes:
        calls: the number of calls by operation and status, which no reset takes back; None if they are not counted.
        attempts: likewise the attempts of deliveries, by the state of the delivery after them.
    """

    calls: dict[tuple[str | None, int | None], int] | None = None
    attempts: dict[str, int] | None = None

    def apply_seed_data(self, sandbox: SandboxState, given: Mapping[str, Any]) -> None:
        """Add seed data, the lock held; raises ValueError, with nothing added, for invalid data."""
        raise ValueError("got seed data; expected a sandbox with a runtime")

    def advance_clock(self, sandbox: SandboxState, by: Duration) -> list[Any]:
        """Advance the clock in the middle of a call, the lock held; return the timers that fired, in order."""
        raise ValueError("got an advance; expected a sandbox with a runtime")

    def pass_virtual_time(self, sandbox: SandboxState, by: Duration) -> None:
        """Advance the clock while a call waits, the lock free."""

    def add_wait(self, sandbox: SandboxState, epoch: int, cancel: Callable[[], None]) -> bool:
        """Have `cancel` called once the sandbox leaves this epoch; return False if it has left the epoch already."""
        return sandbox.epoch == epoch

    def remove_wait(self, cancel: Callable[[], None]) -> None:
        """Remove a wait that is over."""

    def has_waits(self) -> bool:
        """Return True while a call waits."""
        return False

    def monotonic_us(self) -> Duration | None:
        """Return the monotonic clock in microseconds, or None if there is none."""
        return None

    def process_frozen_at(self) -> Instant | None:
        """Return the process's instant if a test has frozen its clock, else None."""
        return None

    def end_epoch(self) -> None:
        """Cancel every wait of an older epoch."""


NULL_RUNTIME = Runtime()
NO_CAUSE: Mapping[str, object] = MappingProxyType({})

Position = tuple[Instant, int, int]  # an instant, with the exchange and the transition before it


class Timer(NamedTuple):
    """A trigger that is due for one record, ignored if the record's state has changed since it was scheduled."""

    due: Instant
    order: int
    kind: str
    trigger: str
    tenant_id: str
    id: str
    state_version: int
    rule_id: str = ""  # the rule that scheduled it, if one did


class KeyOwner(NamedTuple):
    """The tenant of a key, and its kind: `secret` or `public`."""

    tenant_id: str
    kind: str


class Clock(NamedTuple):
    """The sandbox's own clock: frozen at `now`, or following the process's clock plus `lead`."""

    now: Instant
    frozen: bool
    lead: Duration = 0


class SandboxState(OfTenants):
    """
    The state of one sandbox, isolated from every other.

    `key_label` is what its keys follow from in addition to the seed; empty for the first sandbox of a test.
    `process_now` returns the process's clock in microseconds; it is called while the sandbox's clock follows it, and at a 429.
    `tokens` returns what opens the server that has the sandbox, which nothing of the sandbox may show either.

    Lifetime: from its creation until it is closed.
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
        key_label: str = "",
    ) -> None:
        self.seed = seed
        self.key_label = key_label
        self.clock = clock
        self.lock = lock
        self.process_now = process_now
        self.tokens: Callable[[], Sequence[str]] = tuple
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
        self.fired_within: list[Any] | None = None  # timers that fired while a rule of the timer that runs now advanced
        self.advances = 0  # rules that advance the clock now, one within another
        self.rate_budgets: dict[str, deque[Instant]] = {}
        self.cached_previews: dict[tuple[str, str], tuple[Instant, int]] = {}

    @property
    def now(self) -> Instant:
        """The latest instant that this sandbox has used."""
        return self.clock.now

    @property
    def has_history(self) -> bool:
        """True with a recorded call, a transition or a timer."""
        return self.journal.last_exchange > 0 or self.journal.last_transition > 0 or bool(self.timers)

    @property
    def can_go_back(self) -> bool:
        """True if a clock that follows goes back with the process: without a history, and without rules, which may advance it."""
        return not (self.has_history or self.rule_set.rules)

    def read_clock(self) -> Instant:
        """
        Return the current instant of the sandbox's clock; it stops at the last instant.

        It is never before the latest one used, unless the clock can go back: it waits for the process.
        """
        if self.clock.frozen:
            return self.clock.now
        instant = min(self.process_now() + self.clock.lead, LATEST)
        return instant if instant >= self.clock.now or self.can_go_back else self.clock.now

    def set_now(self, instant: Instant) -> None:
        """Set the latest instant used."""
        self.clock = self.clock._replace(now=instant)

    def next_number(self, purpose: str) -> int:
        """Return the next number of this purpose, from 1."""
        number = self.counters.get(purpose, 0) + 1
        self.counters[purpose] = number
        return number

    def new_id(self, prefix: str) -> str:
        """Return a new semantic id: the prefix of its kind and a seeded tail, that `has_id` does not know."""
        while True:
            drawn = prefix + ids.seeded_id(self.seed, prefix, self.next_number(prefix))
            if not self.has_id(drawn):
                return drawn

    def seeded_key(self, kind: str, purpose: str, *counts: object) -> str:
        """Return a key of this kind, `secret` or `public`, that follows from the seed, the label, the purpose and counts."""
        label = [self.key_label] if self.key_label else []
        return f"{kind[0]}k_{ids.seeded_id(self.seed, purpose, *counts, *label, chars=32)}"

    def has_id(self, record_id: str) -> bool:
        """Return True if a tenant or a record of any kind but an endpoint has this id."""
        return record_id in self.tenants or any(tenant.uses_id(record_id) for tenant in self.tenants.values())

    def position(self) -> Position:
        """Return now, with the numbers of the last exchange and the last transition."""
        return self.now, self.journal.last_exchange, self.journal.last_transition

    def next_seq(self) -> int:
        """Return the next number in the order of creation."""
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
        """Schedule `trigger` for the record at `due`; ignored if its state has changed by then."""
        heappush(
            self.timers,
            Timer(
                due=due,
                order=self.next_number("timer"),
                kind=kind,
                trigger=trigger,
                tenant_id=tenant_id,
                id=record_id,
                state_version=state_version,
                rule_id=rule_id,
            ),
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

    def owner_at(self, key: str, tenant_id: str | None) -> KeyOwner | None:
        """
        Return whose key a call was sent with; None for one that no tenant had then.

        A key that was revoked or replaced since opens nothing. `tenant_id` is that of the call in the journal, None for a call
        that was refused before its key was accepted.
        """
        kind = "public" if key.startswith("pk_") else "secret"
        if key not in self.keys and tenant_id is not None:
            return KeyOwner(tenant_id, kind)
        revoked = (each.id for each in self.tenants.values() if key in (each.secret_key, each.public_key))
        return self.keys.get(key) or next((KeyOwner(id, kind) for id in revoked), None)

    def secrets(self) -> list[str]:
        """
        Return every key, signing secret and token of the sandbox: no response, journal or log may show them.

        Lock: none; another thread may change the sandbox meanwhile.
        """
        secrets = [*self.keys, *self.tokens()]
        for tenant in list(self.tenants.values()):
            for webhook in list(tenant.webhooks.values()):
                secrets += [secret for secret in (webhook.secret, webhook.old_secret) if secret]
        return secrets

    def excerpt(self, value: object, limit_chars: int = 80) -> str:
        """Return a value as text for a reason: its secrets masked first, then cut."""
        return masked_excerpt(value, self.secrets(), limit_chars)

    def clone(self) -> SandboxState:
        """Return an independent sandbox in the same state: to read while this one continues, or to restore it later."""
        copy = SandboxState(seed=self.seed, clock=self.clock, lock=nullcontext(), process_now=self.process_now)
        copy.load(self)
        copy.tokens = self.tokens
        return copy

    def restore(self, checkpoint: SandboxState) -> None:
        """
        Restore the state of an earlier clone.

        A frozen clock is restored with the rest; a following clock only gets its lead back, since the process's time
        has passed.
        """
        self.load(checkpoint)
        if not self.clock.frozen:
            self.clock = self.clock._replace(now=max(self.clock.now, self.process_now() + self.clock.lead))
        self.rate_budgets = {}
        self.cached_previews = {}
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Begin a new epoch: waits and attempts of the older one are cancelled, and their results discarded."""
        self.epoch += 1
        self.runtime.end_epoch()

    def load(self, other: SandboxState) -> None:
        """Replace the state with a copy of another sandbox's, which stays unchanged."""
        self.clock, self.choices = other.clock, other.choices
        self.tenants = {tenant.id: tenant.copy() for tenant in other.tenants.values()}
        self.keys, self.counters = other.keys.copy(), other.counters.copy()
        self.timers, self.events, self.visits = other.timers.copy(), other.events.copy(), other.visits.copy()
        self.journal, self.outbox, self.rule_set = other.journal.copy(), other.outbox.copy(), other.rule_set.copy()

    def __repr__(self) -> str:
        return f"Sandbox(seed={self.seed}, tenants={list(self.tenants)})"


def journal_entry(
    sandbox: SandboxState,
    call: Call,
    result: CallResult,
    status: int | None,
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    fault: AppliedFault | None = None,
) -> JournalEntry:
    """Return the next entry of the sandbox's journal for an exchange; long bodies are cut to their beginning."""
    outcome, sent = result.outcome, call.body or b""
    has_value = result.request_body is not None and len(sent) <= JSON_BODY_MAX_BYTES
    call, answer = cut(call), body[:JOURNAL_ANSWER_MAX_BYTES]
    size_bytes = journal.ENTRY_BYTES + journal.of_call(call) + len(answer)
    if has_value:
        size_bytes += journal.of_json(sent)
    error: Refused | None = None
    if isinstance(outcome, ApiError):
        error = Refused(outcome.code, outcome.clause, outcome.location, outcome.reason)
    return JournalEntry(
        n=sandbox.journal.last_exchange + 1,
        at=sandbox.now,
        operation=call.endpoint.id if call.endpoint else None,
        tenant_id=result.tenant_id,
        call=call,
        body=result.request_body if has_value else None,
        status=status,
        headers=headers,
        answer=answer,
        applied=isinstance(outcome, Success),
        error=error,
        choices=sandbox.journal.non_default_choices(sandbox.choices),
        fault=fault,
        monotonic_us=sandbox.runtime.monotonic_us(),
        process=sandbox.runtime.process_frozen_at(),
        limited_at=sandbox.process_now() if status == _TOO_MANY else None,
        answer_cut_from_bytes=len(body) if len(answer) < len(body) else None,
        size_bytes=size_bytes,
    )


def cut(call: Call) -> Call:
    """Return the call as a record holds it: a body beyond the bound is cut, and then its files are dropped."""
    if call.body is None or len(call.body) <= JOURNAL_BODY_MAX_BYTES:
        return call
    return call._replace(body=call.body[:JOURNAL_BODY_MAX_BYTES], read_files=no_files, cut_from_bytes=len(call.body))


class Scope(NamedTuple):
    """
    Whose records a function reads or changes, and why.

    `cause` is recorded with each transition: {"exchange": n}, {"timer": trigger}, {"rule": id}, {"page": step} or
    {"forced": command}. A scope in which nothing changes has none.
    """

    sandbox: SandboxState
    tenant: Tenant
    cause: Mapping[str, object] = NO_CAUSE


def refuse_foreign(sandbox: SandboxState, record_id: str, at: str) -> None:
    """Refuse the id of another tenant's record with RESOURCE_ACCESS_DENIED, if `cross-tenant-code` has it so."""
    if sandbox.choices["cross-tenant-code"] == "access-denied":
        raise ApiError(
            "RESOURCE_ACCESS_DENIED",
            location=at,
            reason=f"got {record_id!r} of another tenant; expected an id of the key's tenant",
        )


def require_record(
    scope: Scope, kind: str, record_id: str, *, code: str, clause: str | None = None, at: str = "path.id"
) -> Any:
    """
    Return the tenant's record of this kind and id; `at` is the location of the id in the call.

    Raises:
        ApiError: With `code` for an unknown id; with RESOURCE_ACCESS_DENIED for another tenant's, if
            `cross-tenant-code` has it so.
    """
    record = scope.tenant.table(kind).get(record_id)
    if record is not None:
        return record
    if scope.sandbox.find(kind, record_id) is not None:
        refuse_foreign(scope.sandbox, record_id, at)
    raise unknown_record(scope, kind, record_id, code=code, clause=clause, at=at)


def unknown_record(scope: Scope, kind: str, record_id: str, *, code: str, clause: str | None, at: str) -> ApiError:
    """Return the refusal, with `code`, of an id that the tenant does not have."""
    is_foreign = scope.sandbox.find(kind, record_id) is not None
    received = f"{record_id!r} of another tenant" if is_foreign else repr(record_id)
    rows = scope.tenant.table(kind)
    known = "none"
    if len(rows):
        first = list(islice(rows, 3 if len(rows) <= 1000 else 1))
        more = ["..."] if len(rows) > 3 else []
        known = f"{len(rows)} ({', '.join([*first, *more])})"
    reason = f"got the {kind} id {received}; expected one of the key's tenant, which has {known}"
    return ApiError(code, clause=clause, location=at, reason=reason)
