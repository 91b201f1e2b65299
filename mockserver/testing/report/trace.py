"""
The trace of a test: its report, what happened, and the state after each step, as differences.

1. What happened is the journal of the run. The states are those of a replay of its document, which calls no receiver.
2. It contains no key. Equal runs have equal traces: the sandbox's address and id are written without their numbers.
3. A position of the trace is the state after one call, command or visit; position 0 is the state before the first.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mockserver._json import JSON, View
from mockserver.contract.text import brief, printable
from mockserver.core.redaction import Redactor
from mockserver.report.curl import curl
from mockserver.report.problem import Problem, with_texts
from mockserver.report.run import exchanges
from mockserver.server.hosting.command_log import BASE_URL
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.testing.backend import world_changes
from mockserver.testing.report.replay import ReplayedEntry, replay_in

Clean = Callable[[str], str]
Outcome = Literal["failed", "passed"]

_BODY_CHARS = 4_000  # of a request or an answer
_VALUE_CHARS = 80
_CHANGES_SHOWN = 12  # of one step; the state at its position has all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class CallText:
    """
    A call of the run as text.

    Attributes:
        n: Its number.
        time: The time of day on the sandbox's clock.
        line: Number, operation and path.
        result: Status and code, and the fault of a rule.
        tone: ok, refused, faulted or no-answer.
        sent: The request as a command of curl, with `$URL` and `$KEY`; empty if an earlier one was equal.
        sent_as: The number of that one.
        answered: The answer's body; empty if there is none, or if an earlier one to an equal request was equal.
        answered_as: The number of that one.
        because: Why it was refused; empty for a success.
    """

    n: int
    time: str
    line: str
    result: str
    tone: str
    sent: str
    sent_as: int | None
    answered: str
    answered_as: int | None
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """
    One call, command or visit, and what it has changed.

    Attributes:
        label: One line about a step that has run no call; else empty.
        last_call: The number of the last call so far.
        calls: The calls that it has run, none for most commands.
        changed: Texts about the changes.
        changes: The same as differences of worlds.
    """

    label: str
    last_call: int
    calls: Sequence[CallText]
    changed: Sequence[str]
    changes: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHead:
    """
    What a trace says before its steps.

    Attributes:
        name: Of the test.
        outcome: `failed` or `passed`.
        verdict: The line about a run without problems.
        problems: The worst first.
        failure: The exception or the message that has ended the test; empty if none is known.
        frames: The lines of client and test that led there, the last one first.
        report: The lines of the report after its first ones.
        replay: The path of the document that repeats the run; empty if it was not written.
        har: The name of the file next to the trace that has the calls as a HAR; empty if there is none.
    """

    name: str
    outcome: Outcome
    verdict: str = ""
    problems: Sequence[Problem] = ()
    failure: str = ""
    frames: Sequence[str] = ()
    report: Sequence[str] = ()
    replay: str = ""
    har: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """
    A run that is traced.

    Attributes:
        head: What its trace says first.
        journal: The exchanges of its journal, as the control plane returns them.
        document: Repeats it.
        secrets: The keys and secrets of its sandbox.
        base_url: Of its sandbox.
        sandbox_id: Of its sandbox.
    """

    head: TraceHead
    journal: Sequence[View]
    document: JSON
    secrets: Sequence[str]
    base_url: str
    sandbox_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTrace:
    """
    A trace before it is rendered.

    Attributes:
        head: What it says first.
        notes: Sentences about what it does not contain.
        document: Repeats the run; without the bodies of answers.
        start: The world before the first step.
        steps: The steps, in order.
        end: The world after the last one.
    """

    head: TraceHead
    notes: Sequence[str]
    document: JSON
    start: JSON
    steps: Sequence[TracedStep]
    end: JSON


def with_actors(traced: ShownTrace, actors: Mapping[int, str]) -> ShownTrace:
    """Return a trace in which each call begins with the name of its actor, given the names by the calls' numbers."""
    width = max(map(len, actors.values()), default=0)
    steps = []
    for step in traced.steps:
        calls = [replace(call, line=f"{actors.get(call.n, ''):<{width}}  {call.line}") for call in step.calls]
        steps.append(replace(step, calls=calls))
    return replace(traced, steps=steps)


def trace(run: TracedRun) -> ShownTrace:
    """Replay a run, and return its trace."""
    hosted = SandboxHost().create(SandboxConfig(run.document))
    clean = _cleaner([*run.secrets, *hosted.sandbox.secrets()], run.base_url, run.sandbox_id)
    calls = list(_calls(run.journal, clean))
    entries = run.document.get("calls", ())
    read_changes = world_changes(hosted)
    start, _ = read_changes()
    end, differing = start, 0
    steps: list[TracedStep] = []
    dropped = unsent = calls[0].n - 1 if calls else 0
    for entry, outcome in zip(entries, replay_in(hosted, run.document), strict=True):
        before, (end, changes) = end, read_changes()
        differing += bool(outcome.differences) and "cut" not in entry
        unsent += "cut" in entry  # a call whose body the journal has cut has a number, and is not sent again
        last = hosted.sandbox.journal.last_exchange + unsent
        former = steps[-1].last_call if steps else dropped
        own = calls[former - dropped : last - dropped]
        label = "" if own else clean(_label(outcome))
        changed = list(_changed(before, changes))
        steps.append(TracedStep(label=label, last_call=last, calls=own, changed=changed, changes=changes))
    return ShownTrace(
        head=_clean_head(run.head, clean),
        notes=[clean(note) for note in _notes(run.document, differing)],
        document={**run.document, "calls": [_without_answer(entry) for entry in entries]},
        start=start,
        steps=steps,
        end=end,
    )


