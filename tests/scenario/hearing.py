"""Playing scenarios about events: receivers registered before anything happens, and what was said to them."""

from __future__ import annotations

from typing import Any

from mockserver.testing.webhooks import Receiver
from tests.clients.connecting import SESSIONS
from tests.clients.receiving import CarefulReceiver
from tests.scenario.staging import Stage


def careful_app(stage: Stage) -> tuple[CarefulReceiver, Receiver]:
    """A careful application, registered."""
    app = CarefulReceiver([], stage.sandbox.tenant_id)
    registered = stage.sandbox.receive_webhooks(app)
    app.secrets.append(registered.secret)
    return app, registered


def begin(stage: Stage, count: int = 1, app: Any = None) -> list[str]:
    """So many sessions, made and kept, that nobody polls."""
    made = [stage.sandbox.call("POST", SESSIONS).json()["sessionId"] for _ in range(count)]
    for session_id in made if app is not None else ():
        app.keep(session_id)
    return made


def connect(stage: Stage, app: CarefulReceiver, attempts: int = 1) -> None:
    """A connection by an application that hears events, and polls beside."""
    ended = stage.careful().connect(app.keep, lambda url: None, attempts=attempts)
    app.work()
    app.learn(ended)


def said(receiver: Receiver) -> list[list[tuple[str, str | None, int | str]]]:
    """Of each delivery the letters: the time of day, what a script made of it, and what the receiver said."""
    return [
        [(each["at"][11:19], each.get("twist"), each.get("status", each.get("error"))) for each in delivery["attempts"]]
        for delivery in receiver.deliveries
    ]
