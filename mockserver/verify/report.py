"""
The report of a run: clause by clause and choice by choice, as data, text and profile.

What a run found, clause by clause and choice by choice; no text in it holds a key or a session's link.

A report as text for people, and as the profile that `mockserver serve --profile FILE` reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TextIO

from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.verify.context import NEEDS, Judgement, Observation, RunContext
from mockserver.verify.coverage import HIDDEN, OBSERVABLE, UNMET, UNOBSERVABLE

Verdict = Literal["holds", "broken", "not seen"]
Standing = Literal["observed", "narrowed", "contradictory", "not seen"]
_SHOWN_MAX = 3


class ExchangeExcerpt(NamedTuple):
    """An exchange that shows something, in words."""

    method: str
    path: str
    status: int
    asked: str
    found: str
    wanted: str


class ClauseResult(NamedTuple):
    """`why` tells what kept a clause from being seen; `looks` counts the exchanges it was judged in."""

    id: str
    text: str
    verdict: Verdict
    why: str
    looks: int
    proofs: tuple[ExchangeExcerpt, ...]


class ChoiceResult(NamedTuple):
    """`options` are those that would have answered as the service did: one where it is observed."""

    id: str
    question: str
    standing: Standing
    options: tuple[str, ...]
    why: str
    proofs: tuple[ExchangeExcerpt, ...]


class VerifyReport(NamedTuple):
    """A run's results; `left` is what it could not take back, `stopped` why it ended early, if it did."""

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
        """True where no clause is broken and no choice contradicts itself."""
        broken = any(each.verdict == "broken" for each in self.clauses)
        return not broken and not any(each.standing == "contradictory" for each in self.choices)

    @property
    def profile(self) -> dict[str, str]:
        """The option of each choice that was observed."""
        return {each.id: each.options[0] for each in self.choices if each.standing == "observed"}

    def as_json(self) -> dict[str, Any]:
        return {
            "baseUrl": self.base_url,
            "calls": self.calls,
            "seconds": round(self.seconds, 1),
            "stopped": self.stopped or None,
            "clauses": [each._asdict() | {"proofs": [one._asdict() for one in each.proofs]} for each in self.clauses],
            "choices": [each._asdict() | {"proofs": [one._asdict() for one in each.proofs]} for each in self.choices],
            "leftBehind": list(self.not_cleaned_up),
            "sessionsLeftToLapse": self.sessions,
        }


def make(visit: RunContext, base_url: str, whys: Mapping[str, str], stopped: str) -> VerifyReport:
    """The report of a visit; `whys` maps the clauses and choices that a probe did not come to, to the reason."""
    hide = _hider([*visit.settings.secrets, *visit.links])
    return VerifyReport(
        hide(base_url),
        len(visit.exchanges),
        visit.pace.spent_s,
        tuple(_clause(row, visit.findings, whys, hide) for row in clauses.read()),
        tuple(_choice(id, visit.observations, whys, hide) for id in CHOICES),
        tuple(hide(each) for each in visit.not_cleaned_up),
        len(visit.sessions),
        hide(stopped),
    )


def _hider(secrets: Sequence[str]) -> Callable[[str], str]:
    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, f"{secret[:3]}...") if secret else text
        return text

    return hide


def _proof(each: Judgement | Observation, wanted: str, hide: Callable[[str], str]) -> ExchangeExcerpt:
    exchange = each.exchange
    return ExchangeExcerpt(
        exchange.method, hide(exchange.path), exchange.status, hide(exchange.asked), hide(exchange.found), hide(wanted)
    )


def _clause(
    row: clauses.Clause, findings: Sequence[Judgement], whys: Mapping[str, str], hide: Callable[[str], str]
) -> ClauseResult:
    own = [each for each in findings if each.clause == row.id]
    broken = [each for each in own if not each.holds]
    if broken:
        proofs = tuple(_proof(each, each.wanted, hide) for each in broken[:_SHOWN_MAX])
        return ClauseResult(row.id, row.text, "broken", "", len(own), proofs)
    if own:
        return ClauseResult(row.id, row.text, "holds", "", len(own), ())
    why = UNOBSERVABLE.get(row.id) or whys.get(row.id) or UNMET.get(row.id) or "no exchange of the run could show it"
    return ClauseResult(row.id, row.text, "not seen", hide(why), 0, ())


