"""Histories of connection sessions: one end, the deadline, the entrypoint that mirrors the creation, and the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from mockserver.contract.lifecycles import SESSION
from mockserver.contract.limits import SESSION_LIFETIME
from mockserver.core.instants import MINUTE, SECOND
from mockserver.judge.service.campaigns import described, ranked
from mockserver.judge.service.evidence import History
from mockserver.judge.service.verdicts import ONE_ANSWER, ONE_CLOCK, Verdicts
from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange
from mockserver.trace.order import SKEW, instant, precedes, reversal, window
from mockserver.trace.sightings import Sighting

_RANKS: Final[Mapping[str, int]] = {"pending": 0, **dict.fromkeys(SESSION.final, 1)}
_LIFETIME: Final = SESSION_LIFETIME // timedelta(microseconds=1)
# Of the option sweeper of expiry-driver, and as long again for an event that is sent before the end is shown.
_SWEEP: Final = 2 * MINUTE
_SENT_SOON: Final = "the event of the end is sent within a minute of it, if the end is shown only then"
_GENUINE: Final = "the delivery is the service's own, which its receiver verified"
_FAILURES: Final = frozenset(("token_exchange_failed", "phone_in_use", "funnel_not_found"))
_OF_NUMBER: Final = (
    "id",
    "displayPhone",
    "phoneNumberId",
    "businessAccountId",
    "funnelId",
    "funnelStepId",
    "isCoexistence",
)


def lifecycles(history: History, verdicts: Verdicts) -> None:
    """A session ends once, for one reason, and what has ended is never pending again."""
    for id, rows in history.records("session").items():
        in_ranks = ranked(rows, _RANKS)
        fallen = reversal(in_ranks)
        if fallen is None:
            verdicts.hold("session.final", len(in_ranks) - 1)
        else:
            earlier, later = (row.sighting for row in fallen)
            verdicts.broken(
                "session.final", [earlier.cited, later.cited], id, (described(earlier), described(later)), _of(earlier)
            )
        ends = [row for row in rows if row.status in SESSION.final]
        for row in ends[1:]:
            clause = "session.final" if "event" not in (ends[0].how, row.how) else _event_clause(ends[0], row)
            values = described(ends[0]), described(row)
            verdicts.judge(clause, row.status == ends[0].status, [ends[0].cited, row.cited], id, values, _of(row))
        events = [row for row in ends if row.how == "event"]
        for row in events[1:]:
            values = described(events[0]), described(row)
            cited = [events[0].cited, row.cited]
            verdicts.judge("events.once", row.status == events[0].status, cited, id, values, _GENUINE)
        verdicts.fixed("session.final", "reason", [row for row in ends if isinstance(row.shown.get("reason"), str)])
        for row in rows:
            _one_answer(id, row, verdicts)


def _of(row: Sighting) -> str:
    return _GENUINE if isinstance(row.cited, DeliveryAttempt) else "the service was not reset between the two"


def _event_clause(first: Sighting, second: Sighting) -> str:
    """An event that differs from what is read breaks the sentence of its kind."""
    event = first if first.how == "event" else second
    return "events.connected" if event.status == "completed" else "events.failed"


def _one_answer(id: str, row: Sighting, verdicts: Verdicts) -> None:
    """In one answer or event, status, reason and entrypoint fit each other."""
    reason, cited = row.shown.get("reason"), [row.cited]
    if row.status in ("failed", "expired") and isinstance(reason, str):
        known = _FAILURES if row.status == "failed" else {"expired"}
        values = f"status {row.status}", f"reason {reason}"
        clause = "session.failed" if row.status == "failed" else "session.expired"
        verdicts.judge(clause, reason in known, cited, id, values, ONE_ANSWER)
    if row.how == "read" and row.status == "completed":
        values = "status completed", "no entrypoint"
        verdicts.judge(
            "session.completed", isinstance(row.shown.get("entrypoint"), dict), cited, id, values, ONE_ANSWER
        )
    if row.how == "read" and row.status == "pending":
        values = "status pending", "an entrypoint"
        verdicts.judge("session.read", row.shown.get("entrypoint") is None, cited, id, values, ONE_ANSWER)


def deadlines(history: History, verdicts: Verdicts) -> None:
    """A session expires at expiresAt, which is twenty minutes after its creation: not before, and not much later."""
    for id, rows in history.records("session").items():
        created = next((row for row in rows if row.how == "created"), None)
        expires = instant(created.shown.get("expiresAt")) if created is not None else None
        if created is None or expires is None:
            continue
        verdicts.fixed("session.expires-at", "expiresAt", rows)
        shown = f"expiresAt {created.shown['expiresAt']}"
        at = window(created.cited)
        if at is not None:
            is_near = at[0] - SECOND <= expires - _LIFETIME <= at[1]
            values = f"created, Date {_date(created.cited)}", shown
            verdicts.judge("session.expires-at", is_near, [created.cited], id, values, ONE_CLOCK)
        for row in rows:
            _by_deadline(id, created, row, expires, verdicts)
        _pending_too_long(id, created, rows, expires, verdicts)


def _date(cited: Cited) -> str:
    return cited.response_headers.get("date", "") if isinstance(cited, Exchange) else ""


def _by_deadline(id: str, created: Sighting, row: Sighting, expires: int, verdicts: Verdicts) -> None:
    at, shown = window(row.cited), f"expiresAt {created.shown['expiresAt']}"
    cited = [created.cited, row.cited]
    if at is not None and row.how == "read":
        values = shown, f"status {row.status} at {_date(row.cited)}"
        if row.status == "expired":
            verdicts.judge("session.expired", at[1] >= expires, cited, id, values, ONE_CLOCK)
    occurred = instant(row.shown.get("occurredAt"))
    if row.how == "event" and occurred is not None:
        values = shown, f"{described(row)}, occurredAt {row.shown['occurredAt']}"
        is_late = occurred >= expires + SKEW
        is_early = occurred < expires - SKEW
        is_kept = not is_early if row.status == "expired" else not is_late
        verdicts.judge("session.expired", is_kept, cited, id, values, _GENUINE)
        begun = window(created.cited)
        if begun is not None:
            values = f"created, Date {_date(created.cited)}", f"occurredAt {row.shown['occurredAt']}"
            verdicts.judge("events.connected", occurred >= begun[0] - SECOND, cited, id, values, ONE_CLOCK)


def _pending_too_long(id: str, created: Sighting, rows: Sequence[Sighting], expires: int, verdicts: Verdicts) -> None:
    """
    A read after the deadline shows the end, soon after an earlier read that was after the deadline too.

    The first such read may be what ends the session, and it may show the end only when its event has been sent.
    """
    windows = [(row, window(row.cited)) for row in rows if row.how == "read"]
    reads = [(row, at) for row, at in windows if at is not None]
    first_after = min((at[1] for _, at in reads if at[0] >= expires), default=None)
    for row, at in reads:
        if row.status != "pending" or at[0] < expires + _SWEEP:
            continue
        if first_after is None or at[0] < first_after + _SWEEP:
            verdicts.excuse("session.expired", "expiry-driver")
            continue
        values = f"expiresAt {created.shown['expiresAt']}", f"status pending at {_date(row.cited)}"
        verdicts.broken("session.expired", [created.cited, row.cited], id, values, f"{_SENT_SOON}; {ONE_CLOCK}")


def entrypoints(history: History, verdicts: Verdicts) -> None:
    """The entrypoint of a session is the same in every answer and event, and mirrors the session's creation."""
    for id, rows in history.records("session").items():
        seen = [row for row in rows if row.status == "completed" and isinstance(row.shown.get("entrypoint"), dict)]
        for field in _OF_NUMBER:
            _one_value(id, field, seen, verdicts)
        created = next((row for row in rows if row.how == "created" and row.shown["sent"] is not None), None)
        for row in seen[:1]:
            if created is not None:
                _mirrors(id, created, row, verdicts)
    _unique_numbers(history, verdicts)


