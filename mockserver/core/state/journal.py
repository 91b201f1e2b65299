"""
The journal of a sandbox: recorded calls, transitions and commands, numbered from 1, bounded by number and by bytes.

1. It holds the latest entries only (`Limits`); numbers continue. The latest entry stays, however large it is.
2. Restoring a checkpoint restores the whole journal.
3. No entry refers to an exception or a frame, which would keep the whole call in memory.

Sizes are estimates from above. A JSON value is counted by its text: to traverse the value would cost more than to
store it, and its objects are many times larger than the text.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.effects import UNREADABLE, deciding
from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.calls import Call, Refused
from mockserver.core.state.copying import with_own_tables
from mockserver.core.state.rules import AppliedFault, GivenUp

_DEFERRING = frozenset(deciding("wait"))  # effects that hold a call back before its operation
ENTRY_BYTES = 1_536  # of the records of one exchange or command themselves
_PAIR_BYTES = 200  # of a header or a query pair: two texts and their place
_VALUE_BYTES = 112  # of one JSON value: the largest of the small ones is a Decimal
_CHARACTER_BYTES = 4


def of_json(text: bytes) -> int:
    """Return the size of the value of this JSON text."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return _CHARACTER_BYTES * len(text) + _VALUE_BYTES * values


def of_call(call: Call) -> int:
    """Return the size of a call as the journal records it."""
    size = len(call.path) + (len(call.body) if call.body else 0)
    size += sum(map(len, call.headers.values())) + _PAIR_BYTES * (len(call.headers) + len(call.query))
    return size + sum(len(name) + len(value) for name, value in call.query)


COMMANDS_MAX = 1_000  # a run with more commands than that is not replayed from its document


class Limits(NamedTuple):
    """
    How much a journal holds.

    `max_entries` bounds its exchanges, and likewise its transitions; `max_bytes` its exchanges and commands together.
    """

    max_entries: int = JOURNAL_MAX_ENTRIES
    max_bytes: int = JOURNAL_MAX_BYTES


DEFAULT_LIMITS = Limits()


class JournalEntry(NamedTuple):
    """
    One call of the public API and its response.

    `applied` is True if the operation took effect or returned, False if it was refused or did not run.
    `status` is None if no response reached the client; `fault` is what a rule did to the exchange on the wire.
    `body` is the JSON value of the request's body, None if it is not JSON.
    `choices` are those of the sandbox that differed from their default then.
    `monotonic_us` is the process's monotonic clock, None if there is none; no response or view shows it.
    `process` is the process's own instant if a test had frozen it; `limited_at` is the same at a 429, frozen or not.
    `answer_cut_from_bytes` is the size of the whole response body if `answer` is only its beginning, else None.
    `size_bytes` is the size of the entry as counted against the journal's bound.
    `is_reused` is True for a call matched by a rule on a connection that had carried an earlier call.
    `given_up` says when the client of a call that arrived late had sent it; None for any other call.
    `is_held` is True while a rule delays the response; `left` is the monotonic clock when a delayed response was sent.
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
    limited_at: Instant | None = None
    answer_cut_from_bytes: int | None = None
    size_bytes: int = 0
    is_reused: bool = False
    is_held: bool = False
    left: Duration | None = None
    given_up: GivenUp | None = None

    @property
    def arrived_late(self) -> bool:
        """Return True if a rule delayed the call until its client had disconnected: the client did not choose its time."""
        return self.status is None and self.fault is not None and not _DEFERRING.isdisjoint(self.fault.effects)

    @property
    def was_received(self) -> bool:
        """Return True if the client received the whole response as the API sent it."""
        effects = self.fault.effects if self.fault is not None else {}
        return self.status is not None and UNREADABLE.isdisjoint(effects)

    @property
    def request(self) -> tuple[object, ...]:
        """A key that is equal for equal requests."""
        call = self.call
        return self.operation, tuple(call.params.items()), tuple(call.query), call.body, call.cut_from_bytes

    @property
    def retry_after(self) -> str:
        """The response's Retry-After as it was sent; empty without one."""
        return next((value for name, value in self.headers if name.lower() == "retry-after"), "")

    @property
    def sent_at(self) -> Instant:
        """The instant at which the client sent this call."""
        return self.at if self.given_up is None else self.given_up.sent_at

    @property
    def follows(self) -> int:
        """The number of the last exchange when the client sent this call."""
        return self.n - 1 if self.given_up is None else self.given_up.last_exchange

    @property
    def place_as_sent(self) -> tuple[int, bool, int]:
        """The key that sorts exchanges as clients sent them, not as they arrived."""
        return self.follows, self.given_up is None, self.n

    def __repr__(self) -> str:  # the call's headers hold a key
        return f"JournalEntry(n={self.n}, operation={self.operation!r}, status={self.status})"


class Transition(NamedTuple):
    """
    One transition of one record; `cause` is {"exchange": n}, {"timer": trigger}, {"rule": id}, {"page": step} or {"forced": command}.

    Of a delivery it may also be {"event": id}, {"attempt": n}, with "beforeAnswer": n of the call that then got its
    response, {"script": effect} or {"webhook": "disabled"}.
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
    One command to the sandbox from outside the API, with its arguments; keys are redacted.

    `exchanges` and `transitions` are the numbers of the last ones before it. A deferred call has a record too: its
    arguments are the call and how long its client would wait.
    """

    at: Instant
    exchanges: int
    transitions: int
    command: str
    arguments: Mapping[str, Any]
    size_bytes: int = 0

    def __repr__(self) -> str:  # a call's headers hold a key
        return f"CommandRecord(command={self.command!r}, exchanges={self.exchanges})"


