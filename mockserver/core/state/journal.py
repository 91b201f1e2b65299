"""
The journal: recorded calls, transitions and commands, bounded by number and by bytes.

Sizes of what a journal records, in bytes, estimated from above.

A JSON value is counted by its text: walking the value would cost more than keeping it, and its objects are many times
larger than the text they are read from.

The journal: every exchange of a sandbox and every transition, in order, numbered from 1.

1. It holds the last ones only, bounded by number and by bytes (`Limits`); numbers continue. The latest stays, however large.
2. Restoring a checkpoint takes it back as a whole.
3. No entry refers to an exception or a frame, which would hold the whole call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.effects import deciding
from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.calls import Call, Refused
from mockserver.core.state.rules import AppliedFault

_DEFERRING = frozenset(deciding("wait"))  # effects that hold a call back before its operation
ENTRY_BYTES = 1_536  # of the records of one exchange or step themselves
_PAIR_BYTES = 200  # of a header or a query pair: two texts and their place
_VALUE_BYTES = 112  # of one JSON value: the largest of the small ones is a Decimal
_CHARACTER_BYTES = 4


def of_json(text: bytes) -> int:
    """The size of the value that this JSON text is read as."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return _CHARACTER_BYTES * len(text) + _VALUE_BYTES * values


def of_call(call: Call) -> int:
    """The size of a call as it is recorded."""
    size = len(call.path) + (len(call.body) if call.body else 0)
    size += sum(map(len, call.headers.values())) + _PAIR_BYTES * (len(call.headers) + len(call.query))
    if call.query:
        size += sum(len(name) + len(value) for name, value in call.query)
    return size


STEPS_MAX = 1_000  # commands are few; whoever sends more needs no document that repeats them


class Limits(NamedTuple):
    """
    How much a journal holds.

    `max_entries` bounds its exchanges, and likewise its transitions; `max_bytes` its exchanges and steps together.
    """

    max_entries: int = JOURNAL_MAX_ENTRIES
    max_bytes: int = JOURNAL_MAX_BYTES


DEFAULT_LIMITS = Limits()


class JournalEntry(NamedTuple):
    """
    One call of the public API and its answer.

    `applied` is True when the operation took effect or answered, False when the call was refused or never reached it.
    `status` is None where no answer reached the client; `fault` is what a rule did to the exchange on the wire.
    `body` is the request's JSON value, as it came, where it was read as one.
    `choices` are the sandbox's own ones (those that differ from their default) at the time.
    `real` is the process's stopwatch in microseconds, where it has one; no answer or view shows it.
    `process` is the process's own instant if something had frozen that.
    `answer_cut_from_bytes` is the size of the whole answer where `answer` is only the beginning of it, else None.
    `size_bytes` is what the entry counts for in the journal's bound.
    `is_reused` is True for a call that a rule met on a connection that had carried another one before.
    While a rule keeps the answer from its client `is_held` is True; `left` is the stopwatch when it was sent then.
    """

    n: int
    at: Instant
    operation: str | None
    tenant_id: str | None
    call: Call
    body: Any
    status: int | None
    headers: tuple[tuple[str, str], ...]
    answer: bytes
    applied: bool
    error: Refused | None
    choices: Mapping[str, object]
    fault: AppliedFault | None = None
    monotonic_us: Duration | None = None
    process: Instant | None = None
    answer_cut_from_bytes: int | None = None
    size_bytes: int = 0
    is_reused: bool = False
    is_held: bool = False
    left: Duration | None = None

    @property
    def arrived_late(self) -> bool:
        """True where a rule held the call back until its client had given up: when it came was not the client's doing."""
        return self.status is None and self.fault is not None and not _DEFERRING.isdisjoint(self.fault.effects)

    def __repr__(self) -> str:  # the call's headers hold a key
        return f"Exchange(n={self.n}, operation={self.operation!r}, status={self.status})"


class Transition(NamedTuple):
    """
    One move of one record; `cause` is {"exchange": n}, {"timer": trigger}, {"rule": id}, {"page": step} or {"forced": command}.

    Of a delivery it may also be {"event": id}, {"attempt": n}, {"script": effect} or {"webhook": "disabled"}.
    """

    n: int
    at: Instant
    kind: str
    id: str
    source: str | None
    target: str
    cause: Mapping[str, object]


class CommandRecord(NamedTuple):
    """
    One thing that was done to the sandbox from outside the API: a command with its arguments, keys redacted.

    It came after exchange `exchanges` and transition `transitions`. A `call` stands here too where a script made it wait:
    its arguments are the call as it came and how long its client would wait.
    """

    at: Instant
    exchanges: int
    transitions: int
    command: str
    arguments: Mapping[str, Any]
    size_bytes: int = 0

    def __repr__(self) -> str:  # a call's headers hold a key
        return f"Step(command={self.command!r}, exchanges={self.exchanges})"


