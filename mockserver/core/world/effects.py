"""The world effects by name, and running those of a rule that has fired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from mockserver.contract import choices
from mockserver.contract.limits import ADVANCES_MAX_DEPTH
from mockserver.core.rules import Rule, Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.script import StorageFault
from mockserver.core.world import links, records, runs
from mockserver.core.world.scope import Unmet

Act = Callable[[Sandbox, Rule, Scope, Any], None]


def fail_media(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """Storage fails for these files: of this very upload where one triggered it, else from now on."""
    sandbox.script.storage = StorageFault(args.get("ratio"), args.get("every"), tuple(args.get("names", ())))


def give(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    sandbox.stage.give(sandbox, args)


def rate_limit(sandbox: Sandbox, rule: Rule, scope: Scope, args: Any) -> None:
    set_choice(sandbox, rule, scope, {"rate-limit-numbers": args})


def set_choice(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    chosen = sandbox.choices.copy() if isinstance(sandbox.choices, dict) else dict(sandbox.choices)
    for choice_id, value in args.items():
        chosen[choice_id] = choices.merged(choice_id, chosen[choice_id], value)
    sandbox.choices = chosen


def advance(sandbox: Sandbox, rule: Rule, scope: Scope, by: int) -> None:
    """Let time pass; rules that fall due meanwhile may do the same, to a depth that no stack minds."""
    if sandbox.advances >= ADVANCES_MAX_DEPTH:
        bound = f"the mock's own bound: {ADVANCES_MAX_DEPTH} rules deep"
        raise Unmet(f"{sandbox.advances} rules are letting time pass already, one within another ({bound})")
    sandbox.advances += 1
    try:
        sandbox.stage.advance(sandbox, by)
    finally:
        sandbox.advances -= 1


# Effects that bend how the operation itself runs, and so come before it whatever the rule says.
OF_THE_OPERATION = ("fail-media",)

WORLD: Mapping[str, Act] = MappingProxyType(
    {
        "complete-session": links.complete_session,
        "fail-session": links.fail_session,
        "expire-session": links.expire_session,
        "cancel-session": links.cancel_session,
        "visit-link": links.visit_link,
        "fail-campaign": runs.fail_campaign,
        "stall-sends": runs.stall_sends,
        "resume-sends": runs.resume_sends,
        "slow-sends": runs.slow_sends,
        "fail-sends": runs.fail_sends,
        "set-tenant": records.set_tenant,
        "revoke-key": records.revoke_key,
        "rotate-key": records.rotate_key,
        "set-template": records.set_template,
        "remove-template": records.remove_template,
        "remove-funnel": records.remove_funnel,
        "remove-entrypoint": records.remove_entrypoint,
        "fail-media": fail_media,
        "given": give,
        "rate-limit": rate_limit,
        "set-choice": set_choice,
        "advance": advance,
    }
)


def run(sandbox: Sandbox, rule: Rule, scope: Scope, part: Literal["whole", "bending", "following"] = "whole") -> None:
    """
    Run the rule's world effects in order; what meets nothing to act on is noted in the rule's entry.

    `bending` are those alone that bend how an operation runs, `following` the others.
    """
    for name, args in rule.world:
        if part != "whole" and (part == "bending") != (name in OF_THE_OPERATION):
            continue
        try:
            WORLD[name](sandbox, rule, scope, args)
        except ValueError as refusal:
            sandbox.script.unmet[rule.id] = f"{name}: {refusal}"


__all__ = ["WORLD", "Unmet", "run"]