def _without_answer(entry: JournalEntry) -> JournalEntry:
    size_bytes = entry.size_bytes - len(entry.answer)
    return entry._replace(
        status=None, headers=(), answer=b"", answer_cut_from_bytes=None, size_bytes=size_bytes, is_held=False
    )


class Journal:
    """
    The recorded calls, transitions and commands of one sandbox.

    Lifetime: the sandbox's.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.exchanges: deque[JournalEntry] = deque()
        self.transitions: deque[Transition] = deque(maxlen=limits.max_entries)
        self.commands: deque[CommandRecord] = deque()
        self.size_bytes = 0  # of exchanges and commands
        self.last_exchange = 0
        self.last_transition = 0
        self.dropped_commands = 0
        self._chosen: tuple[Mapping[str, object], Mapping[str, object]] = (DEFAULTS, {})

    def non_default_choices(self, choices: Mapping[str, object]) -> Mapping[str, object]:
        """Return the choices that differ from their default; computed once, since choices are replaced as a whole."""
        if self._chosen[0] is not choices:
            self._chosen = choices, {id: option for id, option in choices.items() if option != DEFAULTS[id]}
        return self._chosen[1]

    def add_exchange(self, exchange: JournalEntry) -> None:
        """Add an exchange; the oldest entries make room for it."""
        self.last_exchange = exchange.n
        self.exchanges.append(exchange)
        self.size_bytes += exchange.size_bytes
        limits = self.limits
        if len(self.exchanges) > limits.max_entries:
            self._drop_exchange()
        if self.size_bytes > limits.max_bytes:
            self._make_room()

    def add_transition(
        self, at: Instant, kind: str, id: str, source: str | None, target: str, cause: Mapping[str, object]
    ) -> None:
        self.last_transition += 1
        self.transitions.append(
            Transition(n=self.last_transition, at=at, kind=kind, id=id, source=source, target=target, cause=cause)
        )

    def add_command(
        self, command: str, arguments: Mapping[str, Any], at: Instant, exchanges: int, transitions: int
    ) -> None:
        """Add a command; beyond `COMMANDS_MAX` the oldest is dropped and counted in `dropped_commands`."""
        call = arguments.get("call")
        size_bytes = ENTRY_BYTES
        size_bytes += of_call(call) if isinstance(call, Call) else of_json(repr(arguments).encode(errors="replace"))
        self.commands.append(
            CommandRecord(
                at=at,
                exchanges=exchanges,
                transitions=transitions,
                command=command,
                arguments=arguments,
                size_bytes=size_bytes,
            )
        )
        self.size_bytes += size_bytes
        if len(self.commands) > COMMANDS_MAX:
            self._drop_command()
        self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest exchanges and commands until the rest is within its bytes; the latest of them stays."""
        while self.size_bytes > self.limits.max_bytes and len(self.exchanges) + len(self.commands) > 1:
            if not self.commands or (self.exchanges and self.exchanges[0].n <= self.commands[0].exchanges):
                self._drop_exchange()
            else:
                self._drop_command()

    def _drop_exchange(self) -> None:
        self.size_bytes -= self.exchanges.popleft().size_bytes

    def _drop_command(self) -> None:
        self.size_bytes -= self.commands.popleft().size_bytes
        self.dropped_commands += 1

    def mark_unanswered(self, n: int) -> None:
        """Record that the response of exchange `n` never reached its client."""
        self._change(n, _without_answer)

    def send(self, n: int, monotonic_us: Duration | None) -> None:
        """Record that the delayed response of exchange `n` is sent now, by the monotonic clock."""
        self._change(n, lambda entry: entry._replace(is_held=False, left=monotonic_us))

    def _change(self, n: int, change: Callable[[JournalEntry], JournalEntry]) -> None:
        for place in range(len(self.exchanges) - 1, -1, -1):
            entry = self.exchanges[place]
            if entry.n == n:
                changed = self.exchanges[place] = change(entry)
                self.size_bytes += changed.size_bytes - entry.size_bytes
                return

    def since(self, n: int) -> list[JournalEntry]:
        """Return the exchanges after number `n`, oldest first."""
        return [exchange for exchange in self.exchanges if exchange.n > n]

    def copy(self) -> Journal:
        return with_own_tables(self)


Shown = TypeVar("Shown")


def containing(entries: Iterable[JournalEntry], text: str, render: Callable[[JournalEntry], Shown]) -> Iterator[Shown]:
    """
    Yield the entries that contain a text, rendered, one at a time.

    A text is compared with what a call shows, its keys redacted: a search must not find a secret that no answer contains.

    Args:
        entries: of the journal, in any order.
        text: in upper or lower case.
        render: returns an entry as the control plane's answer has it.
    """
    folded = text.casefold()
    for entry in entries:
        exchange = render(entry)
        if folded in json.dumps(exchange, ensure_ascii=False, default=str).casefold():
            yield exchange
