"""
The service's instant of each exchange, as far as a recording shows it.

The recorder's clock gives the time between two exchanges. What the service shows bounds the instant: the `Date` of an answer, the
start and end of an execution, the deadline of a session, and how many messages of a run were sent. Time never runs backwards.
The order of calls that overlap is open, but a call that has an id is handled after the call that was answered with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard
from urllib.parse import parse_qs

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.limits import SESSION_LIFETIME
from mockserver.contract.text import http_date
from mockserver.core.instants import (
    EARLIEST,
    LATEST,
    MILLISECOND,
    MINUTE,
    SECOND,
    Instant,
    from_datetime,
    parse,
    to_microseconds,
)
from mockserver.recordings.facts import rows_of
from mockserver.recordings.forms import counts_of
from mockserver.verify.histories.exchanges import RecordedExchange


class Window(NamedTuple):
    """The first and the last instant at which a call may have been handled."""

    first: Instant
    last: Instant

    def nearest(self, guess: Instant, earliest: Instant) -> Instant:
        """Return the guess if it is in the window, else the first instant that is, not before `earliest`."""
        return guess if self.first <= guess <= self.last else max(self.first, earliest)


_ALWAYS: Final = Window(EARLIEST, LATEST)
_UNTIMED_STEP: Final = SECOND  # between two calls of a cassette
_UNKNOWN_START: Final = 1_772_366_400 * SECOND  # 2026-03-01T12:00:00Z, of a cassette without a Date


def service_instants(exchanges: Sequence[RecordedExchange]) -> dict[int, Instant]:
    """Return the instant at which the service handled each exchange, by index; they never decrease in the given order."""
    windows, recorded = _windows(exchanges), _recorded(exchanges)
    first = next((exchange.index for exchange in exchanges if exchange.index in windows), None)
    lead = windows[first].nearest(recorded[first], EARLIEST) - recorded[first] if first is not None else 0
    instants: dict[int, Instant] = {}
    latest = _latest(recorded, windows)
    now: Instant = EARLIEST
    before: Instant | None = None
    for index, at in recorded.items():
        guess = min(at + lead if before is None else now + max(0, at - before), latest[index])
        shown = windows.get(index)
        now = max(guess if shown is None else shown.nearest(guess, now), now)
        instants[index] = now
        before = at
    return instants


def service_order(exchanges: Sequence[RecordedExchange]) -> list[RecordedExchange]:
    """
    Return the exchanges in an order in which the service may have handled them: the recorded one, as far as ids allow it.

    Of calls that overlap, one that sends or shows an id follows the one that assigned it, and a list or a detail without the
    id precedes it. A campaign is started before it is canceled, and what shows its status follows the call that led to it. What
    this leaves open the instants decide that the service shows.
    """
    before = _dependencies(exchanges)
    ordered: dict[int, RecordedExchange] = {}

    def add(place: int, first: int) -> None:
        waiting = [other for other in range(first, place) if exchanges[other].precedes(exchanges[place])]
        for earlier in sorted({*before.pop(place, ()), *waiting}):
            if earlier not in ordered:
                add(earlier, first)
        ordered.setdefault(place, exchanges[place])

    for place in range(len(exchanges)):
        if place not in ordered:
            add(place, place)
    return list(ordered.values())


def _dependencies(exchanges: Sequence[RecordedExchange]) -> dict[int, set[int]]:
    """Return by the place of an exchange those that overlap with it and that the service handled before it."""
    new: list[frozenset[str]] = []  # by place: the ids that no exchange before has assigned
    known: set[str] = set()
    for exchange in exchanges:
        new.append(frozenset(_assigned(exchange)) - known)
        known |= new[-1]
    before: dict[int, set[int]] = defaultdict(set)
    windows = _windows(exchanges)
    at = [windows.get(exchange.index, _ALWAYS) for exchange in exchanges]
    for place, exchange in enumerate(exchanges):
        for later in range(place + 1, len(exchanges)):
            other = exchanges[later]
            if other.started > exchange.ended:
                break
            if not exchange.precedes(other) and (new[later] & _words(exchange) or _is_before(other, exchange)):
                before[place].add(later)
            elif new[place] & _words(other) or _is_before(exchange, other):
                before[later].add(place)
            elif not exchange.precedes(other) and at[later].last < at[place].first:
                before[place].add(later)
    return before


def _assigned(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the ids and the cursor that an answer shows first."""
    answer, key = exchange.response_json, _ASSIGNS.get(exchange.operation or "")
    if exchange.succeeded and isinstance(answer, dict):
        entrypoint = answer.get("entrypoint") if exchange.operation == "readConnectionSession" else None
        values = [answer.get(key) if key else None, entrypoint.get("id") if isinstance(entrypoint, dict) else None]
        yield from (value for value in values if isinstance(value, str) and value)


