"""A rule of conduct, what its judge yields, and the finding that a report has of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from mockserver.trace.exchange import Exchange
from mockserver.trace.facts import LACKING, Fact
from mockserver.trace.trace import Trace, numbers

Severity = Literal[1, 2, 3]
SEVERITIES: Final[Mapping[int, str]] = MappingProxyType({1: "money, spam or security", 2: "wrong state", 3: "noise"})


class Proof(NamedTuple):
    """What shows that a check is broken: a sentence, and the numbers of the exchanges that show it."""

    message: str
    exchanges: tuple[int, ...]


def proof(message: str, *exchanges: Exchange | None) -> Proof:
    """Return a proof by these exchanges, as far as there are any."""
    return Proof(message, numbers(filter(None, exchanges)))


class NotAssessable(NamedTuple):
    """Why a judge has no verdict."""

    why: str


Verdict = Proof | NotAssessable
Judge = Callable[[Trace], Iterable[Verdict]]


def unless_known(fact: Fact, trace: Trace) -> Iterator[NotAssessable]:
    """Yield why a judge that found no proof has no verdict, if its trace does not know a fact."""
    if fact not in trace.knows:
        yield NotAssessable(LACKING[fact])


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """
    A rule of conduct: a kind of bug that real clients have.

    Attributes:
        id: Its name.
        clause: The clause of the API document that the client breaks.
        severity: 1 (money, spam, security), 2 (wrong state) or 3 (noise).
        proof: The calls that prove it, for people.
        advice: What the client should do instead.
        needs: What a trace has to know; else the rule is not assessed.
        judge: Yields the proofs; None for a rule that only a comparison of two runs shows.
    """

    id: str
    clause: str
    severity: Severity
    proof: str
    advice: str
    needs: tuple[Fact, ...] = ()
    judge: Judge | None = None

    @property
    def of_end(self) -> bool:
        """Only a finished run shows it: it is about what did not follow."""
        return "later calls" in self.needs


class Finding(NamedTuple):
    """One violation of a rule by the client, with the exchanges that prove it."""

    rule: str
    severity: int
    message: str
    exchanges: tuple[int, ...]
    clause: str
    advice: str


class NotAssessed(NamedTuple):
    """A rule that a trace does not show, and why."""

    rule: str
    why: str


def merged(findings: Iterable[Finding]) -> dict[Finding, int]:
    """Return the findings of one rule and one message as one, with the exchanges of all, and how many they are."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.message), []).append(finding)
    return {_with_exchanges_of(group): len(group) for group in groups.values()}


def _with_exchanges_of(equal: Sequence[Finding]) -> Finding:
    first = equal[0]
    return Finding(
        rule=first.rule,
        severity=first.severity,
        message=first.message,
        exchanges=tuple(dict.fromkeys(number for finding in equal for number in finding.exchanges)),
        clause=first.clause,
        advice=first.advice,
    )


def cited_calls(numbers: Sequence[int], most: int, more: str = "") -> str:
    """Return the calls that a finding cites, as the end of a line: the first ones, and how many more there are."""
    shown = ", ".join(f"#{number}" for number in numbers[:most])
    return f" ({'call' if len(numbers) == 1 else 'calls'} {shown}{more})" if numbers else ""
