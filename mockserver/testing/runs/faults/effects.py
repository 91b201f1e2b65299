"""
What the calls of a client caused in one run, in numbers, and the difference from the clean run.

1. Only what a call of the API caused counts; what timers, rules or other people cause does not.
2. A session or an upload counts if its answer reached the client: nothing lists those, so a client whose answer was lost
   cannot avoid the second one.
3. A cancel counts if it took effect, or if it was refused because the campaign had ended: the client asked for it. A
   campaign that has ended by itself, or by another, needs none; nor does a draft that another has canceled need a start.
4. Less is no difference if the service refused a call, and the client received that: it cannot do what is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN, SESSION
from mockserver.contract.text import json_value
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.testing.runs.faults.placements import Placement
from mockserver.testing.runs.faults.tables import DELIVERY_FAULTS

_TOO_MANY = 429
_OPERATION_OF: Mapping[str, str] = MappingProxyType(
    {
        "campaigns": "createCampaign",
        "executions": "startCampaign",
        "cancels": "cancelCampaign",
        "sessions": "createConnectionSession",
        "uploads": "uploadMedia",
    }
)
_CREATED: Mapping[str, str] = MappingProxyType(
    {"campaign": "campaigns", "execution": "executions", "session": "sessions"}
)
_SHOW_CAMPAIGNS = frozenset(("listCampaigns", "readCampaign", "readExecution"))
_ON_CAMPAIGNS = frozenset(("campaigns", "executions", "cancels"))


class Caused(NamedTuple):
    """
    What a client's calls caused.

    Attributes:
        numbers: Of `campaigns` created, `executions` started, `cancels`, `sessions` created and `uploads` stored.
        campaigns: The campaigns that the client created, by what else it did to them: `created`, `created, started` and so on.
        ended_campaigns: The campaigns of the client that ended by themselves or by another.
        ended_drafts: Those of them that were never started.
        dead_sessions: The sessions that ended without a connection.
        refusals: The received refusals, by operation; not those that only ask to wait.
    """

    numbers: Mapping[str, int]
    campaigns: Mapping[str, int]
    ended_campaigns: int
    ended_drafts: int
    dead_sessions: int
    refusals: Mapping[str, int]

    def is_like(self, other: Caused) -> bool:
        """Return True if both have the same numbers, and the same was done to as many campaigns."""
        return (self.numbers, self.campaigns) == (other.numbers, other.campaigns)


def caused(run: Run) -> Caused:
    """
    Return what the client's calls caused.

    Args:
        run: The sandbox after the run. Lock: the caller holds it.
    """
    effects = list(_changes(run))
    effects += _answered(run, effects)
    numbers = Counter({**dict.fromkeys(_OPERATION_OF, 0), **Counter(what for what, _ in effects)})
    done: dict[str, set[str]] = {}
    for what, record_id in effects:
        if what in _ON_CAMPAIGNS:
            done.setdefault(record_id, set()).add(what)
    shapes = Counter(", ".join(sorted(each)) for each in done.values() if "campaigns" in each)
    dead = sum(session.status in SESSION.final - {"completed"} for _, session in run.records("session"))
    final = [row for _, row in run.records("campaign") if row.id in done and row.status in CAMPAIGN.final]
    ended = [done[row.id] for row in final if row.status != "canceled" or "cancels" not in done[row.id]]
    drafts = sum("executions" not in each for each in ended)
    return Caused(
        numbers=numbers,
        campaigns=shapes,
        ended_campaigns=len(ended),
        ended_drafts=drafts,
        dead_sessions=dead,
        refusals=_refusals(run),
    )


def _changes(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the id of each record that a call created or canceled, with what it counts as; for an execution its campaign."""
    by_number = {exchange.n: exchange for exchange in run.exchanges}
    for transition in run.transitions:
        by = transition.cause.get("exchange")
        exchange = by_number.get(by) if isinstance(by, int) else None
        if exchange is None:
            continue
        what = _CREATED.get(transition.kind) if transition.source is None else None
        if what == "executions":
            yield what, exchange.call.params.get("id", "")
        elif what is not None and (what != "sessions" or exchange.was_received):
            yield what, transition.id
        elif (transition.kind, transition.target) == ("campaign", "canceled"):
            yield "cancels", transition.id