_ASSIGNS: Final[Mapping[str, str]] = {
    "createCampaign": "campaignId", "startCampaign": "executionId", "createConnectionSession": "sessionId", "listMessages": "nextCursor",
}  # fmt: skip


def _words(exchange: RecordedExchange) -> frozenset[str]:
    """Return the ids and cursors that a call sends, and the ids that its answer shows in a list or a detail."""
    query = parse_qs(exchange.path.partition("?")[2])
    shown: list[object] = []
    if exchange.succeeded and exchange.operation in ("listCampaigns", "readCampaign"):
        for kind in ("campaigns", "executions"):
            shown += [row.get("id") for row in rows_of(exchange.response_json, kind)]
    words = [*exchange.params.values(), *query.get("cursor", ()), *shown]
    return frozenset(word for word in words if isinstance(word, str))


def _is_before(one: RecordedExchange, other: RecordedExchange) -> bool:
    """Return True if two calls that overlap have answers that need this order: by what one lacks, or by a campaign's status."""
    if not one.succeeded or not other.succeeded or one.key != other.key:
        return False
    if _lacks(one, other):
        return True
    if (one.operation, other.operation) == ("startCampaign", "cancelCampaign"):
        return one.params.get("id") == other.params.get("id")
    before, after = _status(one, other), _status(other, one)
    if other.operation == "startCampaign" and before is not None:
        return before == CAMPAIGN.initial
    if other.operation == "cancelCampaign" and before is not None:
        return before in CAMPAIGN.sources("cancel")
    if one.operation == "startCampaign" and after is not None:
        return after in _RAN
    return one.operation == "cancelCampaign" and after == "canceled"


_RAN: Final = frozenset(("processing", "completed", "failed"))


def _status(read: RecordedExchange, write: RecordedExchange) -> object:
    """Return the status that an answer shows of the campaign of a call; None if it shows none."""
    answer, id = read.response_json, write.params.get("id")
    if read.operation == "listCampaigns":
        return next((row.get("status") for row in rows_of(answer, "campaigns") if row.get("id") == id), None)
    is_read = read.operation in ("readCampaign", "readExecution") and read.params.get("id") == id
    return answer.get("status") if is_read and isinstance(answer, dict) else None


def _lacks(read: RecordedExchange, created: RecordedExchange) -> bool:
    """Return True if an answer lacks what a call created, which it would have shown after the call."""
    kinds = {("listCampaigns", "createCampaign"): "campaigns", ("readCampaign", "startCampaign"): "executions"}
    kind = kinds.get((str(read.operation), str(created.operation)))
    if kind is None or (kind == "executions" and read.params.get("id") != created.params.get("id")):
        return False
    return not {row.get("id") for row in rows_of(read.response_json, kind)} & {*_assigned(created)}


def _latest(recorded: Mapping[int, Instant], windows: Mapping[int, Window]) -> dict[int, Instant]:
    """Return the last instant at which each exchange may have been handled, by its own window and those after it."""
    latest: dict[int, Instant] = {}
    last: Instant = LATEST
    for index in reversed(recorded):
        last = min(last, windows[index].last) if index in windows else last
        latest[index] = last
    return latest


def _recorded(exchanges: Sequence[RecordedExchange]) -> dict[int, Instant]:
    """Return the recorder's instants, of a recording without times one second apart."""
    timed = all(exchange.is_timed for exchange in exchanges)
    return {
        exchange.index: exchange.started * MILLISECOND if timed else _UNKNOWN_START + place * _UNTIMED_STEP
        for place, exchange in enumerate(exchanges)
    }


