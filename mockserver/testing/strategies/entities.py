"""
Strategies of seed data, as in `given`: tenants with their chats, templates, funnels, entrypoints and forms.

Every reference is to a record of the same seed data.
"""

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


def chat(entrypoints: Sequence[str] = (), steps: Sequence[str] = ()) -> st.SearchStrategy[JSON]:
    """Return a strategy of one chat without an id, with these entrypoints and funnel steps."""
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
    """
    Return a strategy of lists of chats for `given`.

    Args:
        min_size: The least number of chats.
        max_size: The largest number of chats.
        prefix: The beginning of their ids, before a number from 1.
        entrypoints: Ids of entrypoints to draw from.
        steps: Ids of funnel steps to draw from.
    """
    drawn = st.lists(chat(entrypoints, steps), min_size=min_size, max_size=max_size)
    return drawn.map(lambda rows: [{"id": f"{prefix}{number}", **row} for number, row in enumerate(rows, 1)])


_STATUSES = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")
_SOURCES = ("chat.name", "chat.contact", "chat.birthDate", "custom.dentista")
_PHONES = ("+5511999990001", "+55 11 99999-0002", "+351 912 345 678")
_SUBSCRIPTIONS = ("active", "suspended", "canceled", "none")


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


def _numbered(rows: Sequence[JSON], prefix: str) -> list[JSON]:
    return [{"id": f"{prefix}{number}", **row} for number, row in enumerate(rows, 1)]


def funnels(*, min_size: int = 0, stem: str = "") -> st.SearchStrategy[list[JSON]]:
    """Return a strategy of lists with one funnel of up to two steps, or of empty lists."""
    steps = st.lists(st.just({}), min_size=min_size, max_size=2).map(
        lambda rows: _numbered(rows, f"funnel_step_{stem}")
    )
    return steps.map(lambda rows: [{"id": f"funnel_{stem}1", "steps": rows}] if rows else [])


def entrypoints(*, min_size: int = 0, stem: str = "") -> st.SearchStrategy[list[JSON]]:
    """Return a strategy of lists of connected numbers, without duplicates."""
    phones = st.lists(st.sampled_from(_PHONES), unique=True, min_size=min_size, max_size=2)
    pairs = phones.flatmap(lambda drawn: st.tuples(*(st.tuples(st.just(phone), st.booleans()) for phone in drawn)))
    return pairs.map(
        lambda rows: _numbered(
            [{"displayPhone": phone, "isCoexistence": coexists} for phone, coexists in rows], f"entrypoint_{stem}"
        )
    )


def forms(*, min_size: int = 0, stem: str = "") -> st.SearchStrategy[list[JSON]]:
    """Return a strategy of lists of forms, active or not, with origins that may embed them."""
    origins = st.lists(st.sampled_from(["https://www.clinic.example", "https://a.example:8443"]), unique=True)
    form: st.SearchStrategy[JSON] = st.fixed_dictionaries(
        {}, optional={"active": st.booleans(), "iframeEmbedAllowedOrigins": origins}
    )
    return st.lists(form, min_size=min_size, max_size=2).map(lambda rows: _numbered(rows, f"form_{stem}"))


@st.composite
def belongings(draw: st.DrawFn, stem: str = "") -> JSON:
    """Draw the records of one tenant, with `stem` in their ids after the kind; only the first tenant has entrypoints."""
    funnel_rows = draw(funnels(stem=stem))
    entrypoint_rows = draw(entrypoints(stem=stem)) if not stem else []
    steps = [step["id"] for funnel in funnel_rows for step in funnel["steps"]]
    entrypoint_ids = [entrypoint["id"] for entrypoint in entrypoint_rows]
    rows = draw(chats(prefix=f"chat_{stem}", entrypoints=entrypoint_ids, steps=steps))
    with_messages = draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else []
    return {
        "funnels": funnel_rows,
        "entrypoints": entrypoint_rows,
        "templates": draw(templates(prefix=f"template_{stem}")),
        "chats": rows,
        "messages": [
            {"chatId": chat["id"], "text": draw(values.texts(0, 80, plain=("Oi",)))} for chat in with_messages
        ],
        "forms": draw(forms(stem=stem)),
    }


@st.composite
def tenants(draw: st.DrawFn, *, max_size: int = 2) -> list[JSON]:
    """
    Draw a list of tenants in addition to the default one, in every state, with their records.

    Args:
        max_size: The largest number of tenants.
    """
    count = draw(st.integers(0, max_size))
    return [
        {
            "id": f"tenant_{number}",
            "name": draw(values.texts(1, 60, plain=("Clínica",))),
            "subscription": draw(st.sampled_from(_SUBSCRIPTIONS)),
            "developersEnabled": draw(st.booleans()),
            **draw(belongings(f"of_{number}_")),
        }
        for number in range(1, count + 1)
    ]


@st.composite
def given(draw: st.DrawFn, *, max_tenants: int = 1) -> JSON:
    """
    Draw complete seed data for `sandbox(given=...)`: the records of the default tenant, and further tenants.

    Args:
        max_tenants: The largest number of further tenants.
    """
    own = draw(belongings())
    others = draw(tenants(max_size=max_tenants))
    return {**own, **({"tenants": others} if others else {})}
