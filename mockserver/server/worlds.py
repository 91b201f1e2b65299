"""
The state of a sandbox as objects by id, and the differences between two such states.

1. A world is the view of the state with each list of records as an object by id, so that a difference names a record.
2. `WorldReader` reads the state many times: what has not changed since is the same object as before, which `differences`
   skips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mockserver._json import JSON
from mockserver.core.instants import format_exact
from mockserver.core.operations.sending import counts
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import TABLES, Tenant
from mockserver.server.control import views

Path = list[str]
Change = list[Any]  # [path, value], or [path] of a member that is no longer there
_ROWS: Final = 20  # chats of a tenant, and targets of an execution; the former have their whole number next to them


def world(state: Mapping[str, Any]) -> JSON:
    """Return the view of the state, as `readState` returns it, as objects by id."""
    return {
        **state,
        "tenants": {tenant["tenantId"]: _tenant(tenant) for tenant in state["tenants"]},
        "rules": _by_id(state["rules"]),
        "deliveries": _by_id(state["deliveries"]),
    }


def _tenant(tenant: Mapping[str, Any]) -> JSON:
    return {key: _by_id(value) if isinstance(value, list) else value for key, value in tenant.items()}


def _by_id(rows: Iterable[Mapping[str, Any]]) -> JSON:
    return {row["sessionId"] if "id" not in row else row["id"]: row for row in rows}


class WorldReader:
    """
    Reads the world of one sandbox again and again.

    Lock: the caller holds the sandbox's lock, or no other thread uses the sandbox.
    """

    def __init__(self, sandbox: SandboxState) -> None:
        self._sandbox = sandbox
        self._rows: dict[tuple[str, str, str], tuple[Any, JSON]] = {}  # by tenant, table and key: record, objects by id
        self._choices: JSON = {}

    def read(self) -> JSON:
        """Return the world now, with at most `_ROWS` chats of each tenant."""
        sandbox = self._sandbox
        if sandbox.choices != self._choices:
            self._choices = dict(sorted(sandbox.choices.items()))
        delivered = views.deliveries(sandbox)
        return {
            "clock": {"now": format_exact(sandbox.now), "frozen": sandbox.clock.frozen},
            "seed": sandbox.seed,
            "choices": self._choices,
            "tenants": {tenant.id: self._tenant(tenant) for tenant in sandbox.tenants.values()},
            "rules": _by_id(views.rules(sandbox)),
            "deliveries": _by_id(delivered["deliveries"]),
            "storedEvents": delivered["storedEvents"],
        }

    def _tenant(self, tenant: Tenant) -> JSON:
        settings = {**views.tenant(self._sandbox, tenant), "country": tenant.country, "chatCount": len(tenant.chats)}
        return settings | {views.table_key(table): dict(self._table(tenant, table)) for table in TABLES}

    def _table(self, tenant: Tenant, table: str) -> Iterator[tuple[str, Any]]:
        rows = getattr(tenant, table)
        entries = ((chat.id, chat) for chat in rows.rows[:_ROWS]) if table == "chats" else rows.items()
        for key, record in entries:
            place = (tenant.id, table, key)
            known = self._rows.get(place)
            if known is None or known[0] is not record:
                row = views.row(self._sandbox, table, record, _ROWS)
                known = self._rows[place] = (record, _by_id(row) if table == "messages" else {key: row})
            elif table == "executions":
                # The counts follow from the clock, not from the record.
                now = counts(record.schedule, self._sandbox.now)._asdict()
                if known[1][key]["sends"] != now:
                    known = self._rows[place] = (record, {key: {**known[1][key], "sends": now}})
            yield from known[1].items()


def differences(before: Mapping[str, Any], after: Mapping[str, Any], path: Path | None = None) -> Iterator[Change]:
    """Yield the changes from one world to the next, such as `[["tenants", "t", "campaigns", "c", "status"], "draft"]`."""
    path = path or []
    for key in before:
        if key not in after:
            yield [[*path, key]]
    for key, value in after.items():
        known = before.get(key)
        if key in before and (known is value or known == value):
            continue
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            yield from differences(known, value, [*path, key])
        else:
            yield [[*path, key], value]


def apply(world: JSON, changes: Iterable[Change]) -> None:
    """Change a world to the next one."""
    for path, *value in changes:
        inner = world
        for key in path[:-1]:
            inner = inner[key]
        if value:
            inner[path[-1]] = value[0]
        else:
            del inner[path[-1]]
