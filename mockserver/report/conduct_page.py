"""The findings on conduct of a session as a page of one HTML file: equal ones once, the most severe first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.judge.check import SEVERITIES, Finding
from mockserver.judge.client.judge import finding as finding_of
from mockserver.report.findings import judged_text, problem_of
from mockserver.report.pages import render_file
from mockserver.report.problem import Problem

_STYLES: Final = {1: "breach", 2: "crashed", 3: ""}


class _Card(NamedTuple):
    """Equal findings: the problem, its severity in words, and each test with its calls."""

    problem: Problem
    severity: str
    style: str
    places: Sequence[str]


def render(findings: Sequence[JSON], judged: Collection[str]) -> str:
    """
    Return the page.

    Args:
        findings: Those of a session, as `--mockserver-conduct-json` writes them; read are `test`, `rule`, `message` and
            `exchanges`.
        judged: The rules that were judged in at least one test.
    """
    places: dict[Finding, list[str]] = {}
    for row in findings:
        places.setdefault(finding_of(row["rule"], row["message"]), []).append(_place(row))
    distinct = sorted(places, key=lambda finding: (finding.severity, finding.rule))
    cards = [_card(finding, places[finding]) for finding in distinct]
    return render_file(
        "conduct.html",
        cards=cards,
        judged=judged_text(judged, (finding.rule for finding in distinct)),
        findings=len(findings),
    )


def _card(finding: Finding, places: Sequence[str]) -> _Card:
    return _Card(
        problem=problem_of(finding, {}),
        severity=f"severity {finding.severity}: {SEVERITIES[finding.severity]}",
        style=_STYLES[finding.severity],
        places=sorted(places),
    )


def _place(row: JSON) -> str:
    """Return where a finding is: the test, and the numbers of its calls, which mean nothing in another test."""
    calls = ", ".join(f"#{number}" for number in row["exchanges"])
    return f"{row['test']}{f', {calls}' if calls else ''}"
