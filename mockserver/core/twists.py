"""What a script can do to one attempt at a delivery, as data, and the one place where a script is asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mockserver.contract.durations import parse_duration
from mockserver.core.instants import Span
from mockserver.core.rules import Scope
from mockserver.core.script import Moment

if TYPE_CHECKING:
    from mockserver.core.outbox import Delivery
    from mockserver.core.sandbox import Sandbox

Forgery = Literal[
    "no-signature", "wrong-secret", "old-timestamp", "changed-body", "changed-id", "other-tenant", "junk-header"
]
Spelling = Literal["escaped", "spaced", "reordered-keys"]


@dataclass(frozen=True, slots=True)
class Twists:
    """
    What happens to one attempt beside the plain course of things.

    `duplicate` more copies follow once the endpoint has accepted. `reorder` has it change places with the next event
    to that endpoint, `delay` has it wait aside while later ones pass; `lose` has it never leave, and count as accepted.
    `before_answer` sends it while the answer of the call that caused it is still out. A `forge`d letter and one of an
    `unknown_kind` go beside the true one. `old_secret` signs with a former secret too, `spell` writes the body otherwise.
    """

    duplicate: int = 0
    reorder: bool = False
    delay: Span = 0
    lose: bool = False
    before_answer: bool = False
    forge: Forgery | None = None
    old_secret: bool = False
    spell: Spelling | None = None
    unknown_kind: str | None = None


NO_TWISTS = Twists()


def sandbox_twists(sandbox: Sandbox, delivery: Delivery, attempt_no: int) -> Twists:
    """
    What the sandbox's script does to this attempt, the first being 1; asked once for each attempt.

    Of several rules that fire the first in order has its say on each part; the effects of all on the world run.
    """
    if not sandbox.script.rules:
        return NO_TWISTS
    from mockserver.core import world  # it moves sessions, whose events are delivered: a circle otherwise

    scope = Scope(delivery.tenant_id, session=delivery.event.session)
    moment = Moment(sandbox.seed, sandbox.now, lambda rule: world.fits(sandbox, rule.condition, scope))
    wanted: dict[str, Any] = {}
    for rule in sandbox.script.meet_delivery(delivery.event.kind, attempt_no, moment):
        wanted = _read(rule.twists or {}) | wanted
        world.run(sandbox, rule, scope)
    return Twists(**wanted)


def _read(written: Mapping[str, Any]) -> dict[str, Any]:
    """A document's `deliver` as the fields of `Twists`."""
    fields = {key.replace("-", "_"): value for key, value in written.items()}
    return fields | ({"delay": parse_duration(fields["delay"])} if "delay" in fields else {})
