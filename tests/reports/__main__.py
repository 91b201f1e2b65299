"""Write the golden files again: `python -m tests.reports`; the difference is for a reviewer to read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests import test_wrong_command_lines as wrong
from tests.harness import transcripts
from tests.reports.run import GOLDEN, golden, reports


def write_reports(folder: Path) -> list[str]:
    """Write the reports of the cases, and return the names of those that have changed."""
    found = reports(folder)
    GOLDEN.mkdir(exist_ok=True)
    for file in GOLDEN.glob("*.txt"):
        if file.stem not in found:
            file.unlink()
    changed = sorted(name for name, text in found.items() if text != golden(name))
    for name in changed:
        (GOLDEN / f"{name}.txt").write_text(found[name], encoding="utf-8", newline="\n")
    return changed


def write_refusals(folder: Path) -> list[str]:
    """Write the refusals of wrong command lines, and return the lines whose refusal has changed."""
    wrong.write_files(folder)
    return transcripts.write(wrong.REFUSALS, folder)


def main() -> None:
    for write in (write_reports, write_refusals):
        with tempfile.TemporaryDirectory() as folder:
            changed = write(Path(folder))
        print(f"{write.__name__}: {', '.join(changed) or 'none has changed'}")


if __name__ == "__main__":
    main()
