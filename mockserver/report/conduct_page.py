"""The findings on conduct of a session as a page of one HTML file, by rule, the most severe first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.clauses import Sentence, sentence_of
from mockserver.report.pages import render_file

_SEVERITIES: Final = {  # meaning, and class of its style
    1: ("money, spam or security", "breach"),
    2: ("wrong state", "crashed"),
    3: ("noise", ""),
}
_NO_CALL: Final = "no call proves it: what is missing does"


class _Row(NamedTuple):
    """One finding: its test, its sentence, and the calls that prove it."""

    test: str
    message: str
    calls: str


class _Rule(NamedTuple):
    """The findings of one rule, with what the page shows once for all of them."""

    name: str
    severity: int
    meaning: str
    look: str
    advice: str
    clause: str
    sentence: Sentence | None
    tests: int
    findings: Sequence[_Row]


def render(findings: Sequence[JSON]) -> str:
    """
    Return the page.

    Args:
        findings: Those of a session, as `--mockserver-conduct-json` writes them: each has `test`, `rule`, `severity`,
            `message`, `exchanges`, `clause` and `advice`.
    """
    by_rule: dict[tuple[int, str], list[JSON]] = {}
    for finding in findings:
        by_rule.setdefault((finding["severity"], finding["rule"]), []).append(finding)
    return render_file(
        "conduct.html",
        findings=len(findings),
        tests=_tests(findings),
        rules=[_rule(by_rule[key]) for key in sorted(by_rule)],
    )


def _rule(findings: Sequence[JSON]) -> _Rule:
    first = findings[0]
    meaning, look = _SEVERITIES[first["severity"]]
    rows = []
    for each in findings:
        numbers = each["exchanges"]
        listed = f"call{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}" if numbers else _NO_CALL
        rows.append(_Row(each["test"], each["message"], listed))
    clause = first["clause"]
    return _Rule(
        first["rule"], first["severity"], meaning, look, first["advice"], clause, sentence_of(clause),
        _tests(findings), sorted(rows),
    )  # fmt: skip


def _tests(findings: Iterable[JSON]) -> int:
    return len({finding["test"] for finding in findings})
