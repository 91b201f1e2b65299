"""
The seven dimensions of coverage, and the items of each, from the tables of the contract.

1. An item is a text: `startCampaign CAMPAIGN_NOT_DRAFT`, `session pending expire`.
2. No item is written here: each is made of rows of `contract/`.
3. The clauses are not gathered: a clause is covered if an item of another dimension is whose row names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Final, Literal, get_args

from mockserver.contract.effects import WIRE_FAULTS
from mockserver.contract.effects.model import WireFault
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, OPERATIONS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.contract.filters import FIELDS, OPERATORS
from mockserver.contract.lifecycles import DELIVERY, EVENTS, LIFECYCLES

Dimension = Literal["operations", "answers", "steps", "deliveries", "filters", "faults", "clauses"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
OF_OPERATIONS: Final[tuple[Dimension, ...]] = ("operations", "answers", "faults")  # whose items begin with an operation
MEANINGS: Final[Mapping[Dimension, str]] = MappingProxyType(
    {
        "operations": "operations that were called",
        "answers": "successes and error codes of each operation that were received",
        "steps": "transitions and deadlines of records that a call caused, or an answer or event showed",
        "deliveries": "events with the ends of their deliveries to a receiver",
        "filters": "operators of each filter field that were accepted",
        "faults": "faults of the wire at each operation",
        "clauses": "clauses that something covered names",
    }
)

SUCCESS: Final = "success"
DEADLINE: Final = "deadline"
ENDS: Final = DELIVERY.sources("resend")  # the states in which a delivery has ended


def answer_item(operation: str, code: str | None) -> str:
    """Return the item of an answer: the operation with the error code, or with `success` for None."""
    return f"{operation} {code or SUCCESS}"


def step_item(kind: str, state: str, trigger: str) -> str:
    """Return the item of a transition; with the trigger `deadline` that of a deadline."""
    return f"{kind} {state} {trigger}"


def fault_item(operation: str, fault: str, argument: object) -> str:
    """Return the item of a fault with its argument: `before` and `after` an operation that changes something are two items."""
    if not _has_two_items(ENDPOINTS[operation], WIRE_FAULTS[fault]):
        return f"{operation} {fault}"
    when = argument.get("when") if isinstance(argument, Mapping) else argument
    return f"{operation} {fault} {when}"


@cache
def universe() -> Mapping[Dimension, Mapping[str, tuple[str, ...]]]:
    """Return every item of each dimension in the order of the tables, each with the clauses that its row names."""
    items: dict[Dimension, Mapping[str, tuple[str, ...]]] = {
        "operations": dict.fromkeys(OPERATIONS, ()),
        "answers": dict(_answers()),
        "steps": dict(_steps()),
        "deliveries": dict.fromkeys((f"{event} {end}" for event in EVENTS for end in ENDS), ()),
        "filters": dict.fromkeys(_filters(), ()),
        "faults": dict.fromkeys(_faults(), ()),
    }
    named = chain.from_iterable(clauses for rows in items.values() for clauses in rows.values())
    return MappingProxyType(items | {"clauses": dict.fromkeys(named, ())})


_Rows = Iterator[tuple[str, tuple[str, ...]]]  # items with the clauses of their rows


def _answers() -> _Rows:
    for endpoint in ENDPOINTS.values():
        yield answer_item(endpoint.id, None), (endpoint.clause,)
        for code in (*endpoint.errors, *COMMON_ERRORS):
            yield answer_item(endpoint.id, code), (ERRORS[code].clause,)


def _steps() -> _Rows:
    for kind, table in LIFECYCLES.items():
        for step in table.steps:
            yield step_item(kind, step.source, step.trigger), (table.clause,)
        for deadline in table.deadlines:
            yield step_item(kind, deadline.state, DEADLINE), (table.clause,)


def _filters() -> Iterator[str]:
    for field in FIELDS.values():
        for operator in OPERATORS[field.type]:
            yield f"{field.name} {operator}"


def _faults() -> Iterator[str]:
    for endpoint in ENDPOINTS.values():
        for name, row in WIRE_FAULTS.items():
            if row.of_reads_only and endpoint.method != "GET":
                continue
            if row.of_bodies_only and endpoint.response_schema is None:
                continue
            for when in ("before", "after") if _has_two_items(endpoint, row) else (None,):
                yield fault_item(endpoint.id, name, when)


def _has_two_items(endpoint: Endpoint, row: WireFault) -> bool:
    """Return True if a fault before an operation and one after it leave different states: after a read there is none."""
    return row.has_when and endpoint.writes
