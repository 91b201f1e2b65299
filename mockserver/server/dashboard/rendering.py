"""The templates and the static assets of the dashboard; the macros of `call.html` take plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from jinja2 import Environment

from mockserver.contract.effects.descriptions import describe_rule
from mockserver.report import pages
from mockserver.server.dashboard import story

_HERE: Final = Path(__file__).parent
_FILTERS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType(
    {"describe_rule": describe_rule, "page_of": story.page_of_timer, "shortened": story.shortened}
)


@cache
def asset(name: str) -> bytes:
    """Return a static asset of the pages; the icon has two names, and the style is that of every report."""
    if name == "style.css":
        return pages.stylesheet().encode()
    return (_HERE / "static" / name.replace("favicon.ico", "icon.svg")).read_bytes()


def render(template: str, context: Mapping[str, Any]) -> str:
    """Return a page."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    templates = pages.environment(_HERE / "templates")
    templates.filters |= _FILTERS
    return templates
