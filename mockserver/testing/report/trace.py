"""
The trace of a test: its report, what happened, and the state after each step, as differences.

1. What happened is the journal of the run. The states are those of a replay of its document, which calls no receiver.
2. It contains no key. Equal runs have equal traces: the sandbox's address and id are written without their numbers.
3. A position of the trace is the state after one call, command or visit; position 0 is the state before the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import brief, printable
from mockserver.core.redaction import Redactor
from mockserver.report.run import exchanges
from mockserver.server.hosting.command_log import BASE_URL
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.testing.backend import world_changes
from mockserver.testing.report.replay import ReplayedEntry, replay_in

_BODY_CHARS = 4_000  # of a request or an answer
_VALUE_CHARS = 80
_CHANGES_SHOWN = 12  # of one step; the state at its position has all of them


class CallText(NamedTuple):
    """
    A call of the run as text.

    Attributes:
        n: its number.
        time: the time of day on the sandbox's clock.
        line: number, operation and path.
        result: status and code, and the fault of a rule.
        tone: ok, refused, faulted or no-answer.
        sent: the request's body; empty if it had none.
        answered: the answer's body, or a reference to an equal one; empty if there is none.
        because: why it was refused; empty for a success.
        context: its header `traceparent`; empty without one.
    """

    n: int
    time: str
    line: str
    result: str
    tone: str
    sent: str
    answered: str
    because: str
    context: str


class TracedStep(NamedTuple):
    """
    One call, command or visit, and what it has changed.

    Attributes:
        label: one line about a step that has run no call; else empty.
        last_call: the number of the last call so far.
        calls: the calls that it has run, none for most commands.
        changed: texts about the changes.
        changes: the same as differences of worlds.
    """

    label: str
    last_call: int
    calls: Sequence[CallText]
    changed: Sequence[str]
    changes: Sequence[Any]


class ShownTrace(NamedTuple):
    """
    A trace before it is rendered.

    Attributes:
        name: of the test.
        outcome: failed or passed.
        summary: the first lines of the report.
        report: the lines after them.
        notes: sentences about what the trace does not contain.
        document: repeats the run; without the bodies of answers.
        start: the world before the first step.
        end: the world after the last one.
        har: the name of a file with the calls as a HAR; empty if there is none.
    """

    name: str
    outcome: str
    summary: Sequence[str]
    report: Sequence[str]
    notes: Sequence[str]
    document: JSON
    start: JSON
    steps: Sequence[TracedStep]
    end: JSON
    har: str


class TracedRun(NamedTuple):
    """
    A run that is traced.

    Attributes:
        name: of the test.
        outcome: failed or passed.
        summary: the first lines of its report.
        report: the lines after them.
        journal: the exchanges of its journal, as the control plane returns them.
        document: that repeats it.
        secrets: the keys and secrets of its sandbox.
        address: the sandbox's base url and its id.
        har: the name of the file next to the trace that has the calls as a HAR; empty if there is none.
    """

    name: str
    outcome: str
    summary: Sequence[str]
    report: Sequence[str]
    journal: Sequence[Mapping[str, Any]]
    document: JSON
    secrets: Sequence[str]
    address: tuple[str, str]
    har: str = ""


def with_actors(traced: ShownTrace, actors: Mapping[int, str]) -> ShownTrace:
    """Return a trace in which each call begins with the name of its actor, given the names by the calls' numbers."""
    width = max(map(len, actors.values()), default=0)
    steps = []
    for step in traced.steps:
        calls = [call._replace(line=f"{actors.get(call.n, ''):<{width}}  {call.line}") for call in step.calls]
        steps.append(step._replace(calls=calls))
    return traced._replace(steps=steps)


def trace(run: TracedRun) -> ShownTrace:
    """Replay a run, and return its trace."""
    hosted = SandboxHost().create(SandboxConfig(run.document))
    clean = _cleaner([*run.secrets, *hosted.sandbox.secrets()], *run.address)
    calls = list(_calls(run.journal, clean))
    read_changes = world_changes(hosted)
    start, _ = read_changes()
    end, differing = start, 0
    steps: list[TracedStep] = []
    dropped = unsent = calls[0].n - 1 if calls else 0
    for entry, outcome in zip(run.document.get("calls", ()), replay_in(hosted, run.document), strict=True):
        before, (end, changes) = end, read_changes()
        differing += bool(outcome.differences) and "cut" not in entry
        unsent += "cut" in entry  # a call whose body the journal has cut has a number, and is not sent again
        last = hosted.sandbox.journal.last_exchange + unsent
        former = steps[-1].last_call if steps else dropped
        own = calls[former - dropped : last - dropped]
        label = "" if own else clean(_label(outcome))
        steps.append(
            TracedStep(label=label, last_call=last, calls=own, changed=list(_shown(before, changes)), changes=changes)
        )
    stored = {**run.document, "calls": [dict(entry) for entry in run.document.get("calls", ())]}
    for entry in stored["calls"]:  # without the bodies of answers, which a replay only compares
        if entry.get("answer") is not None:
            entry["answer"] = {"status": entry["answer"]["status"], "cut": True}
    notes = [run.document["summary"]] if "summary" in run.document else []
    if differing:
        entries = "1 step has" if differing == 1 else f"{differing} steps have"
        notes.append(
            f"In the replay {entries} another outcome than in the run, so the states may differ from the run's."
        )
    return ShownTrace(
        name=clean(run.name), outcome=run.outcome, summary=[*map(clean, run.summary)], report=[*map(clean, run.report)], notes=[*map(clean, notes)],
        document=stored, start=start, steps=steps, end=end, har=run.har,
    )  # fmt: skip


