"""
The report of a run: each clause and each choice, as data, as text, and as the profile that `mockserver serve` reads.

No text in it contains a key or a session's url.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TextIO

from mockserver._json import JSON
from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.verify.context import NEEDS, Exchange, Judgement, Observation, RunContext
from mockserver.verify.coverage import HIDDEN, NOT_PROVOKED, OBSERVABLE, UNOBSERVABLE
from mockserver.version import REPORT_VERSION

Verdict = Literal["holds", "broken", "not observed"]
Outcome = Literal["observed", "narrowed", "contradictory", "not observed"]
_PROOFS_MAX = 3


class ExchangeExcerpt(NamedTuple):
    """An exchange as a proof: the request, the response, and the response that was expected, each in one line."""

    method: str
    path: str
    status: int
    request: str
    response: str
    expected: str


class ClauseResult(NamedTuple):
    """`why` is the reason why a clause was not observed; `exchanges` counts those in which it was judged."""

    id: str
    text: str
    verdict: Verdict
    why: str
    exchanges: int
    proofs: tuple[ExchangeExcerpt, ...]


class ChoiceResult(NamedTuple):
    """`options` are those that lead to the service's responses: exactly one if the choice was observed."""

    id: str
    question: str
    outcome: Outcome
    options: tuple[str, ...]
    why: str
    proofs: tuple[ExchangeExcerpt, ...]


class VerifyReport(NamedTuple):
    """
    The results of a run.

    `not_cleaned_up` has one text for each record that the run could not remove; `sessions` counts the sessions that it
    created, which expire by themselves; `stopped` is the reason why the run ended early, or empty.
    """

    base_url: str
    calls: int
    seconds: float
    clauses: tuple[ClauseResult, ...]
    choices: tuple[ChoiceResult, ...]
    not_cleaned_up: tuple[str, ...]
    sessions: int
    stopped: str

    @property
    def is_clean(self) -> bool:
        """Whether no clause is broken and no choice is contradictory."""
        is_broken = any(clause.verdict == "broken" for clause in self.clauses)
        return not is_broken and not any(choice.outcome == "contradictory" for choice in self.choices)

    @property
    def profile(self) -> dict[str, str]:
        """The options of the observed choices, by the choice's id."""
        return {each.id: each.options[0] for each in self.choices if each.outcome == "observed"}

    def as_json(self) -> JSON:
        return {
            "version": REPORT_VERSION,
            "baseUrl": self.base_url,
            "calls": self.calls,
            "seconds": round(self.seconds, 1),
            "stopped": self.stopped or None,
            "clauses": [_result_json(clause) for clause in self.clauses],
            "choices": [_result_json(choice) for choice in self.choices],
            "notCleanedUp": list(self.not_cleaned_up),
            "sessionsLeftToExpire": self.sessions,
        }


def _result_json(result: ClauseResult | ChoiceResult) -> JSON:
    return result._asdict() | {"proofs": [proof._asdict() for proof in result.proofs]}


def make(context: RunContext, base_url: str, reasons: Mapping[str, str], stopped: str) -> VerifyReport:
    """Return the report of a run; `reasons` has, by clause or choice, why a probe did not reach it."""
    redact = _redactor([*context.settings.secrets, *context.session_urls])
    return VerifyReport(
        redact(base_url),
        len(context.exchanges),
        context.rate_limiter.elapsed_s,
        tuple(_clause(row, context.findings, reasons, redact) for row in clauses.read()),
        tuple(_choice(id, context.observations, reasons, redact) for id in CHOICES),
        tuple(redact(each) for each in context.not_cleaned_up),
        len(context.sessions),
        redact(stopped),
    )


def _redactor(secrets: Sequence[str]) -> Callable[[str], str]:
    def redact(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, f"{secret[:3]}...") if secret else text
        return text

    return redact


def _proof(exchange: Exchange, expected: str, redact: Callable[[str], str]) -> ExchangeExcerpt:
    return ExchangeExcerpt(
        exchange.method,
        redact(exchange.path),
        exchange.status,
        redact(exchange.request_text),
        redact(exchange.response_text),
        redact(expected),
    )


def _clause(
    row: clauses.Clause, findings: Sequence[Judgement], reasons: Mapping[str, str], redact: Callable[[str], str]
) -> ClauseResult:
    own = [judgement for judgement in findings if judgement.clause == row.id]
    broken = [judgement for judgement in own if not judgement.holds]
    if broken:
        proofs = tuple(_proof(judgement.exchange, judgement.expected, redact) for judgement in broken[:_PROOFS_MAX])
        return ClauseResult(row.id, row.text, "broken", "", len(own), proofs)
    if own:
        return ClauseResult(row.id, row.text, "holds", "", len(own), ())
    why = (
        UNOBSERVABLE.get(row.id)
        or reasons.get(row.id)
        or NOT_PROVOKED.get(row.id)
        or "no exchange of the run concerns it"
    )
    return ClauseResult(row.id, row.text, "not observed", redact(why), 0, ())


