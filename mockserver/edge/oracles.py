"""Commands that judge: the ledger of side effects, and the client's conduct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core import ledger
from mockserver.core.conduct import judging
from mockserver.core.conduct.records import Report
from mockserver.core.instants import exact_text
from mockserver.core.redaction import Redactor
from mockserver.core.sandbox import Sandbox
from mockserver.edge.hosting import Hosted
from mockserver.edge.replies import redactor

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


def read_ledger(hosted: Hosted, args: Arguments) -> Callable[[], JSON]:
    """What the calls so far have caused, written out while the sandbox goes on."""
    twin = hosted.sandbox.twin()
    return lambda: _ledger(ledger.read(twin), redactor(twin))


def _ledger(found: ledger.Ledger, hide: Redactor) -> JSON:
    values: dict[str, Any] = {}  # by execution: all its sends have the same ones
    return {name: [_row(row, hide, values) for row in getattr(found, attribute)] for name, attribute in LEDGER.items()}


def _row(row: Mapping[str, Any], hide: Redactor, values: dict[str, Any]) -> JSON:
    """A row with every key in its short form: names and values are what a client wrote."""
    shown = dict(row)
    if "at" in row:
        shown["at"] = exact_text(row["at"])
    if "name" in row:
        shown["name"] = hide.text(row["name"])
    if "values" in row:
        execution_id = row["executionId"]
        if execution_id not in values:
            values[execution_id] = hide.value(row["values"])
        shown["values"] = dict(values[execution_id])
    return shown


def judge_conduct(hosted: Hosted, args: Arguments) -> Callable[[], Report]:
    """The report on the client's conduct so far, judged while the sandbox goes on; keys in its messages redacted."""
    twin = hosted.sandbox.twin()
    twin.choices = dict(twin.choices)  # a copy: to judge by a choice is not to act on it
    return lambda: _redacted(twin, judging.judge(twin))


def _redacted(twin: Sandbox, report: Report) -> Report:
    hide = redactor(twin)
    return report._replace(
        findings=tuple(each._replace(message=hide.text(each.message)) for each in report.findings),
        not_assessed=tuple(each._replace(why=hide.text(each.why)) for each in report.not_assessed),
    )


def read_conduct(hosted: Hosted, args: Arguments) -> Callable[[], JSON]:
    """The same as JSON."""
    judged = judge_conduct(hosted, args)
    return lambda: _conduct(judged())


def _conduct(report: Report) -> JSON:
    shown = ("rule", "clause", "severity", "message", "exchanges")
    return {
        "findings": [{name: getattr(each, name) for name in shown} for each in report.findings],
        "notAssessed": [each._asdict() for each in report.not_assessed],
    }
