"""
Dispatch of a call: the order of the checks, and the function of each operation.

The checks are, in this order: endpoint, key, developer environment, subscription, key type, rate, size of the head, body,
operation (fixed decision `auth-precedence`). The first failed check is the response; the body of a call with a refused key
is not parsed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import Endpoint, nearest_path
from mockserver.contract.limits import own_bound
from mockserver.contract.text import did_you_mean
from mockserver.core.instants import SECOND
from mockserver.core.operations import audiences, campaigns, connections, messaging, templates, validation
from mockserver.core.state.calls import ApiError, Call, CallResult, Excess, Success
from mockserver.core.state.sandbox import KeyOwner, SandboxState, Scope, require_record


def read_policy(scope: Scope, call: Call) -> Success:
    """Return the origins that may embed the form, active or not (forms.policy)."""
    return Success(require_record(scope, "form", call.params["id"], code="FORM_NOT_FOUND"))


Reader = Callable[[Scope, Call], Success]
Writer = Callable[[Scope, Call, Mapping[str, Any]], Success]


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "listTemplates": templates.list_templates,
        "readTemplate": templates.read_template,
        "readFilterSchema": audiences.read,
        "listCampaigns": campaigns.list_campaigns,
        "readCampaign": campaigns.read_campaign,
        "readExecution": campaigns.read_execution,
        "cancelCampaign": campaigns.cancel_campaign,
        "readConnectionSession": connections.read_session,
        "readEntrypoint": connections.read_entrypoint,
        "uploadMedia": messaging.upload,
        "listMessages": messaging.list_messages,
        "readFormPolicy": read_policy,
    }
)
WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "previewAudience": audiences.preview,
        "createCampaign": campaigns.create_campaign,
        "startCampaign": campaigns.start_campaign,
        "createConnectionSession": connections.create_session,
    }
)


def handle_call(sandbox: SandboxState, call: Call) -> CallResult:
    """Return the result of the call. Lock: the caller holds the sandbox's, and has run the due timers."""
    tenant_id: str | None = None
    body: Any = None
    try:
        endpoint = _require_endpoint(sandbox, call)
        owner = _require_key(sandbox, call)
        tenant = sandbox.tenants[owner.tenant_id]
        # The number that the call's exchange will have in the journal.
        scope = Scope(sandbox, tenant, {"exchange": sandbox.journal.last_exchange + 1})
        tenant_id = tenant.id
        _require_permission(scope, owner, endpoint)
        _require_rate_budget(sandbox, call)
        if call.excess is not None:
            raise _head_refusal(sandbox, call.excess)
        if call.body_failure is not None:
            raise ApiError("INTERNAL_ERROR", reason=call.body_failure)
        if endpoint.body == "json":
            value = validation.parse_body(sandbox, endpoint, call)
            body = (
                value if call.body else None
            )  # the body as received, for the journal; the operation gets the validated value
            ready = validation.validate_body(sandbox, endpoint, value)
            return CallResult(WRITERS[endpoint.id](scope, call, ready), tenant_id, body)
        return CallResult(READERS[endpoint.id](scope, call), tenant_id, None)
    except ApiError as refusal:
        return CallResult(refusal.without_traceback(), tenant_id, body)


def may_read_body(sandbox: SandboxState, call: Call) -> bool:
    """Return False if the first checks, of the endpoint and of the key, refuse the call, so that nothing reads its body."""
    return call.endpoint is not None and sandbox.keys.get(call.key) is not None


def _require_endpoint(sandbox: SandboxState, call: Call) -> Endpoint:
    if call.endpoint is not None:
        return call.endpoint
    path = sandbox.excerpt(call.path, 120)
    if call.allowed_methods:
        reason = f"got {call.method} of {path}; expected {', '.join(call.allowed_methods)}"
    else:
        hint = did_you_mean(nearest_path(path))
        reason = f"got {path!r}; expected a path of the document, other than those that it only mentions{hint}"
    raise ApiError("RESOURCE_NOT_FOUND", location="path", reason=reason)


def _require_key(sandbox: SandboxState, call: Call) -> KeyOwner:
    key = call.key
    if not key:
        raise ApiError(
            "API_KEY_MISSING",
            location="X-API-Key",
            reason="got no key; expected one of this sandbox",
        )
    owner = sandbox.keys.get(key)
    if owner is None:
        reason = f"got {_describe_key(sandbox, key)}; expected a key of this sandbox"
        raise ApiError("API_KEY_INVALID", location="X-API-Key", reason=reason)
    return owner


def _describe_key(sandbox: SandboxState, key: str) -> str:
    """Return a key that is not valid in words: a tenant still has one that was revoked."""
    for tenant in sandbox.tenants.values():
        for kind, own in (("secret", tenant.secret_key), ("public", tenant.public_key)):
            if key == own:
                return f"the {kind} key of tenant {tenant.id!r}, which is revoked"
    prefix = "a key with the secret prefix" if key.startswith("sk_") else "a value without the prefix sk_"
    return f"{prefix}, {len(key)} characters"


def _require_permission(scope: Scope, owner: KeyOwner, endpoint: Endpoint) -> None:
    """Refuse by the developer environment, the subscription and the type of the key, in this order."""
    tenant = scope.tenant
    if not tenant.developers_enabled:
        reason = f"got a key of tenant {tenant.id!r}, whose developer environment is off; expected it to be on"
        raise ApiError("DEVELOPERS_DISABLED", location="X-API-Key", reason=reason)
    if tenant.subscription != "active" and (endpoint.writes or scope.sandbox.choices["subscription-scope"] == "all"):
        reason = f"got a key of tenant {tenant.id!r}, whose subscription is {tenant.subscription}; expected active"
        raise ApiError("SUBSCRIPTION_INACTIVE", location="X-API-Key", reason=reason)
    if endpoint.keys == "secret" and owner.kind != "secret":
        reason = f"got a {owner.kind} key; expected a secret key (sk_...) for {endpoint.id}"
        raise ApiError("API_KEY_WRONG_TYPE", location="X-API-Key", reason=reason)


def _head_refusal(sandbox: SandboxState, excess: Excess) -> ApiError:
    """Return the refusal for a request line or headers beyond the mock's bounds, by `head-bounds`."""
    return ApiError(
        "VALIDATION_ERROR",
        clause="base.input",
        location="path" if excess.status == 414 else "headers",
        reason=excess.reason,
        path="requisição",
        **({"http_status": excess.status} if sandbox.choices["head-bounds"] == "http-status" else {}),
    )


def _require_rate_budget(sandbox: SandboxState, call: Call) -> None:
    """Spend one request of the key's budget; RATE_LIMIT_EXCEEDED, with the exact wait, if it is used up."""
    numbers: Any = sandbox.choices["rate-limit-numbers"]
    if numbers == "off":
        return
    window = parse_duration(numbers["per"]) or 0
    spent = sandbox.rate_budgets.setdefault(call.key, deque())
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
        location="X-API-Key",
        reason=reason,
        wait_s=wait_s,
        free_at=free_at,
        quota=numbers["requests"],
        window_s=window // SECOND,
    )
