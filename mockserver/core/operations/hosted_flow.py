"""
The hosted page of a connection session: the end user's flow from the one-use link to its end.

1. A link is valid while its session is pending, the deadline is in the future and no flow has consumed it:
   `is_link_valid` alone decides.
2. The choice `link-consumed-when` decides what consumes it; a started flow continues under its own secret.
3. A page view changes nothing, except that opening the link starts the flow under `first-get`. `record_visit` stores
   each.
4. `connections` decides how a session ends, by the same transitions as the control plane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.limits import VISIT_TEXT_MAX_CHARS
from mockserver.core import ids
from mockserver.core.instants import Instant
from mockserver.core.lifecycle import can_transition
from mockserver.core.operations import connections, return_urls
from mockserver.core.phone_numbers import normalize_phone
from mockserver.core.state.records import HostedFlow, PageVisit, Session
from mockserver.core.state.sandbox import SandboxState, Scope
from mockserver.core.state.tenant import Tenant

# The steps of a flow in order, by whether the session has coexistence. The last one ends it.
FLOW_STEPS: Mapping[bool, tuple[str, ...]] = MappingProxyType(
    {
        False: ("intro", "account", "number", "authorise"),
        True: ("intro", "number", "app", "account", "authorise"),
    }
)
CANCELLED = "cancelled"
SIMULATED = (*FAILURE_REASONS, "expire")  # the ends that the page can force
NAME_MAX_CHARS = 100


class FlowTarget(NamedTuple):
    """A session with its tenant and its flow, None if it has not started."""

    tenant: Tenant
    session: Session
    flow: HostedFlow | None


def find_by_link(sandbox: SandboxState, token: str) -> FlowTarget | None:
    """Return the session of any tenant whose url ends in this token, or None."""
    for tenant, session in sandbox.records("session"):
        if session.token == token:
            return FlowTarget(tenant, session, tenant.hosted_flows.get(session.id))
    return None


def find_by_flow(sandbox: SandboxState, secret: str) -> FlowTarget | None:
    """Return the session whose flow has this secret, or None."""
    flows = ((tenant, flow) for tenant in sandbox.tenants.values() for flow in tenant.hosted_flows.values())
    return next(
        (FlowTarget(tenant, tenant.sessions[flow.session_id], flow) for tenant, flow in flows if flow.secret == secret),
        None,
    )


def is_link_valid(sandbox: SandboxState, target: FlowTarget) -> bool:
    """Return True while the link leads to the page (session.url)."""
    consumed = target.flow is not None and target.flow.consumed_at is not None
    return _is_pending(target.session) and sandbox.now < target.session.expires_at and not consumed


def open_link(sandbox: SandboxState, target: FlowTarget) -> HostedFlow | None:
    """Open the link with GET: that starts the flow under `first-get`, and changes nothing otherwise."""
    return start_flow(sandbox, target) if sandbox.choices["link-consumed-when"] == "first-get" else None


def start_flow(sandbox: SandboxState, target: FlowTarget) -> HostedFlow:
    """
    Start the flow of a valid link at its first step.

    The flow consumes the link; under `completion` the link stays valid, and every visitor continues the same flow, at
    its first step if it was cancelled.
    """
    first = FLOW_STEPS[target.session.coexistence][0]
    consumed_at = None if sandbox.choices["link-consumed-when"] == "completion" else sandbox.now
    if target.flow is None:
        secret = ids.seeded_id(sandbox.seed, "walk", sandbox.next_number("walk"), chars=40)
        flow = HostedFlow(target.session.id, secret, started_at=sandbox.now, consumed_at=consumed_at, step=first)
    else:
        step = first if target.flow.step == CANCELLED else target.flow.step
        flow = target.flow._replace(consumed_at=consumed_at, step=step)
    target.tenant.hosted_flows[flow.session_id] = flow
    return flow


def current_page(sandbox: SandboxState, session: Session, flow: HostedFlow) -> str:
    """Return the current page of the flow: its step, or its end (completed, cancelled, failed, expired)."""
    if session.status == "completed":
        return "completed"
    if flow.step == CANCELLED:
        return CANCELLED
    if _is_pending(session):
        return flow.step if sandbox.now < session.expires_at else "expired"
    return session.status


def shown_page(sandbox: SandboxState, session: Session, flow: HostedFlow, step: str) -> str:
    """Return the step if the flow has reached it and has not ended, else the current page."""
    page, steps = current_page(sandbox, session, flow), FLOW_STEPS[session.coexistence]
    return step if page in steps and step in steps[: steps.index(page) + 1] else page


def submit_step(scope: Scope, session: Session, step: str, given: Mapping[str, str]) -> str | None:
    """
    Submit the form of a step and continue; return the name of an invalid field, in which case nothing changes.

    An earlier step can be submitted again; a step not reached yet, and any step of a flow that has ended, changes
    nothing. The last step completes the session, which may fail it instead. At or after the deadline the session
    expires.
    """
    session = connections.expire_if_due(scope, session)
    flow, steps = scope.tenant.hosted_flows[session.id], FLOW_STEPS[session.coexistence]
    if current_page(scope.sandbox, session, flow) not in steps or step not in steps[: steps.index(flow.step) + 1]:
        return None
    if step == steps[-1]:
        connections.complete(scope, session, flow.phone or "", flow.name or scope.tenant.name)
        return None
    chosen = _CHOSEN[step](scope.tenant, given)
    if isinstance(chosen, str):
        return chosen
    scope.tenant.hosted_flows[session.id] = flow._replace(step=steps[steps.index(step) + 1], **chosen)
    return None


def go_back(scope: Scope, session: Session, step: str) -> None:
    """Return the flow to the step before this one, if the flow has reached this one."""
    flow, steps = scope.tenant.hosted_flows[session.id], FLOW_STEPS[session.coexistence]
    if current_page(scope.sandbox, session, flow) in steps and step in steps[1 : steps.index(flow.step) + 1]:
        scope.tenant.hosted_flows[session.id] = flow._replace(step=steps[steps.index(step) - 1])


def cancel(scope: Scope, session: Session) -> None:
    """Cancel the flow as the end user; the choice `user-cancels` decides how the session continues."""
    flow = scope.tenant.hosted_flows[session.id]
    if current_page(scope.sandbox, session, flow) == "expired":
        connections.expire_if_due(scope, session)
    elif _is_pending(session):
        connections.cancel(scope, session)
        scope.tenant.hosted_flows[session.id] = flow._replace(step=CANCELLED)


def simulate(scope: Scope, session: Session, end: str) -> None:
    """End a pending session with one of the `SIMULATED` ends, which no step of the flow leads to."""
    if not _is_pending(session):
        return
    if end == "expire":
        connections.expire(scope, session)
    else:
        connections.fail(scope, session, end)


def return_redirect(sandbox: SandboxState, session: Session) -> str | None:
    """
    Return the url for the end user after the session has ended, or None if the page is the end (session.return).

    The returnUrl keeps its own query; `return-query` and `return-on-failure` decide what is appended.
    """
    if session.return_url is None or _is_pending(session):
        return None
    added = []
    if session.status != "completed":
        if sandbox.choices["return-on-failure"] == "stay":
            return None
        added = [("error", session.reason or "")]
    if sandbox.choices["return-query"] == "session-and-status":
        added = [("sessionId", session.id), ("status", session.status), *added]
    return return_urls.location(session.return_url, added)


def suggested_numbers(sandbox: SandboxState, session: Session, count: int = 2) -> tuple[str, ...]:
    """Return free numbers in E.164 for the end user to choose from; the same ones at each view."""
    phones: list[str] = []
    tried = 0
    while len(phones) < count:
        tried += 1
        phone = f"+55119{ids.seeded_int(sandbox.seed, 'hosted phone', session.seq, tried, below=10**8):08d}"
        if phone not in phones and not connections.is_phone_in_use(sandbox, phone):
            phones.append(phone)
    return tuple(phones)


def ended_at(sandbox: SandboxState, session: Session) -> Instant | None:
    """Return when the session ended; None if it is pending, or if the journal no longer has the transition."""
    ends = (
        moved.at
        for moved in reversed(sandbox.journal.transitions)
        if (moved.kind, moved.id, moved.target) == ("session", session.id, session.status)
    )
    return None if _is_pending(session) else next(ends, None)


def pairing_code(sandbox: SandboxState, session: Session) -> str:
    """Return the eight characters that the phone's app asks for in the coexistence flow."""
    return ids.seeded_id(sandbox.seed, "pairing code", session.seq, chars=8).upper()


