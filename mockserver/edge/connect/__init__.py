"""
The hosted page behind a session's url: `serve` answers every request below `{base}/connect/`.

1. `/connect/{token}` is the one-use link; `/connect/walk/{secret}` is the walk that goes on from it.
2. What a request decides is decided in `core.hosted` with the lock held; the page is drawn once the lock is free again.
3. A request here is a visit, never an exchange of the public API.
4. A link that is used up, expired or unknown gives the same page, byte for byte: a stranger learns nothing from it.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from mockserver.edge import spelling
from mockserver.edge.connect import pages, visits
from mockserver.edge.connect.asking import read
from mockserver.edge.connect.scenes import refused
from mockserver.edge.gateway import Wire
from mockserver.edge.hosting import Hosted
from mockserver.edge.replies import Answer

__all__ = ["is_furniture", "serve"]

_LOG = logging.getLogger("mockserver")
_STATIC = Path(__file__).parent / "static"
_FILES = {"/connect/style.css": "text/css; charset=utf-8", "/connect/icon.svg": "image/svg+xml"}


def is_furniture(target: str) -> bool:
    """True for what a browser fetches by itself to draw a page; nobody visits that."""
    return target.partition("?")[0].endswith(tuple(_FILES))


def serve(hosted: Hosted, wire: Wire) -> Answer:
    """The answer to one request to the hosted page, after letting time pass up to now."""
    path = wire.target.partition("?")[0]
    if path in _FILES:
        return _file(hosted, wire.method, path)
    asked = read(wire)
    try:
        with hosted.sandbox.lock:
            scene = visits.meet(hosted.sandbox, asked)
            date = pages.date(hosted.sandbox)
        answer = pages.drawn(scene, asked.prefix, date)
    except Exception:  # noqa: BLE001 - a bug of the mock is told as one, on a page
        _LOG.exception("unexpected failure in the hosted page")
        answer = pages.drawn(refused(500), asked.prefix, pages.date(hosted.sandbox))
    return _without_body(answer) if asked.method == "HEAD" else answer


def _file(hosted: Hosted, method: str, path: str) -> Answer:
    """The stylesheet or the icon: they are the same for everyone, and can be kept."""
    with hosted.sandbox.lock:
        date = ("Date", spelling.http_date(hosted.sandbox.read_clock()))
    if method not in ("GET", "HEAD"):
        return Answer(405, (("Allow", "GET, HEAD"), ("Content-Type", "text/plain"), date, *pages.GUARDS), b"")
    kept = (("Cache-Control", "max-age=300"), ("X-Content-Type-Options", "nosniff"))
    answer = Answer(200, (("Content-Type", _FILES[path]), date, *kept), _read(path.rpartition("/")[2]))
    return _without_body(answer) if method == "HEAD" else answer


@cache
def _read(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


def _without_body(answer: Answer) -> Answer:
    """What HEAD gets: the headers that GET would have."""
    return Answer(answer.status, (*answer.headers, ("Content-Length", str(len(answer.body)))), b"")
