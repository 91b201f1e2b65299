"""
The scenario library: the files of `scenarios/`, by name.

`NAME.prebuilt.json` next to `NAME.yaml` is the same document, read without the YAML parser and the schemas; it counts only
for the text that it was made from.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path

from mockserver._data import data_dir
from mockserver._json import JSON
from mockserver.contract.text import closest_match
from mockserver.core.redaction import to_json_text
from mockserver.scenario.documents import Document, read_file
from mockserver.scenario.problems import ScenarioError, WrongPart


@cache
def paths() -> dict[str, Path]:
    """Return each library scenario's file, by name, in alphabetical order."""
    return {path.stem: path for path in sorted(data_dir("scenarios").glob("*.yaml"))}


@cache
def read_scenario(path: Path) -> Document:
    """Return the validated document of a library file, read once per process."""
    return _prebuilt(path) or read_file(path)


def prebuilt_path(path: Path) -> Path:
    """Return where the prebuilt document of a YAML file is, if it has one."""
    return path.with_suffix(".prebuilt.json")


def _prebuilt(path: Path) -> Document | None:
    """Return the prebuilt document of the file; None if there is none, or if the file has changed since."""
    try:
        prebuilt = json.loads(prebuilt_path(path).read_text(encoding="utf-8"))
        if prebuilt["crc32"] != zlib.crc32(path.read_text(encoding="utf-8").encode()):
            return None
        document = Document(prebuilt["document"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    document.file = path
    document.is_valid = True
    return document


def document(name: str) -> JSON:
    """
    Return the library scenario of this name, read once per process; callers must not modify it.

    Raises:
        ScenarioError: For an unknown name, with the nearest one.
    """
    known = paths()
    if name not in known:
        wanted = f"the name of one of the library's {len(known)} scenarios, which `mockserver scenarios` lists"
        raise ScenarioError([WrongPart("/scenario", to_json_text(name), wanted, closest_match(name, known))])
    return read_scenario(known[name])
