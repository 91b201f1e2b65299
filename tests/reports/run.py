"""Run the cases in a process of its own; return their reports without what differs from run to run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.reports import recorder

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).with_name("cases.py")
GOLDEN = Path(__file__).with_name("golden")
COMMAND = "python -m tests.reports"
_PLUGINS = ("mockserver.pytest_plugin", "_hypothesis_pytestplugin", "tests.reports.recorder")
# In their order: each pattern of what differs, and what stands for it.
_OF_A_RUN = (
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"(?<=port=)\d+"), "PORT"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"(?<=\bcases\.py:)\d+"), "LINE"),
)
_SANDBOX = re.compile(r"\bsandbox_(\d+)")  # numbered in the order of the tests; in a report from 1 on


def reports(folder: Path) -> dict[str, str]:
    """Return the report of each case by its name; the folder takes the files of the run."""
    shutil.copy(CASES, folder)
    file = folder / "reports.json"
    plugins = [part for name in _PLUGINS for part in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-p", "no:cacheprovider", "-W", "error"]
    result = subprocess.run(
        [*command, "--rootdir", ".", "-c", os.devnull, CASES.name],
        cwd=folder,
        env=_environment({recorder.FILE: str(file)}),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode != 1 or not file.exists():
        raise RuntimeError(f"the cases ended with {result.returncode}; expected 1\n{result.stdout}{result.stderr}")
    return {name: _settled(text, folder) for name, text in json.loads(file.read_text(encoding="utf-8")).items()}


def golden(name: str) -> str:
    """Return the kept report of a case; empty if there is none."""
    file = GOLDEN / f"{name}.txt"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which no proxy, plugin or setting of this machine takes part."""
    kept = {name: value for name, value in os.environ.items() if not _of_a_machine(name)}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **more}


def _of_a_machine(name: str) -> bool:
    return name.upper().endswith("_PROXY") or name.startswith(("PYTEST_", "MOCKSERVER_")) or name == "CI"


def _settled(text: str, folder: Path) -> str:
    text = text.replace(f"{folder}{os.sep}", "FOLDER/")
    for pattern, word in _OF_A_RUN:
        text = pattern.sub(word, text)
    sandboxes = sorted({int(number) for number in _SANDBOX.findall(text)})
    text = _SANDBOX.sub(lambda found: f"sandbox_{sandboxes.index(int(found[1])) + 1}", text)
    return text.rstrip() + "\n"
