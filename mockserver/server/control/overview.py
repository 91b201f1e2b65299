"""What the first page of the dashboard shows of a sandbox: nothing is read that the page does not contain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from mockserver._json import JSON
from mockserver.contract.text import json_value
from mockserver.core.instants import format_exact
from mockserver.core.operations.sending import counts
from mockserver.core.redaction import Redactor
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.control import views
from mockserver.server.control.reports import conduct_of
from mockserver.server.hosting.snapshot import HostedSnapshot
from mockserver.wire.response import explanation, redactor

_COUNTED = ("campaigns", "sessions", "templates", "entrypoints", "media", "webhooks")
_NAMED = ("campaign", "template", "entrypoint", "media")


def read_overview(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> JSON:
    """
    Return the newest `last` calls and changes, the names of the records in them, and what there is as numbers.

    `failedSends` are the executions with failed sends, `findings` those of severity 1. `tenants` have their endpoints
    alone, and `deliveries` are those of the `failing` ones, as an event shows them.
    """
    state = snapshot.state
    entries = list(islice(reversed(state.journal.exchanges), args["last"]))[::-1]
    changes = list(islice(reversed(state.journal.transitions), args["last"]))[::-1]
    ids = {part for entry in entries for part in entry.call.path.split("/")} | {change.id for change in changes}
    failing, hide = views.failing(state), redactor(state)
    return {
        "exchanges": [_exchange(entry, hide) for entry in entries],
        "transitions": [views.transition(change) for change in changes],
        "names": _names(state, ids),
        "counts": _counts(state),
        "tenants": [
            {"tenantId": tenant.id, "webhooks": [views.row(state, "webhooks", webhook, 0) for webhook in tenant.webhooks.values()]}
            for tenant in state.tenants.values()
        ],
        **_failing(state, failing),
        "failedSends": list(_failed_sends(state)),
        "findings": conduct_of(state, severity=1)["findings"],
    }  # fmt: skip


def _failing(state: SandboxState, failing: Any) -> JSON:
    """Return the endpoints that fail, with their deliveries, those of events apart."""
    event_ids = (each.event.id for each in state.outbox.deliveries.values() if each.webhook_id in failing)
    rows = [[row for row in views.of_event(state, id) if row["endpoint"] in failing] for id in dict.fromkeys(event_ids)]
    all_rows = views.deliveries(state)["deliveries"] if failing else []
    return {
        "failing": failing,
        "events": [{"deliveries": deliveries} for deliveries in rows],
        "deliveries": [row for row in all_rows if row["endpoint"] in failing],
    }


def _exchange(entry: JournalEntry, hide: Redactor) -> JSON:
    """Return an exchange as the journal shows it, without headers, and with the body of a refusal alone."""
    status = None if entry.is_held else entry.status
    call = {"method": entry.call.method, "path": entry.call.path, "query": dict(entry.call.query)}
    return {
        "n": entry.n,
        "at": format_exact(entry.at),
        "operation": entry.operation,
        "request": hide.value(call),
        "response": {"status": status, "body": hide.value(json_value(entry.answer)) if (status or 0) >= 400 else None},
        "fault": {"rule": entry.fault.rule, "effects": hide.value(entry.fault.effects)} if entry.fault else None,
        "reason": explanation(entry.error, hide) if entry.error else None,
    }


def read_names(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the names of the records with these `ids`."""
    return _names(snapshot.state, set(args["ids"]))


def _names(state: SandboxState, ids: set[str]) -> dict[str, str]:
    """Return the names of the records with these ids: of a delivery the kind of its event with the endpoint's url."""
    named = {id: _name(state, id) for id in ids}
    hide = redactor(state)
    return {id: hide.text(name) for id, name in named.items() if name}


def _name(state: SandboxState, id: str) -> str:
    run = Run.of(state)
    if (delivery := run.deliveries.get(id)) is not None:
        return f"{delivery.event.kind} to {_url(run, delivery.webhook_id)}"
    if (found := run.find("execution", id)) is not None:
        id = found[1].campaign_id
    for kind in _NAMED:
        if (found := run.find(kind, id)) is not None:
            return str(found[1].name or "")
    return _url(run, id) if run.find("webhook", id) is not None else ""


def _url(run: Run, webhook_id: str) -> str:
    found = run.find("webhook", webhook_id)
    return webhook_id if found is None else str(found[1].url)


def _counts(state: SandboxState) -> dict[str, int]:
    tenants = state.tenants.values()
    return {
        "calls": state.journal.last_exchange,
        "chats": sum(len(tenant.chats) for tenant in tenants),
        **{table: sum(len(getattr(tenant, table)) for tenant in tenants) for table in _COUNTED},
        "events": len(state.events),
    }


def _failed_sends(state: SandboxState) -> Iterator[JSON]:
    """Yield the executions with a failed send; of the others only the schedule is read."""
    hide = redactor(state)
    for tenant in state.tenants.values():
        for execution in tenant.executions.values():
            if not execution.schedule.failed:
                continue
            sends, campaign = counts(execution.schedule, state.now), tenant.campaigns.get(execution.campaign_id)
            if sends.failed:
                name = hide.text(campaign.name) if campaign is not None else ""
                row = {"campaignId": execution.campaign_id, "name": name}
                yield {**row, "failed": sends.failed, "target": sends.target}
