"""
Audiences: filters validated, turned into tests of a chat's attributes and applied to a tenant's chats; and the filter schema.

1. Fields, operators and their meanings come from the contract's table.
2. Preview and creation use the same check, so they accept and refuse the same filters.
3. A group's combinator joins its statements, `and` joins groups; no groups means every chat.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, NamedTuple

from mockserver.contract.filters import (
    FIELDS,
    OPERATORS,
    OTHER_MEANINGS,
    PART_OPERATORS,
    FilterField,
    Meaning,
    Operator,
    catalog,
)
from mockserver.contract.text import closest_match_hint
from mockserver.core import ids
from mockserver.core.instants import HOUR, MINUTE, Instant, as_shown, parse, parse_date
from mockserver.core.redaction import to_json_text
from mockserver.core.state.calls import ApiError, Call, Success
from mockserver.core.state.records import Chat, ChatAttributes
from mockserver.core.state.sandbox import SandboxState, Scope
from mockserver.core.state.tenant import Chats

_LARGEST = 1.7976931348623157e308  # a larger JSON number is not a double, and `1e999` parses as infinity
_NO_PLATFORM = "\0"
_REMEMBERED_FOR = MINUTE  # under the option `cached` of estimated-count-exactness


# A group or a statement: whether a chat with these attributes satisfies it.
Test = Callable[[ChatAttributes], bool]


class Audience(NamedTuple):
    """Filters that passed the check: the tests of their groups, which a chat satisfies all."""

    tests: tuple[Test, ...]

    def count(self, chats: Chats) -> int:
        """Return the number of chats that satisfy the filters."""
        if not self.tests:
            return len(chats)
        is_met = _combined("and", self.tests)
        return sum(size for attributes, size in chats.alike().items() if is_met(attributes))

    def select(self, chats: Chats) -> Sequence[Chat]:
        """Return the chats that satisfy the filters, in the order of their creation."""
        if not self.tests:
            return chats.so_far()
        selected = frozenset(filter(_combined("and", self.tests), chats.alike()))
        return [chat for chat in chats.rows if chat.attributes in selected]


def _combined(combinator: str, tests: Sequence[Test]) -> Test:
    """Return the test that all of these pass, or any of them."""
    combine = all if combinator == "and" else any
    return lambda attributes: combine(test(attributes) for test in tests)


def preview(scope: Scope, call: Call, body: Mapping[str, Any]) -> Success:
    """Return the number of chats that the filters select; creates and sends nothing (audience.preview)."""
    count = compile_filters(scope.sandbox, body.get("filters")).count(scope.tenant.chats)
    exactness = scope.sandbox.choices["estimated-count-exactness"]
    if exactness == "exact":
        return Success(count)
    filters = json.dumps(body.get("filters"), sort_keys=True, default=str)
    if exactness == "rough":
        spread = count // 20  # five per cent
        drawn = ids.seeded_int(scope.sandbox.seed, "estimate", filters, count, below=2 * spread + 1)
        return Success(count - spread + drawn)
    made_at, cached_count = scope.sandbox.cached_previews.get((scope.tenant.id, filters), (None, count))
    if made_at is None or scope.sandbox.now >= made_at + _REMEMBERED_FOR:
        scope.sandbox.cached_previews[scope.tenant.id, filters] = (scope.sandbox.now, count)
        return Success(count)
    return Success(cached_count)


def compile_filters(sandbox: SandboxState, groups: Sequence[Mapping[str, Any]] | ApiError | None) -> Audience:
    """
    Return the audience of these groups.

    Raises:
        ApiError: CAMPAIGN_INVALID_FILTERS for an invalid field, operator or value; the refusal that is in place of groups.
    """
    if isinstance(groups, ApiError):
        raise groups
    tests = [_group(sandbox, group, f"/filters/{number}") for number, group in enumerate(groups or ())]
    return Audience(tuple(test for test in tests if test is not None))


def _group(sandbox: SandboxState, group: Mapping[str, Any], at: str) -> Test | None:
    statements = group["statements"]
    if not statements and sandbox.choices["group-no-statements"] == "ignore":
        return None
    tests = [_statement(sandbox, statement, f"{at}/statements/{number}") for number, statement in enumerate(statements)]
    return _combined(group["combinator"], tests)


class _Statement(NamedTuple):
    """A statement of the filters, and its JSON Pointer."""

    sandbox: SandboxState
    statement: Mapping[str, Any]
    at: str

    def short(self, value: object) -> str:
        """Return the value for a reason: as JSON, cut, without secrets."""
        if isinstance(value, float) and math.isinf(value):
            return "a number beyond the range of doubles"
        return self.sandbox.excerpt(to_json_text(value))

    def named(self, key: str, known: Mapping[str, Any], kind: str, clause: str) -> Any:
        """Return the row of a name in the statement; raises ApiError for an unknown one."""
        name = self.statement[key]
        if name not in known:
            received = self.sandbox.excerpt(name)
            raise self.invalid(f"/{key}", f"got {received!r}; expected {kind}{_nearest(name, known)}", clause)
        return known[name]

    def invalid(self, below: str, reason: str, clause: str = "filters.types") -> ApiError:
        """Return the refusal of a part of the statement."""
        location, field = self.at + below, self.statement["field"]
        return ApiError("CAMPAIGN_INVALID_FILTERS", clause=clause, location=location, reason=reason, field=field)


def _statement(sandbox: SandboxState, written: Mapping[str, Any], at: str) -> Test:
    statement = _Statement(sandbox, written, at)
    field: FilterField = statement.named("field", FIELDS, "a filter field", "filters.fields")
    kind = f"an operator of {field.type} fields"
    operator: Operator = statement.named("operator", OPERATORS[field.type], kind, "filters.operators")
    return _test(sandbox, field, operator, _operand(statement, field, operator))


def _test(sandbox: SandboxState, field: FilterField, operator: Operator, operand: Any) -> Test:
    """Return the test of a statement; a positive operator is false for a chat without the value."""
    positive = OPERATORS[field.type][operator.negates] if operator.negates else operator
    meaning = _meaning(sandbox, positive)
    read = attrgetter(field.attribute)
    folds = _ignores_case(sandbox, field) and positive.operand != "none"

    def is_met(attributes: ChatAttributes) -> bool:
        value = read(attributes)
        if value is None:
            return False
        return meaning(value.casefold() if folds else value, operand)

    def is_missing_or_unmet(attributes: ChatAttributes) -> bool:
        return not is_met(attributes)

    def is_unmet(attributes: ChatAttributes) -> bool:
        return read(attributes) is not None and not is_met(attributes)

    if operator.negates is None:
        return is_met
    skips_missing = sandbox.choices["missing-value-negative-ops"] == "no-match" and positive.operand != "none"
    return is_unmet if skips_missing else is_missing_or_unmet


def _meaning(sandbox: SandboxState, positive: Operator) -> Meaning:
    for (choice, option), others in OTHER_MEANINGS.items():
        if positive.name in others and sandbox.choices[choice] == option:
            return others[positive.name]
    assert positive.meaning is not None
    return positive.meaning


def _ignores_case(sandbox: SandboxState, field: FilterField) -> bool:
    is_text = field.type == "string" and field.allowed is None
    return is_text and sandbox.choices["case-sensitivity"] == "insensitive"


def _operand(statement: _Statement, field: FilterField, operator: Operator) -> Any:
    """Return the operand in the form that the operator's meaning takes; raises ApiError for a missing or wrong one."""
    written = statement.statement
    if operator.operand == "none":
        return None
    if operator.operand == "list":
        values = written.get("value")
        if not isinstance(values, list) or not values:
            received = statement.short(values) if "value" in written else "nothing"
            raise statement.invalid("/value", f"got {received}; expected a non-empty array for '{operator.name}'")
        return frozenset(_scalar(statement, field, value, f"/value/{number}") for number, value in enumerate(values))
    wanted = ("value", "value2") if operator.operand == "pair" else ("value",)
    for key in wanted:
        if key not in written:
            clause = "filters.value2" if key == "value2" else "filters.types"
            raise statement.invalid(f"/{key}", f"got no {key}; expected one for '{operator.name}'", clause)
    scalars = tuple(_scalar(statement, field, written[key], f"/{key}") for key in wanted)
    return scalars if operator.operand == "pair" else scalars[0]


