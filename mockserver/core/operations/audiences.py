"""
Audiences: filters validated, compiled into one expression and evaluated over a tenant's chats; and the filter schema.

1. Fields and operators come from the contract's table; operands are bound as constants and never part of the code.
2. Preview and creation use the same check, so they accept and refuse the same filters.
3. A group's combinator joins its statements, `and` joins groups; no groups means every chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from mockserver.contract.filters import (
    FIELDS,
    OPERATORS,
    OTHER_MEANINGS,
    PART_OPERATORS,
    FilterField,
    Operator,
    catalog,
)
from mockserver.contract.text import closest_match_hint
from mockserver.core import ids
from mockserver.core.instants import HOUR, MINUTE, Instant, as_shown, parse, parse_date
from mockserver.core.redaction import masked_excerpt, to_json_text
from mockserver.core.state.calls import ApiError, Call, Success
from mockserver.core.state.records import Chat
from mockserver.core.state.sandbox import SandboxState, Scope
from mockserver.core.state.tenant import Chats

_LARGEST = 1.7976931348623157e308  # a larger JSON number is not a double, and `1e999` parses as infinity
_NO_PLATFORM = "\0"
_REMEMBERED_FOR = MINUTE  # under the option `cached` of estimated-count-exactness


# The rows of a compiled audience: chats, each with its attributes `a`, a one for each of them, or attributes alone.
_CHATS = "chat for chat in rows for a in (chat.attributes,)"
_ONES = "1 for chat in rows for a in (chat.attributes,)"  # a list of chats would touch each selected one twice more
_ATTRIBUTES = "a for a in rows"


class Audience(NamedTuple):
    """Filters that passed the check: an expression over a chat's attributes `a`, and the constants that it names v0, v1, ..."""

    expression: str
    operands: tuple[Any, ...]

    def count(self, chats: Chats) -> int:
        """Return the number of chats that satisfy the filters."""
        sizes = chats.group_sizes()
        if sizes is None:
            return len(self._select(_ONES, chats.rows))
        return sum(sizes[attributes] for attributes in self._select(_ATTRIBUTES, sizes))

    def select(self, chats: Chats) -> Sequence[Chat]:
        """Return the chats that satisfy the filters, in the order of their creation."""
        if self.expression == "True":
            return chats.so_far()
        sizes = chats.group_sizes()
        if sizes is None:
            return self._select(_CHATS, chats.rows)
        selected = frozenset(self._select(_ATTRIBUTES, sizes))
        return [chat for chat in chats.rows if chat.attributes in selected]

    def _select(self, rows_text: str, rows: Iterable[Any]) -> list[Any]:
        return _compiled(rows_text, self.expression, len(self.operands))(rows, *self.operands)


_EVERYONE = Audience("True", ())


@lru_cache(maxsize=512)
def _compiled(rows_text: str, expression: str, operands: int) -> Callable[..., list[Any]]:
    """Return a function of rows and operands; its text has expressions of the table and names, no value of a request."""
    names = "".join(f", v{number}" for number in range(operands))
    namespace: dict[str, Any] = {}
    source = f"def select(rows{names}):\n    return [{rows_text} if {expression}]"
    exec(source, namespace)  # noqa: S102
    select: Callable[..., list[Any]] = namespace["select"]
    return select


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
    if not groups:
        return _EVERYONE
    operands: list[Any] = []
    expressions = [
        expression
        for number, group in enumerate(groups)
        if (expression := _group(sandbox, group, f"/filters/{number}", operands)) is not None
    ]
    return Audience(" and ".join(f"({expression})" for expression in expressions) or "True", tuple(operands))


def _group(sandbox: SandboxState, group: Mapping[str, Any], at: str, operands: list[Any]) -> str | None:
    statements = group["statements"]
    if not statements:
        vacuous = {"and": "a is a", "or": "a is not a"}[group["combinator"]]
        return None if sandbox.choices["group-no-statements"] == "ignore" else vacuous
    parts = [
        _statement(sandbox, statement, f"{at}/statements/{number}", operands)
        for number, statement in enumerate(statements)
    ]
    return f" {group['combinator']} ".join(f"({part})" for part in parts)


def _statement(sandbox: SandboxState, statement: Mapping[str, Any], at: str, operands: list[Any]) -> str:
    field = FIELDS.get(statement["field"])
    if field is None:
        raise _invalid(
            statement,
            f"{at}/field",
            f"got {masked_excerpt(statement['field'], sandbox.secrets())!r}; expected a filter field{_nearest(statement['field'], FIELDS)}",
            "filters.fields",
        )
    operator = OPERATORS[field.type].get(statement["operator"])
    if operator is None:
        received = masked_excerpt(statement["operator"], sandbox.secrets())
        reason = f"got {received!r}; expected an operator of {field.type} fields{_nearest(statement['operator'], OPERATORS[field.type])}"
        raise _invalid(statement, f"{at}/operator", reason, "filters.operators")
    bound = _operands(sandbox, field, operator, statement, at)
    names = [f"v{len(operands) + number}" for number in range(len(bound))]
    operands.extend(bound)
    return _expression(sandbox, field, operator, names)


