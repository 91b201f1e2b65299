"""
The report of a recording: what was read, and what it shows of the service, of the client and of the choices.

It cites exchanges by their numbers, and shows no private text of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal, get_args

from mockserver._json import JSON
from mockserver.contract.durations import duration_text
from mockserver.core.instants import MILLISECOND
from mockserver.judge.check import Finding, merged
from mockserver.judge.choices.learning import LearnedChoice, learn
from mockserver.judge.client.judge import ConductResult, judge
from mockserver.judge.service.judge import judge_service
from mockserver.report import service
from mockserver.report.excerpts import without_phones
from mockserver.report.findings import as_row, judged_rules, judged_text, problem_of
from mockserver.report.problem import CallLine, call_text, instant_of, problem_lines, with_texts
from mockserver.report.run.words import counted
from mockserver.report.service import ServiceReport
from mockserver.trace.exchange import NOT_THE_SERVICE, Exchange
from mockserver.trace.trace import Trace
from mockserver.version import REPORT_VERSION

Part = Literal["service", "client", "choices"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
_SEVERE: Final = 2
_OF_ONE_RULE: Final = 2  # findings that the text has


class RecordingReport:
    """
    What a recording shows; each part is judged when it is read first.

    Attributes:
        recording: As it was read.
        service: The clauses that the service keeps and breaks.
        client: The rules of conduct.
        choices: What the answers show of each choice.
    """

    def __init__(self, recording: Trace) -> None:
        self.recording = recording

    @cached_property
    def service(self) -> ServiceReport:
        return ServiceReport(prefix=self.recording.prefix, clauses=judge_service(self.recording))

    @cached_property
    def client(self) -> ConductResult:
        return judge(self.recording)

    @cached_property
    def choices(self) -> tuple[LearnedChoice, ...]:
        return learn(self.recording)

    @property
    def client_broke_a_severe_rule(self) -> bool:
        return any(finding.severity <= _SEVERE for finding in self.client.findings)

    def as_json(self, parts: Collection[Part] = PARTS) -> JSON:
        """Return the parts of the report for programs."""
        recording = self.recording
        rows: JSON = {
            "version": REPORT_VERSION,
            "files": list(recording.sources),
            "prefix": recording.prefix,
            "exchanges": len(recording.exchanges),
            "deliveries": len(recording.deliveries),
            "spanMs": recording.span // MILLISECOND,
            "leftOut": dict(recording.left_out),
            "notTheService": dict(recording.troubles),
        }
        if "service" in parts:
            rows["service"] = {"clauses": self.service.as_json()}
        if "client" in parts:
            findings = [as_row(finding) for finding in self.client.findings]
            rows["client"] = {
                "findings": [row | {"message": without_phones(row["message"])} for row in findings],
                "notAssessed": [{"rule": row.rule, "why": row.why} for row in self.client.not_assessed],
            }
        if "choices" in parts:
            rows["choices"] = [choice.as_json() for choice in self.choices]
        return rows


def lines(report: RecordingReport, parts: Collection[Part] = PARTS) -> Iterator[str]:
    """Yield what was read, and the parts: a single one as a whole, of several what is broken and what is known."""
    is_whole = len(parts) == 1
    yield from _intake_lines(report.recording)
    if "service" in parts:
        yield from service.lines(report.service, is_whole=is_whole)
    if "client" in parts:
        yield from _client(report, is_whole=is_whole)
    if "choices" in parts:
        yield from _choices(report.choices)


def _intake_lines(recording: Trace) -> Iterator[str]:
    """Yield what was read, what was left out, and which answers are not the service's word."""
    operations = {exchange.operation for exchange in recording.exchanges if exchange.operation}
    line = f"{', '.join(recording.sources)}: {counted(len(recording.exchanges), 'exchange')}"
    line += f" of {counted(len(operations), 'operation')}"
    if "times" in recording.knows:
        line += f" in {duration_text(recording.span)}"
    if recording.deliveries:
        line += f", {counted(len(recording.deliveries), 'event')}"
    if recording.left_out:
        left_out = ", ".join(f"{count} {kind}" for kind, count in recording.left_out.items())
        line += f" ({left_out} left out)"
    yield line
    for kind, count in recording.troubles.items():
        if kind == "no-answer":
            yield f"  {count} without an answer, whose effect is unknown"
        else:
            yield f"  not judged: {count} answered by {NOT_THE_SERVICE[kind]}"


def _client(report: RecordingReport, *, is_whole: bool) -> Iterator[str]:
    """Yield how much of the client was judged, and its findings; as a whole all of them, and what was not assessed."""
    result = report.client
    judged = judged_rules(row.rule for row in result.not_assessed)
    yield f"client: {judged_text(judged, (finding.rule for finding in result.findings))}"
    shown: Counter[str] = Counter()
    for finding, count in merged(result.findings).items():
        shown[finding.rule] += 1
        if is_whole or shown[finding.rule] <= _OF_ONE_RULE:
            yield from _finding_lines(finding, count, report.recording)
    if is_whole:
        yield from (f"not assessed: {row.rule:<28}{row.why}" for row in result.not_assessed)
        return
    for rule, count in shown.items():
        if count > _OF_ONE_RULE:
            yield f"  {rule}: {count - _OF_ONE_RULE} more, all with --json"


def _finding_lines(finding: Finding, count: int, recording: Trace) -> Iterator[str]:
    """Yield equal findings in lines: what happened, where, and the advice."""
    exchanges = [recording.by_number(number) for number in finding.exchanges]
    lines = {exchange.number: _call(exchange) for exchange in exchanges if exchange is not None}
    problem = with_texts(problem_of(finding, lines), without_phones)
    times = f", {count} times" if count > 1 else ""
    headline = f"{finding.rule} (severity {finding.severity}{times})  {problem.headline}"
    return problem_lines(replace(problem, headline=headline), "  ")


def _call(exchange: Exchange) -> CallLine:
    call = f"{exchange.method} {exchange.path}"
    text = call_text(instant_of(exchange), call)
    return CallLine(number=exchange.number, text=text, result=str(exchange.status or "no answer"))


def _choices(choices: Sequence[LearnedChoice]) -> Iterator[str]:
    counts = Counter(choice.state for choice in choices)
    yield (
        f"choices: {counts['settled']} settled, {counts['set']} in sets, {counts['contradicted']} contradicted, "
        f"{counts['not-shown']} not shown"
    )
    for choice in choices:
        if choice.state == "contradicted":
            yield f"  contradicted  {choice.id}: {choice.why}{_where(choice)}"
    for choice in choices:
        if choice.options:
            yield f"  {choice.id:<32} {' or '.join(choice.options)}{_where(choice)}"


def _where(choice: LearnedChoice) -> str:
    """Return the places that show a choice, in parentheses."""
    places = [*(f"#{n}" for n in choice.exchanges), *(f"event {n}" for n in choice.deliveries)]
    return f"  ({', '.join(places)})" if places else ""
