"""
The first lines of a report: the most likely cause of a failure.

First the failure of the test with its place in the code, and a client that waits while the clock does not move. Then, in this
order, a receiver that raised; findings on calls that a rule changed; what bent the world: the rules that fired and what each
caused, and the campaigns that something other than a call of the client ended; other findings on the client's conduct; no calls
at all, or the latest call with an error or a fault, or the refusal from which it follows, or what the successful calls show; and
a frozen clock while a timer is due. A report without a failure begins with the latest call that failed. `_shown_by_sandbox` has
the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from mockserver._json import View
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import MILLISECOND, from_datetime, parse
from mockserver.core.state.outbox import RECEIVER_RAISED
from mockserver.judge.check import Check, Finding, cited_calls
from mockserver.judge.client.receivers import BY_AGE, REFUSALS
from mockserver.judge.client.rules import RULES
from mockserver.report.run import clocks, hints, latest_read
from mockserver.report.run.exchanges import Exchange, format_fault, format_line, shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.render import (
    calls_without_prefix,
    choices_in_force,
    differing_clocks,
    extra,
    is_forged,
)
from mockserver.report.run.rules import fired_rules, format_change, idle_rules, is_shown_by_rule, outcome
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.scenario.rule_parser import describe_rule
from mockserver.wire.router import route

_LINES = 4  # of a diagnosis
_NOISE = 3  # the severity of findings that explain no failure
_CITED = 10
_ENDED_EARLY = ("canceled", "failed")
_CLOCK_COMMANDS = ("advance", "set_clock")
_ROUTE_HINT = '; the route of an application is the `path` of `receive_webhooks(app, path="/...")`'
_AGE_HINT = (
    "; a receiver that compares the timestamp with the sandbox's clock needs the choice `wh-timestamp: sandbox-clock`, "
    "under which a wrong secret is a finding"
)
_READS_HINT = "  a test that needs more such reads sets mockserver_poll_limit, a number or off"
# What a client writes into a path for a value that it does not have.
_NO_VALUES = frozenset(("None", "null", "undefined", "NaN"))
_OF_A_CONNECTION = re.compile(
    r"connect|time(d )?[ -]?out|url|schema|scheme|host|address|network|ssl|proxy", re.IGNORECASE
)
_NUMBER = re.compile(r"#([0-9]{1,9})\b")

Call = Exchange[Any, Any]


class Diagnosis(NamedTuple):
    """One to three lines, and the numbers of the calls that they concern."""

    lines: list[str]
    cited: frozenset[int]


def diagnose(snapshot: SandboxSnapshot, failure: Failure | None) -> Diagnosis:
    """Return the most likely cause; a loop that does not end and a client that waits for a clock that does not move take precedence."""
    if snapshot.run_ended is not None:
        explained = clocks.frozen_clock_hint(snapshot) or _with_advice(_explaining(snapshot.findings, False))
        return _citing([f"The test was ended: {snapshot.run_ended}", *explained[:1], _READS_HINT])
    waits = clocks.waits_on_frozen_clock(snapshot, failure)
    likely = _likely(snapshot, failure)
    first = [failure.line] if failure is not None and failure.line else []
    if failure is not None and failure.is_unresolved:
        first.append(hints.in_process_url(snapshot))
    if waits and (failure is not None or last_failed_call(snapshot) is None):
        frozen = clocks.frozen_clock_hint(snapshot)
        return _citing([*first, *waits, *(line for line in likely.lines if line not in frozen)], likely.cited)
    return _citing([*first, *likely.lines], likely.cited)


def _likely(snapshot: SandboxSnapshot, failure: Failure | None) -> Diagnosis:
    if failure is None:
        likely, call = _shown_by_sandbox(snapshot, None), last_failed_call(snapshot)
        if call is None:
            return likely
        details = [line for line in _describe_failed(snapshot, call)[1:] if line.startswith("  ")]
        named = f"Call #{call.n} "
        others = [line for line in likely.lines if line not in details and not line.startswith(named)]
        return _citing([f"the last call that failed is {format_line(call)}", *details, *others], likely.cited)
    if failure.expected is not None:
        at = f" ({failure.place.partition(' ')[0]})" if failure.place else ""
        lines = _mismatch(snapshot, failure, f"{failure.expected}{at}")
        fired = fired_rules(snapshot, max(_citing(lines[1:]).cited, default=None))
        return _citing([*lines, *(fired or idle_rules(snapshot.rules)[-1:])])
    if failure.own_lines:
        refused = [call for call in snapshot.exchanges if call.status is not None and call.status >= 400]
        return _citing([*failure.own_lines, *(_describe_failed(snapshot, refused[-1]) if refused else ())])
    return _shown_by_sandbox(snapshot, failure)


def _shown_by_sandbox(snapshot: SandboxSnapshot, failure: Failure | None) -> Diagnosis:
    """Return what the sandbox shows: a receiver that raised, findings, the latest call with an error or a fault."""
    broken = receiver_exceptions(snapshot.events)[:1]
    refused = [] if broken else _refused_deliveries(snapshot)[-1:]
    odd = [] if broken or refused else [*_repeated_deliveries(snapshot.events), *_events_for_nobody(snapshot)][-1:]
    findings = _explaining(snapshot.findings, bool(broken))
    has_failed_calls, last = bool(_failed_calls(snapshot)), last_failed_call(snapshot)
    findings = findings[: 1 if broken or refused or has_failed_calls else 2]
    bent = [*fired_rules(snapshot, None if last is None else last.n), *_delayed(snapshot), *_ended_by_others(snapshot)]
    on_faults, others = _on_faults_first(snapshot, findings)  # the first ones say more than the rule does
    idle = [] if bent else idle_rules(snapshot.rules)[-1:]
    calls, before = _describe_calls(snapshot, failure), 2 if has_failed_calls else 0
    rest = [*calls[:before], *idle, *refused, *odd, *calls[before:]]
    if bent and last is None:
        rest = clocks.frozen_clock_hint(snapshot) or _uncounted_sends(snapshot) or _answer_of(snapshot, bent)
    return _citing([*broken, *on_faults, *bent, *others, *rest], [n for each in findings for n in each.exchanges])


def _uncounted_sends(snapshot: SandboxSnapshot) -> list[str]:
    """Return how far the sends are, if no rule has changed them, whose line then has their counts."""
    return [] if any(rule.get("did") for rule in snapshot.rules) else latest_read.send_progress(snapshot)


def _answer_of(snapshot: SandboxSnapshot, bent: Iterable[str]) -> list[str]:
    """Return the answer of the latest call if the lines say that a rule fired at it: it shows what the rule did."""
    last = snapshot.exchanges[-1] if snapshot.exchanges else None
    is_at_last = last is not None and any(line.endswith(f" fired at #{last.n}") for line in bent)
    return latest_read.bodies(last)[-1:] if last is not None and is_at_last else []


def _on_faults_first(snapshot: SandboxSnapshot, findings: Iterable[Finding]) -> tuple[list[str], list[str]]:
    """Return the findings about calls that a rule has changed, and the others, in words."""
    faulted = {call.n for call in snapshot.exchanges if call.fault}
    findings = list(findings)
    parts: tuple[list[str], list[str]] = ([], [])
    for finding, line in zip(findings, _with_advice(findings), strict=True):
        parts[faulted.isdisjoint(finding.exchanges)].append(line)
    return parts


def _citing(lines: list[str], cited: Iterable[int] = ()) -> Diagnosis:
    first = lines[:_LINES]
    named = [int(number) for line in first for number in _NUMBER.findall(line)]
    return Diagnosis(first, frozenset(list(dict.fromkeys([*named, *cited]))[:_CITED]))


def _explaining(findings: Iterable[Finding], is_receiver_broken: bool) -> list[Finding]:
    """Return the findings that explain a failure, the worst first, without those that a broken receiver caused."""
    severe = [finding for finding in findings if finding.severity < _NOISE]
    if is_receiver_broken:
        severe = [finding for finding in severe if not _is_of_receiver(RULES[finding.rule])]
    return severe


def _is_of_receiver(rule: Check) -> bool:
    """Return True if a receiver that raised may be why a rule was broken: by its answers, or by what did not follow."""
    return "deliveries" in rule.needs or rule.of_end


def _with_advice(findings: Iterable[Finding]) -> list[str]:
    """Return each finding as a line, the first one of a rule with its advice."""
    lines, advised = [], set()
    for finding in findings:
        cited = "" if _NUMBER.search(finding.message) else cited_calls(finding.exchanges, 3)
        advice = f"; advice ({finding.line} of the API document): {finding.advice}"
        lines.append(f"{finding.rule}: {finding.message}{cited}{'' if finding.rule in advised else advice}")
        advised.add(finding.rule)
    return lines


# Failures of the test itself


def _mismatch(snapshot: SandboxSnapshot, failure: Failure, expected: str) -> list[str]:
    """Return the assertion's own message, and the exchange that explains it best."""
    if failure.extra:
        return [expected, *failure.extra]
    near = next((call for call in snapshot.exchanges if call.n == failure.nearest), None)
    if near is not None:
        why = [f"  refused because {shorten(near.reason)}"] if near.reason else []
        return [expected, f"nearest is {format_line(near)}", *why]
    if not snapshot.exchanges:
        return [expected, *_no_expected_call_hint(snapshot)]
    errors = [call for call in snapshot.exchanges if call.status is None or call.status >= 400]
    if errors:
        return [expected, *_describe_failed(snapshot, errors[-1])]
    last = snapshot.exchanges[-1]
    is_cited = f"#{last.n} " in expected
    return [expected, *([] if is_cited else [f"the last call was {format_line(last)}"])]


