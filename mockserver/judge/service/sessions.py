"""Connection sessions: one end, the deadline, the entrypoint that mirrors the creation, and the events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from mockserver.contract.lifecycles import SESSION
from mockserver.contract.limits import SESSION_LIFETIME
from mockserver.core.instants import MINUTE, SECOND, Instant
from mockserver.judge.service.evidence import Rows, both, date_of, described, ends, first, ranked
from mockserver.judge.service.verdicts import (
    ONE_CLOCK,
    TENANTS,
    ClauseCheck,
    Excused,
    Found,
    Kept,
    breach,
    changed,
    fixed,
    judged,
)
from mockserver.trace.exchange import DeliveryAttempt
from mockserver.trace.order import SKEW, instant, reversal, window
from mockserver.trace.sightings import Sighting, sighted
from mockserver.trace.trace import Trace

_LIFETIME: Final = SESSION_LIFETIME // timedelta(microseconds=1)
# Of the option sweeper of expiry-driver, and as long again for an event that is sent before the end is shown.
_SWEEP: Final = 2 * MINUTE
_SENT_SOON: Final = "the event of the end is sent within a minute of it, if the end is shown only then"
_GENUINE: Final = "the delivery is the service's own, which its receiver verified"
# The reasons of a status, and the clause that has them.
_REASONS: Final[Mapping[str | None, tuple[str, tuple[str, ...]]]] = {
    "failed": ("session.failed", ("token_exchange_failed", "phone_in_use", "funnel_not_found")),
    "expired": ("session.expired", ("expired",)),
}
_OF_NUMBER: Final = (
    "id",
    "displayPhone",
    "phoneNumberId",
    "businessAccountId",
    "funnelId",
    "funnelStepId",
    "isCoexistence",
)


def lifecycles(trace: Trace) -> Found:
    """A session ends once, for one reason, and what has ended is never pending again."""
    for rows in sighted(trace, "session").values():
        in_ranks = ranked(rows, SESSION)
        pair = reversal(in_ranks)
        if pair is None:
            yield Kept("session.final", len(in_ranks) - 1)
        else:
            yield breach("session.final", both(*pair), *pair, assumption=_of(pair[0]))
        final = ends(rows, SESSION)
        events = [row for row in final if row.how == "event"]
        for row in final[1:]:
            clause = "session.final" if "event" not in (final[0].how, row.how) else _event_clause(final[0], row)
            yield from _same_end(clause, final[0], row)
        for row in events[1:]:
            yield from _same_end("events.once", events[0], row)
        yield from fixed("session.final", "reason", [row for row in final if isinstance(row.shown.get("reason"), str)])
        for row in rows:
            yield from _one_answer(row)


def _same_end(clause: str, end: Sighting, row: Sighting) -> Found:
    yield judged(clause, row.status == end.status, both(end, row), end, row, assumption=_of(row))


def _of(row: Sighting) -> str:
    return _GENUINE if isinstance(row.cited, DeliveryAttempt) else "the service was not reset between the two"


def _event_clause(one: Sighting, other: Sighting) -> str:
    """An event that differs from what is read breaks the sentence of its kind."""
    event = one if one.how == "event" else other
    return "events.connected" if event.status == "completed" else "events.failed"


def _one_answer(row: Sighting) -> Found:
    """In one answer or event, status, reason and entrypoint fit each other."""
    reason, entrypoint = row.shown.get("reason"), row.shown.get("entrypoint")
    if row.status in _REASONS and isinstance(reason, str):
        clause, reasons = _REASONS[row.status]
        yield judged(clause, reason in reasons, (f"status {row.status}", f"reason {reason}"), row)
    if row.how == "read" and row.status == "completed":
        yield judged("session.completed", isinstance(entrypoint, dict), ("status completed", "no entrypoint"), row)
    if row.how == "read" and row.status == "pending":
        yield judged("session.read", entrypoint is None, ("status pending", "an entrypoint"), row)


def deadlines(trace: Trace) -> Found:
    """A session expires at expiresAt, which is twenty minutes after its creation: not before, and not much later."""
    for rows in sighted(trace, "session").values():
        created = first(rows, "created")
        expires = deadline(created)
        if created is None or expires is None:
            continue
        yield from fixed("session.expires-at", "expiresAt", rows)
        at = window(created.cited)
        if at is not None:
            is_near = at[0] - SECOND <= expires - _LIFETIME <= at[1]
            values = f"created, Date {date_of(created)}", f"expiresAt {created.shown['expiresAt']}"
            yield judged("session.expires-at", is_near, values, created, assumption=ONE_CLOCK)
        reads = [row for row in rows if row.how == "read"]
        yield from _read_by_deadline(created, reads, expires)
        for row in rows:
            if row.how == "event":
                yield from _event_by_deadline(created, row, expires)


def deadline(created: Sighting | None) -> Instant | None:
    """Return when a session expires, as its creation shows it."""
    return instant(created.shown.get("expiresAt")) if created is not None else None


def _event_by_deadline(created: Sighting, row: Sighting, expires: Instant) -> Found:
    occurred, begun = instant(row.shown.get("occurredAt")), window(created.cited)
    if occurred is None:
        return
    shown = f"occurredAt {row.shown['occurredAt']}"
    is_kept = occurred >= expires - SKEW if row.status == "expired" else occurred < expires + SKEW
    values = f"expiresAt {created.shown['expiresAt']}", f"{described(row)}, {shown}"
    yield judged("session.expired", is_kept, values, created, row, assumption=_GENUINE)
    if begun is not None:
        values = f"created, Date {date_of(created)}", shown
        is_later = occurred >= begun[0] - SECOND
        yield judged("events.connected", is_later, values, created, row, assumption=ONE_CLOCK)


def _read_by_deadline(created: Sighting, rows: Rows, expires: Instant) -> Found:
    """
    No read before the deadline shows that it is over; one after it shows the end, soon after an earlier one after it.

    The first such read may be what ends the session, and it may show the end only when its event has been sent.
    """
    windows = [(row, window(row.cited)) for row in rows]
    reads = [(row, at) for row, at in windows if at is not None]
    first_after = min((at[1] for _, at in reads if at[0] >= expires), default=None)
    for row, (begin, end) in reads:
        values = f"expiresAt {created.shown['expiresAt']}", f"status {row.status} at {date_of(row)}"
        if row.status == "expired":
            yield judged("session.expired", end >= expires, values, created, row, assumption=ONE_CLOCK)
        if row.status != "pending" or begin < expires + _SWEEP:
            continue
        if first_after is None or begin < first_after + _SWEEP:
            yield Excused("session.expired", "expiry-driver")
        else:
            yield breach("session.expired", values, created, row, assumption=f"{_SENT_SOON}; {ONE_CLOCK}")


def entrypoints(trace: Trace) -> Found:
    """The entrypoint of a session is the same in every answer and event, its own, and mirrors the session's creation."""
    owners: dict[str, Sighting] = {}
    for rows in sighted(trace, "session").values():
        shown = [row for row in rows if isinstance(row.shown.get("entrypoint"), dict)]
        completed = [row for row in shown if row.status == "completed"]
        for field in _OF_NUMBER:
            yield from _one_value(field, completed)
        created = next((row for row in rows if row.how == "created" and row.shown["sent"] is not None), None)
        if completed and created is not None:
            yield from _mirrors(created, completed[0])
        id = shown[0].shown["entrypoint"].get("id") if shown else None
        if isinstance(id, str):
            owner = owners.setdefault(id, shown[0])
            values = f"{owner.id} created it", f"{shown[0].id} created it"
            yield judged("session.completed", owner.id == shown[0].id, values, owner, shown[0], record=id)


