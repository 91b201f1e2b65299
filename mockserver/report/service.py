"""
What a recording shows of a service, as text and as JSON: each clause, what breaks it, and why it was not judged.

It shows no private text of an exchange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mockserver._json import JSON
from mockserver.contract.clauses import sentence_of
from mockserver.contract.text import brief
from mockserver.judge.service.judge import ClauseResult
from mockserver.judge.service.verdicts import Breach
from mockserver.report.excerpts import excerpt, without_phones
from mockserver.report.problem import LINE_CHARS, CallLine, Problem, call_text, instant_of, problem_lines
from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange

_ANSWERS_MAX: Final = 3  # that break a clause by themselves
_INDENT: Final = " " * 6
_ORDER: Final = ("broken", "holds", "not observed")
_ROLES: Final = {"sk": "", "pk": " (public key)", "": " (no key)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReport:
    """
    What a recording shows of a service.

    Attributes:
        prefix: The part of the addresses before `/v1`.
        clauses: The verdict on each clause, in the order of the document.
    """

    prefix: str
    clauses: Sequence[ClauseResult]

    @property
    def broken(self) -> list[ClauseResult]:
        """The clauses that the service broke."""
        return [row for row in self.clauses if row.verdict == "broken"]

    def problems(self, clause: ClauseResult) -> list[Problem]:
        """Return what breaks a clause: a few answers, then all contradictions."""
        return [
            self._of_answer(clause, row) if row.expected else self._of_contradiction(clause, row)
            for row in _shown(clause)
        ]

    def as_json(self) -> list[JSON]:
        """Return a row for each clause, with the answers and the contradictions that break it."""
        return [
            {
                "id": row.id,
                "text": row.text,
                "verdict": row.verdict,
                "why": row.why,
                "exchanges": row.compared,
                "proofs": [answer_json(breach) for breach in _shown(row) if breach.expected],
                "contradictions": [self._contradiction_json(breach) for breach in _shown(row) if not breach.expected],
            }
            for row in self.clauses
        ]

    def _contradiction_json(self, row: Breach) -> JSON:
        """Return a contradiction with the exchanges and deliveries that show it."""
        return {
            "record": without_phones(row.record),
            "values": list(map(without_phones, row.values)),
            "assumption": row.assumption,
            "exchanges": [self._place(cited) for cited in row.cited],
        }

    def _place(self, cited: Cited) -> JSON:
        shown = {"kind": "delivery", "method": "POST", "url": "the receiver"}
        if not isinstance(cited, DeliveryAttempt):
            url = self.prefix + without_phones(cited.path)
            shown = {"kind": "exchange", "method": cited.method, "url": url}
        return {**shown, "index": cited.number, "at": instant_of(cited), "status": cited.status}

    def _of_answer(self, clause: ClauseResult, row: Breach) -> Problem:
        shown = answer_json(row)
        return Problem(
            headline=brief(shown["request"], LINE_CHARS - len(_INDENT)),
            got=[shown["response"]],
            expected=row.expected,
            sentence=sentence_of(clause.id),
            ids=[row.clause],
        )

    def _of_contradiction(self, clause: ClauseResult, row: Breach) -> Problem:
        shown = self._contradiction_json(row)
        record = f"{shown['record']}: " if shown["record"] and not shown["record"].startswith("#") else ""
        return Problem(
            headline=brief(record + "; ".join(shown["values"]), LINE_CHARS - len(_INDENT)),
            calls=[
                CallLine(
                    number=place["index"],
                    text=call_text(place["at"], f"{place['method']} {place['url']}"),
                    result=str(place["status"]),
                    kind="delivery" if place["kind"] == "delivery" else "call",
                )
                for place in shown["exchanges"]
            ],
            assumption=row.assumption,
            sentence=sentence_of(clause.id),
            ids=[row.clause, shown["record"]],
        )


def _shown(clause: ClauseResult) -> list[Breach]:
    """Return what a report has of what breaks a clause."""
    of_answers = [row for row in clause.breaches if row.expected]
    return [*of_answers[:_ANSWERS_MAX], *(row for row in clause.breaches if not row.expected)]


def answer_json(row: Breach) -> JSON:
    """Return an answer that breaks a clause: the request, the response, and what was expected, each in one line."""
    (exchange,) = row.cited
    assert isinstance(exchange, Exchange)
    sent, path = excerpt(exchange.request_body), without_phones(exchange.path)
    role = _ROLES.get((exchange.key or "").partition("_")[0], " (unknown key)")
    return {
        "method": exchange.method,
        "path": path,
        "status": exchange.status,
        "request": f"{exchange.method} {path}{role}{' ' if sent else ''}{sent}",
        "response": f"{exchange.status} {excerpt(exchange.response_body) or '(no content)'}",
        "expected": row.expected,
    }


def lines(report: ServiceReport, *, is_whole: bool) -> Iterator[str]:
    """Yield how many clauses have which verdict, and those that are broken; as a whole each one, the broken ones first."""
    counts = Counter(row.verdict for row in report.clauses)
    heading = "Clauses" if is_whole else "service"
    yield f"{heading}: {counts['broken']} broken, {counts['holds']} hold, {counts['not observed']} not judged"
    whole = sorted(report.clauses, key=lambda row: _ORDER.index(row.verdict))
    for row in whole if is_whole else report.broken:
        yield _verdict_line(row) if is_whole else f"  {row.id:<20} {sentence_of(row.id)}"
        for problem in report.problems(row):
            yield from problem_lines(problem, _INDENT)


def _verdict_line(row: ClauseResult) -> str:
    if row.verdict == "not observed":
        return f"  {'not judged':<12}{row.id:<30} ({row.why})"
    comparisons = f"({row.compared} comparison{'s' * (row.compared != 1)})"
    return f"  {row.verdict:<12}{row.id:<30} {comparisons if row.verdict == 'holds' else sentence_of(row.id)}"
