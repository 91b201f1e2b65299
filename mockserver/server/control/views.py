"""
Views of the control plane: state, journal, events, deliveries and tenants as JSON.

What the control plane shows of deliveries: beside their events, and in the state. No secret is in it.

What the control plane shows of a sandbox: its state, journal, events and tenants as JSON, keys redacted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from mockserver.contract.choices import CHOICES
from mockserver.contract.text import camel_case, json_value
from mockserver.core.instants import format_exact
from mockserver.core.operations.sending import counts
from mockserver.core.redaction import Redactor, mask
from mockserver.core.scheduler import FiredTimer
from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.matching import ABSENT
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.records import Execution, HostedFlow, SendSchedule
from mockserver.core.state.rule_set import describe_rules
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import TABLES, Tenant
from mockserver.server.api import formats, serializers
from mockserver.server.api.response import explanation, redactor

JSON = dict[str, Any]


def of_event(sandbox: SandboxState, event_id: str) -> list[JSON]:
    """The deliveries of an event with their attempts; one under way has neither a status nor an error yet."""
    return [_shown(sandbox, each) for each in sandbox.outbox.of_event(event_id)]


def _shown(sandbox: SandboxState, delivery: Delivery) -> JSON:
    attempts = [_attempt(sandbox, each) | {"durationMs": each.duration_ms} for each in delivery.attempts]
    planned = sandbox.outbox.in_flight.get(delivery.webhook_id)
    if planned is not None and planned.delivery.id == delivery.id:
        attempts.append({"at": format_exact(planned.at)})
    return {"endpoint": delivery.webhook_id, "status": delivery.status, "attempts": attempts}


def _attempt(sandbox: SandboxState, made: Attempt) -> JSON:
    """When it was made, what came of it and, of a letter that a script has sent, what was done to it."""
    error = redactor(sandbox).text(made.error) if made.error else None  # a receiver that raised has its own words
    told = {"status": made.status, "error": error, "fault": made.fault}
    return {"at": format_exact(made.at), **{key: each for key, each in told.items() if each is not None}}


def deliveries(sandbox: SandboxState) -> JSON:
    """The deliveries and the events that nobody took yet; how long an attempt took in real time is no part of it."""
    outbox = sandbox.outbox
    rows = [
        {
            "id": each.id,
            "eventId": each.event.id,
            "endpoint": each.webhook_id,
            "status": each.status,
            "due": format_exact(each.due),
            "attempts": [_attempt(sandbox, made) for made in each.attempts],
        }
        for each in outbox.deliveries.values()
    ]
    return {"deliveries": rows, "storedEvents": [each.id for each in outbox.unclaimed_events]}


# Fields that hold an instant; everything else is shown as it is.
_INSTANTS = frozenset(
    ("created_at", "updated_at", "birth_date", "last_message_at", "last_update_at", "started_at", "ended_at", "expires_at", "uploaded_at",
     "consumed_at")
)  # fmt: skip

# Keys of fields and tables that are not the attribute's name in camelCase.
_KEYS: Mapping[tuple[type, str], str] = {(Execution, "schedule"): "sends", (HostedFlow, "started_at"): "begunAt"}
_TABLE_KEYS: Mapping[str, str] = {"hosted_flows": "walks"}

_SECRETS = ("secret", "old_secret", "token")
_AS_JSON = frozenset((str, int, float, bool, type(None)))  # types that are the same as JSON
_NOT_AS_JSON = _INSTANTS.union(_SECRETS)  # but in these fields

STATE_CHATS = 10_000  # chats of a tenant, and targets of an execution, in one answer

FieldKeys = tuple[tuple[str, str], ...]


def clock(sandbox: SandboxState) -> JSON:
    """Now, and whether the clock stands still."""
    return {"now": format_exact(sandbox.read_clock()), "frozen": sandbox.clock.frozen}


def fired(happened: list[FiredTimer]) -> list[JSON]:
    """What time did, in order."""
    return [{"at": format_exact(each.at), "what": each.what, "id": each.id} for each in happened]


def choices(sandbox: SandboxState) -> JSON:
    """Every choice with its question, its options and the value in force."""
    rows, values = CHOICES.values(), dict(sandbox.choices)  # a copy: to show a choice is not to act on it
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


def tenant(sandbox: SandboxState, owner: Tenant) -> JSON:
    """A tenant's settings, every key in its short form."""
    return {
        "tenantId": owner.id,
        "name": redactor(sandbox).text(owner.name),
        "developersEnabled": owner.developers_enabled,
        "subscription": owner.subscription,
        "secretKey": mask(owner.secret_key),
        "publicKey": mask(owner.public_key),
    }


def state(sandbox: SandboxState, *, chats: int = STATE_CHATS, chats_from: int = 0) -> JSON:
    """
    The state as JSON: clock, choices, tenants with their records. Equal states give equal bytes.

    Of each tenant it has `chats` chats, after the first `chats_from`, and their number `chatCount`; of each execution as
    many targets.
    """
    page = slice(chats_from, chats_from + chats)
    world: JSON = {
        "clock": {"now": format_exact(sandbox.now), "frozen": sandbox.clock.frozen},
        "seed": sandbox.seed,
        "choices": dict(sorted(sandbox.choices.items())),
        "tenants": [_tenant_state(sandbox, each, page) for each in sandbox.tenants.values()],
        "rules": rules(sandbox),
        **deliveries(sandbox),
    }
    return world


def rules(sandbox: SandboxState) -> list[JSON]:
    """The rules in force, in order, with their counts; keys that stand in them in their short form."""
    return [redactor(sandbox).value(dict(each)) for each in describe_rules(sandbox.rule_set)]


