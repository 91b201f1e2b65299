"""
Validation of a JSON body: bytes -> exact value -> checked against the schema of its operation.

1. Anything but strict UTF-8 JSON is VALIDATION_ERROR; nothing is guessed or repaired.
2. Numbers keep their exact value: an integral form (`60.0`, `6e1`) is the integer, and a fraction that a float would
   round to an integer stays a fraction. Their length has no bound of its own, and counts only where a number is read.
3. Four choices apply before the schema: `empty-json-body`, `null-for-optional`, `platform-required` and
   `group-no-statements`; `unknown-body-keys`, `filters-empty-list` and `filter-error-split` apply after it.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NoReturn

from mockserver._json import JSON
from mockserver.contract import schemas
from mockserver.contract.endpoints import Endpoint
from mockserver.contract.limits import (
    DIGITS_MAX,
    FILTER_ENTRIES_MAX,
    JSON_BODY_MAX_BYTES,
    JSON_DEPTH_MAX,
    JSON_VALUES_MAX,
    OWN_BOUND,
)
from mockserver.contract.text import closest_match, did_you_mean, number, whole_number
from mockserver.core.redaction import to_json_text
from mockserver.core.state.calls import ApiError, Call
from mockserver.core.state.sandbox import SandboxState

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # possessive, so that no text needs quadratic time


def validation_error(at: str, reason: str, clause: str = "base.json") -> ApiError:
    """Return a VALIDATION_ERROR whose Portuguese message names the place as a dotted path."""
    return ApiError(
        "VALIDATION_ERROR",
        clause=clause,
        location=at or "body",
        reason=reason,
        path=at.lstrip("/").replace("/", ".") or "body",
    )


def validate_body(sandbox: SandboxState, endpoint: Endpoint, value: Any) -> Any:
    """
    Return the value of the body for the operation: modified by the choices, and valid by the schema.

    Filters of a wrong structure are a refusal in place of the filters if `filter-error-split` gives it the code of
    invalid ones: it then has their place in `create-check-order`.
    """
    prepared = _apply_body_choices(sandbox, endpoint.request_schema or "", value)
    try:
        _refuse_wrong_structure(sandbox, endpoint, prepared)
    except ApiError as refusal:
        has_filters = isinstance(prepared, dict) and "filters" in prepared
        if not has_filters or sandbox.choices["filter-error-split"] == "split":
            raise
        others = {key: inner for key, inner in prepared.items() if key != "filters"}
        _refuse_wrong_structure(sandbox, endpoint, others)
        code, at, reason = "CAMPAIGN_INVALID_FILTERS", refusal.location, refusal.reason
        error = ApiError(code, location=at, reason=reason, field="filters")
        return {**others, "filters": error}
    return prepared


def _refuse_wrong_structure(sandbox: SandboxState, endpoint: Endpoint, prepared: Any) -> None:
    schema_name = endpoint.request_schema or ""
    _refuse_endless_filters(endpoint, prepared)
    problems = schemas.check(schema_name, _without_empty_groups(sandbox, prepared))
    if problems:
        raise _refusal(sandbox, endpoint, problems[0], prepared)
    if sandbox.choices["unknown-body-keys"] == "reject":
        unknown = _unknown_key(schemas.load(schema_name), prepared, "")
        if unknown is not None:
            reason = f"{unknown} is not a documented field (choice unknown-body-keys)"
            raise validation_error(unknown, reason, endpoint.clause)
    is_empty = isinstance(prepared, dict) and prepared.get("filters") == []
    if is_empty and sandbox.choices["filters-empty-list"] == "reject":
        reason = "an empty list of groups (choice filters-empty-list)"
        raise validation_error("/filters", reason, "filters.groups-and")


def parse_body(sandbox: SandboxState, endpoint: Endpoint, call: Call) -> Any:
    """Return the JSON value of the call's body, unmodified; {} for an optional body that is absent."""
    if call.body is None:
        raise validation_error(
            "", f"the body is larger than the {JSON_BODY_MAX_BYTES} bytes that the mock reads ({OWN_BOUND})"
        )
    content_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not call.body:
        if content_type == "application/json" and sandbox.choices["empty-json-body"] == "reject":
            raise validation_error(
                "", "an empty body with Content-Type: application/json (choice empty-json-body)", "base.input"
            )
        if endpoint.needs_body:
            raise validation_error("", "got no body; expected a JSON object", endpoint.clause)
        return {}
    if content_type != "application/json":
        raise validation_error("", f"got Content-Type {content_type or 'absent'!r}; expected application/json")
    return parse_json(call.body, JSON_VALUES_MAX, parse_int=_any_integer)


