"""Bodies that the API document accepts and refuses, written from its text and not from the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Body(NamedTuple):
    """A body of an operation, whether the API document accepts it, and the sentence that decides it."""

    operation: str
    value: Any
    is_accepted: bool
    why: str


CAMPAIGN = {"name": "Spring", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}
LARGEST = 9007199254740991
EXISTS = {"field": "chat.status", "operator": "exists"}
DATES = {
    "2026-03-01T09:00:00.123-03:00": True,
    "": False,
    "yesterday": False,
    "2026-03-01": False,
    "2026-03-01T12:00:00": False,
    "2026-13-01T12:00:00Z": False,
    "2026-03-32T12:00:00Z": False,
    "2026-03-01T25:00:00Z": False,
    "2026-03-01T12:61:00Z": False,
    "2026-03-01 12:00:00Z": False,
    "20260301T12:00:00Z": False,
}
RETURN_URLS = {
    "https://clinic.example:65535/a?b=c#d": True,
    "https://clinic.example:/": True,
    "https://1.2.3.4/": True,
    "https://[::1]/": True,
    "https://clinic.example/a b": False,
    "https://clinic.example/a\\b": False,
    "https://clinic.example/a\tb": False,
    "https://clinic.example:99999/": False,
    "https://clinic.example:x/": False,
    "https://256.256.256.256/": False,
    "https://1.2.3.4.5/": False,
    "https://clinic.example.1/": False,
    "https://clinic<1>.example/": False,
    "https://:443/": False,
    "https://[clinic]/": False,
}


def _campaign(is_accepted: bool, why: str, **fields: Any) -> Body:
    return Body("createCampaign", {**CAMPAIGN, **fields}, is_accepted, why)


def _without(field: str, why: str) -> Body:
    return Body("createCampaign", {key: value for key, value in CAMPAIGN.items() if key != field}, False, why)


def _filtered(is_accepted: bool, why: str, **statement: Any) -> Body:
    groups = [{"combinator": "and", "statements": [statement]}]
    return Body("previewAudience", {"filters": groups}, is_accepted, why)


def _session(is_accepted: bool, why: str, **fields: Any) -> Body:
    return Body("createConnectionSession", fields, is_accepted, why)


# fmt: off
_CAMPAIGNS = (
    _campaign(True,  "platform, template, name and cadence are all that is needed"),
    _campaign(True,  "name: length 1-100", name="n" * 100),
    _campaign(False, "name: length 1-100", name="n" * 101),
    _campaign(False, "name: length 1-100", name=""),
    _without("name", "name: required on creation"),
    _without("templateId", "templateId: required on creation"),
    _without("cadence", "cadence: required on creation"),
    _campaign(True,  "cadence: range 1 to 9007199254740991", cadence=1),
    _campaign(True,  "cadence: range 1 to 9007199254740991", cadence=LARGEST),
    _campaign(False, "cadence: range 1 to 9007199254740991", cadence=0),
    _campaign(False, "cadence: range 1 to 9007199254740991", cadence=LARGEST + 1),
    _campaign(False, "cadence: integer", cadence="60"),
    _campaign(False, "cadence: integer", cadence=1.5),
    _campaign(True,  "description: maximum length 2000", description="d" * 2000),
    _campaign(False, "description: maximum length 2000", description="d" * 2001),
    *(_campaign(True, "platform: allowed values", platform=name) for name in ("chatapp_lite", "chatapp", "photoapp")),
    _campaign(False, "platform: allowed values; botapp is a value of the filter alone", platform="botapp"),
    _campaign(True,  "filters: optional array of groups", filters=[]),
    _campaign(False, "filters: array of filter groups", filters={}),
    _campaign(True,  "fixed decision filter-count-limits", filters=[{"combinator": "or", "statements": [EXISTS] * 999}]),
    _campaign(False, "fixed decision filter-count-limits", filters=[{"combinator": "or", "statements": [EXISTS] * 1000}]),
    _campaign(True,  "fixed decision filter-count-limits", filters=[{"combinator": "or", "statements": [EXISTS]}] * 500),
    _campaign(False, "fixed decision filter-count-limits", filters=[{"combinator": "or", "statements": [EXISTS]}] * 501),
)
_FILTERS = (
    Body("previewAudience", {}, True, "filters omitted: all chats"),
    Body("previewAudience", {"filters": [{"combinator": "xor", "statements": [{"field": "chat.status", "operator": "exists"}]}]}, False, "combinator: and or or"),
    Body("previewAudience", {"filters": [{"statements": [{"field": "chat.status", "operator": "exists"}]}]}, False, "combinator joins the statements"),
    Body("previewAudience", {"filters": [{"combinator": "or"}]}, False, "statements of the group"),
    _filtered(True,  "string operators", field="chat.status", operator="equals", value="open"),
    _filtered(True,  "string operators", field="chat.status", operator="not-starts-with", value="op"),
    _filtered(False, "a string field takes a string", field="chat.status", operator="equals", value=1),
    _filtered(False, "a string field takes a string", field="chat.status", operator="equals", value={"text": "open"}),
    _filtered(False, "greater-than is an operator of numbers and dates", field="chat.status", operator="greater-than", value="a"),
    _filtered(True,  "in takes an array", field="chat.status", operator="in", value=["open", "closed"]),
    _filtered(False, "in takes an array", field="chat.status", operator="in", value="open"),
    _filtered(False, "value: not required for exists and not-exists alone", field="chat.status", operator="equals"),
    _filtered(True,  "exists needs no value", field="chat.status", operator="exists"),
    _filtered(True,  "exists does not require a value", field="chat.status", operator="not-exists", value="open"),
    _filtered(True,  "chat.platform: one of four", field="chat.platform", operator="equals", value="botapp"),
    _filtered(False, "chat.platform: one of four", field="chat.platform", operator="equals", value="pigeon"),
    _filtered(False, "chat.platform: one of four", field="chat.platform", operator="in", value=["chatapp", "pigeon"]),
    _filtered(True,  "number operators", field="chat.monetization", operator="between", value=1, value2=2.5),
    _filtered(False, "value2: the upper bound of between", field="chat.monetization", operator="between", value=1),
    _filtered(False, "a number field takes numbers", field="chat.monetization", operator="equals", value="1"),
    _filtered(False, "a number field takes numbers", field="chat.monetization", operator="equals", value=True),
    _filtered(False, "contains is an operator of strings", field="chat.monetization", operator="contains", value=1),
    _filtered(True,  "boolean operators", field="chat.isAnswered", operator="not-equals", value=False),
    _filtered(False, "a boolean field takes a boolean", field="chat.isAnswered", operator="equals", value="true"),
    _filtered(False, "a boolean has no in", field="chat.isAnswered", operator="in", value=[True]),
    _filtered(True,  "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="less-than", value="2026-03-01T12:00:00Z"),
    _filtered(True,  "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="between", value="2026-03-01T12:00:00Z", value2="2026-03-02T09:00:00-03:00"),
    _filtered(False, "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="equals", value="2026-03-01"),
    _filtered(False, "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="equals", value=1772366400),
    *(_filtered(accepted, "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="equals", value=date) for date, accepted in DATES.items()),
    _filtered(False, "date: ISO 8601 date-time", field="chat.virtual.lastMessageAt", operator="between", value="2026-03-01T12:00:00Z", value2="later"),
    _filtered(True,  "array operators", field="chat.tagIds", operator="has-any", value=["tag_vip"]),
    _filtered(False, "array operators", field="chat.tagIds", operator="equals", value=["tag_vip"]),
    _filtered(False, "array of semantic ids", field="chat.tagIds", operator="has-all", value="tag_vip"),
    _filtered(False, "one of the filter fields", field="chat.color", operator="equals", value="blue"),
    _filtered(False, "the operator is given", field="chat.status", value="open"),
)
_STARTS = (
    Body("startCampaign", {}, True, "an empty body when there are no manual variables"),
    Body("startCampaign", {"commonVariables": {"var1": "Ana"}}, True, "a map from key to string"),
    Body("startCampaign", {"commonVariables": {"var1": 1}}, False, "a map from key to string"),
    Body("startCampaign", {"commonVariables": ["Ana"]}, False, "a map from key to string"),
)
_SESSIONS = (
    _session(True,  "every field is optional"),
    _session(True,  "funnelId only together with funnelStepId", funnelId="funnel_a", funnelStepId="funnel_step_a"),
    _session(False, "funnelId only together with funnelStepId", funnelId="funnel_a"),
    _session(False, "funnelStepId: min length 1", funnelStepId=""),
    _session(False, "funnelId: min length 1", funnelId="", funnelStepId="funnel_step_a"),
    _session(True,  "coexistence: boolean", coexistence=True),
    _session(False, "coexistence: boolean", coexistence="true"),
    _session(True,  "returnUrl: length 1-2000", returnUrl="https://clinic.example/" + "a" * 1977),
    _session(False, "returnUrl: length 1-2000", returnUrl="https://clinic.example/" + "a" * 1978),
    _session(False, "returnUrl: an HTTPS URL", returnUrl="http://clinic.example/"),
    _session(False, "returnUrl: without user or password", returnUrl="https://ana:pw@clinic.example/"),
    *(_session(accepted, "returnUrl: an HTTPS URL", returnUrl=url) for url, accepted in RETURN_URLS.items()),
    _session(False, "no other properties allowed", color="blue"),
)
# fmt: on


def bodies() -> Iterator[Body]:
    """Yield every row of the table."""
    yield from (*_CAMPAIGNS, *_FILTERS, *_STARTS, *_SESSIONS)
