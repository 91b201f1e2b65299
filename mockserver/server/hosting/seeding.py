"""The seed of a new sandbox, and its seed data: its default tenant, its scenario and what is given in addition."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from mockserver.core.redaction import to_json_text
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.apply import apply, create_default_tenant
from mockserver.scenario.documents import Document

SEED_MAX: Final = 2**53 - 1


def seed_of_config(configured: int | None, document: Mapping[str, Any], default: Callable[[], int]) -> int:
    """Return the configured seed, else its document's, else the default; the document's schema refuses an invalid one."""
    if configured is None:
        seed = document.get("seed")
        return seed if isinstance(seed, int) and 0 <= seed <= SEED_MAX else default()
    if not 0 <= configured <= SEED_MAX:
        raise ValueError(f"got a seed of {to_json_text(configured)}; expected a whole number from 0 to {SEED_MAX}")
    return configured


def seed_of_id(sandbox_id: str, seed: int) -> int:
    """Return the seed of a sandbox of a host with this default seed: the same in each run, and another for each id."""
    digest = hashlib.sha256(f"{seed}/{sandbox_id}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


class Created(NamedTuple):
    """
    The seed data of a new sandbox.

    Attributes:
        ids: The ids of the records, by kind.
        secrets: The signing secrets assigned to webhooks that have none in the seed data, by webhook id.
    """

    ids: dict[str, list[str]]
    secrets: dict[str, str]


def seed_sandbox(sandbox: SandboxState, document: Document, given: Mapping[str, Any] | None) -> Created:
    """Give a new sandbox its default tenant, its scenario and the seed data `given`."""
    create_default_tenant(sandbox)
    created = Created({}, {})
    for part in (document, {"given": given} if given else None):
        if not part:
            continue
        applied = apply(sandbox, part, is_new=True)
        created.secrets.update(applied.secrets)
        for kind, ids in applied.created.items():
            created.ids.setdefault(kind, []).extend(ids)
    return created
