"""
Commands that report: ledger, conduct, history and the replay document.

Commands that judge: the ledger of side effects, and the client's conduct.

Commands that tell a run again: what was done beside the API, what waits, what is due, and the document that repeats it all.

They write nothing: neither the journal nor the steps know that they were asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.conduct import judge, polling
from mockserver.conduct.rules import ConductResult
from mockserver.core import ledger
from mockserver.core.instants import SECOND, Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import CommandRecord
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.documents import to_plain
from mockserver.server.api.response import redactor
from mockserver.server.control import replay_document
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox

JSON = dict[str, Any]
Arguments = Mapping[str, Any]

# The lists of the ledger by the names that the control plane gives them.
LEDGER: Mapping[str, str] = {
    "executions": "executions",
    "duplicateExecutions": "duplicate_executions",
    "sends": "sends",
    "duplicateSends": "duplicate_sends",
    "clonedCampaigns": "cloned_campaigns",
    "abandonedSessions": "abandoned_sessions",
    "unusedMedia": "unused_media",
}


def read_ledger(hosted: HostedSandbox, args: Arguments) -> Callable[[], JSON]:
    """What the calls so far have caused, written out while the sandbox goes on."""
    twin = hosted.sandbox.clone()
    return lambda: _ledger(ledger.read(twin), redactor(twin))


def _ledger(found: ledger.LedgerRows, hide: Redactor) -> JSON:
    values: dict[str, Any] = {}  # by execution: all its sends have the same ones
    return {name: [_row(row, hide, values) for row in getattr(found, attribute)] for name, attribute in LEDGER.items()}


def _row(row: Mapping[str, Any], hide: Redactor, values: dict[str, Any]) -> JSON:
    """A row with every key in its short form: names and values are what a client wrote."""
    shown = dict(row)
    if "at" in row:
        shown["at"] = format_exact(row["at"])
    if "name" in row:
        shown["name"] = hide.text(row["name"])
    if "values" in row:
        execution_id = row["executionId"]
        if execution_id not in values:
            values[execution_id] = hide.value(row["values"])
        shown["values"] = dict(values[execution_id])
    return shown


def judge_conduct(hosted: HostedSandbox, args: Arguments) -> Callable[[], ConductResult]:
    """The report on the client's conduct so far, judged while the sandbox goes on; keys in its messages redacted."""
    twin = hosted.sandbox.clone()
    twin.choices = dict(twin.choices)  # a copy: to judge by a choice is not to act on it
    return lambda: _redacted(twin, judge.judge(twin))


def _redacted(twin: SandboxState, report: ConductResult) -> ConductResult:
    hide = redactor(twin)
    return report._replace(
        findings=tuple(each._replace(message=hide.text(each.message)) for each in report.findings),
        not_assessed=tuple(each._replace(why=hide.text(each.why)) for each in report.not_assessed),
    )


def read_conduct(hosted: HostedSandbox, args: Arguments) -> Callable[[], JSON]:
    """The same as JSON."""
    judged = judge_conduct(hosted, args)
    return lambda: _conduct(judged())


def _conduct(report: ConductResult) -> JSON:
    shown = ("rule", "clause", "severity", "message", "exchanges")
    return {
        "findings": [{name: getattr(each, name) for name in shown} for each in report.findings],
        "notAssessed": [each._asdict() for each in report.not_assessed],
    }


def read_steps(hosted: HostedSandbox, args: Arguments) -> Callable[[], JSON]:
    """The steps so far, oldest first, the calls that a rule holds back, and what is due next; written out lock-free."""
    twin, real, process = hosted.sandbox.clone(), hosted.sandbox.runtime.monotonic_us(), hosted.sandbox.process_now()
    return lambda: _steps(twin) | {"unmoved": _unmoved(twin, real), "apart": _apart(twin, process)}


def _unmoved(sandbox: SandboxState, real: Duration | None) -> JSON | None:
    """How long the client has waited in real time while the clock did not move; None below half a second."""
    waits = polling.unmoved(sandbox, real)
    if waits is None:
        return None
    spent, idle = waits.spent / SECOND, waits.idle / SECOND
    return {"first": waits.first, "last": waits.last, "calls": waits.calls, "seconds": spent, "idleSeconds": idle}


def _apart(sandbox: SandboxState, process: Instant) -> JSON | None:
    """The process's clock and the sandbox's, if they differ unintended; `exchange` is null for the present."""
    clocks = polling.apart(sandbox, process)
    if clocks is None:
        return None
    return {"process": format_exact(clocks.process), "sandbox": format_exact(clocks.sandbox), "exchange": clocks.n}


def _steps(sandbox: SandboxState) -> JSON:
    hide = redactor(sandbox)
    return {
        "now": format_exact(sandbox.now),
        "exchanges": sandbox.journal.last_exchange,
        "steps": [_step(each, hide) for each in sandbox.journal.steps],
        "unanswered": sandbox.journal.dropped_commands,
        "deferred": [
            {**_call(each.call, hide), "rules": list(each.rule_ids)}
            for each in sandbox.rule_set.deferred_calls.values()
        ],
        "due": _due(sandbox),
    }


def _step(step: CommandRecord, hide: Redactor) -> JSON:
    """A step that came after so many exchanges and transitions; what only the end user may have is left out."""
    return {
        "at": format_exact(step.at),
        "exchanges": step.exchanges,
        "transitions": step.transitions,
        "command": step.command,
        "arguments": _arguments(step, hide),
    }


def _arguments(step: CommandRecord, hide: Redactor) -> JSON:
    if step.command == "visit":
        return {"method": step.arguments["call"].method}  # its link is for the end user alone
    if step.command != "call":
        arguments: JSON = hide.value(to_plain(step.arguments))
        return arguments
    waits = step.arguments["waits"]
    return {**_call(step.arguments["call"], hide), "waits": waits / SECOND if isinstance(waits, int) else waits}


def _call(call: Call, hide: Redactor) -> JSON:
    return {"method": call.method, "path": hide.text(call.path)}


def _due(sandbox: SandboxState) -> JSON | None:
    """The soonest timer that will still do something."""
    timer = min((each for each in sandbox.timers if sandbox.timer_target(each) is not None), default=None)
    return timer and {"at": format_exact(timer.due), "what": f"{timer.kind}.{timer.trigger}", "id": timer.id}


def read_replay(hosted: HostedSandbox, args: Arguments) -> Callable[[], JSON]:
    """The scenario document that repeats the run so far, for `mockserver replay`."""
    odd = next((key for key in args if key != "name"), None)
    if odd is not None:
        raise ControlError(400, "MOCK_BAD_QUERY", f"the document takes a name, not {odd!r}")
    return lambda: replay_document.document(hosted, **args)


def watch_choices(hosted: HostedSandbox, args: Arguments) -> None:
    """Remember from now on which choices are read, also after a reset."""
    hosted.watch_choices(set())


def read_watched(hosted: HostedSandbox, args: Arguments) -> JSON:
    """The choices that were read since somebody asked for it."""
    if hosted.read is None:
        raise ControlError(409, "MOCK_NOT_WATCHED", "nobody watches the choices; begin with POST /_mock/choices/watch")
    return {"read": sorted(hosted.read)}
