"""Histories of executions: counts, progress, the rate of sends, instants, and their campaign's end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN, EXECUTION
from mockserver.core.instants import MINUTE, SECOND, Instant
from mockserver.judge.service.campaigns import described, one_end, ranked
from mockserver.judge.service.evidence import History
from mockserver.judge.service.verdicts import ONE_ANSWER, ONE_CLOCK, UNCHANGED, Verdicts
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import Ranked, instant, precedes, reversal, window
from mockserver.trace.sightings import Sighting, rows_of

_RANKS: Final[Mapping[str, int]] = {"processing": 0, **dict.fromkeys(EXECUTION.final, 1)}
_EVENLY: Final = "the sends are spread evenly to five seconds, and the service's clock did not go back"
# Of a service that sends every few seconds, and of one that goes on after a pause.
_BURST_SPAN: Final = 5 * SECOND
_BURST_SENDS: Final = 2


class _Counts(NamedTuple):
    """The counts that a sighting shows."""

    row: Sighting
    target: int
    sent: int
    failed: int

    @property
    def processed(self) -> int:
        return self.sent + self.failed


def _counts(rows: Sequence[Sighting]) -> list[_Counts]:
    values = [(row, [row.shown.get(key) for key in ("targetCount", "sentCount", "failedCount")]) for row in rows]
    whole = ((row, [number for number in numbers if type(number) is int]) for row, numbers in values)
    return [_Counts(row, *numbers) for row, numbers in whole if len(numbers) == 3]


def counts(history: History, verdicts: Verdicts) -> None:
    """The target is fixed, counts never fall nor exceed it, and what is completed is done."""
    for id, rows in history.records("execution").items():
        seen = _counts(rows)
        verdicts.fixed("start.audience-fixed", "targetCount", rows)
        for one in seen:
            cited, total = [one.row.cited], f"{one.sent} sent and {one.failed} failed"
            verdicts.judge(
                "send.counts", one.processed <= one.target, cited, id, (total, f"targetCount {one.target}"), ONE_ANSWER
            )
            if one.row.status == "completed":
                values = "status completed", f"{total} of {one.target}"
                verdicts.judge("send.completed", one.processed >= one.target, cited, id, values, ONE_ANSWER)
        for field in ("sentCount", "failedCount"):
            _never_falls(id, field, seen, verdicts)
        _rise_together(id, seen, verdicts)
        _progress(id, seen, verdicts)


def _never_falls(id: str, field: str, seen: Sequence[_Counts], verdicts: Verdicts) -> None:
    fallen = reversal(Ranked(one.row, one.row.shown[field], one.row.shown[field]) for one in seen)
    if fallen is None:
        verdicts.hold("send.counts", len(seen) - 1)
        return
    earlier, later = fallen
    cited = [earlier.sighting.cited, later.sighting.cited]
    verdicts.broken("send.counts", cited, id, (f"{field} {earlier.low}", f"then {later.low}"))


def _rise_together(id: str, seen: Sequence[_Counts], verdicts: Verdicts) -> None:
    """In whatever order two answers were: if one has more sent, it has no fewer failed."""
    in_order = sorted(seen, key=lambda one: (one.sent, one.failed))
    for fewer, more in pairwise(in_order):
        if more.failed < fewer.failed:
            values = [f"{one.sent} sent and {one.failed} failed" for one in (fewer, more)]
            verdicts.broken("send.counts", [fewer.row.cited, more.row.cited], id, (values[0], values[1]))


def _progress(id: str, seen: Sequence[_Counts], verdicts: Verdicts) -> None:
    """Progress is the processed part of the target, rounded in one of the known ways; 100 of a canceled one is an option."""
    for one in seen:
        progress = one.row.shown.get("progress")
        if type(progress) is not int:
            continue
        if one.row.status == "canceled" and progress == 100:
            verdicts.excuse("send.progress", "progress-after-cancel")
            continue
        done = 100 * one.processed
        rounded = {done // one.target, -(-done // one.target)} if one.target else {0, 100}
        if one.target and one.processed == one.target:
            rounded = {100}
        values = f"progress {progress}", f"{one.sent} sent and {one.failed} failed of {one.target}"
        verdicts.judge("send.progress", progress in rounded, [one.row.cited], id, values, ONE_ANSWER)


def lifecycles(history: History, verdicts: Verdicts) -> None:
    """An execution ends once, as its campaign does, and has one campaign."""
    campaigns = history.records("campaign")
    for id, rows in history.records("execution").items():
        in_ranks = ranked(rows, _RANKS)
        fallen = reversal(in_ranks)
        if fallen is None:
            verdicts.hold(EXECUTION.clause, len(in_ranks) - 1)
        else:
            earlier, later = (row.sighting for row in fallen)
            verdicts.broken(EXECUTION.clause, [earlier.cited, later.cited], id, (described(earlier), described(later)))
        ends = [row for row in rows if row.status in EXECUTION.final]
        one_end(EXECUTION.clause, id, ends, verdicts)
        verdicts.fixed("campaigns.detail-executions", "campaignId", rows)
        of_campaign = campaigns.get(str(rows[0].shown.get("campaignId")), ())
        _as_campaign(id, ends[:1], of_campaign, verdicts)
        _is_listed(id, rows, of_campaign, verdicts)


def _as_campaign(id: str, ends: Sequence[Sighting], of_campaign: Sequence[Sighting], verdicts: Verdicts) -> None:
    """The execution of a completed campaign completes; how an execution ends otherwise is not shown."""
    campaign_ends = [row for row in of_campaign if row.status in CAMPAIGN.final]
    for end, campaign in zip(ends, campaign_ends[:1], strict=False):
        values = f"the execution is {end.status}", f"its campaign is {campaign.status}"
        if campaign.status == "completed":
            is_same = end.status == campaign.status
            verdicts.judge("send.completed", is_same, [end.cited, campaign.cited], id, values)
        elif end.status != campaign.status:
            verdicts.excuse("campaigns.status-values", "execution-status-lag")
    for row in of_campaign:
        if row.status == CAMPAIGN.initial and row.how == "read" and rows_of(row.shown, "executions"):
            values = "status draft", f"with the execution {id}"
            verdicts.broken("start.response", [row.cited], id, values, ONE_ANSWER)


def _is_listed(id: str, rows: Sequence[Sighting], of_campaign: Sequence[Sighting], verdicts: Verdicts) -> None:
    """A campaign's detail contains its execution from the start on."""
    for detail in of_campaign:
        entries = rows_of(detail.shown, "executions")
        if detail.how != "read" or "executions" not in detail.shown or any(row.get("id") == id for row in entries):
            continue
        before = next((row for row in rows if precedes(row.cited, detail.cited)), None)
        if before is not None:
            values = f"{described(before)}: {id}", "a detail of its campaign without it"
            verdicts.broken("campaigns.detail-executions", [before.cited, detail.cited], id, values)


