"""
What the first page of a sandbox shows: its problems, the clock, what happened last, from as little of it as shows them.

Of the calls those are read that were refused, changed by a rule or left without an answer, in the whole run, and the newest
ones; of the events those that an endpoint does not take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mockserver._json import JSON, View
from mockserver.contract.endpoints import is_creation_of
from mockserver.core import ledger
from mockserver.core.operations.sending import Counts, counts
from mockserver.core.redaction import Redactor
from mockserver.core.run import Run
from mockserver.core.state.outbox import Delivery
from mockserver.core.state.records import Execution
from mockserver.core.state.sandbox import SandboxState
from mockserver.report.problem import with_texts
from mockserver.report.run.history import folded, rows_of
from mockserver.report.run.problems import problems, readings, verdict
from mockserver.server.control import reports, views
from mockserver.server.dashboard.plane import FirstPage
from mockserver.server.hosting.host import HostedSnapshot
from mockserver.wire.response import redactor

_NEWEST: Final = 100  # calls, and changes, that are read whatever they show
_WHOLE_BYTES, _LAST_BYTES = 2_000, 20_000  # of an answer that is read in full, and of the latest one
_ROWS: Final = 25  # of what happened last, once equal ones are folded
_COUNTED: Final = ("campaigns", "sessions", "templates", "entrypoints", "media", "webhooks")
_NOT_TAKEN: Final = ("waiting", "abandoned")
_NAMED: Final = ("campaigns", "entrypoints", "media")
_BY_ITSELF: Final = frozenset(("exchange", "timer", "event", "attempt"))  # causes of changes that need no look


def read_first_page(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> FirstPage:
    """Return what the first page shows; `history` is the answer of readHistory."""
    state = snapshot.state
    hide, history = redactor(state), args["history"]
    journal = _journal(state, hide)
    seen = reports.report_snapshot(
        snapshot,
        snapshot.hosted.base_url,
        readJournal=journal,
        readHistory=history,
        readState=_state(state),
        readEvents=_events(state),
        readLedger=_ledger(state),
    )
    found = problems(seen, None)
    latest = replace(
        seen,
        exchanges=seen.exchanges[-_NEWEST:],
        transitions=seen.transitions[-_NEWEST:],
        steps=seen.steps[-_NEWEST:],
    )
    rows = list(folded(rows_of(latest)))[-_ROWS:]
    ids = {row["id"] for row in (*journal["transitions"], *history["coming"])}
    return FirstPage(
        verdict=verdict(found, calls=len(state.journal.exchanges), dropped=_dropped(state)),
        is_bad=bool(found),
        problems=[with_texts(problem, hide.text) for problem in found or readings(seen, None)],
        rows=[hide.text(row.lines[0].strip()) for row in rows],
        journal=journal,
        names={id: hide.text(seen.names[id]) for id in ids if id in seen.names},
        counts=_counts(state),
    )


def _dropped(state: SandboxState) -> int:
    """Return how many calls the journal has dropped."""
    return state.journal.last_exchange - len(state.journal.exchanges)


def _journal(state: SandboxState, hide: Redactor) -> View:
    """Return the calls and the changes that are read."""
    exchanges = list(_exchanges(state, hide))
    shown = {call["n"] for call in exchanges}
    oldest = state.journal.last_transition - _NEWEST
    transitions = [
        views.transition(row)
        for row in state.journal.transitions
        if row.n > oldest or row.cause.keys() - _BY_ITSELF or row.cause.get("exchange") in shown
    ]
    return {"exchanges": exchanges, "transitions": transitions}


def _exchanges(state: SandboxState, hide: Redactor) -> Iterator[Any]:
    """
    Yield the calls that failed or that a rule changed, and the newest, oldest first.

    The older ones that were not refused, and those with a long answer, are without headers and bodies.
    """
    newest = state.journal.last_exchange
    for entry in state.journal.exchanges:
        is_recent, is_refused = entry.n > newest - _NEWEST, entry.status is not None and entry.status >= 400
        most_bytes = _LAST_BYTES if entry.n == newest else _WHOLE_BYTES
        if is_refused or (is_recent and len(entry.answer) <= most_bytes):
            yield views.exchange(entry, hide)
        elif is_recent or entry.fault is not None or entry.status is None:
            yield views.exchange(entry, hide, is_brief=True)


def _state(state: SandboxState) -> JSON:
    """Return of the state what names its records; the texts of the problems are masked as a whole."""
    tenants = []
    for tenant in state.tenants.values():
        row: JSON = {table: [_named(record) for record in getattr(tenant, table).values()] for table in _NAMED}
        row["templates"] = [
            {**_named(each), "providerStatus": each.provider_status} for each in tenant.templates.values()
        ]
        row["executions"] = [_execution(state, execution) for execution in tenant.executions.values()]
        row["sessions"] = [{"id": each.id} for each in tenant.sessions.values()]
        row["webhooks"] = [views.row(state, webhook) for webhook in tenant.webhooks.values()]
        tenants.append(row)
    deliveries = [
        {"id": each.id, "eventId": each.event.id, "endpoint": each.webhook_id, "attempts": _errors(each)}
        for each in state.outbox.deliveries.values()
    ]
    return {
        "clock": views.clock(state),
        "seed": state.seed,
        "choices": state.choices,
        "tenants": tenants,
        "deliveries": deliveries,
    }


def _named(record: Any) -> JSON:
    return {"id": record.id, "name": record.name}


def _execution(state: SandboxState, execution: Execution) -> JSON:
    """Return an execution with its counts, which are read of one alone that has a send that fails."""
    schedule = execution.schedule
    sent = counts(schedule, state.now) if schedule.failed else Counts(schedule.total, 0, 0)
    return {
        "id": execution.id,
        "campaignId": execution.campaign_id,
        "template": execution.template.id,
        "sends": {"target": sent.target, "failed": sent.failed},
    }


def _errors(delivery: Delivery) -> list[JSON]:
    return [{"error": attempt.error} for attempt in delivery.attempts]


def _events(state: SandboxState) -> View:
    """Return the events that a receiver did not take at once."""
    deliveries = state.outbox.deliveries.values()
    ids = {row.event.id for row in deliveries if len(row.attempts) > 1 or row.status in _NOT_TAKEN}
    return views.events(state, ids) if ids else {"events": []}


def _ledger(state: SandboxState) -> JSON:
    """Return the campaigns that were created again, where a create had trouble."""
    creates = [entry for entry in state.journal.exchanges if is_creation_of(entry.operation, "campaign")]
    run = Run.of(state)
    has_trouble = any(entry.fault is not None or entry.error is not None for entry in creates)
    rows = ledger.clones(run, ledger.creating_exchanges(run)) if has_trouble else []
    return {"clonedCampaigns": rows}


def _counts(state: SandboxState) -> dict[str, int]:
    tenants = state.tenants.values()
    return {
        "calls": state.journal.last_exchange,
        "chats": sum(len(tenant.chats) for tenant in tenants),
        **{table: sum(len(getattr(tenant, table)) for tenant in tenants) for table in _COUNTED},
        "events": len(state.events),
    }
