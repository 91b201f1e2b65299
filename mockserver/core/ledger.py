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
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from mockserver.contract.text import json_value
from mockserver.core.instants import DAY
from mockserver.core.operations import sending
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import Campaign, Execution
from mockserver.core.state.tenant import Tenant


def is_derived_name(name: str, original: str) -> bool:
    """Return True if the name is the original's with a prefix or suffix; a longer word or number is another name."""
    end = r"(?![^\W_])" if original[-1:].isdigit() else r"(?![^\W\d_])"
    return re.search(rf"(?<![^\W_]){re.escape(original.casefold())}{end}", name.casefold()) is not None


_DONE_ALREADY = ("CAMPAIGN_NAME_ALREADY_EXISTS", "CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_NOT_DRAFT")

Row = Mapping[str, Any]


class LedgerRows(NamedTuple):
    """Side effects, each a list of rows with ids and exchange numbers; apart from the first and third, empty is good."""

    executions: Sequence[Row]
    duplicate_executions: Sequence[Row]
    sends: Sequence[Row]
    duplicate_sends: Sequence[Row]
    cloned_campaigns: Sequence[Row]
    abandoned_sessions: Sequence[Row]
    unused_media: Sequence[Row]


def read(run: Run) -> LedgerRows:
    """Return the current ledger of every tenant."""
    made = creating_exchanges(run)
    executions = list(run.records("execution"))
    all_sends = [row for tenant, execution in executions for row in _sends(run, tenant, execution)]
    return LedgerRows(
        executions=[_execution(run, tenant, execution, made) for tenant, execution in executions],
        duplicate_executions=duplicate_executions(run, made),
        sends=all_sends,
        duplicate_sends=_duplicate_sends(all_sends, made),
        cloned_campaigns=clones(run, made),
        abandoned_sessions=abandoned(run, made),
        unused_media=[row for tenant in run.tenants.values() for row in _unused_media(run, tenant)],
    )


def duplicate_executions(run: Run, made: Mapping[str, int]) -> list[Row]:
    """Return the duplicate executions; `made` is the result of `creating_exchanges`."""
    return [row for tenant in run.tenants.values() for row in _duplicate_executions(tenant, made)]


def clones(run: Run, made: Mapping[str, int]) -> list[Row]:
    """Return the cloned campaigns; `made` is the result of `creating_exchanges`."""
    rows: list[Row] = []
    for tenant in run.tenants.values():
        troubles = _failed_creates_and_starts(run, tenant)
        earlier: list[Campaign] = []
        for campaign in tenant.campaigns.values() if troubles else ():
            made_in = made.get(campaign.id, 0)
            originals = (original for original in reversed(earlier) if _is_copy(original, campaign))
            proofs = ((original, _why_cloned(troubles, original, made_in)) for original in originals)
            original, proof = next((found for found in proofs if found[1]), (campaign, None))
            if proof is not None:
                clone = {"tenantId": tenant.id, "originalId": original.id, "cloneId": campaign.id}
                rows.append({**clone, "why": proof[1], "exchanges": [proof[0], made_in]})
            earlier.append(campaign)
    return rows


def abandoned(run: Run, made: Mapping[str, int]) -> list[Row]:
    """Return the sessions that the client never read and that did not complete."""
    reads = (exchange for exchange in run.exchanges if exchange.operation == "readConnectionSession")
    read_ids = {read.call.params["sessionId"] for read in reads}
    return [
        {"tenantId": tenant.id, "sessionId": session.id, "status": session.status, "exchange": made.get(session.id)}
        for tenant, session in run.records("session")
        if session.id not in read_ids and session.status != "completed"
    ]


def creating_exchanges(run: Run) -> Mapping[str, int]:
    """Return the number of the exchange that created each campaign, execution and session."""
    created = (transition for transition in run.transitions if transition.source is None)
    causes = ((transition.id, transition.cause.get("exchange")) for transition in created)
    return {record_id: exchange for record_id, exchange in causes if isinstance(exchange, int)}


def _execution(run: Run, tenant: Tenant, execution: Execution, made: Mapping[str, int]) -> Row:
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