def _tenant_state(sandbox: SandboxState, owner: Tenant, page: slice) -> JSON:
    hide, tables = (
        redactor(sandbox),
        {**tenant(sandbox, owner), "country": owner.country, "chatCount": len(owner.chats)},
    )
    for table in TABLES:
        rows = getattr(owner, table)
        if table == "executions":
            shown = [_execution(sandbox, each, page.stop - page.start) for each in rows.values()]
        else:
            shown = [_plain(sandbox, each) for each in (rows.rows[page] if table == "chats" else rows.values())]
        tables[_TABLE_KEYS.get(table, table)] = (
            hide.value(shown) if hide.contains_secret(json.dumps(shown, ensure_ascii=False, default=str)) else shown
        )
    tables["messages"] = [each for chat in tables["messages"] for each in chat]
    return tables


def _execution(sandbox: SandboxState, record: Execution, targets: int) -> JSON:
    """An execution with the ids of its template and of its first targets."""
    shown = _fields(sandbox, record, _keys(Execution))
    return {**shown, "targets": [chat.id for chat in record.targets[:targets]], "template": record.template.id}


def _plain(sandbox: SandboxState, value: Any, name: str = "") -> Any:
    """A record as JSON: camelCase keys, instants as text, contents in short, secrets redacted."""
    if name in _SECRETS:
        return value and mask(value)
    if name in _INSTANTS and isinstance(value, int):
        return format_exact(value)
    if isinstance(value, SendSchedule):
        return counts(value, sandbox.now)._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(sandbox, value, _keys(type(value)))
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, Mapping):
        return {key: _plain(sandbox, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(sandbox, each) for each in value]
    return value


def _fields(sandbox: SandboxState, record: Any, keys: FieldKeys) -> JSON:
    """The record's fields; a value that is the same as JSON is taken as it is, since most are."""
    values = ((key, name, getattr(record, name)) for name, key in keys)
    return {
        key: value if type(value) in _AS_JSON and name not in _NOT_AS_JSON else _plain(sandbox, value, name)
        for key, name, value in values
    }


@cache
def _keys(record: type) -> FieldKeys:
    """The fields of a record with the keys under which they are shown."""
    hidden = ("state_version", "targets", "template") if record is Execution else ("state_version",)
    visible = (field.name for field in fields(record) if field.name not in hidden)
    return tuple((name, _KEYS.get((record, name)) or camel_case(name)) for name in visible)


def events(sandbox: SandboxState) -> JSON:
    """One entry an event, oldest first, also where no endpoint takes it."""
    view = formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, "")
    spell = formats.with_unknown_fields if sandbox.choices["additive-fields"] != "none" else dict
    hide = redactor(sandbox)
    rows = ((happened, hide.value(spell(serializers.event(view, happened)))) for happened in sandbox.events)
    return {
        "events": [
            {
                "id": happened.id,
                "at": format_exact(happened.at),
                **envelope,
                "deliveries": of_event(sandbox, happened.id),
            }
            for happened, envelope in rows
        ]
    }


def exchange(kept: JournalEntry, hide: Redactor) -> JSON:
    """An exchange as the journal shows it, every key in its short form."""
    call = kept.call
    request: JSON = {
        "method": call.method,
        "path": call.path,
        "query": dict(call.query),
        "headers": dict(call.headers),
        "body": kept.body if kept.body is not None else _body_text(call.body),
        **_cut(call.cut_from_bytes if kept.body is None else None),
    }
    response = (
        not kept.is_held
        and kept.status
        and {
            "status": kept.status,
            "headers": dict(kept.headers),
            "body": _json_or_text(kept.answer),
            **_cut(kept.answer_cut_from_bytes),
        }
    )
    reason = explanation(kept.error, hide) if kept.error else None
    shown: JSON = {
        "n": kept.n,
        "at": format_exact(kept.at),
        "operation": kept.operation,
        "tenantId": kept.tenant_id,
        "request": hide.value(request),
        "response": hide.value(response) if response else None,
        "applied": kept.applied,
        "fault": kept.fault and {"rule": kept.fault.rule, "effects": hide.value(kept.fault.effects)},
        "reason": reason,
        "choices": dict(kept.choices),
    }
    return shown


def _cut(whole_bytes: int | None) -> JSON:
    """The mark of a body that is only the beginning of the whole one; nothing where it is whole."""
    return {} if whole_bytes is None else {"cutFromBytes": whole_bytes}


def _body_text(body: bytes | None) -> str | None:
    return body.decode("utf-8", "replace") if body else None


def _json_or_text(body: bytes) -> Any:
    if not body:
        return None
    value = json_value(body, ABSENT)  # the body of a scripted reply may be anything
    return body.decode("utf-8", "replace") if value is ABSENT else value


def transition(moved: Transition) -> JSON:
    """A transition as the journal shows it."""
    return {
        "n": moved.n,
        "at": format_exact(moved.at),
        "kind": moved.kind,
        "id": moved.id,
        "from": moved.source,
        "to": moved.target,
        "cause": dict(moved.cause),
    }


def journal(
    sandbox: SandboxState,
    *,
    operations: tuple[str, ...] | None = None,
    status: int | None = None,
    since: int = 0,
    limit: int | None = None,
) -> JSON:
    """Exchanges, oldest first, after number `since`, of some operations or a status where asked; and every transition."""
    hide = redactor(sandbox)
    wanted = [
        each
        for each in sandbox.journal.since(since)
        if (operations is None or each.operation in operations) and status in (None, each.status)
    ]
    return {
        "exchanges": [exchange(each, hide) for each in wanted[:limit]],
        "transitions": [transition(each) for each in sandbox.journal.transitions],
    }
