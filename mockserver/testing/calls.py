"""
Recorded calls as a test reads them, and their differences from the calls that a test expects.

A condition is a path (`body.name`, `path.id`, `query.limit`, `header.x`, `status`) with the value expected there, as in `where`
of a scenario's rule. A mismatch shows the nearest call and the journal.
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
    One call and its response, keys redacted.

    Attributes:
        n: The number of the call in its sandbox, from 1.
        at: The instant at which it was handled, on the sandbox's clock, aware, in UTC.
        operation: The id of its operation; None if its path or method belongs to none.
        method: The HTTP method.
        path: The path without the sandbox's prefix and without the query.
        query: The values of the query by name.
        headers: The headers by lower-case name.
        body: The JSON value of the request's body, or its text.
        status: The status of the response; None if no response reached the client.
        body_received: The JSON value of the response's body, or its text; None if no response reached the client.
        applied: True if the operation took effect.
        code: The API's error code; None for a success.
        reason: The mock's reason for the error; None for a success.
        fault: The rule that changed the exchange and its effects; None if none did.
        cut_from_bytes: The size of a response's body of which `body_received` is only the beginning; else None.
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
        """
        The body of a successful response.

        Raises:
            AssertionError: The call has another response or none, or the journal holds only the beginning of the body.
        """
        __tracebackhide__ = True
        if self.status is None or self.status >= 400:
            raise AssertionError(
                f"expected a success, got {format_line(self)}{f', because {self.reason}' if self.reason else ''}"
            )
        if self.cut_from_bytes is not None:
            raise AssertionError(
                f"{format_line(self)}: the journal holds only the beginning of these {self.cut_from_bytes:,} bytes"
            )
        answer: AnswerT_co = self.body_received
        return answer

    def __str__(self) -> str:
        return format_line(self)


def read(view: Mapping[str, Any]) -> Exchange[Any, Any]:
    """Return an exchange from the control plane's view of it."""
    request, response = view["request"], view["response"] or {}
    received, at = response.get("body"), parse(view["at"])
    assert at is not None
    return Exchange(
        view["n"],
        to_datetime(at[0]),
        view["operation"],
        request["method"],
        request["path"],
        MappingProxyType(request["query"]),
        MappingProxyType(request["headers"]),
        request["body"],
        response.get("status"),
        received,
        view["applied"],
        received.get("code") if isinstance(received, Mapping) and response.get("status", 0) >= 400 else None,
        view["reason"],
        view["fault"],
        response.get("cutFromBytes"),
    )


def format_line(call: Exchange[Any, Any]) -> str:
    """Return an exchange in one line: number, operation, method and path, result, and the fault of a rule."""
    name = f"{call.operation} " if call.operation else ""
    query = "?" + "&".join(f"{key}={value}" for key, value in call.query.items()) if call.query else ""
    result = "no answer" if call.status is None else f"{call.status}{f' {call.code}' if call.code else ''}"
    fault = f"   [{format_fault(call.fault)}]" if call.fault else ""
    return printable(f"#{call.n} {name}{call.method} {call.path}{query} -> {result}{fault}")


def format_body(call: Exchange[Any, Any]) -> Any:
    """Return the body of a call for a report; if it is not JSON, its media type, its size and the names of its files."""
    kind = call.headers.get("content-type", "").partition(";")[0]
    length = whole_number(call.headers.get("content-length", ""))
    if kind in ("", "application/json") or not length:
        return call.body
    files = _FILE.findall(call.body) if isinstance(call.body, str) else []
    names = f": {', '.join(files)}" if files else ""
    return f"{kind}, {length:,} bytes{names}"


def shorten(value: Any) -> str:
    """Return a JSON value or a text on one line of limited length."""
    is_plain = isinstance(value, str) and value.isprintable()
    text = value if is_plain else printable(json.dumps(value, ensure_ascii=False, default=str))
    return brief(text, _VALUE_CHARS)


def format_fault(fault: Mapping[str, Any]) -> str:
    """Return a rule and its effects on an exchange as short text."""
    effects = ", ".join(
        f"{effect} {value}" if value is not True else effect for effect, value in fault["effects"].items()
    )
    return f"{fault['rule']}: {effects}"


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


def differences(exchange: Exchange[Any, Any], expected: Conditions) -> list[PathDifference]:
    """Return the differences of an exchange from conditions, leaf by leaf; empty if it fulfils them."""
    query = "&".join(f"{key}={value}" for key, value in exchange.query.items())
    request = HttpRequest(exchange.method, f"{exchange.path}?{query}", exchange.headers, b"", "")
    call = parse_call(request)._replace(query=tuple(exchange.query.items()))
    rows: list[PathDifference] = []
    for path, value in expected.items():
        actual = exchange.status if path == "status" else value_at(call, lambda: exchange.body, path)
        if not matches(actual, value):
            rows += json_differences(path, value, actual)
    return rows


