"""
Everything that happened in a sandbox, in its order: calls, commands of the test, and changes of records.

Rounds that repeat are shown once, with their number: equal polls, or polls with a command between them. Answers of two
rounds may differ in numbers alone, which count what is sent. A long history is cut in its middle, but for the calls that the
first lines of its report cite.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from mockserver._json import View
from mockserver.core.instants import from_datetime, parse, time_of_day
from mockserver.report.run import words
from mockserver.report.run.commands import format_command
from mockserver.report.run.exchanges import brief_json, format_body, format_line, json_differences, shorten
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import Call

_HEAD, _TAIL = 5, 30  # lines of a long history that are not cut
_ROUND_MAX: Final = 5  # rows of a round that repeats
_COUNTERS_SHOWN: Final = 3
_ANSWER_CHARS: Final = 10_000  # of an answer that is compared with another one
_NUMBERS: Final = re.compile(r"(?<![\w\"])-?\d+(?:\.\d+)?")

Kind = Literal["call", "step", "change"]
Place = tuple[int, int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    What happened at one moment.

    Attributes:
        kind: A call, a command of the test or the end user, or a change of a record.
        at: Its instant.
        lines: Its text, in one or more lines.
        key: Equal for rows that may be shown as one; empty for a row that is always shown.
        call: The call, if it is one.
        is_pinned: True for a row that is never cut.
    """

    kind: Kind
    at: str
    lines: Sequence[str]
    key: str = ""
    call: Call | None = None
    is_pinned: bool = False

    @property
    def time(self) -> str:
        """The time of day, with milliseconds if it has any."""
        return time_of_day(self.at)


