"""
The stream of a sandbox: its calls, changes and deliveries as server-sent events, in the order of the journal.

1. The id of an event is the place in the journal after it, `EPOCH.CALL.CHANGE`: a reader that names its last id gets what
   follows, without a gap. An id of another epoch, which a reset or a restored checkpoint began, is answered with `lag`.
2. A reader that is further behind than a bound gets the number of what was left out, as one event `lag`, and the present.
3. A socket sends the events as they happen (`server/dashboard/live_stream.py`); any other client gets those so far.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import json_value
from mockserver.core.instants import format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.matching import ABSENT
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.control import views
from mockserver.server.control.accept import query_of
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import redactor

STREAM_TYPES: Final = ("text/event-stream",)
QUEUE_MAX: Final = 1_000  # events that a reader may be behind
BEGIN: Final = "retry: 1000\n\n"  # milliseconds after which a reader connects again
_PATH_CHARS: Final = 200
_METHOD_CHARS: Final = 20
_CODE_CHARS: Final = 100
_CODE_BYTES: Final = 4_096  # of an answer that is read for its error code
_LAST_ID: Final = re.compile(r"^id: (.+)$", re.MULTILINE)
_ID: Final = re.compile(r"([0-9]{1,15})\.([0-9]{1,15})\.([0-9]{1,15})")


class Place(NamedTuple):
    """A place in the journal: the epoch, with the last call and the last change before it."""

    epoch: int
    call: int
    change: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.call}.{self.change}"


class Batch(NamedTuple):
    """Events as text, the place after them, and the clock that they report."""

    text: str
    place: Place
    clock: tuple[object, ...]


def read_stream(hosted: HostedSandbox, args: Mapping[str, Any], base_url: str | None = None) -> str:
    """Return the events since the place that `since` names, by default none, and the clock."""
    since = _place(args["since"]) if "since" in args else None
    with hosted.sandbox.lock:
        batch = read_batch(hosted.sandbox, since or place_of(hosted.sandbox), None)
    return BEGIN + batch.text


def stream_arguments(request: HttpRequest) -> dict[str, str]:
    """Return the query of a request for the stream, with the id that a reader names when it connects again."""
    query = query_of(request)
    again = request.headers.get("last-event-id")
    return query | {"since": again} if again else query


def _place(text: str) -> Place:
    match = _ID.fullmatch(text)
    if match is None:
        raise ControlError("MOCK_BAD_QUERY", f"since: got {text[:60]!r}; expected the id of an event, such as 0.12.34")
    return Place(*map(int, match.groups()))


def place_of(sandbox: SandboxState) -> Place:
    """Return the present place. Lock: the caller holds it."""
    return Place(sandbox.epoch, sandbox.journal.last_exchange, sandbox.journal.last_transition)


def clock_of(sandbox: SandboxState) -> tuple[object, ...]:
    """Return what an event `clock` reports: the instant of a clock that is frozen, the lead of one that runs, and what is due."""
    clock, due = sandbox.clock, views.due(sandbox)
    return clock.frozen, clock.now if clock.frozen else clock.lead, due and tuple(due.values())


class StreamReader:
    """
    One reader of a stream: the place and the clock that it has.

    Args:
        request: of the stream.
        text: the response to it as `read_stream` returns it; the reader begins at the same place.
    """

    def __init__(self, request: HttpRequest, text: str) -> None:
        since = stream_arguments(request).get("since")
        self._place = _place(since or _LAST_ID.findall(text)[-1])
        self._clock: tuple[object, ...] | None = None

    def read(self, sandbox: SandboxState, latest: dict[tuple[Any, ...], Batch]) -> str:
        """
        Return the events since the last call.

        Args:
            sandbox: of the stream.
            latest: the latest batch, which readers at one place share.

        Lock: the caller holds it.
        """
        key = (self._place, place_of(sandbox), self._clock, clock_of(sandbox))
        if self._clock is None or key not in latest:
            latest.clear()
            latest[key] = read_batch(sandbox, self._place, self._clock)
        batch = latest[key]
        self._place, self._clock = batch.place, batch.clock
        return batch.text


def read_batch(sandbox: SandboxState, since: Place, clock: tuple[object, ...] | None) -> Batch:
    """
    Return the events after a place, in order, and the clock if it differs from the one that was reported before.

    Lock: the caller holds it.
    """
    place, now = place_of(sandbox), clock_of(sandbox)
    lag = _lag(sandbox, since, place)
    events = [_event(place, "lag", lag)] if lag else list(_events(sandbox, since))
    if now != clock:
        events.append(_event(place, "clock", {**views.clock(sandbox), "due": views.due(sandbox)}))
    return Batch("".join(events), place, now)


def _lag(sandbox: SandboxState, since: Place, place: Place) -> JSON | None:
    """Return the numbers of calls and changes that a reader misses; None if it can get all of them."""
    calls, changes = place.call - since.call, place.change - since.change
    if since.epoch != place.epoch or calls < 0 or changes < 0:
        # A restored state begins an epoch: an earlier place is one of a server that was started again.
        is_gone = since.epoch >= place.epoch
        return {"calls": 0, "changes": 0, "restored": True, "gone": is_gone}
    journal = sandbox.journal
    first_call = journal.exchanges[0].n if journal.exchanges else place.call + 1
    first_change = journal.transitions[0].n if journal.transitions else place.change + 1
    is_dropped = since.call + 1 < first_call or since.change + 1 < first_change
    if calls + changes <= QUEUE_MAX and not is_dropped:
        return None
    return {"calls": calls, "changes": changes, "restored": False, "gone": False}


def _events(sandbox: SandboxState, since: Place) -> Iterator[str]:
    """Yield the calls and changes in the order of time; a change that a call has caused follows the call."""
    hide = redactor(sandbox)
    journal = sandbox.journal
    calls = _newest(journal.exchanges, since.call)
    changes = _newest(journal.transitions, since.change)
    causes = {change.cause["exchange"] for change in changes if "exchange" in change.cause}
    place, at = since, 0
    for entry in calls:
        while at < len(changes) and _is_before(changes[at], entry):
            place = place._replace(change=changes[at].n)
            yield _change(sandbox, place, changes[at])
            at += 1
        place = place._replace(call=entry.n)
        yield _event(place, "call", call(entry, hide) | {"changed": entry.n in causes})
    for change in changes[at:]:
        place = place._replace(change=change.n)
        yield _change(sandbox, place, change)


def _newest(rows: Any, after: int) -> list[Any]:
    """Return the rows whose number is above `after`, oldest first."""
    newest = []
    for row in reversed(rows):
        if row.n <= after:
            break
        newest.append(row)
    return newest[::-1]


def _is_before(change: Transition, entry: JournalEntry) -> bool:
    cause = change.cause.get("exchange")
    return change.at <= entry.at if not isinstance(cause, int) else cause < entry.n


def call(entry: JournalEntry, hide: Redactor) -> JSON:
    """Return a call as the stream and the lists of calls have it, keys redacted."""
    code = _code(entry)
    return {
        "n": entry.n,
        "at": format_exact(entry.at),
        "operation": entry.operation,
        "method": hide.brief(entry.call.method, _METHOD_CHARS),
        "path": hide.brief(entry.call.path, _PATH_CHARS),
        "status": None if entry.is_held else entry.status,
        "code": None if code is None else hide.brief(code, _CODE_CHARS),
        "fault": entry.fault.rule if entry.fault else None,
    }


def _code(entry: JournalEntry) -> str | None:
    """Return the code of an error: the API's own, or that of a body which a rule has sent."""
    if entry.error is not None:
        return entry.error.code
    if entry.status is None or entry.status < 400 or len(entry.answer) > _CODE_BYTES:
        return None
    body = json_value(entry.answer, ABSENT)
    code = body.get("code") if isinstance(body, dict) else None
    return code if isinstance(code, str) else None


def _change(sandbox: SandboxState, place: Place, change: Transition) -> str:
    row = views.transition(change)
    delivery = sandbox.outbox.deliveries.get(change.id) if change.kind == "delivery" else None
    if delivery is None:
        return _event(place, "change", row)
    return _event(place, "delivery", {**row, "eventId": delivery.event.id, "endpoint": delivery.webhook_id})


def _event(place: Place, name: str, data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {place}\nevent: {name}\ndata: {text}\n\n"
