"""
Answering a call: the API's order of checks, top to bottom, then the operation.

Key, developer environment, subscription, key type, rate, body, operation (fixed decision `auth-precedence`). The
body of a refused key is never parsed. The first thing that is wrong is the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import Endpoint
from mockserver.contract.limits import own_bound
from mockserver.core import (
    audiences,
    bodies,
    campaigns,
    entrypoints,
    filter_schema,
    forms,
    media,
    messages,
    sessions,
    templates,
)
from mockserver.core.calls import Answered, ApiError, Call, Shown
from mockserver.core.instants import SECOND
from mockserver.core.redaction import shown
from mockserver.core.sandbox import KeyHolder, Sandbox
from mockserver.core.tenant import Tenant

Reader = Callable[[Sandbox, Tenant, Call], Shown]
Writer = Callable[[Sandbox, Tenant, Call, Mapping[str, Any]], Shown]


def _preview(sandbox: Sandbox, tenant: Tenant, call: Call, body: Mapping[str, Any]) -> Shown:
    return audiences.preview(sandbox, tenant, body)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "listTemplates": templates.list_templates,
        "readTemplate": templates.read_template,
        "readFilterSchema": filter_schema.read,
        "listCampaigns": campaigns.list_campaigns,
        "readCampaign": campaigns.read,
        "readExecution": campaigns.read_execution,
        "cancelCampaign": campaigns.cancel,
        "readConnectionSession": sessions.read,
        "readEntrypoint": entrypoints.read,
        "uploadMedia": media.upload,
        "listMessages": messages.list_messages,
        "readFormPolicy": forms.read_policy,
    }
)
WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "previewAudience": _preview,
        "createCampaign": campaigns.create,
        "startCampaign": campaigns.start,
        "createConnectionSession": sessions.create,
    }
)


def answer(sandbox: Sandbox, call: Call) -> Answered:
    """What the API says to this call. The caller holds the lock and has let time pass up to now."""
    tenant_id: str | None = None
    body: Any = None
    try:
        endpoint = _routed(sandbox, call)
        holder = _authenticated(sandbox, call)
        tenant = sandbox.tenants[holder.tenant_id]
        tenant_id = tenant.id
        _refuse_disabled(tenant)
        _refuse_lapsed(sandbox, tenant, endpoint)
        _refuse_wrong_type(endpoint, holder)
        _refuse_too_often(sandbox, call)
        if endpoint.body == "json":
            value = bodies.value_of(sandbox, endpoint, call)
            body = value if call.body else None  # what came, for the journal; the operation gets what it may use
            ready = bodies.ready(sandbox, endpoint, value)
            return Answered(WRITERS[endpoint.id](sandbox, tenant, call, ready), tenant_id, body)
        return Answered(READERS[endpoint.id](sandbox, tenant, call), tenant_id, None)
    except ApiError as refusal:
        return Answered(refusal.without_traceback(), tenant_id, body)


def _routed(sandbox: Sandbox, call: Call) -> Endpoint:
    if call.endpoint is not None:
        return call.endpoint
    path = shown(call.path, sandbox.secrets(), 120)
    if call.allow:
        reason = f"{call.method} is no method of {path}; it has {', '.join(call.allow)}"
    else:
        reason = f"the document has no path {path!r}; endpoints that it only mentions are not emulated"
    raise ApiError("RESOURCE_NOT_FOUND", clause="base.unknown-path", at="path", reason=reason)


def _authenticated(sandbox: Sandbox, call: Call) -> KeyHolder:
    key = call.headers.get("x-api-key", "").strip()
    if not key:
        raise ApiError("API_KEY_MISSING", clause="auth.header", at="X-API-Key", reason="the header is absent or blank")
    holder = sandbox.holder(key)
    if holder is None:
        came = "a key with the secret prefix" if key.startswith("sk_") else "a value without the prefix sk_"
        reason = f"came {came}, {len(key)} characters, that is no key of this sandbox"
        raise ApiError("API_KEY_INVALID", clause="auth.unknown", at="X-API-Key", reason=reason)
    return holder


def _refuse_disabled(tenant: Tenant) -> None:
    if not tenant.developers_enabled:
        reason = f"tenant {tenant.id!r} has its developer environment off"
        raise ApiError("DEVELOPERS_DISABLED", clause="auth.developers-disabled", at="X-API-Key", reason=reason)


def _refuse_lapsed(sandbox: Sandbox, tenant: Tenant, endpoint: Endpoint) -> None:
    if tenant.subscription != "active" and (endpoint.writes or sandbox.choices["subscription-scope"] == "all"):
        reason = f"the subscription of tenant {tenant.id!r} is {tenant.subscription}; wanted active"
        raise ApiError("SUBSCRIPTION_INACTIVE", clause="auth.subscription", at="X-API-Key", reason=reason)


def _refuse_wrong_type(endpoint: Endpoint, holder: KeyHolder) -> None:
    if endpoint.keys == "secret" and holder.kind != "secret":
        reason = f"came a {holder.kind} key; {endpoint.id} takes a secret key (sk_...) only"
        raise ApiError("API_KEY_WRONG_TYPE", clause="auth.secret-only", at="X-API-Key", reason=reason)


def _refuse_too_often(sandbox: Sandbox, call: Call) -> None:
    """Spend one request of the key's budget; RATE_LIMIT_EXCEEDED, with the true wait, where it is used up."""
    numbers: Any = sandbox.choices["rate-limit-numbers"]
    if numbers == "off":
        return
    window = parse_duration(numbers["per"]) or 0
    spent = sandbox.budgets.setdefault(call.headers["x-api-key"].strip(), deque())
    while spent and spent[0] + window <= sandbox.now:
        spent.popleft()
    if len(spent) < numbers["requests"]:
        spent.append(sandbox.now)
        return
    free_at = spent[len(spent) - numbers["requests"]] + window
    wait_s = -(-(free_at - sandbox.now) // SECOND)
    budget = f"{numbers['requests']} requests in {window / SECOND:g} s are used up ({own_bound('rate-limit-numbers')})"
    reason = f"{budget}; the next is free in {wait_s} s"
    raise ApiError(
        "RATE_LIMIT_EXCEEDED",
        clause="base.rate-limit",
        at="X-API-Key",
        reason=reason,
        wait_s=wait_s,
        quota=numbers["requests"],
        window_s=window // SECOND,
    )
