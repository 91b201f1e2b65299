"""The seed data of the model test, and the strategies of its calls."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.reference_model.naive import Chat, Template, Tenant

LIMITS = {"chatapp": 5, "photoapp": 5, "chatapp_lite": 4}
TENANTS = ("tenant_default", "tenant_other", "tenant_third")
CHATS: list[dict[str, Any]] = [
    {"name": "Ana", "monetization": 10, "tagIds": ["tag_new", "tag_vip"]},
    {"platform": "photoapp", "status": "closed", "isAnswered": True},
    {"name": "Caio", "monetization": 0, "tagIds": ["tag_vip"]},
    {"name": "Dora", "platform": "chatapp_lite", "monetization": 250.5},
]
PHONES = [f"+551190000000{digit}" for digit in range(4)]


def naive_chat(chat_id: str, entry: dict[str, Any]) -> Chat:
    """The model's chat of a seed entry, the documented defaults filled in."""
    filled: dict[str, Any] = {"platform": "chatapp", "status": "open", "isAnswered": False, "tagIds": []} | entry
    names = ("platform", "status", "monetization", "isAnswered", "tagIds")
    return Chat(chat_id, entry.get("name"), {f"chat.{name}": filled.get(name) for name in names})


def naive_tenant(tenant_id: str) -> Tenant:
    kinds = {
        "plain": {},
        "official": {"status": "APPROVED"},
        "pending": {"status": "PENDING"},
        "asking": {"text": "{{1}}: {{2}}", "manual": "var2"},
    }
    templates = [Template(f"template_{tenant_id}_{name}", **kind) for name, kind in kinds.items()]
    chats = [naive_chat(f"chat_{tenant_id}_{number}", entry) for number, entry in enumerate(CHATS)]
    steps = {f"funnel_step_{tenant_id}": f"funnel_{tenant_id}"}
    return Tenant(tenant_id, f"Name of {tenant_id}", {each.id: each for each in templates}, steps, chats)


def seeds(tenant: Tenant) -> dict[str, Any]:
    """The same tenant as seed data."""
    variables = [{"key": "var1", "source": "chat.name"}]
    manual = [{"key": "var2", "label": "Cupom", "required": True}]
    return {
        "id": tenant.id,
        "name": tenant.name,
        "templates": [
            {
                "id": each.id,
                "items": [{"text": each.text}],
                "variables": variables + (manual if each.manual else []),
                **({"providerTemplateStatus": each.status} if each.status else {}),
            }
            for each in tenant.templates.values()
        ],
        "funnels": [{"id": funnel, "steps": [{"id": step}]} for step, funnel in tenant.steps.items()],
        "chats": [{"id": chat.id, **entry} for chat, entry in zip(tenant.chats, CHATS, strict=True)],
    }


def _statements(field: str, operators: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    pairs = [(operator, value) for operator, values in operators.items() for value in values]
    return st.sampled_from(pairs).map(lambda pair: {"field": field, "operator": pair[0], "value": pair[1]})


_TEXTS = ["open", "closed", "o", "Open", ""]
_NUMBERS = [-1, 0, 10, 250.5]
_TAGS = [["tag_new"], ["tag_vip", "tag_other"], ["tag_vip", "tag_new"]]
_PLATFORMS = ["chatapp", "photoapp", "chatapp_lite", "botapp"]
STATEMENTS = st.one_of(
    _statements(
        "chat.platform",
        {
            "equals": [*_PLATFORMS, "sms"],
            "not-equals": _PLATFORMS,
            "in": [_PLATFORMS[:2], _PLATFORMS[1:]],
            "not-in": [_PLATFORMS[:2]],
        },
    ),
    _statements(
        "chat.status",
        dict.fromkeys(("equals", "not-equals", "contains", "not-contains", "starts-with", "not-ends-with"), _TEXTS),
    ),
    _statements(
        "chat.monetization",
        dict.fromkeys(("equals", "not-equals", "greater-than", "less-than-or-equal", "exists", "not-exists"), _NUMBERS),
    ),
    st.tuples(st.sampled_from(["between", "not-between"]), st.sampled_from(_NUMBERS), st.sampled_from(_NUMBERS)).map(
        lambda drawn: {"field": "chat.monetization", "operator": drawn[0], "value": drawn[1], "value2": drawn[2]}
    ),
    _statements("chat.isAnswered", {"equals": [True, False], "not-equals": [True]}),
    _statements("chat.tagIds", {**dict.fromkeys(("has-any", "has-all", "has-none"), _TAGS), "exists": [None]}),
    st.just({"field": "chat.mood", "operator": "equals", "value": "good"}),
)
GROUPS = st.fixed_dictionaries(
    {"combinator": st.sampled_from(["and", "or"]), "statements": st.lists(STATEMENTS, min_size=1, max_size=2)}
)
FILTERS = st.one_of(st.just({}), st.lists(GROUPS, max_size=2).map(lambda groups: {"filters": groups}))
CADENCES = st.one_of(st.sampled_from([1, 7, 7, 30, 31, 60, 1200, 1201, 4801, 18001, 2**53 - 1]), st.integers(1, 100))
ODD_CADENCES = st.sampled_from([2**53, 0, -1, 1.5, "60", True])


def _bodies(names: Any, platforms: list[str], cadences: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    required = {"name": names, "platform": st.sampled_from(platforms), "cadence": cadences}
    bodies = st.fixed_dictionaries(required, optional={"description": st.just("Para todos")})
    return st.builds(lambda body, filters: body | filters, bodies, FILTERS)


GOOD_BODIES = _bodies(st.integers(1, 60).map("Campanha {}".format), ["chatapp"] * 4 + ["photoapp"], CADENCES)
_ODD_NAMES = st.sampled_from(["A", "a", " ", "x" * 100, "x" * 101, ""])
BODIES = st.one_of(
    GOOD_BODIES,
    _bodies(_ODD_NAMES, _PLATFORMS, CADENCES),
    _bodies(st.just("B"), ["chatapp"], ODD_CADENCES),
)
VARIABLES = st.sampled_from([{"var2": "DEZ"}, {"var2": ""}, {"var2": "Oi", "var1": "ignored"}, {}, {"var1": "DEZ"}])
CONNECTIONS = st.sampled_from(
    [
        {},
        {"coexistence": True},
        {"coexistence": False, "returnUrl": "https://app.example/back?x=1"},
        {"returnUrl": "http://app.example"},
        {"returnUrl": "https://user@app.example"},
        {"returnUrl": "https://" + "x" * 1993},
        {"funnelId": "funnel_tenant_default"},
        {"funnelStepId": "funnel_step_tenant_default"},
        {"funnelStepId": "funnel_step_tenant_default", "funnelId": "funnel_tenant_default", "coexistence": True},
        {"coexistence": True, "funnelStepId": "funnel_step_tenant_other"},
        {"funnelStepId": "funnel_step_tenant_default", "funnelId": "funnel_tenant_other"},
        {"funnelStepId": "funnel_step_nowhere"},
        {"other": 1},
    ]
)
SECOND = 1_000_000
WAITS = st.one_of(
    st.sampled_from([0, 1, 8_571_428, SECOND, 60 * SECOND, 1200 * SECOND - 1, 1200 * SECOND]),
    st.integers(0, 5 * SECOND),
    st.integers(0, 1300 * SECOND),
)
