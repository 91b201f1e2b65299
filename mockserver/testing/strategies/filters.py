"""Strategies of filters that the gateway accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract.filters import COMBINATORS, FIELDS, OPERATORS, FilterField
from mockserver.testing.strategies import values

_TAGS = ("tag_new", "tag_vip", "tag_old", "tag_nowhere")
# Few values, so that filters often match chats, and parts of them.
_TEXTS: Mapping[str, Sequence[str]] = {
    "chat.status": ("open", "closed", "Open", "aberto ã", "o", "ã", ""),
    "chat.entrypointId": ("entrypoint_a", "entrypoint_nowhere"),
    "chat.funnelStepId": ("funnel_step_a", "funnel_step_nowhere"),
    "chat.trackingLinkId": ("tracking_link_a", "tracking_link_b", "tracking"),
    "chat.attentionReason": ("Pediu para falar com uma pessoa", "pediu", "pessoa", ""),
    "chat.assignedUserId": ("user_bia", "user_caio", "user_"),
    "chat.virtual.dm-participant.contact": (
        "+5511999990000",
        "+5511888880000",
        "ana@example.com",
        "+55",
        "example.com",
        "0000",
        "",
    ),
}


@st.composite
def filters(draw: st.DrawFn, *, fields: Sequence[str] = tuple(FIELDS), max_groups: int = 3) -> list[JSON]:
    """
    Draw filters that the gateway accepts, also an empty list.

    Args:
        fields: The fields of the statements.
        max_groups: The largest number of groups.
    """
    statement = st.sampled_from([FIELDS[field] for field in fields]).flatmap(_statements)
    statements = st.lists(statement, min_size=1, max_size=3)
    group = st.fixed_dictionaries({"combinator": st.sampled_from(COMBINATORS), "statements": statements})
    return draw(st.lists(group, max_size=max_groups))


@st.composite
def _statements(draw: st.DrawFn, field: FilterField) -> JSON:
    operator = draw(st.sampled_from(list(OPERATORS[field.type].values())))
    operands = _operands(field)
    statement: JSON = {"field": field.name, "operator": operator.name}
    if operator.operand == "list":
        statement["value"] = draw(st.lists(operands, min_size=1, max_size=3))
    elif operator.operand != "none":
        statement["value"] = draw(operands)
    if operator.operand == "pair":
        statement["value2"] = draw(operands)
    return statement


def _operands(field: FilterField) -> st.SearchStrategy[Any]:
    if field.allowed:
        return st.sampled_from(field.allowed)
    if field.type == "array":
        return st.sampled_from(_TAGS)
    if field.type == "string":
        return st.sampled_from(_TEXTS[field.name])
    return {"number": values.numbers(), "boolean": st.booleans(), "date": values.instants()}[field.type]