def unknown(history: History, verdicts: Verdicts) -> None:
    """An execution that there was is not unknown later."""
    for call in history.calls("readExecution"):
        if call.status != 404:
            verdicts.hold("execution.read")
            continue
        rows = history.records("execution").get(call.params.get("executionId", ""), ())
        of_campaign = (row for row in rows if row.shown.get("campaignId") == call.params.get("id"))
        seen = next((row for row in of_campaign if precedes(row.cited, call)), None)
        if seen is not None:
            values = f"{described(seen)}: {seen.id}", f"{call.status} {call.code}"
            verdicts.broken("execution.read", [seen.cited, call], seen.id, values, UNCHANGED)


def instants(history: History, verdicts: Verdicts) -> None:
    """startedAt and completedAt are fixed, in order, not of the future, and completedAt is null while it runs."""
    clause = "campaigns.detail-executions"
    for id, rows in history.records("execution").items():
        verdicts.fixed(clause, "startedAt", rows)
        verdicts.fixed(clause, "completedAt", [row for row in rows if row.shown.get("completedAt") is not None])
        for row in rows:
            _instants_of(id, row, verdicts)
        _stays_set(id, rows, verdicts)
        _as_started(id, rows, verdicts)


def _instants_of(id: str, row: Sighting, verdicts: Verdicts) -> None:
    clause, cited = "campaigns.detail-executions", [row.cited]
    if "completedAt" not in row.shown:
        return
    completed = row.shown["completedAt"]
    if row.status == "processing":
        values = "status processing", f"completedAt {completed}"
        verdicts.judge(clause, completed is None, cited, id, values, ONE_ANSWER)
    if row.status == "completed":
        verdicts.judge("send.completed", completed is not None, cited, id, ("status completed", "completedAt null"), ONE_ANSWER)  # fmt: skip
    start, end, at = instant(row.shown.get("startedAt")), instant(completed), window(row.cited)
    if start is not None and end is not None:
        values = f"startedAt {row.shown['startedAt']}", f"completedAt {completed}"
        verdicts.judge(clause, start <= end, cited, id, values, ONE_ANSWER)
    for field, value in (("startedAt", start), ("completedAt", end)):
        if value is not None and at is not None and isinstance(row.cited, Exchange):
            values = f"{field} {row.shown[field]}", f"an answer of {row.cited.response_headers['date']}"
            verdicts.judge(clause, value <= at[1], cited, id, values, ONE_CLOCK)


