"""Pre-commit hooks, the workflow and the scripts of `.ci` name what exists, on each system."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def document(path: str) -> Any:
    return YAML(typ="safe").load((ROOT / path).read_text(encoding="utf-8"))


def test_the_hooks_run_modules_of_the_environment_that_the_extra_dev_installs() -> None:
    (repository,) = document(".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook["entry"].split() for hook in repository["hooks"]}

    assert {"ruff-check", "ruff-format", "mypy"} == set(hooks)
    assert {("python", "-m")} == {tuple(entry[:2]) for entry in hooks.values()}
    assert [] == [entry[2] for entry in hooks.values() if importlib.util.find_spec(entry[2]) is None]
    installed = {re.split(r"[>=]", requirement)[0] for requirement in PROJECT["optional-dependencies"]["dev"]}
    assert {"mypy", "ruff"} <= installed
    assert {"local"} == {repository["repo"]}


def test_the_hooks_run_what_the_whole_check_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (repository,) = document(".pre-commit-config.yaml")["repos"]

    assert [] == [hook["name"] for hook in repository["hooks"] if re.sub(" .*", "", hook["name"]) not in script]


def test_the_workflow_runs_the_whole_check_on_each_python_and_system() -> None:
    workflow = document(".github/workflows/ci.yml")
    job = workflow["jobs"]["check"]
    oldest = PROJECT["requires-python"].removeprefix(">=")

    assert ["3.11", "3.12", "3.13", "3.14"] == job["strategy"]["matrix"]["python"]
    assert oldest == job["strategy"]["matrix"]["python"][0]
    assert ["ubuntu", "macos", "windows"] == [name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]]
    assert "bash" == job["defaults"]["run"]["shell"]
    assert ["bash .ci/run"] == [step["run"] for step in job["steps"] if "run" in step]
