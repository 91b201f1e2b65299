"""
The ledger: side effects of the client's recorded calls, as data. Reading it changes nothing.

1. An execution's exchange is the start that created it; a campaign's and a session's the create.
2. A send is duplicate if a chat got the same template with the same values from two executions that began within a day.
3. A campaign is a clone if it equals an earlier one except for a name derived from that one's, and was created after
   the create or start of that one had been refused as done already, or its response had been lost.
4. `Natal (2)`, `natal - retry` and `Copy of Natal` are derived from `Natal`; `Week 12` is not derived from `Week 1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypedDict

from mockserver._json import Count, InstantText
from mockserver.contract.endpoints import is_creation_of, is_read_of
from mockserver.contract.text import json_value
from mockserver.core.instants import DAY, Instant, format_exact
from mockserver.core.operations import sending
from mockserver.core.run import Run
from mockserver.core.state.records import Execution
from mockserver.core.state.tenant import Tenant


def is_derived_name(name: str, original: str) -> bool:
    """Return True if the name is the original's with a prefix or suffix; a longer word or number is another name."""
    end = r"(?![^\W_])" if original[-1:].isdigit() else r"(?![^\W\d_])"
    return re.search(rf"(?<![^\W_]){re.escape(original.casefold())}{end}", name.casefold()) is not None


# The codes by which a create or a start is refused as done already.
DONE_ALREADY: Final = ("CAMPAIGN_NAME_ALREADY_EXISTS", "CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_NOT_DRAFT")
ANSWER_LOST: Final = "answer lost"  # the call took effect, and its client does not know it


class ExecutionRow(TypedDict):
    """An execution with its counts, and the exchange of its start."""

    tenantId: str
    campaignId: str
    executionId: str
    templateId: str
    status: str
    targetCount: Count
    sentCount: Count
    failedCount: Count
    exchange: Count | None


class DuplicateExecutions(TypedDict):
    """Two executions that sent the same to the same chats."""

    tenantId: str
    campaignIds: list[str]
    executionIds: list[str]
    exchanges: list[Count | None]


class SentMessage(TypedDict):
    """A message that a chat got; `at` is an ISO 8601 date-time."""

    tenantId: str
    chatId: str
    templateId: str
    values: Mapping[str, str]
    executionId: str
    at: InstantText


class DuplicateSends(TypedDict):
    """Equal messages to one chat, and how many they are."""

    tenantId: str
    chatId: str
    templateId: str
    count: Count
    executionIds: list[str]


class ClonedCampaign(TypedDict):
    """A clone, why the client created it, and the exchanges of the trouble and of its creation."""

    tenantId: str
    originalId: str
    cloneId: str
    why: str
    exchanges: list[Count]


class AbandonedSession(TypedDict):
    """A session that the client never read and that did not complete."""

    tenantId: str
    sessionId: str
    status: str
    exchange: Count | None


class UnusedMedia(TypedDict):
    """A file that no template and no message uses."""

    tenantId: str
    mediaId: str
    name: str
    exchange: Count | None


class LedgerRows(TypedDict):
    """Side effects; apart from `executions` and `sends`, an empty list is good."""

    executions: list[ExecutionRow]
    duplicateExecutions: list[DuplicateExecutions]
    sends: list[SentMessage]
    duplicateSends: list[DuplicateSends]
    clonedCampaigns: list[ClonedCampaign]
    abandonedSessions: list[AbandonedSession]
    unusedMedia: list[UnusedMedia]


class Trouble(NamedTuple):
    """
    A create or a start that was refused as done already, or whose answer was lost.

    Attributes:
        number: The number of its exchange.
        why: The code of the refusal, or `answer lost`.
        name: The name that a create asked for; None for a start.
        campaign_id: The campaign that a start was about; None for a create.
    """

    number: int
    why: str
    name: str | None
    campaign_id: str | None

    def is_about(self, campaign: Any) -> bool:
        """Return True if the campaign is the one to be created or started."""
        return bool(campaign.name == self.name or campaign.id == self.campaign_id)


class Clone(NamedTuple):
    """A cloned campaign with the campaign that it equals, and the trouble that made the client create it."""

    id: str
    original_id: str
    trouble: Trouble


class _Sent(NamedTuple):
    """A message that a chat got, and when."""

    tenant_id: str
    chat_id: str
    execution: Execution
    at: Instant