def _label(outcome: ReplayedEntry) -> str:
    """Return the line of a step that has run no call: a command, a visit of the hosted page, a call that a rule delays."""
    if not outcome.is_call:
        return f"test: {outcome.label}"
    method, _, path = outcome.label.partition(" ")
    if not path.startswith("/connect/"):
        return f"{outcome.label}, delayed by a rule"
    page = path.split("/")[4:5]
    return f"end user: {method} of the hosted page{''.join(f', {name}' for name in page)}"


def _cleaner(secrets: Sequence[str], base_url: str, sandbox_id: str) -> Callable[[str], str]:
    """Return the function that removes from a text what a trace must not contain."""
    hide, id = Redactor(secrets), re.compile(rf"\b{re.escape(sandbox_id)}\b")

    def clean(text: str) -> str:
        return printable(id.sub("sandbox", hide.text(text).replace(base_url, BASE_URL)), keep="\n")

    return clean


def _calls(journal: Sequence[Mapping[str, Any]], clean: Callable[[str], str]) -> Iterator[CallText]:
    """Yield the calls; an answer that is equal to the one before to the same request is a reference to it."""
    known: dict[tuple[str, str], tuple[str, int]] = {}
    for view in journal:
        call = exchanges.read(view)
        sent, answered = clean(_body(call.body)), clean(_body(call.body_received))
        request = (f"{call.method} {call.path}", json.dumps(dict(call.query)))
        former, first = known.get(request, ("", 0))
        known[request] = (answered, first if answered == former else call.n)
        if answered and answered == former:
            answered = f"the same as #{first}"
        line, _, result = clean(exchanges.format_line(call)).rpartition(" -> ")
        time = view["at"][11:].removesuffix("Z")[:12]
        reason, context = clean(call.reason or ""), clean(call.headers.get("traceparent", ""))
        yield CallText(
            n=call.n,
            time=time,
            line=line,
            result=result,
            tone=_tone(call),
            sent=sent,
            answered=answered,
            because=reason,
            context=context,
        )


def _tone(call: exchanges.Exchange[Any, Any]) -> str:
    if call.fault:
        return "faulted"
    if call.status is None:
        return "no-answer"
    return "ok" if call.status < 400 else "refused"


def _body(value: Any) -> str:
    if value is None:
        return ""
    return brief(value, _BODY_CHARS) if isinstance(value, str) else exchanges.brief_json(value, _BODY_CHARS)


def _shown(before: JSON, changes: Sequence[Any]) -> Iterator[str]:
    """Yield a text for each change but those of the clock; of many only the first ones."""
    rows = [change for change in changes if change[0][0] != "clock"]
    for path, *value in rows[:_CHANGES_SHOWN]:
        place, rest = _place(path)
        if not rest:
            yield f"new: {place}" if value else f"gone: {place}"
            continue
        former: Any = before
        for key in path:
            former = former.get(key) if isinstance(former, Mapping) else None
        yield f"{place}: {'.'.join(rest)} {_value(former)} → {_value(value[0]) if value else 'gone'}"
    if len(rows) > _CHANGES_SHOWN:
        yield f"and {len(rows) - _CHANGES_SHOWN} more"


def _place(path: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the record that a change is about, and the path in it."""
    if path[0] == "tenants":
        is_record = len(path) > 3
        return (f"{path[2]} {path[3]}", path[4:]) if is_record else (f"tenant {path[1]}", path[2:])
    return (
        (f"{path[0]} {path[1]}", path[2:])
        if path[0] in ("rules", "deliveries") and len(path) > 1
        else (path[0], path[1:])
    )


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(brief(text, _VALUE_CHARS))


def position_of(steps: Sequence[int], call: int | None) -> int:
    """
    Return the number of steps up to a call.

    Args:
        steps: the number of the last call after each step.
        call: a number; None for all steps.

    Raises:
        ValueError: The run has no such call.
    """
    if call is None:
        return len(steps)
    for place, last in enumerate(steps):
        if last >= call >= 1:
            return place + 1
    raise ValueError(f"got call {call}; expected one from 1 to {steps[-1] if steps else 0}")
