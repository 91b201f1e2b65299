"""A coverage as one HTML file: without script, without another address, and with the only style that its policy allows."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mockserver.contract import clauses
from mockserver.coverage.coverage import Count, Coverage
from mockserver.coverage.dimensions import DIMENSIONS, MEANINGS, Dimension
from mockserver.coverage.remedies import Remedy, remedy
from mockserver.version import VERSION

_HERE: Final = Path(__file__).parent


class Gap(NamedTuple):
    """An item that is not covered, what closes it, and the sentence of a clause."""

    item: str
    remedy: Remedy
    sentence: str | None


class Section(NamedTuple):
    """A dimension on the page."""

    name: Dimension
    meaning: str
    share: Count
    covered: tuple[str, ...]
    gaps: tuple[Gap, ...]


def render(coverage: Coverage, title: str = "Coverage of the contract") -> str:
    """
    Return the page.

    Args:
        coverage: What it shows.
        title: Its heading.
    """
    sentences = {clause.id: clause.text for clause in clauses.read()}
    sections = [
        Section(
            name,
            MEANINGS[name],
            coverage.count(name),
            coverage.covered(name),
            tuple(Gap(item, remedy(name, item), sentences.get(item)) for item in coverage.missing(name)),
        )
        for name in DIMENSIONS
    ]
    style = (_HERE / "static" / "coverage.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("coverage.html")
        .render(
            title=title, sections=sections, total=coverage.count(), style=style, policy=_policy(style), version=VERSION
        )
    )


def _policy(style: str) -> str:
    """Return a content security policy that allows this style alone."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