def _duplicate_executions(tenant: Tenant, made: Mapping[str, int]) -> Iterator[Row]:
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


def _sends(run: Run, tenant: Tenant, execution: Execution) -> Iterator[Row]:
    """Yield the sends of an execution so far, except failed ones."""
    for position in range(sending.processed_count(execution.schedule, run.now)):
        if not sending.is_failed(execution.schedule, position):
            yield {
                "tenantId": tenant.id,
                "chatId": execution.targets[position].id,
                "templateId": execution.template.id,
                "values": dict(execution.values),
                "executionId": execution.id,
                "at": sending.displayed_at(execution.schedule, position),
            }


def _duplicate_sends(rows: Sequence[Row], made: Mapping[str, int]) -> list[Row]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        key = (row["tenantId"], row["chatId"], row["templateId"], tuple(sorted(row["values"].items())))
        groups.setdefault(key, []).append(row)
    return [
        {
            "tenantId": tenant_id,
            "chatId": chat_id,
            "templateId": template_id,
            "count": len(alike),
            "executionIds": [row["executionId"] for row in alike],
        }
        for (tenant_id, chat_id, template_id, _), alike in groups.items()
        if _is_duplicated(alike, made)
    ]


def _is_duplicated(alike: Sequence[Row], made: Mapping[str, int]) -> bool:
    """Return True if two equal sends in a row are within a day, and a call started the execution of one of them."""
    in_order = sorted(alike, key=lambda row: row["at"])
    return any(
        later["at"] - earlier["at"] < DAY and (earlier["executionId"] in made or later["executionId"] in made)
        for earlier, later in pairwise(in_order)
    )


def _is_copy(one: Campaign, other: Campaign) -> bool:
    first, second = ((row.template_id, row.platform, row.filters, row.cadence) for row in (one, other))
    return first == second and is_derived_name(other.name, one.name)


def _why_cloned(
    troubles: Sequence[tuple[JournalEntry, str]], original: Campaign, before: int
) -> tuple[int, str] | None:
    """Return the exchange about the original that made the client create a clone, with the reason, or None."""
    for exchange, why in troubles:
        if exchange.operation == "createCampaign":
            is_about = isinstance(exchange.body, dict) and exchange.body.get("name") == original.name
        else:
            is_about = exchange.call.params["id"] == original.id
        if is_about and exchange.n < before:
            return exchange.n, why
    return None


def _failed_creates_and_starts(run: Run, tenant: Tenant) -> list[tuple[JournalEntry, str]]:
    """Return the creates and starts that were refused as done already, or whose response was lost; the latest first."""
    failed = []
    for exchange in reversed(run.exchanges):
        if exchange.tenant_id != tenant.id or exchange.operation not in ("createCampaign", "startCampaign"):
            continue
        code = exchange.error.code if exchange.error else None
        if code in _DONE_ALREADY:
            failed.append((exchange, str(code)))
            continue
        is_replaced = exchange.fault is not None and (exchange.status or 0) >= 500  # by an injected 5xx
        if exchange.applied and (exchange.status is None or exchange.is_held or is_replaced):
            failed.append((exchange, "answer lost"))
    return failed


def _unused_media(run: Run, tenant: Tenant) -> Iterator[Row]:
    """Yield the uploaded files that no template and no message uses."""
    used = {item.media_id for template in tenant.templates.values() for item in template.items}
    used |= {(message.fields.get("media") or {}).get("id") for rows in tenant.messages.values() for message in rows}
    uploads: dict[str, int] = {}  # the last exchange whose response names the file
    for exchange in run.exchanges:
        answer = json_value(exchange.answer) if exchange.operation == "uploadMedia" else None
        entries = answer if isinstance(answer, list) else []
        uploads |= {entry["id"]: exchange.n for entry in entries if isinstance(entry, dict) and "id" in entry}
    for media in tenant.media.values():
        if media.id not in used:
            yield {"tenantId": tenant.id, "mediaId": media.id, "name": media.name, "exchange": uploads.get(media.id)}