def record_visit(
    sandbox: SandboxState, target: FlowTarget | None, method: str, step: str, headers: Mapping[str, str], status: int
) -> None:
    """Record one visit of the page; only the latest visits are stored."""

    def header(name: str) -> str | None:
        return headers[name][:VISIT_TEXT_MAX_CHARS] if name in headers else None

    session_id = target.session.id if target else None
    texts = (header("user-agent"), header("sec-fetch-dest"), header("referer"))
    sandbox.visits.append(
        PageVisit(sandbox.next_number("visit"), sandbox.now, session_id, method[:20], step, *texts, status)
    )


def _is_pending(session: Session) -> bool:
    return can_transition("session", session, "complete")


def _nothing(tenant: Tenant, given: Mapping[str, str]) -> Mapping[str, Any]:
    return {}


def _name(tenant: Tenant, given: Mapping[str, str]) -> Mapping[str, Any] | str:
    """Return the name of the channel: that of the organisation's account, or that of a new account."""
    if given.get("account") == "own":
        return {"name": tenant.name}
    if given.get("account") != "new":
        return "account"
    name = given.get("name", "").strip()
    fits = 0 < len(name) <= NAME_MAX_CHARS and name.isprintable()
    return {"name": name} if fits else "name"


def _phone(tenant: Tenant, given: Mapping[str, str]) -> Mapping[str, Any] | str:
    """Return one of the suggested numbers, or another one that the end user has typed, in any format."""
    number = given.get("number", "")
    phone = normalize_phone(given.get("phone", "") if number == "other" else number)
    return {"phone": phone} if phone is not None else "phone"


# What the form of a step adds to the flow, or the field that is invalid.
_CHOSEN: Mapping[str, Callable[[Tenant, Mapping[str, str]], Mapping[str, Any] | str]] = MappingProxyType(
    {"intro": _nothing, "account": _name, "number": _phone, "app": _nothing}
)
