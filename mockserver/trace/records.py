"""The records that a trace shows, as far as it shows them: of a sandbox its own, of a recording what answers say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockserver.core.instants import Instant
from mockserver.core.state.records import Chat

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class End(NamedTuple):
    """How a record ended: its final status, when, and whether a rule forced it."""

    status: str
    at: Instant
    is_by_rule: bool


class SeenTemplate(NamedTuple):
    """A template: its id, the keys of its manual variables, and when it was last changed."""

    id: str
    manual: frozenset[str]
    changed_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCampaign:
    """A campaign; `status` is the present one, and `template` None if the trace does not show it."""

    id: str
    tenant: str
    name: str
    platform: str
    template_id: str
    cadence: int
    filters: Any
    status: str
    template: SeenTemplate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenExecution:
    """An execution with the values that it was started with; `targets` are its chats, of a recording none."""

    id: str
    campaign_id: str
    values: Mapping[str, Any]
    template: SeenTemplate
    targets: Sequence[Chat]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSession:
    """A connection session; `expires_at` is by the clock of the trace, None if that is unknown."""

    id: str
    status: str
    return_url: str | None
    expires_at: Instant | None


class Records(NamedTuple):
    """
    Records by their ids, in order of creation.

    `created` has the number of the exchange that created each of them, if a call did. `ends` says how each has ended; of a
    recording it is empty.
    """

    campaigns: Mapping[str, SeenCampaign] = _NONE
    executions: Mapping[str, SeenExecution] = _NONE
    sessions: Mapping[str, SeenSession] = _NONE
    created: Mapping[str, int] = _NONE
    ends: Mapping[str, End] = _NONE
