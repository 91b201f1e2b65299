"""Explorations of published clients find what the table says, and accuse nobody whom a reader could acquit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.clients.real.table import NPM, PAGE, ROWS, Row, page

ROOT = Path(__file__).resolve().parents[3]
MINUTES = 600


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.clients.real.table"


class Environments:
    """
    Environments of published clients: one with all of them, and those that are needed in addition.

    Lifetime: the session.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._made: dict[tuple[str, ...], Path | str] = {}

    def python_for(self, row: Row) -> Path:
        """Return the interpreter of an environment with a row's packages; skip the test if they cannot be installed."""
        own = _of_python(row)
        together = sorted({name for each in ROWS for name in _of_python(each)})
        for packages in (tuple(together), own):
            if isinstance(folder := self._made_of(packages, _install_python), Path):
                return python_of(folder)
        pytest.skip(f"{', '.join(own)} cannot be installed here: {self._made[own]}")

    def node_for(self, row: Row) -> Path:
        """Return the folder with a row's packages of Node; skip the test if they cannot be installed."""
        packages = tuple(name for name in row.packages if name.startswith(NPM))
        if not packages:
            return self._home
        if isinstance(folder := self._made_of(packages, _install_node), Path):
            return folder
        pytest.skip(f"{', '.join(packages)} cannot be installed here: {folder}")

    def _made_of(self, packages: tuple[str, ...], install: Callable[[Path, Sequence[str]], list[str]]) -> Path | str:
        """Return the folder with these packages, or why it cannot be made."""
        if packages not in self._made:
            folder = self._home / str(len(self._made))
            command = install(folder, packages)
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=MINUTES, check=False)
            why = (done.stderr.strip().splitlines() or ["no output"])[-1][:200]
            self._made[packages] = why if done.returncode else folder
        return self._made[packages]


def _of_python(row: Row) -> tuple[str, ...]:
    return tuple(name for name in row.packages if not name.startswith(NPM))


def _install_python(folder: Path, packages: Sequence[str]) -> list[str]:
    """Make an environment, and return the command that installs the packages and this project in it."""
    venv.create(folder, with_pip=True)
    pip = [str(python_of(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    return [*pip, *packages, "requests", "httpx", str(ROOT)]


def _install_node(folder: Path, packages: Sequence[str]) -> list[str]:
    """Return the command that installs the packages in the folder."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH")
    names = [name.removeprefix(NPM) for name in packages]
    return [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *names]


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("clients"))


def at_any_pace(found: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return what was found, without how often a Retry-After was ignored: on a slow machine the real time of a call can be the wait that a 429 asks for."""
    return {
        task: {cause: min(count, 1) if cause == "ignore-retry-after" else count for cause, count in causes.items()}
        for task, causes in found.items()
    }


@pytest.mark.deep
@pytest.mark.clients
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_published_client_is_found_to_do_what_its_row_says(row: Row, environments: Environments) -> None:
    node = environments.node_for(row)
    command = [str(environments.python_for(row)), "-P", "-m", "tests.clients.real.table", row.name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "CLIENTS_NODE": str(node)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=MINUTES, check=False
    )

    assert 0 == done.returncode, done.stderr[-2000:]
    assert at_any_pace(row.found) == at_any_pace(json.loads(done.stdout.splitlines()[-1]))
