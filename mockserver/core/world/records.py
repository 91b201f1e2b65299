"""World effects on a tenant's settings, keys and records: templates, funnels and channels that change or go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mockserver.core import ids
from mockserver.core.records import Template, Variable
from mockserver.core.rules import Rule, Scope
from mockserver.core.sandbox import KeyHolder, Sandbox
from mockserver.core.tenant import Tenant
from mockserver.core.world.runs import fail_what_is_left, spare_what_is_left
from mockserver.core.world.scope import Unmet, tenant_of

_ATTRIBUTES = {"secret": "secret_key", "public": "public_key"}


def set_tenant(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    tenant = tenant_of(sandbox, scope, args)
    tenant.name = args.get("name", tenant.name)
    tenant.developers_enabled = args.get("developersEnabled", tenant.developers_enabled)
    tenant.subscription = args.get("subscription", tenant.subscription)


def revoke_key(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    kind = args.get("kind", "secret")
    tenant = tenant_of(sandbox, scope, args)
    if sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None) is None:
        raise Unmet(f"the {kind} key of tenant {tenant.id!r} is revoked already")


def rotate_key(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    kind = args.get("kind", "secret")
    tenant = tenant_of(sandbox, scope, args)
    count = sandbox.count("rotated key")
    key = args.get("key") or f"{kind[0]}k_{ids.draw(sandbox.seed, 'rotated key', tenant.id, count, chars=32)}"
    if key in sandbox.keys:
        raise Unmet(f"the key {key[:3]}... is known already")
    sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None)
    sandbox.keys[key] = KeyHolder(tenant.id, kind)
    setattr(tenant, _ATTRIBUTES[kind], key)


def set_template(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """Change status, variables or text; while a template is not approved what is still to come of it fails."""
    tenant, template = _template(sandbox, scope, args)
    changes: dict[str, Any] = {"updated_at": sandbox.now}
    if "status" in args:
        changes["provider_status"] = args["status"]
    if "variables" in args:
        changes["variables"] = tuple(
            Variable(each["key"], each.get("label", each["key"]), each.get("required", False), each.get("source"))
            for each in args["variables"]
        )
    if "text" in args:
        first, *others = template.items
        changes["items"] = (replace(first, text=args["text"]), *others)
    changed = replace(template, **changes)
    tenant.templates[template.id] = changed
    if template.can_be_sent and not changed.can_be_sent:
        fail_what_is_left(sandbox, tenant, template_id=template.id)
    elif changed.can_be_sent and not template.can_be_sent:
        spare_what_is_left(sandbox, tenant, template.id)


def remove_template(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    tenant, template = _template(sandbox, scope, args)
    del tenant.templates[template.id]


def _template(sandbox: Sandbox, scope: Scope, args: Mapping[str, Any]) -> tuple[Tenant, Template]:
    about = scope.template_id or (scope.campaign.template_id if scope.campaign else None)
    tenant = tenant_of(sandbox, scope, args)
    return tenant, _owned(tenant, "templates", args.get("id") or about)


def _owned(tenant: Tenant, table: str, record_id: str | None) -> Any:
    rows = getattr(tenant, table)
    if record_id is None or record_id not in rows:
        there = ", ".join(list(rows)[:5]) or "none"
        wanted = f"none was named of the {table}" if record_id is None else f"{record_id!r} is not among the {table}"
        raise Unmet(f"{wanted} of tenant {tenant.id!r}; it has {there}")
    return rows[record_id]


def remove_funnel(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """The funnel is gone: the one that is named, or the one that the call's session was to link."""
    tenant = tenant_of(sandbox, scope, args)
    step_id = scope.session.funnel_step_id if scope.session else None
    linked = tenant.funnel_of_step(step_id) if step_id else None
    funnel = _owned(tenant, "funnels", args.get("id") or (linked.id if linked else None))
    del tenant.funnels[funnel.id]


def remove_entrypoint(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """The channel is gone; with the last one of its platform the sends still to come on that platform fail."""
    tenant = tenant_of(sandbox, scope, args)
    entrypoint = _owned(tenant, "entrypoints", args.get("id") or scope.entrypoint_id)
    del tenant.entrypoints[entrypoint.id]
    if all(other.platform != entrypoint.platform for other in tenant.entrypoints.values()):
        fail_what_is_left(sandbox, tenant, platform=entrypoint.platform)
