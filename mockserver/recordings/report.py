"""
The report of a recording: what was read, and what it shows of the service, of the client and of the choices.

No text in it is private: the judges read the recording with stand-ins (`masking`), and cite exchanges by their index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.conduct.rules import RULES, ConductResult, Finding
from mockserver.contract.text import brief
from mockserver.core.instants import MILLISECOND, format_milliseconds
from mockserver.recordings.client import judge_client
from mockserver.recordings.learning import LearnedChoice, learn
from mockserver.recordings.masking import Masker, salt_of
from mockserver.recordings.questions import next_line, questions
from mockserver.verify.histories.exchanges import LEFT_OUT, NOT_THE_SERVICE, Recording
from mockserver.verify.histories.report import ServiceReport, contradiction_lines, judge_service, proof_lines
from mockserver.version import REPORT_VERSION

_LINE_CHARS: Final = 160
_CITED: Final = 3
_OF_ONE_RULE: Final = 2  # findings that the text has


class RecordingReport(NamedTuple):
    """
    What a recording shows.

    Attributes:
        recording: With stand-ins for what is private.
        service: The clauses that the service keeps and breaks.
        client: The rules of conduct.
        choices: What the answers show of each choice.
        masked: How many values have a stand-in, by the name of their field.
    """

    recording: Recording
    service: ServiceReport
    client: ConductResult
    choices: tuple[LearnedChoice, ...]
    masked: Mapping[str, int]

    def as_json(self) -> JSON:
        """Return the report for programs."""
        recording = self.recording
        return {
            "version": REPORT_VERSION,
            "files": list(recording.sources),
            "prefix": recording.prefix,
            "exchanges": len(recording.exchanges),
            "deliveries": len(recording.deliveries),
            "spanMs": recording.span_ms,
            "leftOut": dict(recording.left_out),
            "notTheService": dict(recording.troubles),
            "service": {"clauses": self.service.as_json()["clauses"]},
            "client": client_json(self.client),
            "choices": [choice.as_json() for choice in self.choices],
            "questions": [question.as_json() for question in questions(self.choices)],
            "masked": dict(self.masked),
        }


def client_json(result: ConductResult) -> JSON:
    """Return the findings and what was not assessed, as `GET /_mock/conduct` has them."""
    return {
        "findings": [finding._asdict() | {"exchanges": list(finding.exchanges)} for finding in result.findings],
        "notAssessed": [row._asdict() for row in result.not_assessed],
    }


def report_on(recording: Recording, keep: Iterable[str] = ()) -> RecordingReport:
    """
    Judge a recording.

    Args:
        recording: As it was read.
        keep: Names of fields whose texts need no stand-in.
    """
    masker = Masker(salt_of(recording), keep)
    masked = masker.recording(recording)
    service = judge_service(masked, recording, masker.sentence)
    return RecordingReport(masked, service, judge_client(masked), learn(recording), dict(masker.counts))


def lines(report: RecordingReport) -> Iterator[str]:
    """Yield the lines of the report: what was read, the service, the client, the choices."""
    yield from intake_lines(report.recording)
    yield from _service(report)
    yield from _client(report)
    yield from _choices(report.choices)
    if rows := questions(report.choices):
        yield next_line(rows)
    if report.masked:
        fields = sorted(report.masked.items(), key=lambda row: (-row[1], row[0]))
        named = ", ".join(f"{count} of {field}" for field, count in fields[:_CITED])
        yield f"masked: {_counted(sum(report.masked.values()), 'value')} ({named}{', ...' if len(fields) > _CITED else ''})"


def intake_lines(recording: Recording) -> Iterator[str]:
    """Yield what was read, what was left out, and which answers are not the service's word."""
    operations = {exchange.operation for exchange in recording.exchanges if exchange.operation}
    counts = [
        _counted(len(recording.exchanges), "exchange"),
        f"of {_counted(len(operations), 'operation')}",
        *([f"in {_span(recording.span_ms)}"] if all(each.is_timed for each in recording.exchanges) else []),
    ]
    deliveries = f", {_counted(len(recording.deliveries), 'delivery')}" if recording.deliveries else ""
    left_out = ", ".join(f"{count} {kind}" for kind, count in recording.left_out.items() if kind in LEFT_OUT)
    yield f"{', '.join(recording.sources)}: {' '.join(counts)}{deliveries}{f' ({left_out} left out)' if left_out else ''}"
    for kind, count in recording.troubles.items():
        yield (
            f"  not judged: {count} answered by {NOT_THE_SERVICE[kind]}"
            if kind != "no-answer"
            else f"  {count} without an answer, whose effect is unknown"
        )


def _service(report: RecordingReport) -> Iterator[str]:
    service = report.service
    verdicts = Counter(clause.verdict for clause in service.clauses)
    yield f"service: {verdicts['broken']} broken, {verdicts['holds']} hold, {verdicts['not observed']} not judged"
    for clause in service.broken:
        yield f"  {clause.id:<20} {clause.text}"
        yield from proof_lines(clause)
        for contradiction in service.contradictions(clause.id):
            yield from contradiction_lines(service, contradiction)


def _client(report: RecordingReport) -> Iterator[str]:
    result = report.client
    excused = {row.rule for row in result.not_assessed}
    broken = {finding.rule for finding in result.findings}
    held = sum(rule not in excused and rule not in broken for rule in RULES)
    yield f"client: {_counted(len(result.findings), 'finding')}, {held} rules hold, {len(excused)} not assessed"
    for rule in dict.fromkeys(finding.rule for finding in result.findings):
        own = [finding for finding in result.findings if finding.rule == rule]
        yield from (f"  {line}" for finding in own[:_OF_ONE_RULE] for line in finding_lines(finding, report.recording))
        if len(own) > _OF_ONE_RULE:
            yield f"  {rule}: {len(own) - _OF_ONE_RULE} more, all with --json"


def finding_lines(finding: Finding, recording: Recording) -> Iterator[str]:
    """Yield a finding in lines: what happened, where, and the advice."""
    yield f"{finding.rule} (severity {finding.severity})  {finding.message}"
    for index in finding.exchanges[:_CITED]:
        if 0 < index <= len(recording.exchanges):  # a finding about deliveries has their indexes
            exchange = recording.exchanges[index - 1]
            at = f" {format_milliseconds(exchange.started * MILLISECOND)}" if exchange.is_timed else ""
            result = exchange.status or "no answer"
            yield brief(f"  #{index}{at} {exchange.method} {exchange.path} -> {result}", _LINE_CHARS)
    yield f"  advice: {finding.advice}"


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


def _counted(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def _span(span_ms: int) -> str:
    """Return a duration in its largest unit."""
    for unit_ms, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if span_ms >= 2 * unit_ms:
            return f"{round(span_ms / unit_ms)} {name}"
    return f"{span_ms} ms"