def _no_expected_call_hint(snapshot: SandboxSnapshot) -> list[str]:
    """Return the lines about a missing call, which another thread may send after the test has looked for it."""
    hint = _no_calls_hint(snapshot)
    if snapshot.deferred or snapshot.address is None:
        return hint
    return [" ".join(map(str.strip, hint)), "  `mockserver.wait_for(...)` waits for a call of another thread"]


# The world


def _delayed(snapshot: SandboxSnapshot) -> list[str]:
    """Return the calls that a rule delays and that have not arrived yet, while the client goes on."""
    rules = {rule["id"]: describe_rule(rule) for rule in snapshot.rules}
    return [
        f"{call['method']} {call['path']} has not arrived yet: "
        + ", ".join(f"rule {id_} ({rules[id_]})" if id_ in rules else f"rule {id_}" for id_ in call["rules"])
        + " delays it"
        for call in (snapshot.deferred if snapshot.exchanges else ())
    ]


def _ended_by_others(snapshot: SandboxSnapshot) -> list[str]:
    """Return the campaigns that neither a call of the client nor a rule has ended, but for those that are done."""
    return [
        f"{format_change(change)} ({', '.join(f'{key} {value}' for key, value in change['cause'].items())})"
        for change in snapshot.transitions
        if change["kind"] == "campaign"
        and change["to"] in _ENDED_EARLY
        and not change["cause"].keys() & {"exchange", "rule"}
    ]


