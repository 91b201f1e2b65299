"""The calls that a sandbox has received: by operation, in their order, and waits for later ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import OperationName, operations_named
from mockserver.core.instants import from_datetime, to_datetime
from mockserver.report.run.exchanges import format_line
from mockserver.testing.arguments import instant
from mockserver.testing.backend import Backend, pass_until
from mockserver.testing.calls import (
    CallMismatch,
    Calls,
    Conditions,
    Exchange,
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
        return self._calls(operation, self._log.exchanges)

    def _calls(self, operation: str, journal: list[Exchange], after: int = 0) -> Calls:
        """Return the calls of an operation with a number above `after`; a mismatch still shows the whole journal."""
        operations = operations_named(operation)
        calls = [exchange for exchange in journal if exchange.n > after and exchange.operation in operations]
        return Calls(operation, calls, journal)

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

    @contextmanager
    def expecting(
        self,
        operation: OperationName,
        conditions: Conditions | None = None,
        /,
        *,
        times: int = 1,
        timeout: float | None = None,
        within: str | float | None = None,
        **named: Any,
    ) -> Iterator[None]:
        """
        Check that the block causes calls of an operation.

        Args:
            operation: The id of an operation.
            conditions: Expected values by path: `body.name`, `path.id`, `query.limit`, `header.x`, `status`.
            times: The exact number of calls.
            timeout: Real seconds to wait after the block for calls of other threads.
            within: A length of time by which the sandbox's clock may advance after the block.
            **named: Expected members of the body.

        Raises:
            CallMismatch: There were more or fewer.
        """
        before = max((exchange.n for exchange in self._log.exchanges), default=0)
        yield
        __tracebackhide__ = True
        calls = self._until(operation, condition_paths(conditions, named), times, before, timeout or 0, within)
        calls.times(times)

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
        calls = self._until(operation, paths, times, 0, timeout, within)
        if len(calls) < times:
            limit = f"within {within}" if within is not None else f"within {timeout:g} s"
            expected = f"at least {times} call{'s' if times > 1 else ''} of {operation} {limit}"
            journal = self._log.exchanges
            raise too_few(expected, len(calls), paths, self._calls(operation, journal).where(), journal)
        return calls

    def _until(
        self, operation: str, paths: Conditions, times: int, after: int, timeout_s: float, within: str | float | None
    ) -> Calls:
        def calls() -> Calls:
            return self._calls(operation, self._log.exchanges, after).where(paths)

        def is_enough() -> bool:
            return len(calls()) >= times

        if within is not None:
            self._advance_until(is_enough, within)
        elif timeout_s:
            self._backend.wait_until(is_enough, timeout_s)
        return calls()

    def _advance_until(self, condition: Callable[[], bool], within: str | float) -> bool:
        """Advance the sandbox's clock from one due timer to the next until the condition holds, at most `within`."""
        length = parse_duration(within)
        if length is None:
            raise ValueError(f"within: got {within!r}; expected 20m, 1h30m, 3500ms or seconds")
        now = instant(self._backend.run("readClock")["now"])
        limit = to_datetime(from_datetime(now) + length)
        while not condition():
            now = instant(self._backend.run("readClock")["now"])
            if now >= limit:
                return False
            due = self._clock.next_due
            until = limit if due is None else max(now, min(due, limit))
            pass_until(self._backend, from_datetime(until))
        return True
