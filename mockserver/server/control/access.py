"""
Access to the control plane and to its pages, and the names of the whole server.

1. A server beyond loopback requires a token: as a bearer token, or as the cookie that its pages set once the token was
   typed into a form. The cookie's value is derived from the token, which is in no url and on no page.
2. The server's token opens everything. The token of a sandbox, which its creation returns, opens that sandbox's own
   commands and pages and its end; nothing of another sandbox, and nothing that lists or creates them.
3. A server on loopback responds only under the names of this machine and the allowed ones, to reads as to writes, below `/v1`
   as below `/_mock`: a rebound name sends no Origin with a GET. A token replaces the name, which no page that rebinds has.
4. A page of another origin reads nothing, with an image or a script as little as with `fetch`; a link to a page is followed.
5. A write that a browser may have sent for a page requires a header that no form can send. A bare client sends neither
   Origin nor Sec-Fetch-Site nor the cookie.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mockserver.contract.text import brief
from mockserver.core.redaction import TOKEN_PREFIX
from mockserver.core.webhooks.url_policy import is_local_host
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.wire import cross_origin
from mockserver.wire.request import HttpRequest

PAGE_HEADER: Final = "X-Mock-Request"  # with any value
_READS: Final = ("GET", "HEAD", "OPTIONS")
_COOKIE_PREFIX: Final = "mockserver_"
_OWN_SITES: Final = ("same-origin", "none")  # of Sec-Fetch-Site; a client that is no browser sends none
_OF_THE_SERVER: Final = ("createSandbox", "listSandboxes", "deleteSandboxes", "readMetrics")


class SessionCookie(NamedTuple):
    """The cookie of a page that has sent a token; servers of one machine have different names for it."""

    name: str
    value: str


def session_cookie(token: str) -> SessionCookie:
    """Return the cookie of a token."""
    name, value = (hmac.new(token.encode(), purpose, hashlib.sha256).hexdigest() for purpose in (b"name", b"value"))
    return SessionCookie(_COOKIE_PREFIX + name[:8], TOKEN_PREFIX + value)


def check_command(
    host: SandboxHost,
    hosted: HostedSandbox | None,
    request: HttpRequest,
    command: str,
    params: Mapping[str, str],
    *,
    is_page: bool = False,
) -> None:
    """
    Check that a request may run a command.

    Args:
        host: the server's sandboxes.
        hosted: the sandbox that the request addresses.
        request: of the client.
        command: the id of the command.
        params: those of its path.
        is_page: True if the answer is part of a page.

    Raises:
        ControlError: The request has no token that opens the command, or its name, its origin or a write of a page is
            refused; no word of it shows whether a sandbox exists.
    """
    sandbox_id = _id_of(hosted)
    if command == "deleteSandbox":
        sandbox_id = params["id"]
    elif command in _OF_THE_SERVER:
        sandbox_id = None
    _check(host, request, _tokens(host, sandbox_id), is_page=is_page)


def is_open_to(host: SandboxHost, sandbox_id: str, request: HttpRequest) -> bool:
    """Return True if a request has a token for the sandbox of this id, open or not, or needs none."""
    return _has_token(request, _tokens(host, sandbox_id))


def check_page(host: SandboxHost, hosted: HostedSandbox | None, request: HttpRequest) -> None:
    """Check that a request may read a page of a sandbox, or without one the page of the server (see `check_command`)."""
    _check(host, request, _tokens(host, _id_of(hosted)), is_page=True)


def find_token(host: SandboxHost, hosted: HostedSandbox | None, received: str) -> str | None:
    """Return the text if it is a token that opens the pages of the sandbox; it takes the same time for any text of one length."""
    matching = [_equal(received, token) for token in _tokens(host, _id_of(hosted))]
    return received if any(matching) else None


def cookie_names(host: SandboxHost, hosted: HostedSandbox | None) -> list[str]:
    """Return the names of the cookies of the tokens that open the pages of the sandbox."""
    return [session_cookie(token).name for token in _tokens(host, _id_of(hosted))]


def name_refusal(host: SandboxHost, request: HttpRequest) -> ControlError | None:
    """Return the refusal of a request to a server on loopback by a name that is neither this machine's nor an allowed one."""
    address = request.headers.get("host", "")
    is_plain = "@" not in address and address.partition(":")[0] in host.allowed_hosts
    if not address or host.is_exposed or is_plain:
        return None  # most requests: what follows takes part of the time of each call
    name = _host_name(f"//{address}")
    if name in host.allowed_hosts or is_local_host(name):
        return None
    expected = f"{', '.join(sorted(host.allowed_hosts))}; another name is allowed by --allow-host"
    return ControlError("MOCK_FOREIGN_HOST", f"Host: got {brief(name, 100)!r}; expected {expected}")


