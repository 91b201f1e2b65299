"""
Write the examples of both documents into their skeletons: `python -m tests.documents.skeletons`.

The examples of a skeleton are answers of real runs, under the default choices; what an option or a profile changes in
them is below them. The rest of the file is written by hand, and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, Literal

from mockserver._data import data_dir
from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.openapi import skeleton
from tests.documents import recorded_api, recorded_control

JSON = dict[str, Any]
Name = Literal["api", "control"]

NAMES: Final[tuple[Name, ...]] = ("api", "control")
_RECORDERS: Final[Mapping[Name, Callable[[Mapping[str, object], str], JSON]]] = {
    "api": recorded_api.record,
    "control": recorded_control.record,
}
_HOST: Final = (
    "http://127.0.0.1:5055"  # as `mockserver openapi` prints it: the estimate of a sandbox's memory counts it
)
_WIDTH: Final = 120
# Options that change an example otherwise together than one after the other.
_PAIRS: Final = ({"user-cancels": "pending", "entrypoint-when-failed": "absent"},)
# Of the control plane, an option alone does not change what only lists the options in force, or the size of a sandbox.
_OF_PROFILES_ALONE: Final = re.compile("/choices/[A-Za-z-]+$|/readRe(port|play)/|/readCoverage/|/memoryBytes$")

_IDLE: Final = re.compile(r'("idleSeconds": )\d+')  # in real time, which a busy machine has more of


def recorded(name: Name, choices: Mapping[str, object]) -> JSON:
    """Return the examples of a document as a run under these choices gives them."""
    text = json.dumps(_RECORDERS[name](choices, _HOST), ensure_ascii=False)
    text = _IDLE.sub(r"\g<1>0", text)
    examples: JSON = json.loads(text.replace(_HOST, "${baseUrl}"))
    return examples


def changes(name: Name, base: JSON) -> JSON:
    """Return what each option changes in the examples, and what options together change beyond that."""
    alone = [{row.id: option} for row in CHOICES.values() for option in row.options if option != row.default]
    conditions = {"&".join(f"{choice}={option}" for choice, option in each.items()): each for each in (*alone, *_PAIRS)}
    found: JSON = {}
    for condition, options in {**conditions, **PROFILES}.items():
        choices = {**DEFAULTS, **options}
        shown = skeleton.examples({"examples": deepcopy(base), "changes": deepcopy(found)}, choices)
        change = difference(shown, recorded(name, choices))
        if condition not in PROFILES and name == "control":
            change = _kept(change)
        if change:
            found[condition] = change
    return found


def _kept(change: JSON) -> JSON:
    parts: JSON = {
        "remove": [pointer for pointer in change.get("remove", ()) if not _OF_PROFILES_ALONE.search(pointer)],
        "set": {
            pointer: value for pointer, value in change.get("set", {}).items() if not _OF_PROFILES_ALONE.search(pointer)
        },
    }
    return {key: part for key, part in parts.items() if part}


def difference(old: Any, new: Any) -> JSON:
    """Return the change that makes `new` of `old`, the order of keys included; empty if they are equal."""
    steps = list(_steps(old, new, ""))
    parts: JSON = {
        "remove": [pointer for pointer, is_set, _ in steps if not is_set],
        "set": {pointer: value for pointer, is_set, value in steps if is_set},
    }
    return {key: part for key, part in parts.items() if part}


def _steps(old: Any, new: Any, at: str) -> Iterator[tuple[str, bool, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        shared, added = [key for key in old if key in new], [key for key in new if key not in old]
        if [*shared, *added] == list(new):
            yield from ((_below(at, key), False, None) for key in old if key not in new)
            for key in shared:
                yield from _steps(old[key], new[key], _below(at, key))
            yield from ((_below(at, key), True, new[key]) for key in added)
            return
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _steps(before, after, _below(at, str(number)))
    elif json.dumps(old) != json.dumps(new):
        yield at, True, new


def _below(at: str, key: str) -> str:
    return f"{at}/{key.replace('~', '~0').replace('/', '~1')}"


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
        examples = recorded(name, DEFAULTS)
        whole = {**skeleton.read(name), "examples": examples, "changes": changes(name, examples)}
        path = data_dir("schemas") / "openapi" / f"{name}.json"
        path.write_text(written(whole) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
