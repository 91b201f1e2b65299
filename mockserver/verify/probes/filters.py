"""Probes of filters: what is accepted, what is refused and with which code. They read alone, through the preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mockserver.contract.filters import FIELDS, OPERATORS, PLATFORMS
from mockserver.verify import asking
from mockserver.verify.asking import all_of, any_of, is_, preview, size, statement
from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit, succeeded

INVALID: Final = "CAMPAIGN_INVALID_FILTERS"
_SHAPE_CODES: Final = ("VALIDATION_ERROR", INVALID)

# One field of each type, with a value that fits it.
_SAMPLES: Final[tuple[tuple[str, Any], ...]] = (
    ("chat.attentionReason", "mockserver verify"),
    ("chat.monetization", 1.5),
    ("chat.isAnswered", True),
    ("chat.virtual.lastUpdateAt", "2020-01-01T00:00:00Z"),
    ("chat.tagIds", "tag_mockserver_verify"),
)
# Operators outside their field's type, each with a value that is not what is wrong.
_FOREIGN: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.status", "greater-than", "open"),
    ("chat.status", "has-any", ["open"]),
    ("chat.monetization", "contains", 1),
    ("chat.monetization", "starts-with", 1),
    ("chat.isAnswered", "in", [True]),
    ("chat.isAnswered", "contains", True),
    ("chat.virtual.lastUpdateAt", "ends-with", "2020-01-01T00:00:00Z"),
    ("chat.virtual.lastUpdateAt", "has-all", ["2020-01-01T00:00:00Z"]),
    ("chat.tagIds", "equals", "tag_mockserver_verify"),
    ("chat.tagIds", "in", ["tag_mockserver_verify"]),
    ("chat.tagIds", "mockserver-verify", ["tag_mockserver_verify"]),
)
_MISTYPED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.monetization", "equals", "1"),
    ("chat.monetization", "equals", True),
    ("chat.attentionReason", "equals", 1),
    ("chat.isAnswered", "equals", "true"),
    ("chat.isAnswered", "equals", 1),
    ("chat.virtual.lastUpdateAt", "less-than", 5),
    ("chat.tagIds", "has-any", "tag_mockserver_verify"),
)


def catalog(visit: Visit) -> None:
    """The catalogue names the documented fields and operators, in whatever shape."""
    exchange = visit.call("readFilterSchema")
    succeeded(exchange, (dict, list))
    text = exchange.body.decode("utf-8", "replace")
    operators = {name for rows in OPERATORS.values() for name in rows}
    missing = [name for name in (*FIELDS, *sorted(operators)) if f'"{name}"' not in text]
    visit.judge("filters.schema", not missing, exchange, f"also {', '.join(missing[:3])}" if missing else "every field")


def fields(visit: Visit) -> None:
    """Each of the seventeen fields is taken, an unknown one is not; exists needs no value."""
    every = preview(visit, any_of(*(is_(field, "exists") for field in FIELDS)))
    for clause in ("filters.fields", "filters.no-value"):
        visit.judge(clause, every.succeeded, every, "an estimate over the seventeen fields")
    absent = preview(visit, any_of(*(is_(field, "not-exists") for field in FIELDS)))
    visit.judge("filters.no-value", absent.succeeded, absent, "an estimate over the seventeen fields")
    unknown = statement(visit, "chat.mockserverVerify", "exists")
    for clause in ("filters.fields", "filters.invalid"):
        visit.refused(clause, unknown, INVALID)


def operators(visit: Visit) -> None:
    """Every operator of each type is taken, and some outside it are refused."""
    for field, value in _SAMPLES:
        rows = OPERATORS[FIELDS[field].type].values()
        said = [is_(field, row.name, *_operands(row.operand, value)) for row in rows]
        exchange = preview(visit, any_of(*said))
        visit.judge("filters.operators", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
        visit.judge("filters.value2", exchange.succeeded, exchange, f"an estimate over every operator of {field}")
    for field, operator, value in _FOREIGN:
        exchange = statement(visit, field, operator, value)
        visit.refused("filters.operators", exchange, INVALID)


def _operands(kind: str, value: Any) -> tuple[Any, ...]:
    return {"none": (), "one": (value,), "list": ([value],), "pair": (value, value)}[kind]


def values(visit: Visit) -> None:
    """A value of another type is refused, and so is a range without its upper bound."""
    for field, operator, value in _MISTYPED:
        exchange = statement(visit, field, operator, value)
        for clause in ("filters.types", "filters.invalid"):
            visit.refused(clause, exchange, INVALID)
    visit.refused("filters.value2", statement(visit, "chat.monetization", "between", 1), *_SHAPE_CODES)
    visit.refused("filters.types", statement(visit, "chat.monetization", "equals"), *_SHAPE_CODES)


def platforms(visit: Visit) -> None:
    """The four platforms are taken; what another one gets is open."""
    known = statement(visit, "chat.platform", "in", list(PLATFORMS))
    visit.judge("filters.platform-values", known.succeeded, known, "an estimate")
    unknown = statement(visit, "chat.platform", "equals", "mockserver_verify")
    by_code = {INVALID: "invalid-filters", "PLATFORM_UNSUPPORTED": "platform-unsupported"}
    none = unknown.succeeded and size(unknown) == 0
    option = "match-none" if none else by_code.get(str(unknown.code))
    wanted = f"{' or '.join(by_code)}, or an estimate of 0"
    visit.judge("filters.platform-values", option is not None, unknown, wanted)
    visit.observe("platform-value-unknown", [option] if option else [], unknown)
    _parts_of_platforms(visit, known, by_code)


def _parts_of_platforms(visit: Visit, known: Exchange, by_code: Mapping[str, str]) -> None:
    """The text operators: all four platforms contain `app`, so that with a chat an estimate tells the options apart."""
    part = statement(visit, "chat.platform", "contains", "app")
    if not part.succeeded:
        visit.observe("platform-text-operators", ["whole-values"] if part.code in by_code else [], part)
    elif known.succeeded and size(known):
        visit.observe("platform-text-operators", ["text" if size(part) else "whole-values"], part)


def structure(visit: Visit) -> None:
    """Filters of a wrong structure are refused, by one code or the other throughout."""
    for wrong in ("text", [{"combinator": "and"}], [{"combinator": "xor", "statements": [_SOME]}]):
        exchange = visit.call("previewAudience", json={"filters": wrong})
        visit.refused("filters.invalid", exchange, *_SHAPE_CODES)
        by_code = {"VALIDATION_ERROR": "split", INVALID: "all-invalid-filters"}
        visit.observe("filter-error-split", [by_code[exchange.code]] if exchange.code in by_code else [], exchange)


_SOME: Final = is_("chat.isAnswered", "exists")


def emptiness(visit: Visit) -> None:
    """An empty list of groups, and groups without statements."""
    listed = visit.call("previewAudience", json={"filters": []})
    option = "everyone" if listed.succeeded else "reject" if listed.code in _SHAPE_CODES else None
    visit.observe("filters-empty-list", [option] if option else [], listed)
    everyone = asking.size(visit.call("previewAudience", json={}))
    hollow = preview(visit, any_of())
    if not hollow.succeeded:
        visit.observe("group-no-statements", ["reject"] if hollow.code in _SHAPE_CODES else [], hollow)
    elif everyone:
        # An or over nothing is false; a group that is left out restricts nobody.
        visit.observe("group-no-statements", ["ignore" if size(hollow) else "vacuous"], hollow)
    both = preview(visit, all_of())
    if everyone and both.succeeded:
        visit.observe("group-no-statements", ["ignore", "vacuous"] if size(both) else [], both)
