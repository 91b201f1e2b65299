"""Parts of an OpenAPI document: references, contents, and the schema files as components."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from mockserver._json import JSON, changed
from mockserver.contract import schemas

OPENAPI: Final = "3.1.0"
_LEFT_OUT: Final = ("$schema", "$id", "$comment")
_PLACES: Final = "#/components/schemas/"


def component_name(schema: str) -> str:
    """Return the name of a schema file as a component: `createCampaign.request` is `CreateCampaignRequest`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", schema))


def ref(component: str) -> JSON:
    """Return a reference to a component's schema."""
    return {"$ref": _PLACES + component}


def referenced(part: Any) -> set[str]:
    """Return the names of the components that a part of a document refers to."""
    if isinstance(part, list):
        return set().union(*(referenced(element) for element in part))
    if not isinstance(part, Mapping):
        return set()
    own = {part["$ref"].removeprefix(_PLACES)} if isinstance(part.get("$ref"), str) else set()
    return own.union(*(referenced(value) for value in part.values()))


def closure(part: Any, components: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the components that a part of a document needs, directly or through another, by name in alphabetical order."""
    needed: set[str] = set()
    left = referenced(part)
    while left:
        name = left.pop()
        if name in components and name not in needed:
            needed.add(name)
            left |= referenced(components[name])
    return {name: components[name] for name in sorted(needed)}


def with_member_names(components: Mapping[str, JSON]) -> dict[str, JSON]:
    """
    Return components in which the values of an enumeration have names, if another one has such a value, or one is no name.

    Generators make a constant of each value, and in Go all constants are in one namespace.
    """
    shared = Counter(value for schema in components.values() for value in schema.get("enum", ()))
    named = {}
    for name, schema in components.items():
        values = schema.get("enum", ())
        needs_names = any(shared[value] > 1 or value == "*" for value in values)
        names = [f"{_constant(name)}_{_constant(value)}" for value in values]
        named[name] = schema | {"x-enum-varnames": names} if needs_names else schema
    return named


def _constant(name: str) -> str:
    """Return a name as that of a constant: `CampaignStatus` is `CAMPAIGN_STATUS`."""
    return re.sub(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("*", "any")).upper()


def schema_files(names: tuple[str, ...]) -> dict[str, JSON]:
    """Return these schema files, and those that they refer to, as components by name."""
    components: dict[str, JSON] = {}
    left = list(names)
    while left:
        name = left.pop()
        if component_name(name) in components:
            continue
        source = schemas.read(name)
        left += sorted({other.removesuffix(".json") for other in referenced(source) if other.endswith(".json")})
        components[component_name(name)] = rewritten(
            source, lambda reference: _PLACES + component_name(reference.removesuffix(".json"))
        )
    return components


def rewritten(schema: JSON, target: Callable[[str], str]) -> Any:
    """Return a schema with each reference replaced by its `target`, without the keywords that only a file has."""

    def own(part: JSON) -> JSON:
        kept = {key: value for key, value in part.items() if key not in _LEFT_OUT}
        return kept | {"$ref": target(part["$ref"])} if isinstance(part.get("$ref"), str) else kept

    return changed(schema, own)


def content(schema: JSON, examples: Mapping[str, Any] | None = None, media_type: str = "application/json") -> JSON:
    """Return the content of a body with its examples by name."""
    named = {name: {"value": value} for name, value in (examples or {}).items()}
    return {media_type: {"schema": schema, **({"examples": named} if named else {})}}


def path_names(path: str) -> list[str]:
    """Return the names of the parameters of a path template."""
    return re.findall(r"\{(\w+)\}", path)


def success(operation: JSON, contents: JSON | None) -> JSON:
    """
    Return the response of success of an operation.

    Args:
        operation: its skeleton, whose `links` have the parameters of each operation that may follow.
        contents: of the body; None for a response without one.
    """
    done: JSON = {"description": "Done; there is no content."}
    if contents is not None:
        done = {"description": "Done.", "content": contents}
    links = {
        target: {"operationId": target, "parameters": parameters}
        for target, parameters in operation.get("links", {}).items()
    }
    return done | ({"links": links} if links else {})
