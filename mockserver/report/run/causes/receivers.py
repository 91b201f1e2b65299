"""Receivers of webhooks: what raised, refused or took none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from mockserver._json import View
from mockserver.contract.effects import FORGERIES
from mockserver.core.state.outbox import RECEIVER_RAISED
from mockserver.core.webhooks.deliveries import LOST
from mockserver.judge.client.receivers import BY_AGE, REFUSALS
from mockserver.report.problem import ADVANCE, Action, Problem
from mockserver.report.run import words
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot

_ROUTE_ADVICE: Final = 'the route of an application is the `path` of `receive_webhooks(app, path="/...")`'
_AGE_ADVICE: Final = (
    "a receiver that compares the timestamp with the sandbox's clock needs the choice `wh-timestamp: sandbox-clock`, "
    "under which a wrong secret is a finding"
)
_OPEN: Final = frozenset(("due", "waiting"))
_NO_ROUTE: Final = (404, 405)
_UNKNOWN_KIND: Final = "unknown-kind"
_EXTRA: Final = {"duplicate": "a duplicate", _UNKNOWN_KIND: "an event of an unknown kind"}


class Attempted(NamedTuple):
    """One delivery of an event to an endpoint."""

    event: View
    delivery: View

    @property
    def genuine(self) -> Sequence[View]:
        """The attempts that no rule has added."""
        return [attempt for attempt in self.delivery["attempts"] if extra(attempt) is None]

    @property
    def status(self) -> str:
        """The status of the delivery; `not delivered` for one whose request a rule has lost, which the service does not notice."""
        is_lost = bool(self.genuine) and self.genuine[-1].get("error") == LOST
        return "not delivered" if is_lost else str(self.delivery["status"])


def extra(attempt: View) -> str | None:
    """Return the text about a request that a rule has sent in addition to the event; None for the genuine request."""
    fault = attempt.get("fault")
    if is_forged(attempt):
        return f"a forged request ({fault})"
    return None if fault is None else _EXTRA.get(fault, fault)


def is_forged(attempt: View) -> bool:
    """Return True for a request that a receiver has to refuse."""
    return attempt.get("fault") in FORGERIES


def attempts(snapshot_events: Iterable[View]) -> Iterator[View]:
    """Yield each request of each delivery, those that a rule has added included."""
    for each in _attempted(snapshot_events):
        yield from each.delivery["attempts"]


def receiver_exceptions(snapshot_events: Iterable[View]) -> list[str]:
    """Return the exceptions of receivers of the test, which are only a 500 to the service; not those of forged requests."""
    return [
        f"{attempt['error']} on {extra(attempt) or each.event['event']}"
        for each in _attempted(snapshot_events)
        for attempt in each.delivery["attempts"]
        if _has_raised(attempt)
    ]


def raised(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the first receiver that raised."""
    for each in _attempted(snapshot.events):
        for attempt in filter(_has_raised, each.delivery["attempts"]):
            what = extra(attempt) or each.event["event"]
            yield Problem(
                headline=f"{attempt['error']} on {what}",
                rank="cause",
                got=[_content(each.event)],
                ids=[each.event["id"], each.delivery["endpoint"]],
            )
            return


def refusing(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the endpoints that have refused an event, by their latest answer to the genuine request."""
    is_by_age = any(each.why == BY_AGE for each in snapshot.not_assessed)
    refused: dict[tuple[str, object], list[Attempted]] = {}
    taken = Counter(each.delivery["endpoint"] for each in _attempted(snapshot.events) if _is_taken(each))
    for each in _attempted(snapshot.events):
        last = each.genuine[-1] if each.genuine else {}
        has_failed = last.get("error") is not None or last.get("status", 0) >= 300
        if has_failed and not _has_raised(last):
            refused.setdefault((each.delivery["endpoint"], last.get("status")), []).append(each)
    for (endpoint, status), rows in refused.items():
        last = rows[-1].genuine[-1]
        error = f": {last['error']}" if last.get("error") else ""
        times = f", and to {len(rows) - 1} more" if len(rows) > 1 else ""
        did = "gave no answer to" if status is None else f"answered {status} to"
        if last.get("error") == LOST:
            did = "did not get"
        yield Problem(
            headline=f"{_url(snapshot, endpoint)} {did} {rows[-1].event['event']}{times}{error}",
            rank="refusal",
            got=_fate(rows),
            advice=_refusal_advice(status, taken[endpoint], is_by_age),
            actions=_recovery(snapshot, rows),
            ids=[rows[-1].event["id"], endpoint],
        )


def _fate(rows: Sequence[Attempted]) -> list[str]:
    """Return how many attempts were made, and what has become of the deliveries."""
    attempts = sum(len(row.genuine) for row in rows)
    statuses = Counter(row.status for row in rows)
    states = ", ".join(f"{count} {status}" for status, count in statuses.items())
    return [f"{words.counted(attempts, 'attempt')}; of the deliveries {states}"]


def _recovery(snapshot: SandboxSnapshot, rows: Sequence[Attempted]) -> list[Action]:
    """Return what has an endpoint get its events: the next attempt, or all again that were abandoned."""
    statuses = {row.delivery["status"] for row in rows}
    endpoint, timer, actions = rows[-1].delivery["endpoint"], snapshot.next_timer, []
    if timer is not None and timer["what"] == "delivery.wake" and statuses & _OPEN:
        body = {"to": timer["at"]}
        actions.append(Action(label="advance to the next attempt", method="POST", path=ADVANCE, body=body))
    if "abandoned" in statuses:
        actions.append(Action(label="resend to this one", method="POST", path=f"_mock/webhooks/{endpoint}/recover"))
    return actions


def _refusal_advice(status: object, taken: int, is_by_age: bool) -> str:
    if status in _NO_ROUTE:
        return _ROUTE_ADVICE
    if status not in REFUSALS:
        return ""
    if taken:
        return f"it took {taken} other{'s' if taken > 1 else ''}, so its secret is right; the signature is that of the raw bytes of the body"
    return _AGE_ADVICE if is_by_age else ""


def for_nobody(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the latest event that none of the endpoints takes, where there are endpoints."""
    lost = [event for event in snapshot.events if not event.get("deliveries")]
    if not lost or not snapshot.endpoints:
        return
    takes = []
    for endpoint in snapshot.endpoints:
        kinds = ", ".join(endpoint["events"]) or "what happens in its tenant once it is registered"
        takes.append(f"{_url(snapshot, endpoint['id'])} takes {kinds}")
    yield Problem(headline=f"{lost[-1]['event']} went to no endpoint: {'; '.join(takes)}", ids=[lost[-1]["id"]])


def _attempted(events: Iterable[View]) -> Iterator[Attempted]:
    for event in events:
        for delivery in event.get("deliveries", ()):
            yield Attempted(event, delivery)


def _is_taken(each: Attempted) -> bool:
    return any(200 <= attempt.get("status", 0) < 300 for attempt in each.genuine)


def _has_raised(attempt: View) -> bool:
    return str(attempt.get("error")).startswith(RECEIVER_RAISED) and not is_forged(attempt)


def _content(event: View) -> str:
    """Return what an event said, its status and its reason first."""
    data = event.get("data", {})
    first = [f"{name} {data[name]}" for name in ("status", "reason") if data.get(name) is not None]
    others = [name for name, value in data.items() if name not in ("status", "reason") and value is not None]
    return f"the event's data has {', '.join([*first, words.listed(others)])}"


def _url(snapshot: SandboxSnapshot, endpoint: str) -> str:
    return f"the receiver {snapshot.names.get(endpoint, endpoint)}"
