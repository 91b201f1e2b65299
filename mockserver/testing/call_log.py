"""The calls that a sandbox has received: by operation, in their order, and waits for later ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import OperationName, operations_named
from mockserver.core.instants import from_datetime
from mockserver.report.run.exchanges import Conditions, Exchange, format_line
from mockserver.testing.backend import Backend, pass_until
from mockserver.testing.calls import (
    CallMismatch,
    Calls,
    condition_paths,
    format_journal,
    too_few,
)
from mockserver.testing.sandbox_parts import Log, SandboxClock


class CallLog:
    """
    The calls of one sandbox, as `sandbox.calls`: `sandbox.calls("startCampaign")` returns those of an operation so far.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend, self._clock, self._log = backend, SandboxClock(backend), Log(backend)

    def __call__(self, operation: OperationName) -> Calls:
        """
        Return the calls of an operation so far.

        Args:
            operation: Its id, `METHOD /path` as the API document has it, or `*` for all operations.

        Returns:
            The calls, oldest first. Later calls are not added to it.

        Raises:
            ValueError: No operation has this name.

        Example:
            >>> response = sandbox.call("GET", "/v1/campaigns")
            >>> sandbox.calls("listCampaigns").where(status=200).one().method
            'GET'
        """
        return _calls_of(operation, self._log.exchanges)

    def assert_order(self, *operations: OperationName, exact: bool = False) -> None:
        """
        Check that operations were called in this order.

        Args:
            *operations: Ids of operations, `METHOD /path`, or `*`; other calls may be between them.
            exact: Refuse any other call, before, between and after them.

        Raises:
            CallMismatch: They were not; an AssertionError that shows the journal.
            ValueError: No operation has this name.
        """
        __tracebackhide__ = True
        journal, left = self._log.exchanges, [operations_named(name) for name in operations]
        names, place = list(operations), "at the start"
        for exchange in journal:
            if left and exchange.operation in left[0]:
                left, names, place = left[1:], names[1:], f"after {format_line(exchange)}"
            elif exact:
                expected = names[0] if names else "no further call"
                mismatch = f"got {format_line(exchange)}; expected {expected} {place}"
                self._raise_mismatch(operations, mismatch, journal, exchange.n)
        if left:
            early = [exchange.n for exchange in journal if exchange.operation in left[0]]
            before = f"; it was called before, as #{early[-1]}" if early else ""
            self._raise_mismatch(operations, f"no {names[0]} {place}{before}", journal, None)

    def _raise_mismatch(
        self, operations: tuple[str, ...], mismatch: str, journal: list[Exchange], n: int | None
    ) -> None:
        __tracebackhide__ = True
        raise CallMismatch(f"expected the order {', '.join(operations)}: {mismatch}", format_journal(journal), n)

    def wait_for(
        self,
        operation: OperationName,
        conditions: Conditions | None = None,
        /,
        *,
        times: int = 1,
        timeout: float = 5.0,
        within: str | float | None = None,
        **named: Any,
    ) -> Calls:
        """
        Wait until an operation was called; calls before this one count as well.

        Args:
            operation: The id of an operation.
            conditions: Expected values by path: `body.name`, `path.id`, `query.limit`, `header.x`, `status`.
            times: The least number of calls.
            timeout: Real seconds to wait for calls of other threads, also under a frozen process clock.
            within: A length of time on the sandbox's clock, such as `"20m"`: the clock then advances from one due timer to
                the next, and no real time passes.
            **named: Expected members of the body.

        Returns:
            The calls with these values.

        Raises:
            CallMismatch: There were fewer in this time.
        """
        __tracebackhide__ = True
        paths = condition_paths(conditions, named)

        def is_enough() -> bool:
            return len(self(operation).where(paths)) >= times

        if within is None:
            self._backend.wait_until(is_enough, timeout)
        else:
            self._advance_until(is_enough, within)
        journal = self._log.exchanges
        candidates = _calls_of(operation, journal)
        calls = candidates.where(paths)
        if len(calls) < times:
            limit = f"within {timeout:g} s" if within is None else f"within {within}"
            expected = f"at least {times} call{'s' if times > 1 else ''} of {operation} {limit}"
            raise too_few(expected, len(calls), paths, candidates, journal)
        return calls

    def _advance_until(self, condition: Callable[[], bool], within: str | float) -> None:
        """Advance the sandbox's clock from one due timer to the next until the condition holds, at most `within`."""
        length = parse_duration(within)
        if length is None:
            raise ValueError(f"within: got {within!r}; expected 20m, 1h30m, 3500ms or seconds")
        now = from_datetime(self._backend.now)
        limit = now + length
        while now < limit and not condition():
            due = self._clock.next_due
            until = limit if due is None else min(from_datetime(due), limit)
            pass_until(self._backend, max(now, until))
            now = from_datetime(self._backend.now)


def _calls_of(operation: str, journal: list[Exchange]) -> Calls:
    """Return the calls of an operation; a mismatch shows the whole journal."""
    operations = operations_named(operation)
    return Calls(operation, [exchange for exchange in journal if exchange.operation in operations], journal)
