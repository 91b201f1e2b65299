"""Rules in force in one line, and effects in the words of the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Final

from mockserver.contract.effects import EFFECTS, WIRE_FAULTS

# The conditions that follow the occasion of a rule, with their words.
_FURTHER: Final = {
    "where": "where {}",
    "while": "while {}",
    "skip": "after the first {}",
    "times": "{} times at most",
    "chance": "with chance {}",
    "from": "from {}",
    "until": "until {}",
}


def describe_rule(rule: Mapping[str, Any]) -> str:
    """Return what a rule does, as in its document, in one line: `drop after at the 2nd startCampaign, where path.id c`."""
    further = "".join(f", {words.format(_inline(rule[key]))}" for key, words in _FURTHER.items() if key in rule)
    return f"{_inline(rule['do'])} {_occasion(rule)}{further}".strip()


def _occasion(rule: Mapping[str, Any]) -> str:
    if "at" in rule:
        return f"{rule['at']} from the start"
    if "after" in rule:
        return f"after {rule['after']['sent']} sent"
    on = "call" if rule["on"] == "*" else rule["on"]
    if "nth" in rule:
        return f"at the {_ordinal(rule['nth'])} {on}"
    return f"at every {_ordinal(rule['every'])} {on}" if "every" in rule else f"at each {on}"


def _ordinal(number: object) -> str:
    text = str(number)
    is_teen = text.endswith(("11", "12", "13"))
    ending = "th" if is_teen else {"1": "st", "2": "nd", "3": "rd"}.get(text[-1:], "th")
    return f"{text}{ending}"


def _effect(name: str, argument: Any) -> str:
    return name if argument is True else f"{name} {_inline(argument)}".strip()


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(_effect(key, argument) for key, argument in value.items())
    text = "yes" if value is True else str(value)
    return textwrap.shorten(text, 60, placeholder="...")


def meaning(name: str, argument: Any) -> str:
    """Return the words for an effect; of a fault before or after the operation those for that moment."""
    if name not in EFFECTS:
        return name
    when = argument.get("when") if isinstance(argument, Mapping) else argument
    draws = {draw.name: draw.meaning for draw in WIRE_FAULTS[name].draws} if name in WIRE_FAULTS else {}
    return draws.get(f"{name}-{when}", EFFECTS[name].meaning)
