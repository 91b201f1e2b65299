"""Media types and response headers of the page and its static assets."""

from __future__ import annotations

from typing import Final

HTML_TYPES: Final = ("text/html",)
STYLE_TYPES: Final = ("text/css",)
SCRIPT_TYPES: Final = ("text/javascript", "application/javascript")

ASSET_HEADERS: Final = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS: Final = (("Content-Security-Policy", _POLICY), *ASSET_HEADERS)