# Receivers


def receiver_exceptions(events: Iterable[View]) -> list[str]:
    """Return the exceptions of receivers of the test, which are only a 500 to the service; not those of forged requests."""
    return [
        f"{attempt['error']} on {extra(attempt) or event['event'] + ' ' + event['id']} at {delivery['endpoint']}"
        for event in events
        for delivery in event.get("deliveries", ())
        for attempt in delivery["attempts"]
        if str(attempt.get("error")).startswith(RECEIVER_RAISED) and not is_forged(attempt)
    ]


def _refused_deliveries(snapshot: SandboxSnapshot) -> list[str]:
    """Return deliveries without a successful attempt, with the receiver's latest response to the genuine request."""
    by_age = _AGE_HINT if any(each.why == BY_AGE for each in snapshot.not_assessed) else ""
    return [
        f"the receiver {delivery['endpoint']} answered {attempt['status']} to {event['event']} {event['id']}"
        + (f": {attempt['error']}" if attempt.get("error") else "")
        + (_ROUTE_HINT if attempt["status"] in (404, 405) else "")
        + (by_age if attempt["status"] in REFUSALS else "")
        for event in snapshot.events
        for delivery in event.get("deliveries", ())
        for attempt in [attempt for attempt in delivery["attempts"] if extra(attempt) is None][-1:]
        if attempt.get("status") is not None and attempt["status"] >= 300
    ]