def _windows(exchanges: Sequence[RecordedExchange]) -> dict[int, Window]:
    bounds: dict[int, list[Window]] = defaultdict(list)
    for exchange in exchanges:
        date = http_date(exchange.response_headers.get("date", ""))
        if date is not None and date.tzinfo is not None:
            at = from_datetime(date)
            bounds[exchange.index].append(Window(at, at + SECOND - MILLISECOND))
    for index, window in _shown_instants(exchanges):
        bounds[index].append(window)
    return {index: _intersection(rows) for index, rows in bounds.items()}


def _intersection(rows: Sequence[Window]) -> Window:
    """Return what the windows have in common; those that contradict the ones before them are left out."""
    common = rows[0]
    for row in rows[1:]:
        first, last = max(common.first, row.first), min(common.last, row.last)
        common = Window(first, last) if first <= last else common
    return common


def _shown_instants(exchanges: Sequence[RecordedExchange]) -> Iterator[tuple[int, Window]]:
    runs = executions_of(exchanges)
    cadences = _cadences(exchanges)
    for exchange in exchanges:
        answer: Any = exchange.response_json
        if not exchange.succeeded:
            continue
        if exchange.operation == "startCampaign" and isinstance(answer, dict):
            yield from _at(exchange.index, runs.get(str(answer.get("executionId")), {}).get("startedAt"))
        elif exchange.operation == "createConnectionSession" and isinstance(answer, dict):
            for index, window in _at(exchange.index, answer.get("expiresAt")):
                life = to_microseconds(SESSION_LIFETIME)
                yield index, Window(window.first - life, window.last - life)
        elif exchange.operation in ("readExecution", "readCampaign"):
            campaign_id = exchange.params.get("id", "")
            rows = [answer] if exchange.operation == "readExecution" else rows_of(answer, "executions")
            for row in rows:
                yield from _while_sending(exchange.index, row, runs, cadences.get(campaign_id))


def _at(index: int, written: object) -> Iterator[tuple[int, Window]]:
    """Yield the window of an instant as it is shown: a millisecond, or a second if it has no fraction."""
    read = parse(written) if isinstance(written, str) else None
    if read is not None and isinstance(written, str):
        grain = MILLISECOND if "." in written else SECOND
        yield index, Window(read[0], read[0] + grain - 1)


def _while_sending(
    index: int, row: Any, runs: Mapping[str, Mapping[str, Any]], cadence: int | None
) -> Iterator[tuple[int, Window]]:
    """Yield the window in which as many messages were sent as an answer shows, at the cadence of the campaign."""
    if not isinstance(row, dict) or row.get("status") != "processing" or not cadence:
        return
    started = runs.get(str(row.get("id")), {}).get("startedAt")
    read, counts = parse(started) if isinstance(started, str) else None, counts_of(row)
    if read is not None and counts is not None and 0 < counts.processed < counts.target:
        first = read[0] - (-(counts.processed - 1) * MINUTE // cadence)
        yield index, Window(first, read[0] + counts.processed * MINUTE // cadence - 1)


def executions_of(exchanges: Sequence[RecordedExchange]) -> dict[str, Mapping[str, Any]]:
    """Return the last row of each execution in the details of campaigns."""
    rows: dict[str, Mapping[str, Any]] = {}
    for exchange in exchanges:
        if exchange.operation == "readCampaign" and exchange.succeeded:
            rows |= {str(row.get("id")): row for row in rows_of(exchange.response_json, "executions")}
    return rows


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _cadences(exchanges: Sequence[RecordedExchange]) -> dict[str, int]:
    cadences: dict[str, int] = {}
    for exchange in exchanges:
        answer, body = exchange.response_json, exchange.request_json
        if exchange.succeeded and exchange.operation == "createCampaign" and isinstance(answer, dict):
            sent = body.get("cadence") if isinstance(body, dict) else None
            cadences |= {str(answer.get("campaignId")): cadence for cadence in [sent] if _is_count(cadence)}
        elif exchange.succeeded and exchange.operation == "readCampaign" and isinstance(answer, dict):
            cadences |= {str(answer.get("id")): cadence for cadence in [answer.get("cadence")] if _is_count(cadence)}
    return cadences
