"""
The clauses of the contract: everything of the API document that a test can check.

They are data, in `clauses.yaml` next to this module.
A test names its clause with `@pytest.mark.clause("campaigns.name")`; a clause that no test names is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class Clause(NamedTuple):
    """
    One statement of the contract.

    Attributes:
        id: Its name, after the part of the contract.
        part: The part of the contract.
        text: A sentence of the API document word for word, or what the document says in our words.
        is_quoted: True for a sentence of the document.
        where: The lines of the document, that of the quoted sentence first.
        choices: The questions that it leaves open.
    """

    id: str
    part: str
    text: str
    is_quoted: bool
    where: str
    choices: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line of the quoted sentence, or all lines of our words."""
        return self.where.partition(",")[0] if self.is_quoted else self.where

    def __str__(self) -> str:
        if self.is_quoted:
            return f'"{self.text}" ({self.line} of the API document)'
        return f"in our words: {self.text} ({self.line} of the API document)"


@cache
def read() -> tuple[Clause, ...]:
    """Return every clause, in the document's order."""
    # Imported here: a server reads no clauses, and the YAML parser takes long to import.
    from ruamel.yaml import YAML

    rows = YAML(typ="safe", pure=True).load(Path(__file__).with_name("clauses.yaml").read_text(encoding="utf-8"))
    return tuple(
        Clause(
            id=row["id"],
            part=row["part"],
            text=row["quote"] if "quote" in row else row["text"],
            is_quoted="quote" in row,
            where=row["where"],
            choices=tuple(row["choices"]),
        )
        for row in rows
    )


@cache
def _by_id() -> Mapping[str, Clause]:
    return MappingProxyType({row.id: row for row in read()})


def sentence_of(clause: str) -> Clause | None:
    """Return the clause of an id, whose text is its sentence; None for a clause that does not exist."""
    return _by_id().get(clause)
