"""Entrypoints: connected channels, read by id, and made when a session completes."""

from __future__ import annotations

import re

from mockserver.core import ids
from mockserver.core.calls import Call, Shown
from mockserver.core.lookup import find
from mockserver.core.records import Entrypoint, Session
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant

_E164 = re.compile(r"[1-9][0-9]{6,14}", re.ASCII)


def read(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """The entrypoint (entrypoints.read); ENTRYPOINT_NOT_FOUND for an id that the tenant does not have."""
    return Shown(
        find(sandbox, tenant, "entrypoints", call.params["id"], code="ENTRYPOINT_NOT_FOUND", clause="entrypoints.read")
    )


def e164(written: str) -> str | None:
    """The number as `+` and 7 to 15 digits, however it was spelt; None where it cannot be one."""
    if not re.fullmatch(r"\s*\+?[0-9\s().\-]+", written, re.ASCII):
        return None
    digits = re.sub(r"[^0-9]", "", written)
    return f"+{digits}" if _E164.fullmatch(digits) else None


def is_linked(sandbox: Sandbox, phone: str) -> bool:
    """True where an entrypoint of any tenant of the sandbox has this number, on whatever platform."""
    return any(
        entrypoint.display_phone is not None and e164(entrypoint.display_phone) == phone
        for tenant in sandbox.tenants.values()
        for entrypoint in tenant.entrypoints.values()
    )


def unused_phone(sandbox: Sandbox) -> str:
    """A number, in E.164, that no entrypoint of the sandbox has."""
    while True:
        phone = f"+55119{ids.number(sandbox.seed, 'phone', sandbox.count('phone'), below=10**8):08d}"
        if not is_linked(sandbox, phone):
            return phone


def provider_id(sandbox: Sandbox, purpose: str) -> str:
    """The provider's id of a number or a business account: fifteen digits."""
    return str(10**14 + ids.number(sandbox.seed, purpose, sandbox.count(purpose), below=9 * 10**14))


def connect(sandbox: Sandbox, tenant: Tenant, session: Session, phone: str, name: str) -> Entrypoint:
    """The entrypoint of a completed session; funnel, step and coexistence mirror what the session was created with."""
    entrypoint = Entrypoint(
        seq=sandbox.next_seq(),
        id=sandbox.new_id("entrypoint_"),
        name=name,
        platform="chatapp",
        display_name=name,
        display_phone=phone,
        phone_number_id=provider_id(sandbox, "phone number"),
        business_account_id=provider_id(sandbox, "business account"),
        funnel_id=session.funnel_id,
        funnel_step_id=session.funnel_step_id,
        is_coexistence=session.coexistence,
    )
    tenant.entrypoints[entrypoint.id] = entrypoint
    return entrypoint
