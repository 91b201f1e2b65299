"""Explorations of published clients find what the table says, and accuse nobody whom a reader could acquit."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.clients.real.table import PAGE, ROWS, Row, page

ROOT = Path(__file__).resolve().parents[3]
MINUTES = 600


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.clients.real.table"


def test_no_finding_can_be_refuted() -> None:
    assert [] == [row.name for row in ROWS if row.refuted]


@pytest.fixture(scope="session")
def interpreters(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Path]:
    """The interpreters of the environments so far, by their packages."""
    return {(): tmp_path_factory.mktemp("clients")}


def interpreter_with(packages: tuple[str, ...], interpreters: dict[tuple[str, ...], Path]) -> Path:
    """Return an interpreter with these packages and this project; skip the test if one cannot be installed."""
    if packages not in interpreters:
        folder = interpreters[()] / str(len(interpreters))
        venv.create(folder, with_pip=True)
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *packages,
            "requests",
            "httpx",
            str(ROOT),
        ]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=MINUTES, check=False)
        if done.returncode:
            pytest.skip(f"{', '.join(packages)} cannot be installed here: {done.stderr.strip().splitlines()[-1][:200]}")
        interpreters[packages] = python
    return interpreters[packages]


@pytest.mark.deep
@pytest.mark.clients
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_published_client_is_found_to_do_what_its_row_says(
    row: Row, interpreters: dict[tuple[str, ...], Path]
) -> None:
    python = interpreter_with(row.packages, interpreters)
    command = [str(python), "-P", "-m", "tests.clients.real.table", row.name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=MINUTES, check=False
    )

    assert 0 == done.returncode, done.stderr[-2000:]
    assert {task: dict(found) for task, found in row.found.items()} == json.loads(done.stdout.splitlines()[-1])
