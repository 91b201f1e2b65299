"""
Apply each mutant to a copy of the tree and report which test kills it: `python -m tests.mutants [NAME ...]`.

All nearest tests have to pass without a mutant. Then each mutant runs through its nearest tests and, unless `--near` is given,
all others that are not deep, each up to the first failure. A run that takes too long leaves the mutant undecided.
The exit code is 1 if a mutant survives or is undecided.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", ".benchmarks", "__pycache__", "dist", "site"
)
OPTIONS = ("-x", "-q", "--tb=no", "--timeout=120", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
# They kill the most.
FIRST = ("tests/operations", "tests/scenario", "tests/conduct", "tests/probe", "tests/testing", "tests/server")
UNDECIDED = "undecided"


class Place(NamedTuple):
    """Where in a tree a mutant's text is: the file, and the line on which it begins."""

    file: Path
    line: int


class Verdict(NamedTuple):
    """The test that kills a mutant, None if none does, and the seconds it took."""

    killer: str | None
    seconds: float


def places(tree: Path, text: str) -> list[Place]:
    """Every occurrence of a text in the package of a tree."""
    return [
        Place(file, source[: match.start()].count("\n") + 1)
        for file in sorted((tree / "mockserver").rglob("*.py"))
        for source in (file.read_text(encoding="utf-8"),)
        for match in re.finditer(re.escape(text), source)
    ]


def judge(tree: Path, mutant: Mutant, place: Place, options: argparse.Namespace) -> Verdict:
    """Break the line, run the tests, and mend it again."""
    source = place.file.read_text(encoding="utf-8")
    began = time.monotonic()
    place.file.write_text(source.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        runs = _selections(tree, mutant, near_only=options.near)
        killer = next(filter(None, (_killer(tree, run, options.seconds) for run in runs)), None)
    finally:
        place.file.write_text(source, encoding="utf-8")
    return Verdict(killer, time.monotonic() - began)


def _refuse_broken(tree: Path, mutants: Sequence[Mutant], seconds: float) -> None:
    """Refuse a tree whose nearest tests fail without a mutant: they would kill whatever they are near."""
    near = sorted({each for mutant in mutants for each in mutant.near if (tree / each).exists()})
    failed = _killer(tree, near, seconds)
    if failed is not None:
        raise SystemExit(f"without a mutant: {failed}")


def _selections(tree: Path, mutant: Mutant, *, near_only: bool) -> Iterator[Sequence[str]]:
    near = [each for each in mutant.near if (tree / each).exists()]
    if near:
        yield near
    if not near_only:
        yield [*FIRST, "tests", *(f"--ignore={each}" for each in (*near, "tests/mutants", "tests/browser"))]


def _killer(tree: Path, selection: Sequence[str], seconds: float) -> str | None:
    """The first test that fails or does not end, None if all pass, UNDECIDED if they take too long together."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, *selection]
    # Without a cache of compiled modules: it distinguishes versions of a file by second and size, which mutants can share.
    uncached = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tree / ".uncached")}
    environment = {**os.environ, **uncached, "PYTHONPATH": str(tree), "CI": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, encoding="utf-8", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return UNDECIDED
    if done.returncode == 0:
        return None
    failed = FAILED.search(done.stdout)
    if failed is None:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the mutants to judge; all if none is given")
    parser.add_argument("--near", action="store_true", help="run the nearest tests only")
    parser.add_argument("--seconds", type=float, default=900, help="the longest that one run of pytest may take")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to judge, this one by default")
    options = parser.parse_args()
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(shutil.copytree(options.tree, Path(folder) / "tree", ignore=NOT_COPIED))
        chosen = [each for each in MUTANTS if each.name in options.names or not options.names]
        _refuse_broken(tree, chosen, options.seconds)
        for mutant in chosen:
            found = places(tree, mutant.before)
            if len(found) != 1:
                print(f"absent    {mutant.name}: its text occurs {len(found)} times", flush=True)
                continue
            verdict = judge(tree, mutant, found[0], options)
            at = f"{found[0].file.relative_to(tree).as_posix()}:{found[0].line}"
            word = "killed" if verdict.killer else "SURVIVED"
            print(
                f"{word:9} {mutant.name} ({at}) {verdict.seconds:.0f} s: {verdict.killer or mutant.breaks}", flush=True
            )
            if verdict.killer is None:
                survivors.append(mutant.name)
    print(f"{len(survivors)} survived{': ' if survivors else ''}{', '.join(survivors)}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