def _one_value(id: str, field: str, seen: Sequence[Sighting], verdicts: Verdicts) -> None:
    """Compare the first value of an entrypoint's field with the later ones."""
    shown = [(row, row.shown["entrypoint"][field]) for row in seen if row.shown["entrypoint"].get(field) is not None]
    for row, value in shown[1:]:
        first, expected = shown[0]
        is_private = field == "displayPhone"
        values = ("a displayPhone", "another one") if is_private else (f"{field} {expected!r}", f"{field} {value!r}")
        clause = "events.connected" if "event" in (first.how, row.how) else "session.final"
        verdicts.judge(clause, expected == value, [first.cited, row.cited], id, values, _of(row))


def _mirrors(id: str, created: Sighting, row: Sighting, verdicts: Verdicts) -> None:
    given: Mapping[str, Any] = created.shown["sent"]
    shown: Mapping[str, Any] = row.shown["entrypoint"]
    pairs = [("coexistence", given.get("coexistence") or False, "isCoexistence", shown.get("isCoexistence"))]
    step = given.get("funnelStepId")
    pairs.append(("funnelStepId", step, "funnelStepId", shown.get("funnelStepId")))
    if step is None or given.get("funnelId") is not None:  # a step alone may bring its funnel with it
        pairs.append(("funnelId", given.get("funnelId"), "funnelId", shown.get("funnelId")))
    for name, sent, field, mirrored in pairs:
        values = f"created with {name} {sent!r}", f"{field} {mirrored!r}"
        clause = "session.coexistence" if name == "coexistence" else "session.completed"
        verdicts.judge(clause, sent == mirrored, [created.cited, row.cited], id, values)


