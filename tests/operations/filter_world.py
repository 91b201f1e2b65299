"""The population, the operators and the operands of the filter tests, written out from the document's tables."""

from __future__ import annotations

from random import Random
from typing import Any

from mockserver._json import JSON
from tests.harness.filter_oracle import ARRAYS, BOOLEANS, DATES, NUMBERS, STRINGS

NOW = "2026-03-01T12:00:00.000Z"
PREVIEW = "/v1/campaigns/audience-preview"
CREATE = "/v1/campaigns"
TEMPLATE = {"id": "template_plain"}

_TEXT = [
    "equals",
    "not-equals",
    "contains",
    "not-contains",
    "in",
    "not-in",
    "exists",
    "not-exists",
    "starts-with",
    "ends-with",
    "not-starts-with",
    "not-ends-with",
]
_RANGE = [
    "equals",
    "not-equals",
    "in",
    "not-in",
    "greater-than",
    "less-than",
    "greater-than-or-equal",
    "less-than-or-equal",
    "exists",
    "not-exists",
    "between",
    "not-between",
]
_BOOLEAN = ["equals", "not-equals", "exists", "not-exists"]
_TAGS = ["has-any", "has-all", "has-none", "exists", "not-exists"]

OPERATORS: dict[str, list[str]] = {
    **dict.fromkeys(STRINGS, _TEXT),
    **dict.fromkeys(NUMBERS, _RANGE),
    **dict.fromkeys(BOOLEANS, _BOOLEAN),
    **dict.fromkeys(DATES, _RANGE),
    **dict.fromkeys(ARRAYS, _TAGS),
}
EVERY_OPERATOR = sorted({*_TEXT, *_RANGE, *_BOOLEAN, *_TAGS})
LEGAL = [(field, operator) for field, operators in OPERATORS.items() for operator in operators]
ILLEGAL = [(field, operator) for field in OPERATORS for operator in EVERY_OPERATOR if operator not in OPERATORS[field]]

# Where seed data stores what a filter field reads.
SEED_KEY = {
    "chat.platform": "platform",
    "chat.status": "status",
    "chat.monetization": "monetization",
    "chat.entrypointId": "entrypointId",
    "chat.funnelStepId": "funnelStepId",
    "chat.trackingLinkId": "trackingLinkId",
    "chat.isGroupChat": "isGroupChat",
    "chat.isAnswered": "isAnswered",
    "chat.needsHumanAttention": "needsHumanAttention",
    "chat.attentionReason": "attentionReason",
    "chat.tagIds": "tagIds",
    "chat.assignedUserId": "assignedUserId",
    "chat.virtual.participants-count": "participantsCount",
    "chat.virtual.dm-participant.contact": "contact",
    "chat.virtual.dm-participant.birthDate": "birthDate",
    "chat.virtual.lastMessageAt": "lastMessageAt",
    "chat.virtual.lastUpdateAt": "lastUpdateAt",
}

_NOON = "2026-02-28T12:00:00Z"
_SAME_NOON = "2026-02-28T09:00:00-03:00"
_INSTANTS = [_NOON, _SAME_NOON, "2026-02-28T12:00:00.500Z", "2026-02-28T12:00:00.0004Z", "2026-02-27T00:00:00+14:00"]

