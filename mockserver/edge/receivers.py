"""Receivers in process: a WSGI app or a function that is handed each letter, with no socket between."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from mockserver.core.instants import Instant
from mockserver.core.schedule import TIMEOUT
from mockserver.edge.courier import ANSWER_MAX_BYTES, Outcome, retry_after

Target = Callable[..., Any]
Answered = int | tuple[int, Mapping[str, str], bytes] | None


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
    Hand it a letter. None stands for 200; an exception is a 500, but for TimeoutError: that is the time limit, met
    without waiting.
    """
    try:
        status, answered, answer = (_by_wsgi if is_wsgi(target) else _by_call)(target, url, headers, body)
    except TimeoutError:
        return Outcome(None, TIMEOUT)
    except Exception as failure:  # noqa: BLE001 - a receiver that breaks is a receiver that answers 500
        return Outcome(500, f"the receiver raised {type(failure).__name__}")
    named = {name.lower(): value for name, value in answered.items()}
    return Outcome(status, None, 0, retry_after(named.get("retry-after"), wall), answer[:ANSWER_MAX_BYTES])


def _by_call(
    target: Callable[[Letter], Answered], url: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    answered = target(Letter(url, {name.lower(): value for name, value in headers.items()}, body))
    if answered is None:
        return 200, {}, b""
    return (answered, {}, b"") if isinstance(answered, int) else answered


def _by_wsgi(target: Any, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    from werkzeug.test import EnvironBuilder, run_wsgi_app

    builder = EnvironBuilder(
        method="POST", base_url=urljoin(url, "/"), path=urlsplit(url).path, headers=list(headers.items()), data=body
    )
    try:
        pieces, status, answered = run_wsgi_app(target, builder.get_environ(), buffered=True)
    finally:
        builder.close()
    return int(status.split()[0]), dict(answered), b"".join(pieces)
