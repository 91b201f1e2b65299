"""
The records of effects, the parts of their schemas that several have, and what their Python methods share.

1. A row has what documents, the parser, the reports and the pages need of an effect.
2. The method of the same name is what `sandbox.on(...)` offers in Python; it returns the rule with the argument as a
   document has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from mockserver._json import JSON

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
Put = TypeVar("Put")
GroupName = Literal["wire", "state", "delivery"]
Phase = Literal["wait", "operation", "response", "wait after", "transmission"]
ReadWait = Callable[[Any, str], Any]  # an argument, with its place below the fault, to the wait that it gives


class EffectGroup(NamedTuple):
    """The effects that act in one place, with a sentence on what they change."""

    name: GroupName
    place: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """
    The row of one effect.

    Attributes:
        name: as in a document.
        group: the group that it belongs to.
        meaning: one clause.
        argument: the argument's form, as the documentation shows it.
        schema: the argument's JSON Schema, without description and examples; a reference is one of schemas/scenario.json.
        examples: arguments, the plainest first.
        alternatives: members of the argument of which a rule has one at most.
        precedes_operation: it changes how the operation runs, and happens before it also without `when: before`.
    """

    name: str
    group: GroupName
    meaning: str
    argument: str
    schema: Mapping[str, Any]
    examples: tuple[Any, ...] = ()
    alternatives: tuple[str, ...] = ()
    precedes_operation: bool = False

    @property
    def title(self) -> str:
        """The name as a title."""
        return self.name.replace("-", " ").capitalize()

    @property
    def sentence(self) -> str:
        """The meaning as a sentence."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}."

    def with_defaults(self, argument: Any) -> Any:
        """Return the argument with the defaults that the schema has for members that it leaves out."""
        members = self.schema.get("properties", {})
        defaults = {name: member["default"] for name, member in members.items() if "default" in member}
        return {**defaults, **argument} if defaults else argument


class Seconds(NamedTuple):
    """A drawn argument: a length of time in seconds."""

    at_most: int


class Draw(NamedTuple):
    """
    A fault as `mockserver.testing.machine` draws it.

    Attributes:
        name: its name in the machine's `faults`.
        meaning: one clause.
        arguments: the arguments to draw from.
        of_writes_only: drawn for operations that write only.
        weight: how often it is drawn, compared with the other faults of an operation.
    """

    name: str
    meaning: str
    arguments: tuple[Any, ...] | Seconds
    of_writes_only: bool = False
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault(Effect):
    """
    The row of one effect on the wire.

    Attributes:
        phases: the phases of a call that it decides.
        fields: the fields of the rule's `WireFaults` that the argument sets.
        reaches_client: the API's `response`; `other`, a response that is not the API's or is not whole; or `nothing`.
        keeps_waiting: the client waits longer because of it.
        of_reads_only: it changes the answer of a read alone.
        of_bodies_only: it changes how a body is sent, and nothing of a response without one.
        has_when: its argument is `before` or `after` the operation, or has it as `when`.
        draws: how the machine draws it; none for a fault that it does not draw.
    """

    group: GroupName = "wire"
    phases: tuple[Phase, ...]
    fields: Callable[[Any, ReadWait], Mapping[str, Any]]
    reaches_client: Literal["response", "other", "nothing"] = "response"
    keeps_waiting: bool = False
    of_reads_only: bool = False
    of_bodies_only: bool = False
    has_when: bool = False
    draws: tuple[Draw, ...] = ()


ON_FLAG: Mapping[str, Any] = MappingProxyType({"const": True})
DURATION: Mapping[str, Any] = MappingProxyType({"$ref": "#/$defs/duration"})


def reference(definition: str, title: str | None = None, description: str | None = None) -> JSON:
    """Return a reference to a definition of schemas/scenario.json."""
    words = {"title": title, "description": description}
    return {"$ref": f"#/$defs/{definition}"} | {key: text for key, text in words.items() if text is not None}


def object_schema(title: str | None, members: Mapping[str, Any], *required: str, needs_any: bool = False) -> JSON:
    """
    Return the schema of an object.

    Args:
        title: Its title; None for that of its effect.
        members: The schemas of its members.
        required: The members that it must have.
        needs_any: It must have one member, whichever.
    """
    schema: JSON = {"title": title} if title else {}
    schema |= {"type": "object", "additionalProperties": False, "properties": dict(members)}
    schema |= {"required": list(required)} if required else {}
    return schema | ({"minProperties": 1} if needs_any else {})


def object_form(schema: Mapping[str, Any], alternatives: Sequence[str]) -> str:
    """Return the form of an object for the documentation: `{id?, ratio | every | chats, reason?}`."""
    parts = []
    for name in schema["properties"]:
        is_optional = name not in schema.get("required", ()) and "minProperties" not in schema
        if name not in alternatives:
            parts.append(f"{name}?" if is_optional else name)
        elif name == alternatives[0]:
            parts.append(" | ".join(alternatives))
    return f"{{{', '.join(parts)}}}"


class EffectMethods(Generic[Put]):
    """Methods of effects, each of which adds the rule with this effect alone; `do` takes several effects."""

    def do(self, effects: Mapping[str, Any]) -> Put:
        """
        Add the rule with these effects, by their names in scenario documents.

        Args:
            effects: Arguments by the effect's name, such as `{"drop": "after"}`.
        """
        raise NotImplementedError

    def _do_one(self, effect: str, **members: Any) -> Put:
        """Add the rule with an effect whose argument is an object, without the members that are None."""
        return self.do({effect: {name: value for name, value in members.items() if value is not None}})
