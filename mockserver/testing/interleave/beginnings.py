"""
Beginnings of orders that were run: how each call in them was answered, and the sandbox after them.

A run that begins like an earlier one runs its clients' code from the start, gives their calls the answers that these had
then, and continues with the sandbox as the earlier one had it. It is the same run, without the work of the calls.

1. A beginning is recorded as long as each of its steps is a start or one call in process by the client's own thread, and no
   client has reached the sandbox's state in another way, since the state is not there while answers are repeated.
2. If a client's calls are not those of the beginning, or the setup leaves another sandbox, the run is repeated without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from mockserver.core.instants import Instant
from mockserver.core.state.records import Chat, ChatAttributes
from mockserver.core.state.sandbox import Checkpoint, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.testing.interleave.gate import Answered
from mockserver.testing.interleave.played import Decision, ReleasedStep
from mockserver.testing.interleave.schedules import Release

_BYTES_MAX = 100_000_000  # of all beginnings of one search, by estimate
_RECORD_BYTES = 100  # of a record, an entry of the journal or a step, which other copies share but for its place


class OtherBeginning(Exception):
    """The clients or the setup differ from those of the beginning that was to be repeated."""


class RecordedStep(NamedTuple):
    """A step with the choice that led to it, and its call with the answer; None for a start."""

    step: ReleasedStep
    decision: Decision
    answered: Answered | None


class Moment(NamedTuple):
    """
    A run between two steps.

    Attributes:
        state: The sandbox.
        budgets: Its rate budgets.
        previews: Its stored previews.
        run: What the run itself has noted.
    """

    state: Checkpoint
    budgets: Mapping[str, Sequence[Instant]]
    previews: Mapping[tuple[str, str], tuple[Instant, int]]
    run: Any

    @classmethod
    def of(cls, state: SandboxState, run: Any) -> Moment:
        """Return the present moment. Lock: the caller holds the sandbox's."""
        budgets = {key: tuple(instants) for key, instants in state.rate_budgets.items()}
        return cls(state.checkpoint(), budgets, dict(state.cached_previews), run)

    def restore(self, state: SandboxState) -> None:
        """Let a sandbox with the same choices be as it was at this moment. Lock: the caller holds the sandbox's."""
        choices = state.choices
        state.load(self.state)
        state.choices = choices  # of which this run tracks the reads
        state.journal.replace_choices(self.state.choices, choices)
        state.rate_budgets = {key: deque(instants) for key, instants in self.budgets.items()}
        state.cached_previews = dict(self.previews)

    @property
    def size_bytes(self) -> int:
        """The estimated memory that no other moment shares."""
        tables = [table for tenant in self.state.tenants.values() for table in _tables(tenant)]
        journal = self.state.journal
        return _RECORD_BYTES * (sum(map(len, tables)) + len(journal.exchanges) + len(journal.transitions))


class Beginning(NamedTuple):
    """The steps of a beginning, and the moment after them."""

    steps: Sequence[RecordedStep]
    moment: Moment


class _Place:
    """A place in the tree of beginnings."""

    __slots__ = ("longer", "moment", "recorded")

    def __init__(self, recorded: RecordedStep | None) -> None:
        self.recorded = recorded
        self.moment: Moment | None = None
        self.longer: dict[str, _Place] = {}


