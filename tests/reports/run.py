"""Run the cases in a process of its own; return their reports without what differs from run to run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.reports import recorder

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).with_name("cases.py")
GOLDEN = Path(__file__).with_name("golden")
COMMAND = "python -m tests.reports"
_PLUGINS = ("mockserver.pytest_plugin", "_hypothesis_pytestplugin", "tests.reports.recorder")
# What differs from run to run, and what stands for it.
_OF_A_RUN = (
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"(?<=\bcases\.py:)\d+"), "LINE"),  # another case above it moves it
)
_SANDBOX = re.compile(r"\bsandbox_(\d+)")  # numbered in the order of the tests; in a report from 1 on


def run_cases(folder: Path, *arguments: str) -> None:
    """Run the cases in a folder, which takes the files of the run, with more arguments for pytest."""
    shutil.copy(CASES, folder)
    plugins = [part for name in _PLUGINS for part in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-p", "no:cacheprovider", "-W", "error"]
    result = subprocess.run(
        [*command, "--rootdir", ".", "-c", os.devnull, *arguments, CASES.name],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode != 1:
        raise RuntimeError(f"the cases ended with {result.returncode}; expected 1\n{result.stdout}{result.stderr}")


def reports(folder: Path, *arguments: str) -> dict[str, str]:
    """Return the report of each case by its name, of a run with more arguments for pytest."""
    run_cases(folder, *arguments)
    ending = recorder.REPORT.format("")
    return {
        file.name.removesuffix(ending): _settled(file.read_text(encoding="utf-8")) for file in folder.glob(f"*{ending}")
    }


def golden(name: str) -> str:
    """Return the kept report of a case; empty if there is none."""
    file = GOLDEN / f"{name}.txt"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _environment() -> dict[str, str]:
    """Return an environment in which no proxy, plugin or setting of this machine takes part."""
    kept = {name: value for name, value in os.environ.items() if not _is_of_a_machine(name)}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}


def _is_of_a_machine(name: str) -> bool:
    return name.upper().endswith("_PROXY") or name.startswith(("PYTEST_", "MOCKSERVER_")) or name == "CI"


def _settled(text: str) -> str:
    for pattern, word in _OF_A_RUN:
        text = pattern.sub(word, text)
    sandboxes = sorted({int(number) for number in _SANDBOX.findall(text)})
    text = _SANDBOX.sub(lambda found: f"sandbox_{sandboxes.index(int(found[1])) + 1}", text)
    return text.rstrip() + "\n"
