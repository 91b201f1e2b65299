"""Chats as seed data has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.filters import PLATFORMS
from mockserver.testing.strategies import values

JSON = dict[str, Any]

# Few values, so that filters and chats meet.
STATUSES = ("open", "closed", "Open", "aberto ã")
TAGS = ("tag_new", "tag_vip", "tag_old")
CONTACTS = ("+5511999990000", "+5511888880000", "ana@example.com", "")
REASONS = ("Pediu para falar com uma pessoa", "pediu", "")


def _or_none(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(strategy, st.none())


def chat(entrypoints: Sequence[str] = (), steps: Sequence[str] = ()) -> st.SearchStrategy[JSON]:
    """One chat without an id; its entrypoint and funnel step are of those named."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "name": _or_none(values.texts(1, 60, plain=("Ana", "Bia"))),
        "platform": st.sampled_from(PLATFORMS),
        "status": st.sampled_from(STATUSES),
        "monetization": _or_none(values.numbers()),
        "trackingLinkId": _or_none(st.sampled_from(["tracking_link_a", "tracking_link_b"])),
        "isGroupChat": st.booleans(),
        "isAnswered": st.booleans(),
        "needsHumanAttention": st.booleans(),
        "attentionReason": _or_none(st.sampled_from(REASONS)),
        "tagIds": st.lists(st.sampled_from(TAGS), unique=True),
        "assignedUserId": _or_none(st.sampled_from(["user_bia", "user_caio"])),
        "participantsCount": st.integers(0, 300),
        "contact": _or_none(st.sampled_from(CONTACTS)),
        "birthDate": _or_none(st.one_of(values.dates(), values.instants())),
        "lastMessageAt": _or_none(values.instants()),
        "lastUpdateAt": values.instants(),
    }
    if entrypoints:
        fields["entrypointId"] = _or_none(st.sampled_from(entrypoints))
    if steps:
        fields["funnelStepId"] = _or_none(st.sampled_from(steps))
    return st.fixed_dictionaries({}, optional=fields)


def chats(
    *,
    min_size: int = 0,
    max_size: int = 5,
    prefix: str = "chat_",
    entrypoints: Sequence[str] = (),
    steps: Sequence[str] = (),
) -> st.SearchStrategy[list[JSON]]:
    """Lists of chats for `given`, ids counted from 1 under `prefix`."""
    drawn = st.lists(chat(entrypoints, steps), min_size=min_size, max_size=max_size)
    return drawn.map(lambda rows: [{"id": f"{prefix}{number}", **row} for number, row in enumerate(rows, 1)])
