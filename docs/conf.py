"""
Sphinx configuration of the documentation site: `python -m sphinx -W --keep-going -b html docs docs/_build/html`.

The pages are Markdown files. The reference is generated while the site is built: docstrings by autodoc, and tables by
`docs/reference/tables.py`, which replaces each line `<!-- generated: NAME -->` of a page. `docs/sequence_diagram.py` draws
the diagrams.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from docs import sequence_diagram
from docs.reference import tables
from mockserver.cli.manual import topics
from mockserver.version import VERSION

project = "mockserver"
release = version = VERSION
copyright = "the mockserver authors"

# Autodoc takes the `repr` of every attribute; that of a strategy is long.
warnings.filterwarnings("ignore", message="Generating overly large repr")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index" if (DOCS / "index.md").is_file() else "reference/index"
exclude_patterns = ["_build"]

# Headings down to the fourth level have the anchors that GitHub gives them.
myst_heading_anchors = 4

# Docstrings: Google style. Single backquotes are code, as everywhere in this project.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # `Attributes:` of a docstring, next to the attributes themselves
napoleon_custom_sections = [("Lifetime", "notes_style"), ("Lock", "notes_style")]
autodoc_default_options = {"members": True, "inherited-members": "object,AssertionError,ValueError,tuple,Sequence"}
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"Operation": "Operation", "Length": "Length"}
add_module_names = False
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "mockserver"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "_static" / "search_order.js")
html_copy_source = False
html_show_sphinx = False

# The order of the site's navigation. A page that is not named here comes after those that are, by name.
GUIDES = (
    "pytest", "unittest", "agents", "pytest-settings", "other-languages", "from-typescript", "from-go",
    "from-java", "from-ruby", "from-responses", "from-respx", "from-requests-mock", "from-pytest-httpserver", "from-vcrpy", "from-wiremock", "control-plane", "time", "faults", "scenarios", "webhooks",
    "reports", "hypothesis", "planted-bugs", "explore", "explore-tests", "explore-placements", "schedules", "sweeps",
    "choices", "conduct", "coverage", "verify", "recordings",
    "openapi", "dashboard", "shared-use", "containers",
)  # fmt: skip
PROJECT = ("stability", "architecture", "adding", "document-changes", "design", "testing", "performance", "glossary")


def setup(app: Any) -> None:
    """Register the generation of tables and of the navigation."""
    app.connect("source-read", _generate)
    app.connect("autodoc-skip-member", _skip_member)
    app.connect("autodoc-process-docstring", _escape_docstring)
    app.connect("autodoc-process-signature", _shorten_signature)
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
    source[0] = sequence_diagram.replace_blocks(_inside(page, tables.fill(source[0])))
    if page == root_doc:
        source[0] += "\n" + "\n".join(_navigation())


def _navigation() -> Iterator[str]:
    """Yield hidden tables of contents of the pages that exist: the front page has its own list of links."""
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("*.md")} | {"reference/index"}
    pages -= {root_doc}
    other = sorted(pages - {*GUIDES, "reference/index", *PROJECT})
    for caption, names in (("Guides", (*GUIDES, *other)), ("Reference", ("reference/index",)), ("Project", PROJECT)):
        present = [f"/{name}" for name in names if name in pages]
        if present:
            yield from ("```{toctree}", ":hidden:", f":caption: {caption}", "", *present, "```", "")


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


_CODE = re.compile(r"(``.*?``|`[^`]*`(?!`))")


def _skip_member(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of tuples, which the signature shows."""
    return True if (getattr(value, "__doc__", None) or "").startswith("Alias for field number") else None


def _escape_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText reads as markup in a docstring's plain text, such as `name_`."""
    for number, line in enumerate(lines):
        parts = _CODE.split(line)
        lines[number] = "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


_ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")


def _shorten_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write type aliases by their names, `ActiveRule` for what an effect of a builder returns, and defaults by their values."""
    shown = signature and _ALIAS.sub(r"\1", signature).replace("= _PROXY", "= 'nginx'")
    return shown, "ActiveRule" if returned and re.search(r"\bPut$", returned) else returned and _ALIAS.sub(
        r"\1", returned
    )


def _escaped(text: str) -> str:
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)
