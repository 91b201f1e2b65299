"""Whether a chat satisfies filters, asked one statement after another, as the document and the defaults have it."""

from __future__ import annotations

from typing import Any

FIELDS = {
    "chat.platform": "string",
    "chat.status": "string",
    "chat.monetization": "number",
    "chat.isAnswered": "boolean",
    "chat.tagIds": "array",
}
POSITIVE = {
    "not-equals": "equals",
    "not-in": "in",
    "not-contains": "contains",
    "not-starts-with": "starts-with",
    "not-ends-with": "ends-with",
    "not-exists": "exists",
    "not-between": "between",
    "has-none": "has-any",
}


class Unfit(Exception):
    """A field, operator or value that does not fit."""


def matches(fields: dict[str, Any], filters: list[dict[str, Any]]) -> bool:
    # Every statement is looked at, so that one that does not fit is refused whatever the others say.
    held = [group_holds(fields, group) for group in filters]
    return all(held)


def group_holds(fields: dict[str, Any], group: dict[str, Any]) -> bool:
    held = [statement_holds(fields, statement) for statement in group["statements"]]
    return all(held) if group["combinator"] == "and" else any(held)


def statement_holds(fields: dict[str, Any], statement: dict[str, Any]) -> bool:
    name, operator = statement["field"], statement["operator"]
    if name not in FIELDS:
        raise Unfit
    if operator in POSITIVE:
        return not statement_holds(fields, statement | {"operator": POSITIVE[operator]})
    found, value = fields.get(name), statement.get("value")
    if operator == "exists":
        return found not in (None, "", [])
    if name == "chat.platform":
        for each in value if isinstance(value, list) else [value]:
            if each not in ("chatapp", "chatapp_lite", "photoapp", "botapp"):
                raise Unfit
    if operator == "has-any":
        return any(tag in found for tag in value)
    if operator == "has-all":
        return all(tag in found for tag in value)
    if found is None:
        return False
    if operator == "equals":
        return bool(found == value)
    if operator == "in":
        return found in value
    if operator == "contains":
        return value in found
    if operator == "starts-with":
        return bool(found.startswith(value))
    if operator == "ends-with":
        return bool(found.endswith(value))
    if operator == "greater-than":
        return bool(found > value)
    if operator == "less-than":
        return bool(found < value)
    if operator == "greater-than-or-equal":
        return bool(found >= value)
    if operator == "less-than-or-equal":
        return bool(found <= value)
    if operator == "between":
        return bool(value <= found <= statement["value2"])
    raise Unfit
