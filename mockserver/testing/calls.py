"""
Recorded calls as a test reads them, and their differences from the calls that a test expects.

A condition is a path (`body.name`, `path.id`, `query.limit`, `header.x`, `status`) with the value expected there, as in `where`
of a scenario's rule. A mismatch shows the nearest call and the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, Self, overload

from mockserver.core.state.matching import PATH_ROOTS
from mockserver.report.run.exchanges import (
    Conditions,
    Exchange,
    differences,
    format_differences,
    format_line,
    json_differences,
)


def condition_paths(conditions: Conditions | None, named: Conditions) -> dict[str, Any]:
    """Return conditions by path: `body={...}` is one for every value in it, any other bare name one for a member of the body."""
    expected: dict[str, Any] = {}
    for key, value in {**(conditions or {}), **named}.items():
        if key in PATH_ROOTS and isinstance(value, Mapping):
            expected.update(_flat(key, value))
        elif key == "status" or key.partition(".")[0] in PATH_ROOTS:
            expected[key] = value
        elif "." in key:
            raise ValueError(f"got the path {key!r}; expected status, or one that begins with {', '.join(PATH_ROOTS)}")
        else:
            expected[f"body.{key}"] = value
    return expected


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {inner: leaf for key, member in value.items() for inner, leaf in _flat(f"{path}.{key}", member).items()}


class CallMismatch(AssertionError):
    """
    The calls differ from those that a test expects.

    Attributes:
        expected: The first line of the message: what was expected, and how many calls there were.
        nearest: The number of the call with the fewest differences; None if there is none.
        extra: Lines about the last of too many calls, or about the nearest of too few.
    """

    def __init__(
        self, expected: str, lines: Sequence[str], nearest: int | None = None, extra: Sequence[str] = ()
    ) -> None:
        super().__init__("\n".join([expected, *extra, *lines]))
        self.expected = expected
        self.nearest = nearest
        self.extra = extra


class Calls(Sequence[Exchange]):
    """
    The calls of one operation at the time of reading, oldest first; a sequence of `Exchange`.

    A mismatch is an AssertionError that shows the nearest call and the journal.

    Example:
        >>> response = sandbox.call("GET", "/v1/campaigns?limit=10")
        >>> sandbox.calls("listCampaigns").where({"query.limit": "10"}).one().status
        200
    """

    def __init__(
        self,
        operation: str,
        calls: Sequence[Exchange],
        journal: Sequence[Exchange],
        expected: Conditions = MappingProxyType({}),
    ) -> None:
        self._operation = operation
        self._all = calls
        self._journal = journal
        self._expected = expected
        self._calls = [call for call in calls if not differences(call, expected)] if expected else list(calls)

    @overload
    def __getitem__(self, place: int) -> Exchange: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Exchange]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self._calls[place]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._calls)

    def where(self, conditions: Conditions | None = None, /, **named: Any) -> Self:
        """
        Return the calls with these values.

        Args:
            conditions: Expected values by path: `body.name`, `path.id`, `query.limit`, `header.x`, `status`.
            **named: Expected members of the body; `body={...}` expects every value in it, `status=409` a status.

        Raises:
            ValueError: A path does not begin with one of these names.

        Example:
            >>> sandbox.calls("createCampaign").where({"body.name": "promo"}, status=409).none()
        """
        expected = {**self._expected, **condition_paths(conditions, named)}
        return type(self)(self._operation, self._all, self._journal, expected)

    @property
    def last(self) -> Exchange:
        """
        The latest call.

        Raises:
            CallMismatch: There is none.
        """
        __tracebackhide__ = True
        return self._calls[-1] if self._calls else self._raise_mismatch("at least 1 call")

    def one(self) -> Exchange:
        """
        Return the only call.

        Raises:
            CallMismatch: There is none, or more than one.
        """
        __tracebackhide__ = True
        return self.times(1)._calls[0]

    def none(self) -> None:
        """
        Check that there are no calls.

        Raises:
            CallMismatch: There is one.
        """
        __tracebackhide__ = True
        self.times(0)

    def times(self, count: int) -> Self:
        """
        Check the number of calls, and return them.

        Args:
            count: The exact number.

        Raises:
            CallMismatch: There are more or fewer.
        """
        __tracebackhide__ = True
        if len(self._calls) != count:
            self._raise_mismatch("no call" if not count else f"exactly {count} call{'s' if count > 1 else ''}", count)
        return self

    def _raise_mismatch(self, number: str, most: int | None = None) -> NoReturn:
        __tracebackhide__ = True
        expected, count = f"{number} of {self._operation}", len(self._calls)
        if most is not None and count > most:
            raise too_many(expected, self._calls, self._expected, self._journal)
        raise too_few(expected, count, self._expected, self._all, self._journal)

    def __repr__(self) -> str:
        return f"<Calls of {self._operation}: {len(self._calls)}>"


def too_few(
    expected: str,
    count: int,
    conditions: Conditions,
    candidates: Sequence[Exchange],
    journal: Sequence[Exchange],
) -> CallMismatch:
    """Return the mismatch of too few calls, with the nearest one and the journal."""
    compared = [(call, differences(call, conditions)) for call in candidates] if conditions else []
    near = min((pair for pair in compared if pair[1]), key=lambda pair: (len(pair[1]), -pair[0].n), default=None)
    first = _expected(expected, conditions, count)
    if near is None:
        return CallMismatch(first, format_journal(journal))
    call, differs = near
    why = [f"  refused because {call.reason}"] if call.reason else []
    about = [f"nearest: {format_line(call)}", *format_differences(differs), *why]
    return CallMismatch(first, format_journal(journal), call.n, about)


def too_many(
    expected: str, calls: Sequence[Exchange], conditions: Conditions, journal: Sequence[Exchange]
) -> CallMismatch:
    """Return the mismatch of too many calls, with the last one and its difference from the one before."""
    extra = [f"the last of them is {format_line(calls[-1])}"]
    if len(calls) > 1:
        before, last = calls[-2:]
        apart = json_differences("body", before.body, last.body) if before.body != last.body else []
        if apart:
            first = format_differences(apart)[0].strip()
            in_order = first.replace(": got", ":").replace(", expected", ", before")
            extra.append(f"  #{before.n} and #{last.n} differ: {in_order}")
        elif before.path == last.path:
            extra.append(f"  #{before.n} and #{last.n} sent equal bodies")
    return CallMismatch(_expected(expected, conditions, len(calls)), format_journal(journal), extra=extra)


def _expected(expected: str, conditions: Conditions, count: int) -> str:
    values = " and ".join(f"{path} = {value!r}" for path, value in conditions.items())
    return f"expected {expected}{f' with {values}' if values else ''}, got {count}"


def format_journal(journal: Sequence[Exchange], shown: int = 12) -> list[str]:
    """Return the latest calls, one per line."""
    if not journal:
        return ["no call reached the sandbox"]
    earlier = [f"  ... {len(journal) - shown} earlier"] if len(journal) > shown else []
    return ["all calls:", *earlier, *(f"  {format_line(exchange)}" for exchange in journal[-shown:])]
