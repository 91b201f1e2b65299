"""Careless receivers and careless ways with the hosted page, each next to a careful one at the same task."""

from __future__ import annotations

from typing import Any

from tests.clients.operations import SESSIONS
from tests.conduct.provocation import Provocation
from tests.conduct.provocations_of_campaigns import _with
from tests.conduct.records import FAILED, Watched

ODD = '{"a":"São João ☕"}'.encode()
TWO = {"webhook-signature": "v1,a v1,b"}


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


def failing_on_failure(c: Watched, status: int) -> None:
    one, other = connected(c), c.connect(funnelStepId="funnel_step_a")
    c.wait("1s")
    c.sandbox.fail_session(other)
    c.deliver(one, 204)
    c.deliver(other, status, kind=FAILED)


def failures_of_unknown_sessions(c: Watched) -> None:
    """The client never received the answer to a create, so it refuses the session's event until it is given up."""
    one = connected(c)
    c.sandbox.on("createConnectionSession").nth(1).garble()
    c.ask("POST", SESSIONS, json={})
    lost = next(reversed(next(iter(c.core.tenants.values())).sessions))
    c.sandbox.fail_session(lost)
    c.deliver(one, 204)
    c.deliver(lost, 503, kind=FAILED)


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


def received_the_event_early(c: Watched, *statuses: int) -> None:
    c.sandbox.on("createConnectionSession").complete_session()
    c.deliver(c.connect(), *statuses)


def provisioned(c: Watched, by_event: int, by_poll: int) -> None:
    """The event and a later poll each lead to so many reads of the entrypoint."""
    session = connected(c)
    c.deliver(session, 200)
    entrypoint = next(iter(next(iter(c.core.tenants.values())).sessions.values())).entrypoint_id
    for _ in range(by_event):
        c.ask("GET", f"/v1/entrypoints/{entrypoint}")
    c.session(session)
    for _ in range(by_poll):
        c.ask("GET", f"/v1/entrypoints/{entrypoint}")


def provisioned_by_poll_first(c: Watched, again: bool) -> None:
    session = connected(c)
    entrypoint = c.session(session)["entrypoint"]["id"]
    c.ask("GET", f"/v1/entrypoints/{entrypoint}")
    c.wait("5s")
    c.deliver(session, 200)
    if again:
        c.ask("GET", f"/v1/entrypoints/{entrypoint}")


def overwritten(c: Watched, again: bool) -> None:
    old = c.connect()
    c.sandbox.fail_session(old)
    new = c.connect(funnelStepId="funnel_step_a")
    c.sandbox.complete_session(new)
    c.deliver(new, 200)
    c.wait("1s")
    c.deliver(old, 200, kind=FAILED)
    if again:
        c.connect(funnelId="funnel_a", funnelStepId="funnel_step_a")


def lost_after_ack(c: Watched, again: bool) -> None:
    c.sandbox.on("readConnectionSession").nth(1).error("INTERNAL_ERROR")
    session = connected(c)
    c.deliver(session, 200)
    for _ in range(2 if again else 1):
        c.session(session)
    c.wait("2m")


def polled_and_received(c: Watched) -> None:
    """One poll of a loop fails, and the event before it has shown the end."""
    session = c.connect()
    c.session(session)
    c.sandbox.complete_session(session)
    c.wait("5s")
    c.deliver(session, 200)
    c.sandbox.on("readConnectionSession").nth(1).error("INTERNAL_ERROR")
    c.session(session)
    c.wait("2m")


def believed_a_stranger(c: Watched, act: bool) -> None:
    session = connected(c)
    c.deliver(session, 200, fault="other-tenant")
    if act:
        c.session(session)


def opened(c: Watched, **how: Any) -> None:
    c.visit(c.connect(), **how)


def opened_by_two(c: Watched, agent: str) -> None:
    session = c.connect()
    c.visit(session)
    c.visit(session, agent=agent)


def opened_late(c: Watched, status: int, times: int = 2) -> None:
    session = c.connect()
    c.visit(session, 303, "POST")
    for _ in range(times):
        c.wait("2m")
        c.visit(session, status)


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


