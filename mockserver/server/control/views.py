"""Views of the control plane: state, journal, events, deliveries and tenants as JSON, keys and secrets redacted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from heapq import heappop
from itertools import islice
from typing import TYPE_CHECKING, Any

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.text import camel_case, json_value
from mockserver.core.instants import format_exact
from mockserver.core.operations.sending import counts
from mockserver.core.redaction import Redactor, mask
from mockserver.core.scheduler import FiredTimer
from mockserver.core.state.journal import JournalEntry, Transition, containing
from mockserver.core.state.matching import ABSENT
from mockserver.core.state.outbox import Attempt
from mockserver.core.state.records import Chat, ChatAttributes, Execution, HostedFlow, SendSchedule, Session
from mockserver.core.state.rule_set import describe_rules
from mockserver.core.state.sandbox import SandboxState, Timer
from mockserver.core.state.tenant import TABLES, Tenant
from mockserver.wire import formats, serializers
from mockserver.wire.response import explanation, redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers


# Fields that hold an instant; every other value is returned as it is.
INSTANTS = frozenset(
    ("created_at", "updated_at", "birth_date", "last_message_at", "last_update_at", "started_at", "ended_at", "expires_at", "uploaded_at",
     "consumed_at", "old_secret_until")
)  # fmt: skip

# Keys of fields and tables that are not the attribute's name in camelCase.
_KEYS: Mapping[tuple[type, str], str] = {(Execution, "schedule"): "sends", (HostedFlow, "started_at"): "begunAt"}
_TABLE_KEYS: Mapping[str, str] = {"hosted_flows": "walks"}

_SECRETS = ("secret", "old_secret", "token")

# Fields that follow from the others, or take much space.
_HIDDEN: Mapping[type, tuple[str, ...]] = {Execution: ("targets", "template"), Session: ("base_url",)}

_COMING = 20  # timers that a history shows
STATE_CHATS = 10_000  # chats of a tenant, and targets of an execution, in one response

FieldKeys = tuple[tuple[str, str], ...]


def of_event(sandbox: SandboxState, event_id: str) -> list[answers.EventDelivery]:
    """Return the deliveries of an event with their attempts; one in flight has neither a status nor an error yet."""
    rows: list[answers.EventDelivery] = []
    for delivery in sandbox.outbox.of_event(event_id):
        attempts: list[answers.TimedAttempt] = [
            {**_attempt(sandbox, attempt), "durationMs": attempt.duration_ms} for attempt in delivery.attempts
        ]
        planned = sandbox.outbox.in_flight.get(delivery.webhook_id)
        if planned is not None and planned.delivery.id == delivery.id:
            attempts.append({"at": format_exact(planned.at)})
        rows.append({"endpoint": delivery.webhook_id, "status": delivery.status, "attempts": attempts})
    return rows


def _attempt(sandbox: SandboxState, attempt: Attempt) -> answers.Attempt:
    """Return the instant and the result of an attempt and, if a rule changed its request, the fault."""
    # The exception of a receiver may contain any text.
    error = redactor(sandbox).text(attempt.error) if attempt.error else None
    shown: answers.Attempt = {"at": format_exact(attempt.at)}
    if attempt.status is not None:
        shown["status"] = attempt.status
    if error is not None:
        shown["error"] = error
    if attempt.fault is not None:
        shown["fault"] = attempt.fault
    return shown


def deliveries(sandbox: SandboxState) -> answers.Deliveries:
    """Return the deliveries and the events without an endpoint so far; real durations of attempts are not part of it."""
    outbox = sandbox.outbox
    rows: list[answers.DeliveryState] = [
        {
            "id": delivery.id,
            "eventId": delivery.event.id,
            "endpoint": delivery.webhook_id,
            "status": delivery.status,
            "due": format_exact(delivery.due),
            "attempts": [_attempt(sandbox, attempt) for attempt in delivery.attempts],
        }
        for delivery in outbox.deliveries.values()
    ]
    return {"deliveries": rows, "storedEvents": [event.id for event in outbox.unclaimed_events]}


def clock(sandbox: SandboxState) -> answers.ClockState:
    """Return the present instant, and whether the clock is frozen."""
    return {"now": format_exact(sandbox.read_clock()), "frozen": sandbox.clock.frozen}


def failing(sandbox: SandboxState) -> list[str]:
    """Return the ids of the endpoints that are disabled, or whose last attempt was not accepted."""
    last: dict[str, Attempt] = {}
    for delivery in sandbox.outbox.deliveries.values():
        for attempt in delivery.attempts:
            former = last.get(delivery.webhook_id)
            if attempt.fault is None and (former is None or attempt.at >= former.at):
                last[delivery.webhook_id] = attempt
    return [
        webhook.id
        for _, webhook in sandbox.records("webhook")
        if webhook.disabled or (webhook.id in last and not last[webhook.id].accepted)
    ]


def coming(sandbox: SandboxState) -> list[answers.FiredTimer]:
    """Return the next timers whose records still exist, the soonest first."""
    heap = list(sandbox.timers)
    rows: list[answers.FiredTimer] = []
    while heap and len(rows) < _COMING:
        timer = heappop(heap)
        if sandbox.timer_target(timer) is not None:
            rows.append(_timer(timer))
    return rows


def _timer(timer: Timer) -> answers.FiredTimer:
    return {"at": format_exact(timer.due), "what": f"{timer.kind}.{timer.trigger}", "id": timer.id}


def fired(timers: list[FiredTimer]) -> list[answers.FiredTimer]:
    """Return the timers that fired, in order."""
    return [{"at": format_exact(timer.at), "what": timer.what, "id": timer.id} for timer in timers]


def choices(sandbox: SandboxState) -> answers.ChoiceList:
    """Return every choice with its question, its options and the value in force."""
    rows, values = CHOICES.values(), dict(sandbox.choices)  # a copy: a view of a choice does not count as a use of it
    return {
        "choices": [
            {
                "id": row.id,
                "question": row.question,
                "options": list(row.options),
                "default": row.default,
                "value": values[row.id],
                "clause": row.clauses[0] if row.clauses else row.where,
            }
            for row in rows
        ]
    }


def tenant(sandbox: SandboxState, owner: Tenant) -> answers.TenantSettings:
    """Return a tenant's settings, keys redacted."""
    return {
        "tenantId": owner.id,
        "name": redactor(sandbox).text(owner.name),
        "developersEnabled": owner.developers_enabled,
        "subscription": owner.subscription,
        "secretKey": mask(owner.secret_key),
        "publicKey": mask(owner.public_key),
    }


