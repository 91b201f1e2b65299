"""
This product's own documents as recordings: the journal of a sandbox, and the document that repeats a run.

Their calls are in the order in which the sandbox ran them, at instants of its clock. Neither has keys: a call has its
tenant's name instead.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from mockserver._json import View
from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import UNREADABLE, WAITING
from mockserver.core.instants import SECOND, Instant, as_shown, parse
from mockserver.trace.entries import Entry, RecordingError, answer_status, joined, start_instant
from mockserver.version import SCENARIO_VERSION, VERSION

_ADVANCE_MAX: Final = 10**11 * SECOND
# Effects of rules that let time pass at a call, which the call's entry does not show.
_TAKE_TIME: Final = WAITING | {"advance"}
# What a replay document has for the address of the sandbox, and an address in its place, since an answer has URIs.
_BASE_URL: Final = (b"{base_url}", b"http://mockserver.test")


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


def replay_entries(document: View, file: Path) -> Iterator[Entry]:
    """
    Yield the calls of a replay document, at the instants that its entries or its commands give.

    A call has no instant if neither does, as after `advance` until nothing is due, or under a rule that delays calls.
    """
    if document.get("version", SCENARIO_VERSION) != SCENARIO_VERSION:
        got = f"{file.name}: got version {document['version']!r:.40} of a replay document"
        raise RecordingError(f"{got}; expected {SCENARIO_VERSION}, which mockserver {VERSION} reads")
    clock = document.get("clock")
    now: Instant | None = start_instant(clock.get("freeze") if isinstance(clock, Mapping) else None, file.name)
    takes_time = _takes_time({"script": document.get("script")})
    for number, row in enumerate(document["calls"], 1):
        place = f"{file.name}, call {number}"
        if not isinstance(row, Mapping):
            raise RecordingError(f"{place}: got {type(row).__name__}; expected a call or a command")
        if "at" in row:
            at = start_instant(row["at"], place)
            now = at if now is None else max(now, at)
        if "call" not in row:
            now = _moved(now, row)
            takes_time |= row.get("do") == "apply_scenario" and _takes_time(row.get("with"))
            continue
        method, _, path = str(row["call"]).partition(" ")
        answer = _members(row, "answer", place)
        is_cut = "bytes" in answer or "cut" in answer or "cutFromBytes" in answer
        shown = None if now is None or (takes_time and "at" not in row) else as_shown(now)
        yield Entry(
            method=method,
            url=path,
            request_headers=_request_headers(row, place),
            request_body=None if "cut" in row else _sent(row).replace(*_BASE_URL),
            status=answer_status(answer.get("status"), place),
            response_body=None if is_cut else (_body(answer) or b"").replace(*_BASE_URL),
            sent_at=shown,
            ended_at=shown,
            is_ordered=True,
        )


def _takes_time(scenario: Any) -> bool:
    """Return True if a rule of a scenario takes time at a call, or may: of one of the library only the name is shown."""
    if not isinstance(scenario, Mapping):
        return False
    script = scenario.get("script")
    rules = [rule for rule in script if isinstance(rule, Mapping)] if isinstance(script, list) else []
    effects = [rule["do"] for rule in rules if isinstance(rule.get("do"), Mapping)]
    return "name" in scenario or any(not _TAKE_TIME.isdisjoint(effect) for effect in effects)


def _moved(now: Instant | None, row: View) -> Instant | None:
    """
    Return the instant after a command, None if the document does not show it; only `advance` and `set_clock` move the clock,
    the latter also back.
    """
    arguments = row.get("with")
    if row.get("do") not in ("advance", "set_clock") or not isinstance(arguments, Mapping):
        return now
    if "by" in arguments:
        by = parse_duration(arguments["by"])
        return None if now is None or by is None or by > _ADVANCE_MAX else now + by
    to = parse(str(arguments.get("to", arguments.get("freeze"))))
    if to is not None:
        return to[0]
    return None if row["do"] == "advance" else now  # until the next timer, or until none is left


def _request_headers(row: View, place: str) -> View:
    headers = dict(_headers(row, place))
    if "json" in row:
        headers.setdefault("content-type", "application/json")
    role = row.get("key", "secret")
    if role != "none":
        prefix = "pk" if role.endswith("public") else "sk"
        headers["x-api-key"] = f"{prefix}_{role}"
    return headers


def _sent(row: View) -> bytes:
    if "json" in row:
        return _json_bytes(row["json"])
    if "base64" in row:
        return base64.b64decode(row["base64"])
    return str(row.get("body", "")).encode("utf-8", "surrogatepass")
