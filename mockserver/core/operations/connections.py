"""
Connection sessions and entrypoints.

A session is created, read, and then completed by the end user, failed, or expired after twenty minutes. Its completion
creates the entrypoint, or fails the session if the number is in use or the funnel no longer exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.lifecycles import SESSION
from mockserver.contract.limits import RETURN_URL_MAX_CHARS, SESSION_LIFETIME
from mockserver.core import ids
from mockserver.core.instants import MILLISECOND, MINUTE, SECOND, as_shown, to_microseconds
from mockserver.core.lifecycle import can_transition, create, transition
from mockserver.core.operations import return_urls
from mockserver.core.operations.validation import validation_error
from mockserver.core.phone_numbers import normalize_phone
from mockserver.core.state.calls import ApiError, Call, Success
from mockserver.core.state.records import Entrypoint, Session
from mockserver.core.state.sandbox import SandboxState, Scope, refuse_foreign, require_record
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks import deliveries


def read_entrypoint(scope: Scope, call: Call) -> Success:
    """Return the entrypoint (entrypoints.read); raises ApiError ENTRYPOINT_NOT_FOUND for an unknown id."""
    return Success(require_record(scope, "entrypoint", call.params["id"], code="ENTRYPOINT_NOT_FOUND"))


def is_phone_in_use(sandbox: SandboxState, phone: str) -> bool:
    """Return True if an entrypoint of any tenant of the sandbox has this number, on any platform."""
    linked = (entrypoint.display_phone for _, entrypoint in sandbox.records("entrypoint"))
    return any(normalize_phone(shown) == phone for shown in linked if shown is not None)


def unused_phone(sandbox: SandboxState) -> str:
    """Return a number, in E.164, that no entrypoint of the sandbox has."""
    while True:
        phone = f"+55119{ids.seeded_int(sandbox.seed, 'phone', sandbox.next_number('phone'), below=10**8):08d}"
        if not is_phone_in_use(sandbox, phone):
            return phone


def seeded_provider_id(sandbox: SandboxState, purpose: str) -> str:
    """Return the provider's id of a number or a business account: fifteen digits."""
    return str(10**14 + ids.seeded_int(sandbox.seed, purpose, sandbox.next_number(purpose), below=9 * 10**14))


def create_entrypoint(scope: Scope, session: Session, phone: str, name: str) -> Entrypoint:
    """Create the entrypoint of a completed session; funnel, step and coexistence are those of the session."""
    entrypoint = Entrypoint(
        seq=scope.sandbox.next_seq(),
        id=scope.sandbox.new_id("entrypoint_"),
        name=name,
        platform="chatapp",
        display_name=name,
        display_phone=phone,
        phone_number_id=seeded_provider_id(scope.sandbox, "phone number"),
        business_account_id=seeded_provider_id(scope.sandbox, "business account"),
        funnel_id=session.funnel_id,
        funnel_step_id=session.funnel_step_id,
        is_coexistence=session.coexistence,
    )
    scope.tenant.entrypoints[entrypoint.id] = entrypoint
    return entrypoint


Cause = Mapping[str, object]


def create_session(scope: Scope, call: Call, body: Mapping[str, Any]) -> Success:
    """Create a pending session with its one-use url (session.create). The funnel is checked at completion."""
    return_url = body.get("returnUrl")
    if return_url is not None:
        _refuse_bad_return_url(scope.sandbox, return_url)
    if scope.sandbox.choices["funnel-checked-when"] == "creation":
        _refuse_lost_funnel(scope, body.get("funnelId"), body.get("funnelStepId"))
    count = scope.sandbox.next_number("session")
    # The deadline is the instant that `expiresAt` shows, in whole seconds where `datetime-spelling` shows no more.
    grain = SECOND if scope.sandbox.choices["datetime-spelling"] == "seconds" else MILLISECOND
    session = Session(
        seq=scope.sandbox.next_seq(),
        id=scope.sandbox.new_id("connection_session_"),
        token=ids.seeded_id(scope.sandbox.seed, "session token", count, chars=32),
        funnel_id=body.get("funnelId"),
        funnel_step_id=body.get("funnelStepId"),
        coexistence=body.get("coexistence", False),
        return_url=return_url,
        created_at=scope.sandbox.now,
        expires_at=as_shown(scope.sandbox.now + to_microseconds(SESSION_LIFETIME), grain),
        status=SESSION.initial,
        state_version=scope.sandbox.next_number("state_version"),
        base_url=call.base_url,
    )
    return Success(create(scope, "session", session))


def _refuse_lost_funnel(scope: Scope, funnel_id: str | None, step_id: str | None) -> None:
    """Refuse what could only fail with funnel_not_found, by choice at the creation already (session.funnel-checked-late)."""
    if step_id is None or _has_funnel(scope.tenant, funnel_id, step_id):
        return
    owner = scope.tenant.funnel_of_step(step_id)
    others = [tenant for tenant in scope.sandbox.tenants.values() if tenant is not scope.tenant]
    if owner is None and any(tenant.funnel_of_step(step_id) for tenant in others):
        refuse_foreign(scope.sandbox, step_id, "/funnelStepId")
    if owner is not None and any(funnel_id in tenant.funnels for tenant in others):
        refuse_foreign(scope.sandbox, str(funnel_id), "/funnelId")
    if owner is None:
        reason = f"got the step {step_id!r}; expected one of a funnel of the tenant (choice funnel-checked-when)"
    else:
        reason = f"got the step {step_id!r} of funnel {owner.id!r}; expected one of {funnel_id!r} (choice funnel-checked-when)"
    at = "/funnelStepId" if owner is None else "/funnelId"
    raise ApiError("RESOURCE_NOT_FOUND", clause="session.funnel-checked-late", location=at, reason=reason)


