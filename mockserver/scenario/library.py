"""The scenario library: the files of `scenarios/`, by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mockserver._data import data_dir
from mockserver.contract.text import nearest
from mockserver.core.redaction import to_json_text
from mockserver.scenario.documents import read_file
from mockserver.scenario.problems import Problem, ScenarioError


@cache
def paths() -> dict[str, Path]:
    """Return each library scenario's file, by name, in alphabetical order."""
    return {path.stem: path for path in sorted(data_dir("scenarios").glob("*.yaml"))}


@cache
def _document(path: Path) -> dict[str, Any]:
    return read_file(path)


def document(name: str) -> dict[str, Any]:
    """
    Return the library scenario of this name, read once per process; callers must not modify it.

    Raises:
        ScenarioError: For an unknown name, with the nearest one.
    """
    known = paths()
    if name not in known:
        wanted = f"the name of one of the library's {len(known)} scenarios, which `mockserver scenarios` lists"
        raise ScenarioError(
            [Problem("/scenario", to_json_text(name), wanted, nearest(name, known))], "the scenario's name"
        )
    return _document(known[name])
