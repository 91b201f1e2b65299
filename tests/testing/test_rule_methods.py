"""Python and documents have the same words: each condition and effect of a document is a method, with the same arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver._json import JSON
from mockserver.contract import schemas
from mockserver.contract.effects import EFFECTS
from mockserver.contract.effects.deliveries import DeliveryMethods
from mockserver.contract.effects.model import EffectMethods
from mockserver.contract.effects.state import StateMethods
from mockserver.contract.effects.wire import WireMethods
from mockserver.testing.rules.builder import RuleBuilder
from mockserver.testing.sandbox import Sandbox
from tests.harness.rows import each_row

SCHEMA = schemas.load("scenario")
DEFINITIONS = SCHEMA["$defs"]
RULE = DEFINITIONS["rule"]["properties"]
EFFECTS_SCHEMA = DEFINITIONS["effects"]["properties"]
METHODS = (EffectMethods, WireMethods, StateMethods, DeliveryMethods)
TRIGGERS = ("on", "at", "after")
KEYWORDS = {"from": "from_", "while": "while_"}
# Effects whose argument is one value, or any object: the names of their parameters.
WHOLE = {
    "error": {"code", "retry_after"},
    "delay": {"by"},
    "delay-after": {"by"},
    "drop": {"when"},
    "reset": {"when"},
    "truncate": {"body_bytes"},
    "bad-gateway": {"when", "status", "server"},
    "garble": set(),
    "stale": set(),
    "given": {"given"},
    "rate-limit": {"requests", "per"},
    "set-choice": {"choices"},
    "advance": {"by"},
}


def own_methods(kind: type[Any]) -> set[str]:
    return {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: "_" + found[0].lower(), name).replace("-", "_")


def parameters(method: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(method).parameters) - {"self"}


def properties(effect: str) -> set[str]:
    schema = EFFECTS_SCHEMA[effect]
    reference = schema.get("$ref")
    return set((DEFINITIONS[reference.rpartition("/")[2]] if reference else schema).get("properties", ()))


def test_each_effect_of_a_document_is_a_method_and_each_method_an_effect() -> None:
    assert {snake(name) for name in EFFECTS} | {"do"} == {name for kind in METHODS for name in own_methods(kind)}


@each_row("effect", EFFECTS)
def test_a_method_takes_what_its_effect_takes_under_the_same_names(effect: str) -> None:
    expected = WHOLE.get(effect) if effect in WHOLE else {snake(name) for name in properties(effect)}

    assert expected == parameters(getattr(RuleBuilder, snake(effect)))


class Written(WireMethods[JSON], StateMethods[JSON], DeliveryMethods[JSON]):
    """Methods that return the effects which they write."""

    def do(self, effects: Mapping[str, Any]) -> JSON:
        return dict(effects)


@each_row("effect", EFFECTS.keys() - WHOLE.keys() - {"reply"})
def test_an_argument_of_a_method_is_the_member_of_its_name(effect: str) -> None:
    members = {name: [name] for name in properties(effect)}
    arguments = {snake(name): value for name, value in members.items()}

    assert {effect: members} == getattr(Written(), snake(effect))(**arguments)


def test_each_condition_of_a_document_is_a_method_and_each_method_a_condition() -> None:
    conditions = set(RULE) - {*TRIGGERS, "do"}

    assert {KEYWORDS.get(name, snake(name)) for name in conditions} | {"do", "may_fire"} == own_methods(RuleBuilder)


def test_each_trigger_of_a_document_is_a_method() -> None:
    assert set(TRIGGERS) <= own_methods(Sandbox)


def test_apply_takes_each_part_of_a_document_that_a_sandbox_can_take() -> None:
    assert set(SCHEMA["properties"]) - {"scenario", "summary", "clauses", "seed", "calls", "version"} == parameters(
        Sandbox.apply
    ) - {"document"}


@pytest.mark.parametrize("arguments", [(({}), {"given": {}}), ((), {})], ids=["both", "neither"])
def test_apply_takes_a_document_or_its_parts(mockserver: Sandbox, arguments: tuple[Any, JSON]) -> None:
    positional, parts = arguments

    with pytest.raises(ValueError, match="expected a document"):
        mockserver.apply(*([positional] if parts else []), **parts)


def test_a_rule_without_an_effect_shows_that_it_is_not_in_force(mockserver: Sandbox) -> None:
    rule = mockserver.on("createCampaign").nth(1).may_fire()

    assert "<RuleBuilder {'on': 'createCampaign', 'nth': 1}, not in force until it has an effect>" == repr(rule)
    assert [] == mockserver.rules
    rule.garble()
    assert 1 == len(mockserver.rules)
