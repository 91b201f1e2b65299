"""Explorations as a page of one HTML file, from the JSON of their reports; it leaves out the time that they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.judge.client.rules import RULES
from mockserver.report.pages import render_file

VERDICTS: Final = ("silent", "breach", "crashed", "reported", "survived")  # the worst first


class Matrix(NamedTuple):
    """The verdicts on single placements: one row per fault, one column per operation or event."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Sequence[tuple[str, int]]]]]


def render(tests: Sequence[JSON]) -> str:
    """
    Return the page.

    Args:
        tests: The report of each exploration, as `ExploreReport.as_json` returns it.
    """
    return render_file(
        "explore.html",
        tests=[{**test, "counts": _counts(test["verdicts"]), "table": _matrix(test["matrix"])} for test in tests],
        findings=sum(len(test["findings"]) for test in tests),
        runs=sum(test["runs"] for test in tests),
        advice={rule.id: rule.advice for rule in RULES.values()},
        describe=describe,
    )


def describe(placement: Sequence[JSON]) -> str:
    """Return a placement as the text of a report has it; empty for the clean run."""
    texts = []
    for step in placement:
        if step["kind"] == "choice":
            texts.append(f"{step['choice']}={step['option']}")
        elif step["kind"] == "delivery":
            texts.append(f"{step['name']} at delivery {step['delivery']} ({step['event']})")
        elif step["kind"] == "process":
            texts.append(step["name"])
        else:
            place = "before" if step["kind"] == "act" else "at"
            texts.append(f"{step['name']} {place} call {step['call']} ({step['operation']})")
    return " and ".join(texts)


def _counts(verdicts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the verdicts that were reached, the worst first."""
    return [(name, verdicts[name]) for name in VERDICTS if verdicts.get(name)]


def _matrix(matrix: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Matrix:
    names = dict.fromkeys(fault for faults in matrix.values() for fault in faults)  # in the order of the first
    rows = [(name, [_counts(faults.get(name, {})) for faults in matrix.values()]) for name in names]
    return Matrix(list(matrix), rows)