class Beginnings:
    """
    Lifetime: one search.

    Args:
        bound: The most preemptions of an order; of one beyond it no beginning is needed.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.root = _Place(None)
        self.start: Any = None  # what the setup leaves
        self.left_bytes = _BYTES_MAX

    def longest(self, prefix: Sequence[str]) -> Beginning | None:
        """Return the longest beginning of an order that is recorded; None if there is none."""
        place, steps, longest = self.root, list[RecordedStep](), None
        for name in prefix:
            following = place.longer.get(name)
            if following is None or following.recorded is None:
                break
            place = following
            steps.append(following.recorded)
            if place.moment is not None:
                longest = len(steps), place.moment
        return None if longest is None else Beginning(steps[: longest[0]], longest[1])

    def starts_with(self, state: SandboxState) -> bool:
        """Return True if the setup has left the same sandbox as in the first run."""
        start = _facts(state)
        if self.start is None:
            self.start = start
        return bool(self.start == start)


class Recorder:
    """
    Records the beginnings of one run at which other orders branch off.

    Args:
        beginnings: Those of the search.
        state: The sandbox after the setup.
        known: The number of steps from which on other orders branch off.
    """

    def __init__(self, beginnings: Beginnings, state: SandboxState, known: int) -> None:
        self._beginnings, self._state, self._known = beginnings, state, known
        self._place, self._pending = beginnings.root, list[RecordedStep]()
        self._now, self._commands = state.now, _commands(state)
        self._cost = self._count = 0

    def note(self, options: Sequence[Release], run: Callable[[], Any]) -> None:
        """Record the present moment if another order is to branch off here, at one of these options."""
        beginnings = self._beginnings
        is_needed = self._count >= self._known and any(
            self._cost + each.cost <= beginnings.bound for each in options[1:]
        )
        if not is_needed or not self.is_open or not self._count:
            return
        for recorded in self._pending:
            self._place = self._place.longer.setdefault(recorded.step.actor, _Place(recorded))
            answer = recorded.answered.answer if recorded.answered is not None else None
            beginnings.left_bytes -= _RECORD_BYTES + len(getattr(answer, "body", b""))
        self._pending.clear()
        if self._place.moment is None:
            with self._state.lock:
                self._place.moment = Moment.of(self._state, run())
            beginnings.left_bytes -= self._place.moment.size_bytes

    def add(self, recorded: RecordedStep) -> None:
        """Add a step."""
        self._pending.append(recorded)
        self._cost += recorded.decision.chosen.cost
        self._count += 1

    @property
    def is_open(self) -> bool:
        """True as long as other orders may branch off; most of those at the bound are not worth a record."""
        return self._cost < self._beginnings.bound and self._beginnings.left_bytes > 0

    def is_repeatable(self) -> bool:
        """Return True if nothing but calls has changed the sandbox so far."""
        return self._state.now == self._now and _commands(self._state) == self._commands


def _commands(state: SandboxState) -> int:
    return len(state.journal.commands) + state.journal.dropped_commands


def _tables(tenant: Tenant) -> list[Any]:
    values = [value for name, value in vars(tenant).items() if name != "chats"]
    return [value for value in values if isinstance(value, dict)]


def _facts(state: SandboxState) -> Any:
    """Return what a sandbox contains, for a comparison with another one."""
    journal, tenants = state.journal, state.checkpoint().tenants.values()
    calls = [(entry.call, entry.status, entry.answer) for entry in journal.exchanges]
    return (
        state.clock, dict(state.keys), dict(state.choices), list(state.timers), dict(state.counters), list(state.events),
        len(state.visits), len(state.outbox.deliveries), dict(state.rule_set.rules), list(map(_facts_of_tenant, tenants)),
        journal.last_exchange, journal.last_transition, calls, _commands(state),
    )  # fmt: skip


def _facts_of_tenant(tenant: Tenant) -> Any:
    chats = _facts_of_chats(tenant.chats.rows)
    executions = [
        (each._replace(targets=()), [chat.id for chat in each.targets]) for each in tenant.executions.values()
    ]
    others = [value for name, value in vars(tenant).items() if name not in ("chats", "executions")]
    return chats, executions, others


def _facts_of_chats(chats: Iterable[Chat]) -> list[Any]:
    """Return the chats with the values of their attributes, which are many chats' and equal to no others."""
    values: dict[int, Any] = {}
    rows = []
    for chat in chats:
        key = id(chat.attributes)
        rows.append((chat.seq, chat.id, values.get(key) or values.setdefault(key, _VALUES(chat.attributes))))
    return rows


_VALUES = attrgetter(*ChatAttributes._fields)