def check_origin(host: SandboxHost, request: HttpRequest, *, is_page: bool = False) -> None:
    """
    Check the name by which the client addresses the server, and the origin of the page that sends the request.

    Args:
        host: the server's sandboxes.
        request: of the client.
        is_page: True if the answer is a page, to which a page of another site may lead.

    Raises:
        ControlError: The name or the origin is foreign.
    """
    refusal = name_refusal(host, request)
    if refusal is not None and host.token is None:  # a token replaces the name: no page that rebinds one has it
        raise refusal
    address, origin = request.headers.get("host", ""), request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    is_shared = host.is_shared and cross_origin.allowed_origin(request) is not None
    is_visit = is_page and request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if site not in _OWN_SITES and not is_shared and not is_visit:
        expected = f"{' or '.join(_OWN_SITES)}: a page of another site must not call the control plane"
        raise ControlError("MOCK_FOREIGN_ORIGIN", f"Sec-Fetch-Site: got {brief(site, 60)!r}; expected {expected}")
    if origin is None or _host_name(origin) in host.allowed_hosts:
        return
    is_own_page = host.token is not None and bool(_host_name(origin)) and urlsplit(origin).netloc == address
    if not is_own_page:
        expected = "one of this server: a page of another site must not call the control plane"
        raise ControlError("MOCK_FOREIGN_ORIGIN", f"Origin: got {origin!r}; expected {expected}")


def _id_of(hosted: HostedSandbox | None) -> str | None:
    return None if hosted is None else hosted.id


def _check(host: SandboxHost, request: HttpRequest, tokens: list[str], *, is_page: bool) -> None:
    if not _has_token(request, tokens):
        expected = "the token that the server has printed, or the one that the creation of this sandbox has returned"
        raise ControlError("MOCK_TOKEN_WANTED", f"expected {expected}, as Authorization: Bearer TOKEN")
    check_origin(host, request, is_page=is_page)
    _check_write(request, _has_cookie(request, tokens))


def _has_token(request: HttpRequest, tokens: list[str]) -> bool:
    """Return True if a request has one of these tokens, as a bearer token or as a cookie, or if there are none."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    sent = bearer.strip() if scheme.lower() == "bearer" else ""  # RFC 9110, 11.1: a scheme in upper or lower case
    return not tokens or any(_equal(sent, token) for token in tokens) or _has_cookie(request, tokens)


def _tokens(host: SandboxHost, sandbox_id: str | None) -> list[str]:
    """Return the tokens that open a sandbox, or without one the server; none if no token is required."""
    if host.token is None:
        return []
    return [host.token] if sandbox_id is None else [host.token, host.sandbox_token(sandbox_id)]


def _check_write(request: HttpRequest, has_cookie: bool) -> None:
    headers = request.headers
    is_of_page = has_cookie or "origin" in headers or "sec-fetch-site" in headers
    if request.method in _READS or not is_of_page or PAGE_HEADER.lower() in headers:
        return
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ControlError(
            "MOCK_HEADER_WANTED",
            f"got a write of a browser that a form of any site could send; expected the header {PAGE_HEADER}, with any "
            "value, or a body of application/json",
        )


def _has_cookie(request: HttpRequest, tokens: Iterable[str]) -> bool:
    pairs = (pair.strip().partition("=") for pair in request.headers.get("cookie", "").split(";"))
    received = {name: value for name, _, value in pairs}
    return any(_equal(received.get(cookie.name, ""), cookie.value) for cookie in map(session_cookie, tokens))


def _equal(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode(errors="replace"), expected.encode())


def _host_name(url: str) -> str:
    """Return the host of a url in lower case, without the dot at the end of a full name; empty if the url has none, or has a user."""
    try:
        parts = urlsplit(url)
        return "" if "@" in parts.netloc else (parts.hostname or "").removesuffix(".")
    except ValueError:
        return ""
