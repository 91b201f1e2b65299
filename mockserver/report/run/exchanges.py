"""Recorded calls as a report and a test read them, as text, and their differences from the calls that a test expects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from mockserver.contract.text import brief, printable, whole_number
from mockserver.core.instants import parse, to_datetime
from mockserver.core.state.matching import ABSENT, PathDifference, matches, value_at
from mockserver.wire.request import HttpRequest, parse_call

Conditions = Mapping[str, Any]

_DIFFERENCES_SHOWN = 5
_VALUE_CHARS = 300
_COUNT_CHARS = 25  # of the number of members that are left out
_NESTED_CHARS = 60  # a value within a long one that has more is its number of members
_FILE = re.compile(r'filename="([^"\r\n]{1,100})"')


@dataclass(frozen=True)
class Exchange:
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
    body: Any
    status: int | None
    body_received: Any
    applied: bool
    code: str | None
    reason: str | None
    fault: Mapping[str, Any] | None
    cut_from_bytes: int | None = None

    @property
    def answer(self) -> Any:
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
        return self.body_received

    def __str__(self) -> str:
        return format_line(self)


def read(view: Mapping[str, Any]) -> Exchange:
    """Return an exchange from the control plane's view of it."""
    request, response = view["request"], view["response"] or {}
    received, at = response.get("body"), parse(view["at"])
    assert at is not None
    return Exchange(
        n=view["n"],
        at=to_datetime(at[0]),
        operation=view["operation"],
        method=request["method"],
        path=request["path"],
        query=MappingProxyType(request["query"]),
        headers=MappingProxyType(request["headers"]),
        body=request["body"],
        status=response.get("status"),
        body_received=received,
        applied=view["applied"],
        code=received.get("code") if isinstance(received, Mapping) and response.get("status", 0) >= 400 else None,
        reason=view["reason"],
        fault=view["fault"],
        cut_from_bytes=response.get("cutFromBytes"),
    )


def format_line(call: Exchange) -> str:
    """Return an exchange in one line: number, operation, method and path, result, and the fault of a rule."""
    name = f"{call.operation} " if call.operation else ""
    query = "?" + "&".join(f"{key}={value}" for key, value in call.query.items()) if call.query else ""
    result = "no answer" if call.status is None else str(call.status)
    if call.status is not None and call.code:
        result += f" {call.code}"
    fault = f"   [{format_fault(call.fault)}]" if call.fault else ""
    return printable(f"#{call.n} {name}{call.method} {call.path}{query} -> {result}{fault}")


def format_body(call: Exchange) -> Any:
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
    if isinstance(value, str) and value.isprintable():
        return brief(value, _VALUE_CHARS)
    return printable(brief_json(value, _VALUE_CHARS))


def brief_json(value: Any, limit_chars: int) -> str:
    """Return a JSON value on one line; a longer one is its first members, each whole, and the number of those left out."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= limit_chars:
        return text
    if not isinstance(value, Mapping | list | tuple):
        return json.dumps(brief(str(value), limit_chars), ensure_ascii=False)
    is_object = isinstance(value, Mapping)
    rows = (
        [(f"{json.dumps(key, ensure_ascii=False)}: ", value[key]) for key in value]
        if is_object
        else [("", item) for item in value]
    )
    shown: list[str] = []
    room = limit_chars - _COUNT_CHARS
    for name, item in rows if limit_chars > _NESTED_CHARS else ():
        member = name + brief_json(item, max(limit_chars // 2, _NESTED_CHARS))
        room -= len(member) + 2
        if room < 0:
            break
        shown.append(member)
    left = len(rows) - len(shown)
    unit = "member" if is_object else "element"
    if left:
        more = " more" if shown else ""
        shown.append(f"{left}{more} {unit}{'s' if left > 1 else ''}")
    inside = ", ".join(shown)
    return f"{{{inside}}}" if is_object else f"[{inside}]"


def format_fault(fault: Mapping[str, Any]) -> str:
    """Return a rule and its effects on an exchange as short text."""
    effects = ", ".join(
        f"{effect} {value}" if value is not True else effect for effect, value in fault["effects"].items()
    )
    return f"{fault['rule']}: {effects}"


def differences(exchange: Exchange, expected: Conditions) -> list[PathDifference]:
    """Return the differences of an exchange from conditions, leaf by leaf; empty if it fulfils them."""
    query = "&".join(f"{key}={value}" for key, value in exchange.query.items())
    request = HttpRequest(
        method=exchange.method, target=f"{exchange.path}?{query}", headers=exchange.headers, body=b"", base_url=""
    )
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