def _without_answer(entry: JournalEntry) -> JournalEntry:
    size_bytes = entry.size_bytes - len(entry.answer)
    return entry._replace(
        status=None, headers=(), answer=b"", answer_cut_from_bytes=None, size_bytes=size_bytes, is_held=False
    )


class Journal:
    """What happened in one sandbox so far. Lives as long as its sandbox."""

    __slots__ = (
        "_chosen", "exchanges", "last_exchange", "last_transition", "limits", "lost_steps", "size_bytes", "steps",
        "transitions",
    )  # fmt: skip

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.exchanges: deque[JournalEntry] = deque()
        self.transitions: deque[Transition] = deque(maxlen=limits.max_entries)
        self.steps: deque[CommandRecord] = deque()
        self.size_bytes = 0  # of exchanges and steps
        self.last_exchange = 0
        self.last_transition = 0
        self.lost_steps = 0
        self._chosen: tuple[Mapping[str, object], Mapping[str, object]] = (DEFAULTS, {})

    def non_default_choices(self, choices: Mapping[str, object]) -> Mapping[str, object]:
        """Those of a sandbox's choices that differ from their default; found once, since choices change as a whole."""
        if self._chosen[0] is not choices:
            self._chosen = choices, {key: each for key, each in choices.items() if each != DEFAULTS[key]}
        return self._chosen[1]

    def add_exchange(self, exchange: JournalEntry) -> None:
        """Add an exchange; the oldest entries make room for it."""
        self.last_exchange = exchange.n
        self.exchanges.append(exchange)
        self.size_bytes += exchange.size_bytes
        if len(self.exchanges) > self.limits.max_entries:
            self._drop_exchange()
        self._make_room()

    def add_transition(
        self, at: Instant, kind: str, id: str, source: str | None, target: str, cause: Mapping[str, object]
    ) -> None:
        self.last_transition += 1
        self.transitions.append(Transition(self.last_transition, at, kind, id, source, target, cause))

    def add_command(
        self, command: str, arguments: Mapping[str, Any], at: Instant, exchanges: int, transitions: int
    ) -> None:
        """Note what was done to the sandbox; of too many the oldest goes, and is counted."""
        call = arguments.get("call")
        size_bytes = ENTRY_BYTES
        size_bytes += of_call(call) if isinstance(call, Call) else of_json(repr(arguments).encode(errors="replace"))
        self.steps.append(CommandRecord(at, exchanges, transitions, command, arguments, size_bytes))
        self.size_bytes += size_bytes
        if len(self.steps) > STEPS_MAX:
            self._drop_step()
        self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest exchanges and steps until the rest is within its bytes; the latest of them stays."""
        while self.size_bytes > self.limits.max_bytes and len(self.exchanges) + len(self.steps) > 1:
            if not self.steps or (self.exchanges and self.exchanges[0].n <= self.steps[0].exchanges):
                self._drop_exchange()
            else:
                self._drop_step()

    def _drop_exchange(self) -> None:
        self.size_bytes -= self.exchanges.popleft().size_bytes

    def _drop_step(self) -> None:
        self.size_bytes -= self.steps.popleft().size_bytes
        self.lost_steps += 1

    def mark_unanswered(self, n: int) -> None:
        """Note that the answer of exchange `n` never reached its client."""
        self._change(n, _without_answer)

    def send(self, n: int, real: Duration | None) -> None:
        """Note that the answer of exchange `n`, which a rule has held, is sent now, by the stopwatch."""
        self._change(n, lambda each: each._replace(is_held=False, left=real))

    def _change(self, n: int, change: Callable[[JournalEntry], JournalEntry]) -> None:
        for place in range(len(self.exchanges) - 1, -1, -1):
            entry = self.exchanges[place]
            if entry.n == n:
                changed = self.exchanges[place] = change(entry)
                self.size_bytes += changed.size_bytes - entry.size_bytes
                return

    def since(self, n: int) -> list[JournalEntry]:
        """The exchanges after number `n`, oldest first."""
        return [exchange for exchange in self.exchanges if exchange.n > n]

    def copy(self) -> Journal:
        twin = Journal(self.limits)
        twin.exchanges, twin.transitions = self.exchanges.copy(), self.transitions.copy()
        twin.last_exchange, twin.last_transition = self.last_exchange, self.last_transition
        twin.steps, twin.lost_steps = self.steps.copy(), self.lost_steps
        twin.size_bytes = self.size_bytes
        return twin
