"""The records of a recording: what the calls that created them, and later answers, show of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mockserver.core.instants import SECOND, Instant
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import instant
from mockserver.trace.records import Records, SeenCampaign, SeenExecution, SeenSession, SeenTemplate
from mockserver.trace.sightings import Kind, Sighting, sightings
from mockserver.trace.trace import Trace


def records_seen(trace: Trace) -> Records:
    """Return the campaigns, executions and sessions whose creation a recording has."""
    seen = trace.once(sightings)
    campaigns = {row.id: _campaign(row) for row in _first(seen, "campaign", "created")}
    started = (row for row in _first(seen, "execution", "started") if row.shown["campaignId"] in campaigns)
    executions = {row.id: _execution(row, campaigns[row.shown["campaignId"]], trace) for row in started}
    sessions = {row.id: _session(row, seen["session"][row.id]) for row in _first(seen, "session", "created")}
    created = {
        row.id: row.cited.number
        for kind, how in (("campaign", "created"), ("execution", "started"), ("session", "created"))
        for row in _first(seen, kind, how)
    }
    return Records(campaigns=campaigns, executions=executions, sessions=sessions, created=created)


def _first(seen: Mapping[Kind, Mapping[str, list[Sighting]]], kind: Any, how: str) -> Iterable[Sighting]:
    """Return the sighting of the creation of each record of a kind, in the order of their calls."""
    found = (next((row for row in rows if row.how == how), None) for rows in seen.get(kind, {}).values())
    return sorted(filter(None, found), key=lambda row: row.cited.number)


def _campaign(created: Sighting) -> SeenCampaign:
    shown, filters, cadence = created.shown, created.shown.get("filters"), created.shown.get("cadence")
    return SeenCampaign(
        id=created.id,
        tenant=_key(created),
        name=str(shown.get("name")),
        platform=str(shown.get("platform")),
        template_id=str(shown.get("templateId")),
        cadence=cadence if type(cadence) is int else 1,
        filters=filters if isinstance(filters, list) else None,
        status="draft",
        template=None,
    )


def _key(row: Sighting) -> str:
    return (row.cited.key or "") if isinstance(row.cited, Exchange) else ""


def _execution(started: Sighting, campaign: SeenCampaign, trace: Trace) -> SeenExecution:
    assert isinstance(started.cited, Exchange)
    values = started.cited.sent.get("commonVariables")
    values = values if isinstance(values, dict) else {}
    manual = _manual(trace, campaign.template_id, started.cited)
    # A start before this one is not compared: the template may have been changed in between.
    template = SeenTemplate(campaign.template_id, frozenset(values) if manual is None else manual, started.cited.at)
    return SeenExecution(id=started.id, campaign_id=campaign.id, values=values, template=template, targets=())


def _manual(trace: Trace, template_id: str, before: Exchange) -> frozenset[str] | None:
    """Return the manual variables of a template as its tenant last read them before a call; None if it did not."""
    reads = (
        read
        for read in reversed(trace.of("readTemplate"))
        if read.number < before.number and read.key == before.key and read.params.get("id") == template_id
    )
    latest = next(filter(lambda read: read.succeeded, reads), None)
    rows = latest.field("commonVariables") if latest is not None else None
    if latest is None:
        return None
    rows = rows if isinstance(rows, list) else []
    return frozenset(row["key"] for row in rows if isinstance(row, dict) and isinstance(row.get("key"), str))


def _session(created: Sighting, rows: Iterable[Sighting]) -> SeenSession:
    """Return a session with the status and the entrypoint that its last read shows."""
    assert isinstance(created.cited, Exchange)
    return_url = created.cited.sent.get("returnUrl")
    session = SeenSession(
        id=created.id,
        status="pending",
        return_url=return_url if isinstance(return_url, str) else None,
        expires_at=_deadline(created.cited, created.shown),
        entrypoint_id=None,
    )
    for row in rows:
        if row.how == "read" and row.status is not None:
            entrypoint = row.shown.get("entrypoint")
            id = entrypoint.get("id") if isinstance(entrypoint, dict) else None
            session = replace(session, status=row.status, entrypoint_id=id if isinstance(id, str) else None)
    return session


def _deadline(created: Exchange, shown: Mapping[str, Any]) -> Instant | None:
    """Return a session's deadline by the recorder's clock, not too early; None if the service's clock is unknown."""
    expires = instant(shown.get("expiresAt"))
    if expires is None or created.date is None:
        return None
    return created.ended_at + expires - created.date + SECOND
