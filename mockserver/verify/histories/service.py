"""
Judge a service by the histories of a recording: every check over the exchanges of each tenant.

A contradiction holds under every option of every choice, for every order of calls that the recorder's intervals allow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from mockserver.verify.histories import campaigns, executions, records, requests, sessions
from mockserver.verify.histories.evidence import History
from mockserver.verify.histories.exchanges import Recording
from mockserver.verify.histories.verdicts import Verdicts


class HistoryCheck(NamedTuple):
    """A check over one tenant's history, with the clauses that it may judge."""

    run: Callable[[History, Verdicts], None]
    clauses: tuple[str, ...]


# fmt: off
CHECKS: Final[tuple[HistoryCheck, ...]] = (
    HistoryCheck(campaigns.lifecycles,         ("campaigns.status-values", "start.response", "start.not-draft", "start.already", "start.once", "cancel.processing")),
    HistoryCheck(campaigns.fixed_fields,       ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence-kept")),
    HistoryCheck(campaigns.names,              ("campaigns.name",)),
    HistoryCheck(campaigns.lists,              ("campaigns.list",)),
    HistoryCheck(campaigns.existence,          ("campaigns.detail", "start.unknown", "cancel.unknown")),
    HistoryCheck(campaigns.refused_starts,     ("start.refused-changes-nothing",)),
    HistoryCheck(campaigns.refused_creations,  ("campaigns.create",)),
    HistoryCheck(executions.counts,            ("start.audience-fixed", "send.counts", "send.completed", "send.progress")),
    HistoryCheck(executions.lifecycles,        ("campaigns.status-values", "campaigns.detail-executions", "cancel.processing", "send.completed", "start.response")),
    HistoryCheck(executions.unknown,           ("execution.read",)),
    HistoryCheck(executions.instants,          ("campaigns.detail-executions", "send.completed")),
    HistoryCheck(executions.rates,             ("send.cadence",)),
    HistoryCheck(sessions.lifecycles,          ("session.final", "session.failed", "session.expired", "session.completed", "session.read", "events.once", "events.connected", "events.failed")),
    HistoryCheck(sessions.deadlines,           ("session.expires-at", "session.expired", "events.connected")),
    HistoryCheck(sessions.entrypoints,         ("session.final", "session.completed", "events.connected")),
    HistoryCheck(sessions.links,               ("session.url",)),
    HistoryCheck(sessions.unknown,             ("session.read",)),
    HistoryCheck(sessions.events,              ("base.tenant-scope", "events.session-id")),
    HistoryCheck(records.ids,                  ("base.ids",)),
    HistoryCheck(records.answers_about_another, ("campaigns.detail", "execution.read", "session.read", "templates.detail", "entrypoints.read")),
    HistoryCheck(records.templates,            ("templates.list", "templates.official")),
    HistoryCheck(requests.bodies,              ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence", "campaigns.validation", "start.common-variables", "start.response", "session.no-extra", "session.funnel-pair", "session.coexistence", "session.return-url")),
    HistoryCheck(requests.filters,             ("filters.operators", "filters.types", "audience.same-filters")),
    HistoryCheck(requests.platforms,           ("campaigns.template-mismatch", "campaigns.template", "templates.unknown")),
    HistoryCheck(requests.variables,           ("start.missing-variables",)),
    HistoryCheck(requests.templates,           ("templates.items", "templates.common-variables")),
    HistoryCheck(requests.cancels,             ("cancel.no-body", "cancel.draft", "cancel.final")),
    HistoryCheck(records.messages,             ("messages.record", "messages.list")),
)
# fmt: on


def judge_histories(recording: Recording) -> Verdicts:
    """
    Return what the histories of a recording prove about the service.

    The recording is the one as it was read: stand-ins of two short names may be equal. No text of a contradiction is private:
    names, descriptions and urls are not cited.
    """
    verdicts = Verdicts()
    for exchanges in recording.histories.values():
        history = History(exchanges, recording.deliveries)
        for check in CHECKS:
            check.run(history, verdicts)
    return verdicts
