"""What a test asks of a sandbox's calls: which there were, in what order, and whether they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from mockserver.contract.endpoints import Operation
from mockserver.server.control import sandboxes
from mockserver.server.errors import ControlError
from mockserver.testing.backend import Holding
from mockserver.testing.calls import (
    CallMismatch,
    Calls,
    Conditions,
    Exchange,
    condition_paths,
    format_journal,
    format_line,
    read,
    too_few,
)

if TYPE_CHECKING:
    from mockserver.testing import bodies

_Any = Exchange[Any, Any]


def _operations(written: str) -> tuple[str, ...]:
    try:
        return sandboxes.operations(written)
    except ControlError as refusal:
        raise ValueError(refusal.message) from None


class Asking(Holding):
    """A sandbox's calls, by operation."""

    @property
    def exchanges(self) -> list[_Any]:
        """Every call so far, oldest first, also of paths that are no operation."""
        return [read(each) for each in self._command(sandboxes.read_journal)["exchanges"]]

    @overload
    def calls(self, operation: Literal["listTemplates"]) -> Calls[None, bodies.ListTemplatesAnswer]: ...

    @overload
    def calls(self, operation: Literal["readTemplate"]) -> Calls[None, bodies.ReadTemplateAnswer]: ...

    @overload
    def calls(self, operation: Literal["readFilterSchema"]) -> Calls[None, bodies.ReadFilterSchemaAnswer]: ...

    @overload
    def calls(
        self, operation: Literal["previewAudience"]
    ) -> Calls[bodies.PreviewAudienceRequest, bodies.PreviewAudienceAnswer]: ...

    @overload
    def calls(
        self, operation: Literal["createCampaign"]
    ) -> Calls[bodies.CreateCampaignRequest, bodies.CreateCampaignAnswer]: ...

    @overload
    def calls(self, operation: Literal["listCampaigns"]) -> Calls[None, bodies.ListCampaignsAnswer]: ...

    @overload
    def calls(self, operation: Literal["readCampaign"]) -> Calls[None, bodies.ReadCampaignAnswer]: ...

    @overload
    def calls(self, operation: Literal["readExecution"]) -> Calls[None, bodies.ReadExecutionAnswer]: ...

    @overload
    def calls(
        self, operation: Literal["startCampaign"]
    ) -> Calls[bodies.StartCampaignRequest, bodies.StartCampaignAnswer]: ...

    @overload
    def calls(self, operation: Literal["cancelCampaign"]) -> Calls[None, None]: ...

    @overload
    def calls(
        self, operation: Literal["createConnectionSession"]
    ) -> Calls[bodies.CreateConnectionSessionRequest, bodies.CreateConnectionSessionAnswer]: ...

    @overload
    def calls(self, operation: Literal["readConnectionSession"]) -> Calls[None, bodies.ReadConnectionSessionAnswer]: ...

    @overload
    def calls(self, operation: Literal["readEntrypoint"]) -> Calls[None, bodies.ReadEntrypointAnswer]: ...

    @overload
    def calls(self, operation: Literal["uploadMedia"]) -> Calls[Any, bodies.UploadMediaAnswer]: ...

    @overload
    def calls(self, operation: Literal["listMessages"]) -> Calls[None, bodies.ListMessagesAnswer]: ...

    @overload
    def calls(self, operation: Literal["readFormPolicy"]) -> Calls[None, bodies.ReadFormPolicyAnswer]: ...

    @overload
    def calls(self, operation: str) -> Calls[Any, Any]: ...

    def calls(self, operation: str) -> Calls[Any, Any]:
        """The calls so far of an operation, an id, `METHOD /path` as the document writes it, or `*`."""
        return self._calls(operation, self.exchanges)

    def _calls(self, operation: str, journal: list[_Any], after: int = 0) -> Calls[Any, Any]:
        """The calls of an operation with a number beyond `after`; a miss shows the whole journal all the same."""
        wanted = _operations(operation)
        return Calls(operation, [each for each in journal if each.n > after and each.operation in wanted], journal)

    def assert_order(self, *operations: Operation, exact: bool = False) -> None:
        """These were called in this order, with others between them; `exact`, these and no others."""
        __tracebackhide__ = True
        journal, left = self.exchanges, [_operations(each) for each in operations]
        names, came = list(operations), "at the start"
        for each in journal:
            if left and each.operation in left[0]:
                left, names, came = left[1:], names[1:], f"after {format_line(each)}"
            elif exact:
                wanted = names[0] if names else "no more calls"
                self._out_of_order(operations, f"wanted {wanted} {came}; came {format_line(each)}", journal, each.n)
        if left:
            early = [each.n for each in journal if each.operation in left[0]]
            before = f"; it came before, as #{early[-1]}" if early else ""
            self._out_of_order(operations, f"no {names[0]} {came}{before}", journal, None)

    def _out_of_order(self, operations: tuple[str, ...], found: str, journal: list[_Any], n: int | None) -> None:
        __tracebackhide__ = True
        raise CallMismatch(f"expected the order {', '.join(operations)}: {found}", format_journal(journal), n)

    @contextmanager
    def expecting(
        self,
        operation: Operation,
        conditions: Conditions | None = None,
        /,
        *,
        times: int = 1,
        timeout: float | None = None,
        within: str | float | None = None,
        **named: Any,
    ) -> Iterator[None]:
        """
        The block causes so many calls with these values, no more and no fewer.

        What other threads do is waited for: `timeout` real seconds, or `within` so long on the sandbox's clock.
        """
        before = max((each.n for each in self.exchanges), default=0)
        yield
        __tracebackhide__ = True
        found = self._until(operation, condition_paths(conditions, named), times, before, timeout or 0, within)
        found.times(times)

    def wait_for(
        self,
        operation: Operation,
        conditions: Conditions | None = None,
        /,
        *,
        times: int = 1,
        timeout: float = 5.0,
        within: str | float | None = None,
        **named: Any,
    ) -> Calls[Any, Any]:
        """
        The calls with these values once there are so many: those there are already count.

        Other threads are waited for, at most `timeout` real seconds, also under a frozen clock; nothing sleeps. With `within`
        the sandbox's clock is moved instead, from one due thing to the next.
        """
        __tracebackhide__ = True
        wanted = condition_paths(conditions, named)
        found = self._until(operation, wanted, times, 0, timeout, within)
        if len(found) < times:
            waited = f"within {within}" if within is not None else f"within {timeout:g} s"
            many = f"at least {times} call{'s' if times > 1 else ''} of {operation} {waited}"
            journal = self.exchanges
            raise too_few(many, len(found), wanted, self._calls(operation, journal).where(), journal)
        return found

    def _until(
        self, operation: str, wanted: Conditions, times: int, after: int, timeout_s: float, within: str | float | None
    ) -> Calls[Any, Any]:
        def found() -> Calls[Any, Any]:
            return self._calls(operation, self.exchanges, after).where(wanted)

        def holds() -> bool:
            return len(found()) >= times

        if within is not None:
            self._pass_until(holds, within)
        elif timeout_s:
            self._wait_until(holds, timeout_s)
        return found()

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Wait in real time for other threads."""
        raise NotImplementedError

    def _pass_until(self, holds: Callable[[], bool], within: str | float) -> bool:
        """Let the sandbox's time pass, at most so long."""
        raise NotImplementedError