def burnt(c: Watched, again: bool, later: str = "2m") -> None:
    session = c.connect()
    c.visit(session, agent="TelegramBot (like TwitterBot)")
    c.wait("5s")
    c.visit(session, 410)
    c.wait(later)
    if again:
        c.connect()


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
    Provocation("missing-header-passes", (1,), *forged("no-signature")),
    Provocation("accepts-old-timestamps", (1,), *forged("old-timestamp")),
    Provocation("trusts-payload-tenant", (2,), _with(believed_a_stranger, "acted", True), _with(believed_a_stranger, "x", False)),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "refused", 422, fault="unknown-kind"), _with(answering, "taken", 204, fault="unknown-kind")),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "broke", 500, fault="unknown-kind"), _with(down_at_another_kind, "broke", 500)),
    Provocation("refuses-unknown-kind", (1,), _with(answering, "broke", 500, fault="unknown-kind"), _with(answering, "down", 503, fault="unknown-kind")),
    Provocation("reserialised-body", (1,), _with(answering, "accents", 400, body=ODD), _with(answering, "taken", 200, body=ODD)),
    Provocation("reserialised-body", (1,), _with(answering, "spaces", 401, body=b'{"a": 1}'), _with(answering, "t", 200, body=b'{"a": 1}')),
    Provocation("secret-misread", (1,), _with(answering_alone, "refused", 401), _with(answering_alone, "taken", 200)),
    Provocation("tolerance-on-occurredAt", (1,), _with(answering, "late", 400, age=7200), _with(answering, "taken", 200, age=7200)),
    Provocation("first-signature-only", (1,), _with(answering, "rotated", 400, headers=TWO), _with(answering, "taken", 200, headers=TWO)),
    Provocation("slow-ack", (1,), _with(answering, "slow", 200, duration_ms=5_500), _with(answering, "quick", 200, duration_ms=4_900)),
    Provocation("answers-with-redirect", (1,), _with(answering, "redirect", 308), _with(answering, "taken", 204)),
    Provocation("framework-in-the-way", (1,), _with(answering, "method", 405), _with(answering, "taken", 204)),
    Provocation("framework-in-the-way", (1,), _with(answering_alone, "csrf", 403, answer=b"<html>CSRF verification failed"), _with(answering_alone, "taken", 204)),
    Provocation("failure-event-misread", (2,), _with(failing_on_failure, "broke", 500), _with(failing_on_failure, "taken", 200)),
    Provocation("failure-event-misread", (2,), _with(failing_on_failure, "broke", 500), _with(failures_of_unknown_sessions, "of_unknown_sessions")),
    Provocation("id-not-stored-first", (1,), _with(forgot_the_id, "unknown", 410), _with(forgot_the_id, "known", 200)),
    Provocation("id-not-stored-first", (2,), _with(stores_other_ids, "unknown", 404), _with(stores_other_ids, "known", 200)),
    Provocation("id-not-stored-first", (1,), _with(forgot_the_id_immediately, "unknown", 409), _with(forgot_the_id_immediately, "nowhere", 404)),
    Provocation("event-before-answer", (1,), _with(received_the_event_early, "refused", 404), _with(received_the_event_early, "again", 404, 200)),
    Provocation("double-provision", (3, 2, 4), _with(provisioned, "twice", 1, 1), _with(provisioned, "once", 1, 0)),
    Provocation("double-provision", (2, 3, 4), _with(provisioned_by_poll_first, "twice", True), _with(provisioned, "looked_at", 0, 2)),
    Provocation("late-event-overwrites", (1, 2, 3), _with(overwritten, "created", True), _with(overwritten, "let_be", False)),
    Provocation("ack-then-lose", (1, 2), _with(lost_after_ack, "lost", False), _with(lost_after_ack, "again", True)),
    Provocation("ack-then-lose", (1, 2), _with(lost_after_ack, "lost", False), _with(polled_and_received, "polled")),
)  # fmt: skip
PAGE = (
    Provocation("iframe", (1,), _with(opened, "framed", dest="iframe"), _with(opened, "top_level")),
    Provocation("popup-blocked", (1,), _with(not_opened, "never", False), _with(not_opened, "opened", True)),
    Provocation("popup-blocked", (1,), _with(not_opened, "never", False), _with(left_alone, "left_alone")),
    Provocation("preview-burns-link", (1,), _with(burnt, "burnt", False), _with(burnt, "again", True)),
    Provocation("preview-burns-link", (1,), _with(burnt, "burnt", False), _with(burnt, "just now", False, "5s")),
    Provocation("link-shared-or-cached", (1,), _with(opened_by_two, "shared", "Other/1.0"), _with(opened_by_two, "bot", "Slackbot-LinkExpanding 1.0")),
    Provocation("link-shared-or-cached", (1,), _with(opened_late, "cached", 410), _with(opened_late, "went_on", 200)),
    Provocation("link-shared-or-cached", (1,), _with(opened_late, "cached", 410), _with(opened_late, "a restored tab", 410, 1)),
    Provocation("reuse-dead-session", (1, 2), _with(opened_dead, "opened", False), _with(opened_dead, "again", True)),
    Provocation("reuse-dead-session", (1, 2), _with(opened_dead, "opened", False), _with(opened_dead, "once", False, 1)),
)  # fmt: skip