def json_differences(path: str, expected: Any, actual: Any) -> list[PathDifference]:
    """Return the leaves in which two JSON values differ."""
    if isinstance(expected, list) and isinstance(actual, list) and expected != actual:
        longest = max(len(expected), len(actual))
        pairs = [
            (str(at), *(side[at] if at < len(side) else ABSENT for side in (expected, actual))) for at in range(longest)
        ]
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        pairs = [(key, expected.get(key, ABSENT), actual.get(key, ABSENT)) for key in {**expected, **actual}]
    else:
        return [PathDifference(path, expected, actual)]
    return [leaf for key, one, other in pairs if one != other for leaf in json_differences(f"{path}.{key}", one, other)]


def format_differences(rows: Sequence[PathDifference]) -> list[str]:
    """Return at most five differences, one per line."""
    lines = [f"  {row.path}: got {_format_value(row.actual)}, expected {_format_value(row.expected)}" for row in rows]
    more = [f"  and {len(lines) - _DIFFERENCES_SHOWN} more"] if len(lines) > _DIFFERENCES_SHOWN else []
    return lines[:_DIFFERENCES_SHOWN] + more


def _format_value(value: Any) -> str:
    return brief("no value" if value is ABSENT else repr(value), 120)


class CallMismatch(AssertionError):
    """
    The calls differ from those that a test expects.

    Attributes:
        expected: The first line of the message: what was expected, and how many calls there were.
        nearest: The number of the call with the fewest differences; None if there is none.
        extra: Lines about the last of too many calls.
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
        calls: Sequence[Exchange[BodyT_co, AnswerT_co]],
        journal: Sequence[Exchange[Any, Any]],
        expected: Conditions = MappingProxyType({}),
    ) -> None:
        self._operation = operation
        self._all = calls
        self._journal = journal
        self._expected = expected
        self._calls = [call for call in calls if not differences(call, expected)] if expected else list(calls)

    @overload
    def __getitem__(self, place: int) -> Exchange[BodyT_co, AnswerT_co]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Exchange[BodyT_co, AnswerT_co]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self._calls[place]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Exchange[BodyT_co, AnswerT_co]]:
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
    def last(self) -> Exchange[BodyT_co, AnswerT_co]:
        """
        The latest call.

        Raises:
            CallMismatch: There is none.
        """
        __tracebackhide__ = True
        return self._calls[-1] if self._calls else self._raise_mismatch("at least 1 call")

    def one(self) -> Exchange[BodyT_co, AnswerT_co]:
        """
        Return the only call.

        Raises:
            CallMismatch: There is none, or more than one.
        """
        __tracebackhide__ = True
        return self.times(1)._calls[0]

    def none(self) -> None:
        """
        Check that there is no call.

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
    candidates: Sequence[Exchange[Any, Any]],
    journal: Sequence[Exchange[Any, Any]],
) -> CallMismatch:
    """Return the mismatch of too few calls, with the nearest one and the journal."""
    compared = [(call, differences(call, conditions)) for call in candidates] if conditions else []
    near = min((pair for pair in compared if pair[1]), key=lambda pair: (len(pair[1]), -pair[0].n), default=None)
    lines = []
    if near is not None:
        lines = [f"nearest: {format_line(near[0])}", *format_differences(near[1])]
        lines += [f"  refused because {near[0].reason}"] if near[0].reason else []
    return CallMismatch(
        _expected(expected, conditions, count), [*lines, *format_journal(journal)], near[0].n if near else None
    )


def too_many(
    expected: str, calls: Sequence[Exchange[Any, Any]], conditions: Conditions, journal: Sequence[Exchange[Any, Any]]
) -> CallMismatch:
    """Return the mismatch of too many calls, with the last one and its difference from the one before."""
    surplus = [f"the last of them is {format_line(calls[-1])}"]
    if len(calls) > 1:
        before, last = calls[-2:]
        apart = json_differences("body", before.body, last.body) if before.body != last.body else []
        of_both = f"  #{before.n} and #{last.n} "
        alike = [f"{of_both}sent equal bodies"] if before.path == last.path else []
        surplus += (
            [
                f"{of_both}differ:{format_differences(apart)[0][1:].replace(', expected', ', before').replace(': got', ':')}"
            ]
            if apart
            else alike
        )
    return CallMismatch(_expected(expected, conditions, len(calls)), format_journal(journal), extra=surplus)


def _expected(expected: str, conditions: Conditions, count: int) -> str:
    values = " and ".join(f"{path} = {value!r}" for path, value in conditions.items())
    return f"expected {expected}{f' with {values}' if values else ''}, got {count}"


def format_journal(journal: Sequence[Exchange[Any, Any]], shown: int = 12) -> list[str]:
    """Return the latest calls, one per line."""
    if not journal:
        return ["no call reached the sandbox"]
    earlier = [f"  ... {len(journal) - shown} earlier"] if len(journal) > shown else []
    return ["all calls:", *earlier, *(f"  {format_line(exchange)}" for exchange in journal[-shown:])]
