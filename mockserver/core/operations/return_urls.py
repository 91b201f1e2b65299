"""
The `returnUrl` of a session: which urls are valid, and the form in which a browser is redirected to one.

1. The document's rule is first: https with a host, without user or password (fixed decision `return-url-rules`);
   the choice `return-url-scheme` admits http for this machine.
2. The rest is validated and formatted by the WHATWG URL standard, with `can_ada`, a parser that browsers use.
3. `can_ada` is imported at the first url, so that a suite without sessions does not wait for it.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from can_ada import parse

_AUTHORITY: Final = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_IN_NO_URL: Final = re.compile(r"[\x00-\x20\\\x7f]")
_SOURCE: Final = re.compile(r"[a-z0-9.-]+(:[0-9]+)?")  # the hosts that a CSP source can name (CSP 3, 2.3.1)


def problem(url: str, *, allows_loopback_http: bool) -> str:
    """Return what is wrong with the url, or "" for one that is valid."""
    if _IN_NO_URL.search(url):
        return "it contains a space, a control character or a backslash"
    authority, scheme = _AUTHORITY.match(url), _SCHEME.match(url)
    is_http = scheme is not None and scheme[1].lower() == "http"
    if authority is None or (is_http and not allows_loopback_http):
        return f"its scheme is {scheme[1][:20]!r}" if scheme and scheme[1].lower() != "https" else "it has no https://"
    if "@" in authority[1]:
        return "it has a user or password"
    if not authority[1] or authority[1].startswith(":"):
        return "it has no host"
    try:
        host = parse(url).hostname
    except ValueError:
        return "the URL standard cannot parse it: its host or port is invalid"
    return "its scheme is 'http' and its host not of this machine" if is_http and host not in _LOOPBACK else ""


def location(url: str, added: list[tuple[str, str]]) -> str:
    """
    Return the url with more parameters at the end of its query, in printable ASCII, as a Location header has it.

    A url of ASCII characters stays unchanged; any other is encoded as the standard has it, its host in Punycode.
    """
    if not url.isascii() or "%" in _AUTHORITY.findall(url)[0]:
        url = parse(url).href
    url, mark, fragment = url.partition("#")
    if added:
        if not url.endswith(("?", "&")):
            url += "&" if "?" in url else "?"
        url += urlencode(added)
    return url + mark + fragment


def source(url: str) -> str:
    """Return the url's origin as a CSP source; its scheme alone where a source cannot name its host."""
    parsed = parse(url)
    return f"{parsed.protocol}//{parsed.host}" if _SOURCE.fullmatch(parsed.host) else parsed.protocol