# What chats have in each field; ABSENT leaves the field to its default.
ABSENT: Any = object()
VALUES: dict[str, list[Any]] = {
    "chat.platform": ["chatapp", "chatapp_lite", "photoapp", "botapp"],
    "chat.status": ["open", "closed", "Open", "opened", "re-open", ABSENT],
    "chat.monetization": [None, 0, 10, 10.0, 60, 250.5, -3, 0.1],
    "chat.entrypointId": [None, "entrypoint_a", "entrypoint_B"],
    "chat.funnelStepId": [None, "funnel_step_1", "funnel_step_2"],
    "chat.trackingLinkId": [None, "tracking_link_x", "TRACKING_link_x"],
    "chat.isGroupChat": [False, False, True, ABSENT],
    "chat.isAnswered": [True, False, ABSENT],
    "chat.needsHumanAttention": [True, False],
    "chat.attentionReason": [None, "", "Quer falar", "quer FALAR", "100%_off.*", " Quer falar ", "São", "Sao"],
    "chat.tagIds": [[], ["tag_a"], ["tag_b"], ["tag_a", "tag_b"], ["tag_A"], ["tag_c", "tag_a"], ABSENT],
    "chat.assignedUserId": [None, "user_1", "User_1", "user_2"],
    "chat.virtual.participants-count": [ABSENT, 1, 2, 7, 0, 60],
    "chat.virtual.dm-participant.contact": [None, "", "+5511999990000", "+5511999990001", "ana@x", "Ana@x"],
    "chat.virtual.dm-participant.birthDate": [
        None,
        "1990-05-17",
        "1990-05-17T00:00:00Z",
        "1990-05-17T00:00:00-03:00",
        "1985-12-31T22:30:00-03:00",
    ],
    "chat.virtual.lastMessageAt": [None, *_INSTANTS],
    "chat.virtual.lastUpdateAt": [ABSENT, *_INSTANTS],
}

_TEXT_OPERANDS = ["", "o", "_", "zzz"]
OPERANDS: dict[str, list[Any]] = {
    "chat.platform": ["chatapp", "chatapp_lite", "botapp"],  # it takes no text but the four
    "chat.status": ["open", "OPEN", *_TEXT_OPERANDS],
    "chat.monetization": [0, 10, 10.0, 60.0, 0.1, -3.5, 1e300],
    "chat.entrypointId": ["entrypoint_a", "entrypoint_b", *_TEXT_OPERANDS],
    "chat.funnelStepId": ["funnel_step_1", "2", *_TEXT_OPERANDS],
    "chat.trackingLinkId": ["tracking_link_x", "_x", *_TEXT_OPERANDS],
    "chat.isGroupChat": [True, False],
    "chat.isAnswered": [True, False],
    "chat.needsHumanAttention": [True, False],
    "chat.attentionReason": ["Quer falar", "FALAR", "%", ".*", "São", "Sao", " ", *_TEXT_OPERANDS],
    "chat.tagIds": ["tag_a", "tag_b", "tag_A", "tag_zzz"],
    "chat.assignedUserId": ["user_1", "USER", "1", *_TEXT_OPERANDS],
    "chat.virtual.participants-count": [1, 3, 7.0, 6.5, 60],
    "chat.virtual.dm-participant.contact": ["+5511999990000", "+55", "ANA@X", "@x", *_TEXT_OPERANDS],
    "chat.virtual.dm-participant.birthDate": [
        "1990-05-17T00:00:00Z",
        "1990-05-17T03:00:00.000Z",
        "1990-05-16T21:00:00-03:00",
        "1986-01-01T01:30:00Z",
        "2000-01-01T00:00:00Z",
    ],
    "chat.virtual.lastMessageAt": [_NOON, _SAME_NOON, "2026-02-28T12:00:00.5009Z", "2026-02-26T10:00:00Z"],
    "chat.virtual.lastUpdateAt": [_NOON, _SAME_NOON, "2026-02-28T12:00:00.500Z", NOW],
}


def _shuffled(field: str, count: int) -> list[Any]:
    """The field's values, each as often as the others, in an order of its own."""
    values = (VALUES[field] * count)[:count]
    Random(field).shuffle(values)
    return values


def population(count: int = 60) -> list[dict[str, Any]]:
    """Chats as seed data has them, every value of every field among them."""
    columns = {field: _shuffled(field, count) for field in VALUES}
    return [
        {"id": f"chat_{row:02}"}
        | {SEED_KEY[field]: column[row] for field, column in columns.items() if column[row] is not ABSENT}
        for row in range(count)
    ]


def world(chats: JSON | list[dict[str, Any]]) -> dict[str, Any]:
    """Seed data of these chats, with what they refer to and a template to send."""
    steps = [{"id": f"funnel_step_{number}"} for number in (1, 2)]
    return {
        "funnels": [{"id": "funnel_one", "steps": steps}],
        "entrypoints": [{"id": "entrypoint_a"}, {"id": "entrypoint_B"}],
        "templates": [TEMPLATE],
        "chats": chats,
    }


