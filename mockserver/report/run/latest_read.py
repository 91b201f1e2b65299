"""
Lines of a report about the latest call, where every call succeeded: what the client read, and what it made of that.

The record that the call read may have changed since, or without a call of the client; the answer may have another shape
than the client expects; an audience may be smaller than the test expects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from mockserver._json import View
from mockserver.contract import schemas
from mockserver.contract.durations import duration_text
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import MILLISECOND, Duration, Instant, from_datetime, parse
from mockserver.report.run.exchanges import Exchange, format_line, shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.rules import format_change
from mockserver.report.run.snapshot import SandboxSnapshot

_ENDED_EARLY = ("canceled", "failed")
_OF_VALUES = ("TypeError", "KeyError", "AttributeError", "IndexError", "ValueError")
# What a client makes of no answer: code, a class, and the objects of a test.
_NO_ANSWERS = r"module |type object |'(?:\w*function\w*|\w*method\w*|Sandbox|RuleBuilder)' object"
_DEPTH_MAX = 4  # of an answer whose members are searched for a key
_NAMED_MAX = 5
_NAME_CHARS = 40
_READS_MIN = 3  # of a client that reads on


def is_misread(failure: Failure | None) -> bool:
    """Return True for an exception about the value or the shape of what the client has, which no wait would change."""
    return failure is not None and failure.raised is not None and failure.raised.startswith(_OF_VALUES)


def shape_misread(snapshot: SandboxSnapshot, failure: Failure | None) -> list[str]:
    """Return the line about an answer that has another shape than the client reads in it, by the client's exception."""
    last = snapshot.exchanges[-1]
    raised, body = failure.raised if failure is not None else None, last.body_received
    if raised is None or not isinstance(body, Mapping | list):
        return []
    for pattern, shape in _SHAPES:
        if match := pattern.match(raised):
            text = shape(match[match.lastindex or 0], body)
            return [f"the answer of #{last.n} {text}"] if text else []
    return []


def _null_members(_raised: str, body: Any) -> str:
    null = [path for path, value in dict(_members(body)).items() if value is None]
    return f"has null for {_listed(null)}" if null else ""


def _missing_member(name: str, body: Any) -> str:
    """Return that the answer lacks a member, or has it at another place."""
    members = dict(_members(body))
    if name in members:
        return ""  # another object lacks it
    elsewhere = [path for path in members if re.split(r"\W+", path)[-1] == name]
    if elsewhere:
        return f"has {name!r} only as {elsewhere[0]}"
    names = dict.fromkeys(re.split(r"\W+", path)[-1] for path in members)
    hint = closest_match_hint(name, names) or f"; it has {_listed([path for path in members if '.' not in path])}"
    return f"has no {name!r}{hint}"


def _kind(_raised: str, body: Any) -> str:
    return (
        f"is a list of {len(body)}" if isinstance(body, list) else f"is an object with {', '.join(body) or 'no member'}"
    )


def _empty_lists(_raised: str, body: Any) -> str:
    empty = [path for path, value in dict(_members(body)).items() if value == []]
    return f"has an empty list for {_listed(empty)}" if empty else ""


# What an exception of the client shows of the answer that it read; the first row that fits counts.
_SHAPES: Final[tuple[tuple[re.Pattern[str], Callable[[str, Any], str]], ...]] = (
    (re.compile(r"[\s\S]*'NoneType' object"), _null_members),
    (re.compile(r"KeyError: '([^']+)'"), _missing_member),
    (re.compile(rf"AttributeError: (?!{_NO_ANSWERS}).* has no attribute '([^']+)'"), _missing_member),
    (
        re.compile(r"TypeError: (?:string|list|tuple) indices must be integers|TypeError: .* object is not iterable"),
        _kind,
    ),
    (re.compile(r"IndexError:|StopIteration|ValueError: not enough values"), _empty_lists),
)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED_MAX]) + (" ..." if len(names) > _NAMED_MAX else "")


