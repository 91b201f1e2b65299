"""What has happened so far, as invariants look at it: the exchanges, in which step each was made, and the world behind them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from mockserver.contract.effects import UNREADABLE
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.text import json_value
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant

FINAL = {
    "readExecution": frozenset(LIFECYCLES["execution"].final),
    "readConnectionSession": frozenset(LIFECYCLES["session"].final),
    "readCampaign": frozenset(LIFECYCLES["campaign"].final),
}
Request = tuple[str | None, str, bytes]


class ExampleLog:
    """
    The exchanges of one example. A step is one rule of the machine: what a client calls within one is its own doing.

    `new` are those of the step that is being judged; earlier ones were judged when they were new.
    """

    def __init__(self, sandbox: SandboxState) -> None:
        self.sandbox = sandbox
        self._first = self._judged = sandbox.journal.last_exchange
        self._steps = [self._first]  # the last call before each step
        self.new: Sequence[JournalEntry] = ()

    @property
    def is_untouched(self) -> bool:
        """True until the first call of the example; what prepared it does not count."""
        return self.sandbox.journal.last_exchange == self._first

    def look(self) -> None:
        """See what the step has added so far."""
        found = list(takewhile(lambda each: each.n > self._judged, reversed(self.sandbox.journal.exchanges)))
        self.new = found[::-1]

    def begin_step(self) -> None:
        """What is called from now on belongs to the next step."""
        self._judged = self.sandbox.journal.last_exchange
        self._steps.append(self._judged)

    def is_one_step(self, *numbers: int | None) -> bool:
        """True where these calls were all made in one step; one that is not known was not."""
        known = [bisect_left(self._steps, number) for number in numbers if number is not None]
        return len(known) == len(numbers) and len(set(known)) == 1

    @property
    def exchanges(self) -> Sequence[JournalEntry]:
        """All of them, oldest first."""
        return list(self.sandbox.journal.exchanges)

    def of(self, *operations: str) -> list[JournalEntry]:
        """All exchanges of these operations, oldest first."""
        return [each for each in self.sandbox.journal.exchanges if each.operation in operations]

    def new_of(self, *operations: str) -> list[JournalEntry]:
        """Those of the step."""
        return [each for each in self.new if each.operation in operations]

    def between(self, first: JournalEntry, last: JournalEntry) -> list[JournalEntry]:
        """The exchanges of the step after one and before another."""
        return [each for each in self.new if first.n < each.n < last.n]

    def owner(self, exchange: JournalEntry) -> Tenant | None:
        """The tenant whose call it was."""
        return self.sandbox.tenants.get(exchange.tenant_id or "")


def is_lost(exchange: JournalEntry) -> bool:
    """True where no answer that could be read has reached the client."""
    effects = exchange.fault.effects if exchange.fault else {}
    return exchange.status is None or any(name in effects for name in UNREADABLE)


def is_success(exchange: JournalEntry) -> bool:
    """True where the client has read a success."""
    return not is_lost(exchange) and 200 <= (exchange.status or 0) < 300


def code(exchange: JournalEntry) -> str | None:
    """The code of a refusal, also of one that a rule has injected."""
    return exchange.error.code if exchange.error else None


def answer(exchange: JournalEntry) -> Any:
    """The answer's JSON, an empty object where there is none."""
    found = json_value(exchange.answer)
    return found if isinstance(found, dict) else {}


def request(exchange: JournalEntry) -> Request:
    """What makes two calls the same."""
    return exchange.operation, exchange.call.path, exchange.call.body or b""


def has_told_final(exchange: JournalEntry) -> bool:
    """True where the client has read that the campaign, execution or session is over."""
    finals = FINAL.get(exchange.operation or "", frozenset())
    return bool(finals) and is_success(exchange) and answer(exchange).get("status") in finals


def told(exchange: JournalEntry) -> str:
    """An exchange in one line."""
    row = ENDPOINTS[exchange.operation or "listCampaigns"]
    came = "no answer" if exchange.status is None else f"{exchange.status} {code(exchange) or ''}".strip()
    unread = ", unreadable" if exchange.status is not None and is_lost(exchange) else ""
    applied = ", took effect" if exchange.applied and row.method == "POST" and is_lost(exchange) else ""
    return f"#{exchange.n} {row.id} {exchange.call.path} -> {came}{unread}{applied}"
