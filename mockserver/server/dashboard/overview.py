"""The first page of a sandbox, the bar of every page, and the list of sandboxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mockserver._json import JSON
from mockserver.report.pages import compact
from mockserver.server.dashboard import attention, story
from mockserver.server.dashboard.plane import Plane, place_of

_LATEST: Final = 25  # rows of what happened last, once equal ones are folded
_READ: Final = 100  # calls and changes, of which these rows are made; with a filter more of them
_FILTERED: Final = 1_000
_TIMERS: Final = {  # what is due, in words that the record's name follows
    "execution.finish": "the last message of",
    "execution.settle": "the last queued message of",
    "execution.drain": "the last message of",
    "execution.sent": "sends that a rule waits for:",
    "session.expire": "expiry of",
    "delivery.wake": "next attempt:",
    "rule.fire": "rule",
    "call.arrive": "arrival of a late call",
}
_SHOWN: Final[Mapping[str, Callable[[JSON], bool]]] = {
    "calls": lambda row: row["kind"] == "call",
    "failures": lambda row: row["tone"] != "ok" if row["kind"] == "call" else row.get("to") in ("failed", "abandoned"),
    "mine": lambda row: row["kind"] == "step",
}


def bar(plane: Plane) -> JSON:
    """Return the bar: the clock with what is due next, the place in the stream, and the actions that can be undone."""
    place = place_of(plane)  # before any other answer: what the page does not show yet is counted as new
    history = plane.history
    stored = plane.read("listCheckpoints")["checkpoints"]
    undo = [{**row, "callsSince": max(0, history["exchanges"] - row["exchanges"])} for row in reversed(stored)]
    clock = plane.read("readClock")
    return {
        "bar": {
            "clock": clock,
            "due": history["due"],
            "names": plane.names(timer["id"] for timer in history["coming"]),
            "timers": _TIMERS,
            "place": place,
            "undo": undo,
            "failing": history["failing"],
        }
    }


def now(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the present: what needs a look, what is coming, what happened last, and what there is."""
    show, text = query.get("show", ""), query.get("text", "").strip()
    most = _FILTERED if show in _SHOWN or text else _READ
    seen, history = plane.overview(most), plane.history
    rules = plane.read("listRules")["rules"]
    rows = story.rows(seen["exchanges"], seen["transitions"], history["steps"][-most:])
    rows = [row for row in story.with_names(rows, seen["names"]) if _is_shown(row, show, text)]
    calls = [story.call_row(exchange) for exchange in seen["exchanges"]]
    endpoints = attention.endpoints(seen, seen["events"], seen["failing"])
    return "now.html", {
        "rules": rules,
        "deferred": history["deferred"],
        "unmoved": history["unmoved"],
        "apart": history["apart"],
        "attention": attention.items(calls, endpoints, seen["failedSends"], rules, seen["findings"]),
        "coming": history["coming"],
        "rows": story.folded(rows)[: -_LATEST - 1 : -1],
        "show": show,
        "shows": _SHOWN,
        "text": text,
        "counts": seen["counts"],
        "counted": "call change delivery",
    }


def _is_shown(row: JSON, show: str, text: str) -> bool:
    is_of_kind = show not in _SHOWN or _SHOWN[show](row)
    return is_of_kind and (not text or text.casefold() in compact(row).casefold())


def sandboxes(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the list of the server's sandboxes, the newest first."""
    listed = plane.read("listSandboxes")
    return "sandboxes.html", {"rows": listed["sandboxes"][::-1], "closed": listed["closed"]}