def history_lines(snapshot: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[str]:
    """Yield the history as lines, in which the calls that are `cited` have their requests, and the `nearest` one all it has."""
    folds = folded(rows_of(snapshot, cited, nearest))
    return dated(_cut([(line, row) for row in folds for line in row.lines]))


def rows_of(snapshot: SandboxSnapshot, cited: Container[int] = (), nearest: int | None = None) -> list[Row]:
    """Return everything that happened, in its order."""
    placed = sorted(_placed(snapshot, cited, nearest), key=lambda pair: pair[0])
    return [row for _, row in placed]


def _placed(snapshot: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[tuple[Place, Row]]:
    """Yield calls, changes and commands, each with its place in the order: after which call, and after which change."""
    repeated = words.repetitions(snapshot.exchanges)
    for call in snapshot.exchanges:
        row = _call_row(call, call.n in cited, call.n == nearest)
        if call.n in repeated:
            note = f"                again     the same as #{repeated[call.n].n}: {words.BY_TRANSPORT}"
            row = replace(row, lines=[*row.lines, note], key="")
        yield (call.n, 0, 0), row
    for step in snapshot.steps:
        text = _step(step)
        is_repeatable = step["command"] in ("advance", "visit")
        line = f"  {time_of_day(step['at'])}  {text}"
        row = Row(kind="step", at=step["at"], lines=[line], key=text if is_repeatable else "")
        yield (step["exchanges"], 1, step["transitions"] + 0.5), row
    after = 0
    times = [from_datetime(call.at) for call in snapshot.exchanges]
    for change in snapshot.transitions:
        after = max(after, _call_before(snapshot, change, times))  # changes stay in their own order
        text = f"{words.change(change, snapshot.names)}{_by_other(snapshot, change)}"
        line = f"  {time_of_day(change['at'])}     {text}"
        yield (after, 1, change["n"]), Row(kind="change", at=change["at"], lines=[line])


def _call_before(snapshot: SandboxSnapshot, change: View, times: Sequence[int]) -> int:
    """Return the number of the call before a change: its cause, else the latest one by the clock or by a command; 0 for none."""
    if "exchange" in change["cause"]:
        number: int = change["cause"]["exchange"]
        return number
    at = parse(change["at"])
    calls = bisect_left(times, at[0]) if at is not None else 0
    steps = bisect_left(snapshot.steps, change["n"], key=lambda step: step["transitions"])
    by_time = snapshot.exchanges[calls - 1].n if calls else 0
    by_step = snapshot.steps[steps - 1]["exchanges"] if steps else 0
    return max(by_time, by_step)


def _call_row(call: Call, is_cited: bool, is_nearest: bool) -> Row:
    """Return a call: with an error, a fault or as the nearest one with its bodies, as a cited one with its request."""
    at = words.instant_of(call)
    lines = [f"  {time_of_day(at)}  {format_line(call)}"]
    is_plain = call.status is not None and call.status < 400 and not call.fault and not is_nearest
    body = format_body(call)
    if body is not None and (is_cited or not is_plain):
        lines.append(f"                sent      {shorten(body)}")
    if not is_plain and call.status is not None and call.body_received is not None:
        lines.append(f"                answered  {shorten(call.body_received)}")
    if not is_plain and call.reason:
        lines.append(f"                because   {shorten(call.reason)}")
    key = "" if is_nearest else _key(call)
    return Row(kind="call", at=at, lines=lines, key=key, call=call, is_pinned=is_cited or is_nearest)


def _key(call: Call) -> str:
    """Return what a call has in common with others that are shown as one: all but the numbers in the answer."""
    answer = _NUMBERS.sub("0", brief_json(call.body_received, _ANSWER_CHARS))
    request = (call.method, call.path, dict(call.query), call.body, call.status, call.fault, call.reason)
    return f"{request!r} {answer}"


def _step(step: View) -> str:
    """Return a command of the test, or what the end user did."""
    command, arguments = step["command"], step["arguments"]
    if command == "visit":
        return f"end user: {arguments['method']} of the hosted page"
    if command == "advance":  # a wait of the client is one too
        seconds = arguments.get("by")
        given = {"by": f"{seconds:g} s"} if isinstance(seconds, int | float) else arguments
        return f"clock: {format_command(command, given)}"
    if command != "call":
        return f"test: {format_command(command, arguments)}"
    waits = arguments["waits"]  # over a socket only the client has its timeout
    timeout = f"; its client waits {waits:g} s" if isinstance(waits, int | float) else ""
    return f"a rule delays {arguments['method']} {arguments['path']}{timeout}"


def _by_other(snapshot: SandboxSnapshot, change: View) -> str:
    """Return what other than a call has made a change."""
    if change["id"] in snapshot.lost and change["to"] == "delivered":
        return "  (lost by a rule, which the service does not notice)"
    return "" if "exchange" in change["cause"] else f"  ({words.cause(change)})"


def folded(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield rows; of rounds of equal rows the first one, then a row with the number of the others."""
    at = 0
    while at < len(rows):
        size, rounds = _rounds(rows, at)
        yield from rows[at : at + size]
        end = at + size * rounds
        if rounds > 1:
            yield _again(rows[at : at + size], rows[end - size : end], rounds - 1)
        at = end


def _rounds(rows: Sequence[Row], at: int) -> tuple[int, int]:
    """Return the size of the shortest round that repeats from a place on, and how often it is there; else a round of one row."""
    for size in range(1, _ROUND_MAX + 1):
        first = rows[at : at + size]
        if not all(row.key for row in first) or all(row.key.startswith("clock: ") for row in first):
            break
        rounds = 1
        while _keys(first) == _keys(rows[at + size * rounds : at + size * (rounds + 1)]):
            rounds += 1
        if rounds > (1 if size == 1 else 2):
            return size, rounds
    return 1, 1


def _keys(rows: Iterable[Row]) -> list[str]:
    return [row.key for row in rows]


def _again(first: Sequence[Row], last: Sequence[Row], times: int) -> Row:
    """Return the row about rounds that are equal to the first one."""
    what = "the same" if len(first) == 1 else f"these {len(first)} lines"
    calls = [(one.call, other.call) for one, other in zip(first, last, strict=True) if one.call and other.call]
    until = f", until #{calls[-1][1].n} at {last[-1].time}" if calls else f", until {last[-1].time}"
    counters = [text for one, other in calls for text in _counters(one, other)]
    text = "; ".join([f"{what} {times} time{'s' if times > 1 else ''} more{until}", *counters[:_COUNTERS_SHOWN]])
    return Row(kind=first[-1].kind, at=first[-1].at, lines=[f"  ... {text}"])


def _counters(first: Call, last: Call) -> list[str]:
    """Return the numbers that differ between the answers of two equal calls."""
    if first.body_received == last.body_received:
        return []
    changed = json_differences("answer", first.body_received, last.body_received)
    return [f"{row.path.removeprefix('answer.')} {row.expected} to {row.actual}" for row in changed]


def _cut(lines: Sequence[tuple[str, Row]]) -> Iterator[tuple[str, str]]:
    """Yield lines with their dates: all of a short history, else the first, the last, and those of pinned rows."""
    gap: list[tuple[str, str]] = []
    for place, (text, row) in enumerate(lines):
        date = row.at[:10]
        if not (row.is_pinned or place < _HEAD or len(lines) - place <= _TAIL):
            gap.append((text, date))
            continue
        yield from gap if len(gap) < 2 else [(f"  ... {len(gap)} lines left out", "")]
        gap = []
        yield text, date


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
