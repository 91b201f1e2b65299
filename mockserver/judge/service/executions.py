"""Executions: counts, progress, the rate of sends, instants, and their campaign's end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN, EXECUTION
from mockserver.core.instants import MINUTE, SECOND, Instant
from mockserver.judge.service.evidence import Rows, before, date_of, described, ends, first, ranked, shown_of
from mockserver.judge.service.verdicts import (
    ONE_CLOCK,
    ClauseCheck,
    Excused,
    Found,
    breach,
    fixed,
    judged,
    never_falls,
    one_end,
)
from mockserver.trace.order import Interval, Ranked, instant, window
from mockserver.trace.sightings import Sighting, rows_of, sighted
from mockserver.trace.trace import Trace

_EVENLY: Final = f"the sends are spread evenly to five seconds, and the service's clock did not go back; {ONE_CLOCK}"
# Of a service that sends every few seconds, and of one that goes on after a pause.
_BURST_SPAN: Final = 5 * SECOND
_BURST_SENDS: Final = 2
_DETAIL: Final = "campaigns.detail-executions"


class _Counts(NamedTuple):
    """The counts that a sighting shows."""

    row: Sighting
    target: int
    sent: int
    failed: int

    @property
    def processed(self) -> int:
        return self.sent + self.failed

    @property
    def text(self) -> str:
        return f"{self.sent} sent and {self.failed} failed"


def _counts(rows: Rows) -> Iterator[_Counts]:
    for row in rows:
        target, sent, failed = (row.shown.get(key) for key in ("targetCount", "sentCount", "failedCount"))
        if type(target) is int and type(sent) is int and type(failed) is int:
            yield _Counts(row, target, sent, failed)


def counts(trace: Trace) -> Found:
    """The target is fixed, counts never fall nor exceed it, and what is completed is done."""
    for rows in sighted(trace, "execution").values():
        yield from fixed("start.audience-fixed", "targetCount", rows)
        seen = list(_counts(rows))
        for one in seen:
            values = one.text, f"targetCount {one.target}"
            yield judged("send.counts", one.processed <= one.target, values, one.row)
            if one.row.status == "completed":
                values = "status completed", f"{one.text} of {one.target}"
                yield judged("send.completed", one.processed >= one.target, values, one.row)
            yield from _progress(one)
        for field in ("sentCount", "failedCount"):
            in_ranks = [Ranked(one.row, one.row.shown[field], one.row.shown[field]) for one in seen]
            yield from never_falls("send.counts", in_ranks, field, comparisons=len(seen) - 1)
        # In whatever order two answers were: if one has more sent, it has no fewer failed.
        for fewer, more in pairwise(sorted(seen, key=lambda one: (one.sent, one.failed))):
            if more.failed < fewer.failed:
                yield breach("send.counts", (fewer.text, more.text), fewer.row, more.row)


def _progress(one: _Counts) -> Found:
    """Progress is the processed part of the target, rounded in one of the known ways; 100 of a canceled one is an option."""
    progress = one.row.shown.get("progress")
    if type(progress) is not int:
        return
    if one.row.status == "canceled" and progress == 100:
        yield Excused("send.progress", "progress-after-cancel")
        return
    rounded = {0, 100}
    if one.target:
        done = 100 * one.processed
        rounded = {100} if one.processed == one.target else {done // one.target, -(-done // one.target)}
    values = f"progress {progress}", f"{one.text} of {one.target}"
    yield judged("send.progress", progress in rounded, values, one.row)


def lifecycles(trace: Trace) -> Found:
    """An execution ends once, as its campaign does, and has one campaign."""
    for id, rows in sighted(trace, "execution").items():
        in_ranks = ranked(rows, EXECUTION)
        yield from never_falls(EXECUTION.clause, in_ranks, comparisons=len(in_ranks) - 1)
        final = ends(rows, EXECUTION)
        yield from one_end(EXECUTION.clause, final)
        yield from fixed(_DETAIL, "campaignId", rows)
        of_campaign = shown_of(trace, "campaign", rows[0].shown.get("campaignId"))
        for end, campaign in zip(final[:1], ends(of_campaign, CAMPAIGN), strict=False):
            yield from _as_campaign(end, campaign)
        for detail in of_campaign:
            if detail.how == "read":
                yield from _in_detail(id, rows, detail)


def _as_campaign(end: Sighting, campaign: Sighting) -> Found:
    """The execution of a completed campaign completes; how an execution ends otherwise is not shown."""
    is_same = end.status == campaign.status
    if campaign.status == "completed":
        values = f"the execution is {end.status}", f"its campaign is {campaign.status}"
        yield judged("send.completed", is_same, values, end, campaign, record=end.id)
    elif not is_same:
        yield Excused(CAMPAIGN.clause, "execution-status-lag")


def _in_detail(id: str, rows: Rows, detail: Sighting) -> Found:
    """A campaign's detail contains its execution from the start on; that of a draft has none."""
    listed = rows_of(detail.shown, "executions")
    if detail.status == CAMPAIGN.initial and listed:
        yield breach("start.response", ("status draft", f"with the execution {id}"), detail, record=id)
    earlier = before(rows, detail.cited)
    if "executions" in detail.shown and earlier is not None and all(row.get("id") != id for row in listed):
        values = f"{described(earlier)}: {id}", "a detail of its campaign without it"
        yield breach(_DETAIL, values, earlier, detail, record=id)


