"""
Commands that report: the report of a failed test, ledger, conduct, history and the replay document.

They write nothing, neither into the journal nor into the history; that of a failed test is kept in files.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mockserver._json import JSON, View
from mockserver.contract.text import brief, camel_case, printable
from mockserver.core import ledger
from mockserver.core.instants import SECOND, Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.run import Run
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import CommandRecord
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.documents import to_plain
from mockserver.server.control import views
from mockserver.server.errors import ControlError
from mockserver.server.hosting.failed_runs import FailureFolder, KeptFiles
from mockserver.server.hosting.host import HostedSandbox, HostedSnapshot
from mockserver.version import REPORT_VERSION
from mockserver.wire.response import redactor

if TYPE_CHECKING:
    from mockserver.judge.client.judge import ConductResult
    from mockserver.report.run.snapshot import SandboxSnapshot
    from mockserver.report.run.text import Report as ReportText
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]

NAME_MAX_CHARS = 200  # of a scenario document's name


def read_ledger(snapshot: HostedSnapshot, args: Arguments) -> answers.Ledger:
    """Return the side effects of the calls so far."""
    effects, hide = ledger.read(Run.of(snapshot.state)), redactor(snapshot.state)
    rows_by_kind = {camel_case(name): [_row(row, hide) for row in rows] for name, rows in effects._asdict().items()}
    return cast("answers.Ledger", rows_by_kind)


def _row(row: Mapping[str, Any], hide: Redactor) -> JSON:
    """Return a row with keys redacted: names and values may contain them, since a client sent them."""
    view = dict(row)
    if "at" in row:
        view["at"] = format_exact(row["at"])
    for member in ("name", "values"):
        if member in row:
            view[member] = hide.value(row[member])
    return view


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
    from mockserver.judge.client.judge import judge
    from mockserver.trace.of_sandbox import trace_of

    return judge(trace_of(Run.of(state)))


def read_coverage(hosted: HostedSandbox, args: Arguments) -> answers.Coverage:
    """Return what the calls so far have covered; choices only if they are tracked."""
    from mockserver.judge.coverage.coverage import Coverage

    coverage = Coverage()
    hosted.gather_coverage(coverage)
    return cast("answers.Coverage", coverage.as_json())


def read_history(snapshot: HostedSnapshot, args: Arguments) -> answers.History:
    """Return the commands so far, oldest first, the calls that a rule defers, and the next due timer."""
    state, journal = snapshot.state, snapshot.state.journal
    hide = redactor(state)
    return {
        "now": format_exact(state.now),
        "exchanges": journal.last_exchange,
        "steps": [
            {
                "at": format_exact(step.at),
                "exchanges": step.exchanges,  # before it, as are the transitions
                "transitions": step.transitions,
                "command": step.command,
                "arguments": _arguments(step, hide),
            }
            for step in journal.commands
        ],
        "dropped": journal.dropped_commands,
        "deferred": [
            {**_call(deferred.call, hide), "rules": list(deferred.rule_ids)}
            for deferred in state.rule_set.deferred_calls.values()
        ],
        "due": views.due(state),
        "failing": views.failing(state),
        "coming": views.coming(state, views.COMING),
        "unmoved": _unmoved(Run.of(state), snapshot.hosted.sandbox.runtime.monotonic_us()),
        "apart": _apart(Run.of(state), state.process_now()),
    }


def _unmoved(run: Run, real: Duration | None) -> answers.Unmoved | None:
    """Return the client's waits in real time while the clock did not move; None below half a second."""
    from mockserver.report.run import frozen_clock

    waits = frozen_clock.unmoved(run, real)
    if waits is None:
        return None
    spent, idle = waits.spent / SECOND, waits.idle / SECOND
    return {"first": waits.first, "last": waits.last, "calls": waits.calls, "seconds": spent, "idleSeconds": idle}


def _apart(run: Run, process: Instant) -> answers.Apart | None:
    """Return the process's time and the sandbox's, if they differ unintentionally; `exchange` is null for the present."""
    from mockserver.report.run import frozen_clock

    clocks = frozen_clock.apart(run, process)
    if clocks is None:
        return None
    return {"process": format_exact(clocks.process), "sandbox": format_exact(clocks.sandbox), "exchange": clocks.n}


def _arguments(step: CommandRecord, hide: Redactor) -> JSON:
    if step.command == "visit":
        return {"method": hide.text(step.arguments["call"].method)}  # only the end user may see its link
    if step.command != "call":
        arguments: JSON = hide.value(to_plain(step.arguments))
        return arguments
    waits = step.arguments["waits"]
    return {**_call(step.arguments["call"], hide), "waits": waits / SECOND if isinstance(waits, int) else waits}


def _call(call: Call, hide: Redactor) -> answers.CalledPath:
    return {"method": hide.text(call.method), "path": hide.text(call.path)}


def read_replay(snapshot: HostedSnapshot, args: Arguments) -> answers.Document:
    """Return the scenario document that repeats the run so far, for `mockserver replay-calls`."""
    from mockserver.server.control import replay_document

    name = args.get("name", "replay")
    if not 1 <= len(name) <= NAME_MAX_CHARS:
        expected = f"a text of 1 to {NAME_MAX_CHARS} characters"
        raise ControlError("MOCK_BAD_QUERY", f"name: got {reprlib.repr(name)}; expected {expected}")
    return replay_document.document(snapshot, name)


