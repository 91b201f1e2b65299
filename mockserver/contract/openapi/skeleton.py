"""
The skeletons of the documents, the files of `schemas/openapi`: what no table has, prose and examples above all.

1. A skeleton is read when its document is asked for. Its `schemas` are what no schema file has, and what changes in those of files.
2. In its texts `${name}` is a value that the document's caller has, such as `${baseUrl}`.
3. Its examples are those of the default choices, whatever choices the document describes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from mockserver._data import data_dir
from mockserver._json import JSON
from mockserver.contract.text import pointer_keys

_NAME: Final = re.compile(r"\$\{([\w-]+)\}")


def read(name: Literal["api", "control"]) -> JSON:
    """Return a skeleton as its file has it; the caller may change it."""
    skeleton: JSON = json.loads((data_dir("schemas") / "openapi" / f"{name}.json").read_text(encoding="utf-8"))
    return skeleton


def filled(part: Any, values: Mapping[str, Any]) -> Any:
    """Return a part with each name of `values` replaced; a text that is a name alone becomes the value itself."""
    if isinstance(part, dict):
        return {key: filled(below, values) for key, below in part.items()}
    if isinstance(part, list):
        return [filled(below, values) for below in part]
    if not isinstance(part, str) or "${" not in part:
        return part
    whole = _NAME.fullmatch(part)
    return values[whole[1]] if whole else _NAME.sub(lambda name: str(values[name[1]]), part)


def apply(shown: JSON, change: JSON) -> None:
    """Change schemas: `remove` has places, `set` new values by place, each a JSON pointer; one that is gone stays so."""
    for pointer in change.get("remove", ()):
        parent, key = place(shown, pointer)
        if isinstance(parent, dict):
            parent.pop(key, None)
    for pointer, value in change.get("set", {}).items():
        parent, key = place(shown, pointer)
        if isinstance(parent, dict):
            parent[key] = value
        elif isinstance(parent, list) and int(key) < len(parent):
            parent[int(key)] = value


def place(part: Any, pointer: str) -> tuple[Any, str]:
    """Return the object or array that a pointer leads into, None if there is none, and its last step."""
    *steps, last = pointer_keys(pointer)
    for step in steps:
        if isinstance(part, dict):
            part = part.get(step)
        elif isinstance(part, list):
            part = part[int(step)] if int(step) < len(part) else None
        else:
            return None, last
    return part, last
