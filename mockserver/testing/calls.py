"""
Recorded calls as a test reads them, and the differences from what it expects.

One call and its answer, as a test reads it, and how it differs from what was wanted.

A condition is a path (`body.name`, `path.id`, `query.limit`, `header.x`, `status`) with the value wanted there, in the
words of `where` in a scenario.

The calls of one operation, and what is said where they are not as a test wants them: the nearest, and the journal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Self, TypeVar, overload

from mockserver.contract.text import brief, printable, whole_number
from mockserver.core.instants import parse, to_datetime
from mockserver.core.state.matching import ABSENT, PATH_ROOTS, PathDifference, matches, value_at
from mockserver.server.api.request import HttpRequest, parse_call

BodyT_co = TypeVar("BodyT_co", covariant=True)
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
Conditions = Mapping[str, Any]

_DIFFERENCES_SHOWN = 5
_VALUE_CHARS = 300
_FILE = re.compile(r'filename="([^"\r\n]{1,100})"')


@dataclass(frozen=True)
class Exchange(Generic[BodyT_co, AnswerT_co]):
    """
    One call and its answer, keys in their short form.

    `body` is the request's JSON value; `status` and `said` are None where no answer reached the client, else `said`
    is the answer's JSON value or text; where `cut_from_bytes` has a number, `said` is only the beginning of an answer
    of this size. `code` is the API's own code of a refusal, `reason` the mock's reason for it, `fault` what a rule
    did to the exchange.
    """

    n: int
    at: datetime
    operation: str | None
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: BodyT_co
    status: int | None
    body_received: Any
    applied: bool
    code: str | None
    reason: str | None
    fault: Mapping[str, Any] | None
    cut_from_bytes: int | None = None

    @property
    def answer(self) -> AnswerT_co:
        """The body of a success; where there was none, an AssertionError that says what came instead."""
        __tracebackhide__ = True
        if self.status is None or self.status >= 400:
            raise AssertionError(
                f"wanted a success: {format_line(self)}{f', because {self.reason}' if self.reason else ''}"
            )
        if self.cut_from_bytes is not None:
            raise AssertionError(
                f"{format_line(self)}: the journal holds only the beginning of these {self.cut_from_bytes:,} bytes"
            )
        answer: AnswerT_co = self.body_received
        return answer

    def __str__(self) -> str:
        return format_line(self)


def read(shown: Mapping[str, Any]) -> Exchange[Any, Any]:
    """An exchange of the journal, as the control plane shows it."""
    asked, response = shown["request"], shown["response"] or {}
    said, at = response.get("body"), parse(shown["at"])
    assert at is not None
    return Exchange(
        shown["n"],
        to_datetime(at[0]),
        shown["operation"],
        asked["method"],
        asked["path"],
        MappingProxyType(asked["query"]),
        MappingProxyType(asked["headers"]),
        asked["body"],
        response.get("status"),
        said,
        shown["applied"],
        said.get("code") if isinstance(said, Mapping) and response.get("status", 0) >= 400 else None,
        shown["reason"],
        shown["fault"],
        response.get("cutFromBytes"),
    )


def format_line(each: Exchange[Any, Any]) -> str:
    """An exchange in one line: number, operation, what was called, what came of it, what a rule did."""
    name = f"{each.operation} " if each.operation else ""
    query = "?" + "&".join(f"{key}={value}" for key, value in each.query.items()) if each.query else ""
    came = "no answer" if each.status is None else f"{each.status}{f' {each.code}' if each.code else ''}"
    bent = f"   [{format_fault(each.fault)}]" if each.fault else ""
    return printable(f"#{each.n} {name}{each.method} {each.path}{query} -> {came}{bent}")


def format_body(each: Exchange[Any, Any]) -> Any:
    """The body of a call as a report shows it: of what is no JSON, its kind, its size and the names of its files."""
    kind = each.headers.get("content-type", "").partition(";")[0]
    length = whole_number(each.headers.get("content-length", ""))
    if kind in ("", "application/json") or not length:
        return each.body
    files = _FILE.findall(each.body) if isinstance(each.body, str) else []
    names = f": {', '.join(files)}" if files else ""
    return f"{kind}, {length:,} bytes{names}"


def shorten(value: Any) -> str:
    """A JSON value or a text on one line, not longer than a reader wants."""
    plain = isinstance(value, str) and value.isprintable()
    written = value if plain else printable(json.dumps(value, ensure_ascii=False, default=str))
    return brief(written, _VALUE_CHARS)


def format_fault(fault: Mapping[str, Any]) -> str:
    """What a rule did, in a few words."""
    effects = ", ".join(
        f"{effect} {value}" if value is not True else effect for effect, value in fault["effects"].items()
    )
    return f"{fault['rule']}: {effects}"


def condition_paths(conditions: Conditions | None, named: Conditions) -> dict[str, Any]:
    """The conditions by path: `body={...}` stands for every value in it, any other bare name for a member of the body."""
    wanted: dict[str, Any] = {}
    for key, value in {**(conditions or {}), **named}.items():
        if key in PATH_ROOTS and isinstance(value, Mapping):
            wanted.update(_flat(key, value))
        elif key == "status" or key.partition(".")[0] in PATH_ROOTS:
            wanted[key] = value
        elif "." in key:
            raise ValueError(f"{key!r} is no path; wanted status, or one that begins with {', '.join(PATH_ROOTS)}")
        else:
            wanted[f"body.{key}"] = value
    return wanted


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {inner: each for key, member in value.items() for inner, each in _flat(f"{path}.{key}", member).items()}


def differences(each: Exchange[Any, Any], wanted: Conditions) -> list[PathDifference]:
    """What keeps the exchange from being as wanted, leaf by leaf; empty where it is."""
    query = "&".join(f"{key}={value}" for key, value in each.query.items())
    call = parse_call(HttpRequest(each.method, f"{each.path}?{query}", each.headers, b"", ""))._replace(
        query=tuple(each.query.items())
    )
    found: list[PathDifference] = []
    for path, value in wanted.items():
        actual = each.status if path == "status" else value_at(call, lambda: each.body, path)
        if not matches(actual, value):
            found += json_differences(path, value, actual)
    return found


def json_differences(path: str, wanted: Any, actual: Any) -> list[PathDifference]:
    """Where two JSON values differ."""
    if isinstance(wanted, list) and isinstance(actual, list) and wanted != actual:
        longest = max(len(wanted), len(actual))
        pairs = [
            (str(at), *(each[at] if at < len(each) else ABSENT for each in (wanted, actual))) for at in range(longest)
        ]
    elif isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        pairs = [(key, wanted.get(key, ABSENT), actual.get(key, ABSENT)) for key in {**wanted, **actual}]
    else:
        return [PathDifference(path, wanted, actual)]
    return [leaf for key, one, other in pairs if one != other for leaf in json_differences(f"{path}.{key}", one, other)]


def format_differences(found: Sequence[PathDifference]) -> list[str]:
    """At most five differences, one a line."""
    lines = [f"  {each.path}: {_spelled(each.actual)}, wanted {_spelled(each.expected)}" for each in found]
    more = [f"  and {len(lines) - _DIFFERENCES_SHOWN} more"] if len(lines) > _DIFFERENCES_SHOWN else []
    return lines[:_DIFFERENCES_SHOWN] + more


def _spelled(value: Any) -> str:
    written = "nothing there" if value is ABSENT else repr(value)
    return brief(written, 120)


class CallMismatch(AssertionError):
    """
    The calls are not as a test wants them.

    `nearest` is the number of the exchange that comes closest; of calls too many, `extra` says which they are.
    """

    def __init__(
        self, expected: str, lines: Sequence[str], nearest: int | None = None, extra: Sequence[str] = ()
    ) -> None:
        super().__init__("\n".join([expected, *extra, *lines]))
        self.expected = expected
        self.nearest = nearest
        self.extra = extra


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
        wanted = {**self._wanted, **condition_paths(conditions, named)}
        return type(self)(self._operation, self._all, self._journal, wanted)

    @property
    def last(self) -> Exchange[BodyT_co, AnswerT_co]:
        """The latest of them."""
        __tracebackhide__ = True
        return self._found[-1] if self._found else self._raise_mismatch("at least 1 call")

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
            self._raise_mismatch("no call" if not count else f"exactly {count} call{'s' if count > 1 else ''}", count)
        return self

    def _raise_mismatch(self, wanted: str, most: int | None = None) -> NoReturn:
        __tracebackhide__ = True
        told, many = f"{wanted} of {self._operation}", len(self._found)
        if most is not None and many > most:
            raise too_many(told, self._found, self._wanted, self._journal)
        raise too_few(told, many, self._wanted, self._all, self._journal)

    def __repr__(self) -> str:
        return f"<Calls of {self._operation}: {len(self._found)}>"


def too_few(
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
        lines = [f"nearest: {format_line(near[0])}", *format_differences(near[1])]
        lines += [f"  refused because {near[0].reason}"] if near[0].reason else []
    return CallMismatch(
        _expected(wanted, conditions, count), [*lines, *format_journal(journal)], near[0].n if near else None
    )


def too_many(
    wanted: str, found: Sequence[Exchange[Any, Any]], conditions: Conditions, journal: Sequence[Exchange[Any, Any]]
) -> CallMismatch:
    """The refusal of calls that are too many: which they are, and what tells the last two of them apart."""
    surplus = [f"the last of them is {format_line(found[-1])}"]
    if len(found) > 1:
        before, last = found[-2:]
        apart = json_differences("body", before.body, last.body) if before.body != last.body else []
        of_both = f"  #{before.n} and #{last.n} "
        alike = [f"{of_both}sent equal bodies"] if before.path == last.path else []
        surplus += (
            [f"{of_both}differ:{format_differences(apart)[0][1:].replace(', wanted', ', before')}"] if apart else alike
        )
    return CallMismatch(_expected(wanted, conditions, len(found)), format_journal(journal), extra=surplus)


def _expected(wanted: str, conditions: Conditions, count: int) -> str:
    such = " and ".join(f"{path} = {value!r}" for path, value in conditions.items())
    return f"expected {wanted}{f' with {such}' if such else ''}, got {count}"


def format_journal(journal: Sequence[Exchange[Any, Any]], shown: int = 12) -> list[str]:
    """The latest calls, one a line."""
    if not journal:
        return ["no call reached the sandbox"]
    earlier = [f"  ... {len(journal) - shown} earlier"] if len(journal) > shown else []
    return ["all calls:", *earlier, *(f"  {format_line(each)}" for each in journal[-shown:])]
