"""The calls of one operation, and what is said where they are not as a test wants them: the nearest, and the journal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, Self, overload

from mockserver.testing.exchanges import (
    AnswerT_co,
    BodyT_co,
    Conditions,
    Exchange,
    differences,
    leaves,
    line,
    paths,
    unlike,
)


class CallMismatch(AssertionError):
    """
    The calls are not as a test wants them.

    `nearest` is the number of the exchange that comes closest; of calls too many, `surplus` says which they are.
    """

    def __init__(
        self, expected: str, lines: Sequence[str], nearest: int | None = None, surplus: Sequence[str] = ()
    ) -> None:
        super().__init__("\n".join([expected, *surplus, *lines]))
        self.expected = expected
        self.nearest = nearest
        self.surplus = surplus


class Calls(Sequence[Exchange[BodyT_co, AnswerT_co]]):
    """
    The calls of one operation so far, oldest first, as they stood when they were asked for.

    `one`, `none` and `times` raise CallMismatch, an AssertionError that shows the nearest call and the journal.
    """

    def __init__(
        self,
        operation: str,
        found: Sequence[Exchange[BodyT_co, AnswerT_co]],
        journal: Sequence[Exchange[Any, Any]],
        wanted: Conditions = MappingProxyType({}),
    ) -> None:
        self._operation = operation
        self._all = found
        self._journal = journal
        self._wanted = wanted
        self._found = [each for each in found if not differences(each, wanted)] if wanted else list(found)

    @overload
    def __getitem__(self, place: int) -> Exchange[BodyT_co, AnswerT_co]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Exchange[BodyT_co, AnswerT_co]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Exchange[BodyT_co, AnswerT_co]]:
        return iter(self._found)

    def where(self, conditions: Conditions | None = None, /, **named: Any) -> Self:
        """Those with these values: `where(name="promo")`, `where(body={...})`, `where({"path.id": "c"}, status=409)`."""
        wanted = {**self._wanted, **paths(conditions, named)}
        return type(self)(self._operation, self._all, self._journal, wanted)

    @property
    def last(self) -> Exchange[BodyT_co, AnswerT_co]:
        """The latest of them."""
        __tracebackhide__ = True
        return self._found[-1] if self._found else self._miss("at least 1 call")

    def one(self) -> Exchange[BodyT_co, AnswerT_co]:
        """The only one."""
        __tracebackhide__ = True
        return self.times(1)._found[0]

    def none(self) -> None:
        """There is none."""
        __tracebackhide__ = True
        self.times(0)

    def times(self, count: int) -> Self:
        """There are so many."""
        __tracebackhide__ = True
        if len(self._found) != count:
            self._miss("no call" if not count else f"exactly {count} call{'s' if count > 1 else ''}", count)
        return self

    def _miss(self, wanted: str, most: int | None = None) -> NoReturn:
        __tracebackhide__ = True
        told, many = f"{wanted} of {self._operation}", len(self._found)
        if most is not None and many > most:
            raise exceeded(told, self._found, self._wanted, self._journal)
        raise miss(told, many, self._wanted, self._all, self._journal)

    def __repr__(self) -> str:
        return f"<Calls of {self._operation}: {len(self._found)}>"


def miss(
    wanted: str,
    count: int,
    conditions: Conditions,
    candidates: Sequence[Exchange[Any, Any]],
    journal: Sequence[Exchange[Any, Any]],
) -> CallMismatch:
    """The refusal that says what was wanted, what comes nearest, and what was called at all."""
    compared = [(each, differences(each, conditions)) for each in candidates] if conditions else []
    near = min((pair for pair in compared if pair[1]), key=lambda pair: (len(pair[1]), -pair[0].n), default=None)
    lines = []
    if near is not None:
        lines = [f"nearest: {line(near[0])}", *unlike(near[1])]
        lines += [f"  refused because {near[0].reason}"] if near[0].reason else []
    return CallMismatch(
        _expected(wanted, conditions, count), [*lines, *told_journal(journal)], near[0].n if near else None
    )


def exceeded(
    wanted: str, found: Sequence[Exchange[Any, Any]], conditions: Conditions, journal: Sequence[Exchange[Any, Any]]
) -> CallMismatch:
    """The refusal of calls that are too many: which they are, and what tells the last two of them apart."""
    surplus = [f"the last of them is {line(found[-1])}"]
    if len(found) > 1:
        before, last = found[-2:]
        apart = leaves("body", before.body, last.body) if before.body != last.body else []
        of_both = f"  #{before.n} and #{last.n} "
        alike = [f"{of_both}sent equal bodies"] if before.path == last.path else []
        surplus += [f"{of_both}differ:{unlike(apart)[0][1:].replace(', wanted', ', before')}"] if apart else alike
    return CallMismatch(_expected(wanted, conditions, len(found)), told_journal(journal), surplus=surplus)


def _expected(wanted: str, conditions: Conditions, count: int) -> str:
    such = " and ".join(f"{path} = {value!r}" for path, value in conditions.items())
    return f"expected {wanted}{f' with {such}' if such else ''}, got {count}"


def told_journal(journal: Sequence[Exchange[Any, Any]], shown: int = 12) -> list[str]:
    """The latest calls, one a line."""
    if not journal:
        return ["no call reached the sandbox"]
    earlier = [f"  ... {len(journal) - shown} earlier"] if len(journal) > shown else []
    return ["all calls:", *earlier, *(f"  {line(each)}" for each in journal[-shown:])]