def _refuse_bad_return_url(sandbox: SandboxState, url: str) -> None:
    """Refuse what `return_urls` has a problem with; a url with a user is not repeated."""
    wrong = return_urls.problem(url, allows_loopback_http=sandbox.choices["return-url-scheme"] == "loopback-http")
    if wrong:
        received = repr(sandbox.excerpt(url, 80)) if "@" not in url else "a url"
        reason = f"got {received}: {wrong}; expected an https url without user or password, at most {RETURN_URL_MAX_CHARS} characters"
        raise validation_error("/returnUrl", reason, "session.return-url")


def read_session(scope: Scope, call: Call) -> Success:
    """Return the session in its current state (session.read); another tenant's is refused by `cross-tenant-code`."""
    code = {"resource-not-found": "RESOURCE_NOT_FOUND", "entrypoint-not-found": "ENTRYPOINT_NOT_FOUND"}[
        str(scope.sandbox.choices["session-unknown-code"])
    ]
    session: Session = require_record(
        scope, "session", call.params["sessionId"], code=code, clause="session.read", at="path.sessionId"
    )
    if (
        scope.sandbox.choices["expiry-driver"] != "sweeper"
    ):  # a timer has done it, unless the choice was another at the deadline
        session = expire_if_due(scope, session)
    if scope.sandbox.choices["state-vs-event-order"] == "event-first" and deliveries.has_unsent_event(
        scope.sandbox, session
    ):
        session = session._replace(status=SESSION.initial, reason=None, entrypoint_id=None)
    return Success(with_entrypoint(scope.tenant, session))


def with_entrypoint(tenant: Tenant, session: Session) -> tuple[Session, Any]:
    """Return the session with the entrypoint that it created, also after its removal; None if it created none."""
    if session.entrypoint_id is None:
        return session, None
    present = tenant.entrypoints.get(session.entrypoint_id)
    return session, present or next(row for row in tenant.removed_entrypoints if row.id == session.entrypoint_id)


def complete(scope: Scope, session: Session, phone: str, name: str) -> Session:
    """
    The end user has finished the flow with this number, in E.164: the session completes, or fails for its reason.

    A number that any tenant of the sandbox has linked fails it with phone_in_use, a funnel or step that is not there
    (any more) with funnel_not_found. At or after the deadline it expires instead.
    """
    session = expire_if_due(scope, session)
    if not can_transition("session", session, "complete"):
        return session
    if is_phone_in_use(scope.sandbox, phone):
        return fail(scope, session, "phone_in_use")
    if not _has_funnel(scope.tenant, session.funnel_id, session.funnel_step_id):
        return fail(scope, session, "funnel_not_found")
    entrypoint = create_entrypoint(scope, session, phone, name)
    return transition(scope, "session", session, "complete", entrypoint_id=entrypoint.id)


def _has_funnel(tenant: Tenant, funnel_id: str | None, step_id: str | None) -> bool:
    """Return True if the session names no step, or a step that a funnel has: the named one, if it names a funnel."""
    if step_id is None:
        return True
    funnel = tenant.funnel_of_step(step_id)
    return funnel is not None and funnel_id in (None, funnel.id)


def fail(scope: Scope, session: Session, reason: str) -> Session:
    """Fail the session for one of `FAILURE_REASONS` (session.failed); at or after its deadline it expires instead."""
    session = expire_if_due(scope, session)
    if not can_transition("session", session, "fail"):
        return session
    return transition(scope, "session", session, "fail", reason=reason)


def cancel(scope: Scope, session: Session) -> Session:
    """Cancel the flow as the end user: the connection fails, or the session stays pending (session.user-cancels)."""
    if scope.sandbox.choices["user-cancels"] == "pending":
        return session
    return fail(scope, session, "token_exchange_failed")


def expire(scope: Scope, session: Session) -> Session:
    """Expire the session (session.expired)."""
    return transition(scope, "session", session, "expire", reason="expired")


def expire_if_due(scope: Scope, session: Session) -> Session:
    """Return the session, expired if it is pending at or after its deadline; independent of `expiry-driver`."""
    if can_transition("session", session, "expire") and scope.sandbox.now >= session.expires_at:
        return expire(scope, session)
    return session


def expire_on_time(scope: Scope, session_id: str) -> None:
    """Expire the session at its deadline or, with a sweeper, at the next whole minute; `on-read` ignores the timer."""
    session = scope.tenant.sessions[session_id]
    driver = scope.sandbox.choices["expiry-driver"]
    if driver == "on-read":
        return
    sweep = -(-session.expires_at // MINUTE) * MINUTE
    if driver == "sweeper" and scope.sandbox.now < sweep:
        scope.sandbox.schedule(sweep, "session", "expire", scope.tenant.id, session.id, session.state_version)
        return
    expire(scope, session)


def schedule_overdue(sandbox: SandboxState) -> None:
    """Have the sessions expire whose deadline has passed under `on-read`, which has ignored their timers."""
    for tenant in sandbox.tenants.values():
        for session in tenant.sessions.values():
            if can_transition("session", session, "expire") and sandbox.now >= session.expires_at:
                sandbox.schedule(sandbox.now, "session", "expire", tenant.id, session.id, session.state_version)
