"""The wire effects of a rule, read into one record; which of them go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import of_group
from mockserver.core.instants import DAY
from mockserver.core.redaction import spelled
from mockserver.core.rules import Latency, Wire
from mockserver.scenario.documents import Problem

_DURATION = "a duration such as 20m, 1h30m, 3500ms, PT20M or seconds, never negative"
_LONGEST_WAIT = 366 * DAY  # a client that waits longer has no clock left to tell it by
# Of each group only one can hold; waits go with everything.
_EXCLUSIVE = (("error", "reply", "stale"), ("drop", "reset", "truncate", "dribble"), ("error", "reply", "garble"))


def wire_of(effects: Mapping[str, Any], path: str, problems: list[Problem]) -> Wire | None:
    """The wire effects as one record, None where there are none; collects what is wrong."""
    if not any(name in effects for name in of_group("wire")):
        return None
    for group in _EXCLUSIVE:
        given = [name for name in group if name in effects]
        if len(given) > 1:
            problems.append(Problem(path, ", ".join(given), f"one of {', '.join(group)}"))
    error, reply, dribble = effects.get("error"), effects.get("reply"), effects.get("dribble")
    ends = next((name for name in ("drop", "reset") if name in effects), None)
    return Wire(
        error=None if error is None else (error, None) if isinstance(error, str) else _timed(error),
        reply=None if reply is None else (reply["status"], reply.get("headers", {}), reply.get("body")),
        before=_wait(effects.get("delay", 0), f"{path}/delay", problems),
        after=_wait(effects.get("delay-after", 0), f"{path}/delay-after", problems),
        ends=ends,
        early=ends is not None and effects[ends] == "before",
        cut_bytes=effects.get("truncate"),
        garbled="garble" in effects,
        pieces=dribble["chunks"] if dribble else 0,
        spread=_span(dribble["over"], f"{path}/dribble/over", problems) if dribble else 0,
        stale="stale" in effects,
    )


def _timed(error: Mapping[str, Any]) -> tuple[str, int | None]:
    return error["code"], error.get("retryAfter")


def _wait(written: Any, path: str, problems: list[Problem]) -> int | Latency:
    if not isinstance(written, Mapping):
        return _span(written, path, problems)
    median = _span(written["median"], f"{path}/median", problems)
    p99 = _span(written.get("p99", written["median"]), f"{path}/p99", problems)
    most = _span(written.get("max", max(p99, median) / 1_000_000 * 10), f"{path}/max", problems)
    if not 0 < median <= p99:
        problems.append(Problem(path, spelled(written), "a median above zero and a p99 that is not below it"))
    return Latency(median, p99, most)


def _span(written: object, path: str, problems: list[Problem]) -> int:
    span = parse_duration(written)
    if span is None:
        problems.append(Problem(path, spelled(written), _DURATION))
    elif span > _LONGEST_WAIT:
        problems.append(Problem(path, spelled(written), "a wait of at most 366 days"))
    return span or 0
