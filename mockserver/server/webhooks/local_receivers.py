"""
Receivers in this process: an ASGI or WSGI app, or a function, called with each webhook request, without a socket.

A coroutine runs on the event loop on which its receiver was registered, else on the loop that awaits the command, else on
one of the sandbox's own. If this thread runs and blocks that loop, the delivery is refused.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from mockserver.core.state.outbox import RECEIVER_RAISED
from mockserver.core.webhooks import url_policy
from mockserver.core.webhooks.retry_schedule import TIMEOUT
from mockserver.server.webhooks import event_loops
from mockserver.server.webhooks.results import CANCELED, RESPONSE_MAX_BYTES, SendResult

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

ReceiverTarget = Callable[..., Any]
ReceiverResponse = tuple[int, Mapping[str, str], bytes]

_WORDS_MAX = 120
_LIBRARIES = frozenset(("site-packages", "dist-packages", "werkzeug", "asyncio", "concurrent"))


class _InvalidResponse(Exception):
    """A receiving function returned a value that is not a response."""


class ReceivedWebhook(NamedTuple):
    """The argument of a receiving function: headers by lower-case name, and the body's bytes as they were signed."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body's JSON value."""
        return json.loads(self.body)


class LocalReceiver:
    """
    Receives the requests to one endpoint in this process.

    Lifetime: that of its sandbox.
    """

    def __init__(self, target: ReceiverTarget, runner: event_loops.Loops) -> None:
        self._target = target
        self._runner = runner
        self._home = event_loops.running()
        self._is_async = _is_coroutine_function(target)
        parameters = _required(target)
        self._call = self._by_call
        if self._is_async and parameters == 3:
            self._call = self._by_asgi
        elif not self._is_async and parameters >= 2:
            self._call = self._by_wsgi

    def needs(self, loop: AbstractEventLoop) -> bool:
        """Return True if its coroutines run on this loop, unless another loop awaits them."""
        return self._is_async and (self._home is loop or self._home is None or not self._home.is_running())

    def receive(self, url: str, headers: Mapping[str, str], body: bytes) -> SendResult:
        """
        Call the receiver with a request.

        Returns:
            Its response: 200 for None, 500 for an exception or for a value that is not a response. A TimeoutError
            becomes the error of the time limit, without a wait. What is no `Exception` is the result's `exit` too.

        Raises:
            LoopBlocked: this thread runs the event loop that the receiver needs.
        """
        try:
            status, response_headers, response_body = self._call(url, headers, body)
        except event_loops.LoopBlocked:
            raise
        except TimeoutError:
            return SendResult(None, TIMEOUT)
        except CancelledError:
            return SendResult(None, CANCELED)
        except _InvalidResponse as refusal:
            return SendResult(500, str(refusal))
        except Exception as failure:  # noqa: BLE001 - a receiver that raises responds with 500
            return SendResult(500, f"{RECEIVER_RAISED} {_describe_exception(failure)}")
        except BaseException as failure:  # noqa: BLE001 - the dispatcher raises it again
            return SendResult(500, f"{RECEIVER_RAISED} {_describe_exception(failure)}", exit=failure)
        lower = {name.lower(): value for name, value in response_headers.items()}
        return SendResult(
            status=status,
            error=None,
            duration_ms=0,
            retry_after=lower.get("retry-after", ""),
            body=response_body[:RESPONSE_MAX_BYTES],
        )

    def _by_call(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverResponse:
        webhook = ReceivedWebhook(url, {name.lower(): value for name, value in headers.items()}, body)
        if self._is_async:
            return _read(self._await(self._target, webhook))
        returned = self._target(webhook)
        if not inspect.isawaitable(returned):
            return _read(returned)
        if event_loops.running() is not None:
            if inspect.iscoroutine(returned):
                returned.close()
            raise event_loops.LoopBlocked(url)
        return _read(self._await(lambda: returned))

    def _by_wsgi(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverResponse:
        from werkzeug.test import EnvironBuilder, run_wsgi_app  # imported here: it is slow to import

        parts = urlsplit(url)
        builder = EnvironBuilder(
            method="POST",
            base_url=urljoin(url, "/"),
            path=parts.path,
            query_string=parts.query,
            headers=list(headers.items()),
            data=body,
        )
        try:
            pieces, status, response_headers = run_wsgi_app(self._target, builder.get_environ(), buffered=True)
        finally:
            builder.close()
        return int(status.split()[0]), dict(response_headers), b"".join(pieces)

    def _by_asgi(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverResponse:
        response: ReceiverResponse = self._await(_asgi_response, self._target, url, headers, body)
        return response

    def _await(self, make: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Return the awaitable's result; it is created on the loop on which it runs."""

        async def run() -> tuple[Any, BaseException | None]:
            try:
                return await make(*arguments), None
            except (SystemExit, KeyboardInterrupt) as failure:  # asyncio would end the loop by it
                return None, failure

        returned, failure = self._runner.run(run(), self._home)
        if failure is not None:
            raise failure
        return returned


def _required(target: ReceiverTarget) -> int:
    """Return the number of required arguments: 3 of an ASGI app, 2 of a WSGI app, 1 of a function."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # some builtins have none
        return 1
    return sum(row.kind in positional and row.default is inspect.Parameter.empty for row in parameters)


def _is_coroutine_function(target: ReceiverTarget) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004


def _describe_exception(failure: BaseException) -> str:
    """Return an exception's type and first line, and the line that raised it: the innermost that is not a library's."""
    words = "".join(str(failure).splitlines()[:1])
    message = f": {words[:_WORDS_MAX]}" if words else ""
    here = PurePath(__file__).parent
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if PurePath(frame.filename).parent != here]
    own = [frame for frame in frames if not _LIBRARIES & set(PurePath(frame.filename).parts)] or frames
    source = f" ({PurePath(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"{type(failure).__name__}{message}{source}"


def _read(returned: Any) -> ReceiverResponse:
    """Return the response for a value that a receiving function returned."""
    if returned is None:
        return 200, {}, b""
    status, headers, body = returned if isinstance(returned, tuple) and len(returned) == 3 else (returned, {}, b"")
    is_status = isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 999
    if is_status and isinstance(headers, Mapping) and isinstance(body, bytes | str):
        texts = {str(name): str(value) for name, value in headers.items()}
        return status, texts, body.encode("utf-8", "backslashreplace") if isinstance(body, str) else body
    got = f"a {type(returned).__name__}" if is_status or not isinstance(status, int) else status
    raise _InvalidResponse(f"the receiver returned {got}; expected None, a status, or (status, headers, body)")


async def _asgi_response(app: Any, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverResponse:
    """Return the response of an ASGI 3 application to a POST, without a socket and without its lifespan events."""
    incoming: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
    start: dict[str, Any] = {}
    pieces: list[bytes] = []
    is_whole = False

    async def receive() -> dict[str, Any]:
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal is_whole
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            pieces.append(bytes(message.get("body", b"")))
            is_whole = not message.get("more_body", False)

    parts = urlsplit(url)
    sent = {"host": parts.netloc, "content-length": str(len(body)), **{name.lower(): headers[name] for name in headers}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": parts.scheme,
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
        "client": ("127.0.0.1", 0),
        "server": (parts.hostname, url_policy.port_of(parts)),
    }
    await app(scope, receive, send)
    if not start or not is_whole:
        expected = "expected http.response.start and http.response.body"
        raise _InvalidResponse(f"the receiver sent no complete response; {expected}")
    response_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start.get("headers", ())}
    return start["status"], response_headers, b"".join(pieces)
