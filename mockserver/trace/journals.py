"""The journal of a sandbox as a recording; it has no keys: a call has its tenant's name instead."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from mockserver._json import View
from mockserver.contract.effects import UNREADABLE
from mockserver.core.instants import as_shown
from mockserver.trace.entries import Entry, RecordingError, answer_status, joined, start_instant


def journal_entries(rows: Sequence[Any], file: Path) -> Iterator[Entry]:
    """Yield the exchanges of a journal, as `GET /_mock/journal` returns them, in the order in which they were sent."""
    for number, row in sorted(enumerate(rows, 1), key=_place_as_sent):
        place = f"{file.name}, exchange {number}"
        request = row.get("request") if isinstance(row, Mapping) else None
        if not isinstance(request, Mapping) or not isinstance(request.get("path"), str):
            raise RecordingError(f"{place}: got no request; expected an exchange of a sandbox's journal")
        query = urlencode(_members(request, "query", place))
        response = row.get("response")
        effects = _members(row, "fault", place).get("effects", ())
        if not isinstance(response, Mapping) or not UNREADABLE.isdisjoint(effects):
            response = {}
        given_up = row.get("givenUp")
        sent, ended = (given_up["sentAt"], given_up["at"]) if given_up else (row.get("at"), row.get("at"))
        yield Entry(
            method=str(request.get("method")),
            url=request["path"] + (f"?{query}" if query else ""),
            request_headers=_with_owner(_headers(request, place), row.get("tenantId")),
            request_body=_body(request),
            status=answer_status(response.get("status"), place),
            response_headers=_headers(response, place),
            response_body=_body(response),
            sent_at=as_shown(start_instant(sent, place)),
            ended_at=as_shown(start_instant(ended, place)),
            is_ordered=not given_up,
        )


def _members(row: View, name: str, place: str) -> View:
    """Return an object that is a member, an empty one if there is none."""
    value = row.get(name) or {}
    if not isinstance(value, Mapping):
        raise RecordingError(f"{place}: got {name} of type {type(value).__name__}; expected an object")
    return value


def _headers(row: View, place: str) -> View:
    return joined((name, str(value)) for name, value in _members(row, "headers", place).items())


def _place_as_sent(numbered: tuple[int, Any]) -> tuple[int, bool]:
    """Return the key that sorts calls which arrived after their clients had given them up before the calls that followed."""
    number, row = numbered
    members = row if isinstance(row, Mapping) else {}
    given_up = members.get("givenUp")
    return (given_up["lastExchange"], False) if given_up else (members.get("n", number) - 1, True)


def _with_owner(headers: View, tenant_id: Any) -> View:
    """Return the headers with the tenant's name in place of a masked key."""
    key = headers.get("x-api-key", "")
    return {**headers, "x-api-key": f"{key[:3]}{tenant_id}"} if tenant_id and key.endswith("...") else headers


def _body(message: View) -> bytes | None:
    if message.get("cutFromBytes") is not None:
        return None
    body = message.get("body")
    if body is None:
        return b""
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _json_bytes(body)


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
