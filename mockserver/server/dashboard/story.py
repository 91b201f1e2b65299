"""A call and a change of a record as one row of a table, and the cause of a change in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from mockserver._json import JSON, View

_CAUSES: Final = {
    "timer": "its deadline",
    "rule": "rule",
    "page": "the hosted page",
    "forced": "a forced step",
    "given": "seed data",
    "event": "event",
    "attempt": "attempt",
    "beforeAnswer": "before the answer to call",
    "script": "a rule",
    "webhook": "endpoint",
}


def call_row(exchange: View) -> JSON:
    """Return a call as one row."""
    request, response = exchange["request"], exchange["response"] or {}
    status, body = response.get("status"), response.get("body")
    code = body.get("code") if isinstance(body, Mapping) and (status or 0) >= 400 else None
    return {
        "kind": "call",
        "n": exchange["n"],
        "at": exchange["at"],
        "operation": exchange["operation"],
        "method": request["method"],
        "path": request["path"],
        "query": request["query"],
        "status": status,
        "code": code,
        "fault": exchange["fault"],
        "reason": exchange["reason"],
        "tone": tone(status, exchange["fault"]),
    }


def tone(status: int | None, fault: object) -> str:
    """Return how a call ended, in one word that the page shows as a word and a colour."""
    if fault:
        return "faulted"
    if status is None:
        return "no answer"
    return "ok" if status < 400 else "refused"


def change_row(transition: View) -> JSON:
    """Return a change of a record as one row."""
    return {
        "kind": "change",
        "n": transition["n"],
        "at": transition["at"],
        "record": transition["kind"],
        "id": transition["id"],
        "from": transition["from"],
        "to": transition["to"],
        "cause": cause_of(transition["cause"]),
    }


def cause_of(cause: View) -> JSON:
    """Return a cause as words, with the path of its page, and the number of the call if a call is the cause."""
    for name, value in cause.items():
        if name == "exchange":
            return {"call": value, "path": f"calls/{value}", "text": f"call #{value}"}
        words = _CAUSES.get(name, name)
        text = f"{words} ({value})" if name in ("timer", "forced", "page") else f"{words} {value}"
        return {"call": None, "path": f"events/{quote(str(value), safe='')}" if name == "event" else "", "text": text}
    return {"call": None, "path": "", "text": "an unknown cause"}


def history_of(transitions: Iterable[View], record_id: str) -> list[JSON]:
    """Return the changes of a record, the newest first."""
    return [change_row(row) for row in transitions if row["id"] == record_id][::-1]
