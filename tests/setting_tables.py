"""The tables of settings on the pages, made from `mockserver/_settings.py`: `python -m tests.setting_tables` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from mockserver._settings import EXPLORE_IN_PYTHON, INTERLEAVE, PROBE, SERVER, SUITE, Setting

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
MARKER: Final = (
    "<!-- settings: written by python -m tests.setting_tables -->\n"  # the table follows, up to an empty line
)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n" for cells in lines)


def _default(setting: Setting) -> str:
    return setting.otherwise if setting.default is None else f"`{setting.default}`"


def suite_table() -> str:
    """The settings of a suite: names, values, meanings, defaults, and the places of each."""
    return _suite_table(SUITE)


def coverage_table() -> str:
    """Those of them that are about coverage."""
    return _suite_table(row for row in SUITE if row.name.startswith("cov"))


def _suite_table(settings: Iterable[Setting]) -> str:
    rows = (
        (f"`{row.attribute}`", f"`{row.metavar or 'flag'}`", row.words, _default(row), ", ".join(row.places))
        for row in settings
    )
    return _table(("setting", "value", "meaning", "default", "where"), rows)


def server_table() -> str:
    """The options of `mockserver serve`, in the groups of its help."""
    rows = []
    for group in dict.fromkeys(row.group for row in SERVER):
        options = (f"`--{row.name} {row.metavar}`".replace(" `", "`") for row in SERVER if row.group == group)
        rows.append((group, ", ".join(options)))
    return _table(("about", "options"), rows)


def probe_table() -> str:
    """The options of `mockserver probe`."""
    return _table(
        ("option", "effect"), ((f"`--{row.name} {row.metavar}`".replace(" `", "`"), row.help) for row in PROBE)
    )


def explore_table() -> str:
    """The options of an exploration in Python."""
    return _options_table(EXPLORE_IN_PYTHON)


def interleave_table() -> str:
    """The options of an interleaving."""
    return _options_table(INTERLEAVE)


def _options_table(settings: Iterable[Setting]) -> str:
    return _table(
        ("option", "default", "meaning"), ((f"`{row.attribute}`", _default(row), row.words) for row in settings)
    )


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "pytest-settings.md": suite_table,
    "coverage.md": coverage_table,
    "other-languages.md": server_table,
    "probe.md": probe_table,
    "explore.md": explore_table,
    "schedules.md": interleave_table,
}


def written(page: str) -> str:
    """The text of a page with its table as the rows have it."""
    before, marker, after = (DOCS / page).read_text(encoding="utf-8").partition(MARKER)
    assert marker, f"{page} has no table of settings"
    _, _, rest = after.partition("\n\n")
    return f"{before}{marker}{TABLES[page]()}\n{rest}"


if __name__ == "__main__":
    for name in TABLES:
        (DOCS / name).write_text(written(name), encoding="utf-8")
