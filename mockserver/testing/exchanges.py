"""
One call and its answer, as a test reads it, and how it differs from what was wanted.

A condition is a path (`body.name`, `path.id`, `query.limit`, `header.x`, `status`) with the value wanted there, in the
words of `where` in a scenario.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from mockserver.contract.printable import printable
from mockserver.contract.reading import whole_number
from mockserver.core.instants import parse, to_datetime
from mockserver.core.matching import ABSENT, ROOTS, Difference, holds, value_at
from mockserver.edge.gateway import Wire, read_call

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
    said: Any
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
            raise AssertionError(f"wanted a success: {line(self)}{f', because {self.reason}' if self.reason else ''}")
        if self.cut_from_bytes is not None:
            raise AssertionError(
                f"{line(self)}: the journal holds only the beginning of these {self.cut_from_bytes:,} bytes"
            )
        answer: AnswerT_co = self.said
        return answer

    def __str__(self) -> str:
        return line(self)


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


def line(each: Exchange[Any, Any]) -> str:
    """An exchange in one line: number, operation, what was called, what came of it, what a rule did."""
    name = f"{each.operation} " if each.operation else ""
    query = "?" + "&".join(f"{key}={value}" for key, value in each.query.items()) if each.query else ""
    came = "no answer" if each.status is None else f"{each.status}{f' {each.code}' if each.code else ''}"
    bent = f"   [{told(each.fault)}]" if each.fault else ""
    return printable(f"#{each.n} {name}{each.method} {each.path}{query} -> {came}{bent}")


def sent(each: Exchange[Any, Any]) -> Any:
    """The body of a call as a report shows it: of what is no JSON, its kind, its size and the names of its files."""
    kind = each.headers.get("content-type", "").partition(";")[0]
    length = whole_number(each.headers.get("content-length", ""))
    if kind in ("", "application/json") or not length:
        return each.body
    files = _FILE.findall(each.body) if isinstance(each.body, str) else []
    names = f": {', '.join(files)}" if files else ""
    return f"{kind}, {length:,} bytes{names}"


def short(value: Any) -> str:
    """A JSON value or a text on one line, not longer than a reader wants."""
    plain = isinstance(value, str) and value.isprintable()
    written = value if plain else printable(json.dumps(value, ensure_ascii=False, default=str))
    return written if len(written) <= _VALUE_CHARS else written[: _VALUE_CHARS - 3] + "..."


def told(fault: Mapping[str, Any]) -> str:
    """What a rule did, in a few words."""
    effects = ", ".join(
        f"{effect} {value}" if value is not True else effect for effect, value in fault["effects"].items()
    )
    return f"{fault['rule']}: {effects}"


def paths(conditions: Conditions | None, named: Conditions) -> dict[str, Any]:
    """The conditions by path: `body={...}` stands for every value in it, any other bare name for a member of the body."""
    wanted: dict[str, Any] = {}
    for key, value in {**(conditions or {}), **named}.items():
        if key in ROOTS and isinstance(value, Mapping):
            wanted.update(_flat(key, value))
        elif key == "status" or key.partition(".")[0] in ROOTS:
            wanted[key] = value
        elif "." in key:
            raise ValueError(f"{key!r} is no path; wanted status, or one that begins with {', '.join(ROOTS)}")
        else:
            wanted[f"body.{key}"] = value
    return wanted


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {inner: each for key, member in value.items() for inner, each in _flat(f"{path}.{key}", member).items()}


def differences(each: Exchange[Any, Any], wanted: Conditions) -> list[Difference]:
    """What keeps the exchange from being as wanted, leaf by leaf; empty where it is."""
    query = "&".join(f"{key}={value}" for key, value in each.query.items())
    call = read_call(Wire(each.method, f"{each.path}?{query}", each.headers, b"", ""))._replace(
        query=tuple(each.query.items())
    )
    found: list[Difference] = []
    for path, value in wanted.items():
        actual = each.status if path == "status" else value_at(call, lambda: each.body, path)
        if not holds(actual, value):
            found += leaves(path, value, actual)
    return found


def leaves(path: str, wanted: Any, actual: Any) -> list[Difference]:
    """Where two JSON values differ."""
    if isinstance(wanted, list) and isinstance(actual, list) and wanted != actual:
        longest = max(len(wanted), len(actual))
        pairs = [
            (str(at), *(each[at] if at < len(each) else ABSENT for each in (wanted, actual))) for at in range(longest)
        ]
    elif isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        pairs = [(key, wanted.get(key, ABSENT), actual.get(key, ABSENT)) for key in {**wanted, **actual}]
    else:
        return [Difference(path, wanted, actual)]
    return [leaf for key, one, other in pairs if one != other for leaf in leaves(f"{path}.{key}", one, other)]


def unlike(found: Sequence[Difference]) -> list[str]:
    """At most five differences, one a line."""
    lines = [f"  {each.path}: {_spelled(each.actual)}, wanted {_spelled(each.expected)}" for each in found]
    more = [f"  and {len(lines) - _DIFFERENCES_SHOWN} more"] if len(lines) > _DIFFERENCES_SHOWN else []
    return lines[:_DIFFERENCES_SHOWN] + more


def _spelled(value: Any) -> str:
    written = "nothing there" if value is ABSENT else repr(value)
    return written if len(written) <= 120 else written[:117] + "..."