def read(run: Run) -> LedgerRows:
    """Return the current ledger of every tenant."""
    made, sends = creating_exchanges(run), list(_sends(run))
    return {
        "executions": [_execution(run, tenant, execution, made) for tenant, execution in run.records("execution")],
        "duplicateExecutions": duplicate_executions(run, made),
        "sends": [
            {
                "tenantId": sent.tenant_id,
                "chatId": sent.chat_id,
                "templateId": sent.execution.template.id,
                "values": dict(sent.execution.values),
                "executionId": sent.execution.id,
                "at": format_exact(sent.at),
            }
            for sent in sends
        ],
        "duplicateSends": _duplicate_sends(sends, made),
        "clonedCampaigns": clones(run, made),
        "abandonedSessions": _abandoned(run, made),
        "unusedMedia": [row for tenant in run.tenants.values() for row in _unused_media(run, tenant)],
    }


def duplicate_executions(run: Run, made: Mapping[str, int]) -> list[DuplicateExecutions]:
    """Return the duplicate executions; `made` is the result of `creating_exchanges`."""
    return [row for tenant in run.tenants.values() for row in _duplicate_executions(tenant, made)]


def duplicate_sends(run: Run, made: Mapping[str, int]) -> list[DuplicateSends]:
    """Return the duplicate sends; `made` is the result of `creating_exchanges`."""
    return _duplicate_sends(list(_sends(run)), made)


def clones(run: Run, made: Mapping[str, int]) -> list[ClonedCampaign]:
    """Return the cloned campaigns; `made` is the result of `creating_exchanges`."""
    return [
        {
            "tenantId": tenant.id,
            "originalId": clone.original_id,
            "cloneId": clone.id,
            "why": clone.trouble.why,
            "exchanges": [clone.trouble.number, made.get(clone.id, 0)],
        }
        for tenant in run.tenants.values()
        for clone in find_clones(tenant.campaigns.values(), _troubles(run, tenant), made)
    ]


def find_clones(campaigns: Iterable[Any], troubles: Sequence[Trouble], made: Mapping[str, int]) -> Iterator[Clone]:
    """
    Yield the clones among the campaigns of one tenant.

    Args:
        campaigns: Rows with `id`, `name`, `template_id`, `platform`, `filters` and `cadence`, in order of creation.
        troubles: Of that tenant, the latest first.
        made: The number of the exchange that created each campaign.
    """
    earlier: list[Any] = []
    for campaign in campaigns if troubles else ():
        made_in = made.get(campaign.id, 0)
        for original in reversed(earlier):
            trouble = _cause(troubles, original, made_in) if _is_copy(original, campaign) else None
            if trouble is not None:
                yield Clone(campaign.id, original.id, trouble)
                break
        earlier.append(campaign)


def _cause(troubles: Sequence[Trouble], original: Any, before: int) -> Trouble | None:
    """Return the trouble with the original that made the client create a clone, or None."""
    return next((each for each in troubles if each.number < before and each.is_about(original)), None)


def why_troubled(*, code: str | None, is_applied: bool, status: int | None, is_faulted: bool) -> str | None:
    """
    Return why a client may create a clone after a create or a start, or None.

    Args:
        code: The code with which it was refused.
        is_applied: It took effect.
        status: Of the answer that was sent; None if none was.
        is_faulted: A rule changed it on the wire: a 5xx has replaced the answer.
    """
    if code in DONE_ALREADY:
        return code
    is_lost = status is None or (is_faulted and status >= 500)
    return ANSWER_LOST if is_applied and is_lost else None


def _abandoned(run: Run, made: Mapping[str, int]) -> list[AbandonedSession]:
    """Return the sessions that the client never read and that did not complete."""
    reads = (exchange for exchange in run.exchanges if is_read_of(exchange.operation, "session"))
    read_ids = {read.call.params["sessionId"] for read in reads}
    return [
        {"tenantId": tenant.id, "sessionId": session.id, "status": session.status, "exchange": made.get(session.id)}
        for tenant, session in run.records("session")
        if session.id not in read_ids and session.status != "completed"
    ]


def creating_exchanges(run: Run) -> Mapping[str, int]:
    """Return the number of the exchange that created each campaign, execution and session."""
    created = [transition for transition in run.transitions if transition.source is None]
    causes = [(transition.id, transition.cause.get("exchange")) for transition in created]
    return {record_id: exchange for record_id, exchange in causes if isinstance(exchange, int)}


def _execution(run: Run, tenant: Tenant, execution: Execution, made: Mapping[str, int]) -> ExecutionRow:
    counts = sending.counts(execution.schedule, run.now)
    return {
        "tenantId": tenant.id,
        "campaignId": execution.campaign_id,
        "executionId": execution.id,
        "templateId": execution.template.id,
        "status": execution.status,
        "targetCount": counts.target,
        "sentCount": counts.sent,
        "failedCount": counts.failed,
        "exchange": made.get(execution.id),
    }


