"""
What the conduct report is made of: rules, findings, and what could not be judged.

1. A finding cites the exchanges that prove it; what has no proof is no finding.
2. What could not be judged is told with its reason, so that silence is never praise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Rule(NamedTuple):
    """
    One row of the table: a real kind of client bug.

    `severity` is 1 (money, spam, security), 2 (wrong state) or 3 (noise). `see` is what shows it: J the journal,
    W the answers of a webhook receiver, P visits to the hosted page, D the same task under two sets of choices, H the
    client's own test. `clause` and `line` are where the API document speaks of it; `proof` is what is held against it.
    """

    id: str
    severity: int
    see: str
    clause: str
    line: str
    proof: str
    advice: str


class Proof(NamedTuple):
    """What a judge saw: a sentence, and the numbers of the exchanges that prove it."""

    message: str
    exchanges: Sequence[int] = ()


class Silence(NamedTuple):
    """Why a judge can say nothing."""

    why: str


class Finding(NamedTuple):
    """One thing that the client did, the rule that it breaks, and the exchanges that prove it."""

    rule: str
    severity: int
    message: str
    exchanges: tuple[int, ...]
    clause: str
    line: str
    advice: str


class NotAssessed(NamedTuple):
    """A rule that this run says nothing about, and why."""

    rule: str
    why: str


class Report(NamedTuple):
    """The findings, the worst first, and what was not assessed, in the table's order."""

    findings: tuple[Finding, ...]
    not_assessed: tuple[NotAssessed, ...]