def _choice(
    id: str, observations: Sequence[Observation], reasons: Mapping[str, str], redact: Callable[[str], str]
) -> ChoiceResult:
    own = [observation for observation in observations if observation.choice == id]
    common = frozenset(CHOICES[id].options).intersection(*(observation.options for observation in own))
    options = tuple(option for option in CHOICES[id].options if option in common)
    if not own:
        return ChoiceResult(id, CHOICES[id].question, "not observed", (), redact(_why_not_observed(id, reasons)), ())
    if len(options) == 1:
        return ChoiceResult(id, CHOICES[id].question, "observed", options, "", ())
    if options:
        return ChoiceResult(id, CHOICES[id].question, "narrowed", options, "the responses fit each of these", ())
    exchanges = {observation.options: observation.exchange for observation in own}
    proofs = tuple(
        _proof(exchange, f"as under {' or '.join(sorted(options)) or 'no known option'}", redact)
        for options, exchange in list(exchanges.items())[:_PROOFS_MAX]
    )
    why = "no option leads to this response" if len(exchanges) == 1 else "the responses contradict each other"
    return ChoiceResult(id, CHOICES[id].question, "contradictory", (), why, proofs)


def _why_not_observed(id: str, reasons: Mapping[str, str]) -> str:
    if id in HIDDEN:
        return HIDDEN[id]
    if id in reasons:
        return reasons[id]
    row = OBSERVABLE[id]
    needs = [NEEDS[need] for need in row.needs] + ([row.population] if row.population else [])
    under = [f"{choice} is {' or '.join(options)}" for choice, options in row.when]
    required = f"; it needs {', '.join(needs)}" if needs else ""
    condition = f", and only if {' and '.join(under)}" if under else ""
    return f"it would show in {row.how}{condition}{required}"


_VERDICTS = ("broken", "holds", "not observed")
_OUTCOMES = ("contradictory", "observed", "narrowed", "not observed")
_BAR_CHARS = 30
_LINE_EVERY_S = 5.0


def lines(report: VerifyReport) -> Iterator[str]:
    """Yield the lines of the report, broken and contradictory rows first."""
    yield f"{report.base_url}: {report.calls} calls in {report.seconds:.1f} s"
    if report.stopped:
        yield f"The run ended early: {report.stopped}."
    yield ""
    held = Counter(clause.verdict for clause in report.clauses)
    yield f"Clauses: {held['holds']} hold, {held['broken']} broken, {held['not observed']} not observed"
    for clause in sorted(report.clauses, key=lambda clause: _VERDICTS.index(clause.verdict)):
        note = {"broken": clause.text, "holds": "", "not observed": f"({clause.why})"}[clause.verdict]
        yield f"  {clause.verdict:<13}{clause.id:<30} {note}".rstrip()
        yield from _proofs(clause.proofs)
    yield ""
    seen = Counter(choice.outcome for choice in report.choices)
    yield (
        f"Choices: {seen['observed']} observed, {seen['narrowed']} narrowed down, "
        f"{seen['contradictory']} contradictory, {seen['not observed']} not observed"
    )
    for choice in sorted(report.choices, key=lambda choice: _OUTCOMES.index(choice.outcome)):
        result = " or ".join(choice.options) or choice.outcome
        yield f"  {choice.id:<32}{result}{f'  ({choice.why})' if choice.why else ''}"
        yield from _proofs(choice.proofs)
    if report.not_cleaned_up:
        yield ""
        yield "Not cleaned up; check and remove:"
        yield from (f"  {each}" for each in report.not_cleaned_up)
    if report.sessions:
        yield ""
        yield f"Connection sessions created by the run: {report.sessions}; they expire within twenty minutes."


def _proofs(proofs: tuple[ExchangeExcerpt, ...]) -> Iterator[str]:
    for proof in proofs:
        yield f"      {proof.request}"
        yield f"        got       {proof.response}"
        yield f"        expected  {proof.expected}"


def profile(report: VerifyReport) -> str:
    """Return the observed options as a profile in YAML; each is quoted, since `null` and `none` are options too."""
    rows = "".join(f"  {id}: {json.dumps(option)}\n" for id, option in report.profile.items())
    return (
        f"# Options observed by `mockserver verify`. A choice without a line has its default.\nchoices:\n{rows}"
        if rows
        else "choices: {}\n"
    )


def bar(out: TextIO, done: int, total: int, name: str) -> None:
    """Draw the progress of a run over the line before; clear the line at the end."""
    if done == total:
        out.write("\r" + " " * (_BAR_CHARS + 40) + "\r")
    else:
        filled = _BAR_CHARS * done // total
        out.write(f"\r[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {done}/{total} {name:<24}")
    out.flush()


def progress_lines(out: TextIO, clock: Callable[[], float]) -> Callable[[int, int, str], None]:
    """Return a progress for a file or pipe: one line every five seconds. `clock` returns seconds."""
    printed_at = [clock()]

    def show(done: int, total: int, name: str) -> None:
        if done < total and clock() - printed_at[0] >= _LINE_EVERY_S:
            printed_at[0] = clock()
            print(f"verify: {done} of {total} probes done, next: {name}", file=out, flush=True)

    return show
