"""
Checks of a rule's `where`, `while`, `from` and `until`: a name or value that can never occur is a problem.

A value with an operator (`!=`, `~`, `>=` ...) is accepted; a literal one has to be one of the existing words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mockserver.contract import schemas
from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import DELIVERY
from mockserver.contract.endpoints import ENDPOINTS, named
from mockserver.contract.lifecycles import CAMPAIGN, CONNECTED, CONNECTION_FAILED, SESSION
from mockserver.contract.text import closest_match
from mockserver.core.redaction import to_json_text
from mockserver.core.state.matching import PATH_ROOTS, is_literal
from mockserver.scenario.problems import Problem, step

Entry = Mapping[str, Any]

_OF_DELIVERY = ("event", "attempt")
_EVENTS = (CONNECTED, CONNECTION_FAILED)
_STATES: Mapping[str, Sequence[str]] = MappingProxyType({"campaign": CAMPAIGN.states, "session": SESSION.states})
_SIGNED_NUMBER = re.compile(r"(>=|<=|!=|>|<)\s*-?[0-9]{1,15}\s*")


def check(entry: Entry, path: str, problems: list[Problem]) -> None:
    """Append the problems of a rule's conditions to `problems`; its trigger is valid."""
    for key, wanted in entry.get("where", {}).items():
        if entry.get("on") == DELIVERY:
            _check_delivery(key, wanted, f"{path}/where{step(key)}", problems)
        else:
            _check_path(key, named(entry.get("on", "")), f"{path}/where{step(key)}", problems)
    for key, wanted in entry.get("while", {}).items():
        place = f"{path}/while/{key}"
        if key in _STATES:
            _check_word(wanted, _STATES[key], place, problems)
        elif key == "subscription":
            _check_word(wanted, _subscriptions(), place, problems)
        else:
            _check_number(wanted, place, problems)
    active_from, active_until = (parse_duration(entry[key]) if key in entry else None for key in ("from", "until"))
    if active_from is not None and active_until is not None and active_until <= active_from:
        problems.append(Problem(f"{path}/until", to_json_text(entry["until"]), f"more than from, {entry['from']}"))


def _subscriptions() -> Sequence[str]:
    """Return the values of a tenant's `subscription` in the schema of documents."""
    words: Sequence[str] = schemas.load("scenario")["$defs"]["tenant"]["properties"]["subscription"]["enum"]
    return words


def _check_delivery(key: str, wanted: Any, path: str, problems: list[Problem]) -> None:
    if key not in _OF_DELIVERY:
        known = ", ".join(_OF_DELIVERY)
        problems.append(
            Problem(path, to_json_text(key), f"a path that begins with {known}", closest_match(key, _OF_DELIVERY))
        )
    elif key == "event":
        _check_word(wanted, _EVENTS, path, problems)
    else:
        _check_number(wanted, path, problems)


def _check_path(key: str, operations: Sequence[str], path: str, problems: list[Problem]) -> None:
    root, _, name = key.partition(".")
    if root not in PATH_ROOTS:
        problems.append(
            Problem(
                path,
                to_json_text(key),
                f"a path that begins with {', '.join(PATH_ROOTS)}, such as body.name",
                closest_match(key, PATH_ROOTS),
            )
        )
        return
    if not name and root != "body":
        problems.append(Problem(path, to_json_text(key), f"{root}.NAME"))
    if not name or root != "path":
        return
    parts = {part for operation in operations for part in ENDPOINTS[operation].path.split("/") if part.startswith("{")}
    known = sorted(f"path.{part[1:-1]}" for part in parts)
    if key not in known:
        valid = ", ".join(known) or "another root, as these paths have no parameters"
        problems.append(Problem(path, to_json_text(key), valid, closest_match(key, known)))


def _check_word(wanted: Any, words: Sequence[str], path: str, problems: list[Problem]) -> None:
    if is_literal(wanted) and wanted not in words:
        problems.append(Problem(path, to_json_text(wanted), f"one of {', '.join(words)}", closest_match(wanted, words)))


def _check_number(wanted: Any, path: str, problems: list[Problem]) -> None:
    text = wanted if isinstance(wanted, str) else ""
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if not is_number and not _SIGNED_NUMBER.fullmatch(text):
        problems.append(Problem(path, to_json_text(wanted), "a number, or one with a sign before it, such as >=20"))
