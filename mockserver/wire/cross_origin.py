"""
Cross-origin requests of pages that this machine serves (CORS), for a server that allows them.

The API documents none, so a server allows them by an option only. Any other origin gets no header, so that its browser
refuses; no origin is allowed to send credentials, since keys are headers and not cookies.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse

_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1"))
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_FIELD_NAMES = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:[ \t]*,[ \t]*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*"
_MAX_AGE_SECONDS = "600"


def allowed_origin(request: HttpRequest) -> str | None:
    """Return the origin of a request if this machine serves it, else None."""
    origin = request.headers.get("origin", "")
    try:
        parts = urlsplit(origin)
        is_loopback = parts.hostname in _LOOPBACK and origin == f"{parts.scheme}://{parts.netloc}"
        _ = parts.port  # ValueError for one that is none
    except ValueError:
        return None
    return origin if is_loopback and parts.scheme in ("http", "https") and "@" not in parts.netloc else None


def preflight(request: HttpRequest, origin: str) -> HttpResponse | None:
    """Return the response to a preflight request; None for any other request."""
    if request.method != "OPTIONS" or "access-control-request-method" not in request.headers:
        return None
    headers = [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Methods", _METHODS),
        ("Access-Control-Max-Age", _MAX_AGE_SECONDS),
        ("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
    ]
    wanted = request.headers.get("access-control-request-headers", "")
    if re.fullmatch(_FIELD_NAMES, wanted):
        headers.append(("Access-Control-Allow-Headers", wanted))
    return HttpResponse(204, tuple(headers), b"")


def shared(response: HttpResponse | NoResponse, origin: str) -> HttpResponse | NoResponse:
    """Return the response with the headers that let a page of the origin read it, with all its own headers."""
    if isinstance(response, NoResponse):
        return response
    exposed = ", ".join(dict.fromkeys(name for name, _ in response.headers))
    own = (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", exposed), ("Vary", "Origin"))
    return response._replace(headers=(*response.headers, *own))
