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

_KEYS: Final = ("sk_", "pk_")
_NO_KEYS: Final = "the recording has no keys, which show that calls are of one tenant"


class HistoryCheck(NamedTuple):
    """
    A check over one tenant's history.

    Attributes:
        run: Judges a history.
        clauses: Those that it may judge.
        needs_tenant: Whether it needs to know that all calls are of one tenant, which only a recorded key shows.
    """

    run: Callable[[History, Verdicts], None]
    clauses: tuple[str, ...]
    needs_tenant: bool = False


# fmt: off
CHECKS: Final[tuple[HistoryCheck, ...]] = (
    HistoryCheck(campaigns.lifecycles,         ("campaigns.status-values", "start.response", "start.not-draft", "start.already", "start.once", "cancel.processing")),
    HistoryCheck(campaigns.fixed_fields,       ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence-kept")),
    HistoryCheck(campaigns.names,              ("campaigns.name",), needs_tenant=True),
    HistoryCheck(campaigns.lists,              ("campaigns.list",), needs_tenant=True),
    HistoryCheck(campaigns.existence,          ("campaigns.detail", "start.unknown", "cancel.unknown"), needs_tenant=True),
    HistoryCheck(campaigns.refused_starts,     ("start.refused-changes-nothing",)),
    HistoryCheck(campaigns.refused_creations,  ("campaigns.create",), needs_tenant=True),
    HistoryCheck(executions.counts,            ("start.audience-fixed", "send.counts", "send.completed", "send.progress")),
    HistoryCheck(executions.lifecycles,        ("campaigns.status-values", "campaigns.detail-executions", "cancel.processing", "send.completed", "start.response")),
    HistoryCheck(executions.unknown,           ("execution.read",), needs_tenant=True),
    HistoryCheck(executions.instants,          ("campaigns.detail-executions", "send.completed")),
    HistoryCheck(executions.rates,             ("send.cadence",)),
    HistoryCheck(sessions.lifecycles,          ("session.final", "session.failed", "session.expired", "session.completed", "session.read", "events.once", "events.connected", "events.failed")),
    HistoryCheck(sessions.deadlines,           ("session.expires-at", "session.expired", "events.connected")),
    HistoryCheck(sessions.entrypoints,         ("session.final", "session.completed", "events.connected")),
    HistoryCheck(sessions.links,               ("session.url",)),
    HistoryCheck(sessions.unknown,             ("session.read",), needs_tenant=True),
    HistoryCheck(sessions.events,              ("base.tenant-scope", "events.session-id"), needs_tenant=True),
    HistoryCheck(records.ids,                  ("base.ids",)),
    HistoryCheck(records.answers_about_another, ("campaigns.detail", "execution.read", "session.read", "templates.detail", "entrypoints.read")),
    HistoryCheck(records.templates,            ("templates.list", "templates.official")),
    HistoryCheck(requests.bodies,              ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence", "campaigns.validation", "start.common-variables", "start.response", "session.no-extra", "session.funnel-pair", "session.coexistence", "session.return-url")),
    HistoryCheck(requests.filters,             ("filters.operators", "filters.types", "audience.same-filters")),
    HistoryCheck(requests.platforms,           ("campaigns.template-mismatch", "campaigns.template", "templates.unknown"), needs_tenant=True),
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
    for key, exchanges in recording.histories.items():
        history = History(exchanges, recording.deliveries)
        for check in CHECKS:
            if check.needs_tenant and not (key or "").startswith(_KEYS):
                verdicts.not_shown.update(dict.fromkeys(check.clauses, _NO_KEYS))
            else:
                check.run(history, verdicts)
    return verdicts
