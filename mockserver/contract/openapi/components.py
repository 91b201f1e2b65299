"""
The components of the public API's document: the schema files, typed further, under the choices in force.

1. Filters are typed by field, and template items by their type, so that generators make one type of each.
2. Where a choice only decides which of the shapes of a schema an answer has, the schema holds all of them.
3. Where a choice makes answers that the schemas of the document exclude, or refuses other bodies, the schema follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.errors import ERRORS
from mockserver.contract.openapi.filters import filter_components
from mockserver.contract.openapi.parts import JSON, ref, schema_files
from mockserver.contract.openapi.variants import union

Choices = Mapping[str, object]
Components = dict[str, JSON]
Edit = Callable[[Components], None]

_REQUEST: Final = "Request"
_PARTS_OF_REQUESTS: Final = (_REQUEST, "Filters", "FilterGroup", "Statement")
# HTTPS, without a user or password: the operation checks the rest.
_HTTPS_URL: Final = "^[Hh][Tt][Tt][Pp][Ss]://[^/?#@\\\\]+([/?#]|$)"
_LOOPBACK_URL: Final = (
    "^[Hh][Tt][Tt][Pp]://([Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]*)?([/?#]|$)"
)
EVENTS: Final = ("event.connected", "event.connection_failed")


def public_components(choices: Choices) -> Components:
    """Return the schemas of the public API by name, as the choices have them."""
    files = [name for row in ENDPOINTS.values() for name in (row.request_schema, row.response_schema) if name]
    components = schema_files((*files, "error", *EVENTS))
    components |= filter_components(choices)
    components["ReadCampaignResponse"]["properties"]["filters"] = {
        "description": "As they were accepted (choice detail-fields).",
        "anyOf": [{"type": "array", "items": ref("FilterGroup")}, {"type": "null"}],
    }
    components["CreateConnectionSessionRequest"]["properties"]["returnUrl"] |= {"format": "uri", "pattern": _HTTPS_URL}
    _make_unions(components)
    for (choice, option), edit in _EDITS.items():
        if choices[choice] == option:
            edit(components)
    return components


def error_component(status: int, codes: list[str], component: JSON) -> JSON:
    """Return the schema of the error bodies that have this status and one of these codes."""
    own = {"statusCode": {"type": "integer", "const": status}, "code": {"type": "string", "enum": codes}}
    return {**component, "properties": {**component["properties"], **own}}


def _make_unions(components: Components) -> None:
    """Replace the schemas whose fields depend on another field by unions."""
    items = components["ReadTemplateResponse"]["properties"]["items"]
    item = {"title": "Template item", **items["items"]}
    kinds: list[str] = item["properties"]["type"]["enum"]
    components["TemplateItem"], variants = union(item, "type", {kind: f"{kind.capitalize()}Item" for kind in kinds})
    variants["TextItem"]["properties"]["mediaId"] = {"type": "null", "description": "Null for text."}
    items["items"] = ref("TemplateItem")
    components |= variants
    for name, suffix in (("ReadConnectionSessionResponse", "Session"), ("ExecutionEntry", "Execution")):
        status = components[name]["properties"]["status"]
        values: list[str] = components["ExecutionStatus"]["enum"] if "$ref" in status else status["enum"]
        components[name], variants = union(
            components[name], "status", {value: value.capitalize() + suffix for value in values}
        )
        components |= variants
    connected = components["EventConnected"]["properties"]
    components["ConnectedData"] = {"title": "Data of a connection", **connected["data"]}
    connected["data"] = ref("ConnectedData")
    data = components["EventConnectionFailed"]["properties"]
    failure = {"title": "Data of a failed connection", **data["data"]}
    data["data"], variants = union(failure, "status", {"expired": "ConnectionExpired", "failed": "ConnectionFailed"})
    components |= variants
    upload = {"title": "Upload", **components["UploadMediaResponse"]["items"]}
    whole, variants = union(upload, "success", {True: "StoredFile", False: "RefusedFile"})
    components["UploadMediaResponse"]["items"] = whole
    components |= variants


# Edits by choice: what an option adds to answers, or refuses in bodies.


def _with_unknown_fields(components: Components) -> None:
    for name, schema in components.items():
        if not name.endswith(_PARTS_OF_REQUESTS):
            components[name] = _opened(schema)
    shown = components["ReadCampaignResponse"]["properties"]["filters"]
    shown["anyOf"] = [{"type": "array", "items": {"type": "object"}}, {"type": "null"}]


def _opened(part: Any) -> Any:
    """Return a schema whose objects may have further properties."""
    if isinstance(part, list):
        return [_opened(element) for element in part]
    if not isinstance(part, dict):
        return part
    opened = {key: _opened(value) for key, value in part.items()}
    return opened | {"additionalProperties": True} if part.get("additionalProperties") is False else opened


def _with_unseen_values(components: Components) -> None:
    record = components["MessageRecord"]["properties"]
    entry = components["TemplateListEntry"]["properties"]
    for schema in (record["type"], record["status"], entry["providerTemplateStatus"], components["EntrypointPlatform"]):
        del schema["enum"]
    item = components["TextItem"]
    components["TemplateItem"] = {
        **item,
        "title": "Template item",
        "description": "Of a type that the document lists, or of another (choice new-enum-values).",
        "properties": {**item["properties"], "type": {"type": "string"}, "mediaId": {"type": ["string", "null"]}},
    }


def _with_details(components: Components) -> None:
    details = {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}}
    components["Error"]["properties"] |= {"details": details, "requestId": {"type": "string"}}


def _with_closed_bodies(components: Components) -> None:
    for name, schema in components.items():
        if name.endswith(_REQUEST):
            schema["additionalProperties"] = False


def _with_nulls(components: Components) -> None:
    for name, schema in components.items():
        if name.endswith(_REQUEST):
            schema["properties"] = {
                key: part if key in schema.get("required", ()) else {"anyOf": [part, {"type": "null"}]}
                for key, part in schema["properties"].items()
            }


def _with_optional_platform(components: Components) -> None:
    components["CreateCampaignRequest"]["required"].remove("platform")


def _with_loopback_urls(components: Components) -> None:
    components["CreateConnectionSessionRequest"]["properties"]["returnUrl"] |= {
        "description": "HTTPS URL without user or password, or an http URL of this machine.",
        "pattern": f"{_HTTPS_URL}|{_LOOPBACK_URL}",
    }


_EDITS: Final[Mapping[tuple[str, str], Edit]] = MappingProxyType(
    {
        ("additive-fields", "unknown-fields"): _with_unknown_fields,
        ("new-enum-values", "unseen"): _with_unseen_values,
        ("error-extra-keys", "details"): _with_details,
        ("unknown-body-keys", "reject"): _with_closed_bodies,
        ("platform-required", "default-chatapp"): _with_optional_platform,
        ("return-url-scheme", "loopback-http"): _with_loopback_urls,
        ("null-for-optional", "omit"): _with_nulls,
    }
)


def status_of(code: str, path: str, choices: Choices) -> int:
    """Return the status of an error code at a path: the catalogue's, or the campaign guide's by `dual-status`."""
    row = ERRORS[code]
    return row.guide_status if path.startswith("/v1/campaigns") and choices["dual-status"] == "guide" else row.status
