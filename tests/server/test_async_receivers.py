"""Receivers on an event loop: coroutine functions, ASGI apps and servers, called without blocking that loop."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

import pytest

from mockserver import MockServer, Sandbox
from tests.operations.session_calls import NOON, begin
from tests.server.conftest import Serve
from tests.server.sockets import app

pytestmark = [pytest.mark.mockserver(now=NOON), pytest.mark.clause("events.subscribed")]
DEADLINE_S = 10.0


def on_a_loop(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """What the coroutine gives; fails where its loop is blocked for long."""
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(asyncio.run(main())), daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    assert not thread.is_alive(), "the event loop is blocked"
    return result[0] if result else pytest.fail("the coroutine has raised")


def attempts(receiver: Any) -> list[tuple[int | None, str | None]]:
    return [(each.get("status"), each.get("error")) for row in receiver.deliveries for each in row["attempts"]]


class Inbox:
    """An async receiver that notes on which loop it has run."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def __call__(self, webhook: Any) -> int:
        await asyncio.sleep(0)
        self.loops.append(asyncio.get_running_loop())
        self.seen.append(webhook.json()["data"]["sessionId"])
        return 202


def asgi(status: int = 204, *, seen: list[Any] | None = None, ends: bool = True) -> Any:
    """An ASGI app that reads its request and answers this status."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        message = await receive()
        if seen is not None:
            seen.append((scope, message["body"]))
        await send({"type": "http.response.start", "status": status, "headers": [(b"retry-after", b"60")]})
        if ends:
            await send({"type": "http.response.body", "body": b"o", "more_body": True})
            await send({"type": "http.response.body", "body": b"k"})

    return app


class Server:
    """An HTTP server on the loop that runs it, as an application under test is."""

    def __init__(self, answer: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self.count = 0
        self._answer = answer

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            assert length
            await reader.readexactly(int(length[1]))
            self.count += 1
            if self._answer is not None:
                await self._answer()
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        writer.close()


def test_a_coroutine_function_receives_where_no_loop_runs(mockserver: Sandbox) -> None:
    inbox = Inbox()
    receiver = mockserver.receive_webhooks(inbox)
    first, second = begin(mockserver), begin(mockserver)

    mockserver.complete_session(first)
    mockserver.advance("20m")

    assert [first, second] == inbox.seen
    assert [(202, None), (202, None)] == attempts(receiver)
    assert inbox.loops[0] is inbox.loops[1]  # what it has opened on its loop is of use in the next request


def test_an_asgi_app_receives_in_process(mockserver: Sandbox) -> None:
    seen: list[Any] = []
    receiver = mockserver.receive_webhooks(asgi(seen=seen), path="/hooks/S%C3%A3o?team=a%20b")

    mockserver.complete_session(begin(mockserver))

    [(scope, body)] = seen
    assert [(204, None)] == attempts(receiver)
    assert ("http", "POST", "/hooks/São", b"/hooks/S%C3%A3o", b"team=a%20b") == tuple(
        scope[each] for each in ("type", "method", "path", "raw_path", "query_string")
    )
    headers = dict(scope["headers"])
    assert str(len(body)).encode() == headers[b"content-length"] and b"webhook-signature" in headers


def test_an_asgi_app_that_ends_without_an_answer_fails_the_attempt(mockserver: Sandbox) -> None:
    receiver = mockserver.receive_webhooks(asgi(ends=False))

    mockserver.complete_session(begin(mockserver))

    [(status, error)] = attempts(receiver)
    assert 500 == status and "the receiver sent no complete response" in str(error)


def test_a_coroutine_that_never_ends_reaches_the_time_limit(
    mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mockserver._hosted.host, "webhook_timeout_seconds", 0.05)

    async def silent(_: Any) -> None:
        await asyncio.Event().wait()

    receiver = mockserver.receive_webhooks(silent)
    mockserver.complete_session(begin(mockserver))

    assert [(None, "timeout")] == attempts(receiver)


RECEIVERS = {"a coroutine function": Inbox, "an ASGI app": asgi}
COMMANDS = {
    "complete_session": lambda sandbox, session: sandbox.complete_session(session),
    "advance": lambda sandbox, session: sandbox.advance("1h"),
    "sleep": lambda sandbox, session: sandbox.sleep(3600),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("make", RECEIVERS.values(), ids=RECEIVERS)
def test_a_sync_command_on_the_loop_of_the_receiver_fails_immediately_and_names_the_async_form(
    mockserver: Sandbox, make: type[Inbox] | Callable[..., Any], command: Callable[..., Any]
) -> None:
    async def main() -> list[Any]:
        receiver = mockserver.receive_webhooks(make())
        session = begin(mockserver)
        with pytest.raises(ValueError, match=r"await sandbox\.aio\.advance\(\.\.\.\)"):
            command(mockserver, session)
        refused = attempts(receiver)
        await mockserver.aio.advance(0)
        return [refused, len(attempts(receiver))]

    assert [[], 1] == on_a_loop(main)


def test_a_sync_command_is_refused_for_a_server_on_its_own_loop_and_for_no_other(
    mockserver: Sandbox, serve: Serve
) -> None:
    async def main() -> list[Any]:
        async with Server() as own:
            elsewhere = mockserver.receive_webhooks(serve(app(lambda _: None)).url)
            mockserver.complete_session(begin(mockserver))
            here = mockserver.receive_webhooks(own.url)
            with pytest.raises(ValueError, match=f"the receiver at {own.url} runs on the event loop of this thread"):
                mockserver.complete_session(begin(mockserver))
            refused = attempts(here)
            await mockserver.aio.advance(0)
            return [attempts(elsewhere), refused, attempts(here)]

    assert [[(200, None)] * 2, [], [(204, None)]] == on_a_loop(main)


def test_an_awaitable_that_cannot_be_awaited_here_is_refused_as_a_coroutine_function_is(mockserver: Sandbox) -> None:
    inbox = Inbox()

    async def main() -> None:
        mockserver.receive_webhooks(lambda webhook: inbox(webhook))
        with pytest.raises(ValueError, match="await it: "):
            mockserver.complete_session(begin(mockserver))
        await mockserver.aio.advance(0)

    on_a_loop(main)

    assert 1 == len(inbox.seen)


@pytest.mark.parametrize("form", [lambda aio: aio.sleep(60), lambda aio: aio.advance("1m"), lambda aio: aio.run(print)])
def test_an_async_form_without_a_loop_of_asyncio_names_what_it_needs(
    mockserver: Sandbox, form: Callable[[Any], Coroutine[Any, Any, object]]
) -> None:
    before = mockserver.now

    with pytest.raises(RuntimeError, match=r"asyncio; got none .* `await trio.to_thread.run_sync\(mockserver.sleep, "):
        form(mockserver.aio).send(None)  # as the loop of another library does

    assert before == mockserver.now


def test_the_async_forms_answer_as_the_sync_ones_do(mockserver: Sandbox) -> None:
    async def main() -> None:
        async with Server() as server:
            receiver = mockserver.receive_webhooks(server.url)
            ids = [begin(mockserver) for _ in range(5)]
            assert ids[0] == (await mockserver.aio.complete_session(ids[0], phone="+5511999990000"))["sessionId"]
            assert ids[1] == (await mockserver.aio.run(mockserver.fail_session, ids[1]))["sessionId"]
            await mockserver.aio.run(mockserver.cancel_session, ids[2])
            await mockserver.aio.run(mockserver.expire_session, ids[3])
            assert 4 == server.count
            event = await mockserver.aio.run(mockserver.webhooks.redeliver, mockserver.events[0]["id"])
            assert (5, 2) == (server.count, len(event["deliveries"][0]["attempts"]))
            assert [] == await mockserver.aio.run(mockserver.webhooks.recover, receiver.id)
            assert 200 == (await mockserver.aio.call("GET", "/v1/campaigns")).status
            before = mockserver.now
            assert None is await mockserver.aio.sleep(1200)
            assert (1200, 6) == ((mockserver.now - before).total_seconds(), server.count)
            with pytest.raises(ValueError, match="session: got"):
                await mockserver.aio.run(mockserver.end_user, "session_x")

    on_a_loop(main)


@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_coroutine_under_way_ends_with_its_sandbox(end: str) -> None:
    arrived, ended = threading.Event(), threading.Event()

    async def silent(_: Any) -> None:
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with MockServer() as server, server.sandbox(now=NOON) as sandbox:
        sandbox.receive_webhooks(silent)
        waiting = threading.Thread(target=sandbox.complete_session, args=(begin(sandbox),))
        waiting.start()
        assert arrived.wait(DEADLINE_S)

        getattr(sandbox, end)()
        waiting.join(DEADLINE_S)

        assert not waiting.is_alive() and ended.wait(DEADLINE_S)