def read_har(snapshot: HostedSnapshot, _args: Arguments) -> answers.Har:
    """Return the calls and deliveries so far as a HAR 1.2."""
    from mockserver.server.control import har

    return har.document(snapshot)


def track_choices(hosted: HostedSandbox, args: Arguments) -> None:
    """Record from now on which choices are read, also after a reset; the coverage then has them too."""
    hosted.watch_choices(set())
    hosted.cover_choices()


def read_tracked_choices(hosted: HostedSandbox, args: Arguments) -> answers.TrackedChoices:
    """Return the choices that were read since tracking began."""
    if hosted.choices_read is None:
        raise ControlError("MOCK_NOT_WATCHED", "the choices are not tracked; begin with POST /_mock/choices/watch")
    return {"read": sorted(hosted.choices_read)}


def read_report(snapshot: HostedSnapshot, args: Arguments, base_url: str | None = None) -> answers.Report:
    """Return the first lines, the last refused or faulted call, and the whole report as text."""
    return _report(snapshot, args, base_url or snapshot.hosted.base_url, None)


def keep_report(snapshot: HostedSnapshot, args: Arguments, base_url: str | None = None) -> answers.Report:
    """Keep the files of a failed test, if the server has a folder for them, and return its report."""
    return _report(snapshot, args, base_url or snapshot.hosted.base_url, snapshot.hosted.host.failures)


def _report(snapshot: HostedSnapshot, args: Arguments, address: str, folder: FailureFolder | None) -> answers.Report:
    """Return the report of a test; with a folder its files are kept there, and its lines name them."""
    from mockserver.report.run import text  # late: a suite without a failure needs no report
    from mockserver.report.run.causes.refused import last_failed_call
    from mockserver.report.run.failure import in_words

    name, words = args.get("name", ""), args.get("failure", "")
    if folder is not None:
        name, words = folder.failure_of(snapshot.hosted.id, name, words)
    words = redactor(snapshot.state).text(words)
    seen = report_snapshot(snapshot, address)
    report = text.report(seen, in_words(words) if words.strip() else None)
    call, kept = last_failed_call(seen), None
    if folder is None:
        lines = _lines_while_open(address, call.n if call else None, bool(seen.exchanges or seen.steps))
        if words.strip() and snapshot.hosted.host.failures is None:
            lines.append("to keep files of it after that: start the server with --failures-dir FOLDER")
    else:
        report = _without_address(report, address, snapshot.hosted.prefix)
        kept = _keep(snapshot, folder, name, words, seen, report)
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
    snapshot: HostedSnapshot, folder: FailureFolder, name: str, words: str, seen: SandboxSnapshot, report: ReportText
) -> KeptFiles:
    """Write the files of a failed test."""
    from mockserver.report.trace_page import TracedRun  # late: it renders a page, which few servers do
    from mockserver.server.control import har, replay_document

    name = redactor(snapshot.state).text(name) if name.strip() else snapshot.hosted.id
    run = TracedRun(
        name=name,
        is_failed=True,
        snapshot=seen,
        report=report,
        document=replay_document.document(snapshot, name[:NAME_MAX_CHARS]),
        secrets=snapshot.state.secrets(),
        base_url=seen.address or "",
        failure=words,
    )
    return folder.keep(run, har.document(snapshot))


def _lines_while_open(address: str, call: int | None, has_steps: bool) -> list[str]:
    """Return the lines about what a reader may do while the sandbox exists."""
    lines = [f"while the sandbox is open: {address}/_mock/{f'calls/{call}' if call else ''}"]
    repeat = f"curl -s {address}/_mock/replay > run.json && mockserver replay-calls run.json"
    return [*lines, f"to repeat its calls, while the sandbox is open: {repeat}"] if has_steps else lines


def _without_address(report: ReportText, address: str, prefix: str) -> ReportText:
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
    from mockserver.report.run import check, exchanges

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


def report_snapshot(snapshot: HostedSnapshot, base_url: str, **read: View) -> SandboxSnapshot:
    """Return the views of the sandbox that its report needs; `read` has those that were read already, by command."""
    from mockserver.report.run.snapshot import read_snapshot

    state = snapshot.state
    readers: Mapping[str, Callable[[], Any]] = {
        "readState": lambda: {**views.state(state), "clock": views.clock(state)},
        "readJournal": lambda: views.journal(state),
        "readHistory": lambda: read_history(snapshot, {}),
        "readConduct": lambda: read_conduct(snapshot, {}),
        "readEvents": lambda: views.events(state),
        "readLedger": lambda: read_ledger(snapshot, {}),
        "listRules": lambda: {"rules": views.rules(state)},
    }
    given = {"scenario": snapshot.hosted.config.scenario, "choices": snapshot.hosted.config.choices}
    return read_snapshot(
        lambda command: read[command] if command in read else readers[command](),
        id=snapshot.hosted.id,
        address=base_url,
        settings={name: value for name, value in given.items() if value},
        sources={},
        is_python=False,
    )
