"""The conduct report and the ledger of a sandbox: findings about the client, and the side effects of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from mockserver.contract.clauses import sentence_of
from mockserver.contract.text import camel_case, closest_match_hint, printable
from mockserver.judge.check import SEVERITIES, Finding, NotAssessed, cited_calls, merged
from mockserver.report.run.snapshot import findings_of

_CALLS_SHOWN = 10


def format_finding(finding: Finding) -> str:
    """Return a finding in three lines: what happened in which calls, the clause that it breaks, the advice."""
    more = len(finding.exchanges) - _CALLS_SHOWN
    cited = cited_calls(finding.exchanges, _CALLS_SHOWN, f" and {more} more" if more > 0 else "")
    severity = f"severity {finding.severity} ({SEVERITIES[finding.severity]})"
    return (
        f"{finding.rule}, {severity}: {printable(finding.message)}{cited}\n"
        f"  breaks {finding.clause}: {sentence_of(finding.clause)}\n"
        f"  advice: {finding.advice}"
    )


def format_findings(findings: Iterable[Finding]) -> str:
    """Return all findings as text; those with the same message are one, with the exchanges of all."""
    return "\n".join(map(format_finding, merged(findings)))


class ConductReport(Sequence[Finding]):
    """
    The findings on a client's conduct at the time of reading, the worst first; a sequence of `Finding`.

    `assert not sandbox.conduct` holds for a client without a finding. Rules in `not_assessed` are not checked by it.

    A finding has the attributes `rule` (its id), `clause` (of the API document), `severity` (1 the worst, 3
    noise), `message`, `exchanges` (numbers of the calls that show it) and `advice`.

    Attributes:
        findings: All findings.
        not_assessed: The rules that the calls so far gave no occasion to check, each with `rule` and `why`.
    """

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.findings: tuple[Finding, ...] = findings_of(view)
        self.not_assessed: tuple[NotAssessed, ...] = tuple(
            NotAssessed(row["rule"], row["why"]) for row in view["notAssessed"]
        )

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
        """
        Return the findings of one rule.

        Args:
            rule: The rule's id, such as `poll-too-fast` (see the conduct page).

        Raises:
            ValueError: No rule has this id.
        """
        from mockserver.judge.client.rules import RULES  # late: most tests do not need the rules

        if rule not in RULES:
            raise ValueError(f"got {rule!r}; expected the id of a rule of conduct{closest_match_hint(rule, RULES)}")
        return [finding for finding in self.findings if finding.rule == rule]

    def __str__(self) -> str:
        from mockserver.report.findings import (  # late: the rules, which most tests do not need
            judged_rules,
            judged_text,
        )

        judged = judged_rules(row.rule for row in self.not_assessed)
        counted = judged_text(judged, (finding.rule for finding in self.findings))
        return f"{format_findings(self.findings) or 'no findings'}\n{counted}"

    def __repr__(self) -> str:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in self.findings))
        named = f" ({rules})" if rules else ""
        return f"<Conduct: {len(self.findings)} findings{named}, {len(self.not_assessed)} rules not assessed>"


Row = Mapping[str, Any]


class Ledger:
    """
    The side effects of a client's calls at the time of reading: lists of dicts with ids and exchange numbers.

    Attributes:
        executions: Each execution, with the campaign, the call that started it and its counts.
        duplicate_executions: Pairs of executions of the same template, values and chats within a day.
        sends: Each message that was sent, with its chat, execution, instant `at` and variable values.
        duplicate_sends: Chats that received the same message more than once.
        cloned_campaigns: Campaigns that were created again with the same content.
        abandoned_sessions: Connection sessions that the client created and left without an end.
        unused_media: Uploaded files that no campaign uses.

    Example:
        >>> assert sandbox.ledger.duplicate_sends == []
    """

    executions: Sequence[Row]
    duplicate_executions: Sequence[Row]
    sends: Sequence[Row]
    duplicate_sends: Sequence[Row]
    cloned_campaigns: Sequence[Row]
    abandoned_sessions: Sequence[Row]
    unused_media: Sequence[Row]

    def __init__(self, view: Mapping[str, Sequence[Row]]) -> None:
        for attribute in Ledger.__annotations__:
            setattr(self, attribute, view[camel_case(attribute)])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, attribute))} {attribute}" for attribute in Ledger.__annotations__)
        return f"<Ledger: {counts}>"