def parse_json(
    body: bytes,
    values_max: int | None = None,
    *,
    parse_int: Callable[[str], Any] | None = None,
    has_unique_keys: bool = False,
) -> Any:
    """
    Return the value of strict UTF-8 JSON text.

    Args:
        body: The text.
        values_max: The number of values that are read, None for no limit.
        parse_int: Reads a number without fraction and exponent; by default one of more than `DIGITS_MAX` is refused.
        has_unique_keys: A key that an object has twice is refused; without it the last one is in effect.

    Raises:
        ApiError: VALIDATION_ERROR, which states where and why the text is refused.
    """
    _refuse_endless_json(body, values_max)
    if body.startswith(BOM_UTF8):
        raise validation_error("", "not JSON: got a byte order mark first; expected UTF-8 without one")
    try:
        value = _decoder(parse_int or _short_integer, has_unique_keys).decode(body.decode("utf-8"))
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeDecodeError as error:
        raise validation_error("", f"byte {error.start} is not UTF-8") from None
    except UnicodeEncodeError:
        raise validation_error("", "a \\u escape names half of a surrogate pair") from None
    except json.JSONDecodeError as error:
        raise validation_error("", f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise validation_error("", f"not JSON that can be read: {error}") from None
    return value


@lru_cache(maxsize=4)  # to make one takes as long as to read a body
def _decoder(parse_int: Callable[[str], Any], has_unique_keys: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=number,
        parse_int=parse_int,
        parse_constant=_no_constant,
        object_pairs_hook=_unique if has_unique_keys else None,
    )


def _unique(pairs: list[tuple[str, Any]]) -> JSON:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise validation_error("", f"got the key {to_json_text(twice[:100])} twice in one object; expected it once")
    return value


def _any_integer(written: str) -> int | Decimal:
    """Return the value of a JSON number without fraction and exponent: a Decimal if it is too long for an integer."""
    return int(written) if len(written) <= DIGITS_MAX else Decimal(written)


def _short_integer(written: str) -> int:
    if len(written) > DIGITS_MAX:
        raise ValueError(f"got a number of {len(written)} digits; expected at most {DIGITS_MAX} ({OWN_BOUND})")
    return int(written)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_endless_json(body: bytes, values_max: int | None) -> None:
    """Refuse JSON that nests too deep or has too many values, before it is parsed; brackets in texts do not count."""
    opened = body.count(b"[") + body.count(b"{")
    too_many = values_max is not None and opened + body.count(b",") > values_max
    if opened <= JSON_DEPTH_MAX and not too_many:
        return
    structure = _STRINGS.sub(b"", body)
    if _nests_too_deep(structure):
        raise validation_error("", f"the JSON nests deeper than {JSON_DEPTH_MAX} levels ({OWN_BOUND})")
    # A list or an object has at most one value more than commas.
    values = structure.count(b"[") + structure.count(b"{") + structure.count(b",")
    if values_max is not None and values > values_max:
        raise validation_error("", f"the JSON has more than {values_max} values ({OWN_BOUND})")


def is_too_deep(body: bytes) -> bool:
    """Return True if the JSON text nests deeper than the mock reads."""
    return body.count(b"[") + body.count(b"{") > JSON_DEPTH_MAX and _nests_too_deep(_STRINGS.sub(b"", body))


def _nests_too_deep(structure: bytes) -> bool:
    depth = 0
    for byte in structure:
        if byte in b"[{":
            depth += 1
            if depth > JSON_DEPTH_MAX:
                return True
        elif byte in b"]}":
            depth -= 1
    return False


def _refuse_endless_filters(endpoint: Endpoint, value: Any) -> None:
    """Refuse more groups and statements than the mock judges (fixed decision `filter-count-limits`)."""
    groups = value.get("filters") if isinstance(value, dict) else None
    if not isinstance(groups, list):
        return
    statements = (group.get("statements") for group in groups if isinstance(group, dict))
    count = len(groups) + sum(len(listed) for listed in statements if isinstance(listed, list))
    if count > FILTER_ENTRIES_MAX:
        reason = f"got {count} groups and statements; expected at most {FILTER_ENTRIES_MAX} ({OWN_BOUND})"
        raise validation_error("/filters", reason, endpoint.clause)


def _apply_body_choices(sandbox: SandboxState, schema_name: str, value: Any) -> Any:
    """Return the value with two choices applied: optional nulls are removed, a missing platform is added."""
    if not isinstance(value, dict):
        return value
    omits_nulls = sandbox.choices["null-for-optional"] == "omit"
    if omits_nulls:
        value = _without_nulls(schemas.load(schema_name), value)
    wants_default = (
        schema_name == "createCampaign.request" and sandbox.choices["platform-required"] == "default-chatapp"
    )
    is_absent = "platform" not in value or (omits_nulls and value["platform"] is None)
    return {**value, "platform": "chatapp"} if wants_default and is_absent else value


def _without_nulls(schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(schema.get("items", {}), element) for element in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not properties:
        return value
    required = schema.get("required", ())
    return {
        key: _without_nulls(properties.get(key, {}), inner)
        for key, inner in value.items()
        if inner is not None or key in required or key not in properties
    }


def _without_empty_groups(sandbox: SandboxState, value: Any) -> Any:
    """Return the value for the schema, in which two options of `group-no-statements` allow groups without statements."""
    if sandbox.choices["group-no-statements"] == "reject" or not isinstance(value, dict):
        return value
    groups = value.get("filters")
    if not isinstance(groups, list):
        return value
    return {**value, "filters": [_LAWFUL_GROUP if _is_empty_group(group) else group for group in groups]}


# Replaces an empty group that the schema is not to check, so that the others keep their positions.
_LAWFUL_GROUP: Final = {"combinator": "and", "statements": [{"field": "", "operator": ""}]}


def _is_empty_group(group: Any) -> bool:
    return isinstance(group, dict) and group.get("statements") == [] and group.get("combinator") in ("and", "or")


def _refusal(sandbox: SandboxState, endpoint: Endpoint, problem: schemas.SchemaError, body: Any) -> ApiError:
    if problem.keyword == "dependentRequired" and sandbox.choices["funnelId-alone"] == "invalid-request":
        reason = f"got no {problem.pointer.removeprefix('/')}; expected {problem.wanted}"
        return ApiError("INVALID_REQUEST", clause="session.funnel-pair", location="/funnelId", reason=reason)
    received = sandbox.excerpt(to_json_text(problem.found))
    hint = misspelt_key(endpoint.request_schema or "", body, problem.pointer) if problem.keyword == "required" else ""
    clause = endpoint.clause_of(problem.pointer.split("/")[1] if problem.pointer else "")
    return validation_error(problem.pointer, f"got {received}; expected {problem.wanted}{hint}", clause)


_COMPARED_MAX: Final = 10  # unknown keys of one object


def misspelt_key(schema_name: str, body: Any, pointer: str) -> str:
    """
    Return the end of a reason that names an ignored key and the absent one that it is most like; empty if there is none.

    Args:
        schema_name: The schema of the whole body.
        body: The whole body.
        pointer: The JSON Pointer of a key that the body lacks; the keys of the same object are compared.
    """
    schema = schemas.load(schema_name)
    for step in pointer.split("/")[1:-1]:
        is_list = isinstance(body, list)
        body = body[whole_number(step) or 0 if is_list else step]
        schema = schema.get("items", {}) if is_list else schema.get("properties", {}).get(step, {})
    properties = schema.get("properties", {})
    absent = [key for key in properties if key not in body]
    unknown = (key for key in body if key not in properties)
    for key in islice(unknown, _COMPARED_MAX):
        meant = closest_match(key, absent)
        if meant is not None:
            return f"; the unknown key {key!r} is ignored{did_you_mean(meant)}"
    return ""


def _unknown_key(schema: Mapping[str, Any], value: Any, pointer: str) -> str | None:
    if isinstance(value, list):
        items = schema.get("items", {})
        unknown_keys = (_unknown_key(items, element, f"{pointer}/{index}") for index, element in enumerate(value))
        return next((unknown for unknown in unknown_keys if unknown), None)
    properties = schema.get("properties")
    if not isinstance(value, dict) or not properties:
        return None
    for key, inner in value.items():
        unknown = (
            f"{pointer}/{key}" if key not in properties else _unknown_key(properties[key], inner, f"{pointer}/{key}")
        )
        if unknown:
            return unknown
    return None
