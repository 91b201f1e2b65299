"""
The conduct report and the ledger in Python.

The conduct report in Python: what the client did against the API document's advice, to read and to assert.

The ledger in Python: what the client's calls caused, each a list of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from mockserver.conduct import rules
from mockserver.conduct.rules import RULES, Finding, NotAssessed
from mockserver.contract.text import printable
from mockserver.server.control import reports
from mockserver.server.control.reports import LEDGER
from mockserver.testing.backend import Holding

_EXCHANGES_SHOWN = 10
SEVERITIES = {1: "money, spam or security", 2: "wrong state", 3: "noise"}


def spelled(found: Finding) -> str:
    """A finding in three lines: what happened and where, what it breaks, what to do."""
    more = len(found.exchanges) - _EXCHANGES_SHOWN
    numbers = ", ".join(map(str, found.exchanges[:_EXCHANGES_SHOWN])) + (f" and {more} more" if more > 0 else "")
    cited = f" (exchange {numbers})" if found.exchanges else ""
    return (
        f"{found.rule}, severity {found.severity} ({SEVERITIES[found.severity]}): {printable(found.message)}{cited}\n"
        f"  breaks {found.clause}, {found.line} of the API document\n"
        f"  advice: {found.advice}"
    )


def told(findings: Iterable[Finding]) -> str:
    """All of them; those that say the same are one, with the exchanges of all."""
    alike: dict[tuple[str, str], Finding] = {}
    for each in findings:
        first = alike.setdefault((each.rule, each.message), each)
        merged = tuple(dict.fromkeys([*first.exchanges, *each.exchanges]))
        alike[each.rule, each.message] = first._replace(exchanges=merged)
    return "\n".join(map(spelled, alike.values()))


class ConductReport(Sequence[Finding]):
    """
    Findings as they stood when this was read, the worst first, and the rules that were not assessed.

    `assert not sandbox.conduct` holds for a client without a finding; that praises nothing that stands in `not_assessed`.
    """

    def __init__(self, report: rules.ConductResult) -> None:
        self.findings: tuple[Finding, ...] = report.findings
        self.not_assessed: tuple[NotAssessed, ...] = report.not_assessed

    @overload
    def __getitem__(self, place: int) -> Finding: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Finding]: ...

    def __getitem__(self, place: int | slice) -> Finding | Sequence[Finding]:
        return self.findings[place]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def of(self, rule: str) -> list[Finding]:
        """The findings of one rule."""
        return [each for each in self.findings if each.rule == rule]

    def worse_than(self, severity: int | None) -> list[Finding]:
        """The findings that are worse than this severity; all where none is given."""
        return [each for each in self.findings if severity is None or each.severity < severity]

    def __str__(self) -> str:
        return f"{told(self.findings) or 'no findings'}\n{len(self.not_assessed)} rules were not assessed"

    def __repr__(self) -> str:
        rules = ", ".join(dict.fromkeys(each.rule for each in self.findings))
        return f"<Conduct: {len(self.findings)} findings{f' ({rules})' if rules else ''}, {len(self.not_assessed)} rules not assessed>"


def from_answer(answer: Mapping[str, Any]) -> rules.ConductResult:
    """The report that `GET /_mock/conduct` answered; line and advice are the table's."""
    findings = tuple(
        Finding(
            **{**each, "exchanges": tuple(each["exchanges"])},
            line=RULES[each["rule"]].line,
            advice=RULES[each["rule"]].advice,
        )
        for each in answer["findings"]
    )
    return rules.ConductResult(findings, tuple(NotAssessed(**each) for each in answer["notAssessed"]))


class Conducting(Holding):
    """What a sandbox says of its client's conduct."""

    @property
    def conduct(self) -> ConductReport:
        """The findings so far."""
        return ConductReport(self._judged())

    def _judged(self) -> rules.ConductResult:
        return self._hosted.run_command(reports.judge_conduct, {})  # type: ignore[no-any-return]

    def assert_conduct(self, *, max_severity: int | None = None) -> None:
        """
        Fail for any finding; with `max_severity` only for those that are worse: 1 is the worst, 3 is noise.

        `max_severity=3` lets noise pass, `max_severity=2` wrong state too. The first line of the AssertionError is the
        worst finding.
        """
        if max_severity not in (None, *SEVERITIES):
            raise ValueError(f"max_severity={max_severity!r}; wanted 1, 2 or 3, or nothing to let nothing pass")
        found = self.conduct.worse_than(max_severity)
        if found:
            raise AssertionError(told(found))


Row = Mapping[str, Any]


class Ledger:
    """
    Side effects as they stood when this was read; rows are dicts with ids and exchange numbers.

    `assert sandbox.ledger.duplicate_sends == []` is one assertion.
    """

    executions: Sequence[Row]
    duplicate_executions: Sequence[Row]
    sends: Sequence[Row]
    duplicate_sends: Sequence[Row]
    cloned_campaigns: Sequence[Row]
    abandoned_sessions: Sequence[Row]
    unused_media: Sequence[Row]

    def __init__(self, found: Mapping[str, Sequence[Row]]) -> None:
        for name, attribute in LEDGER.items():
            setattr(self, attribute, found[name])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, attribute))} {attribute}" for attribute in LEDGER.values())
        return f"<Ledger: {counts}>"
