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
from mockserver.scenario.problems import Problem, step, steps

_GONE: Final = object()
_LEFT_OUT: Final = "left out"  # no key of a rule


class Sound(NamedTuple):
    """
    The part of a document that can be checked.

    `places` gives, by the pointer of a list, the indices that its elements have in the document. `refused` are the
    records with a problem of their own, `ids` those of records that were left out.
    """

    document: Mapping[str, Any]
    places: Mapping[str, Sequence[int]]
    refused: frozenset[str]
    ids: frozenset[str]

    def own(self, problems: Sequence[Problem]) -> list[Problem]:
        """Those problems of the part that are ones of the document, at their places in it."""
        there = [problem._replace(path=self._place(problem.path)) for problem in problems]
        return [
            problem for problem in there if _record(problem.path) not in self.refused and problem.found not in self.ids
        ]

    def _place(self, pointer: str) -> str:
        place, own = "", ""
        for key in steps(pointer):
            indices = self.places.get(place)
            place += step(key)
            own += step(indices[int(key)] if indices is not None and key.isdecimal() else key)
        return own


def left_out(rule: Mapping[str, Any]) -> frozenset[str]:
    """The keys of a rule that were left out because the schema refuses them."""
    keys: frozenset[str] = rule.get(_LEFT_OUT, frozenset())
    return keys


def sound_part(document: Mapping[str, Any], problems: Sequence[Problem]) -> Sound:
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
    places: dict[str, Sequence[int]] = {}
    ids: set[str] = set()
    within = [problem for problem in problems if steps(problem.path)[:1] == ["given"]]
    if within and "given" in parts:
        for problem in within:
            _leave_out(parts, problem, ids)
        given = _purged(parts["given"], "/given", places)
        if given is _GONE or not schemas.is_valid("scenario", {"given": given}):
            del parts["given"]
        else:
            parts["given"] = given
    return Sound(parts, places, frozenset(_record(problem.path) for problem in within), frozenset(ids))


def _sound_rules(script: Sequence[Any], wrong: Sequence[Sequence[str]]) -> list[Mapping[str, Any]]:
    """Return the rules without what is refused, given the pointers of all problems of the document."""
    of_rules: dict[str, list[Sequence[str]]] = {}
    for keys in wrong:
        if keys[:1] == ["script"] and len(keys) > 2:
            of_rules.setdefault(keys[1], []).append(keys[2:])
    return [_rule(rule, of_rules.get(str(number), [])) for number, rule in enumerate(script)]


_CHECKED: Final = ("scenario", "choices", "clock", "given", "script")


def _rule(rule: Any, wrong: Sequence[Sequence[str]]) -> Mapping[str, Any]:
    """A rule without the keys and effects that the schema refuses; what it does is then an object, perhaps an empty one."""
    if not isinstance(rule, Mapping):
        return {"do": {}, _LEFT_OUT: frozenset({"on", "at", "after"})}
    keys = frozenset(keys[0] for keys in wrong if keys[0] != "do")
    effects = {keys[1] for keys in wrong if keys[0] == "do" and len(keys) > 1}
    kept = {key: value for key, value in rule.items() if key not in keys}
    do = rule.get("do")
    kept["do"] = {name: args for name, args in do.items() if name not in effects} if isinstance(do, Mapping) else {}
    return kept | ({_LEFT_OUT: keys} if keys else {})


def _leave_out(root: Any, problem: Problem, ids: set[str]) -> None:
    """Take out of the copy what is wrong: the value at the place, or the object that lacks something there."""
    parent, key, value = None, None, root
    for part in steps(problem.path):
        below: Any = int(part) if isinstance(value, list) and part.isdecimal() else part
        try:
            inner = value[below]
        except (KeyError, IndexError, TypeError):
            break  # it is missing: the object itself is left out
        if inner is _GONE:
            return
        parent, key, value = value, below, inner
    if parent is not None:
        if isinstance(value, Mapping) and isinstance(value.get("id"), str):
            ids.add(to_json_text(value["id"]))
        parent[key] = _GONE


def _purged(value: Any, path: str, places: dict[str, Sequence[int]]) -> Any:
    """The value without what was left out of it; notes where the elements of a shortened list were."""
    if isinstance(value, dict):
        return {key: _purged(each, path + step(key), places) for key, each in value.items() if each is not _GONE}
    if isinstance(value, list):
        indices = [number for number, each in enumerate(value) if each is not _GONE]
        if len(indices) < len(value):
            places[path] = indices
        return [_purged(value[number], f"{path}/{at}", places) for at, number in enumerate(indices)]
    return value


def _record(pointer: str) -> str:
    """The pointer of the seeded record that a place belongs to, or of the kind where that is no list."""
    keys = steps(pointer)
    return "".join(step(key) for key in keys[: 5 if keys[1:2] == ["tenants"] else 3])
