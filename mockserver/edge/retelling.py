"""
Commands that tell a run again: what was done beside the API, what waits, what is due, and the document that repeats it all.

They write nothing: neither the journal nor the steps know that they were asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.conduct import unmoved
from mockserver.core.instants import SECOND, Instant, Span, exact_text
from mockserver.core.journal import Step
from mockserver.core.redaction import Redactor
from mockserver.core.sandbox import Sandbox
from mockserver.edge import replays
from mockserver.edge.hosting import Hosted
from mockserver.edge.refusals import ControlError
from mockserver.edge.replies import redactor
from mockserver.scenario.documents import plain

JSON = dict[str, Any]
Arguments = Mapping[str, Any]


def read_steps(hosted: Hosted, args: Arguments) -> Callable[[], JSON]:
    """The steps so far, oldest first, the calls that a rule holds back, and what is due next; written out lock-free."""
    twin, real, process = hosted.sandbox.twin(), hosted.sandbox.stage.stopwatch(), hosted.sandbox.process_now()
    return lambda: _steps(twin) | {"unmoved": _unmoved(twin, real), "apart": _apart(twin, process)}


def _unmoved(sandbox: Sandbox, real: Span | None) -> JSON | None:
    """How long the client has waited in real time while the clock did not move; None below half a second."""
    waits = unmoved.unmoved(sandbox, real)
    if waits is None:
        return None
    spent, idle = waits.spent / SECOND, waits.idle / SECOND
    return {"first": waits.first, "last": waits.last, "calls": waits.calls, "seconds": spent, "idleSeconds": idle}


def _apart(sandbox: Sandbox, process: Instant) -> JSON | None:
    """The process's clock and the sandbox's, if they differ unintended; `exchange` is null for the present."""
    clocks = unmoved.apart(sandbox, process)
    if clocks is None:
        return None
    return {"process": exact_text(clocks.process), "sandbox": exact_text(clocks.sandbox), "exchange": clocks.n}


def _steps(sandbox: Sandbox) -> JSON:
    hide = redactor(sandbox)
    return {
        "now": exact_text(sandbox.now),
        "exchanges": sandbox.journal.last_exchange,
        "steps": [_step(each, hide) for each in sandbox.journal.steps],
        "lost": sandbox.journal.lost_steps,
        "held": [{**_call(each.call, hide), "rules": list(each.rule_ids)} for each in sandbox.script.parked.values()],
        "due": _due(sandbox),
    }


def _step(step: Step, hide: Redactor) -> JSON:
    """A step that came after so many exchanges and transitions; what only the end user may have is left out."""
    return {
        "at": exact_text(step.at),
        "exchanges": step.exchanges,
        "transitions": step.transitions,
        "command": step.command,
        "arguments": _arguments(step, hide),
    }


def _arguments(step: Step, hide: Redactor) -> JSON:
    if step.command == "visit":
        return {"method": step.arguments["call"].method}  # its link is for the end user alone
    if step.command != "call":
        arguments: JSON = hide.value(plain(step.arguments))
        return arguments
    waits = step.arguments["waits"]
    return {**_call(step.arguments["call"], hide), "waits": waits / SECOND if isinstance(waits, int) else waits}


def _call(call: Call, hide: Redactor) -> JSON:
    return {"method": call.method, "path": hide.text(call.path)}


def _due(sandbox: Sandbox) -> JSON | None:
    """The soonest timer that will still do something."""
    timer = min((each for each in sandbox.timers if sandbox.subject(each) is not None), default=None)
    return timer and {"at": exact_text(timer.due), "what": f"{timer.kind}.{timer.trigger}", "id": timer.id}


def read_replay(hosted: Hosted, args: Arguments) -> Callable[[], JSON]:
    """The scenario document that repeats the run so far, for `mockserver replay`."""
    odd = next((key for key in args if key != "name"), None)
    if odd is not None:
        raise ControlError(400, "MOCK_BAD_QUERY", f"the document takes a name, not {odd!r}")
    return lambda: replays.document(hosted, **args)


def watch_choices(hosted: Hosted, args: Arguments) -> None:
    """Remember from now on which choices are read, also after a reset."""
    hosted.watch_choices(set())


def read_watched(hosted: Hosted, args: Arguments) -> JSON:
    """The choices that were read since somebody asked for it."""
    if hosted.read is None:
        raise ControlError(409, "MOCK_NOT_WATCHED", "nobody watches the choices; begin with POST /_mock/choices/watch")
    return {"read": sorted(hosted.read)}