def _scalar(statement: _Statement, field: FilterField, value: Any, below: str) -> Any:
    """Return one operand as chats have it; raises ApiError for a wrong type, and `true` is not a number."""
    if field.type == "date":
        return _date(statement, value, below)
    sandbox = statement.sandbox
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    fits = {
        "string": isinstance(value, str),
        "array": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "number": is_number and -_LARGEST <= value <= _LARGEST,
    }[field.type]
    if not fits:
        reason = f"got {statement.short(value)}; expected {field.value_format} for {field.name}"
        raise statement.invalid(below, reason)
    operator = statement.statement["operator"]
    takes_part = operator in PART_OPERATORS and sandbox.choices["platform-text-operators"] == "text"
    if field.allowed and value not in field.allowed and not takes_part:
        return _unknown_platform(statement, field, value, below)
    if isinstance(value, Decimal):
        # Below 2**53 a double, like the number of a chat from seed data; beyond, doubles are no longer every integer.
        return float(value) if abs(value) < 2**53 else value
    return value.casefold() if _ignores_case(sandbox, field) else value


def _unknown_platform(statement: _Statement, field: FilterField, value: str, below: str) -> str:
    option = statement.sandbox.choices["platform-value-unknown"]
    if option == "match-none":
        return _NO_PLATFORM + value  # so that no part of it is part of a platform either
    expected = f"{field.value_format} for {field.name}{_nearest(value, field.allowed or ())}"
    reason, clause = f"got {statement.short(value)}; expected {expected}", "filters.platform-values"
    if option == "platform-unsupported":
        raise ApiError("PLATFORM_UNSUPPORTED", clause=clause, location=statement.at + below, reason=reason)
    raise statement.invalid(below, reason, clause)


def _date(statement: _Statement, value: Any, below: str) -> Instant:
    choices, lenient = statement.sandbox.choices, statement.sandbox.choices["date-only-and-naive"]
    expected = "an ISO 8601 date-time with Z or an offset, such as 2026-03-01T09:00:00-03:00"
    read = parse(value) if isinstance(value, str) else None
    if read is not None and read[1]:
        if choices["date-offset"] != "z-only" or value[-1] in "Zz":
            return as_shown(read[0])
        expected = "UTC with Z (choice date-offset)"
    elif lenient != "reject" and isinstance(value, str):
        in_brazil = lenient == "midnight-brazil"
        instant = parse_date(value, brazil=in_brazil)
        if read is not None:
            instant = read[0] + 3 * HOUR if in_brazil else read[0]
        if instant is not None:
            return as_shown(instant)
    raise statement.invalid(below, f"got {statement.short(value)}; expected {expected}", "filters.dates")


def _nearest(received: str, known: Iterable[str]) -> str:
    return closest_match_hint(received, known) or f": {', '.join(known)}"


def read(scope: Scope, call: Call) -> Success:
    """Fields, operators and value formats, from the table that validates (filters.schema)."""
    return Success(catalog())