def _choice(
    id: str, observations: Sequence[Observation], whys: Mapping[str, str], hide: Callable[[str], str]
) -> ChoiceResult:
    own = [each for each in observations if each.choice == id]
    left = frozenset(CHOICES[id].options).intersection(*(each.options for each in own))
    options = tuple(option for option in CHOICES[id].options if option in left)
    if not own:
        return ChoiceResult(id, CHOICES[id].question, "not seen", (), hide(_why_unseen(id, whys)), ())
    if len(options) == 1:
        return ChoiceResult(id, CHOICES[id].question, "observed", options, "", ())
    if options:
        return ChoiceResult(id, CHOICES[id].question, "narrowed", options, "what came fits each of these", ())
    kinds = {each.options: each for each in own}
    proofs = tuple(
        _proof(each, f"as under {' or '.join(sorted(options)) or 'no known option'}", hide)
        for options, each in list(kinds.items())[:_SHOWN_MAX]
    )
    why = "no option answers so" if len(kinds) == 1 else "the answers do not agree"
    return ChoiceResult(id, CHOICES[id].question, "contradictory", (), why, proofs)


def _why_unseen(id: str, whys: Mapping[str, str]) -> str:
    if id in HIDDEN:
        return HIDDEN[id]
    if id in whys:
        return whys[id]
    row = OBSERVABLE[id]
    needs = [NEEDS[need] for need in row.needs] + ([row.population] if row.population else [])
    under = [f"{choice} is {' or '.join(options)}" for choice, options in row.when]
    shows = f"; it shows only where {' and '.join(under)}" if under else ""
    takes = f"; it takes {', '.join(needs)}" if needs else ""
    return f"seen in {row.how}{takes}{shows}"


_VERDICTS = ("broken", "holds", "not seen")
_STANDINGS = ("contradictory", "observed", "narrowed", "not seen")
_BAR_CHARS = 30
_LINE_EVERY_S = 5.0


def lines(report: VerifyReport) -> Iterator[str]:
    """The report, the worst first."""
    yield f"{report.base_url}: {report.calls} calls in {report.seconds:.1f} s"
    if report.stopped:
        yield f"The run ended early: {report.stopped}."
    yield from _clauses(report)
    yield from _choices(report)
    if report.not_cleaned_up:
        yield ""
        yield "Left behind, for you to look at:"
        yield from (f"  {each}" for each in report.not_cleaned_up)
    if report.sessions:
        yield ""
        yield f"{report.sessions} connection sessions were made and are left to lapse within twenty minutes."


def _clauses(report: VerifyReport) -> Iterator[str]:
    counts = {verdict: sum(each.verdict == verdict for each in report.clauses) for verdict in _VERDICTS}
    yield ""
    yield f"Clauses: {counts['holds']} hold, {counts['broken']} broken, {counts['not seen']} not seen"
    for verdict in _VERDICTS:
        for each in report.clauses:
            if each.verdict == verdict:
                note = {"broken": each.text, "holds": "", "not seen": f"({each.why})"}[verdict]
                yield f"  {verdict:<9} {each.id:<30} {note}".rstrip()
                yield from _proofs(each.proofs)


def _choices(report: VerifyReport) -> Iterator[str]:
    counts = {standing: sum(each.standing == standing for each in report.choices) for standing in _STANDINGS}
    yield ""
    yield (
        f"Choices: {counts['observed']} observed, {counts['narrowed']} narrowed down, "
        f"{counts['contradictory']} contradictory, {counts['not seen']} not seen"
    )
    for standing in _STANDINGS:
        for each in report.choices:
            if each.standing == standing:
                shown = " or ".join(each.options) or standing
                yield f"  {each.id:<32}{shown}{f'  ({each.why})' if each.why else ''}"
                yield from _proofs(each.proofs)


def _proofs(proofs: tuple[ExchangeExcerpt, ...]) -> Iterator[str]:
    for proof in proofs:
        yield f"      {proof.asked}"
        yield f"        found  {proof.found}"
        yield f"        wanted {proof.wanted}"


def profile(report: VerifyReport) -> str:
    """The observed options as YAML; each is quoted, since `null` and `none` are options too."""
    rows = "".join(f"  {id}: {json.dumps(option)}\n" for id, option in report.profile.items())
    return (
        f"# What `mockserver verify` observed. Choices that it did not see keep their defaults.\nchoices:\n{rows}"
        if rows
        else "choices: {}\n"
    )


def bar(out: TextIO, done: int, total: int, name: str) -> None:
    """The progress of a run, drawn over itself; wiped once all is done."""
    if done == total:
        out.write("\r" + " " * (_BAR_CHARS + 40) + "\r")
    else:
        filled = _BAR_CHARS * done // total
        out.write(f"\r[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {done}/{total} {name:<24}")
    out.flush()


def progress_lines(out: TextIO, clock: Callable[[], float]) -> Callable[[int, int, str], None]:
    """Return a progress for what is not a terminal: one line every five seconds. `clock` returns seconds."""
    printed_at = [clock()]

    def show(done: int, total: int, name: str) -> None:
        if done < total and clock() - printed_at[0] >= _LINE_EVERY_S:
            printed_at[0] = clock()
            print(f"verify: {done} of {total} probes done, next: {name}", file=out, flush=True)

    return show
