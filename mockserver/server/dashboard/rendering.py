"""The templates and the static assets of the dashboard; the macros of `call.html` and `story.html` take plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from mockserver.report import pages

_HERE: Final = Path(__file__).parent


@cache
def asset(name: str) -> bytes:
    """Return a static asset of the pages; the icon has two names, and the style is that of every report."""
    if name == "style.css":
        return pages.stylesheet().encode()
    return (_HERE / "static" / name.replace("favicon.ico", "icon.svg")).read_bytes()


def render(template: str, context: Mapping[str, Any]) -> str:
    """Return a page."""
    return pages.environment(_HERE / "templates").get_template(template).render(context)
