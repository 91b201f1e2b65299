"""The view of the records, and the page of one: how it reached its state, and its next steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote

from mockserver._json import JSON, View
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_parts import read_call
from mockserver.server.control.page_paths import number_in
from mockserver.server.dashboard import story
from mockserver.server.errors import ControlError

PAGE_ROWS: Final = 200
_CALLS_MAX: Final = 1_000  # the newest ones, among which those that name a record are looked for


class Kind(NamedTuple):
    """A kind of record: its table in the state, its heading, and the fields of a row."""

    name: str
    table: str
    heading: str
    fields: tuple[str, ...]


KINDS: Final = (
    Kind("campaign", "campaigns", "Campaigns", ("name", "status", "createdAt")),
    Kind("execution", "executions", "Executions", ("campaignId", "status", "sends")),
    Kind("session", "sessions", "Connection sessions", ("status", "reason", "expiresAt")),
    Kind("entrypoint", "entrypoints", "Entrypoints", ("name", "platform", "displayPhone")),
    Kind("template", "templates", "Templates", ("name", "providerStatus")),
    Kind("media", "media", "Media", ("name", "mimeType")),
    Kind("webhook", "webhooks", "Webhook endpoints", ("url", "events", "disabled")),
    Kind("chat", "chats", "Chats", ("name", "platform", "status")),
)
# The steps that a command of the control plane forces; those of a client are calls of the API.
_FORCED: Final[Mapping[tuple[str, str], tuple[JSON, ...]]] = MappingProxyType(
    {
        ("session", "complete"): (
            {"path": "sessions/{id}/complete", "label": "complete", "fields": ("phone", "name")},
        ),
        ("session", "fail"): (
            {"path": "sessions/{id}/fail", "label": "fail", "fields": ("reason",)},
            {"path": "sessions/{id}/cancel", "label": "cancel as the end user", "fields": ()},
        ),
        ("session", "expire"): ({"path": "sessions/{id}/expire", "label": "expire", "fields": ()},),
        ("campaign", "fail"): ({"path": "campaigns/{id}/fail", "label": "fail", "fields": ()},),
    }
)


def objects(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the records by kind, the newest first, or the page of one record."""
    if item:
        return "object_page.html", {"object": _one(plane, item), "reasons": FAILURE_REASONS}
    state = plane.read("readState", chats=str(PAGE_ROWS))
    kind_name, skip = query.get("kind", ""), number_in(query, "skip")
    groups = [
        _group(state, kind, skip if kind.name == kind_name else 0) for kind in KINDS if kind_name in ("", kind.name)
    ]
    return "objects.html", {
        "groups": groups,
        "kinds": KINDS,
        "kind_name": kind_name,
        "has_tenants": len(state["tenants"]) > 1,
    }


def _group(state: View, kind: Kind, skip: int) -> JSON:
    rows = list(_rows(state, kind))[::-1]
    page = rows[skip : skip + PAGE_ROWS]
    more = skip + PAGE_ROWS if len(rows) > skip + PAGE_ROWS else None
    total = len(rows) if kind.name != "chat" else sum(tenant["chatCount"] for tenant in state["tenants"])
    return {"kind": kind, "rows": page, "total": total, "more": more}


def _rows(state: View, kind: Kind) -> Iterator[JSON]:
    for tenant in state["tenants"]:
        for record in tenant[kind.table]:
            yield {
                "id": record["id"],
                "tenant": tenant["tenantId"],
                "status": record.get("status"),
                "record": record,
            }


def _one(plane: PageAccess, record_id: str) -> JSON:
    state = plane.read("readState")
    for kind in KINDS:
        for row in _rows(state, kind):
            if row["id"] == record_id:
                journal = plane.read("readJournal", last=str(_CALLS_MAX))
                return object_model(kind, row, journal, _creation(plane, journal, record_id))
    expected = "the id of a record of this sandbox"
    raise ControlError("MOCK_NOT_FOUND", f"object: got {record_id[:100]!r}; expected {expected}")


def _creation(plane: PageAccess, journal: View, record_id: str) -> View | None:
    """Return the call that has created a record; None if none has, or the journal no longer has it."""
    causes = (row["cause"] for row in journal["transitions"] if row["id"] == record_id and row["from"] is None)
    number = next((cause["exchange"] for cause in causes if "exchange" in cause), None)
    if number is None:
        return None
    return read_call(plane.snapshot().state, number)


def object_model(kind: Kind, row: View, journal: View, creation: View | None) -> JSON:
    """
    Return everything that the macro of a record shows, as plain JSON.

    Args:
        kind: of the record.
        row: with its `record`, as the state has it, its `id` and its `tenant`.
        journal: as the control plane answers.
        creation: the call that has created the record, if one has.
    """
    changes = [change for change in journal["transitions"] if change["id"] == row["id"]]
    status = row["status"] or ""
    hosted = _hosted_page(creation) if kind.name == "session" and status == "pending" and creation else None
    return {
        "kind": kind.name,
        "heading": kind.heading,
        "id": row["id"],
        "tenant": row["tenant"],
        "status": status,
        "record": row["record"],
        "history": [{**change, "cause": story.cause_of(change)} for change in reversed(changes)],
        "steps": _steps(kind.name, status, row["id"]),
        "hosted_page": hosted,
        "related": _related(row["record"], journal["exchanges"], row["id"]),
    }


def _steps(kind: str, status: str, record_id: str) -> list[JSON]:
    """Return the legal next steps that a command forces."""
    table = LIFECYCLES.get(kind)
    steps: list[JSON] = []
    for step in table.steps if table is not None else ():
        forced = _FORCED.get((kind, step.trigger), ()) if step.source == status else ()
        for row in forced:
            body = {name: f"${name}" for name in row["fields"]}  # of which the page's script replaces each value
            steps.append({**row, "path": row["path"].replace("{id}", record_id), "to": step.target, "body": body})
    return steps


def _hosted_page(creation: View) -> str | None:
    """Return the path of a session's hosted page, below the sandbox, as the answer to its creation has it."""
    body = (creation["response"] or {}).get("body")
    url = body.get("url") if isinstance(body, Mapping) else None
    if not isinstance(url, str) or "/connect/" not in url:
        return None
    return f"/connect/{quote(url.partition('/connect/')[2], safe='')}"


def _related(record: View, exchanges: list[View], record_id: str) -> JSON:
    """Return the ids of other records that this one names, and the latest calls that name this one."""
    ids = [value for name, value in record.items() if name.endswith("Id") and isinstance(value, str)]
    ids += record.get("executionIds", ())
    calls = [story.call_row(row) for row in exchanges if record_id in row["request"]["path"].split("/")]
    return {"ids": ids, "calls": calls[:-21:-1]}
