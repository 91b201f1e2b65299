"""The seeding of one tenant: its records, the problems, and the ids created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.text import nearest
from mockserver.core.instants import EARLIEST, LATEST, Instant, as_shown, parse
from mockserver.core.redaction import to_json_text
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.scenario.problems import Problem

Entry = Mapping[str, Any]

_HINTED_MAX = 100  # problems with a nearest name, each of which has to be searched for


class Seeding:
    """The seeding of one tenant: its records, the problems, and the ids created, by kind."""

    def __init__(
        self,
        sandbox: SandboxState,
        tenant: Tenant,
        problems: list[Problem],
        created: dict[str, list[str]],
        secrets: dict[str, str],
    ) -> None:
        self.sandbox = sandbox
        self.tenant = tenant
        self.problems = problems
        self.created = created
        self.secrets = secrets  # assigned to webhooks, by id
        self._made: dict[str, set[str]] = {}  # the ids of `created` that were asked for, to be looked up

    def add_problem(self, path: str, found: object, wanted: str, known: Any = ()) -> None:
        hint = nearest(found, known) if len(self.problems) < _HINTED_MAX else None
        self.problems.append(Problem(path, to_json_text(found), wanted, hint))

    def assign_id(self, kind: str, prefix: str, entry: Entry, path: str) -> str:
        """The entry's own id, refused where it is taken, or a fresh one."""
        given = entry.get("id")
        if given is None:
            made = self.sandbox.new_id(prefix)
        else:
            made = given
            if kind not in self._made:
                self._made[kind] = set(self.created.get(kind, ()))
            if self.sandbox.has_id(made) or made in self._made[kind]:
                self.add_problem(f"{path}/id", made, "an id that nothing in the sandbox has yet")
            self._made[kind].add(made)
        self.created.setdefault(kind, []).append(made)
        return made

    def instant(self, entry: Entry, key: str, path: str, default: Instant) -> Instant:
        written = entry.get(key)
        if written is None:
            return default
        read = parse(written)
        if read is None or not EARLIEST <= read[0] <= LATEST:
            self.add_problem(f"{path}/{key}", written, "a day and time that exist, as RFC 3339")
            return default
        return as_shown(read[0])

    def require_funnel_step(self, entry: Entry, path: str) -> str | None:
        """The funnel step that an entry names, which must be there."""
        step_id: str | None = entry.get("funnelStepId")
        if step_id is not None and self.tenant.funnel_of_step(step_id) is None:
            steps = [step for funnel in self.tenant.funnels.values() for step, _ in funnel.steps]
            self.add_problem(f"{path}/funnelStepId", step_id, "a step of one of the tenant's funnels", steps)
        return step_id
