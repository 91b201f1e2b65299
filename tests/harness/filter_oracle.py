"""
Reference filters: the chats that filters select, computed the slow and obvious way from the API document alone.

It shares no code with the mock. A chat is a dict from the document's field names (`chat.platform`, ...) to plain values;
a field that is absent or None is missing. Dates are texts. Filters are expected to be well-formed: refusals are not its subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

STRINGS = (
    "chat.platform",
    "chat.status",
    "chat.entrypointId",
    "chat.funnelStepId",
    "chat.trackingLinkId",
    "chat.attentionReason",
    "chat.assignedUserId",
    "chat.virtual.dm-participant.contact",
)
NUMBERS = ("chat.monetization", "chat.virtual.participants-count")
BOOLEANS = ("chat.isGroupChat", "chat.isAnswered", "chat.needsHumanAttention")
DATES = ("chat.virtual.dm-participant.birthDate", "chat.virtual.lastMessageAt", "chat.virtual.lastUpdateAt")
ARRAYS = ("chat.tagIds",)
FIELDS = (*STRINGS, *NUMBERS, *BOOLEANS, *DATES, *ARRAYS)

POSITIVE_OF = {
    "not-equals": "equals",
    "not-contains": "contains",
    "not-in": "in",
    "not-exists": "exists",
    "not-starts-with": "starts-with",
    "not-ends-with": "ends-with",
    "not-between": "between",
    "has-none": "has-any",
}


@dataclass(frozen=True)
class Rules:
    """What the document leaves open, with the answers that the mock gives by default."""

    missing_matches_negatives: bool = True
    case_counts: bool = True
    upper_bound_included: bool = True
    empty_exists: bool = False
    birth_zone: tzinfo = UTC  # of a stored birth date without a time
    naive_zone: tzinfo = UTC  # of a date in a filter without a time or an offset


def selected(chats: list[dict[str, Any]], filters: list[dict[str, Any]] | None, rules: Rules) -> list[dict[str, Any]]:
    """The chats for which every group holds."""
    return [chat for chat in chats if selects(chat, filters, rules)]


def selects(chat: dict[str, Any], filters: list[dict[str, Any]] | None, rules: Rules) -> bool:
    """Return True if every group holds for the chat."""
    return all(group_holds(chat, group, rules) for group in filters or [])


def group_holds(chat: dict[str, Any], group: dict[str, Any], rules: Rules) -> bool:
    answers = [holds(chat, statement, rules) for statement in group["statements"]]
    if group["combinator"] == "and":
        return False not in answers
    return True in answers


def holds(chat: dict[str, Any], statement: dict[str, Any], rules: Rules) -> bool:
    """Whether one statement is true of one chat."""
    field, operator = statement["field"], statement["operator"]
    found = chat.get(field)
    if operator == "exists":
        return exists(found, rules)
    if operator == "not-exists":
        return not exists(found, rules)
    if operator in POSITIVE_OF:
        if found is None and not rules.missing_matches_negatives:
            return False
        return not holds(chat, {**statement, "operator": POSITIVE_OF[operator]}, rules)
    if found is None:
        return False
    if field in ARRAYS:
        return tags_hold(found, operator, statement["value"])
    birth = field == "chat.virtual.dm-participant.birthDate"
    found = comparable(field, found, rules, rules.birth_zone if birth else UTC)
    if operator == "in":
        return found in [comparable(field, each, rules, rules.naive_zone) for each in statement["value"]]
    wanted = comparable(field, statement["value"], rules, rules.naive_zone)
    if operator == "between":
        upper = comparable(field, statement["value2"], rules, rules.naive_zone)
        if found == upper:
            return rules.upper_bound_included and wanted <= found
        return bool(wanted <= found < upper)
    return compared(found, operator, wanted)


def compared(found: Any, operator: str, wanted: Any) -> bool:
    if operator == "equals":
        return bool(found == wanted)
    if operator == "greater-than":
        return bool(found > wanted)
    if operator == "less-than":
        return bool(found < wanted)
    if operator == "greater-than-or-equal":
        return bool(found > wanted or found == wanted)
    if operator == "less-than-or-equal":
        return bool(found < wanted or found == wanted)
    if operator == "contains":
        return bool(found.find(wanted) >= 0)
    if operator == "starts-with":
        return bool(found[: len(wanted)] == wanted)
    if operator == "ends-with":
        return len(found) >= len(wanted) and found[len(found) - len(wanted) :] == wanted
    raise AssertionError(f"the oracle does not implement {operator}")


def tags_hold(found: list[str], operator: str, wanted: list[str]) -> bool:
    if operator == "has-any":
        return any(tag in found for tag in wanted)
    if operator == "has-all":
        return all(tag in found for tag in wanted)
    raise AssertionError(f"the oracle does not implement {operator}")


def exists(found: Any, rules: Rules) -> bool:
    if found is None:
        return False
    return rules.empty_exists or found not in ("", [])


def comparable(field: str, value: Any, rules: Rules, zone: tzinfo) -> Any:
    """The value as it is compared: dates are instants to the millisecond, texts lose their case where it does not count."""
    if field in DATES:
        read = datetime.fromisoformat(value)
        aware = read if read.tzinfo else read.replace(tzinfo=zone)
        return aware.replace(microsecond=aware.microsecond // 1000 * 1000)
    if field in STRINGS and not rules.case_counts:
        return value.casefold()
    return value
