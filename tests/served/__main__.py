"""
Everything that a tree serves and finds, as files: two trees that behave alike give folders without a difference.

    python -m tests.served FOLDER                 # of this tree
    python -m tests.served FOLDER --tree CHECKOUT # of another checkout, with this environment's packages
    diff -r BEFORE AFTER

`scenarios` writes answers, pages and documents; `findings` what is found of clients, recordings, explorations, interleavings
and failing tests. The clients are those of the tree. `--part` writes one of the two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.served import scenarios

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = Path(__file__).with_name("findings.py")
PARTS = ("scenarios", "findings")


def write_findings(tree: Path, folder: Path) -> None:
    """Run `findings` in the tree, whose package and clients it then imports."""
    command = [sys.executable, "-P", str(FINDINGS), str(folder.resolve())]
    subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.served", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--part", choices=PARTS)
    options = parser.parse_args()
    parts = [options.part] if options.part else PARTS
    tree = options.tree.resolve()
    if "scenarios" in parts:
        scenarios.write(tree, options.folder)
    if "findings" in parts:
        write_findings(tree, options.folder)
    print(sum(1 for _ in options.folder.rglob("*") if _.is_file()), "files")


if __name__ == "__main__":
    main()
