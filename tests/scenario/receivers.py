"""Playing scenarios about events: receivers that are registered first, and the requests that they receive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from mockserver.testing.receivers import Receiver
from tests.clients.operations import SESSIONS
from tests.clients.receiving import CarefulReceiver
from tests.scenario.scenario_runs import ScenarioRun


class Arrived(NamedTuple):
    """A webhook request that arrived over a socket."""

    headers: dict[str, str]
    body: bytes


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


def careful_app(run: ScenarioRun, arrived: list[str] | None = None) -> tuple[CarefulReceiver, Receiver]:
    """A careful application, registered; `arrived` gets the session of each webhook request in the order of arrival."""
    app = CarefulReceiver([], run.sandbox.tenant_id)

    def noted(webhook: Any) -> int:
        if arrived is not None:
            arrived.append(webhook.json()["data"]["sessionId"])
        return app(webhook)

    registered = run.sandbox.receive_webhooks(noted)
    app.secrets.append(registered.secret)
    return app, registered


def begin(run: ScenarioRun, count: int = 1, app: Any = None) -> list[str]:
    """`count` sessions that no client polls."""
    made = [run.sandbox.call("POST", SESSIONS).json()["sessionId"] for _ in range(count)]
    for session_id in made if app is not None else ():
        app.keep(session_id)
    return made


def connect(run: ScenarioRun, app: CarefulReceiver, attempts: int = 1) -> None:
    """A connection by an application that receives events and also polls."""
    ended = run.careful().connect(app.keep, lambda url: None, attempts=attempts)
    app.work()
    app.learn(ended)


@contextmanager
def served(app: Any, is_down: Callable[[], bool]) -> Iterator[str]:
    """The receiver as a web application on a real socket of this machine; while it is down it returns 503."""

    @Request.application
    def answer(request: Request) -> Response:
        return Response(status=503 if is_down() else app(Arrived(dict(request.headers), request.get_data())))

    listener = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=_Quiet)
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/hooks"
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def attempts(receiver: Receiver) -> list[list[tuple[str, str | None, int | str]]]:
    """The webhook requests of each delivery: the time of day, the fault of the script, and the receiver's status."""
    return [
        [(each["at"][11:19], each.get("fault"), each.get("status", each.get("error"))) for each in delivery["attempts"]]
        for delivery in receiver.deliveries
    ]