def instants(trace: Trace) -> Found:
    """startedAt and completedAt are fixed, in order, not of the future, and completedAt is null while it runs."""
    for rows in sighted(trace, "execution").values():
        ended = [row for row in rows if "completedAt" in row.shown]
        yield from fixed(_DETAIL, "startedAt", rows)
        yield from fixed(_DETAIL, "completedAt", [row for row in ended if row.shown["completedAt"] is not None])
        for row in ended:
            yield from _instants_of(row)
        are_set = [(row, row.shown["completedAt"] is not None) for row in ended]
        yield from never_falls(_DETAIL, [Ranked(row, is_set, is_set) for row, is_set in are_set], "completedAt")
        begun = first(rows, "started")
        shown = _begun(rows)
        if begun is not None and shown is not None:
            yield from _as_started(begun, shown)


def _begun(rows: Rows) -> Sighting | None:
    """Return the first sighting that shows when the execution began."""
    return next((row for row in rows if instant(row.shown.get("startedAt")) is not None), None)


def _instants_of(row: Sighting) -> Found:
    completed, started = row.shown["completedAt"], row.shown.get("startedAt")
    if row.status == "processing":
        yield judged(_DETAIL, completed is None, ("status processing", f"completedAt {completed}"), row)
    if row.status == "completed":
        yield judged("send.completed", completed is not None, ("status completed", "completedAt null"), row)
    start, end, at = instant(started), instant(completed), window(row.cited)
    if start is not None and end is not None:
        yield judged(_DETAIL, start <= end, (f"startedAt {started}", f"completedAt {completed}"), row)
    for field, value in (("startedAt", start), ("completedAt", end)):
        if value is not None and at is not None:
            values = f"{field} {row.shown[field]}", f"an answer of {date_of(row)}"
            yield judged(_DETAIL, value <= at[1], values, row, assumption=ONE_CLOCK)


def _as_started(begun: Sighting, shown: Sighting) -> Found:
    """startedAt is not before the start, by the Date of its answer; a service may begin later."""
    at, start = window(begun.cited), instant(shown.shown["startedAt"])
    if at is not None and start is not None:
        values = f"started, Date {date_of(begun)}", f"startedAt {shown.shown['startedAt']}"
        yield judged(_DETAIL, start >= at[0] - SECOND, values, begun, shown, assumption=ONE_CLOCK)


def rates(trace: Trace) -> Found:
    """Never more than the cadence is sent per minute, by the service's own instants."""
    for rows in sighted(trace, "execution").values():
        campaign = shown_of(trace, "campaign", rows[0].shown.get("campaignId"))
        cadence = next((row.shown["cadence"] for row in campaign if type(row.shown.get("cadence")) is int), None)
        if cadence is not None:
            yield from _rate(cadence, rows)


def _rate(cadence: int, rows: Rows) -> Found:
    """Compare what was processed since the start, and what neighbours have, in the order of what was processed."""
    seen, begun = list(_dated(rows)), _begun(rows)
    start = instant(begun.shown["startedAt"]) if begun is not None else None
    if begun is not None and start is not None:
        for one, (_, latest) in seen:
            most = _most(latest - start, cadence)
            values = (
                f"startedAt {begun.shown['startedAt']}, cadence {cadence}",
                f"{one.processed} processed, at most {most} fit",
            )
            yield judged("send.cadence", one.processed <= most, values, begun, one.row, assumption=_EVENLY)
    in_order = sorted(seen, key=lambda pair: (pair[0].processed, pair[1][0]))
    for (fewer, (earliest, _)), (more, (_, latest)) in pairwise(in_order):
        if latest < earliest:  # the counts have fallen, which `counts` finds
            continue
        most = _most(latest - earliest, cadence)
        values = (
            f"{fewer.processed} processed",
            f"{more.processed} processed, at most {most} more fit cadence {cadence}",
        )
        is_kept = more.processed - fewer.processed <= most
        yield judged("send.cadence", is_kept, values, fewer.row, more.row, assumption=_EVENLY)


def _dated(rows: Rows) -> Iterator[tuple[_Counts, Interval]]:
    """
    Yield the counts with the instants of the service's clock between which they were read.

    Those of an ended execution were there at its end.
    """
    for one in _counts(rows):
        at = window(one.row.cited)
        ended = instant(one.row.shown.get("completedAt")) if one.row.status == "completed" else None
        if ended is not None:
            at = ended, ended + SECOND
        if at is not None:
            yield one, at


def _most(span: Instant, cadence: int) -> int:
    return max(0, span + _BURST_SPAN) * cadence // MINUTE + _BURST_SENDS


# fmt: off
CHECKS: Final = (
    ClauseCheck(("start.audience-fixed", "send.counts", "send.completed", "send.progress"), counts),
    ClauseCheck((EXECUTION.clause, _DETAIL, "send.completed", "start.response"), lifecycles),
    ClauseCheck((_DETAIL, "send.completed"), instants),
    ClauseCheck(("send.cadence",), rates),
    ClauseCheck(("send.failures",), unshown="a recording does not show why a send failed"),
    ClauseCheck(("send.message",), unshown="a recording does not show which chats were targets"),
    ClauseCheck(("send.failed",), unshown="a recording does not show the failure that cannot be recovered"),
    ClauseCheck(("cancel.queued",), unshown="the document does not limit what is still sent after a cancel"),
)
# fmt: on