def _stays_set(id: str, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    ranks = [
        Ranked(row, is_set, is_set)
        for row in rows
        if "completedAt" in row.shown
        for is_set in [row.shown["completedAt"] is not None]
    ]
    fallen = reversal(ranks)
    if fallen is not None:
        earlier, later = (row.sighting for row in fallen)
        values = f"completedAt {earlier.shown['completedAt']}", "then null"
        verdicts.broken("campaigns.detail-executions", [earlier.cited, later.cited], id, values)


def _as_started(id: str, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    """startedAt is not before the start, by the Date of its answer; a service may begin later."""
    begun = next((row for row in rows if row.how == "started"), None)
    shown = next((row for row in rows if instant(row.shown.get("startedAt")) is not None), None)
    at = window(begun.cited) if begun is not None else None
    if begun is None or shown is None or at is None or not isinstance(begun.cited, Exchange):
        return
    start = instant(shown.shown["startedAt"]) or 0
    values = f"started, Date {begun.cited.response_headers['date']}", f"startedAt {shown.shown['startedAt']}"
    verdicts.judge(
        "campaigns.detail-executions", start >= at[0] - SECOND, [begun.cited, shown.cited], id, values, ONE_CLOCK
    )


class _Progress(NamedTuple):
    """How many were processed between two instants of the service's clock, as one sighting has it."""

    row: Sighting
    processed: int
    earliest: Instant
    latest: Instant


def rates(history: History, verdicts: Verdicts) -> None:
    """Never more than the cadence is sent per minute, by the service's own instants."""
    for id, rows in history.records("execution").items():
        campaign = history.records("campaign").get(str(rows[0].shown.get("campaignId")), ())
        cadence = next((row.shown["cadence"] for row in campaign if type(row.shown.get("cadence")) is int), None)
        if cadence is None:
            continue
        starts = [(instant(row.shown.get("startedAt")), row) for row in rows]
        start = next(((at, row) for at, row in starts if at is not None), None)
        seen = list(_dated(rows))
        if start is not None:
            _since_start(id, cadence, start, seen, verdicts)
        _between(id, cadence, seen, verdicts)


def _dated(rows: Sequence[Sighting]) -> Iterator[_Progress]:
    """Yield the counts with the instants between which they were read; those of an ended execution at its end at the latest."""
    for one in _counts(rows):
        at = window(one.row.cited)
        ended = instant(one.row.shown.get("completedAt")) if one.row.status == "completed" else None
        if ended is not None:
            yield _Progress(one.row, one.processed, ended, ended + SECOND)
        elif at is not None:
            yield _Progress(one.row, one.processed, *at)


def _most(span: Instant, cadence: int) -> int:
    return max(0, span + _BURST_SPAN) * cadence // MINUTE + _BURST_SENDS


def _since_start(
    id: str, cadence: int, start: tuple[Instant, Sighting], seen: Sequence[_Progress], verdicts: Verdicts
) -> None:
    for one in seen:
        most = _most(one.latest - start[0], cadence)
        values = (
            f"startedAt {start[1].shown['startedAt']}, cadence {cadence}",
            f"{one.processed} processed, at most {most} fit",
        )
        cited = [start[1].cited, one.row.cited]
        verdicts.judge("send.cadence", one.processed <= most, cited, id, values, f"{_EVENLY}; {ONE_CLOCK}")


def _between(id: str, cadence: int, seen: Sequence[_Progress], verdicts: Verdicts) -> None:
    """Compare neighbours in order of what was processed: of any two answers the later may have at most so many more."""
    in_order = sorted(seen, key=lambda one: (one.processed, one.earliest))
    for fewer, more in pairwise(in_order):
        if more.latest < fewer.earliest:  # the counts have fallen, which `counts` finds
            continue
        most = _most(more.latest - fewer.earliest, cadence)
        values = (
            f"{fewer.processed} processed",
            f"{more.processed} processed, at most {most} more fit cadence {cadence}",
        )
        is_kept = more.processed - fewer.processed <= most
        verdicts.judge(
            "send.cadence", is_kept, [fewer.row.cited, more.row.cited], id, values, f"{_EVENLY}; {ONE_CLOCK}"
        )
