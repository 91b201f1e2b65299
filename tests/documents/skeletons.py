"""
Write the examples of both documents into their skeletons: `python -m tests.documents.skeletons`.

The examples of a skeleton are answers of real runs, under the default choices. The rest of the file is written by hand,
and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from mockserver._data import data_dir
from mockserver.contract.openapi import skeleton
from tests.documents import recorded_api, recorded_control

JSON = dict[str, Any]
Name = Literal["api", "control"]

NAMES: Final[tuple[Name, ...]] = ("api", "control")
_RECORDERS: Final[Mapping[Name, Callable[[str], JSON]]] = {
    "api": recorded_api.record,
    "control": recorded_control.record,
}
_HOST: Final = (
    "http://127.0.0.1:5055"  # as `mockserver openapi` prints it: the estimate of a sandbox's memory counts it
)
_WIDTH: Final = 120
_IDLE: Final = re.compile(r'("idleSeconds": )\d+')  # in real time, which a busy machine has more of


def recorded(name: Name) -> JSON:
    """Return the examples of a document as a run gives them."""
    text = json.dumps(_RECORDERS[name](_HOST), ensure_ascii=False)
    text = _IDLE.sub(r"\g<1>0", text)
    examples: JSON = json.loads(text.replace(_HOST, "${baseUrl}"))
    return examples


def written(value: Any, indent: int = 0, used: int = 0) -> str:
    """Return JSON text, with each object and array on one line if it fits there."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or indent + used + len(line) <= _WIDTH:
        return line
    inner = indent + 2
    keys = (
        [f"{json.dumps(key, ensure_ascii=False)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    )
    below = value.values() if isinstance(value, dict) else value
    lines = [f"{' ' * inner}{key}{written(part, inner, len(key) + 1)}" for key, part in zip(keys, below, strict=True)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([begin, ",\n".join(lines), " " * indent + end])


def main() -> None:
    """Write both skeletons."""
    for name in NAMES:
        whole = {**skeleton.read(name), "examples": recorded(name)}
        whole.pop("changes", None)
        path = data_dir("schemas") / "openapi" / f"{name}.json"
        path.write_text(written(whole) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
