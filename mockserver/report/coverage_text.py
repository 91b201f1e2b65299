"""A coverage as text: a table for the terminal, every gap with its remedy, and Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import closest_match_hint, whole_number
from mockserver.judge.coverage.coverage import Count, Coverage
from mockserver.judge.coverage.dimensions import DIMENSIONS, OF_OPERATIONS, Dimension
from mockserver.report.coverage_remedies import remedy

_GAPS_CHARS: Final = 66
_MARKDOWN_GAPS: Final = 10  # of a dimension, so that nine of them fit into the summary of a job
_TOTAL: Final = "total"
USED: Final = "used"  # in place of names of operations


def operations_named(text: str, coverage: Coverage) -> tuple[str, ...]:
    """
    Return the operations of a list such as `createCampaign,startCampaign`; of `used` those that the calls have met.

    Raises:
        ValueError: A name is no operation.
    """
    if text.strip() == USED:
        return coverage.covered("operations")
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in OPERATIONS:
            hint = closest_match_hint(name, (USED, *OPERATIONS))
            raise ValueError(f"got the operation {name!r}; expected {USED}, or names of {', '.join(OPERATIONS)}{hint}")
    return names


def table(coverage: Coverage, operations: Collection[str] | None = None) -> list[str]:
    """
    Return one line per dimension with its first gaps, below a heading, and one for all.

    Args:
        coverage: What is shown.
        operations: Show their items alone, and the dimensions that have some; None for everything.
    """
    lines, all_covered, all_total = [f"{'':<10}  covered  total  share  first gaps"], 0, 0
    for name, covered, missing in _parts(coverage, operations):
        count = Count(len(covered), len(covered) + len(missing))
        lines.append(f"{_row(name, count)}  {_first(missing)}".rstrip())
        all_covered, all_total = all_covered + count.covered, all_total + count.total
    return [*lines, _row(_TOTAL, Count(all_covered, all_total))]


def _parts(
    coverage: Coverage, operations: Collection[str] | None
) -> Iterator[tuple[Dimension, tuple[str, ...], tuple[str, ...]]]:
    """Yield each dimension with its items that are covered, and with the others."""
    for name in DIMENSIONS if operations is None else OF_OPERATIONS:
        covered, missing = coverage.covered(name), coverage.missing(name)
        if operations is not None:
            covered = tuple(item for item in covered if item.partition(" ")[0] in operations)
            missing = tuple(item for item in missing if item.partition(" ")[0] in operations)
        yield name, covered, missing


def _row(name: str, count: Count) -> str:
    return f"{name:<10}  {count.covered:>7}  {count.total:>5}  {count.text:>5}"


def _first(gaps: tuple[str, ...]) -> str:
    """Return the first gaps, as many as fit into a line."""
    shown: list[str] = []
    for gap in gaps:
        if shown and len(", ".join([*shown, gap])) > _GAPS_CHARS:
            return ", ".join([*shown, "..."])
        shown.append(gap)
    return ", ".join(shown)


def gaps(coverage: Coverage, operations: Collection[str] | None = None, *, as_requests: bool = False) -> Iterator[str]:
    """Yield each dimension that has gaps, and each of its gaps with what closes it, in Python or as a request; see `table`."""
    for name, _, missing in _parts(coverage, operations):
        if missing:
            yield f"{name}: {len(missing)} not covered"
        for item in missing:
            yield f"  {item}\n      {remedy(name, item).text(as_request=as_requests)}"


def markdown(coverage: Coverage) -> str:
    """Return a table with the first gaps of each dimension, short enough for the summary of a job."""
    lines = [
        "### Coverage of the contract",
        "",
        "| dimension | covered | total | share |",
        "| --- | ---: | ---: | ---: |",
    ]
    rows = [(str(name), coverage.count(name)) for name in DIMENSIONS]
    for name, count in (*rows, (f"**{_TOTAL}**", coverage.count())):
        lines.append(f"| {name} | {count.covered} | {count.total} | {count.text} |")
    for name in DIMENSIONS:
        missing = coverage.missing(name)
        if not missing:
            continue
        lines += ["", f"<details><summary>{name}: {len(missing)} not covered</summary>", ""]
        for item in missing[:_MARKDOWN_GAPS]:
            found = remedy(name, item)
            lines.append(f"- `{item}`: {f'`{found.line}`' if found.line else found.text()}")
        if len(missing) > _MARKDOWN_GAPS:
            lines.append(f"- {len(missing) - _MARKDOWN_GAPS} more")
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def thresholds(text: str) -> dict[Dimension | None, float]:
    """
    Return the least percentages of `80`, `operations=100,answers=80` or both, by dimension, None for all together.

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
    """Return a line for each percentage that is not reached."""
    counts = ((dimension or _TOTAL, coverage.count(dimension), percent) for dimension, percent in least.items())
    return [
        f"coverage of the contract, {name}: got {count.text} ({count.covered} of {count.total}); expected at least {percent:g} %"
        for name, count, percent in counts
        if count.percent < percent
    ]
