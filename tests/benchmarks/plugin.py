"""
What the plugin adds to the start of a suite that does not use it: `python -m tests.benchmarks.plugin`.

Taken in pytest's own process, around the load of the entry point, with all that it imports; 5 ms are too many.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STARTS = 25
SUITE = """
import importlib.metadata as metadata
import sys
import time

import pytest

own = metadata.EntryPoint.load

def load(point):
    began = time.perf_counter()
    loaded = own(point)
    if point.value == "mockserver.pytest_plugin":
        print(f"took {(time.perf_counter() - began) * 1000}", file=sys.stderr)
    return loaded

metadata.EntryPoint.load = load
pytest.main(["-q", "-p", "mockserver.pytest_plugin", "-p", "no:cacheprovider"])
"""


def starts(folder: str) -> list[float]:
    """Milliseconds of each start, compiled as an installation has it: the first, which compiles, is left out."""
    found = []
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for _ in range(STARTS + 1):
        command = [sys.executable, "-c", SUITE]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=True)
        found += [float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("took ")]
    return found[1:]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
        found = starts(folder)
    print(f"{len(found)} starts: least {min(found):.1f} ms, median {statistics.median(found):.1f} ms")


if __name__ == "__main__":
    main()
