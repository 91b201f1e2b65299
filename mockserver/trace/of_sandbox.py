"""The trace of a sandbox: its journal as the clients received it, its deliveries, visits and records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import urlencode

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import UNREADABLE, WITHOUT_RESPONSE, deciding
from mockserver.contract.lifecycles import FINAL
from mockserver.core.instants import MILLISECOND, Duration
from mockserver.core.ledger import creating_exchanges
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import Template
from mockserver.core.state.rules import AppliedFault
from mockserver.core.webhooks.deliveries import LOST
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.facts import OF_A_SANDBOX, Fact
from mockserver.trace.records import End, Records, SeenCampaign, SeenExecution, SeenSession, SeenTemplate
from mockserver.trace.trace import OfSandbox, Slept, Trace

_SOURCE = "sandbox"
_DELAYS = (*deciding("wait"), *deciding("wait after"))


def trace_of(run: Run, calls: Sequence[JournalEntry] | None = None, *, slept: Slept | None = None) -> Trace:
    """
    Return the trace of a sandbox.

    Args:
        run: What has happened in it.
        calls: Some of its calls, oldest first: then without deliveries and visits; by default everything.
        slept: See `Trace`.

    Lock: as of the trace.
    """
    deliveries = _deliveries(run) if calls is None else []
    visits = tuple(run.visits) if calls is None else ()
    return Trace(
        exchanges=_exchanges(run, run.exchanges if calls is None else calls),
        deliveries=deliveries,
        visits=visits,
        knows=OF_A_SANDBOX.difference(_lacking(deliveries, visits)),
        now=run.now,
        sandbox=OfSandbox(
            choices=run.choices,
            secret_keys={tenant.secret_key for tenant in run.tenants.values()},
            is_frozen=run.clock.frozen,
            transitions=run.transitions,
            advanced=[record.exchanges for record in run.commands if record.command == "advance"],
            under_way={each.event.record.id for each in run.deliveries.values() if not each.has_ended},
        ),
        slept=slept,
        read_records=partial(_records, run),
    )


def _lacking(deliveries: Sequence[DeliveryAttempt], visits: Sequence[object]) -> Iterator[Fact]:
    if not deliveries:
        yield "deliveries"
    if not visits:
        yield "visits"


def _exchanges(run: Run, entries: Sequence[JournalEntry]) -> list[Exchange]:
    """Return the calls as their clients received them: an answer that is held, or was sent after a repetition, is none."""
    arrivals = {
        record.arguments["call"].number: record.exchanges for record in run.commands if record.command == "call"
    }
    unreceived = set(_unreceived(entries))
    return [_exchange(entry, arrivals.get(entry.call.number), entry.n in unreceived) for entry in entries]


def _unreceived(entries: Iterable[JournalEntry]) -> Iterator[int]:
    """Yield the numbers of the calls whose answers a rule still holds, or were sent after the client had repeated the call."""
    late = [entry for entry in entries if entry.is_held or entry.left is not None]
    for entry in late:
        if entry.is_held:
            yield entry.n
            continue
        own = request_of(entry)
        again = next((other for other in entries if other.n > entry.n and request_of(other) == own), None)
        if again is not None and again.monotonic_us is not None and again.monotonic_us < (entry.left or 0):
            yield entry.n


def request_of(entry: JournalEntry) -> object:
    """Return a key that is equal for equal requests of one caller; the path names the operation with its parameters."""
    call = entry.call
    caller = call.headers.get("x-api-key", ""), call.headers.get("user-agent", "")
    return caller, call.method, call.path, tuple(call.query), call.body, call.cut_from_bytes


def _exchange(entry: JournalEntry, arrived_after: int | None, is_unreceived: bool) -> Exchange:
    call, given_up = entry.call, entry.given_up
    effects = entry.fault.effects if entry.fault is not None else {}
    status = None if is_unreceived else entry.status
    headers = {} if is_unreceived else {name.lower(): value for name, value in entry.headers}
    since = entry.n if given_up is None else given_up.last_exchange
    trouble = None if UNREADABLE.isdisjoint(effects) else "broken-body"
    if status is None:
        trouble = "no-answer"
    return Exchange(
        number=entry.n,
        source=_SOURCE,
        method=call.method,
        path=f"{call.path}?{urlencode(call.query)}" if call.query else call.path,
        operation=None if call.method in ("HEAD", "OPTIONS") else entry.operation,
        params=call.params,
        request_headers=call.headers,
        request_body=call.body,
        status=status,
        response_headers=headers,
        response_body=b"" if is_unreceived else entry.answer,
        key=entry.tenant_id,
        late_status=entry.status if is_unreceived and not entry.is_held else None,
        trouble=trouble,
        sent_at=entry.sent_at,
        at=entry.at,
        ended_at=entry.at,
        retry_after=headers.get("retry-after", ""),
        follows=entry.follows,
        since=since if arrived_after is None else min(since, arrived_after),
        applied=entry.applied,
        delay=delay_of(entry.fault),
        is_reset=entry.is_reused and entry.status is None and not WITHOUT_RESPONSE.isdisjoint(effects),
        is_given_up=given_up is not None,
        arrived_late=entry.arrived_late,
        refusal=entry.error,
        fault=effects,
        stopwatch=entry.monotonic_us,
        process_at=entry.process,
        limited_at=entry.limited_at,
        read_body=entry.body,
        cut_from_bytes=call.cut_from_bytes,
    )


def delay_of(fault: AppliedFault | None) -> Duration:
    """Return the delay that a rule gives a call or its answer, 0 if none or a drawn one."""
    if fault is None:
        return 0
    return max(parse_duration(fault.effects.get(effect)) or 0 for effect in _DELAYS)


def _deliveries(run: Run) -> list[DeliveryAttempt]:
    pairs = [(delivery, attempt) for delivery in run.deliveries.values() for attempt in delivery.attempts]
    pairs.sort(key=lambda pair: pair[1].at)
    return [
        DeliveryAttempt(
            number=number,
            source=_SOURCE,
            endpoint=delivery.webhook_id,
            event_id=delivery.event.id,
            kind=delivery.event.kind,
            session_id=delivery.event.record.id,
            at=attempt.at,
            ended_at=attempt.at + attempt.duration_ms * MILLISECOND,
            status=attempt.status,
            headers=attempt.headers,
            body=attempt.body,
            answer=attempt.answer,
            fault=attempt.fault,
            delivery=delivery.id,
            attempt=attempt.number,
            is_lost=attempt.error == LOST,
        )
        for number, (delivery, attempt) in enumerate(pairs, 1)
    ]


def _records(run: Run, _trace: Trace) -> Records:
    campaigns: dict[str, SeenCampaign] = {}
    for tenant, campaign in run.records("campaign"):
        template = tenant.templates.get(campaign.template_id)
        campaigns[campaign.id] = SeenCampaign(
            id=campaign.id,
            tenant=tenant.id,
            name=campaign.name,
            platform=campaign.platform,
            template_id=campaign.template_id,
            cadence=campaign.cadence,
            filters=campaign.filters,
            status=campaign.status,
            template=_seen(template) if template is not None else None,
        )
    executions = {
        execution.id: SeenExecution(
            id=execution.id,
            campaign_id=execution.campaign_id,
            values=execution.values,
            template=_seen(execution.template),
            targets=execution.targets,
        )
        for _, execution in run.records("execution")
    }
    sessions = {
        session.id: SeenSession(
            id=session.id,
            status=session.status,
            return_url=session.return_url,
            expires_at=session.expires_at,
        )
        for _, session in run.records("session")
    }
    ends = {
        transition.id: End(transition.target, transition.at, "rule" in transition.cause)
        for transition in reversed(run.transitions)
        if transition.target in FINAL
    }
    return Records(
        campaigns=campaigns, executions=executions, sessions=sessions, created=creating_exchanges(run), ends=ends
    )


def _seen(template: Template) -> SeenTemplate:
    manual = frozenset(variable.key for variable in template.variables if variable.source is None)
    return SeenTemplate(template.id, manual, template.updated_at)