def _one_value(field: str, rows: Rows) -> Found:
    """Compare the first value of an entrypoint's field with the later ones."""
    shown = [(row, row.shown["entrypoint"].get(field)) for row in rows]
    known = [(row, value) for row, value in shown if value is not None]
    for row, value in known[1:]:
        earlier, expected = known[0]
        clause = "events.connected" if "event" in (earlier.how, row.how) else "session.final"
        values = changed(field, expected, value, field == "displayPhone")
        yield judged(clause, expected == value, values, earlier, row, assumption=_of(row))


def _mirrors(created: Sighting, row: Sighting) -> Found:
    given: Mapping[str, Any] = created.shown["sent"]
    funnel, step = given.get("funnelId"), given.get("funnelStepId")
    rows = [("session.coexistence", "coexistence", given.get("coexistence") or False, "isCoexistence")]
    rows.append(("session.completed", "funnelStepId", step, "funnelStepId"))
    if step is None or funnel is not None:  # a step alone may bring its funnel with it
        rows.append(("session.completed", "funnelId", funnel, "funnelId"))
    for clause, name, sent, field in rows:
        mirrored = row.shown["entrypoint"].get(field)
        values = f"created with {name} {sent!r}", f"{field} {mirrored!r}"
        yield judged(clause, sent == mirrored, values, created, row)


def links(trace: Trace) -> Found:
    """Each session has a url of its own, which is not its id."""
    owners: dict[str, Sighting] = {}
    for id, rows in sighted(trace, "session").items():
        for row in rows:
            url = row.shown.get("url")
            if not isinstance(url, str):
                continue
            values = "a sessionId", "a url that is the same, or ends with it"
            yield judged("session.url", url.rpartition("/")[2] != id, values, row)
            owner = owners.setdefault(url, row)
            values = f"a url of {owner.id}", f"the same url of {id}"
            yield judged("session.url", owner.id == id, values, owner, row)


def events(trace: Trace) -> Found:
    """The events of one tenant name one tenant."""
    rows = [row for rows in sighted(trace, "session").values() for row in rows if row.how == "event"]
    named = [(row, row.shown.get("tenantId")) for row in rows]
    known = [(row, name) for row, name in named if isinstance(name, str)]
    for row, name in known[1:]:
        earlier, expected = known[0]
        values = f"tenantId {expected}", f"tenantId {name}"
        yield judged("base.tenant-scope", name == expected, values, earlier, row, assumption=_GENUINE)
    yield Kept("events.session-id", len(trace.deliveries))


# fmt: off
CHECKS: Final = (
    ClauseCheck(("session.final", "session.failed", "session.expired", "session.completed", "session.read", "events.once", "events.connected", "events.failed"), lifecycles),
    ClauseCheck(("session.expires-at", "session.expired", "events.connected"), deadlines),
    ClauseCheck(("session.final", "session.completed", "session.coexistence", "events.connected"), entrypoints),
    ClauseCheck(("session.url",), links),
    ClauseCheck(("base.tenant-scope", "events.session-id"), events, needs=TENANTS),
    ClauseCheck(("session.funnel-step", "session.user-cancels", "session.funnel-checked-late", "session.phone-in-use", "session.return"), unshown="a recording does not show what an end user did at the hosted page"),
    ClauseCheck(("events.subscribed",), unshown="a recording does not show the registered endpoints"),
    ClauseCheck(("events.nothing-lost",), unshown="a recording may lack deliveries"),
)
# fmt: on
