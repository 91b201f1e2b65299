"""
The clauses of the contract: every sentence of the API document that a test can check.

The sentences are data, in `clauses.yaml` next to this module.
A test names its clause with `@pytest.mark.clause("campaigns.name")`; a clause that no test names is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class Clause(NamedTuple):
    """One sentence of the contract; `where` names its lines, and `choices` the questions that it leaves open."""

    id: str
    part: str
    text: str
    where: str
    choices: tuple[str, ...]


@cache
def read() -> tuple[Clause, ...]:
    """Return every clause, in the document's order."""
    # Imported here: a server reads no clauses, and the YAML parser takes long to import.
    from ruamel.yaml import YAML

    rows = YAML(typ="safe", pure=True).load(Path(__file__).with_name("clauses.yaml").read_text(encoding="utf-8"))
    return tuple(
        Clause(id=row["id"], part=row["part"], text=row["text"], where=row["where"], choices=tuple(row["choices"]))
        for row in rows
    )


class Sentence(NamedTuple):
    """A sentence of the API document with its lines, word for word if `is_quoted`, else in our words."""

    text: str
    where: str
    is_quoted: bool

    def __str__(self) -> str:
        if self.is_quoted:
            return f'"{self.text}" ({self.where} of the API document)'
        return f"in our words: {self.text} ({self.where} of the API document)"


def sentence_of(clause: str) -> Sentence | None:
    """Return the sentence of a clause; None for one that the document does not have."""
    return _sentences().get(clause)


@cache
def _sentences() -> Mapping[str, Sentence]:
    rows = {row.id: Sentence(text=row.text, where=row.where, is_quoted=False) for row in read()}
    return MappingProxyType(rows)


@cache
def sentences() -> Mapping[str, str]:
    """Return the text of each clause by its id."""
    return MappingProxyType({clause.id: clause.text for clause in read()})
