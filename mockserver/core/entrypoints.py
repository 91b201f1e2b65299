"""Entrypoints: connected channels, read by id, and made when a session completes."""

from __future__ import annotations

from mockserver.core import ids
from mockserver.core.calls import Call, Shown
from mockserver.core.lookup import find
from mockserver.core.phones import bare, e164
from mockserver.core.records import Entrypoint, Session
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def read(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """The entrypoint (entrypoints.read); ENTRYPOINT_NOT_FOUND for an id that the tenant does not have."""
    return Shown(
        find(sandbox, tenant, "entrypoints", call.params["id"], code="ENTRYPOINT_NOT_FOUND", clause="entrypoints.read")
    )


def is_linked(sandbox: Sandbox, phone: str) -> bool:
    """Return True if an entrypoint of any tenant of the sandbox has this number, on any platform."""
    return any(
        entrypoint.display_phone is not None and _linked(entrypoint.display_phone, tenant) == phone
        for tenant in sandbox.tenants.values()
        for entrypoint in tenant.entrypoints.values()
    )


def _linked(display_phone: str, tenant: Tenant) -> str | None:
    """The number that was checked when it was linked; one with its country code needs no library."""
    return bare(display_phone) if display_phone.startswith("+") else e164(display_phone, tenant.country)


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
