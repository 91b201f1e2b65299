"""The records of a recording: what the calls that created them, and later answers, show of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mockserver.core.instants import SECOND, Instant
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import instant
from mockserver.trace.records import Records, SeenCampaign, SeenExecution, SeenSession, SeenTemplate
from mockserver.trace.sightings import How, Kind, Sighting, sighted, variables_of
from mockserver.trace.trace import Trace


def records_seen(trace: Trace) -> Records:
    """Return the campaigns, executions and sessions whose creation a recording has."""
    created = _first(trace, "campaign", "created")
    started = _first(trace, "execution", "started")
    opened = _first(trace, "session", "created")
    campaigns = {row.id: _campaign(row) for row in created}
    known = [row for row in started if row.shown["campaignId"] in campaigns]
    return Records(
        campaigns=campaigns,
        executions={row.id: _execution(row, campaigns[row.shown["campaignId"]], trace) for row in known},
        sessions={row.id: _session(row, sighted(trace, "session")[row.id]) for row in opened},
        created={row.id: row.cited.number for row in (*created, *started, *opened)},
    )


def _first(trace: Trace, kind: Kind, how: How) -> Sequence[Sighting]:
    """Return the sighting of the creation of each record of a kind, in the order of their calls."""
    found = (next((row for row in rows if row.how == how), None) for rows in sighted(trace, kind).values())
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
        for read in reversed(trace.reads_of("template"))
        if read.number < before.number and read.key == before.key and read.params.get("id") == template_id
    )
    latest = next(filter(lambda read: read.succeeded, reads), None)
    if latest is None:
        return None
    return frozenset(variables_of(latest.response_json))


def _session(created: Sighting, rows: Iterable[Sighting]) -> SeenSession:
    """Return a session with the status that its last read shows."""
    assert isinstance(created.cited, Exchange)
    return_url = created.cited.sent.get("returnUrl")
    read = [row.status for row in rows if row.how == "read" and row.status is not None]
    return SeenSession(
        id=created.id,
        status=read[-1] if read else "pending",
        return_url=return_url if isinstance(return_url, str) else None,
        expires_at=_deadline(created.cited, created.shown),
    )


def _deadline(created: Exchange, shown: Mapping[str, Any]) -> Instant | None:
    """Return a session's deadline by the recorder's clock, not too early; None if the service's clock is unknown."""
    expires = instant(shown.get("expiresAt"))
    if expires is None or created.date is None:
        return None
    return created.ended_at + expires - created.date + SECOND
