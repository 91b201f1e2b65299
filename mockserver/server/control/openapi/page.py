"""An OpenAPI document as a page, with its script."""

from __future__ import annotations

from urllib.parse import urlencode

from mockserver.server.control.openapi.documents import Arguments, asked, plane_of
from mockserver.server.control.page_paths import VIEWS
from mockserver.server.docs_page import page
from mockserver.server.hosting.host import HostedSandbox


def read_page(hosted: HostedSandbox, args: Arguments, base_url: str) -> str:
    """Return a document as a page."""
    document, query = asked(hosted, args, base_url), f"?{urlencode(args)}" if args else ""
    key = hosted.shown_key or ""
    return page.render(document, plane_of(args), query, sandbox_id=hosted.id, key=key, views=VIEWS)


def read_script(hosted: HostedSandbox, args: Arguments) -> str:
    """Return the script of the page."""
    return page.script()
