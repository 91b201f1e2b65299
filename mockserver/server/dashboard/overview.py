"""The first page of a sandbox, the bar of every page, and the list of sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mockserver._json import JSON
from mockserver.report.problem import Problem
from mockserver.report.run.history import folded, rows_of
from mockserver.report.run.problems import problems as problems_of
from mockserver.report.run.problems import readings, verdict
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import TIMERS
from mockserver.server.control import reports
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_parts import read_call, read_names
from mockserver.server.control.page_paths import number_in
from mockserver.server.dashboard import calls

_PROBLEMS: Final = 50  # that are listed
_NEWEST: Final = 100  # calls, changes and commands among which the rows are
_ROWS: Final = 25  # of what happened last, once equal ones are folded


def bar(plane: PageAccess) -> JSON:
    """Return the bar: the clock, and what is due next."""
    history = plane.history
    clock = plane.read("readClock")
    ids = [timer["id"] for timer in history["coming"]]
    return {
        "bar": {
            "calls": history["exchanges"],
            "clock": clock,
            "due": history["due"],
            "names": read_names(plane.snapshot().state, ids),
            "timers": dict(TIMERS),
            "failing": history["failing"],
        }
    }


def now(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the first page: the problems, one of them in full, the clock, and what happened last."""
    snapshot, history = plane.snapshot(), plane.history
    seen = reports.report_snapshot(snapshot, snapshot.hosted.base_url)
    found = problems_of(seen, None)
    problems = found or readings(seen, None)  # without a problem what the latest call shows
    chosen = min(number_in(query, "problem") or 1, len(problems), _PROBLEMS)
    return "now.html", {
        "verdict": verdict(found, calls=len(seen.exchanges), dropped=seen.dropped_calls),
        "is_bad": bool(found),
        "problems": problems[:_PROBLEMS],
        "more_problems": max(0, len(problems) - _PROBLEMS),
        "chosen": chosen,
        "curl": _curl(plane, problems[chosen - 1]) if problems else "",
        "rules": plane.read("listRules")["rules"],
        "deferred": history["deferred"],
        "coming": history["coming"],
        "rows": _latest(seen),
    }


def _latest(seen: SandboxSnapshot) -> list[str]:
    """Return what happened last, as lines, oldest first."""
    newest = replace(
        seen,
        exchanges=seen.exchanges[-_NEWEST:],
        transitions=seen.transitions[-_NEWEST:],
        steps=seen.steps[-_NEWEST:],
    )
    return [row.lines[0].strip() for row in list(folded(rows_of(newest)))[-_ROWS:]]


def _curl(plane: PageAccess, problem: Problem) -> str:
    """Return the first call of a problem as a command; empty without one."""
    first = next((line for line in problem.calls if line.kind == "call"), None)
    call = read_call(plane.snapshot().state, first.number) if first is not None else None
    return calls.curl_of(plane, call) if call is not None else ""


def sandboxes(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the list of the server's sandboxes, the newest first."""
    listed = plane.read("listSandboxes")
    return "sandboxes.html", {"rows": listed["sandboxes"][::-1], "closed": listed["closed"]}
