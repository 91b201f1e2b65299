"""The words that reports have for what the views of a sandbox name by ids: records, changes, timers, calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from mockserver._json import View
from mockserver.contract.text import printable
from mockserver.core.instants import format_exact, from_datetime
from mockserver.judge.client.evidence import REPEATS_POSTS
from mockserver.report.problem import CallLine
from mockserver.report.run.exchanges import Exchange, format_line

Call = Exchange
Names = Mapping[str, str]

# What is due; the record's name follows.
TIMERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "execution.finish": "the last message of",
        "execution.settle": "the last queued message of",
        "execution.drain": "the last message of",
        "execution.sent": "sends that a rule waits for:",
        "session.expire": "the expiry of",
        "delivery.wake": "the next attempt of",
        "rule.fire": "a rule:",
        "call.arrive": "the arrival of",
    }
)
_CAUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "timer": "by the clock",
        "forced": "by the test",
        "page": "on the hosted page",
        "given": "as seed data",
        "script": "by a rule",
        "webhook": "as its endpoint is disabled",
    }
)
_NAMED: Final = ("campaigns", "templates", "entrypoints", "media")
_A_CALL: Final = "a delayed call"  # which has no number before it arrives
_ID: Final = re.compile(r"\b\w+_\w+\b")
VARYING: Final = re.compile(r"\w*\d\w*")  # ids and numbers in texts that are alike
_NUMBER: Final = re.compile(r"^#[0-9]+ ")
BY_TRANSPORT: Final = (
    "repeated by the transport, if your code repeats nothing; `Connection: close` or CURLOPT_FORBID_REUSE stops it"
)


def names_of(state: View, events: Iterable[View]) -> dict[str, str]:
    """
    Return the names of the records by their ids: of an execution that of its campaign, of an endpoint its address.

    Args:
        state: As the control plane answers.
        events: Likewise; a delivery is named by its event and its endpoint.
    """
    names: dict[str, str] = {}
    for tenant in state["tenants"]:
        for table in _NAMED:
            names |= {record["id"]: printable(record["name"]) for record in tenant[table] if record.get("name")}
        for execution in tenant["executions"]:
            names[execution["id"]] = names.get(execution["campaignId"], execution["campaignId"])
        names |= {webhook["id"]: webhook["url"] for webhook in tenant["webhooks"]}
        for number, session in enumerate(tenant["sessions"], start=1):
            others = len(tenant["sessions"]) > 1
            names[session["id"]] = f"connection session {number}" if others else "the connection session"
    kinds = {event["id"]: event["event"] for event in events}
    names |= kinds
    for delivery in state["deliveries"]:
        endpoint = delivery["endpoint"]
        names[delivery["id"]] = f"{kinds.get(delivery['eventId'], 'an event')} to {names.get(endpoint, endpoint)}"
    return names


def named(text: str, names: Names) -> str:
    """Return a text with the names of the records in place of their ids."""
    return _ID.sub(lambda id: names.get(id[0], id[0]), text)


def timer(what: str, id: str, names: Names) -> str:
    """Return what is due, with the name of its record."""
    return f"{TIMERS.get(what, what)} {names.get(id, _A_CALL if what == 'call.arrive' else id)}"


def change(row: View, names: Names) -> str:
    """Return a change of a record's state."""
    former = f"{row['from']} -> " if row["from"] else ""
    kind = "" if row["kind"] == "session" else f"{row['kind']} "  # the name of a session says it
    return f"{kind}{names.get(row['id'], row['id'])}: {former}{row['to']}"


def cause(row: View) -> str:
    """Return what has changed a record."""
    parts = []
    for name, value in row["cause"].items():
        if name == "beforeAnswer":
            parts.append(f"before the answer to #{value}")
        elif name == "exchange":
            parts.append(f"by call #{value}")
        elif name in ("rule", "event"):
            parts.append(f"by {value}")
        else:
            parts.append(_CAUSES.get(name, f"by {name} {value}"))
    return ", ".join(parts)


def call_line(call: Call) -> CallLine:
    """Return a call as the line of a problem."""
    text, _, result = _NUMBER.sub("", format_line(call)).rpartition(" -> ")
    return CallLine(number=call.n, text=text, result=result)


def lines_of(calls: Iterable[Call], numbers: Iterable[int]) -> list[CallLine]:
    """Return those of the calls that have these numbers as lines, in their order."""
    wanted = set(numbers)
    return [call_line(call) for call in calls if call.n in wanted]


def has_succeeded(call: Call) -> bool:
    """Return True if the client has received a success."""
    return call.status is not None and call.status < 400


def survived(calls: Sequence[Call]) -> frozenset[int]:
    """Return the numbers of the calls without a success that the client has sent again, and that succeeded then."""
    failed: dict[tuple[str, str], list[Call]] = {}
    again: set[int] = set()
    for call in calls:
        key = call.method, call.path
        if not has_succeeded(call):
            failed.setdefault(key, []).append(call)
        elif key in failed:
            again |= {former.n for former in failed[key] if former.body == call.body and former.query == call.query}
    return frozenset(again)


def repetitions(calls: Sequence[Call]) -> dict[int, Call]:
    """Return each call without an answer that a transport which repeats may have sent again, with equal headers, by the number of the next."""
    unanswered = {call.n: call for call in calls if call.status is None}
    found = {}
    for again in calls:
        call = unanswered.get(again.n - 1)
        agent = again.headers.get("user-agent", "").lower()
        # libcurl by itself sends no agent; a call in process, which no transport repeats, has no host either.
        may_repeat = agent.startswith(REPEATS_POSTS) or (not agent and "host" in again.headers)
        if call is not None and may_repeat and _request(call) == _request(again):
            found[again.n] = call
    return found


def repeated(calls: Sequence[Call], numbers: Iterable[int]) -> str:
    """Return which of these calls repeat one without an answer, with the remedy; empty if none does."""
    found = repetitions(calls)
    pairs = [f"#{n} is #{found[n].n} again" for n in numbers if n in found]
    return f"{listed(pairs, most=3)}: {BY_TRANSPORT}" if pairs else ""


def _request(call: Call) -> tuple[object, ...]:
    return (call.method, call.path, call.query, call.headers, call.body)


def instant_of(call: Call) -> str:
    """Return when a call was handled."""
    return format_exact(from_datetime(call.at))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 call`, `2 calls`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return names in one line; of many the first ones."""
    rows = list(names)
    return ", ".join(rows[:most]) + (" ..." if len(rows) > most else "")
