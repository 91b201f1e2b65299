"""What of the contract refers to a line of the API document: by `L39` or `L39-L41`, in tables and in comments of tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.judge.client.rules import RULES

ROOT: Final = Path(__file__).resolve().parents[2]
_FIELDS: Final = ROOT / "tests" / "contract" / "documented_fields.py"
# The files that refer to lines; `docs/contributing.md` names the commands that write the pages with them again.
FILES: Final = (
    ROOT / "mockserver" / "contract" / "clauses.yaml",
    *sorted((ROOT / "mockserver" / "contract" / "choices").glob("*.py")),
    *sorted((ROOT / "mockserver" / "judge" / "client").glob("*.py")),
    _FIELDS,
)
_LINES: Final = re.compile(r"\bL(\d+)(?:-L?(\d+))?")
_TABLE: Final = re.compile(r'^(?:([A-Z_]+): Section =|    "([\w.]+)":)')

References = Mapping[int, Mapping[str, tuple[str, ...]]]


def lines_of(text: str) -> Iterator[int]:
    """Yield the lines of the document that a text refers to."""
    for first, last in _LINES.findall(text):
        yield from range(int(first), int(last or first) + 1)


def references() -> References:
    """Return by line, then by kind, the ids of the rows that refer to it."""
    found: dict[int, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    rows = [("clauses", row.id, row.where) for row in clauses.read()]
    rows += [("choices", row.id, row.where) for row in CHOICES.values()]
    rows += [("rules of conduct", row.id, row.line) for row in RULES.values()]
    for kind, id, where in (*rows, *_schemas()):
        for line in lines_of(where):
            found[line][kind][id] = None
    return {line: {kind: tuple(ids) for kind, ids in kinds.items()} for line, kinds in found.items()}


def _schemas() -> Iterator[tuple[str, str, str]]:
    """Yield each comment of the table of documented fields, with its schema."""
    name = ""
    for row in _FIELDS.read_text(encoding="utf-8").splitlines():
        begun = _TABLE.match(row)
        if begun:
            name = begun[1].lower() if begun[1] else begun[2]
        yield "schemas", name, row.partition("  # ")[2]


def renumbered(text: str, lines: Mapping[int, int]) -> str:
    """Return a text with the numbers of the lines of another version of the document; a line that is gone stays."""

    def moved(found: re.Match[str]) -> str:
        first = f"L{lines.get(int(found[1]), int(found[1]))}"
        dash = found[0].partition("-")[1] + ("L" if "-L" in found[0] else "") if found[2] else ""
        return f"{first}{dash}{lines.get(int(found[2]), int(found[2]))}" if found[2] else first

    return _LINES.sub(moved, text)
