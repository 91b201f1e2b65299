"""
What a recording shows of records at the time of a call: statuses and names of campaigns, templates, phone numbers, owners.

1. Only what certainly precedes or follows a call counts: of two that overlap neither does.
2. A status moves as its lifecycle allows. What a template showed holds until a later answer shows something else.
3. An unknown effect, such as that of a call without an answer, changes no status that was shown before or after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import precedes
from mockserver.trace.sightings import Kind, Sighting, first_text, sighted, variables_of
from mockserver.trace.trace import Trace

INTERNAL: Final = None
APPROVED, UNAPPROVED = "APPROVED", "PENDING"
_ANY_TEMPLATE: Final = frozenset({INTERNAL, APPROVED, UNAPPROVED})
_STATES: Final = frozenset(CAMPAIGN.states)
_NEVER_RAN: Final = frozenset((CAMPAIGN.initial, "canceled"))
_KINDS_KEPT: Final[tuple[Kind, ...]] = ("campaign", "session")  # of records that a service never removes


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


class Facts:
    """What the answers of one recording show."""

    def __init__(self, recording: Trace) -> None:
        self._recording = recording
        self._first: dict[str, Exchange] = {}
        self._owners: dict[str, set[str | None]] = {}
        for kind in _KINDS_KEPT:
            for id, rows in self._of(kind).items():
                answers = [row.cited for row in rows if isinstance(row.cited, Exchange)]
                self._owners[id] = {answer.key for answer in answers}
                if answers:
                    self._first[id] = min(answers, key=lambda answer: answer.ended_at)

    def _of(self, kind: Kind) -> Mapping[str, Sequence[Sighting]]:
        return sighted(self._recording, kind)

    def statuses(self, campaign_id: str, at: Exchange) -> frozenset[str]:
        """Return the statuses that a campaign may have when a call is handled."""
        possible = _STATES
        for row in self._of("campaign").get(campaign_id, ()):
            shown = _STATES.intersection(row.statuses)
            if not shown:
                continue
            if precedes(row.cited, at):
                possible &= frozenset().union(*map(_later, shown))
            elif precedes(at, row.cited):
                possible = frozenset(status for status in possible if shown & _later(status))
                if row.shown.get("executions") == []:
                    possible &= _NEVER_RAN
        return possible

    def is_known(self, record_id: str, at: Exchange) -> bool:
        """Return True if an answer before a call has shown a campaign or session, which is never removed."""
        first = self._first.get(record_id)
        return first is not None and precedes(first, at) is True

    def is_own(self, record_id: str, at: Exchange) -> bool:
        """Return True if an answer to the caller's key has shown a campaign or session, at any time."""
        return at.key in self._owners.get(record_id, ())

    def named(self, at: Exchange) -> Iterator[NamedCampaign]:
        """Yield the campaigns of the caller's tenant that exist when a call is handled."""
        for id, rows in self._of("campaign").items():
            if not self.is_own(id, at):
                continue
            name = first_text((row for row in rows if precedes(row.cited, at)), "name")
            if name is not None:
                yield NamedCampaign(id, name, self.statuses(id, at))

    def template(self, template_id: str, at: Exchange) -> TemplateFacts:
        """Return what a template may be when a call is handled."""
        rows = self._of("template").get(template_id, ())
        before = [row for row in rows if precedes(row.cited, at)]
        after = [row for row in rows if precedes(at, row.cited)]
        statuses = _ANY_TEMPLATE
        for earlier in map(_template_statuses, before):  # an answer may show less than an earlier one
            statuses = statuses & earlier or earlier
        for later in map(_template_statuses, after):
            statuses = statuses & later or statuses | later
        reads = [row for row in rows if row.how == "read"]
        variables = [variables_of(row.shown) for row in reads]
        is_known = any(precedes(row.cited, at) for row in reads) and variables.count(variables[0]) == len(variables)
        return TemplateFacts(statuses, variables[0] if is_known else None, not (before and after))

    def template_of(self, campaign_id: str) -> str:
        """Return the id of a campaign's template, which never changes; an empty text if no answer shows it."""
        return first_text(self._of("campaign").get(campaign_id, ()), "templateId") or ""

    def is_new(self, record_id: str) -> bool:
        """Return True if the recording has the call that created a campaign or started an execution."""
        return self._recording.creating(record_id) is not None

    def is_older(self, campaign_id: str, other_id: str) -> bool:
        """Return True if a campaign was shown before the call that created another one."""
        created = self._recording.creating(other_id)
        return created is not None and self.is_known(campaign_id, created)


def _template_statuses(row: Sighting) -> frozenset[str | None]:
    """Return the statuses that an answer leaves open; the detail does not show whether one awaits its approval."""
    if row.shown.get("isOfficial") is True:
        return frozenset({APPROVED})
    if row.how == "read":
        return frozenset({INTERNAL, UNAPPROVED})
    return frozenset({UNAPPROVED if row.shown.get("providerTemplateStatus") else INTERNAL})


@cache
def _later(status: str) -> frozenset[str]:
    """Return a status and those that may follow it."""
    following = {step.target for step in CAMPAIGN.steps if step.source == status}
    return frozenset({status}).union(*map(_later, following))