def _duplicate_executions(tenant: Tenant, made: Mapping[str, int]) -> Iterator[DuplicateExecutions]:
    """
    Yield pairs of executions of one template, with the same values and chats, that began within a day of each other.

    Of those that seed data made, no call has duplicated any.
    """
    groups: dict[Any, list[Execution]] = {}
    for execution in tenant.executions.values():
        chats = tuple(chat.id for chat in execution.targets)
        key = (execution.template.id, execution.platform, tuple(sorted(execution.values.items())), chats)
        groups.setdefault(key, []).append(execution)
    pairs = (pair for alike in groups.values() for pair in pairwise(alike))
    for first, second in pairs:
        if second.targets and second.id in made and second.started_at - first.started_at < DAY:
            yield {
                "tenantId": tenant.id,
                "campaignIds": [first.campaign_id, second.campaign_id],
                "executionIds": [first.id, second.id],
                "exchanges": [made.get(first.id), made.get(second.id)],
            }


def _sends(run: Run) -> Iterator[_Sent]:
    """Yield the sends so far, except failed ones."""
    for tenant, execution in run.records("execution"):
        schedule = execution.schedule
        for position in range(sending.processed_count(schedule, run.now)):
            if not sending.is_failed(schedule, position):
                at = sending.displayed_at(schedule, position)
                assert at is not None  # it has been sent
                yield _Sent(tenant.id, execution.targets[position].id, execution, at)


def _duplicate_sends(sends: Sequence[_Sent], made: Mapping[str, int]) -> list[DuplicateSends]:
    groups: dict[Any, list[_Sent]] = {}
    for sent in sends:
        values = tuple(sorted(sent.execution.values.items()))
        groups.setdefault((sent.tenant_id, sent.chat_id, sent.execution.template.id, values), []).append(sent)
    duplicated = [alike for alike in groups.values() if _is_duplicated(alike, made)]
    return [
        {
            "tenantId": alike[0].tenant_id,
            "chatId": alike[0].chat_id,
            "templateId": alike[0].execution.template.id,
            "count": len(alike),
            "executionIds": [sent.execution.id for sent in alike],
        }
        for alike in duplicated
    ]


def _is_duplicated(alike: Sequence[_Sent], made: Mapping[str, int]) -> bool:
    """Return True if two equal sends in a row are within a day, and a call started the execution of one of them."""
    in_order = sorted(alike, key=lambda sent: sent.at)
    return any(
        later.at - earlier.at < DAY and (earlier.execution.id in made or later.execution.id in made)
        for earlier, later in pairwise(in_order)
    )


def _is_copy(one: Any, other: Any) -> bool:
    first, second = ((row.template_id, row.platform, row.filters, row.cadence) for row in (one, other))
    return first == second and is_derived_name(other.name, one.name)


def _troubles(run: Run, tenant: Tenant) -> list[Trouble]:
    """Return the creates and starts that were refused as done already, or whose answer was lost; the latest first."""
    troubles: list[Trouble] = []
    for entry in reversed(run.exchanges):
        is_creation = is_creation_of(entry.operation, "campaign")
        if entry.tenant_id != tenant.id or not (is_creation or is_creation_of(entry.operation, "execution")):
            continue
        why = why_troubled(
            code=entry.error.code if entry.error else None,
            is_applied=entry.applied,
            status=None if entry.is_held else entry.status,
            is_faulted=entry.fault is not None,
        )
        if why is not None:
            has_name = is_creation and isinstance(entry.body, dict)
            name = entry.body.get("name") if has_name else None
            troubles.append(Trouble(number=entry.n, why=why, name=name, campaign_id=entry.call.params.get("id")))
    return troubles


def _unused_media(run: Run, tenant: Tenant) -> Iterator[UnusedMedia]:
    """Yield the uploaded files that no template and no message uses."""
    used = {item.media_id for template in tenant.templates.values() for item in template.items}
    used |= {(message.fields.get("media") or {}).get("id") for rows in tenant.messages.values() for message in rows}
    uploads: dict[str, int] = {}  # the last exchange whose response names the file
    for exchange in run.exchanges:
        answer = json_value(exchange.answer) if is_creation_of(exchange.operation, "media") else None
        entries = answer if isinstance(answer, list) else []
        uploads |= {entry["id"]: exchange.n for entry in entries if isinstance(entry, dict) and "id" in entry}
    for media in tenant.media.values():
        if media.id not in used:
            yield {"tenantId": tenant.id, "mediaId": media.id, "name": media.name, "exchange": uploads.get(media.id)}
