"""
A coverage as text: a table for the terminal, and every gap.

Each shows the items of some operations, by default of those that were called, with the count of everything below.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import brief, closest_match_hint, whole_number
from mockserver.judge.coverage.coverage import Count, Coverage
from mockserver.judge.coverage.dimensions import DIMENSIONS, OF_OPERATIONS, Dimension

_GAPS_CHARS: Final = 44  # so that a line has at most 80
_EVERYTHING: Final = "everything"
USED, ALL = "used", "all"  # in place of names of operations


class CoveragePart(NamedTuple):
    """The items of a dimension that are shown."""

    name: Dimension
    covered: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def share(self) -> Count:
        return Count(len(self.covered), len(self.covered) + len(self.missing))


def operations_named(text: str, coverage: Coverage) -> tuple[str, ...] | None:
    """
    Return the operations of a list such as `createCampaign,startCampaign`; None for everything.

    `used` are those that were called, or everything if none was; `all` is everything.

    Raises:
        ValueError: A name is no operation.
    """
    if text.strip() == ALL:
        return None
    if text.strip() == USED:
        return coverage.covered("operations") or None
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in OPERATIONS:
            hint = closest_match_hint(name, (USED, ALL, *OPERATIONS))
            expected = f"{USED}, {ALL}, or names of {', '.join(OPERATIONS)}"
            raise ValueError(f"got the operation {name!r}; expected {expected}{hint}")
    return names


def parts(coverage: Coverage, operations: Collection[str] | None) -> list[CoveragePart]:
    """Return the dimensions whose items belong to an operation, with the items of these; None for all seven as a whole."""
    if operations is None:
        return [CoveragePart(name, coverage.covered(name), coverage.missing(name)) for name in DIMENSIONS]

    def of_these(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(item for item in items if item.partition(" ")[0] in operations)

    return [
        CoveragePart(name, of_these(coverage.covered(name)), of_these(coverage.missing(name))) for name in OF_OPERATIONS
    ]


def total(shown: Collection[CoveragePart]) -> Count:
    """Return the count of several parts."""
    return Count(sum(part.share.covered for part in shown), sum(part.share.total for part in shown))


def table(coverage: Coverage, operations: Collection[str] | None) -> list[str]:
    """
    Return one line per dimension with its first gaps, below a heading, and one for all.

    Args:
        coverage: What is shown.
        operations: Show their items alone; None for everything.
    """
    shown = parts(coverage, operations)
    lines = [f"{'':<10}  covered  total  share  first gaps"]
    lines += [f"{_row(part.name, part.share)}  {_first(part.missing)}".rstrip() for part in shown]
    lines += [] if operations is None else [_row("total", total(shown))]
    return [*lines, _row(_EVERYTHING, coverage.count())]


def _row(name: str, count: Count) -> str:
    return f"{name:<10}  {count.covered:>7}  {count.total:>5}  {count.text:>5}"


def _first(gaps: tuple[str, ...]) -> str:
    """Return the first gaps, as many as fit into a line."""
    for count in range(len(gaps), 0, -1):
        text = ", ".join(gaps[:count]) + (", ..." if count < len(gaps) else "")
        if len(text) <= _GAPS_CHARS:
            return text
    return brief(gaps[0], _GAPS_CHARS) if gaps else ""


def gaps(coverage: Coverage, operations: Collection[str] | None) -> Iterator[str]:
    """Yield each dimension that has gaps, and each of its gaps; see `table`."""
    for part in parts(coverage, operations):
        if part.missing:
            yield f"{part.name}: {len(part.missing)} not covered"
        yield from (f"  {item}" for item in part.missing)


def thresholds(text: str) -> dict[Dimension | None, float]:
    """
    Return the least percentages of `80`, `operations=100,answers=80` or both, by dimension, None for everything.

    Raises:
        ValueError: A number or a dimension is unknown.
    """
    least: dict[Dimension | None, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().rpartition("=")
        dimension = next((known for known in DIMENSIONS if known == name), None)
        if name and dimension is None:
            hint = closest_match_hint(name, DIMENSIONS)
            raise ValueError(f"got the dimension {name!r}; expected {', '.join(DIMENSIONS)}{hint}")
        percent = whole_number(number.strip())
        if percent is None or percent > 100:
            raise ValueError(f"got {part.strip()!r}; expected a percentage from 0 to 100, or DIMENSION=PERCENTAGE")
        least[dimension] = percent
    return least


def shortfalls(coverage: Coverage, least: dict[Dimension | None, float]) -> list[str]:
    """Return a line for each percentage that is not reached; those of a dimension are of all its items."""
    lines = []
    for dimension, percent in least.items():
        count = coverage.count(dimension)
        if count.percent < percent:
            got = f"got {count.text} ({count.covered} of {count.total})"
            lines.append(f"coverage of {dimension or _EVERYTHING}: {got}; expected at least {percent:g} %")
    return lines
