"""Files of `mockserver-client`, which installs a package of the same name, are named with the cure in one line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheels import ROOT, attempt

CURE = "run `pip uninstall mockserver-client crm-gateway-mockserver`, then install each in an environment of its own"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a module of the other distribution is among those of this one."""
    place = tmp_path_factory.mktemp("mixed")
    shutil.copytree(ROOT / "mockserver", place / "mockserver", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "mockserver" / "pytest_plugin.py").write_text("", encoding="utf-8")
    return place


def line_of(mixed: Path) -> str:
    package = (mixed / "mockserver").resolve()
    return f"got files of mockserver-client in {package}; expected those of crm-gateway-mockserver alone: {CURE}"


def test_the_command_prints_the_cure_in_one_line(mixed: Path) -> None:
    done = attempt(sys.executable, "-m", "mockserver", "choices", PYTHONPATH=str(mixed))

    assert (2, "", f"mockserver: {line_of(mixed)}\n") == (done.returncode, done.stdout, done.stderr)


def test_pytest_ends_with_one_line_before_any_traceback(mixed: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pytest", "-p", "mockserver.pytest_plugin", "-p", "no:cacheprovider")

    done: subprocess.CompletedProcess[str] = attempt(
        *command, cwd=tmp_path, PYTHONPATH=str(mixed), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )

    assert (4, "", f"ERROR: {line_of(mixed)}\n") == (done.returncode, done.stdout, done.stderr)
