"""Commands that show what happened: the journal, the history, the ledger and the choices that were read. They write nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mockserver._json import JSON
from mockserver.contract.endpoints import operations_named
from mockserver.contract.text import closest_match_hint
from mockserver.core import ledger
from mockserver.core.instants import SECOND, Duration, Instant, format_exact
from mockserver.core.redaction import Redactor, to_json_text
from mockserver.core.run import Run
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import CommandRecord
from mockserver.core.state.matching import PATH_ROOTS, PathDifference, differences
from mockserver.report.run import frozen_clock
from mockserver.scenario.documents import to_plain
from mockserver.server.control import views
from mockserver.server.control.arguments import whole_numbers
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox, HostedSnapshot
from mockserver.wire.response import redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]

_CALLS_SHOWN: Final = 20  # of those that a failed verification shows


def read_journal(snapshot: HostedSnapshot, args: Arguments) -> answers.Journal:
    """Return exchanges and transitions; with `operation`, `status` or `text` only those exchanges, with `last` the newest of them."""
    if "limit" in args and "last" in args:
        raise ControlError(
            "MOCK_BAD_QUERY", "got limit with last; expected limit for the oldest or last for the newest"
        )
    numbers = whole_numbers(args, ("status", "since", "before", "limit", "last"))
    operations = _operations(args["operation"]) if "operation" in args else None
    return views.journal(snapshot.state, operations=operations, text=args.get("text", ""), **numbers)


def _operations(name: str) -> tuple[str, ...]:
    try:
        return operations_named(name)
    except ValueError as refusal:
        raise ControlError("MOCK_BAD_OPERATION", str(refusal)) from None


_BOUNDS: Final = {"times": "exactly", "atLeast": "at least", "atMost": "at most"}


def verify_journal(hosted: HostedSandbox, args: Arguments) -> answers.Verified:
    """Return whether the operation was called as often as expected, and the nearest calls if it was not."""
    where = args.get("where", {})
    for path in where:
        root = path.partition(".")[0]
        if root not in PATH_ROOTS:
            expected = f"a path that begins with {', '.join(PATH_ROOTS)}{closest_match_hint(root, PATH_ROOTS)}"
            raise ControlError("MOCK_BAD_WHERE", f"where: got {path!r}; expected {expected}")
    operations = _operations(args["operation"])
    _check_expected_count(args)
    calls = [entry for entry in hosted.sandbox.journal.exchanges if entry.operation in operations]
    compared = [(entry, differences(entry, where)) for entry in calls]
    count = sum(not differs for _, differs in compared)
    at_least = args.get("times", args.get("atLeast", 0))
    at_most = args.get("times", args.get("atMost", count))
    hide = redactor(hosted.sandbox)
    misses = sorted((pair for pair in compared if pair[1]), key=lambda pair: len(pair[1]))[:3]
    nearest: list[answers.Nearest] = [
        {"exchange": views.exchange(entry, hide), "differences": [_shown_difference(one, hide) for one in differs[:5]]}
        for entry, differs in misses
    ]
    is_met = at_least <= count <= at_most
    shown = [] if is_met else (calls or list(hosted.sandbox.journal.exchanges))[-_CALLS_SHOWN:]
    there_were: list[answers.VerifiedCall] = [
        {"n": each.n, "method": hide.text(each.call.method), "path": hide.text(each.call.path), "status": each.status}
        for each in shown
    ]
    verified: answers.Verified = {"ok": is_met, "count": count, "nearest": nearest, "calls": there_were}
    if not is_met:
        verified["message"] = hide.text(_unmet(args, count, nearest, there_were))
    return verified


def _shown_difference(row: PathDifference, hide: Redactor) -> answers.PathDifference:
    """Return a difference, masked as the value of its path is."""
    path, expected = next(iter(hide.value({row.path: row.expected}).items()))
    (actual,) = hide.value({row.path: row.actual}).values()
    return {"path": path, "expected": expected, "actual": actual}


def _unmet(
    args: Arguments, count: int, nearest: Sequence[answers.Nearest], calls: Sequence[answers.VerifiedCall]
) -> str:
    """Return the failed expectation in words, for the failure of a test in any language."""
    numbers = [args[name] for name in _BOUNDS if name in args]
    bounds = " and ".join(f"{text} {args[name]}" for name, text in _BOUNDS.items() if name in args)
    values = " and ".join(f"{path} = {to_json_text(value)}" for path, value in args.get("where", {}).items())
    calls_of = f"call{'s' * (numbers[-1] != 1)} of {args['operation']}{f' with {values}' if values else ''}"
    expected = f"expected {bounds} {calls_of}, got {count}"
    if nearest:
        call, rows = nearest[0]["exchange"], nearest[0]["differences"]
        shown = (
            f"{row['path']}: got {to_json_text(row['actual'])}, expected {to_json_text(row['expected'])}"
            for row in rows
        )
        return f"{expected}; the nearest is #{call['n']}, {'; '.join(shown)}"
    listed = ", ".join(
        f"#{call['n']} {call['method']} {call['path']} -> {call['status'] or 'no answer'}" for call in calls
    )
    return f"{expected}; the latest calls are {listed}" if listed else f"{expected}; no call reached the sandbox"


def _check_expected_count(args: Arguments) -> None:
    """Refuse arguments that name no number of calls, or two that exclude each other."""
    if "times" in args and ("atLeast" in args or "atMost" in args):
        raise ControlError(
            "MOCK_BAD_VERIFY", "got times with atLeast or atMost; expected times alone, or atLeast and atMost"
        )
    if not {"times", "atLeast", "atMost"} & args.keys():
        raise ControlError(
            "MOCK_BAD_VERIFY", "got no expected count; expected times, atLeast or atMost, such as atLeast: 1"
        )
    if args.get("atLeast", 0) > args.get("atMost", math.inf):
        raise ControlError(
            "MOCK_BAD_VERIFY",
            f"got atLeast {args['atLeast']} and atMost {args['atMost']}; expected atLeast up to atMost",
        )


def read_history(snapshot: HostedSnapshot, args: Arguments) -> answers.History:
    """Return the commands so far, oldest first, the calls that a rule defers, and the next due timer."""
    state, journal = snapshot.state, snapshot.state.journal
    hide, coming = redactor(state), views.coming(state)
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
        "due": coming[0] if coming else None,
        "failing": views.failing(state),
        "coming": coming,
        "unmoved": _unmoved(Run.of(state), snapshot.hosted.sandbox.runtime.monotonic_us()),
        "apart": _apart(Run.of(state), state.process_now()),
    }


def _unmoved(run: Run, real: Duration | None) -> answers.Unmoved | None:
    """Return the client's waits in real time while the clock did not move; None below half a second."""
    waits = frozen_clock.unmoved(run, real)
    if waits is None:
        return None
    spent, idle = waits.spent / SECOND, waits.idle / SECOND
    return {"first": waits.first, "last": waits.last, "calls": waits.calls, "seconds": spent, "idleSeconds": idle}


def _apart(run: Run, process: Instant) -> answers.Apart | None:
    """Return the process's time and the sandbox's, if they differ unintentionally; `exchange` is null for the present."""
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


def read_ledger(snapshot: HostedSnapshot, args: Arguments) -> answers.Ledger:
    """Return the side effects of the calls so far, keys redacted: names and values may contain them, since a client sent them."""
    effects: answers.Ledger = redactor(snapshot.state).value(ledger.read(Run.of(snapshot.state)))
    return effects


def track_choices(hosted: HostedSandbox, args: Arguments) -> None:
    """Record from now on which choices are read, also after a reset."""
    hosted.watch_choices(set())


def read_tracked_choices(hosted: HostedSandbox, args: Arguments) -> answers.TrackedChoices:
    """Return the choices that were read since tracking began."""
    if hosted.choices_read is None:
        raise ControlError("MOCK_NOT_WATCHED", "the choices are not tracked; begin with POST /_mock/choices/watch")
    return {"read": sorted(hosted.choices_read)}