def state(sandbox: SandboxState, *, chats: int = STATE_CHATS) -> answers.State:
    """
    Return the state as JSON: clock, choices, tenants with their records. Equal states have equal bytes.

    Args:
        sandbox: or a clone of one.
        chats: the number of chats of a tenant, and of targets of an execution, at most; `chatCount` is the whole number.
    """
    return {
        "clock": {"now": format_exact(sandbox.now), "frozen": sandbox.clock.frozen},
        "seed": sandbox.seed,
        "choices": dict(sorted(sandbox.choices.items())),
        "tenants": [_tenant_state(sandbox, owner, chats) for owner in sandbox.tenants.values()],
        "rules": rules(sandbox),
        **deliveries(sandbox),
    }


def rules(sandbox: SandboxState) -> list[JSON]:
    """Return the rules in force, in order, with their counts; keys in them are redacted."""
    return [redactor(sandbox).value(dict(rule)) for rule in describe_rules(sandbox.rule_set)]


def _tenant_state(sandbox: SandboxState, owner: Tenant, chats: int) -> Any:
    """Return a `TenantState`, with a key for each table."""
    hide = redactor(sandbox)
    view: JSON = {**tenant(sandbox, owner), "chatCount": len(owner.chats)}
    for table in TABLES:
        rows = getattr(owner, table)
        if table == "executions":
            entries = [_execution(sandbox, record, chats) for record in rows.values()]
        else:
            entries = [_plain(sandbox, record) for record in (rows.rows[:chats] if table == "chats" else rows.values())]
        view[_TABLE_KEYS.get(table, table)] = hide.value(entries)
    view["messages"] = [message for chat in view["messages"] for message in chat]
    return view


def _execution(sandbox: SandboxState, record: Execution, targets: int) -> JSON:
    """Return an execution with the ids of its template and of its first targets."""
    own_fields = _fields(sandbox, record, record_keys(Execution))
    return {**own_fields, "targets": [chat.id for chat in record.targets[:targets]], "template": record.template.id}


def _plain(sandbox: SandboxState, value: Any, name: str = "") -> Any:
    """Return a record as JSON: camelCase keys, instants as text, contents as size and digest, secrets redacted."""
    if name in _SECRETS:
        return value and mask(value)
    if name in INSTANTS and isinstance(value, int):
        return format_exact(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, SendSchedule):
        return counts(value, sandbox.now)._asdict()
    if isinstance(value, Chat):
        attributes = value.attributes
        return {"seq": value.seq, "id": value.id, **_fields(sandbox, attributes, record_keys(ChatAttributes))}
    if getattr(value, "__match_args__", ()):  # a record
        return _fields(sandbox, value, record_keys(value.__class__))
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, Mapping):
        return {key: _plain(sandbox, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(sandbox, item) for item in value]
    return value


def _fields(sandbox: SandboxState, record: Any, keys: FieldKeys) -> JSON:
    """Return the record's fields."""
    return {key: _plain(sandbox, getattr(record, name), name) for name, key in keys}


@cache
def record_keys(record: Any) -> FieldKeys:
    """Return the fields of a record with their keys in JSON."""
    hidden = ("state_version", *_HIDDEN.get(record, ()))
    visible = (name for name in record.__match_args__ if name not in hidden)
    return tuple((name, _KEYS.get((record, name)) or camel_case(name)) for name in visible)


def events(sandbox: SandboxState) -> answers.Events:
    """Return one entry per event, oldest first, also if no endpoint is registered for it."""
    view = formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, "")
    encode = formats.with_unknown_fields if sandbox.choices["additive-fields"] != "none" else dict
    hide = redactor(sandbox)
    rows = ((event, hide.value(encode(serializers.event(view, event)))) for event in sandbox.events)
    entries: list[Any] = [  # with more keys, if the choices add some
        {"id": event.id, "at": format_exact(event.at), **envelope, "deliveries": of_event(sandbox, event.id)}
        for event, envelope in rows
    ]
    return {"events": entries}


