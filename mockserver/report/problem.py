"""What went wrong, in the words that every report has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from mockserver.contract.clauses import Clause
from mockserver.contract.text import brief
from mockserver.core.instants import format_milliseconds
from mockserver.trace.exchange import Cited, Exchange

LINE_CHARS: Final = 160
ADVANCE: Final = "_mock/clock/advance"  # the path of the command that moves a clock
_LISTED: Final = 3  # calls of a problem that have a line or a number of their own

# The worst first: what explains the failure, a refusal, a fault that fired, and advice.
Rank = Literal["cause", "refusal", "fault", "advice"]


class CallLine(NamedTuple):
    """A call or delivery that shows a problem: `#3 startCampaign -> 422 CODE`, in its three parts."""

    number: int
    text: str
    result: str
    kind: Literal["call", "delivery"] = "call"

    @property
    def name(self) -> str:
        return f"{'delivery ' if self.kind == 'delivery' else ''}#{self.number}"


class Action(NamedTuple):
    """What a reader may do about a problem: a command of the control plane, by its path below the sandbox."""

    label: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """
    What went wrong, in the order in which it began.

    Attributes:
        headline: One plain sentence, with the value first, and records by their names.
        rank: What it is to the failure; it decides only which problem is shown first.
        calls: The calls and deliveries that show it, oldest first.
        got: The lines of the request or of the answer that matter.
        expected: What was expected in place of what was got.
        assumption: The weakest assumption on which it rests; empty if it needs none.
        caused: What followed from it: records by name, and later calls.
        advice: What to do instead; empty if there is none.
        sentence: The sentence of the API document that it breaks; None if it breaks none.
        actions: Commands that a page offers.
        ids: The clause, the rule of conduct and the records, as far as there are any.
    """

    headline: str
    rank: Rank = "advice"
    calls: Sequence[CallLine] = ()
    got: Sequence[str] = ()
    expected: str = ""
    assumption: str = ""
    caused: Sequence[str] = ()
    advice: str = ""
    sentence: Clause | None = None
    actions: Sequence[Action] = ()
    ids: Sequence[str] = ()

    @property
    def first(self) -> int:
        """The number of the first call that shows it; 0 without one."""
        return self.calls[0].number if self.calls else 0


def with_texts(problem: Problem, change: Callable[[str], str]) -> Problem:
    """Return a problem whose texts are changed by a function."""
    return replace(
        problem,
        headline=change(problem.headline),
        calls=[call._replace(text=change(call.text), result=change(call.result)) for call in problem.calls],
        got=[change(line) for line in problem.got],
        expected=change(problem.expected),
        assumption=change(problem.assumption),
        caused=[change(line) for line in problem.caused],
        advice=change(problem.advice),
        ids=[change(id) for id in problem.ids],
    )


def call_groups(calls: Sequence[CallLine]) -> list[tuple[str, Sequence[CallLine]]]:
    """Return equal calls together, each group with its line and all results, in the order of their first calls."""
    groups: dict[str, list[CallLine]] = {}
    for call in calls:
        groups.setdefault(call.text, []).append(call)
    return [(f"{text} -> {', '.join(_results(group))}", group) for text, group in groups.items()]


def _results(group: Sequence[CallLine]) -> list[str]:
    results = list(dict.fromkeys(call.result for call in group))
    return results if len(results) <= _LISTED else [results[0], "...", results[-1]]


def numbers(calls: Sequence[CallLine]) -> str:
    """Return the numbers of calls as text: `#3, #7`, and of many `×9, #5 to #31`."""
    if len(calls) <= _LISTED:
        return ", ".join(call.name for call in calls)
    return f"×{len(calls)}, {calls[0].name} to {calls[-1].name}"


def problem_lines(problem: Problem, indent: str = "") -> Iterator[str]:
    """Yield a problem as lines: what happened, what shows it, what followed, and what to do."""
    yield indent + problem.headline
    for text, calls in call_groups(problem.calls)[:_LISTED]:
        yield brief(f"{indent}  {numbers(calls)} {text}", LINE_CHARS)
    for line in problem.got:
        yield brief(f"{indent}  got       {line}", LINE_CHARS) if problem.expected else f"{indent}  {line}"
    if problem.expected:
        yield brief(f"{indent}  expected  {problem.expected}", LINE_CHARS)
    for line in problem.caused:
        yield f"{indent}  then {line}"
    if problem.assumption:
        yield f"{indent}  assumes that {problem.assumption}"
    if problem.advice:
        yield f"{indent}  {problem.advice}"


def brief_lines(problem: Problem) -> list[str]:
    """Return a problem in at most three lines: what happened, what shows it, and what to do or what came last."""
    headline, *details = problem_lines(problem)
    groups = call_groups(problem.calls)
    if len(groups) > 1:
        short = [f"{numbers(calls)} {line.partition(' ')[0]} -> {line.rpartition(' -> ')[2]}" for line, calls in groups]
        details = [f"  {brief(', '.join(short), LINE_CHARS)}", *details[min(len(groups), _LISTED) :]]
    return [headline, *details] if len(details) < _LISTED else [headline, details[0], details[-1]]


def call_text(at: str | None, call: str) -> str:
    """Return a call or delivery as text; `at` is its instant, None without times."""
    return f"{at} {call}" if at else call


def instant_of(cited: Cited) -> str | None:
    """Return when a call or delivery began; None if its recording has no times."""
    is_timed = not isinstance(cited, Exchange) or cited.is_timed
    return format_milliseconds(cited.at) if is_timed else None
