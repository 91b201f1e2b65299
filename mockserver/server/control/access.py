"""
Access to the control plane and to its pages.

1. A server beyond loopback requires its token: as a bearer token, or as the cookie that its pages set once the token was
   typed into a form. The cookie's value is derived from the token, which is in no url and on no page.
2. Without a token the server responds only under the names of this machine, to reads as to writes: a rebound name sends
   no Origin with a GET.
3. A write that a browser may have sent for a page requires a header that no form can send. A bare client sends neither
   Origin nor Sec-Fetch-Site nor the cookie.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mockserver.server.api.request import HttpRequest
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import SandboxHost

PAGE_HEADER: Final = "X-Mock-Request"  # with any value
_READS: Final = ("GET", "HEAD", "OPTIONS")
_COOKIE_PREFIX: Final = "mockserver_"


class SessionCookie(NamedTuple):
    """The cookie of a page that has sent the token; servers of one machine have different names for it."""

    name: str
    value: str


def session_cookie(token: str) -> SessionCookie:
    """Return the cookie of a token."""
    name, value = (hmac.new(token.encode(), purpose, hashlib.sha256).hexdigest() for purpose in (b"name", b"value"))
    return SessionCookie(_COOKIE_PREFIX + name[:8], value)


def check_access(host: SandboxHost, request: HttpRequest) -> None:
    """Check the token or its cookie, if the server has one, the name and the origin of the request, and that of a write."""
    has_cookie = _has_cookie(host, request)
    if host.token is not None and not has_cookie and not is_token(host, _bearer(request)):
        raise ControlError(
            401,
            "MOCK_TOKEN_WANTED",
            "expected the token that the server has printed, as Authorization: Bearer TOKEN",
        )
    check_origin(host, request)
    _check_write(request, has_cookie)


def is_token(host: SandboxHost, received: str) -> bool:
    """Return True if the text is the server's token; it takes the same time for any text of one length."""
    return host.token is not None and hmac.compare_digest(received.encode(), host.token.encode())


def check_origin(host: SandboxHost, request: HttpRequest) -> None:
    """Check the name by which the client addresses the server, and the origin of the page that sends the request."""
    address = request.headers.get("host", "")
    name, allowed = _host_name(f"//{address}"), ", ".join(sorted(host.allowed_hosts))
    if address and name not in host.allowed_hosts and host.token is None:  # a token replaces the name
        raise ControlError(403, "MOCK_FOREIGN_HOST", f"Host: got {name!r}; expected {allowed}")
    origin = request.headers.get("origin")
    if origin is None or _host_name(origin) in host.allowed_hosts:
        return
    is_own_page = host.token is not None and bool(_host_name(origin)) and urlsplit(origin).netloc == address
    if not is_own_page:
        raise ControlError(
            403,
            "MOCK_FOREIGN_ORIGIN",
            f"Origin: got {origin!r}; expected one of this server: a page of another site must not call the control plane",
        )


def _check_write(request: HttpRequest, has_cookie: bool) -> None:
    headers = request.headers
    is_of_page = has_cookie or "origin" in headers or "sec-fetch-site" in headers
    if request.method in _READS or not is_of_page or PAGE_HEADER.lower() in headers:
        return
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ControlError(
            403,
            "MOCK_HEADER_WANTED",
            f"got a write of a browser that a form of any site could send; expected the header {PAGE_HEADER}, with any "
            "value, or a body of application/json",
        )


def _bearer(request: HttpRequest) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _has_cookie(host: SandboxHost, request: HttpRequest) -> bool:
    if host.token is None or "cookie" not in request.headers:
        return False
    from werkzeug.http import parse_cookie  # imported here: few servers require a token

    expected = session_cookie(host.token)
    received = parse_cookie(request.headers["cookie"]).get(expected.name, "")
    return hmac.compare_digest(received.encode(errors="replace"), expected.value.encode())


def _host_name(url: str) -> str:
    """Return the host of a url in lower case; empty if the url has none, or has a user."""
    try:
        parts = urlsplit(url)
        return "" if "@" in parts.netloc else parts.hostname or ""
    except ValueError:
        return ""
