"""Careless clients of connection sessions, each next to a careful one at the same task."""

from __future__ import annotations

from tests.clients.driven import Client
from tests.clients.operations import SESSIONS
from tests.conduct.provocation import Provocation
from tests.conduct.provocations_of_campaigns import _with


def polled_dead(c: Client, times: int = 3) -> None:
    session = c.connect()
    c.wait("20m")
    for _ in range(times):
        c.session(session)
        c.wait("3s")


def completed_and_polled(c: Client, times: int = 3) -> None:
    session = c.connect()
    c.sandbox.complete_session(session)
    for _ in range(times):
        c.session(session)
        c.wait("3s")


def past_the_deadline(c: Client, times: int = 2) -> None:
    c.sandbox.choose({"expiry-driver": "sweeper"})
    session = c.connect()
    c.wait("19m")
    c.session(session)
    c.wait("4m")
    for _ in range(times):
        c.session(session)
        c.wait("3s")


def polled_fast(c: Client, length: str = "1s") -> None:
    session = c.connect()
    for _ in range(4):
        c.session(session)
        c.wait(length)


def died_on_error(c: Client, again: bool = False) -> None:
    c.sandbox.on("readConnectionSession").nth(2).error("INTERNAL_ERROR")
    session = c.connect()
    for _ in range(3 if again else 2):
        c.session(session)
        c.wait("3s")
    c.wait("3m")


def stopped_early(c: Client, again: bool = False) -> None:
    session = c.connect()
    c.session(session)
    c.wait("19m")
    c.sandbox.complete_session(session)
    c.wait("3s")
    if again:
        c.session(session)
    c.wait("2m")


def stopped_when_refused(c: Client) -> None:
    """A read is refused with 404, as by a service that lags behind."""
    session = c.connect()
    c.sandbox.on("readConnectionSession").nth(1).error("RESOURCE_NOT_FOUND")
    c.session(session)
    c.sandbox.complete_session(session)
    c.wait("30m")


def stopped_after_retries(c: Client, times: int = 3) -> None:
    session = c.connect()
    c.session(session)
    c.sandbox.on("readConnectionSession").times(times).error("INTERNAL_ERROR")
    for _ in range(times):
        c.wait("10s")
        c.session(session)
    c.sandbox.complete_session(session)
    c.wait("30m")


def waited_for_return(c: Client, again: bool = False) -> None:
    session = c.connect(returnUrl="https://crm.example/back")
    c.sandbox.complete_session(session)
    c.wait("1s")
    if again:
        c.session(session)
    c.wait("2m")


def only_waited(c: Client, again: bool = False) -> None:
    session = c.connect()
    c.wait("1h")
    if again:
        c.session(session)


def returning_to(c: Client, url: str) -> None:
    c.connect(returnUrl=url)


def asked_for(c: Client, **body: object) -> None:
    c.connect(**body)


def twice_a_click(c: Client, times: int = 2) -> None:
    sessions = [c.connect() for _ in range(times)]
    c.sandbox.complete_session(sessions[-1])
    c.session(sessions[-1])


def two_users(c: Client) -> None:
    """They click at one instant, and one of them leaves; an event reports each end."""
    c.sandbox.receive_webhooks(lambda request: 200)
    sessions = [c.connect() for _ in range(2)]
    c.sandbox.complete_session(sessions[-1])
    c.wait("20m")


def again_and_again(c: Client, times: int = 4, apart: str = "5s") -> None:
    for n in range(times):
        c.wait(apart)
        session = c.connect(funnelStepId=f"funnel_step_{n}")
        c.sandbox.fail_session(session, reason="phone_in_use")
        c.session(session)


def busy(c: Client, users: int = 5) -> None:
    """One of many users has a number that is in use; the others connect."""
    for n in range(users):
        session = c.connect(funnelStepId=f"funnel_step_{n}")
        if n == 0:
            c.sandbox.fail_session(session, reason="phone_in_use")
        else:
            c.sandbox.complete_session(session)
        c.session(session)
        c.wait("1m")


def unlucky(c: Client) -> None:
    """Two users take turns, and each has numbers that are in use; one's session is open while the other's fails."""
    last = c.connect()
    for n in range(4):
        following = c.connect(funnelStepId=f"funnel_step_{n}")
        c.sandbox.fail_session(last, reason="phone_in_use")
        c.session(last)
        c.wait("1m")
        last = following
    c.sandbox.complete_session(last)
    c.session(last)


def again_after_another_user(c: Client) -> None:
    busy(c, users=2)
    again_and_again(c)


def orphaned(c: Client, times: int = 3, apart: str = "5s") -> None:
    session = c.connect()
    c.wait("20m")
    c.session(session)
    for n in range(times):
        c.wait(apart)
        following = c.connect(funnelStepId=f"funnel_step_{n}")
        c.sandbox.fail_session(following, reason="phone_in_use")
        c.session(following)


def unmade(c: Client) -> None:
    c.ask("GET", f"{SESSIONS}/none")


PROVOCATIONS = (
    Provocation("reuse-dead-session", (2, 3, 4), polled_dead, _with(polled_dead, "twice", 2)),
    Provocation("poll-after-final", (2, 3, 4), completed_and_polled, _with(completed_and_polled, "twice", 2)),
    Provocation("poll-past-deadline", (1, 3, 4), past_the_deadline, _with(past_the_deadline, "once", 1)),
    Provocation("poll-too-fast", (2, 3, 4), polled_fast, _with(polled_fast, "slowly", "3s")),
    Provocation("poll-dies-on-error", (2, 3), died_on_error, _with(died_on_error, "went_on", again=True)),
    Provocation("stop-too-soon", (1, 2), stopped_early, _with(stopped_early, "to_the_end", again=True)),
    Provocation("stop-too-soon", (1, 2), stopped_early, stopped_when_refused),
    Provocation("stop-too-soon", (1, 2), stopped_early, stopped_after_retries),
    Provocation("waits-for-return", (1,), waited_for_return, _with(waited_for_return, "polled", again=True)),
    Provocation("webhook-only", (1,), only_waited, _with(only_waited, "read", again=True)),
    Provocation("bad-return-url", (1,), _with(returning_to, "http", "http://crm.example/"), unmade),
    Provocation("bad-return-url", (1,), _with(returning_to, "user", "https://me:x@crm.example/"), unmade),
    Provocation("funnel-misuse", (1,), _with(asked_for, "alone", funnelId="funnel_a"), _with(asked_for, "both", funnelId="funnel_a", funnelStepId="funnel_step_a")),
    Provocation("funnel-misuse", (1,), _with(asked_for, "extra", funnel="funnel_a"), asked_for),
    Provocation("session-storm", (1, 2), twice_a_click, _with(twice_a_click, "once", 1)),
    Provocation("session-storm", (2, 3, 5), again_and_again, _with(again_and_again, "twice", 2)),
    Provocation("session-storm", (1, 2), twice_a_click, two_users),
    Provocation("session-storm", (6, 7, 9), again_after_another_user, busy),
    Provocation("session-storm", (2, 3, 5), again_and_again, unlucky),
    Provocation("session-storm", (2, 3, 5), again_and_again, _with(again_and_again, "by_several_users", apart="2m")),
    Provocation("retries-number-in-use", (2, 4, 6, 8), orphaned, _with(orphaned, "twice", 2)),
    Provocation("retries-number-in-use", (2, 4, 6, 8), orphaned, _with(orphaned, "by_several_users", apart="2m")),
)  # fmt: skip
