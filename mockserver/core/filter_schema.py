"""The filter schema: the contract's own table, served."""

from __future__ import annotations

from mockserver.contract.filters import catalog
from mockserver.core.calls import Call, Shown
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def read(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """Fields, operators and value formats, from the table that validates (filters.schema)."""
    return Shown(catalog())
