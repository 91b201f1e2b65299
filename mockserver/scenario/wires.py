"""The wire effects of a rule, read into one record; which of them go together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import of_group
from mockserver.core.instants import DAY
from mockserver.core.redaction import spelled
from mockserver.core.rules import Latency, Wire
from mockserver.scenario.problems import Problem, step

_DURATION = "a duration such as 20m, 1h30m, 3500ms, PT20M or seconds, never negative"
_LONGEST_WAIT = 366 * DAY  # a client that waits longer has no clock left to tell it by
_LENGTH = re.compile("[0-9]{1,15}")  # RFC 9110 8.6: digits alone
# RFC 9110 7.6.1: of one connection, not of an answer; the server itself says how an answer is framed.
_OF_THE_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
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
    _check_headers(effects.get("reply", {}).get("headers", {}), f"{path}/reply/headers", problems)
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
        spread=wait(dribble["over"], f"{path}/dribble/over", problems) if dribble else 0,
        stale="stale" in effects,
    )


def _check_headers(headers: Mapping[str, str], path: str, problems: list[Problem]) -> None:
    """A header that would break the framing of the answer is refused; the effects on the wire bend that."""
    lengths = [name for name in headers if name.lower() == "content-length"]
    for name in headers:
        if name.lower() in _OF_THE_CONNECTION:
            wanted = (
                "no header of the connection: the server frames the answer; drop, reset, truncate and dribble bend it"
            )
            problems.append(Problem(path + step(name), f"the header {spelled(name)}", wanted))
    for name in lengths[1:]:
        problems.append(
            Problem(path + step(name), f"the header {spelled(name)}", f"one Content-Length; {lengths[0]} is another")
        )
    for name in lengths[:1]:
        if not _LENGTH.fullmatch(headers[name]):
            problems.append(
                Problem(path + step(name), spelled(headers[name]), "a length of 1 to 15 digits, such as 512")
            )


def _timed(error: Mapping[str, Any]) -> tuple[str, int | None]:
    return error["code"], error.get("retryAfter")


def _wait(written: Any, path: str, problems: list[Problem]) -> int | Latency:
    if not isinstance(written, Mapping):
        return wait(written, path, problems)
    median = wait(written["median"], f"{path}/median", problems)
    p99 = wait(written.get("p99", written["median"]), f"{path}/p99", problems)
    most = wait(written.get("max", max(p99, median) / 1_000_000 * 10), f"{path}/max", problems)
    if not 0 < median <= p99:
        problems.append(Problem(path, spelled(written), "a median above zero and a p99 that is not below it"))
    return Latency(median, p99, most)


def wait(written: object, path: str, problems: list[Problem]) -> int:
    """A length of time that something waits, in microseconds; collects what is none, or too long."""
    span = parse_duration(written)
    if span is None:
        problems.append(Problem(path, spelled(written), _DURATION))
    elif span > _LONGEST_WAIT:
        problems.append(Problem(path, spelled(written), "a wait of at most 366 days"))
    return span or 0
