"""Strategies of chats and templates, as in `given`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract.filters import PLATFORMS
from mockserver.testing.strategies import values

# Few values, so that filters often match chats.
STATUSES = ("open", "closed", "Open", "aberto ã")
TAGS = ("tag_new", "tag_vip", "tag_old")
CONTACTS = ("+5511999990000", "+5511888880000", "ana@example.com", "")
REASONS = ("Pediu para falar com uma pessoa", "pediu", "")


def _or_none(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(strategy, st.none())


def _chat() -> st.SearchStrategy[JSON]:
    """Return a strategy of one chat without an id."""
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
    return st.fixed_dictionaries({}, optional=fields)


def chats(*, min_size: int = 0, max_size: int = 5, prefix: str = "chat_") -> st.SearchStrategy[list[JSON]]:
    """
    Return a strategy of lists of chats for `given`.

    Args:
        min_size: The least number of chats.
        max_size: The largest number of chats.
        prefix: The beginning of their ids, before a number from 1.
    """
    drawn = st.lists(_chat(), min_size=min_size, max_size=max_size)
    return drawn.map(lambda rows: _numbered(rows, prefix))


def _numbered(rows: Sequence[JSON], prefix: str) -> list[JSON]:
    return [{"id": f"{prefix}{number}", **row} for number, row in enumerate(rows, 1)]


_STATUSES = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")
_SOURCES = ("chat.name", "chat.contact", "chat.birthDate", "custom.dentista")


@st.composite
def _template(draw: st.DrawFn) -> JSON:
    count = draw(st.integers(0, 3))
    keys = [f"var{number}" for number in range(1, count + 1)]
    text = " ".join(["Olá", *(f"{{{{{key[3:]}}}}}" for key in keys)])
    # A variable is manual, or one that the service fills for each recipient.
    variable = st.one_of(
        st.fixed_dictionaries({"label": values.texts(1, 30, plain=("Cupom",)), "required": st.booleans()}),
        st.fixed_dictionaries({"source": st.sampled_from(_SOURCES)}),
    )
    items = draw(st.lists(values.texts(0, 100, plain=(text,)), min_size=1, max_size=2))
    entry: JSON = {
        "name": draw(values.texts(1, 60, plain=("Promo",))),
        "items": [{"type": "text", "text": text} for text in items],
        "variables": [{"key": key, **draw(variable)} for key in keys],
    }
    status = draw(st.sampled_from([None, *_STATUSES]))
    if status is not None:
        entry["providerTemplateStatus"] = status
    return entry


def templates(*, min_size: int = 0, max_size: int = 3, prefix: str = "template_") -> st.SearchStrategy[list[JSON]]:
    """
    Return a strategy of lists of templates: official, internal and not approved.

    Args:
        min_size: The least number of templates.
        max_size: The largest number of templates.
        prefix: The beginning of their ids, before a number from 1.
    """
    drawn = st.lists(_template(), min_size=min_size, max_size=max_size)
    return drawn.map(lambda rows: _numbered(rows, prefix))
