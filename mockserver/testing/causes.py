"""
The first lines of a report: what most likely went wrong.

Asked in this order: what the test itself missed or failed with, or asked of the mock and was refused; a receiver that
raised; what the client did wrong by its conduct; whether any call came at all, the latest call that was refused or bent
by a rule, and whether time stands still where something is due.
"""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.core.instants import SECOND, parse
from mockserver.edge.receivers import RAISED
from mockserver.edge.routing import route
from mockserver.testing.calls import CallMismatch
from mockserver.testing.exchanges import Exchange, line, told
from mockserver.testing.reporting import Seen

_LINES = 3
_NOISE = 3  # the severity of findings that explain no failure


class TellingError(AssertionError):
    """A failure whose own first lines tell its cause, such as an invariant that does not hold."""


def cause(seen: Seen, failure: BaseException | None) -> list[str]:
    """One to three lines."""
    if isinstance(failure, CallMismatch):
        return _missed(seen, failure)
    told = isinstance(failure, TellingError | pytest.fail.Exception) and str(failure)
    if told or _is_ours(failure):
        return str(failure).splitlines()[:_LINES]
    bugs = [f"{each.rule}: {each.message}" for each in seen.findings if each.severity < _NOISE]
    return [*_broken_receiver(seen)[:1], *bugs[:1], *_course(seen)][:_LINES]


def _is_ours(failure: BaseException | None) -> bool:
    """True for what the test asked of the mock and was refused, such as a scenario with a misspelt name."""
    trace = failure.__traceback__ if isinstance(failure, ValueError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("mockserver.")


def _broken_receiver(seen: Seen) -> list[str]:
    """A receiver of the test's own that raised instead of answering: the service has seen but a 500."""
    return [
        f"{attempt['error']} where {event['event']} {event['id']} came to {delivery['endpoint']}"
        for event in seen.events
        for delivery in event.get("deliveries", ())
        for attempt in delivery["attempts"]
        if str(attempt.get("error")).startswith(RAISED)
    ]


def _course(seen: Seen) -> list[str]:
    """What the calls themselves tell."""
    if not seen.exchanges:
        return _silence(seen)
    troubled = [each for each in seen.exchanges if each.status is None or each.status >= 400 or each.fault]
    if troubled:
        return _trouble(seen, troubled[-1])
    fine = f"{_many(len(seen.exchanges))} answered with success; the last: {line(seen.exchanges[-1])}"
    still = _still(seen)
    return [*still, fine] if seen.exchanges[-1].method == "GET" else [fine, *still]


def _missed(seen: Seen, failure: CallMismatch) -> list[str]:
    """The assertion's own words, and the exchange that explains them best."""
    near = next((each for each in seen.exchanges if each.n == failure.nearest), None)
    if near is not None:
        why = [f"  refused because {near.reason}"] if near.reason else []
        return [failure.expected, f"nearest is {line(near)}", *why]
    said = _silence(seen)[1:] if not seen.exchanges else []
    troubled = [each for each in seen.exchanges if each.status is None or each.status >= 400]
    if troubled:
        said = _trouble(seen, troubled[-1])
    elif seen.exchanges and f"#{seen.exchanges[-1].n} " not in failure.expected:
        said = [f"the last call was {line(seen.exchanges[-1])}"]
    return [failure.expected, *said][:_LINES]


def _silence(seen: Seen) -> list[str]:
    if seen.held:
        held = seen.held[0]
        by = ", ".join(held["rules"])
        told = f"No call has arrived at {seen.id} yet: {held['method']} {held['path']} is delayed by {by}"
        return [told, *_still(seen)]
    if seen.address is None:
        hint = (
            "nobody asked for its address: give the client `mockserver.base_url`, or a session that `mockserver` makes"
        )
    else:
        hint = f"its address is {seen.address}: does the client go there?"
    return [f"No call reached {seen.id};", f"  {hint}"]


def _trouble(seen: Seen, each: Exchange[Any, Any]) -> list[str]:
    """The latest call that did not go well, why, and what came after it."""
    name = each.operation or f"{each.method} {each.path}"
    later = seen.exchanges[-1].n - each.n
    after = f" ({_many(later)} answered after it)" if later else ""
    if each.fault:
        effect = "it took effect" if each.applied else "the operation did not take effect"
        got = "and its client got no answer" if each.status is None else f"and its client got {each.status}"
        return [f"Call #{each.n} {name} met {told(each.fault)}{after}", f"  {effect}, {got}"]
    if each.status is None:
        return [f"Call #{each.n} {name} was answered to nobody: its client had gone{after}"]
    code = f" {each.code}" if each.code else ""
    word = "is no operation of the API" if each.operation is None else "was refused"
    reason = [f"  {each.reason}"] if each.reason else []
    nearest = _near_path(each) if each.operation is None else None
    reason = [f"  did you mean {nearest}? The client's base url has a part too many or too few"] if nearest else reason
    return [f"Call #{each.n} {name} {word}: {each.status}{code}{after}", *reason]


def _near_path(each: Exchange[Any, Any]) -> str | None:
    """The path of an operation that this one would be with `/v1` before it, or without what stands before `/v1`."""
    inner = each.path[each.path.rfind("/v1/") :] if "/v1/" in each.path else f"/v1{each.path}"
    return inner if inner != each.path and route(each.method, inner).endpoint is not None else None


def _still(seen: Seen) -> list[str]:
    """A clock that stands while something is due is what a test that waits in vain has overlooked."""
    if seen.due is None or not seen.clock["frozen"]:
        return []
    now, due = parse(seen.clock["now"]), parse(seen.due["at"])
    assert now is not None and due is not None
    wait = f"{max(0, due[0] - now[0]) / SECOND:g}"
    trigger = seen.due["what"].partition(".")[2]
    told = f'"{trigger}" of {seen.due["id"]} is due in {wait} s; mockserver.advance({wait}) lets it come'
    return [f"Time stands still at {seen.clock['now']}: {told}"]


def _many(count: int) -> str:
    return "1 call was" if count == 1 else f"{count} calls were"
