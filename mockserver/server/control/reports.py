"""
Commands that judge and report: conduct, coverage, what fails a test, and the report of a failed test.

They write nothing, neither into the journal nor into the history; the report of a failed test is kept in files. Judges and
reports are slow to import: the table of commands loads this module when one of them first runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mockserver.contract.text import brief, printable
from mockserver.core.run import Run
from mockserver.core.state.sandbox import SandboxState
from mockserver.judge.client.judge import ConductResult, judge
from mockserver.judge.coverage.coverage import Coverage
from mockserver.report.run import check, exchanges, text
from mockserver.report.run.causes.refused import last_failed_call
from mockserver.report.run.failure import in_words
from mockserver.report.run.snapshot import SandboxSnapshot, read_snapshot
from mockserver.server.control import views
from mockserver.server.control.har import read_har
from mockserver.server.control.history import read_history
from mockserver.server.control.replay_document import NAME_MAX_CHARS, document
from mockserver.server.errors import ControlError
from mockserver.server.hosting.failed_runs import FailureFolder, KeptFiles
from mockserver.server.hosting.host import HostedSandbox, HostedSnapshot
from mockserver.trace.of_sandbox import trace_of
from mockserver.version import REPORT_VERSION
from mockserver.wire.response import redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]


def read_conduct(snapshot: HostedSnapshot, args: Arguments) -> answers.ConductReport:
    """Return the findings on the client's conduct so far, keys in their messages redacted."""
    state = snapshot.state
    report, hide = _judged(state), redactor(state)
    return {
        "findings": [
            {
                "rule": finding.rule,
                "clause": finding.clause,
                "severity": finding.severity,
                "message": hide.text(finding.message),
                "exchanges": list(finding.exchanges),
            }
            for finding in report.findings
        ],
        "notAssessed": [{"rule": rule.rule, "why": hide.text(rule.why)} for rule in report.not_assessed],
    }


def _judged(state: SandboxState) -> ConductResult:
    """Return the judgement on a clone of a sandbox."""
    return judge(trace_of(Run.of(state)))


def read_coverage(hosted: HostedSandbox, args: Arguments) -> answers.Coverage:
    """Return what the calls so far have covered."""
    coverage = Coverage()
    hosted.gather_coverage(coverage)
    return cast("answers.Coverage", coverage.as_json())


def read_report(snapshot: HostedSnapshot, args: Arguments, base_url: str) -> answers.Report:
    """Return the first lines, the last refused or faulted call, and the whole report as text."""
    return _report(snapshot, args, base_url, None)


def keep_report(snapshot: HostedSnapshot, args: Arguments, base_url: str) -> answers.Report:
    """Keep the files of a failed test, if the server has a folder for them, and return its report."""
    return _report(snapshot, args, base_url, snapshot.hosted.host.failures)


def _report(snapshot: HostedSnapshot, args: Arguments, address: str, folder: FailureFolder | None) -> answers.Report:
    """Return the report of a test; with a folder its files are kept there, and its lines name them."""
    if folder is not None:
        folder.note_failure(snapshot.hosted.id)
    words = redactor(snapshot.state).text(args.get("failure", ""))
    seen = report_snapshot(snapshot, address)
    report = text.report(seen, in_words(words) if words.strip() else None)
    call, kept = last_failed_call(seen), None
    if folder is None:
        lines = _lines_while_open(address, call.n if call else None, bool(seen.exchanges or seen.steps))
        if words.strip() and snapshot.hosted.host.failures is None:
            lines.append("to keep files of it after that: start the server with --failures-dir FOLDER")
    else:
        report = _without_address(report, address, snapshot.hosted.prefix)
        kept = _keep(snapshot, folder, args.get("name", ""), words, seen, report)
        lines = [*kept.lines]
    whole = "\n".join([*report.summary, *report.sections, *lines])
    shown: Any = call and {key: getattr(call, key) for key in ("n", "operation", "status", "code", "reason", "fault")}
    return {
        "version": REPORT_VERSION,
        "sandboxId": snapshot.hosted.id,
        "failure": words or None,
        "summary": [printable(line) for line in report.summary],
        "call": shown,
        "text": printable(whole, keep="\n") + "\n",
        "files": kept and {"replay": kept.replay, "har": kept.har, "trace": kept.trace, "report": kept.report},
    }


