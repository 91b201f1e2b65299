"""
Writes the pages of the reference, `docs/reference/*.md`, and those of `contract_pages.py`: `python -m docs.reference`.

Each page has its text in `docs/reference/pages`. A line `<!-- generated: NAME -->` there is replaced by a table of `tables.py`,
and `<!-- python: NAME -->` for a class, a function or a module with what its docstrings say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.reference import contract_pages, python, tables

SOURCES = Path(__file__).with_name("pages")
PAGES = Path(__file__).parent


def written() -> Iterator[tuple[Path, str]]:
    """Yield each page and its text."""
    for source in sorted(SOURCES.glob("*.md")):
        text = tables.fill(source.read_text(encoding="utf-8"))
        text = python.LINE.sub(lambda line: "\n".join(python.described(line[0])), text)
        yield PAGES / source.name, re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"
    for name, page in contract_pages.PAGES.items():
        yield PAGES.parent / f"{name}.md", page()


def main() -> None:
    for page, text in written():
        page.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {PAGES}")


if __name__ == "__main__":
    main()
