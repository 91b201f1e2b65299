"""
Injected errors: the code and the values of an error that a rule sends, like those of a genuine one.

A message has the values of the call if the call has them (its file, its filter, its template's variables), else values
that fit the sandbox's choices; no placeholder stays in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mockserver.contract import schemas
from mockserver.contract.choices.model import RATE_WHEN_ON
from mockserver.contract.durations import parse_duration
from mockserver.contract.errors import ERRORS
from mockserver.contract.media_types import kind_of
from mockserver.core.instants import SECOND
from mockserver.core.operations import messaging
from mockserver.core.state.calls import ApiError, Call, UploadedFile
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import SandboxState

_NAME = "arquivo.pdf"
_FIELD = "chat.platform"
_KEY = "var1"
_LIMIT = 1000  # of a platform that has none

Details = Mapping[str, object]


def refusal(sandbox: SandboxState, call: Call, rule: Rule, subject: Subject, body: Any) -> ApiError:
    """Return the error that the rule injects into this call, whose JSON body is `body`."""
    assert rule.wire_faults is not None and rule.wire_faults.error is not None
    code, wait_s = rule.wire_faults.error
    details = dict(_DETAILS[code](sandbox, call, subject, body)) if code in _DETAILS else {}
    if wait_s is not None:
        details["wait_s"] = wait_s
    at = _at(code, call, details)
    return ApiError(code, clause=ERRORS[code].clause, location=at, reason=f"rule {rule.id} injects {code}", **details)


def _wrong_place(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    """Return a place of the call that could be wrong: a field of its body, else a parameter."""
    endpoint = call.endpoint
    if endpoint is None:
        return {"path": "path"}
    if endpoint.body == "multipart":
        return {"path": "files"}
    if endpoint.request_schema is not None:
        schema = schemas.load(endpoint.request_schema)
        return {"path": next(iter(schema.get("required") or schema.get("properties") or ()), "body")}
    return {"path": next(iter((*endpoint.query, *call.params)), "query")}


def _file_name(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    part = _file(sandbox, call)
    return {"name": part.name if part and part.name else _NAME}


def _file_size(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    sizes: Any = sandbox.choices["media-max-size"]
    part = _file(sandbox, call)
    kind = kind_of(part.declared_type.partition(";")[0].strip().lower()) if part else None
    limit = sizes[kind] if kind is not None else max(sizes.values())
    return {**_file_name(sandbox, call, subject, body), "max": messaging.format_size(limit)}


def _file(sandbox: SandboxState, call: Call) -> UploadedFile | None:
    is_upload = call.endpoint is not None and call.endpoint.body == "multipart" and call.body is not None
    max_files: Any = sandbox.choices["media-max-files"]
    if not is_upload:
        return None
    return next((part for part in call.upload(max_files).files if part.name or part.content), None)


def _filter_field(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    groups = body.get("filters") if isinstance(body, Mapping) else None
    if groups is None and subject.campaign:
        groups = subject.campaign.filters
    statements = (
        statement for group in _list_of_mappings(groups) for statement in _list_of_mappings(group.get("statements"))
    )
    names = (statement.get("field") for statement in statements)
    return {"field": next((name for name in names if isinstance(name, str)), _FIELD)}


def _list_of_mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list, none for a value that is not a list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _missing_keys(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    tenant = sandbox.tenants.get(subject.tenant_id or "")
    template = tenant.templates.get(subject.campaign.template_id) if tenant and subject.campaign else None
    required = (
        [variable.key for variable in template.variables if variable.source is None and variable.required]
        if template
        else []
    )
    given = body.get("commonVariables") if isinstance(body, Mapping) else None
    missing = [key for key in required if not isinstance(given, Mapping) or key not in given]
    return {"keys": ", ".join(missing or required or [_KEY])}


def _size(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    limits: Any = sandbox.choices["size-limit-values"]
    limit = limits[subject.campaign.platform if subject.campaign else "chatapp"]
    limit = _LIMIT if limit is None else limit
    return {"limit": limit, "target": limit + 1}


def _rate(sandbox: SandboxState, call: Call, subject: Subject, body: Any) -> Details:
    chosen: Any = sandbox.choices["rate-limit-numbers"]
    numbers: Any = RATE_WHEN_ON if chosen == "off" else chosen
    return {"quota": numbers["requests"], "window_s": (parse_duration(numbers["per"]) or 0) // SECOND}


# The values of each code whose message or headers have placeholders.
_DETAILS: Mapping[str, Callable[[SandboxState, Call, Subject, Any], Details]] = MappingProxyType(
    {
        "VALIDATION_ERROR": _wrong_place,
        "MEDIA_UPLOAD_TOO_MANY_FILES": lambda sandbox, *_: {"max": sandbox.choices["media-max-files"]},
        "MEDIA_FILE_TOO_LARGE": _file_size,
        "MEDIA_INVALID_FORMAT": _file_name,
        "CAMPAIGN_INVALID_FILTERS": _filter_field,
        "CAMPAIGN_MISSING_COMMON_VARIABLES": _missing_keys,
        "CAMPAIGN_SIZE_LIMIT_EXCEEDED": _size,
        "RATE_LIMIT_EXCEEDED": _rate,
    }
)
_OF_THE_KEY = ("API_KEY_", "DEVELOPERS_", "SUBSCRIPTION_", "RATE_LIMIT_")
_AT: Mapping[str, str] = MappingProxyType(
    {
        "CAMPAIGN_NAME_ALREADY_EXISTS": "/name",
        "CAMPAIGN_TEMPLATE_NOT_FOUND": "/templateId",
        "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH": "/templateId",
        "CAMPAIGN_MISSING_COMMON_VARIABLES": "/commonVariables",
        "CAMPAIGN_INVALID_FILTERS": "/filters",
        "CAMPAIGN_SIZE_LIMIT_EXCEEDED": "filters",
        "MEDIA_UPLOAD_EMPTY": "files",
        "MEDIA_UPLOAD_TOO_MANY_FILES": "files",
    }
)


def _at(code: str, call: Call, details: Details) -> str:
    """Return the location of the error, as a refusal of the operation itself would name it."""
    if code == "INTERNAL_ERROR":
        return ""
    if code.startswith(_OF_THE_KEY):
        return "X-API-Key"
    if "name" in details:
        return f"files[{details['name']}]"
    if code == "VALIDATION_ERROR":
        is_field = call.endpoint is not None and call.endpoint.request_schema is not None
        return f"/{details['path']}" if is_field else str(details["path"])
    return _AT.get(code) or ".".join(["path", *list(call.params)[:1]])
