"""The context in which the seed data of one tenant becomes records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.instants import Instant, as_shown, usable
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.scenario.problems import Problems

Entry = Mapping[str, Any]


def placed(entries: Sequence[Entry], path: str) -> Iterator[tuple[str, Entry]]:
    """Yield each entry of a list with its JSON Pointer."""
    return ((f"{path}/{number}", entry) for number, entry in enumerate(entries))


class SeedContext:
    """
    The tenant that receives seed data, with the problems and the created ids.

    Args:
        sandbox: The tenant's sandbox.
        tenant: The tenant; the builders add records to it.
        problems: Receives the problems of the entries.
        created: Receives the ids of the new records, by kind.
        secrets: Receives the assigned signing secrets, by webhook id.

    Lifetime: one application of a document.
    """

    def __init__(
        self,
        sandbox: SandboxState,
        tenant: Tenant,
        problems: Problems,
        created: dict[str, list[str]],
        secrets: dict[str, str],
    ) -> None:
        self.sandbox = sandbox
        self.tenant = tenant
        self.problems = problems
        self.created = created
        self.secrets = secrets
        self._given_ids: dict[str, set[str]] = {}  # by kind, for a fast search

    def shared_seq(self, entries: Sequence[Entry]) -> int:
        """Return one number in the order of creation for a whole list: of equal instants, listings keep its order."""
        return min((self.sandbox.next_seq() for _ in entries), default=0)

    def assign_id(self, kind: str, prefix: str, entry: Entry, path: str, key: str = "id") -> str:
        """Return the entry's own id, or a new one; an own id in use is a problem."""
        record_id = entry.get(key)
        if record_id is None:
            record_id = self.sandbox.new_id(prefix)
        else:
            if kind not in self._given_ids:
                self._given_ids[kind] = set(self.created.get(kind, ()))
            if self.sandbox.has_id(record_id) or record_id in self._given_ids[kind]:
                self.problems.add(f"{path}/{key}", record_id, "an id that is not in use in the sandbox")
            self._given_ids[kind].add(record_id)
        self.created.setdefault(kind, []).append(record_id)
        return str(record_id)

    def instant(self, entry: Entry, key: str, path: str, default: Instant) -> Instant:
        """Return the instant of a field as responses show it, or the default; a text that is not one is a problem."""
        written = entry.get(key)
        if written is None:
            return default
        instant, wanted = usable(written)
        if wanted:
            self.problems.add(f"{path}/{key}", written, wanted)
            return default
        return as_shown(instant)

    def require_funnel_step(self, entry: Entry, path: str) -> str | None:
        """Return the funnel step of an entry, if it names one; an unknown step is a problem."""
        step_id: str | None = entry.get("funnelStepId")
        if step_id is not None and self.tenant.funnel_of_step(step_id) is None:
            steps = [step for funnel in self.tenant.funnels.values() for step, _ in funnel.steps]
            self.problems.add(f"{path}/funnelStepId", step_id, "a step of one of the tenant's funnels", steps)
        return step_id
