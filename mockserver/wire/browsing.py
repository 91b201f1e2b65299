"""
Answers of the API to a browser that would show or run them on this server's origin, which the dashboard has too.

A rule's `reply` is any text under any content type. On a shared server it is a tenant's, and a script in it would have the
rights of the person who opens it.

1. A navigation, a frame, a worker and every other thing that a browser loads by itself gets a page without scripts and
   without an origin (CSP 3, `sandbox`), no script, and no header that concerns the whole origin.
2. `Sec-Fetch-Dest` names such a request. A browser sends it over https and to this machine only; over http to another
   machine each navigation has `Upgrade-Insecure-Requests` in its place, and only a page of the origin can start a worker.
3. A script's own `fetch` gets what any client gets, but for `Vary`: no cache returns its answer to a navigation.
4. A client that sends neither header gets the same bytes as without this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mockserver.wire.response import HttpResponse, NoResponse

_FETCH: Final = "empty"  # the destination of `fetch` and of a stream of events
SANDBOX: Final = (("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"))
# Of every answer of the server that is no page: no page of another site embeds it, and no browser takes it for another type.
OWN_TYPE: Final = (("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", "same-origin"))
_VARY: Final = ("Vary", "Sec-Fetch-Dest")
_AS_SCRIPT: Final = frozenset(
    ("audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "style", "worker", "xslt")
)
_OF_THE_ORIGIN: Final = frozenset(
    ("alt-svc", "clear-site-data", "nel", "report-to", "service-worker-allowed", "set-cookie",
     "strict-transport-security", "www-authenticate", "x-content-type-options")
)  # fmt: skip


def destination(headers: Mapping[str, str]) -> str:
    """Return what a browser loads, in the words of Sec-Fetch-Dest; empty for a client that is none, or does not say."""
    named = headers.get("sec-fetch-dest")
    if named is None:
        return "document" if "upgrade-insecure-requests" in headers else ""
    return "document" if "sec-purpose" in headers else named.lower() or "document"  # what is prefetched may be shown


def confined(response: HttpResponse | NoResponse, to: str) -> HttpResponse | NoResponse:
    """Return the response as a browser gets it that loads it `to` a destination, which is not empty."""
    if isinstance(response, NoResponse):
        return response
    if to == _FETCH:
        return response._replace(headers=(*response.headers, _VARY))
    headers = [header for header in response.headers if header[0].lower() not in _OF_THE_ORIGIN]
    if to in _AS_SCRIPT:
        headers = [header for header in headers if header[0].lower() != "content-type"]
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    return response._replace(headers=(*headers, *SANDBOX, _VARY))
