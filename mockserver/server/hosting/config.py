"""The config of a new sandbox: the document it begins with, its seed, and the records it is filled with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.core.redaction import to_json_text
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario import library
from mockserver.scenario.apply import apply, create_default_tenant
from mockserver.scenario.choices import merge_choices
from mockserver.scenario.documents import Document, validate

SEED_MAX = 2**53 - 1


class SandboxConfig(NamedTuple):
    """
    Configuration of a new sandbox: the scenario is applied first, then choices, clock and seed data.

    Attributes:
        scenario: the name of a library scenario, or a document.
        seed: of ids, keys and chances; None for the scenario's, else the host's default.
        choices: options by id, which take precedence over the scenario's.
        clock: `freeze` or `follow`, which takes precedence over the scenario's.
        given: seed data in addition to the scenario's.
        key_label: what the keys follow from in addition to the seed, unless this or the scenario sets one.
        labels: the client's own names for what the sandbox is used for, by which sandboxes are listed and ended.
    """

    scenario: str | Mapping[str, Any] | None = None
    seed: int | None = None
    choices: Mapping[str, object] | None = None
    clock: Mapping[str, Any] | None = None
    given: Mapping[str, Any] | None = None
    labels: Mapping[str, str] = MappingProxyType({})
    key_label: str = ""

    def __repr__(self) -> str:  # a document may hold keys
        return f"SandboxConfig(seed={self.seed!r})"


def config_document(config: SandboxConfig) -> Document:
    """Return the config's scenario with the config's choices and clock, before any validation."""
    raw = library.document(config.scenario) if isinstance(config.scenario, str) else config.scenario or {}
    if not isinstance(raw, Mapping):
        validate(raw)
    scenario = raw if isinstance(raw, Document) else Document(raw)
    choices, overrides = scenario.get("choices", {}), config.choices or {}
    # Choices that are not an object stay as they are: validation refuses them.
    merged = merge_choices(choices, overrides) if isinstance(choices, Mapping) else choices
    return scenario.with_settings(merged, config.clock, overrides)


def seed_in(config: SandboxConfig, document: Mapping[str, Any], default: Callable[[], int]) -> int:
    """Return the config's seed, else its document's, else the default; the document's schema refuses an invalid one."""
    if config.seed is None:
        seed = document.get("seed")
        return seed if isinstance(seed, int) and 0 <= seed <= SEED_MAX else default()
    if not 0 <= config.seed <= SEED_MAX:
        raise ValueError(f"got a seed of {to_json_text(config.seed)}; expected a whole number from 0 to {SEED_MAX}")
    return config.seed


def seed_of(sandbox_id: str, seed: int) -> int:
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


def fill(sandbox: SandboxState, document: Document, given: Mapping[str, Any] | None) -> Created:
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
