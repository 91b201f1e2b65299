"""
Sphinx configuration of the documentation site: `python -m sphinx -W --keep-going -b html docs docs/_build/html`.

The pages are Markdown files; `python -m docs.reference` writes those of the reference. `docs/sequence_diagram.py` draws the
diagrams.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from docs import sequence_diagram
from mockserver.cli.manual import topics
from mockserver.version import VERSION

project = "mockserver"
release = version = VERSION
copyright = "the mockserver authors"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index" if (DOCS / "index.md").is_file() else "reference/index"
exclude_patterns = ["_build", "reference/pages", "reference/introductions"]

# Headings down to the fourth level have the anchors that GitHub gives them.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "mockserver"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "_static" / "search_order.js")
html_copy_source = False
html_show_sphinx = False


def setup(app: Any) -> None:
    """Register the diagrams, the navigation and llms.txt."""
    app.connect("source-read", _generate)
    app.connect("html-page-context", _open_to_keyboards, priority=900)  # after the theme has drawn the navigation
    app.connect("build-finished", _write_llms_text)


def _write_llms_text(app: Any, failure: Exception | None) -> None:
    """Write llms.txt, by which language models find the pages, to the root of the site."""
    if failure is None and app.builder.format == "html":
        Path(app.outdir, "llms.txt").write_text(llms_text(), encoding="utf-8")


def llms_text() -> str:
    """Return `docs/llms.txt` with a link to each page in place of its marker."""
    links = "\n".join(f"- [{each.title}]({each.topic}.html): {each.shows}" for each in topics())
    return (DOCS / "llms.txt").read_text(encoding="utf-8").replace("<!-- generated: topics -->", links)


def _generate(app: Any, page: str, source: list[str]) -> None:
    source[0] = sequence_diagram.replace_blocks(_inside(page, source[0]))
    if page == root_doc:
        source[0] += "\n" + "\n".join(_navigation())
    if page == "reference/index":
        others = sorted(path.stem for path in DOCS.glob("reference/*.md") if path.stem != "index")
        source[0] += "\n".join(("", "```{toctree}", ":hidden:", "", *others, "```"))


_SECTION_OR_PAGE = re.compile(r"^## (.+)$|\]\(((?:reference/index|[\w-]+))\.md\)", re.MULTILINE)


def _navigation() -> Iterator[str]:
    """Yield hidden tables of contents: the sections of the front page with the pages that they list."""
    sections: dict[str, list[str]] = {}
    caption = ""
    for heading, page in _SECTION_OR_PAGE.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        caption = heading or caption
        sections.setdefault(caption, []).extend([f"/{page}"] if page else [])
    for name, pages in sections.items():
        yield from ("```{toctree}", ":hidden:", f":caption: {name}", "", *pages, "```", "")


def _open_to_keyboards(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the captions of the navigation a level, and let the keyboard scroll blocks of code."""
    for name, is_without, has in (
        ("furo_navigation_tree", '<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
        ("body", '<div class="highlight"><pre>', '<div class="highlight"><pre tabindex="0">'),
    ):  # fmt: skip
        context[name] = context.get(name, "").replace(is_without, has)


_PARENT_LINK = re.compile(r"\]\((\.\./[\w./-]+\.md)(#[\w-]*)?\)")


def _inside(page: str, text: str) -> str:
    """Return the text with its links to Markdown files outside of `docs`: the front page for the README, else downloads."""

    def replaced(link: re.Match[str]) -> str:
        target = (DOCS / page).parent.joinpath(link[1]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        return f"](/{root_doc}.md)" if target.name == "README.md" else f"](path:{link[1]})"

    return _PARENT_LINK.sub(replaced, text)
