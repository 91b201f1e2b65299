"""
The first lines of a report: the most likely cause of a failure.

The causes are checked in this order: a client that waits while the clock does not move; calls that the test expected and did
not get, an exception of its own, or a refusal by the mock; a receiver that raised; findings on the client's conduct; no calls
at all; the latest call with an error or a fault; and a frozen clock while a timer is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple

import pytest

from mockserver.conduct.rules import RULES, Finding
from mockserver.contract.durations import duration_text
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import Duration, from_datetime, parse
from mockserver.server.api.router import route
from mockserver.server.webhooks.local_receivers import RECEIVER_RAISED
from mockserver.testing.calls import CallMismatch, Exchange, format_fault, format_line, shorten
from mockserver.testing.report import clocks
from mockserver.testing.report.render import JSON, SandboxSnapshot, extra, is_forged, strayed

_CLOCK_COMMANDS = ("advance", "set_clock")


def _progress_seen(seen: SandboxSnapshot) -> list[str]:
    """Return the progress of the record that the latest call has read: changes without a call, or the sends of a campaign."""
    last = seen.exchanges[-1]
    return (
        clocks.waiting(seen, last.operation)
        or _moved(seen, last.path)
        or _send_progress(last.body_received, from_datetime(last.at))
    )[:1]


def _last_answer(seen: SandboxSnapshot) -> list[str]:
    """Return the response of the latest call."""
    said = seen.exchanges[-1].body_received
    return [f"  answered {'nothing: its body is empty' if said is None else shorten(said)}"]


def _polls_frozen_clock(seen: SandboxSnapshot) -> bool:
    """Return True if the client reads a record again, and the test has not advanced the clock since the latest write."""
    last = seen.exchanges[-1]
    if last.method != "GET" or clocks.waiting(seen, last.operation):
        return False
    began = max((each.n for each in seen.exchanges if each.method != "GET"), default=0)
    return not any(step["command"] in _CLOCK_COMMANDS and step["exchanges"] >= began for step in seen.steps)


def _moved(seen: SandboxSnapshot, path: str) -> list[str]:
    """Return the last change of the record that the call read, if no call of the API caused it."""
    moves = [each for each in seen.transitions if each["id"] in path.split("/")]
    if not moves or "exchange" in moves[-1]["cause"]:
        return []
    move = moves[-1]
    by = ", ".join(f"{key} {value}" for key, value in move["cause"].items())
    return [f"  {move['kind']} {move['id']} had become {move['to']} at {move['at']} ({by})"]


def _send_progress(said: Any, now: int) -> list[str]:
    """Return the progress of a campaign that is still being sent."""
    runs = said.get("executions") if isinstance(said, Mapping) else None
    run = runs[0] if isinstance(runs, list) and runs and isinstance(runs[0], Mapping) else {}
    began = parse(run["startedAt"]) if isinstance(run.get("startedAt"), str) else None
    if began is None or run.get("status") != "processing" or not isinstance(said.get("cadence"), int):
        return []
    return [f"  {_far(run, now - began[0])}, at a cadence of {said['cadence']} a minute; the first goes at once"]


def _far(run: JSON, since: Duration) -> str:
    sent, failed, target = (run.get(key) for key in ("sentCount", "failedCount", "targetCount"))
    return f"{run.get('id')} had {sent} sent and {failed} failed of {target}, {duration_text(since)} after its start"


_LINES = 3
_NOISE = 3  # the severity of findings that explain no failure
_CITED = 10
_ROUTE = '; where it is an application, `receive_webhooks(app, path="/...")` names its route'
_NUMBER = re.compile(r"#([0-9]{1,9})\b")


class SelfExplainingError(AssertionError):
    """A failure whose own first lines contain its cause, such as an invariant that does not hold."""


class Diagnosis(NamedTuple):
    """One to three lines, and the numbers of the calls that they concern."""

    lines: list[str]
    cited: frozenset[int]


def diagnose(seen: SandboxSnapshot, failure: BaseException | None) -> Diagnosis:
    """Return the most likely cause; a client that waits while the clock does not move takes precedence."""
    waits = clocks.unmoved(seen, failure)
    likely = _likely(seen, failure)
    if not waits:
        return likely
    others = [each for each in likely.lines if not each.startswith("Time stands still")]
    return _citing([*waits, *others], likely.cited)


def _likely(seen: SandboxSnapshot, failure: BaseException | None) -> Diagnosis:
    if isinstance(failure, CallMismatch):
        return _citing(_missed(seen, failure))
    told = isinstance(failure, SelfExplainingError | pytest.fail.Exception) and str(failure)
    if told or _is_ours(failure):
        return _citing(str(failure).splitlines())
    raised = _raised_before(seen, failure)
    if raised:
        return _citing(raised)
    broken = _broken_receiver(seen)[:1]
    refused = [] if broken else _refused_delivery(seen)[-1:]
    bugs = _bugs(seen.findings, bool(broken))
    is_troubled, course = bool(_failed_calls(seen)), _describe_calls(seen)
    bugs = bugs[: 1 if broken or refused or is_troubled else 2]
    rest = [*course[:2], *refused, *course[2:]] if is_troubled else [*refused, *course]
    lines = [*broken, *map(_spelt, bugs), *rest]
    return _citing(lines, [n for each in bugs for n in each.exchanges])


def _citing(lines: list[str], besides: Iterable[int] = ()) -> Diagnosis:
    shown = lines[:_LINES]
    named = [int(number) for each in shown for number in _NUMBER.findall(each)]
    return Diagnosis(shown, frozenset(list(dict.fromkeys([*named, *besides]))[:_CITED]))


def _bugs(findings: Iterable[Finding], is_receiver_broken: bool) -> list[Finding]:
    """Return the findings that explain a failure, the worst first, without those that a broken receiver caused."""
    bugs = [each for each in findings if each.severity < _NOISE]
    if is_receiver_broken:
        bugs = [each for each in bugs if "W" not in RULES[each.rule].sources]
    return bugs


def _spelt(bug: Finding) -> str:
    numbers = ", ".join(f"#{n}" for n in bug.exchanges[:_LINES])
    return f"{bug.rule}: {bug.message}{f' ({numbers})' if numbers and not _NUMBER.search(bug.message) else ''}"


def _is_ours(failure: BaseException | None) -> bool:
    """Return True for an error of the mock's own interface, such as a scenario with a misspelt name."""
    trace = failure.__traceback__ if isinstance(failure, ValueError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("mockserver.")


def _raised_before(seen: SandboxSnapshot, failure: BaseException | None) -> list[str]:
    """Return the exception of a test without calls; not a failed assertion, which may be about the missing calls."""
    silent = not (seen.exchanges or seen.deferred or seen.strays)
    if not silent or not isinstance(failure, Exception) or isinstance(failure, AssertionError | clocks.Stopped):
        return []
    own = [each for each in extract_tb(failure.__traceback__) if not _is_library(Path(each.filename))]
    place = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    words = str(failure).partition("\n")[0]
    said = f"{type(failure).__name__}{f': {shorten(words)}' if words else ''}"
    return [f"The test raised {said}{place}, before any call", " ".join(map(str.strip, _no_calls_hint(seen)))]


def _is_library(file: Path) -> bool:
    """Return True for a file of an installed package, of this one or of Python: the test is not wrong there."""
    places = (Path(__file__).parents[1], Path(extract_tb.__code__.co_filename).parent)
    return "site-packages" in file.parts or any(file.is_relative_to(each) for each in places)


def _broken_receiver(seen: SandboxSnapshot) -> list[str]:
    """Return the exception of a receiver of the test, which is only a 500 to the service; not that of a forged request."""
    return [
        f"{attempt['error']} where {extra(attempt) or event['event'] + ' ' + event['id']} came to {delivery['endpoint']}"
        for event in seen.events
        for delivery in event.get("deliveries", ())
        for attempt in delivery["attempts"]
        if str(attempt.get("error")).startswith(RECEIVER_RAISED) and not is_forged(attempt)
    ]


def _failed_calls(seen: SandboxSnapshot) -> list[Exchange[Any, Any]]:
    return [each for each in seen.exchanges if each.status is None or each.status >= 400 or each.fault]


def _refused_delivery(seen: SandboxSnapshot) -> list[str]:
    """Return deliveries without a successful attempt, with the receiver's latest response to the genuine request."""
    return [
        f"the receiver {delivery['endpoint']} answered {attempt['status']} to {event['event']} {event['id']}"
        + (_ROUTE if attempt["status"] in (404, 405) else "")
        for event in seen.events
        for delivery in event.get("deliveries", ())
        for attempt in [each for each in delivery["attempts"] if extra(each) is None][-1:]
        if attempt.get("status") is not None and attempt["status"] >= 300
    ]


def _describe_calls(seen: SandboxSnapshot) -> list[str]:
    """Return the cause that the calls show."""
    if not seen.exchanges:
        return _no_calls_hint(seen)
    troubled = _failed_calls(seen)
    if troubled:
        return _trouble(seen, troubled[-1])
    fine = f"{_many(len(seen.exchanges))} answered with success; the last: {format_line(seen.exchanges[-1])}"
    stands, answered, still = _progress_seen(seen), _last_answer(seen), clocks.still(seen)
    if still and _polls_frozen_clock(seen):
        return [*still, fine, *stands, *answered]
    return [fine, *stands, *still, *answered] if stands else [fine, *answered, *still]


def _missed(seen: SandboxSnapshot, failure: CallMismatch) -> list[str]:
    """Return the assertion's own message, and the exchange that explains it best."""
    if failure.extra:
        return [failure.expected, *failure.extra]
    near = next((each for each in seen.exchanges if each.n == failure.nearest), None)
    if near is not None:
        why = [f"  refused because {shorten(near.reason)}"] if near.reason else []
        return [failure.expected, f"nearest is {format_line(near)}", *why]
    if not seen.exchanges:
        return [failure.expected, *_unheard(seen)]
    troubled = [each for each in seen.exchanges if each.status is None or each.status >= 400]
    if troubled:
        return [failure.expected, *_trouble(seen, troubled[-1])]
    last = seen.exchanges[-1]
    return [
        failure.expected,
        *([] if f"#{last.n} " in failure.expected else [f"the last call was {format_line(last)}"]),
    ]


def _unheard(seen: SandboxSnapshot) -> list[str]:
    """Return the lines about a missing call, which is often one of a thread that the test has not waited for."""
    said = _no_calls_hint(seen)
    if seen.deferred or seen.address is None:
        return said
    return [" ".join(map(str.strip, said)), "  a call of another thread is waited for by `mockserver.wait_for(...)`"]


def _no_calls_hint(seen: SandboxSnapshot) -> list[str]:
    if seen.deferred:
        held = seen.deferred[0]
        by = ", ".join(held["rules"])
        told = f"No call has arrived at {seen.id} yet: {held['method']} {held['path']} is delayed by {by}"
        return [told, *clocks.still(seen)]
    if seen.strays:
        return [f"No call reached {seen.id};", f"  {strayed(seen)}"]
    if seen.address is None:
        hint = "the test did not ask for its address: give the client `mockserver.base_url`, or a session that `mockserver` makes"
    else:
        hint = f"its address is {seen.address}: does the client go there?"
    return [f"No call reached {seen.id};", f"  {hint}"]


def _trouble(seen: SandboxSnapshot, each: Exchange[Any, Any]) -> list[str]:
    """Return the latest call with an error or a fault, its reason, and the calls after it."""
    name = each.operation or f"{each.method} {each.path}"
    later = seen.exchanges[-1].n - each.n
    after = f" ({_many(later)} answered after it)" if later else ""
    last = [f"the last call was {format_line(seen.exchanges[-1])}"] if later else []
    if each.fault:
        effect = "it took effect" if each.applied else "the operation did not take effect"
        got = "and its client got no answer" if each.status is None else f"and its client got {each.status}"
        return [f"Call #{each.n} {name} met {format_fault(each.fault)}{after}", f"  {effect}, {got}", *last]
    if each.status is None:
        return [f"Call #{each.n} {name} was answered to nobody: its client had gone{after}", *last]
    code = f" {each.code}" if each.code else ""
    word = "is no operation of the API" if each.operation is None else "was refused"
    reason = [f"  {shorten(each.reason)}"] if each.reason else []
    nearest = _near_path(each) if each.operation is None else None
    hint = [f"  did you mean {nearest}"] if nearest else reason
    return [f"Call #{each.n} {name} {word}: {each.status}{code}{after}", *hint, *last]


def _near_path(each: Exchange[Any, Any]) -> str | None:
    """Return the path of an operation that this one may stand for: with `/v1`, without a prefix, or of similar letters."""
    inner = each.path[each.path.rfind("/v1/") :] if "/v1/" in each.path else f"/v1{each.path}"
    if inner != each.path and route(each.method, inner).target is not None:
        return f"{inner}? The client's base url has a part too many or too few"
    asked = _plain(inner)
    known = {_plain(row.path): row.path for row in ENDPOINTS.values() if row.method == each.method}
    alike = [path for path in known if path.rpartition("/")[2] == asked.rpartition("/")[2] != "*"]
    close = get_close_matches(asked, known, n=1) or get_close_matches(asked, alike, n=1, cutoff=0)
    return f"{each.method} {known[close[0]]}?" if close else None


def _plain(path: str) -> str:
    """Return a path without the ids in it."""
    return re.sub(r"\{\w+\}|(?<=/)\w*[_\d]\w*(?=/|$)", "*", path.removeprefix("/v1"))


def _many(count: int) -> str:
    return "1 call was" if count == 1 else f"{count} calls were"
