"""Receivers in process: a WSGI app or a function that is handed each letter, with no socket between."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from mockserver.core.instants import Instant
from mockserver.core.schedule import TIMEOUT
from mockserver.edge.courier import ANSWER_MAX_BYTES, Outcome, retry_after

Target = Callable[..., Any]
RAISED = "the receiver raised"  # how an attempt's error begins where a function or an app broke

_WORDS_MAX = 120
_LIBRARIES = frozenset(("site-packages", "dist-packages", "werkzeug"))


class _NoAnswer(Exception):
    """A receiving function gave back what no endpoint can answer."""


class Letter(NamedTuple):
    """What a receiving function gets: the headers under lower-case names, and the body's bytes as they were signed."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def is_wsgi(target: Target) -> bool:
    """True for what takes (environ, start_response), False for what takes one letter."""
    wanted = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(target).parameters.values()
    return sum(each.kind in wanted and each.default is inspect.Parameter.empty for each in parameters) >= 2


def hand(target: Target, url: str, headers: Mapping[str, str], body: bytes, wall: Instant) -> Outcome:
    """
    Hand it a letter. None stands for 200; an exception is a 500, and so is what is no answer; but TimeoutError is the
    time limit, met without waiting.
    """
    try:
        status, answered, answer = (_by_wsgi if is_wsgi(target) else _by_call)(target, url, headers, body)
    except TimeoutError:
        return Outcome(None, TIMEOUT)
    except _NoAnswer as told:
        return Outcome(500, str(told))
    except Exception as failure:  # noqa: BLE001 - a receiver that breaks is a receiver that answers 500
        return Outcome(500, f"{RAISED} {_told(failure)}")
    named = {name.lower(): value for name, value in answered.items()}
    return Outcome(status, None, 0, retry_after(named.get("retry-after"), wall), answer[:ANSWER_MAX_BYTES])


def _told(failure: Exception) -> str:
    """An exception as who wrote the receiver knows it: its first line, and where in the source it came up."""
    words = "".join(str(failure).splitlines()[:1])
    said = f": {words[:_WORDS_MAX]}" if words else ""
    frames = traceback.extract_tb(failure.__traceback__)[2:]  # without this module's own
    return f"{type(failure).__name__}{said}" + (f" ({_source(frames)})" if frames else "")


def _source(frames: Sequence[traceback.FrameSummary]) -> str:
    """The innermost line that is no library's."""
    own = [each for each in frames if not _LIBRARIES & set(PurePath(each.filename).parts)] or frames
    return f"{PurePath(own[-1].filename).name}:{own[-1].lineno}"


def _by_call(
    target: Callable[[Letter], Any], url: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    answered = target(Letter(url, {name.lower(): value for name, value in headers.items()}, body))
    if answered is None:
        return 200, {}, b""
    status, headers_back, answer = (
        answered if isinstance(answered, tuple) and len(answered) == 3 else (answered, {}, b"")
    )
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 999:
        found = status if isinstance(status, int) else f"a {type(answered).__name__}"
        raise _NoAnswer(f"the receiver answered {found}; wanted None, a status, or (status, headers, body)")
    return status, headers_back, answer


def _by_wsgi(target: Any, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
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
