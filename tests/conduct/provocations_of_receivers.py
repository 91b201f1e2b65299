"""Careless receivers and careless ways with the hosted page, each next to a careful one at the same task."""

from __future__ import annotations

from typing import Any

from tests.clients.operations import SESSIONS
from tests.conduct.provocation import Provocation
from tests.conduct.provocations_of_campaigns import _with
from tests.conduct.records import FAILED, Watched


def connected(c: Watched) -> str:
    """Exchange 1 creates the session, which completes; its event is accepted."""
    session = c.connect()
    c.wait("1s")
    c.sandbox.complete_session(session)
    return session


def answering(c: Watched, status: int, **how: Any) -> None:
    """A session whose event is accepted, and another webhook request that gets this answer."""
    session = connected(c)
    c.deliver(session, 204)
    c.deliver(session, status, **how)


def answering_alone(c: Watched, status: int, **how: Any) -> None:
    session = connected(c)
    c.deliver(session, status, **how)
    c.session(session)


def stopping_unknown_sessions(c: Watched, status: int) -> None:
    """The client never received the answer to a create, so nothing that it has takes the session's event."""
    one = connected(c)
    c.sandbox.on("createConnectionSession").nth(1).garble()
    c.ask("POST", SESSIONS, json={})
    lost = next(reversed(next(iter(c.core.tenants.values())).sessions))
    c.sandbox.fail_session(lost)
    c.deliver(one, 204)
    c.deliver(lost, status, kind=FAILED)


def down_at_another_kind(c: Watched, status: int) -> None:
    """A receiver that is down for a while, also when an event of another kind is sent."""
    session = connected(c)
    c.deliver(session, status)
    c.deliver(session, status, fault="unknown-kind")
    c.deliver(session, 204)


def forgot_the_id(c: Watched, status: int) -> None:
    c.deliver(connected(c), status, status)


def stores_other_ids(c: Watched, *statuses: int) -> None:
    c.deliver(connected(c), 200)
    c.deliver(connected(c), *statuses)


def forgot_the_id_immediately(c: Watched, status: int) -> None:
    """No time passes, and yet the response of the create precedes the event."""
    session = c.connect()
    c.sandbox.complete_session(session)
    c.deliver(session, status)


def opened(c: Watched, **how: Any) -> None:
    c.visit(c.connect(), **how)


def not_opened(c: Watched, visited: bool) -> None:
    one, other = c.connect(), c.connect(funnelStepId="funnel_step_a")
    c.visit(other)
    if visited:
        c.visit(one)
    c.sandbox.complete_session(other)
    c.session(other)
    c.wait("20m")
    c.session(one)


def left_alone(c: Watched) -> None:
    """A user has connected, and later another one never opens the page."""
    opened = c.connect()
    c.visit(opened)
    c.sandbox.complete_session(opened)
    c.session(opened)
    c.wait("1m")
    left = c.connect(funnelStepId="funnel_step_a")
    c.wait("20m")
    c.session(left)


def opened_dead(c: Watched, again: bool, times: int = 2) -> None:
    session = c.connect()
    c.visit(session)
    c.wait("20m")
    c.session(session)
    for _ in range(times):
        c.wait("1s")
        c.visit(c.connect() if again else session, 410)


def forged(fault: str) -> tuple[Any, Any]:
    return _with(answering, fault, 200, fault=fault), _with(answering, "refused", 400, fault=fault)


RECEIVERS = (
    Provocation("no-verify", (1,), *forged("wrong-secret")),
    Provocation("no-verify", (1,), *forged("changed-body")),
    Provocation("no-verify", (1,), *forged("changed-id")),
    Provocation("no-verify", (1,), *forged("junk-header")),
    Provocation("missing-header-passes", (1,), *forged("no-signature")),
    Provocation("accepts-old-timestamps", (1,), *forged("old-timestamp")),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "refused", 422, fault="unknown-kind"), _with(answering, "taken", 204, fault="unknown-kind")),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "broke", 500, fault="unknown-kind"), _with(down_at_another_kind, "broke", 500)),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "broke", 500, fault="unknown-kind"), _with(answering, "down", 503, fault="unknown-kind")),
    Provocation("secret-misread", (1,), _with(answering_alone, "refused", 401), _with(answering_alone, "taken", 200)),
    Provocation("slow-ack", (1,), _with(answering, "slow", 200, duration_ms=5_500), _with(answering, "quick", 200, duration_ms=4_900)),
    Provocation("answers-with-redirect", (1,), _with(answering, "redirect", 308), _with(answering, "taken", 204)),
    Provocation("framework-in-the-way", (1,), _with(answering, "method", 405), _with(answering, "taken", 204)),
    Provocation("framework-in-the-way", (1,), _with(answering, "method", 405), _with(stopping_unknown_sessions, "unknown", 405)),
    Provocation("framework-in-the-way", (1,), _with(answering_alone, "csrf", 403, answer=b"<html>CSRF verification failed"), _with(answering_alone, "taken", 204)),
    Provocation("id-not-stored-first", (1,), _with(forgot_the_id, "unknown", 410), _with(forgot_the_id, "known", 200)),
    Provocation("id-not-stored-first", (2,), _with(stores_other_ids, "unknown", 404), _with(stores_other_ids, "known", 200)),
    Provocation("id-not-stored-first", (1,), _with(forgot_the_id_immediately, "unknown", 409), _with(forgot_the_id_immediately, "nowhere", 404)),
)  # fmt: skip
PAGE = (
    Provocation("iframe", (1,), _with(opened, "framed", dest="iframe"), _with(opened, "top_level")),
    Provocation("popup-blocked", (1,), _with(not_opened, "never", False), _with(not_opened, "opened", True)),
    Provocation("popup-blocked", (1,), _with(not_opened, "never", False), _with(left_alone, "left_alone")),
    Provocation("reuse-dead-session", (1, 2), _with(opened_dead, "opened", False), _with(opened_dead, "again", True)),
    Provocation("reuse-dead-session", (1, 2), _with(opened_dead, "opened", False), _with(opened_dead, "once", False, 1)),
)  # fmt: skip
