"""Markdown tables and the texts in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table without its empty columns, with an empty line before and after."""
    table = [tuple(head), *map(tuple, body)]
    columns = [column for column in range(len(head)) if any(cells[column] for cells in table[1:])]
    yield ""
    for number, cells in enumerate(table):
        yield f"| {' | '.join(_cell(cells[column]) for column in columns)} |"
        if number == 0:
            yield f"| {' | '.join('---' for _ in columns)} |"
    yield ""


def _cell(text: str) -> str:
    """Return a text as one cell: on one line, with its bars escaped, and `<` and `*` outside of code too."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    plain = [part if part.startswith("`") else re.sub(r"([<*])", r"\\\1", part) for part in parts]
    return "".join(plain).replace("|", r"\|")


def code(text: object) -> str:
    """Return a text as code; an empty one as it is."""
    return f"`{text}`" if str(text) else ""


def sentence(text: str) -> str:
    """Return a help text as a sentence: with a capital, unless it begins with code or a name, and a full stop."""
    text = " ".join(text.split())
    capital = text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ;:]", text) else text
    return capital if not capital or capital.endswith((".", "?", "!")) else f"{capital}."
