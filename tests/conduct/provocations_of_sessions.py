"""Careless clients of connection sessions, each next to a careful one at the same task."""

from __future__ import annotations

from tests.clients.driven import Client
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


PROVOCATIONS = (
    Provocation("reuse-dead-session", (2, 3, 4), polled_dead, _with(polled_dead, "twice", 2)),
    Provocation("poll-after-final", (2, 3, 4), completed_and_polled, _with(completed_and_polled, "twice", 2)),
    Provocation("poll-too-fast", (2, 3, 4), polled_fast, _with(polled_fast, "slowly", "3s")),
    Provocation("poll-dies-on-error", (2, 3), died_on_error, _with(died_on_error, "went_on", again=True)),
    Provocation("misses-the-end", (1, 2), stopped_early, _with(stopped_early, "to_the_end", again=True)),
    Provocation("misses-the-end", (1, 2), stopped_early, stopped_when_refused),
    Provocation("misses-the-end", (1, 2), stopped_early, stopped_after_retries),
    Provocation("misses-the-end", (1,), waited_for_return, _with(waited_for_return, "polled", again=True)),
    Provocation("misses-the-end", (1,), only_waited, _with(only_waited, "read", again=True)),
)  # fmt: skip
