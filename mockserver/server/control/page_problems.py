"""
The problems of a sandbox for its first page, from as little of the sandbox as shows them.

Of the calls those are read that were refused, changed by a rule or left without an answer, in the whole run, and the newest
ones; of the events those that an endpoint does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mockserver._json import View
from mockserver.contract.choices import DEFAULTS
from mockserver.core.instants import format_exact, to_datetime
from mockserver.core.operations.sending import counts
from mockserver.core.redaction import Redactor
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.sandbox import SandboxState
from mockserver.judge.check import Finding
from mockserver.judge.client.judge import judge
from mockserver.report.problem import RANKS, Action, CallLine, Problem
from mockserver.report.run import exchanges
from mockserver.report.run.exchanges import Exchange
from mockserver.report.run.problems import problems, verdict
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.scenario.rule_parser import describe_rule
from mockserver.server.control import views
from mockserver.server.control.overview import brief_exchange
from mockserver.server.hosting.snapshot import HostedSnapshot
from mockserver.trace.of_sandbox import trace_of
from mockserver.wire.response import redactor

_NEWEST: Final = 100  # calls, and changes, that are read whatever they show
_ALIKE: Final = 200  # refused calls of one operation with one result that are read in full
_ADVANCE: Final = "_mock/clock/advance"


def read_problems(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> tuple[str, Sequence[Problem]]:
    """Return the line above the problems, and the problems, the worst first; `history` is the answer of readHistory."""
    state = snapshot.state
    state.choices = dict(state.choices)  # a copy: a report of a choice does not count as a use of it
    seen = _snapshot(snapshot, args["history"])
    own = [problem for cause in _OWN for problem in cause(state, seen)]
    rows = sorted([*problems(seen, None), *own], key=lambda problem: RANKS.index(problem.rank))
    return verdict(seen, rows, calls=state.journal.last_exchange), rows


def _snapshot(snapshot: HostedSnapshot, history: View) -> SandboxSnapshot:
    state, hide, failing = snapshot.state, redactor(snapshot.state), views.failing(snapshot.state)
    calls = list(_calls(state, hide))
    events = {row.event.id for row in state.outbox.deliveries.values() if row.webhook_id in failing}
    return SandboxSnapshot(
        id=snapshot.id,
        address=snapshot.base_url,
        clock=views.clock(state),
        seed=state.seed,
        choices={key: value for key, value in sorted(state.choices.items()) if value != DEFAULTS.get(key)},
        settings={},
        sources={},
        exchanges=calls,
        transitions=_transitions(state, {call.n for call in calls}),
        steps=history["steps"],
        events=views.events(state, events)["events"] if events else [],
        endpoints=[views.row(state, "webhooks", webhook, 0) for _, webhook in state.records("webhook")],
        rules=views.rules(state),
        deferred=history["deferred"],
        next_timer=history["due"],
        findings=list(_findings(state, hide)),
        unmoved=history["unmoved"],
        apart=history["apart"],
        is_python=False,
    )


def _calls(state: SandboxState, hide: Redactor) -> Iterator[Exchange[Any, Any]]:
    """
    Yield the calls that failed or that a rule changed, and the newest, oldest first.

    Those that were not refused are without headers and bodies. Of many that were refused alike, the later ones have those
    of the one before them.
    """
    alike: dict[object, list[Exchange[Any, Any]]] = {}
    oldest = state.journal.last_exchange - _NEWEST
    for entry in state.journal.exchanges:
        if entry.status is None or entry.status < 400:
            if entry.n > oldest or entry.fault is not None or entry.status is None:
                yield exchanges.read(brief_exchange(entry, hide))
            continue
        former = alike.setdefault(_result(entry), [])
        if len(former) < _ALIKE:
            former.append(exchanges.read(views.exchange(entry, hide)))
            yield former[-1]
        else:
            path = hide.text(entry.call.path)
            yield replace(former[-1], n=entry.n, at=to_datetime(entry.at), path=path)


def _result(entry: JournalEntry) -> object:
    code = entry.error.code if entry.error is not None else None
    return entry.operation, entry.status, code, entry.fault.rule if entry.fault is not None else None


def _transitions(state: SandboxState, calls: set[int]) -> list[Any]:
    """Return the newest changes, and those that a rule or one of these calls has caused."""
    oldest = state.journal.last_transition - _NEWEST
    return [
        views.transition(row)
        for row in state.journal.transitions
        if row.n > oldest or "rule" in row.cause or row.cause.get("exchange") in calls
    ]


def _findings(state: SandboxState, hide: Redactor) -> Iterator[Finding]:
    """Yield the findings on the client, without those of the lowest severity."""
    trace = trace_of(Run.of(state))
    for severity in (1, 2):
        for finding in judge(trace, severity).findings:
            yield finding._replace(message=hide.text(finding.message))


# What the sandbox has beside the calls of its clients


def _endpoints(state: SandboxState, seen: SandboxSnapshot) -> Iterator[Problem]:
    """Yield the endpoints that do not take their events."""
    for endpoint in seen.endpoints:
        if endpoint["id"] in views.failing(state):
            yield _endpoint(endpoint, state.outbox.of_webhook(endpoint["id"]), redactor(state))


def _endpoint(endpoint: View, deliveries: Sequence[Delivery], hide: Redactor) -> Problem:
    attempts = [attempt for delivery in deliveries for attempt in delivery.attempts if attempt.fault is None]
    waiting = [delivery for delivery in deliveries if not delivery.has_ended]
    abandoned = [delivery for delivery in deliveries if delivery.status == "abandoned"]
    actions, caused = [], []
    if waiting:
        due = format_exact(min(delivery.due for delivery in waiting))
        caused.append(f"{_counted(len(waiting), 'delivery waits', 'deliveries wait')}, the next attempt is at {due}")
        actions.append(Action("Advance to the next attempt", "POST", _ADVANCE, {"to": due}))
    if abandoned:
        caused.append(f"{_counted(len(abandoned), 'delivery was', 'deliveries were')} abandoned")
    if abandoned or endpoint["disabled"]:
        actions.append(Action("Recover, and resend to this one", "POST", f"_mock/webhooks/{endpoint['id']}/recover"))
    state = "; it is disabled" if endpoint["disabled"] else ""
    return Problem(
        headline=f"{_answer(attempts, hide)} from the endpoint {endpoint['url']}{state}",
        rank="fault",
        expected="a status of 2xx",
        caused=caused,
        actions=actions,
        ids=[endpoint["id"]],
    )


def _answer(attempts: Sequence[Attempt], hide: Redactor) -> str:
    """Return the result of the last attempt, and how many there were."""
    if not attempts:
        return "no attempt"
    last = max(attempts, key=lambda attempt: attempt.at)
    result = f"no answer ({hide.text(last.error or 'unknown')})" if last.status is None else f"{last.status}"
    return f"{result} after {_counted(len(attempts), 'attempt', 'attempts')}"


def _failed_sends(state: SandboxState, seen: SandboxSnapshot) -> Iterator[Problem]:
    """Yield the executions with a failed send; of the others only the schedule is read."""
    hide = redactor(state)
    for tenant in state.tenants.values():
        for execution in tenant.executions.values():
            sends = counts(execution.schedule, state.now) if execution.schedule.failed else None
            if sends is None or not sends.failed:
                continue
            campaign = tenant.campaigns.get(execution.campaign_id)
            name = hide.text(campaign.name) if campaign is not None else "a campaign"
            headline = f"{sends.failed} of {sends.target} sends of {name} failed"
            yield Problem(headline=headline, rank="fault", ids=[execution.campaign_id])


def _idle_rules(state: SandboxState, seen: SandboxSnapshot) -> Iterator[Problem]:
    """Yield the rules that fired and had nothing to act on."""
    for rule in seen.rules:
        if "noTarget" in rule and "did" not in rule:
            yield Problem(headline=f"no effect of {describe_rule(rule)}: {rule['noTarget']}", ids=[rule["id"]])


def _frozen_clock(state: SandboxState, seen: SandboxSnapshot) -> Iterator[Problem]:
    """Yield the polls of a client for a change that only a later instant of the clock can bring."""
    waits = seen.unmoved
    if waits is None or waits["calls"] < 2:
        return
    polls = [call for call in seen.exchanges if waits["first"] <= call.n <= waits["last"]]
    lines = [CallLine(call.n, f"{call.operation or call.method} {call.path} -> {call.status}") for call in polls]
    due, now = seen.next_timer, seen.clock["now"]
    advance = [Action("Advance to what is due", "POST", _ADVANCE, {"to": due["at"]})] if due is not None else []
    yield Problem(
        headline=f"{waits['calls']} polls in {max(1, round(waits['seconds']))} s while the clock stood at {now}",
        rank="cause",
        calls=lines,
        expected="an advance of the clock between two polls, or a clock that runs",
        actions=advance,
    )


def _clocks_apart(state: SandboxState, seen: SandboxSnapshot) -> Iterator[Problem]:
    clocks = seen.apart
    if clocks is not None:
        words = f"{clocks['process']} is the time of the client's process, and {clocks['sandbox']} that of the sandbox"
        yield Problem(headline=words, rank="cause")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


_OWN: Final[Sequence[Callable[[SandboxState, SandboxSnapshot], Iterator[Problem]]]] = (
    _endpoints,
    _failed_sends,
    _idle_rules,
    _frozen_clock,
    _clocks_apart,
)
