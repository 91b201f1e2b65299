"""
What a test has under each runner of another language, one row each: the tests of this folder show each cell.

    python -m tests.clients.suites.table      prints the table of docs/other-languages.md
"""

from __future__ import annotations

from typing import Final

_COLUMNS: Final = (
    "isolation, clock, faults",
    "receiver",
    "report on failure",
    "on timeout",
    "on crash",
    "files",
    "parallel",
    "container",
)
# fmt: off
ROWS: Final[tuple[tuple[str, ...], ...]] = (
    ("node:test", "yes", "yes", "yes", "printed",                    "files",           "by file",    "yes", "yes"),
    ("Vitest",    "yes", "yes", "yes", "printed",                    "files",           "by file",    "yes", "yes"),
    ("Jest, Mocha", "yes", "yes", "yes", "printed",                  "printed, files",  "by file",    "yes", "yes"),
    ("PHPUnit",   "yes", "a process", "yes", "`--enforce-time-limit`", "printed, files", "by class",  "yes", "yes"),
    ("`go test`", "yes", "yes", "yes", "`-timeout`",                 "printed, files",  "by package", "yes", "yes"),
    ("Java",      "yes", "yes", "yes", "JUnit's `@Timeout`",         "printed, files",  "by class",   "yes", "yes"),
    ("Minitest",  "yes", "yes", "yes", "`Timeout.timeout`",          "printed, files",  "by file",    "yes", "yes"),
)
# fmt: on


def lines() -> list[str]:
    """Return the lines of the table on the page."""
    return [
        f"| | {' | '.join(_COLUMNS)} |",
        f"| --- |{' --- |' * len(_COLUMNS)}",
        *(f"| {' | '.join(row)} |" for row in ROWS),
    ]


if __name__ == "__main__":
    print("\n".join(lines()))