def documented(seed: dict[str, Any], now: str = NOW) -> dict[str, Any]:
    """The chat in the document's field names, with the defaults of seed data; a group has no direct participant."""
    is_group = seed.get("isGroupChat", False)
    defaults = {
        "platform": "chatapp",
        "status": "open",
        "isGroupChat": False,
        "isAnswered": False,
        "needsHumanAttention": False,
        "tagIds": [],
        "participantsCount": 3 if is_group else 1,
        "lastUpdateAt": now,
    }
    chat = {field: {**defaults, **seed}.get(key) for field, key in SEED_KEY.items()}
    if is_group:
        del chat["chat.virtual.dm-participant.contact"], chat["chat.virtual.dm-participant.birthDate"]
    return chat | {"id": seed.get("id")}


def statement(field: str, operator: str, *operands: Any) -> dict[str, Any]:
    """A statement with no value, a value, or a value and a value2."""
    return {"field": field, "operator": operator, **dict(zip(("value", "value2"), operands, strict=False))}


def statements(field: str, operator: str, samples: list[Any] | None = None) -> list[dict[str, Any]]:
    """The operator on each operand of the field: alone, in lists, or in pairs that rise, are equal and fall."""
    values = samples or OPERANDS[field]
    if operator in ("exists", "not-exists"):
        return [statement(field, operator)]
    if operator in ("in", "not-in", "has-any", "has-all", "has-none"):
        lists = [[each] for each in values] + [values[:2], values[1:3], values, values[:1] * 2]
        return [statement(field, operator, each) for each in lists]
    if operator in ("between", "not-between"):
        return [statement(field, operator, lower, upper) for lower in values for upper in values]
    return [statement(field, operator, each) for each in values]


def alone(*made: Any, combinator: str = "and") -> list[dict[str, Any]]:
    """Filters of one group."""
    return [{"combinator": combinator, "statements": list(made)}]


def operand_for(field: str, operator: str) -> tuple[Any, ...]:
    """Operands that would do for this operator if only the field had it, of the field's own kind."""
    one = OPERANDS[field][0]
    if operator in ("exists", "not-exists"):
        return ()
    if operator in ("in", "not-in", "has-any", "has-all", "has-none"):
        return ([one],)
    return (one, one) if operator in ("between", "not-between") else (one,)


def estimated(sandbox: Any, filters: Any) -> int:
    """The count of the preview; a refusal fails the calling test."""
    reply = sandbox.call("POST", PREVIEW, json={"filters": filters})
    assert 200 == reply.status, (reply.status, reply.json(), filters)
    body = reply.json()
    assert ["estimatedCount"] == list(body)
    return int(body["estimatedCount"])


def answers(sandbox: Any, filters: Any) -> list[Any]:
    """What preview and creation answer to these filters."""
    bodies = {PREVIEW: {"filters": filters}, CREATE: campaign(filters=filters)}
    return [sandbox.call("POST", path, json=body) for path, body in bodies.items()]


def outcomes(sandbox: Any, filters: Any) -> list[tuple[int, Any]]:
    """The status and the code of both answers."""
    return [(reply.status, reply.json().get("code")) for reply in answers(sandbox, filters)]


def campaign(name: str = "Março", **fields: Any) -> dict[str, Any]:
    """A creation that succeeds if the sandbox has the plain template."""
    return {"name": name, "platform": "chatapp", "templateId": TEMPLATE["id"], "cadence": 60} | fields


def targets(sandbox: Any, filters: Any) -> list[str]:
    """The chats that a campaign over these filters takes as its targets when it is started."""
    made = sandbox.call("POST", CREATE, json=campaign(filters=filters))
    assert 201 == made.status, (made.status, made.json(), filters)
    assert 202 == sandbox.call("POST", f"/v1/campaigns/{made.json()['campaignId']}/start").status
    execution = sandbox.state()["tenants"][0]["executions"][-1]
    assert made.json()["campaignId"] == execution["campaignId"]
    targets: list[str] = execution["targets"]
    return targets
