"""The latest call of a test that failed, where none was refused: what it read, what had moved by itself, who let time pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.durations import duration_text
from mockserver.core.instants import Span, from_datetime, parse
from mockserver.testing.exchanges import short
from mockserver.testing.reporting import JSON, Seen

_OF_SESSIONS = ("createConnectionSession", "readConnectionSession")
_CLOCK_COMMANDS = ("advance", "set_clock")


def stands(seen: Seen) -> list[str]:
    """How far that stood which it has read: what had moved without a call, or else what a campaign had sent."""
    last = seen.exchanges[-1]
    return (waiting(seen, last.operation) or _moved(seen, last.path) or _pace(last.said, from_datetime(last.at)))[:1]


def waiting(seen: Seen, operation: str | None) -> list[str]:
    """A session in which nobody has played the end user yet."""
    moves = [each for each in seen.transitions if each["kind"] == "session"]
    if operation not in _OF_SESSIONS or not moves or moves[-1]["to"] != "pending":
        return []
    return [
        f"  session {moves[-1]['id']} is still pending: complete_session(id) or end_user(id) of the sandbox plays its user"
    ]


def answered(seen: Seen) -> list[str]:
    """What the test got to see last."""
    said = seen.exchanges[-1].said
    return [f"  answered {'nothing: its body is empty' if said is None else short(said)}"]


def is_in_vain(seen: Seen) -> bool:
    """True where it reads what a later instant would have changed, and the test has let no time pass since it began."""
    last = seen.exchanges[-1]
    if last.method != "GET" or waiting(seen, last.operation):
        return False
    began = max((each.n for each in seen.exchanges if each.method != "GET"), default=0)
    return not any(step["command"] in _CLOCK_COMMANDS and step["exchanges"] >= began for step in seen.steps)


def _moved(seen: Seen, path: str) -> list[str]:
    """The last change of what the call read, where no call of the API had brought it about."""
    moves = [each for each in seen.transitions if each["id"] in path.split("/")]
    if not moves or "exchange" in moves[-1]["cause"]:
        return []
    move = moves[-1]
    by = ", ".join(f"{key} {value}" for key, value in move["cause"].items())
    return [f"  {move['kind']} {move['id']} had become {move['to']} at {move['at']} ({by})"]


def _pace(said: Any, now: int) -> list[str]:
    """How far a campaign was that is still being sent."""
    runs = said.get("executions") if isinstance(said, Mapping) else None
    run = runs[0] if isinstance(runs, list) and runs and isinstance(runs[0], Mapping) else {}
    began = parse(run["startedAt"]) if isinstance(run.get("startedAt"), str) else None
    if began is None or run.get("status") != "processing" or not isinstance(said.get("cadence"), int):
        return []
    return [f"  {_far(run, now - began[0])}, at a cadence of {said['cadence']} a minute; the first goes at once"]


def _far(run: JSON, since: Span) -> str:
    sent, failed, target = (run.get(key) for key in ("sentCount", "failedCount", "targetCount"))
    return f"{run.get('id')} had {sent} sent and {failed} failed of {target}, {duration_text(since)} after its start"
