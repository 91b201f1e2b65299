"""A report as text for people, and as the profile that `mockserver serve --profile FILE` reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TextIO

from mockserver.verify.report import Proof, Report

_VERDICTS = ("broken", "holds", "not seen")
_STANDINGS = ("contradictory", "observed", "narrowed", "not seen")
_BAR_CHARS = 30
_LINE_EVERY_S = 5.0


def lines(report: Report) -> Iterator[str]:
    """The report, the worst first."""
    yield f"{report.base_url}: {report.calls} calls in {report.seconds:.1f} s"
    if report.stopped:
        yield f"The run ended early: {report.stopped}."
    yield from _clauses(report)
    yield from _choices(report)
    if report.left:
        yield ""
        yield "Left behind, for you to look at:"
        yield from (f"  {each}" for each in report.left)
    if report.sessions:
        yield ""
        yield f"{report.sessions} connection sessions were made and are left to lapse within twenty minutes."


def _clauses(report: Report) -> Iterator[str]:
    counts = {verdict: sum(each.verdict == verdict for each in report.clauses) for verdict in _VERDICTS}
    yield ""
    yield f"Clauses: {counts['holds']} hold, {counts['broken']} broken, {counts['not seen']} not seen"
    for verdict in _VERDICTS:
        for each in report.clauses:
            if each.verdict == verdict:
                note = {"broken": each.text, "holds": "", "not seen": f"({each.why})"}[verdict]
                yield f"  {verdict:<9} {each.id:<30} {note}".rstrip()
                yield from _proofs(each.proofs)


def _choices(report: Report) -> Iterator[str]:
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


def _proofs(proofs: tuple[Proof, ...]) -> Iterator[str]:
    for proof in proofs:
        yield f"      {proof.asked}"
        yield f"        found  {proof.found}"
        yield f"        wanted {proof.wanted}"


def profile(report: Report) -> str:
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
