"""
This product's own documents as recordings: the journal of a sandbox, and the document that repeats a run.

Their calls are in the order in which the sandbox ran them, at instants of its clock. Neither has keys: a call has its
tenant's name instead.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from mockserver._json import View
from mockserver.contract.effects import UNREADABLE
from mockserver.core.instants import MILLISECOND, SECOND, Instant, parse
from mockserver.trace.entries import Entry, RecordingError, start_instant
from mockserver.version import SCENARIO_VERSION, VERSION

_ADVANCE_MAX_S: Final = 10**11
_UNKNOWN_KEY: Final = "sk_unknown"


def journal_entries(rows: Sequence[Any], name: str) -> Iterator[Entry]:
    """Yield the exchanges of a journal, as `GET /_mock/journal` returns them, as sent; `name` is that of the file, for errors."""
    for number, row in sorted(enumerate(rows, 1), key=_place_as_sent):
        place = f"{name}, exchange {number}"
        request = row.get("request") if isinstance(row, Mapping) else None
        if not isinstance(request, Mapping) or not isinstance(request.get("path"), str):
            raise RecordingError(f"{place}: got no request; expected an exchange of a sandbox's journal")
        given_up = row.get("givenUp")
        sent_at, ended = (given_up["sentAt"], given_up["at"]) if given_up else (row.get("at"), row.get("at"))
        query = urlencode(list((request.get("query") or {}).items()))
        response = row.get("response")
        fault = row.get("fault") or {}
        if not isinstance(response, Mapping) or not UNREADABLE.isdisjoint(fault.get("effects", ())):
            response = {}
        yield Entry(
            place=place,
            method=str(request.get("method")),
            url=request["path"] + (f"?{query}" if query else ""),
            request_headers=_with_owner(request.get("headers") or {}, row.get("tenantId")),
            request_body=_body(request),
            started=start_instant(sent_at, place) // MILLISECOND,
            ended=start_instant(ended, place) // MILLISECOND,
            status=response.get("status"),
            response_headers=list((response.get("headers") or {}).items()),
            response_body=_body(response),
            is_ordered=not given_up,
        )


def _place_as_sent(numbered: tuple[int, Any]) -> tuple[int, bool]:
    """Return the key that sorts calls which arrived after their clients had given them up before the calls that followed."""
    number, row = numbered
    given_up = row.get("givenUp") if isinstance(row, Mapping) else None
    n = row.get("n", number) if isinstance(row, Mapping) else number
    return (given_up["lastExchange"], False) if given_up else (n - 1, True)


def _with_owner(headers: View, tenant_id: Any) -> list[tuple[str, str]]:
    """Return the headers with the tenant's name in place of a masked key."""
    return [
        (key, f"{value[:3]}{tenant_id}" if key == "x-api-key" and tenant_id and value.endswith("...") else value)
        for key, value in headers.items()
    ]


def _body(message: View) -> bytes | None:
    if message.get("cutFromBytes") is not None:
        return None
    body = message.get("body")
    if body is None:
        return b""
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _json_bytes(body)


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def replay_entries(document: View, name: str) -> Iterator[Entry]:
    """Yield the calls of a replay document, at the instants that its commands give; `name` is that of the file."""
    if document.get("version", SCENARIO_VERSION) != SCENARIO_VERSION:
        got = f"{name}: got version {document['version']!r:.40} of a replay document"
        raise RecordingError(f"{got}; expected {SCENARIO_VERSION}, which mockserver {VERSION} reads")
    clock = document.get("clock")
    now = start_instant(clock.get("freeze") if isinstance(clock, Mapping) else None, name)
    for number, row in enumerate(document["calls"], 1):
        place = f"{name}, call {number}"
        if not isinstance(row, Mapping):
            raise RecordingError(f"{place}: got {type(row).__name__}; expected a call or a command")
        if "at" in row:
            now = max(now, start_instant(row["at"], place))
        if "call" not in row:
            now = _moved(now, row)
            continue
        method, _, path = str(row["call"]).partition(" ")
        answer = row.get("answer") or {}
        yield Entry(
            place=place,
            method=method,
            url=path,
            request_headers=_request_headers(row),
            request_body=None if "cut" in row else _sent(row),
            started=now // MILLISECOND,
            ended=now // MILLISECOND,
            status=answer.get("status"),
            response_headers=[],
            response_body=None if "bytes" in answer or "cut" in answer else _body(answer),
            is_ordered=True,
        )


def _moved(now: Instant, row: View) -> Instant:
    """Return the instant after a command; only `advance` and `set_clock` move the clock, the latter also back."""
    arguments = row.get("with")
    if row.get("do") not in ("advance", "set_clock") or not isinstance(arguments, Mapping):
        return now
    by = arguments.get("by")
    if isinstance(by, int | float) and 0 <= by <= _ADVANCE_MAX_S:
        microseconds: int = round(by * SECOND)
        return now + microseconds
    to = parse(str(arguments.get("to", arguments.get("freeze"))))
    return to[0] if to is not None else now


def _request_headers(row: View) -> list[tuple[str, str]]:
    role = row.get("key", "secret")
    key = {"none": None, "unknown": _UNKNOWN_KEY}.get(role, f"{'pk' if role.endswith('public') else 'sk'}_{role}")
    headers = dict(row.get("headers") or {})
    if "json" in row:
        headers.setdefault("content-type", "application/json")
    return [*headers.items(), *([("x-api-key", key)] if key is not None else [])]


def _sent(row: View) -> bytes:
    if "json" in row:
        return _json_bytes(row["json"])
    if "base64" in row:
        return base64.b64decode(row["base64"])
    return str(row.get("body", "")).encode("utf-8", "surrogatepass")
