"""Writes `mockserver/testing/bodies/` from the schemas: `python -m tests.testing.typed_bodies`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mockserver.contract.endpoints import ENDPOINTS

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "mockserver" / "testing" / "bodies"
GROUPS = {
    "campaigns": (
        "previewAudience", "createCampaign", "listCampaigns", "readCampaign", "readExecution", "startCampaign",
        "readFilterSchema",
    ),
    "content": ("listTemplates", "readTemplate", "uploadMedia", "listMessages", "readFormPolicy"),
    "channels": ("createConnectionSession", "readConnectionSession", "readEntrypoint"),
}  # fmt: skip
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def capital(name: str) -> str:
    return name[:1].upper() + name[1:]


class Writer:
    """Write one module; a class precedes those that mention it."""

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}

    def type_of(self, place: dict[str, Any], name: str) -> str:
        """The type of a value that fits this schema; objects get a class of this name."""
        if "$ref" in place:
            inner = place["$ref"].removesuffix(".json")
            return self.type_of(schema(inner), capital(inner))
        if "anyOf" in place:
            return " | ".join(self.type_of(each, name) for each in place["anyOf"])
        if "enum" in place:
            words = ", ".join(json.dumps(each) for each in place["enum"] if each is not None)
            return f"Literal[{words}]{' | None' if None in place['enum'] else ''}"
        kinds = place.get("type", [])
        return (
            " | ".join(self._one(place, kind, name) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "Any"
        )

    def _one(self, place: dict[str, Any], kind: str, name: str) -> str:
        if kind == "array":
            return f"list[{self.type_of(place['items'], name + 'Entry')}]"
        if kind != "object":
            return PLAIN[kind]
        if "properties" not in place:
            extra = place.get("additionalProperties")
            return f"dict[str, {self.type_of(extra, name) if isinstance(extra, dict) else 'Any'}]"
        self.declare(place, name)
        return name

    def declare(self, place: dict[str, Any], name: str) -> None:
        required = place.get("required", ())
        lines = []
        for key, inner in place["properties"].items():
            found = self.type_of(inner, name + capital(key))
            lines.append(f"    {key}: {found if key in required else f'NotRequired[{found}]'}")
        title = place.get("title", "")
        docstring = f'    """{title}."""\n\n' if title else ""
        self.classes.setdefault(name, f"class {name}(TypedDict):\n{docstring}" + "\n".join(lines) + "\n")

    def module(self, group: str) -> str:
        aliases = []
        for operation in GROUPS[group]:
            for which, short in (("request", "Request"), ("response", "Answer")):
                if which == "request" and ENDPOINTS[operation].request_schema is None:
                    continue
                name = capital(operation) + short
                found = self.type_of(schema(f"{operation}.{which}"), name)
                aliases += [f"{name} = {found}\n"] if found != name else []
        typing = ("Any", "Literal", "NotRequired", "TypedDict")
        body = "\n\n".join(self.classes.values()) + ("\n\n" + "".join(aliases) if aliases else "")
        used = [each for each in typing if each in body]
        return (
            f'"""Types of the bodies of the API, generated from the schemas: {group}."""\n\n'
            f"from typing import {', '.join(used)}\n\n\n{body}"
        )


def names() -> dict[str, tuple[str, str]]:
    """Of each operation, the types of its request's and its success's body."""
    found = {}
    for operation, row in ENDPOINTS.items():
        request = f"{capital(operation)}Request" if row.request_schema else "None" if row.body == "none" else "Any"
        found[operation] = (request, f"{capital(operation)}Answer" if row.response_schema else "None")
    return found


def modules() -> dict[str, str]:
    """The text of each module, by the name of its file."""
    return {f"{group}.py": Writer().module(group) for group in GROUPS}


if __name__ == "__main__":
    for name, text in modules().items():
        (HOME / name).write_text(text, encoding="utf-8")