def request(entry: JournalEntry, hide: Redactor) -> answers.Request:
    """Return the request of an exchange, keys redacted."""
    call, body, cut_from_bytes = entry.call, entry.body, None
    if body is None:
        cut_from_bytes = call.cut_from_bytes
        if call.body:
            body = hide.body(call.body.decode("utf-8", "replace"), call.headers.get("content-type", ""))
    shown: answers.Request = {
        "method": call.method,
        "path": call.path,
        "query": dict(call.query),
        "headers": dict(call.headers),
        "body": body,
        **_cut(cut_from_bytes),
    }
    return hide.value(shown)  # type: ignore[no-any-return]


def exchange(entry: JournalEntry, hide: Redactor) -> answers.Exchange:
    """Return an exchange of the journal, keys redacted."""
    shown: answers.Exchange = {
        "n": entry.n,
        "at": format_exact(entry.at),
        "operation": entry.operation,
        "tenantId": entry.tenant_id,
        "request": request(entry, hide),
        "response": hide.value(_response(entry)),
        "applied": entry.applied,
        "fault": {"rule": entry.fault.rule, "effects": hide.value(entry.fault.effects)} if entry.fault else None,
        "reason": explanation(entry.error, hide) if entry.error else None,
        "choices": dict(entry.choices),
    }
    if entry.given_up is not None:
        sent_at, at, last_exchange = entry.given_up
        shown["givenUp"] = {"sentAt": format_exact(sent_at), "at": format_exact(at), "lastExchange": last_exchange}
    return shown


def _response(entry: JournalEntry) -> answers.Response | None:
    """Return the response that the client has got; None if there is none, or not yet."""
    if entry.is_held or not entry.status:
        return None
    body = json_value(entry.answer, ABSENT)  # the body of a rule's reply may be nested to any depth
    if body is ABSENT:
        body = entry.answer.decode("utf-8", "replace") if entry.answer else None
    return {
        "status": entry.status,
        "headers": dict(entry.headers),
        "body": body,
        **_cut(entry.answer_cut_from_bytes),
    }


def _cut(whole_bytes: int | None) -> answers.Cut:
    """Return the mark of a body that is only the beginning of the whole one; nothing if it is complete."""
    return {} if whole_bytes is None else {"cutFromBytes": whole_bytes}


def transition(step: Transition) -> answers.Transition:
    """Return a transition of the journal."""
    cause: Any = dict(step.cause)
    return {
        "n": step.n,
        "at": format_exact(step.at),
        "kind": step.kind,
        "id": step.id,
        "from": step.source,
        "to": step.target,
        "cause": cause,
    }


def journal(
    sandbox: SandboxState,
    *,
    operations: tuple[str, ...] | None = None,
    status: int | None = None,
    since: int = 0,
    before: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    text: str = "",
) -> answers.Journal:
    """
    Return exchanges, oldest first, and every transition.

    Args:
        sandbox: or a clone of one.
        operations: ids of operations; only their exchanges.
        status: only exchanges with this status.
        since: only exchanges after this number.
        before: only exchanges before this number.
        limit: the number of exchanges at most, of the oldest.
        last: the number of exchanges at most, of the newest.
        text: only exchanges that contain it, in upper or lower case.
    """
    render = partial(exchange, hide=redactor(sandbox))
    entries = [
        entry
        for entry in sandbox.journal.since(since)
        if (operations is None or entry.operation in operations)
        and status in (None, entry.status)
        and (before is None or entry.n < before)
    ]
    ordered = entries if last is None else entries[::-1]
    rows = containing(ordered, text, render) if text else map(render, ordered)
    exchanges = list(islice(rows, limit if last is None else last))
    return {
        "times": {"at": "virtual"},
        "exchanges": exchanges if last is None else exchanges[::-1],
        "transitions": [transition(step) for step in sandbox.journal.transitions],
    }