def _unique_numbers(history: History, verdicts: Verdicts) -> None:
    """Each completed session created an entrypoint of its own."""
    owners: dict[str, Sighting] = {}
    for rows in history.records("session").values():
        row = next((row for row in rows if isinstance(row.shown.get("entrypoint"), dict)), None)
        entrypoint = row.shown["entrypoint"].get("id") if row is not None else None
        if row is None or not isinstance(entrypoint, str):
            continue
        first = owners.setdefault(entrypoint, row)
        values = f"{first.id} created it", f"{row.id} created it"
        verdicts.judge("session.completed", first.id == row.id, [first.cited, row.cited], entrypoint, values)


def links(history: History, verdicts: Verdicts) -> None:
    """Each session has a url of its own, which is not its id."""
    owners: dict[str, Sighting] = {}
    for id, rows in history.records("session").items():
        for row in rows:
            url = row.shown.get("url")
            if not isinstance(url, str):
                continue
            is_another = url.rpartition("/")[2] != id
            values = "a sessionId", "a url that is the same, or ends with it"
            verdicts.judge("session.url", is_another, [row.cited], id, values, ONE_ANSWER)
            first = owners.setdefault(url, row)
            values = f"a url of {first.id}", f"the same url of {id}"
            verdicts.judge("session.url", first.id == id, [first.cited, row.cited], id, values)


def unknown(history: History, verdicts: Verdicts) -> None:
    """A session is not unknown before its deadline."""
    for call in history.calls("readConnectionSession"):
        if call.status != 404:
            verdicts.hold("session.read")
            continue
        rows = history.records("session").get(call.params.get("sessionId", ""), ())
        created = next((row for row in rows if row.how == "created" and precedes(row.cited, call)), None)
        expires = instant(created.shown.get("expiresAt")) if created is not None else None
        at = window(call)
        if created is None or expires is None or at is None or at[1] > expires:
            continue
        values = f"created: {created.id}", f"{call.status} {call.code}"
        verdicts.broken("session.read", [created.cited, call], created.id, values)


def events(history: History, verdicts: Verdicts) -> None:
    """The events of one tenant name one tenant."""
    tenants: Sequence[Sighting] = [
        row
        for rows in history.records("session").values()
        for row in rows
        if row.how == "event" and isinstance(row.shown.get("tenantId"), str)
    ]
    for row in tenants[1:]:
        values = f"tenantId {tenants[0].shown['tenantId']}", f"tenantId {row.shown['tenantId']}"
        is_same = row.shown["tenantId"] == tenants[0].shown["tenantId"]
        verdicts.judge("base.tenant-scope", is_same, [tenants[0].cited, row.cited], row.id, values, _GENUINE)
    verdicts.hold("events.session-id", len(history.deliveries))
