"""
The API document as sentences, and the index that the repository has of it: a line, a digest and the names of each.

The document itself is not part of this repository. `sentences.txt` has one row per sentence, `LINE DIGEST NAME ...`: the
names are the error codes and the operations that the sentence mentions. `python -m tests.contract.sentences DOCUMENT` writes it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.errors import ERRORS

INDEX: Final = Path(__file__).with_name("sentences.txt")
CODE: Final = re.compile(r"\b[A-Z]{2,}(?:_[A-Z]{2,})+\b")
_PATH: Final = re.compile(r"(?:\b(GET|POST|PUT|PATCH|DELETE)\W+)?(/v1/[\w/{}.-]+)")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])")
_MARK: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")  # of an entry of a list
_EMPTY: Final = re.compile(r"[\s|:\-]*")  # a blank line, and the rule of a table


class Sentence(NamedTuple):
    """A sentence, or a row of a table; `text` is empty if only its digest is known."""

    line: int
    digest: str
    names: tuple[str, ...]
    text: str = ""


def sentences(document: str) -> list[Sentence]:
    """Return the sentences of a document; white space and the marks of lists and tables are no difference."""
    return [
        Sentence(number, _digest(part), tuple(names(part)), part.strip())
        for number, line in enumerate(document.splitlines(), 1)
        for part in _END.split(_MARK.sub("", line))
        if not _EMPTY.fullmatch(part)
    ]


def _digest(text: str) -> str:
    words = " ".join(text.strip(" \t|-").split())
    return hashlib.sha256(words.encode()).hexdigest()[:8]


def names(text: str) -> Iterator[str]:
    """Yield the error codes and the operations of the contract that a text mentions."""
    yield from (code for code in dict.fromkeys(CODE.findall(text)) if code in ERRORS)
    for method, path in _PATH.findall(text):
        yield from (row.id for row in ENDPOINTS.values() if path.rstrip(".") == row.path and method in ("", row.method))


def read_index() -> list[Sentence]:
    """Return the sentences of the document that this version implements, without their texts."""
    rows = (row.split() for row in INDEX.read_text(encoding="utf-8").splitlines())
    return [Sentence(int(line), digest, tuple(named)) for line, digest, *named in rows]


def index_text(rows: list[Sentence]) -> str:
    """Return the text of the index for these sentences."""
    return "".join(f"{' '.join((str(row.line), row.digest, *row.names))}\n" for row in rows)


if __name__ == "__main__":
    INDEX.write_text(index_text(sentences(Path(sys.argv[1]).read_text(encoding="utf-8"))), encoding="utf-8")
