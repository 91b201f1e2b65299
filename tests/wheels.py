"""The package as others get it: the wheel and the sdist of the checkout, and a copy installed from the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DATA_FOLDERS = ("schemas", "scenarios")
_DEADLINE_SECONDS = 120


class Built(NamedTuple):
    """The files of the checkout's packed folders, the wheel, and the files of each archive, below the sdist's own folder."""

    checkout: frozenset[str]
    wheel: Path
    wheel_files: frozenset[str]
    sdist_files: frozenset[str]


def attempt(*command: str, cwd: Path | str = "/", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with nothing of the checkout on its path."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    return subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=inherited | {"PIP_NO_INDEX": "1", "PYTHONIOENCODING": "utf-8"} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=_DEADLINE_SECONDS,
    )


def run(*command: str, cwd: Path | str = "/", **environment: str) -> subprocess.CompletedProcess[str]:
    """As `attempt`, of a command that must succeed."""
    done = attempt(*command, cwd=cwd, **environment)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done


def checkout_files(*folders: str) -> set[str]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def build(place: Path) -> Built:
    """The sdist of the checkout, and the wheel of that sdist."""
    checkout = frozenset(checkout_files("mockserver", "tests", *DATA_FOLDERS))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT))
    (wheel,), (sdist,) = place.glob("*.whl"), place.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        wheel_files = frozenset(archive.namelist())
    with tarfile.open(sdist) as tar:
        sdist_files = frozenset(each.name.partition("/")[2] for each in tar.getmembers() if each.isfile())
    return Built(checkout, wheel, wheel_files, sdist_files)


def install(wheel: Path, place: Path) -> None:
    """Install the wheel in a folder, without what it depends on."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, "--target", str(place), str(wheel))
