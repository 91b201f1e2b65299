"""Every relative link of the pages leads to a file of the checkout, and its anchor to a heading of that file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md")),
    *(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "pages", "introductions"} & set(path.parts)),
)
_BLOCK = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)[^`].*?\1")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+(?:\([^()\s]*\))?)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*#*$", re.MULTILINE)
_NAMED = re.compile(r"""<a (?:id|name)=["']([\w.-]+)["']|^\(([\w.-]+)\)=$""", re.MULTILINE)


def links(text: str) -> Iterator[str]:
    """The targets of the links to this checkout, outside of code."""
    for target in _LINK.findall(_CODE.sub("", _BLOCK.sub("", text))):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """The anchors of a page: of its headings, as GitHub and the site form them, and those that it names."""
    text = _BLOCK.sub("", text)
    found = {name for names in _NAMED.findall(text) for name in names if name}
    counted: Counter[str] = Counter()
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{counted[slug]}" if counted[slug] else slug)
        counted[slug] += 1
    return found


def broken(page: Path, text: str) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for target in links(text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.is_relative_to(ROOT) or (file != page and not file.exists()):
            yield f"{page.relative_to(ROOT)}: no file {target}"
        elif anchor and anchor not in (anchors(text) if file == page else anchors(file.read_text(encoding="utf-8"))):
            yield f"{page.relative_to(ROOT)}: no heading {target}"


def test_every_relative_link_and_anchor_leads_somewhere() -> None:
    assert [] == [line for page in PAGES if page.is_file() for line in broken(page, page.read_text(encoding="utf-8"))]