def _expression(sandbox: SandboxState, field: FilterField, operator: Operator, names: Sequence[str]) -> str:
    positive = OPERATORS[field.type][operator.negates] if operator.negates else operator
    meaning = positive.expression
    for (choice, option), others in OTHER_MEANINGS.items():
        if positive.name in others and sandbox.choices[choice] == option:
            meaning = others[positive.name]
    attribute = f"a.{field.attribute}"
    folded = _ignores_case(sandbox, field) and positive.operand != "none"
    spelled = meaning.format(
        a=f"{attribute}.casefold()" if folded else attribute,
        v=names[0] if names else "",
        w=names[1] if len(names) > 1 else "",
    )
    if folded:
        spelled = f"{attribute} is not None and ({spelled.replace(f'{attribute}.casefold() is not None and ', '')})"
    if operator.negates is None:
        return spelled
    skips_missing = sandbox.choices["missing-value-negative-ops"] == "no-match" and positive.operand != "none"
    if skips_missing and field.type != "array":
        return f"{attribute} is not None and not ({spelled})"
    return f"not ({spelled})"


def _ignores_case(sandbox: SandboxState, field: FilterField) -> bool:
    return field.type == "string" and sandbox.choices["case-sensitivity"] == "insensitive"


def _operands(
    sandbox: SandboxState, field: FilterField, operator: Operator, statement: Mapping[str, Any], at: str
) -> list[Any]:
    if operator.operand == "none":
        return []
    if operator.operand == "list":
        values = statement.get("value")
        if not isinstance(values, list) or not values:
            raise _invalid(
                statement,
                f"{at}/value",
                f"got {_short(sandbox, values) if 'value' in statement else 'nothing'}; expected a non-empty array for '{operator.name}'",
                "filters.types",
            )
        return [
            frozenset(
                _scalar(sandbox, field, statement, value, f"{at}/value/{number}") for number, value in enumerate(values)
            )
        ]
    wanted = ("value", "value2") if operator.operand == "pair" else ("value",)
    for key in wanted:
        if key not in statement:
            raise _invalid(
                statement,
                f"{at}/{key}",
                f"got no {key}; expected one for '{operator.name}'",
                "filters.value2" if key == "value2" else "filters.types",
            )
    return [_scalar(sandbox, field, statement, statement[key], f"{at}/{key}") for key in wanted]


def _scalar(sandbox: SandboxState, field: FilterField, statement: Mapping[str, Any], value: Any, at: str) -> Any:
    """Return one operand as chats have it; raises ApiError for a wrong type, and `true` is not a number."""
    if field.type == "date":
        return _date(sandbox, statement, value, at)
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    fits = {
        "string": isinstance(value, str),
        "array": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "number": is_number and -_LARGEST <= value <= _LARGEST,
    }[field.type]
    if not fits:
        raise _invalid(
            statement,
            at,
            f"got {_short(sandbox, value)}; expected {field.value_format} for {field.name}",
            "filters.types",
        )
    takes_part = statement["operator"] in PART_OPERATORS and sandbox.choices["platform-text-operators"] == "text"
    if field.allowed and value not in field.allowed and not takes_part:
        return _unknown_platform(sandbox, field, statement, value, at)
    if isinstance(value, Decimal):
        # Below 2**53 a double, like the number of a chat from seed data; beyond, doubles are no longer every integer.
        return float(value) if abs(value) < 2**53 else value
    return value.casefold() if _ignores_case(sandbox, field) else value


def _unknown_platform(
    sandbox: SandboxState, field: FilterField, statement: Mapping[str, Any], value: str, at: str
) -> str:
    option = sandbox.choices["platform-value-unknown"]
    if option == "match-none":
        return _NO_PLATFORM + value  # so that no part of it is part of a platform either
    reason = f"got {_short(sandbox, value)}; expected {field.value_format} for {field.name}{_nearest(value, field.allowed or ())}"
    if option == "platform-unsupported":
        raise ApiError("PLATFORM_UNSUPPORTED", clause="filters.platform-values", location=at, reason=reason)
    raise _invalid(statement, at, reason, "filters.platform-values")


def _date(sandbox: SandboxState, statement: Mapping[str, Any], value: Any, at: str) -> Instant:
    lenient = sandbox.choices["date-only-and-naive"]
    read = parse(value) if isinstance(value, str) else None
    if read is not None and read[1]:
        if sandbox.choices["date-offset"] == "z-only" and value[-1] not in "Zz":
            raise _invalid(
                statement,
                at,
                f"got {_short(sandbox, value)}; expected UTC with Z (choice date-offset)",
                "filters.dates",
            )
        return as_shown(read[0])
    if lenient != "reject" and isinstance(value, str):
        brazil = lenient == "midnight-brazil"
        instant = read[0] + (3 * HOUR if brazil else 0) if read else parse_date(value, brazil=brazil)
        if instant is not None:
            return as_shown(instant)
    raise _invalid(
        statement,
        at,
        f"got {_short(sandbox, value)}; expected an ISO 8601 date-time with Z or an offset",
        "filters.dates",
    )


def _invalid(statement: Mapping[str, Any], at: str, reason: str, clause: str) -> ApiError:
    return ApiError("CAMPAIGN_INVALID_FILTERS", clause=clause, location=at, reason=reason, field=statement["field"])


def _nearest(received: str, known: Iterable[str]) -> str:
    return closest_match_hint(received, known) or f": {', '.join(known)}"


def _short(sandbox: SandboxState, value: object) -> str:
    """Return the value for a reason: as JSON, cut, without secrets."""
    return masked_excerpt(to_json_text(value), sandbox.secrets())


def read(scope: Scope, call: Call) -> Success:
    """Fields, operators and value formats, from the table that validates (filters.schema)."""
    return Success(catalog())
