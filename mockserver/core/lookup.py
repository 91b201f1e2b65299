"""Finding a record by its id, and refusing by the code that the choice `cross-tenant-code` gives another tenant's."""

from __future__ import annotations

from typing import Any

from mockserver.core.calls import ApiError
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant, holds


def find(
    sandbox: Sandbox, tenant: Tenant, table: str, record_id: str, *, code: str, clause: str, at: str = "path.id"
) -> Any:
    """
    The tenant's record of this id.

    Refuses an unknown id with `code`, and another tenant's likewise or with RESOURCE_ACCESS_DENIED, by choice.
    """
    found = getattr(tenant, table).get(record_id)
    if found is not None:
        return found
    elsewhere = any(holds(other, table, record_id) for other in sandbox.tenants.values() if other is not tenant)
    if elsewhere and sandbox.choices["cross-tenant-code"] == "access-denied":
        raise ApiError(
            "RESOURCE_ACCESS_DENIED",
            clause="auth.denied",
            at=at,
            reason=f"{record_id!r} belongs to another tenant than the key",
        )
    whose = "another tenant has it" if elsewhere else f"the tenant has {_known(tenant, table)}"
    raise ApiError(code, clause=clause, at=at, reason=f"no {table} record with id {record_id!r}; {whose}")


def _known(tenant: Tenant, table: str) -> str:
    rows = getattr(tenant, table)
    first = ", ".join(list(rows)[:3]) if len(rows) <= 1000 else next(iter(rows))
    return f"{len(rows)} ({first}{', ...' if len(rows) > 3 else ''})" if len(rows) else "none"
