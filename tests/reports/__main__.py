"""Write the reports of the cases again: `python -m tests.reports`; the difference is for a reviewer to read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.reports.run import GOLDEN, golden, reports


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = reports(Path(folder))
    GOLDEN.mkdir(exist_ok=True)
    for file in GOLDEN.glob("*.txt"):
        if file.stem not in found:
            file.unlink()
    changed = sorted(name for name, text in found.items() if text != golden(name))
    for name in changed:
        (GOLDEN / f"{name}.txt").write_text(found[name], encoding="utf-8", newline="\n")
    print(f"{len(found)} reports, {len(changed)} of them written: {', '.join(changed) or 'none has changed'}")


if __name__ == "__main__":
    main()