def _answered(run: Run, changes: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what counts by its answer: each uploaded file, and for each campaign that had ended the first refused cancel."""
    open_ids = {record_id for what, record_id in changes if what in _ON_CAMPAIGNS}
    open_ids -= {record_id for what, record_id in changes if what == "cancels"}
    for exchange in (each for each in run.exchanges if each.was_received):
        if exchange.operation == "uploadMedia" and exchange.applied:
            yield from [("uploads", "")] * _files(exchange)
        if exchange.operation == "cancelCampaign" and exchange.call.params["id"] in open_ids:
            campaign = run.find("campaign", exchange.call.params["id"])
            if campaign is not None and campaign[1].status in CAMPAIGN.final:
                open_ids.remove(campaign[1].id)
                yield "cancels", campaign[1].id


def _files(exchange: JournalEntry) -> int:
    answer = json_value(exchange.answer)
    return sum(isinstance(entry, dict) and "id" in entry for entry in answer) if isinstance(answer, list) else 1


def _refusals(run: Run) -> Mapping[str, int]:
    refused = Counter[str]()
    for exchange in run.exchanges:
        status = exchange.status or 0
        if exchange.operation and 400 <= status < 500 and status != _TOO_MANY and exchange.was_received:
            refused[exchange.operation] += 1
    return refused


def left_behind(run: Run) -> str:
    """
    Return what calls created whose answers were lost, as text such as `1 campaign, 1 execution`; empty if there is nothing.

    What the client read later, it knows; a campaign that was canceled after all is not left behind, nor is its execution.

    Args:
        run: The sandbox after the run. Lock: the caller holds it.
    """
    lost = {exchange.n: exchange for exchange in run.exchanges if exchange.operation and not exchange.was_received}
    canceled = {row.id for _, row in run.records("campaign") if row.status == "canceled"}
    counts = Counter(
        _CREATED[kind]
        for kind, exchange, campaign_id in _created(run, lost)
        if campaign_id not in canceled and not _is_read_after(run, exchange.n, campaign_id)
    )
    counts["uploads"] = sum(_files(each) for each in lost.values() if each.operation == "uploadMedia" and each.applied)
    return ", ".join(_counted(counts[what], what) for what in _OPERATION_OF if counts[what])


def _created(run: Run, by: Mapping[int, JournalEntry]) -> Iterator[tuple[str, JournalEntry, str | None]]:
    """Yield what these calls created: its kind, the call, and the campaign that it is or belongs to, if any."""
    for transition in run.transitions:
        number = transition.cause.get("exchange")
        exchange = by.get(number) if isinstance(number, int) and transition.source is None else None
        if exchange is not None and transition.kind in _CREATED:
            is_campaign = transition.kind == "campaign"
            yield transition.kind, exchange, transition.id if is_campaign else exchange.call.params.get("id")


def _is_read_after(run: Run, number: int, campaign_id: str | None) -> bool:
    """Return True if the client received a read of the campaign, or of the list of them, after a call."""
    reads = (each for each in run.exchanges if each.n > number and each.operation in _SHOW_CAMPAIGNS)
    return campaign_id is not None and any(
        read.was_received and read.call.params.get("id", campaign_id) == campaign_id for read in reads
    )


def differences(clean: Caused, run: Caused, placement: Placement) -> list[str]:
    """
    Return what the client's calls caused that differs from the clean run, as texts such as `2 campaigns instead of 1`.

    Args:
        clean: Of the clean run.
        run: Of the run with this placement.
        placement: Where the run had its faults.
    """
    # A campaign that has ended by itself needs no cancel, and a draft no start; a session without a connection needs a new one.
    may_lack = {
        "cancels": run.ended_campaigns - clean.ended_campaigns,
        "executions": run.ended_drafts - clean.ended_drafts,
    }
    may_add = {"sessions": run.dead_sessions - clean.dead_sessions}
    texts = []
    for what, operation in _OPERATION_OF.items():
        expected, actual = clean.numbers[what], run.numbers[what]
        is_less = actual < expected - max(0, may_lack.get(what, 0))
        is_more = actual > expected + max(0, may_add.get(what, 0))
        if is_less and not _may_cause_less(clean, run, placement, operation):
            texts.append(f"{_counted(actual, what)} instead of {expected}")
        # A client may well answer an act of another by another campaign.
        if is_more and not (what in _ON_CAMPAIGNS and placement.has("act")):
            texts.append(f"{_counted(actual, what)} instead of {expected}")
    is_like_clean = (run.refusals, run.ended_campaigns) == (clean.refusals, clean.ended_campaigns)
    if not texts and not placement.has("choice", "act", "delivery") and is_like_clean:
        shapes = sorted({*clean.campaigns, *run.campaigns})
        changed = [shape for shape in shapes if clean.campaigns.get(shape, 0) != run.campaigns.get(shape, 0)]
        texts += [
            f"{_counted(run.campaigns.get(shape, 0), 'campaigns')} with {shape} instead of {clean.campaigns.get(shape, 0)}"
            for shape in changed
        ]
    return texts


def _counted(count: int, what: str) -> str:
    return f"1 {what.removesuffix('s')}" if count == 1 else f"{count} {what}"


def _may_cause_less(clean: Caused, run: Caused, placement: Placement, operation: str) -> bool:
    refused = {name for name, count in run.refusals.items() if count > clean.refusals.get(name, 0)}
    if operation in refused or (refused and placement.has("act", "choice")):
        return True
    withheld = (step for step in placement if step.kind == "delivery" and DELIVERY_FAULTS[step.name or ""].withholds)
    return any(withheld)
