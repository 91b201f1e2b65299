"""The paths of the pages, and which requests for them a browser has sent. It imports nothing that renders a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

from mockserver.contract.text import whole_number
from mockserver.wire.request import HttpRequest

ROOT: Final = "/_mock/"
ICON: Final = "/favicon.ico"
HTML: Final = "text/html"
VIEWS: Final = ("now", "calls", "objects", "events", "choices", "scenarios")
ASSETS: Final[Mapping[str, str]] = {
    "/_mock/page/style.css": "text/css",
    "/_mock/page/script.js": "text/javascript",
    "/_mock/page/icon.svg": "image/svg+xml",
    ICON: "image/svg+xml",
}
# Paths that the control plane has too: they are pages only for a client that names text/html.
_SHARED: Final = frozenset(("events", "choices", "scenarios", "sandboxes", "calls"))
_WITH_ITEMS: Final = frozenset(("calls", "objects", "events", "scenarios"))


class PagePath(NamedTuple):
    """A page: its view, `sandboxes` for the list of them, and the id of what it shows; empty for the whole view."""

    view: str
    item: str = ""


def page_path(target: str) -> PagePath | None:
    """Return the page of a path below the prefix of a sandbox; None if it has none."""
    path = target.partition("?")[0]
    if path == ROOT:
        return PagePath("now")
    view, slash, item = path.removeprefix(ROOT).partition("/")
    if view not in VIEWS and view != "sandboxes":
        return None
    if not slash:
        return PagePath(view)
    return PagePath(view, unquote(item)) if view in _WITH_ITEMS and item and "/" not in item else None


def names_html(request: HttpRequest) -> bool:
    """Return True if the header Accept names text/html, as each browser's does for a page."""
    accept = request.headers.get("accept", "")
    return HTML in accept and any(
        part.partition(";")[0].strip().lower() == HTML and not part.replace(" ", "").endswith(";q=0")
        for part in accept.split(",")
    )


def is_shared(target: str) -> bool:
    """Return True if the control plane has a route of this path too, so that its answer depends on Accept."""
    page = page_path(target)
    return page is not None and page.view in _SHARED


def is_of_dashboard(request: HttpRequest) -> bool:
    """Return True if the dashboard responds to a request, else the control plane or the API."""
    path = request.target.partition("?")[0]
    if path in ASSETS or (path == ROOT and request.method in ("GET", "POST")):
        return True
    page = page_path(path)
    return page is not None and request.method == "GET" and (page.view not in _SHARED or names_html(request))


def is_icon_of_page(request: HttpRequest) -> bool:
    """Return True if a browser asks by itself for the icon of a page, whose Accept names images: that is no call of a client."""
    path = request.target.partition("?")[0]
    return path == ICON and request.method == "GET" and "image/" in request.headers.get("accept", "")


def is_redirected(request: HttpRequest) -> bool:
    """Return True for a browser's visit of the server's root, which is redirected to the page of the sandbox."""
    path = request.target.partition("?")[0]
    return path in ("/", "/_mock") and request.method == "GET" and names_html(request)


def number_in(query: Mapping[str, str], name: str) -> int:
    """Return a whole number of the query of a page; 0 without one, and for any other text."""
    return whole_number(query.get(name, "")) or 0
