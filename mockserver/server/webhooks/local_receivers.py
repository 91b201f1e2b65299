"""
Receivers in process: an ASGI or WSGI app, or a function, that is handed each letter, with no socket between.

A coroutine runs on the event loop on which its receiver was registered, else on the one that awaits the command, else on
one of the sandbox's own; where that is a loop that this thread runs and blocks, the delivery is refused.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from mockserver.core.instants import Instant, retry_after
from mockserver.core.webhooks.retry_schedule import TIMEOUT
from mockserver.server.webhooks import event_loops
from mockserver.server.webhooks.sender import ANSWER_MAX_BYTES, LET_GO, SendResult

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

ReceiverTarget = Callable[..., Any]
ReceiverAnswer = tuple[int, Mapping[str, str], bytes]
RECEIVER_RAISED = "the receiver raised"  # how an attempt's error begins where a function or an app broke

_WORDS_MAX = 120
_LIBRARIES = frozenset(("site-packages", "dist-packages", "werkzeug", "asyncio", "concurrent"))


class _NoAnswer(Exception):
    """A receiving function gave back what no endpoint can answer."""


class ReceivedWebhook(NamedTuple):
    """What a receiving function gets: the headers under lower-case names, and the body's bytes as they were signed."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class LocalReceiver:
    """What receives the letters of one endpoint in process. Lives as long as its sandbox."""

    def __init__(self, target: ReceiverTarget, runner: event_loops.Loops) -> None:
        self._target = target
        self._runner = runner
        self._home = event_loops.running()
        parameters = _required(target)
        if _is_coroutine_function(target):
            self._call = self._by_asgi if parameters == 3 else self._by_call
        else:
            self._call = self._by_wsgi if parameters >= 2 else self._by_call

    def needs(self, loop: AbstractEventLoop) -> bool:
        """True if its coroutines run on this loop as long as no other one awaits them."""
        return _is_coroutine_function(self._target) and (
            self._home is loop or self._home is None or not self._home.is_running()
        )

    def hand(self, url: str, headers: Mapping[str, str], body: bytes, wall: Instant) -> SendResult:
        """
        Hand it a letter. None stands for 200; an exception is a 500, and so is what is no answer; but TimeoutError is the
        time limit, met without waiting.
        """
        try:
            status, answered, answer = self._call(url, headers, body)
        except event_loops.LoopBlocked:
            raise
        except TimeoutError:
            return SendResult(None, TIMEOUT)
        except CancelledError:
            return SendResult(None, LET_GO)
        except _NoAnswer as told:
            return SendResult(500, str(told))
        except Exception as failure:  # noqa: BLE001 - a receiver that breaks is a receiver that answers 500
            return SendResult(500, f"{RECEIVER_RAISED} {_describe_exception(failure)}")
        named = {name.lower(): value for name, value in answered.items()}
        return SendResult(status, None, 0, retry_after(named.get("retry-after", ""), wall), answer[:ANSWER_MAX_BYTES])

    def _by_call(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        letter = ReceivedWebhook(url, {name.lower(): value for name, value in headers.items()}, body)
        if _is_coroutine_function(self._target):
            return _read(self._awaited(self._target, letter))
        answered = self._target(letter)
        if not inspect.isawaitable(answered):
            return _read(answered)
        if event_loops.running() is not None:
            if inspect.iscoroutine(answered):
                answered.close()
            raise event_loops.LoopBlocked(url)
        return _read(self._awaited(lambda: answered))

    def _by_wsgi(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        return _by_wsgi(self._target, url, headers, body)

    def _by_asgi(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        from mockserver.server.webhooks import asgi

        answered: ReceiverAnswer | None = self._awaited(asgi.request, self._target, url, headers, body)
        if answered is None:
            raise _NoAnswer("the receiver sent no whole answer; wanted http.response.start and http.response.body")
        return answered

    def _awaited(self, make: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """What the awaitable gives, made on the loop on which it runs."""

        async def run() -> Any:
            return await make(*arguments)

        return self._runner.run(run(), self._home)


def _required(target: ReceiverTarget) -> int:
    """How many arguments a call has to give: 3 are (scope, receive, send), 2 are (environ, start_response), 1 is a letter."""
    wanted = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # some builtins have none
        return 1
    return sum(each.kind in wanted and each.default is inspect.Parameter.empty for each in parameters)


def _is_coroutine_function(target: ReceiverTarget) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004


def _describe_exception(failure: Exception) -> str:
    """An exception as who wrote the receiver knows it: its first line, and where in the source it came up."""
    words = "".join(str(failure).splitlines()[:1])
    said = f": {words[:_WORDS_MAX]}" if words else ""
    here = PurePath(__file__).parent
    frames = [each for each in traceback.extract_tb(failure.__traceback__) if PurePath(each.filename).parent != here]
    return f"{type(failure).__name__}{said}" + (f" ({_source(frames)})" if frames else "")


def _source(frames: Sequence[traceback.FrameSummary]) -> str:
    """The innermost line that is no library's."""
    own = [each for each in frames if not _LIBRARIES & set(PurePath(each.filename).parts)] or frames
    return f"{PurePath(own[-1].filename).name}:{own[-1].lineno}"


def _read(answered: Any) -> ReceiverAnswer:
    """What a receiving function has answered."""
    if answered is None:
        return 200, {}, b""
    status, headers, body = answered if isinstance(answered, tuple) and len(answered) == 3 else (answered, {}, b"")
    is_status = isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 999
    if is_status and isinstance(headers, Mapping) and isinstance(body, bytes | str):
        texts = {str(name): str(value) for name, value in headers.items()}
        return status, texts, body.encode("utf-8", "backslashreplace") if isinstance(body, str) else body
    found = f"a {type(answered).__name__}" if is_status or not isinstance(status, int) else status
    raise _NoAnswer(f"the receiver answered {found}; wanted None, a status, or (status, headers, body)")


def _by_wsgi(target: Any, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
    from werkzeug.test import EnvironBuilder, run_wsgi_app

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
        pieces, status, answered = run_wsgi_app(target, builder.get_environ(), buffered=True)
    finally:
        builder.close()
    return int(status.split()[0]), dict(answered), b"".join(pieces)