def _repeated_deliveries(events: Iterable[View]) -> list[str]:
    """Return deliveries that were attempted again until the receiver took them: what it counts, it counts more than once."""
    return [
        f"the receiver {delivery['endpoint']} got {event['event']} {event['id']} {len(results)} times: it answered {', '.join(results)}"
        for event in events
        for delivery in event.get("deliveries", ())
        for results in [
            [
                str(each["status"])
                for each in delivery["attempts"]
                if each.get("status") is not None and not is_forged(each)
            ]
        ]
        if len(results) > 1
    ]


def _accepted_deliveries(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about the last event that a receiver has accepted after the latest call, unless rules change deliveries."""
    last = from_datetime(snapshot.exchanges[-1].at)
    if any(rule.get("on") == "delivery" for rule in snapshot.rules):
        return []
    since = last // MILLISECOND * MILLISECOND
    taken = []
    for event in snapshot.events:
        at = parse(event["at"])
        if at is not None and at[0] >= since:
            delivered = [delivery for delivery in event.get("deliveries", ()) if delivery["status"] == "delivered"]
            taken += [(event, delivery) for delivery in delivered]
    if not taken:
        return []
    event, delivery = taken[-1]
    which = "" if len(taken) == 1 else f", the last of {len(taken)}"
    status = delivery["attempts"][-1]["status"]
    return [f"the receiver {delivery['endpoint']} answered {status} to {event['event']} {event['id']}{which}"]


def _events_for_nobody(snapshot: SandboxSnapshot) -> list[str]:
    """Return the events that none of the endpoints takes, where there are endpoints, with what these take."""
    takes = "; ".join(
        f"{endpoint['id']} takes {', '.join(endpoint['events']) or 'what happens in its tenant once it is registered'}"
        for endpoint in snapshot.endpoints
    )
    lost = [event for event in snapshot.events if takes and not event.get("deliveries")]
    return [f"{event['event']} {event['id']} went to no endpoint: {takes}" for event in lost]


# Calls


def _failed_calls(snapshot: SandboxSnapshot) -> list[Call]:
    return [call for call in snapshot.exchanges if call.status is None or call.status >= 400 or call.fault]


def last_failed_call(snapshot: SandboxSnapshot) -> Call | None:
    """Return the latest call with an error, a fault or no response; None if there is none."""
    failed = _failed_calls(snapshot)
    return failed[-1] if failed else None


def _describe_calls(snapshot: SandboxSnapshot, failure: Failure | None) -> list[str]:
    """Return the cause that the calls show."""
    if not snapshot.exchanges:
        return _no_calls_hint(snapshot, failure)
    failed = _failed_calls(snapshot)
    if len(failed) == 1 and _is_aside(snapshot, failed[0]):
        others = replace(snapshot, exchanges=[call for call in snapshot.exchanges if call is not failed[0]])
        return [*_describe_calls(others, failure), f"{format_line(failed[0])}: {shorten(failed[0].reason or '')}"]
    if failed:
        return _describe_latest_failed(snapshot, failed)
    last = snapshot.exchanges[-1]
    success = f"{_were(len(snapshot.exchanges))} answered with success; the last: {format_line(last)}"
    shape = latest_read.shape_misread(snapshot, failure)
    frozen, pending = clocks.frozen_clock_hint(snapshot), clocks.pending_session(snapshot, last.operation, failure)
    causes = [
        *shape,
        *latest_read.ignored_name(snapshot),
        *latest_read.changed_by_others(snapshot),
        *differing_clocks(snapshot),
        *latest_read.audience(snapshot),
        *latest_read.page_hints(last),
        *_accepted_deliveries(snapshot),
    ]
    progress, answer = latest_read.send_progress(snapshot), latest_read.bodies(last)
    if pending:
        return [*differing_clocks(snapshot), *pending, *shape, success, *frozen, *answer]
    if frozen and not causes and _polls_frozen_clock(snapshot) and not latest_read.is_misread(failure):
        return [*frozen, success, *progress, *answer]
    chosen = [] if causes else choices_in_force(snapshot)
    return [*causes, *chosen, success, *progress, *([*frozen, *answer] if progress else [*answer, *frozen])]


def _no_calls_hint(snapshot: SandboxSnapshot, failure: Failure | None = None) -> list[str]:
    if snapshot.deferred:
        deferred = snapshot.deferred[0]
        call, rules = f"{deferred['method']} {deferred['path']}", ", ".join(deferred["rules"])
        first = f"No call has arrived at {snapshot.id} yet: {call} is delayed by {rules}"
        return [first, *clocks.frozen_clock_hint(snapshot)]
    if snapshot.calls_without_prefix:
        return [f"No call reached {snapshot.id};", f"  {calls_without_prefix(snapshot)}"]
    if failure is not None and failure.raised is not None and not _OF_A_CONNECTION.search(failure.raised):
        return [f"No call reached {snapshot.id} before that", *hints.proxy(snapshot)]
    return [f"No call reached {snapshot.id};", f"  {hints.address(snapshot)}", *hints.proxy(snapshot)]


def _is_aside(snapshot: SandboxSnapshot, call: Call) -> bool:
    """Return True for a refused call that a client may expect: a read that looks whether a record exists, or a cleanup."""
    if call.fault or call.status is None or call.operation is None or not _NO_VALUES.isdisjoint(call.path.split("/")):
        return False
    others = [other.n for other in snapshot.exchanges if other is not call]
    is_look = call.status == 404 and call.method == "GET" and max(others, default=0) > call.n
    is_cleanup = call.status == 422 and call.operation == "cancelCampaign" and max(others, default=call.n) < call.n
    return is_look or is_cleanup


def _describe_latest_failed(snapshot: SandboxSnapshot, failed: Sequence[Call]) -> list[str]:
    """
    Return the latest call with an error or a fault, or an earlier refusal that explains it better.

    A call with the text of no value in its path follows from a call whose answer has not what the client reads. A read of
    something unknown, or a cleanup, after a refused write says less than that write.
    """
    last = failed[-1]
    if last.fault:
        return _describe_failed(snapshot, last)
    refused = [call for call in failed[:-1] if not call.fault and call.status is not None]
    missing = next((step for step in last.path.split("/") if step in _NO_VALUES), None)
    if missing is None:
        is_of_less = last.operation == "cancelCampaign" or (last.method == "GET" and last.status == 404)
        refused = [call for call in refused if is_of_less and call.method != "GET" and call.operation != last.operation]
    if refused:
        return [*_refusal(snapshot, refused[-1]), f"then {format_line(last)}"]
    if missing is None:
        return _describe_failed(snapshot, last)
    before = next((call for call in reversed(snapshot.exchanges) if call.n < last.n), None)
    body = before.body_received if before is not None else None
    has = f"; the answer of #{before.n} has {', '.join(body)}" if before and isinstance(body, Mapping) and body else ""
    return [*_refusal(snapshot, last), f"  the path has {missing!r}, for which the client has no value{has}"]


def _refusal(snapshot: SandboxSnapshot, call: Call) -> list[str]:
    """Return the lines about a refused call without those about the calls after it."""
    return [line for line in _describe_failed(snapshot, call) if not line.startswith("the last call was ")]


def _describe_failed(snapshot: SandboxSnapshot, call: Call) -> list[str]:
    """Return the latest call with an error or a fault, its reason, and the calls after it."""
    name = call.operation or f"{call.method} {call.path}"
    later = snapshot.exchanges[-1].n - call.n
    after = f" ({later} {'call follows' if later == 1 else 'calls follow'} it)" if later else ""
    last = [f"the last call was {format_line(snapshot.exchanges[-1])}"] if later else []
    again = _repetition(snapshot, call)
    if call.fault and is_shown_by_rule(snapshot, call):
        return [*again, *last]
    if call.fault:
        effect, received = outcome(call)
        return [
            f"Call #{call.n} {name} matched {format_fault(call.fault)}{after}",
            f"  the operation {effect}, and {received}",
            *again,
            *last,
        ]
    if call.status is None:
        return [f"Call #{call.n} {name} got no answer: its client had disconnected{after}", *last]
    code = f" {call.code}" if call.code else ""
    verdict = "is not an operation of the API" if call.operation is None else "was refused"
    reason = [f"  {shorten(call.reason)}"] if call.reason else []
    nearest = _near_path(call) if call.operation is None else None
    hint = [f"  did you mean {nearest}"] if nearest else reason
    return [f"Call #{call.n} {name} {verdict}: {call.status}{code}{after}", *hint, *last]


def _repetition(snapshot: SandboxSnapshot, call: Call) -> list[str]:
    """Return the line about a call without an answer that the next one repeats with equal headers, as transports do."""
    again = next((other for other in snapshot.exchanges if other.n == call.n + 1), None)
    if call.status is not None or again is None or _request(call) != _request(again):
        return []
    return [f"  call #{again.n} is the same again: repeated by the transport, if your code repeats nothing"]


def _request(call: Call) -> tuple[Any, ...]:
    return (call.method, call.path, call.query, call.headers, call.body)


def _near_path(call: Call) -> str | None:
    """Return the nearest path of an operation: with `/v1`, without a prefix, or of similar letters."""
    inner = call.path[call.path.rfind("/v1/") :] if "/v1/" in call.path else f"/v1{call.path}"
    if inner != call.path and route(call.method, inner).target is not None:
        return f"{inner}? The client's base url has a part too many or too few"
    if route(call.method, inner.rstrip("/")).target is not None:
        return f"{inner.rstrip('/')}, without the slash at its end?"
    path = _without_ids(inner)
    known = {_without_ids(row.path): row.path for row in ENDPOINTS.values() if row.method == call.method}
    same_end = [other for other in known if other.rpartition("/")[2] == path.rpartition("/")[2] != "*"]
    close = get_close_matches(path, known, n=1) or get_close_matches(path, same_end, n=1, cutoff=0)
    return f"{call.method} {known[close[0]]}?" if close else None


def _without_ids(path: str) -> str:
    return re.sub(r"\{\w+\}|(?<=/)\w*[_\d]\w*(?=/|$)", "*", path.removeprefix("/v1"))


def _were(count: int) -> str:
    return "1 call was" if count == 1 else f"{count} calls were"


def _polls_frozen_clock(snapshot: SandboxSnapshot) -> bool:
    """Return True if the client reads a record again, and the test has not advanced the clock since the latest write."""
    last = snapshot.exchanges[-1]
    if last.method != "GET":
        return False
    last_write = max((call.n for call in snapshot.exchanges if call.method != "GET"), default=0)
    return not any(step["command"] in _CLOCK_COMMANDS and step["exchanges"] >= last_write for step in snapshot.steps)
