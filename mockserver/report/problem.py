"""What went wrong, in the words that every report has for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mockserver.contract.text import brief
from mockserver.core.instants import format_milliseconds
from mockserver.trace.exchange import Cited, Exchange

LINE_CHARS: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedProblem:
    """
    What went wrong.

    Attributes:
        headline: One sentence, with the value first.
        calls: The calls and deliveries that show it, each as a line.
        got: The answer, if it shows the problem by itself; else empty.
        expected: What should have been the answer.
        assumption: The weakest assumption on which it rests; empty if it needs none.
        advice: What to do instead; empty if there is none.
        sentence: The sentence of the document that it breaks.
        ids: The clause, the rule of conduct and the record, as far as there are any.
    """

    headline: str
    calls: Sequence[str] = ()
    got: str = ""
    expected: str = ""
    assumption: str = ""
    advice: str = ""
    sentence: str
    ids: Sequence[str]


def problem_lines(problem: ReportedProblem, indent: str = "") -> Iterator[str]:
    """Yield a problem as lines: what happened, the calls or the answer, and what follows."""
    yield indent + problem.headline
    for call in problem.calls:
        yield brief(f"{indent}  {call}", LINE_CHARS)
    if problem.got:
        yield brief(f"{indent}  got       {problem.got}", LINE_CHARS)
        yield brief(f"{indent}  expected  {problem.expected}", LINE_CHARS)
    if problem.assumption:
        yield f"{indent}  assumes that {problem.assumption}"
    if problem.advice:
        yield f"{indent}  advice: {problem.advice}"


def call_line(name: str, at: str | None, call: str, result: object) -> str:
    """Return a call or delivery as a line; `at` is its instant, None without times."""
    return f"{name}{f' {at}' if at else ''} {call} -> {result}"


def instant_of(cited: Cited) -> str | None:
    """Return when a call or delivery began; None if its recording has no times."""
    is_timed = not isinstance(cited, Exchange) or cited.is_timed
    return format_milliseconds(cited.at) if is_timed else None
