"""
The items that a suite has covered, and their JSON document, which other runs are merged into.

1. To merge is to unite: the order of files, and how often one is merged, change nothing.
2. A document has every item of this version, covered or missing. One of another version is refused: its items may mean
   something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from mockserver._files import write_whole
from mockserver._json import JSON
from mockserver.judge.coverage.dimensions import DIMENSIONS, Dimension, universe
from mockserver.version import VERSION

FILE: Final = ".mockserver/coverage.json"


class CoverageError(ValueError):
    """A file that is no coverage of this version."""


class Count(NamedTuple):
    """How many items of a dimension, or of all, are covered."""

    covered: int
    total: int

    @property
    def percent(self) -> float:
        """The share in percent; 100 of nothing."""
        return 100 * self.covered / self.total if self.total else 100.0

    @property
    def text(self) -> str:
        """The share as a whole number, rounded down: 100 % is everything."""
        return f"{self.percent // 1:.0f} %"


class Coverage:
    """
    The items of the contract that the calls of a client have covered.

    Gathers from the sandboxes of each `MockServer(coverage=...)` it is given to, or from files.

    Example:
        >>> coverage = Coverage()
        >>> with MockServer(coverage=coverage) as server, server.sandbox("demo") as sandbox:
        ...     response = sandbox.call("GET", "/v1/campaigns")
        >>> sorted(coverage.covered("operations"))
        ['listCampaigns']
    """

    def __init__(self) -> None:
        self._covered: dict[Dimension, set[str]] = {name: set() for name in DIMENSIONS if name != "clauses"}

    def add(self, dimension: Dimension, *items: str) -> None:
        """
        Add items to a dimension; texts that are no items of it are ignored, such as an injected code of another operation.

        Args:
            dimension: Any but the clauses, which follow from the others.
            items: Items as in `mockserver coverage report`.
        """
        self._covered[dimension].update(items)

    def update(self, other: Coverage) -> None:
        """
        Add everything that another coverage has.

        Args:
            other: Stays as it is.
        """
        for dimension in self._covered:
            self.add(dimension, *other.covered(dimension))

    def covered(self, dimension: Dimension) -> tuple[str, ...]:
        """
        Return the covered items of a dimension, in the order of the tables.

        Args:
            dimension: One of the seven.
        """
        covered = self._all_covered(dimension)
        return tuple(item for item in universe()[dimension] if item in covered)

    def missing(self, dimension: Dimension) -> tuple[str, ...]:
        """
        Return the items of a dimension that are not covered, in the order of the tables.

        Args:
            dimension: One of the seven.
        """
        covered = self._all_covered(dimension)
        return tuple(item for item in universe()[dimension] if item not in covered)

    def _all_covered(self, dimension: Dimension) -> AbstractSet[str]:
        """Return what is covered, in no order, and maybe texts that are no items; of the clauses those that covered items name."""
        if dimension != "clauses":
            return self._covered[dimension]
        clauses: set[str] = set()
        for name, covered in self._covered.items():
            for item in covered:
                clauses.update(universe()[name].get(item, ()))
        return clauses

    def count(self, dimension: Dimension | None = None) -> Count:
        """
        Return how much of a dimension is covered.

        Args:
            dimension: One of the seven; by default all of them together.
        """
        names = DIMENSIONS if dimension is None else (dimension,)
        covered = sum(len(self.covered(name)) for name in names)
        return Count(covered, sum(len(universe()[name]) for name in names))

    def as_json(self) -> JSON:
        """Return the document: `version`, and `dimensions` with the lists `covered` and `missing` of each."""
        rows = {name: {"covered": [*self.covered(name)], "missing": [*self.missing(name)]} for name in DIMENSIONS}
        return {"version": VERSION, "dimensions": rows}

    @classmethod
    def from_json(cls, document: Any, source: str = "coverage") -> Self:
        """
        Return the coverage of a document.

        Args:
            document: As `as_json` returns it.
            source: The name of the document in errors.

        Raises:
            CoverageError: It is another document, or one of another version.
        """
        dimensions = _dimensions(document, source)
        coverage = cls()
        for name in coverage._covered:
            coverage.add(name, *_covered_texts(dimensions.get(name)))
        # Everything in a document follows from the covered items, so that one as it was written is written again.
        written = coverage.as_json()["dimensions"]
        for part in (*DIMENSIONS, *dimensions):
            if dimensions.get(part) != written.get(part):
                expected = "a file as --mockserver-cov wrote it, with each item once"
                raise CoverageError(f"{source}: {part}: got {dimensions.get(part)!r:.80}; expected {expected}")
        return coverage

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """
        Return the coverage of a file.

        Args:
            path: A file that `save`, the pytest plugin or `mockserver coverage combine` has written.

        Raises:
            CoverageError: It is another file, or one of another version.
            OSError: It cannot be read.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as failure:
            raise CoverageError(
                f"{path}: got a file that is not JSON ({failure}); expected one that --mockserver-cov wrote"
            ) from None
        return cls.from_json(document, str(path))

    def save(self, path: str | Path = FILE) -> None:
        """
        Write the document to a file; its folder is created.

        Args:
            path: The file, which is replaced as a whole.
        """
        write_whole(Path(path), self.as_text())

    def as_text(self) -> str:
        """Return the document as the text of a file."""
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coverage):
            return NotImplemented
        return all(self.covered(name) == other.covered(name) for name in DIMENSIONS)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        count = self.count()
        return f"<Coverage {count.covered} of {count.total} items>"


def combine(parts: Iterable[Coverage]) -> Coverage:
    """Return a coverage that has everything that one of the parts has."""
    whole = Coverage()
    for part in parts:
        whole.update(part)
    return whole


def _dimensions(document: Any, source: str) -> Mapping[str, Any]:
    dimensions = document.get("dimensions") if isinstance(document, Mapping) else None
    if not isinstance(dimensions, Mapping):
        kind = "an object" if isinstance(document, Mapping) else f"a {type(document).__name__}"
        raise CoverageError(f"{source}: got {kind} without dimensions; expected a file that --mockserver-cov wrote")
    if document.get("version") != VERSION:
        got = f"version {document.get('version')!r} of mockserver"
        raise CoverageError(
            f"{source}: got {got}; expected {VERSION!r}, since the items of another version may differ: run the suite again"
        )
    return dimensions


def _covered_texts(row: Any) -> list[str]:
    covered = row.get("covered") if isinstance(row, Mapping) else None
    return [item for item in covered if isinstance(item, str)] if isinstance(covered, list) else []
