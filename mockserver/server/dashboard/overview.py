"""The first page of a sandbox, the bar of every page, and the list of sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mockserver.server.dashboard import story
from mockserver.server.dashboard.plane import Plane, place_of

JSON = dict[str, Any]

_LATEST: Final = 25  # rows of what happened last


def bar(plane: Plane) -> JSON:
    """Return the bar: the clock with what is due next, the place in the stream, and the actions that can be undone."""
    place = place_of(plane)  # before any other answer: what the page does not show yet is counted as new
    history = plane.read("readHistory")
    stored = plane.read("listCheckpoints")["checkpoints"]
    undo = [{**row, "callsSince": max(0, history["exchanges"] - row["exchanges"])} for row in reversed(stored)]
    return {"bar": {"clock": plane.read("readClock"), "due": history["due"], "place": place, "undo": undo}}


def now(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the present: the clock, what is due, the rules in force and what happened last."""
    journal = plane.read("readJournal", last=str(_LATEST))
    history = plane.read("readHistory")
    rows = story.rows(journal["exchanges"], journal["transitions"][-_LATEST:], history["steps"][-_LATEST:])
    tenants = plane.read("readState", chats="0")["tenants"]
    return "now.html", {
        "rules": plane.read("listRules")["rules"],
        "deferred": history["deferred"],
        "unmoved": history["unmoved"],
        "apart": history["apart"],
        "rows": rows[-_LATEST:][::-1],
        "counts": _counts(tenants, history, len(plane.read("readEvents")["events"])),
        "counted": "call change delivery",
    }


def _counts(tenants: Any, history: Mapping[str, Any], events: int) -> JSON:
    """Return the numbers that lead to the other views."""
    kinds = ("campaigns", "sessions", "templates", "entrypoints", "media", "webhooks")
    numbers = {kind: sum(len(tenant[kind]) for tenant in tenants) for kind in kinds}
    return {
        "calls": history["exchanges"],
        "chats": sum(tenant["chatCount"] for tenant in tenants),
        **numbers,
        "events": events,
    }


def sandboxes(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the list of the server's sandboxes, the newest first."""
    listed = plane.read("listSandboxes")
    return "sandboxes.html", {"rows": listed["sandboxes"][::-1], "closed": listed["closed"]}
