"""
What a recording shows of records at the time of a call: statuses and names of campaigns, templates, phone numbers, owners.

1. Only what certainly precedes or follows a call counts: of two that overlap neither does.
2. A status moves as its lifecycle allows. What a template showed holds until a later answer shows something else.
3. An unknown effect, such as that of a call without an answer, changes no status that was shown before or after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import precedes
from mockserver.trace.trace import Trace

Alternative = Mapping[str, frozenset[str]]  # options of choices that together fit an answer
INTERNAL: Final = None
APPROVED, UNAPPROVED = "APPROVED", "PENDING"


class TemplateFacts(NamedTuple):
    """
    What a template may be at a call.

    Attributes:
        statuses: Its possible statuses: `INTERNAL`, `APPROVED` or `UNAPPROVED`.
        variables: Its manual variables as {key: required}; None if no answer has shown them.
        may_be_absent: Whether it may not exist.
    """

    statuses: frozenset[str | None]
    variables: Mapping[str, bool] | None
    may_be_absent: bool


class NamedCampaign(NamedTuple):
    """A campaign with a name that it has since a certain call, and the statuses that it may have."""

    id: str
    name: str
    statuses: frozenset[str]


_ANY_TEMPLATE: Final = frozenset({INTERNAL, APPROVED, UNAPPROVED})
_STARTED: Final = frozenset(CAMPAIGN.states) - {CAMPAIGN.initial}
_ENDED: Final = frozenset(CAMPAIGN.states) - set(CAMPAIGN.sources("cancel"))
_NEVER_RAN: Final = frozenset((CAMPAIGN.initial, "canceled"))


class Facts:
    """What the exchanges of one recording show."""

    def __init__(self, recording: Trace) -> None:
        self._statuses: dict[str, list[tuple[Exchange, frozenset[str]]]] = defaultdict(list)
        self._names: dict[str | None, list[tuple[Exchange, str, str]]] = defaultdict(list)
        self._templates: dict[str, list[tuple[Exchange, frozenset[str | None]]]] = defaultdict(list)
        self._variables: dict[str, list[tuple[Exchange, Mapping[str, bool]]]] = defaultdict(list)
        self._owners: dict[str, set[str | None]] = defaultdict(set)
        self._template_of: dict[str, str] = {}
        self._created: dict[str, Exchange] = {}
        self._never_ran: dict[str, list[Exchange]] = defaultdict(list)  # reads of a campaign without executions
        self._first: dict[str, Exchange] = {}
        self.phones: set[str] = set()  # ids of entrypoints that have been shown with a number
        self.started: set[str] = set()  # ids of executions whose start the recording has
        self.with_extra_values: set[str] = set()  # those that were started with values that their template lacks
        for exchange in recording.exchanges:
            read = _READERS.get(exchange.operation or "")
            if read is not None and exchange.succeeded:
                read(self, exchange, exchange.response_json)

    def statuses(self, campaign_id: str, at: Exchange) -> frozenset[str]:
        """Return the statuses that a campaign may have when a call is handled."""
        possible = frozenset(CAMPAIGN.states)
        for shown, statuses in self._statuses[campaign_id]:
            if precedes(shown, at):
                possible &= frozenset().union(*map(_later, statuses))
            elif precedes(at, shown):
                possible = frozenset(status for status in possible if not statuses.isdisjoint(_later(status)))
        if any(precedes(at, shown) for shown in self._never_ran[campaign_id]):
            possible &= _NEVER_RAN
        return possible

    def is_known(self, record_id: str, at: Exchange) -> bool:
        """Return True if an answer before a call has shown a campaign, execution or session, which is never removed."""
        first = self._first.get(record_id)
        return first is not None and precedes(first, at) is True

    def is_foreign(self, record_id: str, at: Exchange) -> bool:
        """Return True if answers to other keys alone have shown a campaign, execution or session before a call."""
        return self.is_known(record_id, at) and at.key not in self._owners[record_id]

    def is_own(self, record_id: str, at: Exchange) -> bool:
        """Return True if an answer to the caller's key has shown a campaign, execution or session, at any time."""
        return at.key in self._owners[record_id]

    def named(self, at: Exchange) -> Iterator[NamedCampaign]:
        """Yield the campaigns of the caller's tenant that exist when a call is handled."""
        seen: set[str] = set()
        for shown, campaign_id, name in self._names[at.key]:
            if precedes(shown, at) and campaign_id not in seen:
                seen.add(campaign_id)
                yield NamedCampaign(campaign_id, name, self.statuses(campaign_id, at))

    def template(self, template_id: str, at: Exchange) -> TemplateFacts:
        """Return what a template may be when a call is handled."""
        before = [statuses for shown, statuses in self._templates[template_id] if precedes(shown, at)]
        after = [statuses for shown, statuses in self._templates[template_id] if precedes(at, shown)]
        statuses = _ANY_TEMPLATE
        for earlier in before:  # an answer may show less than an earlier one
            statuses = statuses & earlier or earlier
        for later in after:
            statuses = statuses & later or statuses | later
        known = [row for shown, row in self._variables[template_id] if precedes(shown, at)]
        variables = known[-1] if known and all(row == known[-1] for _, row in self._variables[template_id]) else None
        return TemplateFacts(statuses, variables, not (before and after))

    def template_of(self, campaign_id: str) -> str | None:
        """Return the id of a campaign's template, which never changes; None if no answer shows it."""
        return self._template_of.get(campaign_id)

    def is_created(self, campaign_id: str) -> bool:
        """Return True if the recording has the call that created a campaign."""
        return campaign_id in self._created

    def is_older(self, campaign_id: str, other_id: str) -> bool:
        """Return True if a campaign was shown before the call that created another one."""
        first, created = self._first.get(campaign_id), self._created.get(other_id)
        return first is not None and created is not None and precedes(first, created) is True

    def _see(self, exchange: Exchange, record_id: object) -> None:
        if isinstance(record_id, str):
            self._owners[record_id].add(exchange.key)
            first = self._first.setdefault(record_id, exchange)
            if exchange.ended_at < first.ended_at:
                self._first[record_id] = exchange

    def _campaign(self, exchange: Exchange, id: object, row: Mapping[str, Any], statuses: Iterable[object]) -> None:
        name, template_id = row.get("name"), row.get("templateId")
        known = frozenset(status for status in statuses if status in CAMPAIGN.states)
        self._see(exchange, id)
        if isinstance(id, str) and known:
            self._statuses[id].append((exchange, frozenset(map(str, known))))
            if isinstance(name, str):
                self._names[exchange.key].append((exchange, id, name))
            if isinstance(template_id, str):
                self._template_of[id] = template_id

    def read_templates(self, exchange: Exchange, answer: Any) -> None:
        """Note the status of each template of a list."""
        for row in rows_of(answer, "templates"):
            state = UNAPPROVED if row.get("providerTemplateStatus") else INTERNAL
            if row.get("isOfficial") is True:
                state = APPROVED
            self._templates[str(row.get("id"))].append((exchange, frozenset({state})))

    def read_template(self, exchange: Exchange, answer: Any) -> None:
        """Note whether a template is official, and its variables."""
        if not isinstance(answer, dict):
            return
        id = exchange.params.get("id", "")
        states = {APPROVED} if answer.get("isOfficial") is True else {INTERNAL, UNAPPROVED}
        self._templates[id].append((exchange, frozenset(states)))
        rows = rows_of(answer, "commonVariables")
        self._variables[id].append((exchange, {str(row.get("key")): row.get("required") is True for row in rows}))

    def read_created(self, exchange: Exchange, answer: Any) -> None:
        """Note a new campaign."""
        if isinstance(answer, dict) and isinstance(exchange.request_json, dict):
            self._created[str(answer.get("campaignId"))] = exchange
            self._campaign(exchange, answer.get("campaignId"), exchange.request_json, [answer.get("status")])

    def read_campaigns(self, exchange: Exchange, answer: Any) -> None:
        """Note the campaigns of a list."""
        for row in rows_of(answer, "campaigns"):
            self._campaign(exchange, row.get("id"), row, [row.get("status")])

    def read_campaign(self, exchange: Exchange, answer: Any) -> None:
        """Note a campaign and its executions."""
        if isinstance(answer, dict):
            self._campaign(exchange, answer.get("id"), answer, [answer.get("status")])
            for row in rows_of(answer, "executions"):
                self._see(exchange, row.get("id"))
            if answer.get("executions") == []:
                self._never_ran[str(answer.get("id"))].append(exchange)

    def read_started(self, exchange: Exchange, answer: Any) -> None:
        """Note that a campaign is no draft any more."""
        self._campaign(exchange, exchange.params.get("id"), {}, _STARTED)
        if not isinstance(answer, dict):
            return
        self._see(exchange, answer.get("executionId"))
        self.started.add(str(answer.get("executionId")))
        template_id = self.template_of(exchange.params.get("id", ""))
        known = self.template(template_id, exchange).variables if template_id is not None else None
        body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
        values = body.get("commonVariables")
        if known is not None and isinstance(values, dict) and not values.keys() <= known.keys():
            self.with_extra_values.add(str(answer.get("executionId")))

    def read_canceled(self, exchange: Exchange, _answer: Any) -> None:
        """Note that a campaign has ended: a cancel of one that had ended before may succeed too."""
        self._campaign(exchange, exchange.params.get("id"), {}, _ENDED)

    def read_session(self, exchange: Exchange, answer: Any) -> None:
        """Note a session, and an entrypoint with a number."""
        if isinstance(answer, dict):
            self._see(exchange, answer.get("sessionId"))
        self.read_entrypoint(exchange, answer)

    def read_entrypoint(self, _exchange: Exchange, answer: Any) -> None:
        """Note an entrypoint that is shown with a number."""
        entrypoint = answer.get("entrypoint") if isinstance(answer, dict) else None
        if isinstance(entrypoint, dict) and entrypoint.get("displayPhone"):
            self.phones.add(str(entrypoint.get("id")))


_READERS: Final = {
    "listTemplates": Facts.read_templates,
    "readTemplate": Facts.read_template,
    "createCampaign": Facts.read_created,
    "listCampaigns": Facts.read_campaigns,
    "readCampaign": Facts.read_campaign,
    "startCampaign": Facts.read_started,
    "cancelCampaign": Facts.read_canceled,
    "createConnectionSession": Facts.read_session,
    "readConnectionSession": Facts.read_session,
    "readEntrypoint": Facts.read_entrypoint,
}


def rows_of(answer: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list in an answer; none if it has no such list."""
    rows = answer.get(key) if isinstance(answer, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


@cache
def _later(status: str) -> frozenset[str]:
    """Return a status and those that may follow it."""
    following = {step.target for step in CAMPAIGN.steps if step.source == status}
    return frozenset({status}).union(*map(_later, following))
