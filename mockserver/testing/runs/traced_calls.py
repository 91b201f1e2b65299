"""
The calls of one run as Explore compares them: request, class of the answer, and state of the record that the call addresses.

A call is comparable by its method, route, the names in its query and a hash of its body without ids and instants.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.run import Run
from mockserver.core.state.journal import Transition
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace

ID = re.compile(r"\b[a-z][a-z_]*_[a-z0-9]{8,}\b")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")
_HASH_CHARS = 12
_CAMPAIGN_PATH = "/v1/campaigns/"

Comparable = tuple[str, str]  # method and route with the query's names, and the body's hash


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """
    One call of a run, with its place in it.

    Attributes:
        exchange: The call.
        number: Among the calls of the run, from 1; calls of no operation do not count.
        nth: Among the calls of its operation, from 1.
        operation: The id of the operation; of HEAD that of GET, since rules count both.
        request: The call as it is compared.
        answer: The class of the answer: its status and code, and for each member of its object whether it has a value.
        statuses: The kind and the status of each record that had changed in this run before the call, by its id.
        by_socket: True if a socket carried it.
    """

    exchange: Exchange
    number: int
    nth: int
    operation: str
    request: Comparable
    answer: str
    statuses: Mapping[str, tuple[str, str]]
    by_socket: bool

    @property
    def is_refused(self) -> bool:
        """True if the service refused the call, which then changed nothing."""
        return self.answer.startswith("4")

    @property
    def answer_bytes(self) -> int:
        """The length of the answer's body; 0 if there was none."""
        return len(self.exchange.response_body or b"")

    @property
    def addressed(self) -> str | None:
        """The id of the campaign or session that its path names; None if it names neither."""
        of_campaign = self.exchange.path.startswith(_CAMPAIGN_PATH)
        return self.exchange.params.get("id" if of_campaign else "sessionId")

    @property
    def state(self) -> str:
        """The status of each record that its path names, before the call."""
        named = ((name, self.statuses.get(value, ("", "-"))) for name, value in self.exchange.params.items())
        return " ".join(f"{name}={status}" for name, (_, status) in named)

    @property
    def key(self) -> tuple[str, Comparable, str, str]:
        """The parts that are equal for calls that Explore takes for one."""
        return self.operation, self.request, self.answer, self.state

    def ids(self, kind: str, status: str) -> tuple[str, ...]:
        """Return the ids of the records of a kind that had a status before the call."""
        return tuple(id for id, named in self.statuses.items() if named == (kind, status))


def traced_calls(run: Run, trace: Trace, by_socket: Collection[int]) -> list[TracedCall]:
    """
    Return the calls of operations in a run, oldest first.

    Args:
        run: The sandbox after the run. Lock: the caller holds it.
        trace: That of the run.
        by_socket: The numbers of the exchanges that a socket carried.
    """
    calls, counts = list[TracedCall](), Counter[str]()
    left, statuses = deque(trace.sandbox.transitions), dict[str, tuple[str, str]]()
    for entry, exchange in zip(run.exchanges, trace.exchanges, strict=True):
        operation = entry.operation
        if operation is None:
            continue
        counts[operation] += 1
        passed: list[Transition] = []
        while left and _is_before(left[0], exchange):
            passed.append(left.popleft())
        if passed:  # equal for all calls between two changes
            statuses = {**statuses, **{each.id: (each.kind, each.target) for each in passed}}
        calls.append(
            TracedCall(
                exchange=exchange,
                number=len(calls) + 1,
                nth=counts[operation],
                operation=operation,
                request=_comparable(exchange, operation),
                answer=_answer_class(exchange),
                statuses=statuses,
                by_socket=exchange.number in by_socket,
            )
        )
    return calls


def _is_before(transition: Transition, exchange: Exchange) -> bool:
    """Return True for what happened before the operation of a call ran."""
    by = transition.cause.get("exchange")
    return by < exchange.number if isinstance(by, int) else transition.at <= exchange.at


def _comparable(exchange: Exchange, operation: str) -> Comparable:
    """Return method and route with the query's names, and a hash of the body without ids and instants."""
    names = sorted({name for name, _ in exchange.query})
    query = f"?{'&'.join(names)}" if names else ""
    body = exchange.read_body
    text = json.dumps(body, sort_keys=True, default=str) if body is not None else ""
    bare = INSTANT.sub("TIME", ID.sub("ID", text))
    digest = hashlib.sha256(bare.encode()).hexdigest()[:_HASH_CHARS] if bare else ""
    return f"{exchange.method} {ENDPOINTS[operation].path}{query}", digest


def _answer_class(exchange: Exchange) -> str:
    if exchange.status is None:
        return "none"
    body = exchange.response_json
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
