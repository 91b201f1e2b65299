"""
Pruning of an invalid document: the rest is still checked, so that one run reports every problem.

The parts that the schema refuses are removed, and the rest is checked without them. A problem that only follows from a
removed part is not reported.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mockserver.contract import schemas
from mockserver.core.redaction import to_json_text
from mockserver.scenario.problems import WrongPart, step, steps

_REMOVED: Final = object()
_LEFT_OUT: Final = "left out"  # not a key that a document's rule can have


class Sound(NamedTuple):
    """
    The part of a document that can be checked.

    `places` has, by the pointer of a shortened list, the indices of its elements in the document. `refused` has the
    pointers of the records with a problem of their own, `ids` the ids of the removed records.
    """

    document: Mapping[str, Any]
    places: Mapping[str, Sequence[int]]
    refused: frozenset[str]
    ids: frozenset[str]

    def own(self, problems: Sequence[WrongPart]) -> list[WrongPart]:
        """Return the problems of the part that the document has too, with their places in the document."""
        placed = [problem._replace(path=self._place(problem.path)) for problem in problems]
        return [
            problem for problem in placed if _record(problem.path) not in self.refused and problem.found not in self.ids
        ]

    def _place(self, pointer: str) -> str:
        place, own = "", ""
        for key in steps(pointer):
            indices = self.places.get(place)
            place += step(key)
            own += step(indices[int(key)] if indices is not None and key.isdecimal() else key)
        return own


def left_out(rule: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that were removed from a rule because the schema refuses them."""
    keys: frozenset[str] = rule.get(_LEFT_OUT, frozenset())
    return keys


def sound_part(document: Mapping[str, Any], problems: Sequence[WrongPart]) -> Sound:
    """Return the part of the document that its schema accepts, given every problem that it has."""
    parts: dict[str, Any] = {
        key: copy.deepcopy(value) if key == "given" else value for key, value in document.items() if key in _CHECKED
    }
    if not isinstance(parts.get("choices", {}), Mapping):
        del parts["choices"]
    if any(steps(problem.path)[:1] == ["clock"] for problem in problems):
        parts.pop("clock", None)
    script = parts.pop("script", None)
    if isinstance(script, list):
        parts["script"] = _sound_rules(script, [steps(problem.path) for problem in problems])
    within = [problem for problem in problems if steps(problem.path)[:1] == ["given"]]
    places: dict[str, Sequence[int]] = {}
    ids = _prune_given(parts, within, places) if within and "given" in parts else set()
    return Sound(parts, places, frozenset(_record(problem.path) for problem in within), frozenset(ids))


def _prune_given(parts: dict[str, Any], wrong: Sequence[WrongPart], places: dict[str, Sequence[int]]) -> set[str]:
    """Remove the invalid records from `given` and return their ids; `places` is that of `Sound`."""
    ids: set[str] = set()
    for problem in wrong:
        _remove(parts, problem, ids)
    given = _purged(parts.pop("given"), "/given", places)
    if given is not _REMOVED and schemas.is_valid("scenario", {"given": given}):
        parts["given"] = given
    return ids


def _sound_rules(script: Sequence[Any], wrong: Sequence[Sequence[str]]) -> list[Mapping[str, Any]]:
    """Return the rules without their refused parts, given the pointers of all problems of the document."""
    of_rules: dict[str, list[Sequence[str]]] = {}
    for keys in wrong:
        if keys[:1] == ["script"] and len(keys) > 2:
            of_rules.setdefault(keys[1], []).append(keys[2:])
    return [_rule(rule, of_rules.get(str(number), [])) for number, rule in enumerate(script)]


_CHECKED: Final = ("scenario", "choices", "clock", "given", "script")


def _rule(rule: Any, wrong: Sequence[Sequence[str]]) -> Mapping[str, Any]:
    """Return a rule without the keys and effects that the schema refuses; its `do` is an object, perhaps empty."""
    if not isinstance(rule, Mapping):
        return {"do": {}, _LEFT_OUT: frozenset({"on", "at", "after"})}
    keys = frozenset(keys[0] for keys in wrong if keys[0] != "do")
    effects = {keys[1] for keys in wrong if keys[0] == "do" and len(keys) > 1}
    accepted = {key: value for key, value in rule.items() if key not in keys}
    do = rule.get("do")
    accepted["do"] = {name: args for name, args in do.items() if name not in effects} if isinstance(do, Mapping) else {}
    return accepted | ({_LEFT_OUT: keys} if keys else {})


def _remove(root: Any, problem: WrongPart, ids: set[str]) -> None:
    """Mark the invalid part of the copy as removed: the value at the place, or the object that lacks a value there."""
    parent, key, value = None, None, root
    for part in steps(problem.path):
        below: Any = int(part) if isinstance(value, list) and part.isdecimal() else part
        try:
            inner = value[below]
        except (KeyError, IndexError, TypeError):
            break  # the value is missing: the object that lacks it is removed
        if inner is _REMOVED:
            return
        parent, key, value = value, below, inner
    if parent is not None:
        if isinstance(value, Mapping) and isinstance(value.get("id"), str):
            ids.add(to_json_text(value["id"]))
        parent[key] = _REMOVED


def _purged(value: Any, path: str, places: dict[str, Sequence[int]]) -> Any:
    """Return the value without its removed parts; `places` receives the former indices of a shortened list."""
    if isinstance(value, dict):
        return {key: _purged(inner, path + step(key), places) for key, inner in value.items() if inner is not _REMOVED}
    if isinstance(value, list):
        indices = [number for number, inner in enumerate(value) if inner is not _REMOVED]
        if len(indices) < len(value):
            places[path] = indices
        return [_purged(value[number], f"{path}/{at}", places) for at, number in enumerate(indices)]
    return value


def _record(pointer: str) -> str:
    """Return the pointer of the record in `given` that a place belongs to, or of its kind if that is not a list."""
    keys = steps(pointer)
    return "".join(step(key) for key in keys[: 5 if keys[1:2] == ["tenants"] else 3])
