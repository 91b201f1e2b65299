"""Asking a sandbox's script what it does to an attempt at a delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.core import world
from mockserver.core.outbox import Delivery
from mockserver.core.rules import Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.script import Moment
from mockserver.core.twists import NO_TWISTS, Twists


def of_script(sandbox: Sandbox, delivery: Delivery, attempt_no: int) -> Twists:
    """
    What the sandbox's script does to this attempt, the first being 1; asked once for each attempt.

    Of several rules that fire the first in order has its say on each part; the effects of all on the world run.
    """
    if not sandbox.script.rules:
        return NO_TWISTS
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
