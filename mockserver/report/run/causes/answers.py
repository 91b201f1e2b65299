"""What the client made of its answers, where each call succeeded: what it sent in vain, or did not look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockserver._json import View
from mockserver.contract import schemas
from mockserver.contract.durations import duration_text
from mockserver.contract.endpoints import ENDPOINTS, is_creation_of, is_read_of
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import from_datetime, parse
from mockserver.report.problem import Problem
from mockserver.report.run import words
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import Call

_ENDED_EARLY: Final = ("canceled", "failed")
_NAME_CHARS: Final = 40


def ignored_name(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the latest call with a key or a query parameter that its operation does not have."""
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
                yield Problem(
                    headline=f"the {kind} {name[:_NAME_CHARS]!r} of {call.operation} is ignored{hint}",
                    calls=[words.call_line(call)],
                )
                return


def changed_since(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the last change of the record that the latest call concerns, if no call made it or another one ended it early."""
    last = snapshot.exchanges[-1]
    changes = [change for change in snapshot.transitions if change["id"] in last.path.split("/")]
    if not changes or "given" in changes[-1]["cause"] or _is_expected(changes[-1], last):
        return
    change = changes[-1]
    headline = f"{words.change(change, snapshot.names)} at {change['at']}"
    if "exchange" not in change["cause"]:
        unread = _is_unread(change, last)
        since = f", after #{last.n} and no call has read it since" if unread else ""
        yield Problem(headline=f"{headline}, {words.cause(change)}{since}", ids=[change["id"]])
        return
    by_call = next((call for call in snapshot.exchanges if call.n == change["cause"]["exchange"]), None)
    if by_call is not None and by_call is not last and change["to"] in _ENDED_EARLY:
        yield Problem(headline=f"{headline}, by #{by_call.n}", calls=[words.call_line(by_call)], ids=[change["id"]])


def _is_expected(change: View, last: Call) -> bool:
    """Return True for an end by the clock that the latest call has read."""
    body = last.body_received
    is_shown = isinstance(body, Mapping) and body.get("status") == change["to"]
    return is_shown and change["kind"] in ("campaign", "execution") and "timer" in change["cause"]


def _is_unread(change: View, last: Call) -> bool:
    at, body = parse(change["at"]), last.body_received
    is_later = at is not None and at[0] > from_datetime(last.at)
    return is_later or (isinstance(body, Mapping) and body.get("status") == change["from"])


def audience(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the audience of the execution that the latest call has read, if filters chose it or it is empty."""
    last = snapshot.exchanges[-1]
    execution = last.body_received if is_read_of(last.operation, "execution") else newest_execution(last.body_received)
    if not isinstance(execution, Mapping) or not isinstance(execution.get("targetCount"), int):
        return
    campaign_id = last.path.split("/")[3]
    name, count = snapshot.names.get(campaign_id, campaign_id), execution["targetCount"]
    created = [call for call in snapshot.exchanges if _has_created(call, campaign_id)]
    bodies = [call.body for call in created]
    filters = bodies[0].get("filters") if bodies else None
    if count and filters:
        yield Problem(
            headline=f"the audience of {name} is {words.counted(count, 'chat')}, by its filters {shorten(filters)}"
        )
    elif not count:
        yield Problem(headline=f"the audience of {name} is empty: {_why_empty(bool(bodies), filters)}")


def _has_created(call: Call, campaign_id: str) -> bool:
    answer = call.body_received
    is_answer = is_creation_of(call.operation, "campaign") and isinstance(answer, Mapping)
    return is_answer and answer.get("campaignId") == campaign_id


def _why_empty(is_known: bool, filters: object) -> str:
    if not is_known:  # of seed data: what its filters are, no call shows
        return "no chat matched it at the start"
    return f"no chat matches its filters {shorten(filters)}" if filters else "the tenant has no chat"


def sends(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield how far the sends of the campaign were that the latest call has read; its answer is shown shortened."""
    last = snapshot.exchanges[-1]
    if is_read_of(last.operation, "campaign") and isinstance(last.body_received, Mapping):
        progress = _progress(snapshot, last)
        if progress:
            campaign_id = last.path.split("/")[3]
            yield Problem(headline=f"{snapshot.names.get(campaign_id, campaign_id)}: {progress}")


def last_answer(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield how often each operation was called, and what the latest call sent and got, of a failed test."""
    if failure is None:
        return
    last = snapshot.exchanges[-1]
    counts = Counter(call.operation or call.path for call in snapshot.exchanges)
    called = [f"{name} ×{count}" if count > 1 else name for name, count in counts.items()]
    body = last.body_received
    sent = [f"sent {shorten(last.body)}"] if last.body not in (None, "", {}) else []
    answered = "answered with an empty body" if body is None else f"answered {shorten(body)}"
    yield Problem(
        headline=f"the calls were {words.listed(called)}; the last, #{last.n}",
        got=[*sent, answered],
    )


def _progress(snapshot: SandboxSnapshot, last: Call) -> str:
    """Return the progress that the detail of a campaign shows; empty if it shows none."""
    body, execution = last.body_received, newest_execution(last.body_received)
    if body.get("status") == "draft":
        return f"a draft, which was never started{_started(snapshot)}"
    started, ended = parse(str(execution.get("startedAt"))), parse(str(execution.get("completedAt")))
    if started is None or not execution.get("targetCount") or not isinstance(body.get("cadence"), int):
        return ""  # of an empty audience `audience` says more
    span = (from_datetime(last.at) if ended is None else ended[0]) - started[0]
    when = "" if ended is None else f", when it was {execution.get('status')}"
    sent, failed, target = (execution.get(key) for key in ("sentCount", "failedCount", "targetCount"))
    counts = f"{sent} of {target} messages sent, {failed} failed"
    return f"{counts}, at a cadence of {body['cadence']} per minute, {duration_text(span)} after the start{when}"


def _started(snapshot: SandboxSnapshot) -> str:
    """Return the names of the campaigns that were started; empty if none was."""
    begun = [row["id"] for row in snapshot.transitions if row["kind"] == "execution" and row["from"] is None]
    names = dict.fromkeys(snapshot.names.get(id, id) for id in begun)
    return f"; what was started is {words.listed(names)}" if names else ""


def newest_execution(body: Any) -> View:
    """Return the latest execution of a campaign that a call has read; empty for any other answer."""
    executions = body.get("executions") if isinstance(body, Mapping) else None
    newest = executions[0] if isinstance(executions, list) and executions else None
    return newest if isinstance(newest, Mapping) else {}
