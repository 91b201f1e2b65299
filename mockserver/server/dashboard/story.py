"""What happened, as rows in one order: calls, changes, and the steps of the test and of the end user."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from mockserver._json import JSON, View
from mockserver.report.pages import instant_of

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
_QUIET_STEPS: Final = ("call",)  # a deferred call, which the journal has once it has run


def rows(exchanges: Sequence[View], transitions: Sequence[View], steps: Sequence[View]) -> list[JSON]:
    """
    Return rows in the order in which they happened, oldest first; a change that a call has caused follows the call.

    Args:
        exchanges: as the journal's answer has them.
        transitions: likewise.
        steps: of the history; each has the numbers of the call and of the change before it.
    """
    calls, changes = deque(exchanges), deque(transitions)
    commands = deque(step for step in steps if step["command"] not in _QUIET_STEPS)
    merged = []
    while calls or changes or commands:
        if commands and _is_next_step(commands[0], calls, changes):
            merged.append(step_row(commands.popleft()))
        elif changes and _is_next_change(changes[0], calls, commands):
            merged.append(change_row(changes.popleft()))
        elif calls:
            merged.append(call_row(calls.popleft()))
        else:
            merged.append(change_row(changes.popleft()) if changes else step_row(commands.popleft()))
    return merged


def folded(rows: Sequence[JSON]) -> list[JSON]:
    """Return rows, of which equal ones in a row are one: the last of them, with their number and the first one's."""
    kept: list[JSON] = []
    former: tuple[object, ...] = ()
    for row in rows:
        key = _sameness(row)
        if kept and key == former:
            kept[-1] = {**row, "count": kept[-1]["count"] + 1, "first": kept[-1]["first"]}
        else:
            kept.append({**row, "count": 1, "first": row.get("n")})
        former = key
    return kept


def _sameness(row: View) -> tuple[object, ...]:
    """Return what rows that are shown as one have in common."""
    if row["kind"] == "call":
        return "call", row["method"], row["path"], row["status"], row["code"], (row["fault"] or {}).get("rule")
    if row["kind"] == "change":
        return "change", row["record"], row["from"], row["to"], row["cause"]["text"], row.get("name")
    return "step", row["command"], str(row["arguments"])


def with_names(rows: Iterable[JSON], named: Mapping[str, str]) -> list[JSON]:
    """Return rows with the name of the record that each is about: that of its id, or of an id in the path of a call."""
    return [{**row, "name": _name(row, named)} for row in rows]


def _name(row: View, named: Mapping[str, str]) -> str:
    if row["kind"] == "call":
        return next((named[part] for part in row["path"].split("/") if part in named), "")
    return named.get(row.get("id", ""), "")


def _is_next_step(step: View, calls: Sequence[View], changes: Sequence[View]) -> bool:
    is_after_calls = not calls or step["exchanges"] < calls[0]["n"]
    return is_after_calls and (not changes or step["transitions"] < changes[0]["n"])


def _is_next_change(change: View, calls: Sequence[View], steps: Sequence[View]) -> bool:
    if not calls:
        return True
    cause = change["cause"].get("exchange")
    if isinstance(cause, int):
        return bool(cause < calls[0]["n"])
    is_of_later_step = bool(steps) and steps[0]["transitions"] < change["n"]
    return instant_of(change["at"]) <= instant_of(calls[0]["at"]) and not is_of_later_step


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


def step_row(step: View) -> JSON:
    """Return a command of the control plane, or a step of the end user, as one row."""
    arguments = {name: value for name, value in step["arguments"].items() if value not in (None, {}, [])}
    return {"kind": "step", "at": step["at"], "command": step["command"].replace("_", " "), "arguments": arguments}


def history_of(transitions: Iterable[View], record_id: str) -> list[JSON]:
    """Return the changes of a record, the newest first."""
    return [change_row(row) for row in transitions if row["id"] == record_id][::-1]