def _notes(document: JSON, differing: int) -> Iterator[str]:
    """Yield what the document says of itself, and in how many steps the replay differs from the run."""
    if "summary" in document:
        yield document["summary"]
    if differing:
        steps = "1 step has" if differing == 1 else f"{differing} steps have"
        yield f"In the replay {steps} another outcome than in the run, so the states may differ from the run's."


def _without_answer(entry: View) -> JSON:
    """Return an entry of a document without the body of its answer, which a replay only compares."""
    if entry.get("answer") is None:
        return dict(entry)
    return {**entry, "answer": {"status": entry["answer"]["status"], "cut": True}}


def _clean_head(head: TraceHead, clean: Clean) -> TraceHead:
    return replace(
        head,
        name=clean(head.name),
        verdict=clean(head.verdict),
        problems=[replace(with_texts(problem, clean), actions=()) for problem in head.problems],
        failure=clean(head.failure),
        frames=[clean(frame) for frame in head.frames],
        report=[clean(line) for line in head.report],
    )


def _label(outcome: ReplayedEntry) -> str:
    """Return the line of a step that has run no call: a command, a visit of the hosted page, a call that a rule delays."""
    if not outcome.is_call:
        return f"test: {outcome.label}"
    method, _, path = outcome.label.partition(" ")
    if not path.startswith("/connect/"):
        return f"{outcome.label}, delayed by a rule"
    page = path.split("/")[4:5]
    return f"end user: {method} of the hosted page{''.join(f', {name}' for name in page)}"


def _cleaner(secrets: Sequence[str], base_url: str, sandbox_id: str) -> Clean:
    """Return the function that removes from a text what a trace must not contain."""
    hide, id = Redactor(secrets), re.compile(rf"\b{re.escape(sandbox_id)}\b")

    def clean(text: str) -> str:
        return printable(id.sub("sandbox", hide.text(text).replace(base_url, BASE_URL)), keep="\n")

    return clean


def _calls(journal: Sequence[View], clean: Clean) -> Iterator[CallText]:
    """Yield the calls; a request or an answer that is equal to an earlier one has the number of that call."""
    requests: dict[str, int] = {}
    answers: dict[tuple[str, str], int] = {}
    for view in journal:
        call = exchanges.read(view)
        sent, answered = clean(curl(view["request"])), clean(_body(call.body_received))
        sent_as, answered_as = requests.get(sent), answers.get((sent, answered))
        requests.setdefault(sent, call.n)
        if answered:
            answers.setdefault((sent, answered), call.n)
        line, _, result = clean(exchanges.format_line(call)).rpartition(" -> ")
        yield CallText(
            n=call.n,
            time=view["at"][11:].removesuffix("Z")[:12],
            line=line,
            result=result,
            tone=_tone(call),
            sent="" if sent_as else sent,
            sent_as=sent_as,
            answered="" if answered_as else answered,
            answered_as=answered_as,
            because=clean(call.reason or ""),
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


def _changed(before: JSON, changes: Sequence[Any]) -> Iterator[str]:
    """Yield a text for each change but those of the clock; of many only the first ones."""
    rows = [change for change in changes if change[0][0] != "clock"]
    for path, *value in rows[:_CHANGES_SHOWN]:
        record, member = _record_of(path)
        if not member:
            yield f"{'new' if value else 'gone'}: {record}"
            continue
        former: Any = before
        for key in path:
            former = former.get(key) if isinstance(former, Mapping) else None
        yield f"{record}: {'.'.join(member)} {_value(former)} → {_value(value[0]) if value else 'gone'}"
    if len(rows) > _CHANGES_SHOWN:
        yield f"and {len(rows) - _CHANGES_SHOWN} more"


def _record_of(path: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the record that a change is about, and the path of the member that has changed; empty for the whole record."""
    if path[0] != "tenants":
        size = 2 if path[0] in ("rules", "deliveries") else 1
        return " ".join(path[:size]), path[size:]
    _, tenant, *inside = path
    return (" ".join(inside[:2]), inside[2:]) if len(inside) > 1 else (f"tenant {tenant}", inside)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(brief(text, _VALUE_CHARS))


def position_of(steps: Sequence[int], call: int | None) -> int:
    """
    Return the position of a trace at which a call has run; without a call the last position.

    Args:
        steps: The number of the last call after each step.
        call: Its number.

    Raises:
        ValueError: The run has no such call.
    """
    if call is None:
        return len(steps)
    last = steps[-1] if steps else 0
    if not 1 <= call <= last:
        raise ValueError(f"got call {call}; expected one from 1 to {last}")
    return bisect_left(steps, call) + 1
