"""
The calls of one run as Explore compares them: request, class of the answer, and state of the record that the call addresses.

A call is comparable by its method, route, the names in its query and a hash of its body without ids and instants.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.text import json_value
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry, Transition

ID = re.compile(r"\b[a-z][a-z_]*_[a-z0-9]{8,}\b")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")
_HASH_CHARS = 12
_CAMPAIGN_PATH = "/v1/campaigns/{id}"

Comparable = tuple[str, str]  # method and route with the query's names, and the body's hash


def comparable(exchange: JournalEntry) -> Comparable:
    """Return method and route with the query's names, and a hash of the body without ids and instants."""
    call = exchange.call
    route = call.endpoint.path if call.endpoint else ID.sub("{id}", call.path)
    names = sorted({name for name, _ in call.query})
    query = f"?{'&'.join(names)}" if names else ""
    text = json.dumps(exchange.body, sort_keys=True, default=str) if exchange.body is not None else ""
    bare = INSTANT.sub("TIME", ID.sub("ID", text))
    return f"{call.method} {route}{query}", hashlib.sha256(bare.encode()).hexdigest()[:_HASH_CHARS] if bare else ""


class TracedCall(NamedTuple):
    """
    One call of a run.

    Attributes:
        number: Among the calls of the run, from 1; calls of no operation do not count.
        nth: Among the calls of its operation, from 1.
        operation: The id of the operation.
        request: The call as it is compared.
        answer: The class of the answer: its status and code, and for each member of its object whether it has a value.
        state: The status of each record that its path names, before the call.
        addressed: The id of the campaign or session that its path names; None if it names neither.
        running: The ids of the campaigns that are processing before the call.
        pending: The ids of the sessions that are pending before the call.
        completed: The ids of the sessions that are completed before the call.
        changed: True if a record had changed in this run before the call.
        answer_bytes: The length of the answer's body; 0 if there was none.
        by_socket: True if a socket carried it.
    """

    number: int
    nth: int
    operation: str
    request: Comparable
    answer: str
    state: str
    addressed: str | None
    running: tuple[str, ...]
    pending: tuple[str, ...]
    completed: tuple[str, ...]
    changed: bool
    answer_bytes: int
    by_socket: bool

    @property
    def is_refused(self) -> bool:
        """True if the service refused the call, which then changed nothing."""
        return self.answer.startswith("4")

    @property
    def key(self) -> tuple[str, Comparable, str, str]:
        """The parts that are equal for calls that Explore takes for one."""
        return self.operation, self.request, self.answer, self.state


def trace(run: Run, by_socket: Collection[int]) -> list[TracedCall]:
    """
    Return the calls of operations in a run, oldest first.

    Args:
        run: The sandbox after the run. Lock: the caller holds it.
        by_socket: The numbers of the exchanges that a socket carried.
    """
    calls, counts, statuses = list[TracedCall](), dict[str, int](), _Statuses(run.transitions)
    for exchange in run.exchanges:
        operation = exchange.operation
        if operation is None:
            continue
        counts[operation] = counts.get(operation, 0) + 1
        statuses.advance_to(exchange)
        path, params = exchange.call.endpoint.path if exchange.call.endpoint else "", exchange.call.params
        names = (f"{name}={statuses.of(value)}" for name, value in params.items())
        calls.append(
            TracedCall(
                number=len(calls) + 1,
                nth=counts[operation],
                operation=operation,
                request=comparable(exchange),
                answer=_answer_class(exchange),
                state=" ".join(names),
                addressed=params.get("id" if path.startswith(_CAMPAIGN_PATH) else "sessionId"),
                running=statuses.ids("campaign", "processing"),
                pending=statuses.ids("session", "pending"),
                completed=statuses.ids("session", "completed"),
                changed=statuses.has_changed,
                answer_bytes=len(exchange.answer),
                by_socket=exchange.n in by_socket,
            )
        )
    return calls


class _Statuses:
    """The status of each record while the calls of a journal are read in order."""

    def __init__(self, transitions: Sequence[Transition]) -> None:
        self._left = list(reversed(transitions))
        self._status: dict[str, tuple[str, str]] = {}  # kind and status, by id
        self.has_changed = False

    def advance_to(self, exchange: JournalEntry) -> None:
        """Apply what happened before the operation of this call ran."""
        while self._left:
            transition = self._left[-1]
            by = transition.cause.get("exchange")
            if not (by < exchange.n if isinstance(by, int) else transition.at <= exchange.at):
                return
            self._left.pop()
            self.has_changed = True
            self._status[transition.id] = transition.kind, transition.target

    def of(self, record_id: str) -> str:
        return self._status.get(record_id, ("", "-"))[1]

    def ids(self, kind: str, status: str) -> tuple[str, ...]:
        return tuple(id for id, named in self._status.items() if named == (kind, status))


def _answer_class(exchange: JournalEntry) -> str:
    if exchange.status is None:
        return "none"
    body = json_value(exchange.answer) if exchange.answer else None
    if not isinstance(body, dict):
        return f"{exchange.status} {_presence(body)}"
    members = (f"{name}={_presence(value)}" for name, value in sorted(body.items()))
    code = body.get("code") if exchange.status >= 400 else body.get("status")
    return f"{exchange.status} {code} {' '.join(members)}"


def _presence(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | dict | str):
        return "some" if value else "empty"
    return "value"


def first_difference(one: Sequence[TracedCall], other: Sequence[TracedCall]) -> str | None:
    """Return the first difference of two clean runs as text; None if they have the same calls."""
    for first, second in zip(one, other, strict=False):
        if first.request != second.request:
            return f"call {first.number} is {_called(first)} in the first run and {_called(second)} in the second"
    if len(one) == len(other):
        return None
    longer = one if len(one) > len(other) else other
    which = "first" if longer is one else "second"
    extra = longer[min(len(one), len(other))]
    return f"the runs have {len(one)} and {len(other)} calls; only the {which} one has call {extra.number}, {_called(extra)}"


def lacks_calls(one: Sequence[TracedCall], other: Sequence[TracedCall]) -> bool:
    """
    Return True if the second of two clean runs lacks what the first one did: state outside of its sandbox decides its calls.

    It lacks an operation that writes, or it lacks one and has no other instead. A client that calls by chance what it likes
    reads something else, or the same less often.
    """
    had, has = {call.operation for call in one}, {call.operation for call in other}
    return any(ENDPOINTS[operation].method != "GET" for operation in had - has) or has < had


def _called(call: TracedCall) -> str:
    route, body = call.request
    return f"{route} with the body {body}" if body else route
