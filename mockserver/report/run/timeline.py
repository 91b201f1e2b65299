"""
The rows of a report's timeline, with repetitions collapsed.

1. Calls that differ only in the counters of their responses are one row, if only advances of the clock are between them.
2. Of a round of calls that repeats, such as polls of two campaigns in turn, the first is shown, with the number of rounds.
3. A long timeline is cut in the middle, but for pinned rows: those of the calls that the report's first lines cite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.report.run.exchanges import Exchange, format_line, json_differences

_HEAD, _TAIL = 5, 30  # lines of a long timeline that are not cut
_COUNTERS_SHOWN = 3
_TIME_CHARS = len("12:00:00.000")
_ROUND_MAX = 5  # rows of a round that repeats
_ROUNDS_LEAST = 3
_ALIKE_WITH_ADVANCES = 3  # fewer calls than this, with advances between them, are not collapsed

Call = Exchange[Any, Any]


class Row(NamedTuple):
    """One entry of the timeline, in one or more lines: a `command` of the test, a `call` that may be collapsed, or a change."""

    lines: Sequence[str]
    call: Call | None = None
    command: str | None = None
    pinned: bool = False
    date: str = ""  # of its first line

    @property
    def time(self) -> str:
        return self.lines[0].strip()[:_TIME_CHARS]


def collapse_repeats(rows: Sequence[Row]) -> Iterator[Row]:
    """Return the rows in their order, with repetitions collapsed."""
    runs = list(_runs(list(_without_equal_details(rows))))
    at = 0
    while at < len(runs):
        length = next((size for size in range(2, _ROUND_MAX + 1) if _cycles(runs, at, size) >= _ROUNDS_LEAST), 0)
        if not length:
            yield runs[at]
            at += 1
            continue
        end = at + length * _cycles(runs, at, length)
        yield from runs[at : at + length]
        last = next(row for row in reversed(runs[at:end]) if row.call is not None)
        assert last.call is not None
        times = (end - at) // length - 1
        yield Row(
            [f"  ... these {length} lines {times} times more, until #{last.call.n} at {last.time}"], date=runs[at].date
        )
        at = end


def _without_equal_details(rows: Sequence[Row]) -> Iterator[Row]:
    """Return the rows without the bodies of a call that are equal to those of the call before."""
    before: Sequence[str] = ()
    for row in rows:
        details = row.lines[1:]
        is_again = bool(details) and details == before and not row.pinned
        yield row._replace(lines=[f"{row.lines[0]}  (details as before)"]) if is_again else row
        before = details or before


def _cycles(rows: Sequence[Row], start: int, length: int) -> int:
    """Return the number of rounds of `length` rows from `start` on that are equal."""
    if not any(row.call for row in rows[start : start + length]):
        return 0
    end = start + length
    while end < len(rows) and _is_again(rows[end - length], rows[end]):
        end += 1
    return (end - start) // length


def _is_again(one: Row, other: Row) -> bool:
    if one.call is not None and other.call is not None:
        return _alike(one.call, other.call)
    is_advance = one.command == other.command == "advance"
    return is_advance and one.lines[0].partition("  clock: ")[2] == other.lines[0].partition("  clock: ")[2]


def _runs(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows in their order, each run of similar ones as one."""
    run: list[Row] = []
    for row in rows:
        if run and not _extends_run(run, row):
            yield from _close_run(run)
            run = []
        if run or row.call is not None or row.command == "visit":
            run.append(row)
        else:
            yield row
    yield from _close_run(run)


def _extends_run(run: Sequence[Row], row: Row) -> bool:
    first = run[0]
    if first.call is None:
        return row.command == first.command
    return row.command == "advance" or (row.call is not None and _alike(first.call, row.call))


def _alike(one: Call, other: Call) -> bool:
    keys = [(call.operation, call.method, call.path, call.query, call.body, call.status) for call in (one, other)]
    return keys[0] == keys[1] and _same_but_counters(one.body_received, other.body_received)


def _same_but_counters(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same_but_counters(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_but_counters, one, other))
    return one == other or (_is_count(one) and _is_count(other))


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close_run(run: list[Row]) -> Iterator[Row]:
    """Return a run as one row, then the advances without a similar call after them; a short run stays as it is."""
    end = max((place for place, row in enumerate(run) if row.command != "advance"), default=-1) + 1
    body, after = run[:end], run[end:]
    calls = [row for row in body if row.command != "advance"]
    if len(calls) < (2 if len(calls) == len(body) else _ALIKE_WITH_ADVANCES):
        yield from run
        return
    yield _visits(calls) if calls[0].call is None else _polls(calls, len(body) - len(calls))
    yield from after


def _visits(rows: Sequence[Row]) -> Row:
    last = "" if rows[0].time == rows[-1].time else f", the last at {rows[-1].time}"
    return Row([f"  {rows[0].time}  end user: {len(rows)} visits of the hosted page{last}"], date=rows[0].date)


def _polls(rows: Sequence[Row], advances: int) -> Row:
    calls = [row.call for row in rows if row.call is not None]
    parts = [f"{len(calls)} times"]
    if rows[0].time != rows[-1].time:
        parts[0] += f", {rows[0].time} to {rows[-1].time}"
    if advances:
        parts.append(f"{advances} {'advance' if advances == 1 else 'advances'} of the clock between them")
    parts += _counters(calls[0], calls[-1])
    return Row([f"  {rows[0].time}  #{calls[0].n}-{format_line(calls[-1])}  ({'; '.join(parts)})"], date=rows[0].date)


def _counters(first: Call, last: Call) -> list[str]:
    """Return the range of the numbers in the responses."""
    if first.body_received == last.body_received:
        return []
    changed = json_differences("answer", first.body_received, last.body_received)
    return [f"{row.path.removeprefix('answer.')} {row.expected} to {row.actual}" for row in changed[:_COUNTERS_SHOWN]]


def truncate_middle(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the rows with their dates: all of a short timeline, else the first, the last, and those of pinned rows."""
    lines = [(text, row) for row in rows for text in row.lines]
    gap: list[tuple[str, str]] = []
    for place, (text, row) in enumerate(lines):
        if not (row.pinned or place < _HEAD or len(lines) - place <= _TAIL):
            gap.append((text, row.date))
            continue
        yield from gap if len(gap) < 2 else [(f"  ... {len(gap)} lines left out", "")]
        gap = []
        yield text, row.date


def dated(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield lines; if they are of several days, each day's date comes before its first line. A line without a date has ""."""
    lines = list(lines)
    dates = {date for _, date in lines if date}
    before = next(iter(dates)) if len(dates) == 1 else ""
    for text, date in lines:
        if date not in ("", before):
            before = date
            yield f"  {date}"
        yield text
