"""World effects on connection sessions: the end user, or somebody else with the link, does something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.contract.lifecycles import SESSION
from mockserver.core import entrypoints, hosted, phones, sessions
from mockserver.core.records import Session
from mockserver.core.rules import Rule, Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant
from mockserver.core.transitions import can
from mockserver.core.world.scope import Unmet, sessions_of


def complete_session(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    given = args.get("phone")

    def complete(tenant: Tenant, session: Session) -> None:
        number = phones.e164(given, tenant.country) or phones.e164(given, phones.BRAZIL) if given is not None else None
        number = number or entrypoints.unused_phone(sandbox)
        sessions.complete(sandbox, tenant, session, number, args.get("name") or tenant.name, {"rule": rule.id})

    _each(sandbox, scope, args, "complete", complete)


def fail_session(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    reason = args.get("reason", sessions.REASONS[0])

    def fail(tenant: Tenant, session: Session) -> None:
        sessions.fail(sandbox, tenant, session, reason, {"rule": rule.id})

    _each(sandbox, scope, args, "fail", fail)


def expire_session(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    def expire(tenant: Tenant, session: Session) -> None:
        sessions.expire(sandbox, tenant, session, {"rule": rule.id})

    _each(sandbox, scope, args, "expire", expire)


def cancel_session(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    def cancel(tenant: Tenant, session: Session) -> None:
        sessions.cancel(sandbox, tenant, session, {"rule": rule.id})

    _each(sandbox, scope, args, "fail", cancel)


def visit_link(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """Somebody opens the session's url: a link preview, a scanner, a second person."""
    for tenant, session in sessions_of(sandbox, scope, args):
        found = hosted.Found(tenant, session, tenant.walks.get(session.id))
        is_good = hosted.is_good(sandbox, found)
        walk = hosted.opened(sandbox, found) if is_good else None
        step, status = (
            (hosted.WALKS[session.coexistence][0], 200 if walk is None else 303) if is_good else ("gone", 410)
        )
        headers = {"user-agent": args["userAgent"]} if "userAgent" in args else {}
        hosted.note(sandbox, found, "GET", step, headers, status)


def _each(
    sandbox: Sandbox,
    scope: Scope,
    args: Mapping[str, Any],
    trigger: str,
    act: Callable[[Tenant, Session], None],
) -> None:
    chosen = sessions_of(sandbox, scope, args)
    able = [(tenant, session) for tenant, session in chosen if can("session", session, trigger)]
    if not able:
        states = ", ".join(f"{session.id} is {session.status}" for _, session in chosen)
        raise Unmet(f"{states}; only {' or '.join(SESSION.sources(trigger))} has the move '{trigger}'")
    for tenant, session in able:
        act(tenant, session)
