"""Strategies for programs of the small language: any order of commands, waits that like to end on a boundary."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mockserver._json import JSON
from tests.properties.playing import TEMPLATES, TENANTS

SECOND = 1_000_000
# Just before, at and after what waits like to miss: a send, a minute, a session's deadline, a day.
_EDGES = (60 * SECOND // 4800, 60 * SECOND // 7, SECOND, 60 * SECOND, 1200 * SECOND, 86_400 * SECOND)
WAITS = st.one_of(
    st.sampled_from([0, 1, *(edge + near for edge in _EDGES for near in (-1, 0, 1))]),
    st.integers(0, 10 * SECOND),
    st.integers(0, 1500 * SECOND),
)

_PLATFORMS = st.sampled_from(["chatapp", "chatapp", "photoapp", "chatapp_lite", "botapp"])
_CADENCES = st.one_of(st.sampled_from([1, 7, 60, 4800, 2**53 - 1, 0, 2**53]), st.integers(1, 100))
_NUMBERS = st.integers(0, 3)


def _group(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"combinator": "and", "statements": [{"field": field, "operator": operator, "value": value}]}


_FILTERS = st.sampled_from(
    [
        None,
        [],
        [_group("chat.platform", "equals", "chatapp")],
        [_group("chat.status", "not-equals", "closed")],
        [_group("chat.status", "equals", "nobody")],
        [_group("chat.nothing", "equals", 1)],
    ]
)


@st.composite
def _bodies(draw: st.DrawFn) -> dict[str, Any]:
    body = {
        "name": draw(st.sampled_from(["", "First", "A", "B", "C", "D"])),
        "platform": draw(_PLATFORMS),
        "cadence": draw(_CADENCES),
    }
    filters = draw(_FILTERS)
    return body if filters is None else body | {"filters": filters}


_VARIABLES = st.sampled_from([{"commonVariables": {"var1": "DEZ"}}] * 3 + [{}, {"commonVariables": {"var1": 1}}])
_CONNECT: tuple[JSON, ...] = (
    {},
    {"coexistence": True},
    {"funnelId": "alone"},
    {"returnUrl": "https://app.example/back"},
    {"extra": 1},
)
_READS = st.sampled_from(["campaigns", "campaign", "execution", "session", "messages", "templates"])


def _commands(tenant: str) -> st.SearchStrategy[list[Any]]:
    """A command of this tenant; what it reads, starts or cancels may now and then be another's."""
    own, owners = st.just(tenant), st.sampled_from([tenant] * 4 + [*TENANTS])
    phones = [f"+55119{TENANTS.index(tenant)}000000{digit}" for digit in range(2)]
    step = {"funnelStepId": f"funnel_step_{tenant}", "funnelId": f"funnel_{tenant}"}
    connect = st.sampled_from([*_CONNECT, step, {"funnelStepId": "funnel_step_nowhere"}])
    ends = st.sampled_from([*phones, "expire", "expired", "phone_in_use", "token_exchange_failed"])
    create = st.tuples(st.just("create"), own, st.sampled_from(TEMPLATES), _bodies())
    start = st.tuples(st.just("start"), own, owners, _NUMBERS, _VARIABLES)
    return st.one_of(
        create,
        start,
        st.tuples(st.just("cancel"), own, owners, _NUMBERS),
        st.tuples(st.just("connect"), own, connect),
        st.tuples(st.just("read"), own, owners, _READS, _NUMBERS),
        st.tuples(st.just("preview"), own, _FILTERS.map(lambda found: {} if found is None else {"filters": found})),
        st.tuples(st.just("chat"), own, _PLATFORMS),
        st.tuples(st.just("fail"), own, _NUMBERS),
        st.tuples(st.just("end"), own, _NUMBERS, ends),
    ).map(list)


@st.composite
def programs(draw: st.DrawFn, most: int = 10, tenants: tuple[str, ...] = TENANTS) -> list[list[Any]]:
    """A program that begins with a campaign and a session, so that the later commands have a target."""
    tenant = tenants[0]
    running = {"name": "First", "platform": "chatapp", "cadence": draw(st.sampled_from([1, 7, 60, 4800]))}
    opening: list[list[Any]] = [
        ["create", tenant, "internal", running],
        ["connect", tenant, {}],
        *([["start", tenant, tenant, 0, {}]] if draw(st.booleans()) else []),
    ]
    waits = st.tuples(st.just("wait"), WAITS).map(list)
    calls = st.one_of(*(_commands(each) for each in tenants))
    any_command = st.integers(0, 3).flatmap(lambda drawn: calls if drawn else waits)  # a quarter of it is waiting
    return opening + draw(st.lists(any_command, min_size=most // 2, max_size=most))