def _members(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the members of an answer by their path; of a list those of its first element."""
    if isinstance(value, Mapping) and depth < _DEPTH_MAX:
        for name, member in value.items():
            yield f"{path}.{name}".lstrip("."), member
            yield from _members(member, f"{path}.{name}", depth + 1)
    elif isinstance(value, list) and value:
        yield from _members(value[0], f"{path}[0]", depth + 1)


def changed_by_others(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about the last change of the record that the latest call concerns, unless that call made it."""
    last = snapshot.exchanges[-1]
    changes = [change for change in snapshot.transitions if change["id"] in last.path.split("/")]
    if not changes:
        return []
    change, cause, body = changes[-1], changes[-1]["cause"], last.body_received
    is_shown = isinstance(body, Mapping) and body.get("status") == change["to"]
    if "given" in cause or (
        is_shown and change["kind"] in ("campaign", "execution") and "timer" in cause
    ):  # nothing unexpected
        return _kept_reading(snapshot, change)
    by_call = next((call for call in snapshot.exchanges if call.n == cause.get("exchange")), None)
    if "exchange" not in cause:
        why = ", ".join(f"{key} {value}" for key, value in cause.items())
        at = parse(change["at"])
        is_later = at is not None and at[0] > from_datetime(last.at)
        since = (
            f", after #{last.n} and no call has read it since"
            if is_later or (isinstance(body, Mapping) and body.get("status") == change["from"])
            else ""
        )
        return [f"{change['kind']} {change['id']} changed to {change['to']} at {change['at']} ({why}){since}"]
    if by_call is None or by_call is last or change["to"] not in _ENDED_EARLY:
        return []
    return [f"{format_change(change)} by {format_line(by_call)}"]


def _kept_reading(snapshot: SandboxSnapshot, change: View) -> list[str]:
    """Return the line about the reads at the end of a run that all have returned the final status of a change."""
    last, reads, status = snapshot.exchanges[-1], 0, change["to"]
    for call in reversed(snapshot.exchanges):
        body = call.body_received
        if call.path != last.path or not isinstance(body, Mapping) or body.get("status") != status:
            break
        reads += 1
    if reads < _READS_MIN or status not in LIFECYCLES[change["kind"]].final:
        return []
    return [
        f"#{last.n - reads + 1} to #{last.n} have returned the status {status}, which is final, and the client read on"
    ]


def ignored_name(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about the latest call with a key or a query parameter that its operation does not have."""
    for call in reversed(snapshot.exchanges):
        row = ENDPOINTS.get(call.operation or "")
        if row is None or call.status is None or call.status >= 400:
            continue
        names = [("query parameter", name, row.query) for name in call.query]
        if row.request_schema is not None and isinstance(call.body, Mapping):
            known = tuple(schemas.load(row.request_schema)["properties"])
            names += [("key", name, known) for name in call.body]
        for kind, name, known in names:
            if name not in known:
                hint = closest_match_hint(name, known) or f"; it takes {', '.join(known) or 'none'}"
                return [f"#{call.n} {call.operation} sent the {kind} {name[:_NAME_CHARS]!r}, which is ignored{hint}"]
    return []


def audience(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about the audience of the execution that the latest call has read, if filters chose it or it is empty."""
    last = snapshot.exchanges[-1]
    execution = last.body_received if last.operation == "readExecution" else newest_execution(last.body_received)
    if not isinstance(execution, Mapping) or not isinstance(execution.get("targetCount"), int):
        return []
    count, id_ = execution["targetCount"], execution["id"]
    created = [call for call in snapshot.exchanges if call.operation == "createCampaign" and call.status == 201]
    bodies = [call.body for call in created if call.body_received["campaignId"] == last.path.split("/")[3]]
    filters = bodies[0].get("filters") if bodies else None
    if count:
        chats = "1 chat" if count == 1 else f"{count} chats"
        return [f"the audience of {id_} is {chats}, by the filters {shorten(filters)}"] if filters else []
    if not bodies:  # of seed data: what its filters are, no call shows
        because = "none matched its campaign at the start"
    elif filters:
        because = f"none matches the filters of its campaign, {shorten(filters)}"
    else:
        because = "the tenant has none"
    return [f"{id_} has no chat: {because}"]


def send_progress(snapshot: SandboxSnapshot) -> list[str]:
    """Return the progress of the campaign or execution that the latest call has read; its answer is shown shortened."""
    last = snapshot.exchanges[-1]
    body, execution = last.body_received, newest_execution(last.body_received)
    if last.operation == "readExecution" and isinstance(body, Mapping):
        sent, failed, target = (body.get(key) for key in ("sentCount", "failedCount", "targetCount"))
        is_whole = body.get("status") == "processing" or sent == target
        return [] if is_whole else [f"  {body.get('id')} had {sent} sent and {failed} failed of {target}"]
    started = parse(execution["startedAt"]) if isinstance(execution.get("startedAt"), str) else None
    if started is None or not isinstance(body.get("cadence"), int):
        return []
    if execution.get("status") == "processing":
        counts = _format_counts(execution, from_datetime(last.at) - _exact_start(snapshot, execution, started[0]))
        return [f"  {counts}, at a cadence of {body['cadence']} per minute; the first is sent at the start"]
    ended = parse(execution["completedAt"]) if isinstance(execution.get("completedAt"), str) else None
    if ended is None:
        return []
    return [f"  {_format_counts(execution, ended[0] - started[0])}, when it was {execution.get('status')}"]


def _exact_start(snapshot: SandboxSnapshot, execution: View, shown: Instant) -> Instant:
    """Return the instant at which an execution began; an answer shows it cut to the millisecond."""
    begun = (parse(change["at"]) for change in snapshot.transitions if change["id"] == execution.get("id"))
    first = next(begun, None)
    return first[0] if first is not None and first[0] // MILLISECOND * MILLISECOND == shown else shown


def newest_execution(body: Any) -> View:
    """Return the latest execution of a campaign that a call has read; empty for any other answer."""
    executions = body.get("executions") if isinstance(body, Mapping) else None
    newest = executions[0] if isinstance(executions, list) and executions else None
    return newest if isinstance(newest, Mapping) else {}


def _format_counts(execution: View, since_start: Duration) -> str:
    sent, failed, target = (execution.get(key) for key in ("sentCount", "failedCount", "targetCount"))
    after = duration_text(since_start)
    return f"{execution.get('id')} had {sent} sent and {failed} failed of {target}, {after} after its start"


def page_hints(last: Exchange[Any, Any]) -> list[str]:
    """Return the line about an answer that is one page of several, or that begins with the newest."""
    body = last.body_received
    if isinstance(body, Mapping) and body.get("nextCursor"):
        return [f"the answer of #{last.n} has a nextCursor, so this may not be the last page"]
    records = body.get("records") if isinstance(body, Mapping) else None
    is_list = last.operation == "listMessages" and isinstance(records, list) and len(records) > 1
    return [f"the answer of #{last.n} begins with the newest message"] if is_list else []


def bodies(last: Exchange[Any, Any]) -> list[str]:
    """Return what the latest call sent, if it has a body, and its response."""
    sent = [f"  sent {shorten(last.body)}"] if last.body not in (None, "", {}) else []
    body = last.body_received
    return [*sent, "  answered with an empty body" if body is None else f"  answered {shorten(body)}"]
