"""The first page of a sandbox, the bar of every page, and the list of sandboxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mockserver._json import JSON
from mockserver.report.pages import compact
from mockserver.report.problem import Problem
from mockserver.server.dashboard import calls, story, timeline
from mockserver.server.dashboard.plane import Plane, number_in, place_of

_LATEST: Final = 25  # rows of what happened last, once equal ones are folded
_READ: Final = 100  # calls and changes, of which these rows are made; with a filter more of them
_FILTERED: Final = 1_000
_PROBLEMS: Final = 50  # that are listed
_TIMELINE_ROWS: Final = 12
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
            "timers": timeline.TIMERS,
            "place": place,
            "undo": undo,
            "failing": history["failing"],
        }
    }


def now(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the first page: the problems, one of them in full, the clock, what happened last, and what there is."""
    show, text = query.get("show", ""), query.get("text", "").strip()
    most = _FILTERED if show in _SHOWN or text else _READ
    seen, history = plane.overview(most), plane.history
    verdict, problems = plane.problems()
    names = {**seen["names"], **plane.names(timer["id"] for timer in history["coming"])}
    rows = story.rows(seen["exchanges"], seen["transitions"], history["steps"][-most:])
    rows = [row for row in story.with_names(rows, names) if _is_shown(row, show, text)]
    chosen = min(number_in(query, "problem") or 1, len(problems), _PROBLEMS)
    model = timeline.timeline_model(seen, history["coming"], names, history["now"], rows_max=_TIMELINE_ROWS)
    return "now.html", {
        "verdict": verdict,
        "problems": problems[:_PROBLEMS],
        "more_problems": max(0, len(problems) - _PROBLEMS),
        "chosen": chosen,
        "curl": _curl(plane, problems[chosen - 1]) if problems else "",
        "timeline": model,
        "rules": plane.read("listRules")["rules"],
        "deferred": history["deferred"],
        "coming": history["coming"],
        "rows": story.folded(rows)[: -_LATEST - 1 : -1],
        "show": show,
        "shows": _SHOWN,
        "text": text,
        "inventory": [_counted(name, count) for name, count in seen["counts"].items()],
        "counted": "call change delivery",
    }


def _counted(name: str, count: int) -> JSON:
    """Return how many of something there are, with the path of its page."""
    one = name if name == "media" else name[:-1]
    path = name if name in ("calls", "events") else f"objects?kind={one}"
    return {"name": one if count == 1 else name, "count": count, "path": path}


def _curl(plane: Plane, problem: Problem) -> str:
    """Return the first call of a problem as a command; empty without one."""
    first = next((line for line in problem.calls if line.kind == "call"), None)
    call = plane.call(first.number, whole=False) if first is not None else None
    return calls.curl_of(plane, call) if call is not None else ""


def _is_shown(row: JSON, show: str, text: str) -> bool:
    is_of_kind = show not in _SHOWN or _SHOWN[show](row)
    return is_of_kind and (not text or text.casefold() in compact(row).casefold())


def sandboxes(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the list of the server's sandboxes, the newest first."""
    listed = plane.sandboxes()
    return "sandboxes.html", {"rows": listed["sandboxes"][::-1], "closed": listed["closed"], "counted": ""}