def _keep(
    snapshot: HostedSnapshot, folder: FailureFolder, name: str, words: str, seen: SandboxSnapshot, report: text.Report
) -> KeptFiles:
    """Write the files of a failed test."""
    from mockserver.report.trace_page import TracedRun  # late: it loads Jinja

    name = redactor(snapshot.state).text(name) if name.strip() else snapshot.hosted.id
    run = TracedRun(
        name=name,
        snapshot=seen,
        report=report,
        document=document(snapshot, name[:NAME_MAX_CHARS]),
        secrets=snapshot.state.secrets(),
        base_url=seen.address or "",
        failure=words,
    )
    return folder.keep(run, read_har(snapshot, {}))


def _lines_while_open(address: str, call: int | None, has_steps: bool) -> list[str]:
    """Return the lines about what a reader may do while the sandbox exists."""
    lines = [f"while the sandbox is open: {address}/_mock/{f'calls/{call}' if call else ''}"]
    repeat = f"curl -s {address}/_mock/replay > run.json && mockserver replay-calls run.json"
    return [*lines, f"to repeat its calls, while the sandbox is open: {repeat}"] if has_steps else lines


def _without_address(report: text.Report, address: str, prefix: str) -> text.Report:
    """Return a report that outlives its sandbox: with paths in place of the address, at which only the default one stays."""
    if not prefix:
        return report
    summary, sections = (
        [line.replace(f"{address}/_mock/", "/_mock/").replace(address, prefix) for line in part]
        for part in (report.summary, report.sections)
    )
    return replace(report, summary=summary, sections=sections)


def read_check(snapshot: HostedSnapshot, args: Arguments) -> answers.Check:
    """Return what fails a test of pytest at its end; findings on the client's conduct only if they are asked for."""
    mode = args.get("conduct", "report")
    if mode not in ("error", "report"):
        raise ControlError("MOCK_BAD_QUERY", f"conduct: got {brief(mode, 100)!r}; expected error or report")
    state, hide = snapshot.state, redactor(snapshot.state)
    journal = views.journal(state)
    failures = check.of_rules(views.rules(state), [exchanges.read(entry) for entry in journal["exchanges"]])
    failures += check.of_receivers(views.events(state)["events"])
    failures += check.of_conduct(_judged(state).findings) if mode == "error" else []
    return {
        "ok": not failures,
        "failures": [
            {"kind": kind, "message": printable(hide.text(f"{check.SENTENCES[kind]}:\n{message}"), keep="\n"), "exchanges": [*about]}
            for kind, message, about in failures
        ],
    }  # fmt: skip


def report_snapshot(snapshot: HostedSnapshot, base_url: str) -> SandboxSnapshot:
    """Return the views of the sandbox that its report needs."""
    state = snapshot.state
    readers: Mapping[str, Callable[[], Any]] = {
        "readState": lambda: {**views.state(state), "clock": views.clock(state)},
        "readJournal": lambda: views.journal(state),
        "readHistory": lambda: read_history(snapshot, {}),
        "readConduct": lambda: read_conduct(snapshot, {}),
        "readEvents": lambda: views.events(state),
        "listRules": lambda: {"rules": views.rules(state)},
    }
    given = {"scenario": snapshot.hosted.config.scenario, "choices": snapshot.hosted.config.choices}
    return read_snapshot(
        lambda command: readers[command](),
        id=snapshot.hosted.id,
        address=base_url,
        settings={name: value for name, value in given.items() if value},
        sources={},
        is_python=False,
    )
