"""
What an option changes in the schemas of the OpenAPI document, for the rows of the choices.

An edit gets the schemas of the public API by name and changes them. A choice that only decides which of the shapes of a
schema an answer has changes nothing: the schema has all of them. Texts that an option has are in the skeleton.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mockserver._json import JSON, changed
from mockserver.contract.openapi.patterns import HTTPS_URL, LOOPBACK_URL

Components = dict[str, JSON]
Edit = Callable[[Components], None]

_REQUEST: Final = "Request"
_PARTS_OF_REQUESTS: Final = (_REQUEST, "Filters", "FilterGroup", "Statement")


def with_unknown_fields(components: Components) -> None:
    """Let the objects of answers have further properties, and a campaign's filters any form."""
    for name, schema in components.items():
        if not name.endswith(_PARTS_OF_REQUESTS):
            components[name] = changed(schema, _opened)
    shown = components["ReadCampaignResponse"]["properties"]["filters"]
    shown["anyOf"] = [{"type": "array", "items": {"type": "object"}}, {"type": "null"}]


def _opened(part: JSON) -> JSON:
    return part | {"additionalProperties": True} if part.get("additionalProperties") is False else part


def with_details(components: Components) -> None:
    """Add the two further keys of an error."""
    details = {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}}
    components["Error"]["properties"] |= {"details": details, "requestId": {"type": "string"}}


def with_closed_bodies(components: Components) -> None:
    """Let bodies have no other properties."""
    for name, schema in components.items():
        if name.endswith(_REQUEST):
            schema["additionalProperties"] = False


def with_nulls(components: Components) -> None:
    """Let optional properties of bodies be null."""
    for name, schema in components.items():
        if name.endswith(_REQUEST):
            schema["properties"] = {
                key: part if key in schema.get("required", ()) else {"anyOf": [part, {"type": "null"}]}
                for key, part in schema["properties"].items()
            }


def with_optional_platform(components: Components) -> None:
    """Let a new campaign leave its platform out."""
    components["CreateCampaignRequest"]["required"].remove("platform")


def with_loopback_urls(components: Components) -> None:
    """Let the return url of a session be an http url of this machine."""
    components["CreateConnectionSessionRequest"]["properties"]["returnUrl"] |= {
        "description": "HTTPS URL without user or password, or an http URL of this machine.",
        "pattern": f"{HTTPS_URL}|{LOOPBACK_URL}",
    }
