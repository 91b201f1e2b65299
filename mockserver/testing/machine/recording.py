"""
What a machine did to the world, as a scenario document that does it again: rules, clock moves and choices, keys left out.

What happened between two calls is tied to the later one, what followed the last call to that one, so that a client which
makes the same calls meets the same world, whatever its clock does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mockserver.contract.effects import DELIVERY
from mockserver.core.state.sandbox import SandboxState as Core
from mockserver.server.api.response import redactor
from mockserver.testing.sandbox import Sandbox

JSON = dict[str, Any]

_SECRET = frozenset(("secretKey", "publicKey", "secret"))
_AT_ONCE = "0s"


class Record:
    """What was done to one sandbox, in order."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._planned: list[JSON] = []
        self._done: list[tuple[int, JSON]] = []  # calls made before it, effects

    def add_rule(self, rule: Mapping[str, Any]) -> None:
        """A rule on an operation was put in force; it has counted nothing yet."""
        before = self._calls(rule["on"])
        self._planned.append({**rule, "skip": rule.get("skip", 0) + before})

    def add_effects(self, effects: Mapping[str, Any]) -> None:
        """These effects on the world have just been brought about."""
        self._done.append((self._calls(None), dict(effects)))

    def _calls(self, operation: str | None) -> int:
        """How many calls of an operation, or of any, or attempts to deliver, there were so far."""
        if operation == DELIVERY:
            deliveries = (each for event in self._sandbox.events for each in event["deliveries"])
            return sum(len(delivery["attempts"]) for delivery in deliveries)
        sandbox = self._sandbox._hosted.sandbox
        kept = [each.operation for each in sandbox.journal.exchanges]
        kept += [
            each.call.endpoint.id if each.call.endpoint else None for each in sandbox.rule_set.deferred_calls.values()
        ]
        return sum(each == operation if operation else each is not None for each in kept)

    def script(self) -> list[JSON]:
        """The rules that bring it all about again."""
        calls = self._calls(None)
        return [*map(_plainer, self._planned), *(_tied(before, calls, effects) for before, effects in self._done)]


def _plainer(rule: JSON) -> JSON:
    """The rule as one writes it by hand: `nth` where it fires once."""
    rest = {key: value for key, value in rule.items() if key not in ("skip", "times")}
    if rule["times"] == 1:
        return {"on": rest.pop("on"), "nth": rule["skip"] + 1, **rest}
    skip = {"skip": rule["skip"]} if rule["skip"] else {}
    return {"on": rest.pop("on"), **skip, "times": rule["times"], **rest}


def _tied(before: int, calls: int, effects: JSON) -> JSON:
    if before < calls:
        return {"on": "*", "nth": before + 1, "when": "before", "do": effects}
    return {"on": "*", "nth": before, "do": effects} if before else {"at": _AT_ONCE, "do": effects}


def document(sandbox: Core, name: str, summary: str, world: Mapping[str, Any], script: Sequence[JSON]) -> JSON:
    """The whole document; `world` is seed, clock, choices and given. No key and no secret is left in it."""
    parts = {key: _without_secrets(value) for key, value in world.items() if value not in ({}, None)}
    found: JSON = redactor(sandbox).value({"scenario": name, "summary": summary, **parts, "script": list(script)})
    return found


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(each) for key, each in value.items() if key not in _SECRET}
    return [_without_secrets(each) for each in value] if isinstance(value, list | tuple) else value


def write(folder: str | Path, name: str, written: str) -> Path:
    """Put a document into the folder, whole or not at all; under xdist each worker has a folder of its own."""
    place = Path(folder) / os.environ.get("PYTEST_XDIST_WORKER", "")
    place.mkdir(parents=True, exist_ok=True)
    path, draft = place / f"{name}.json", place / f".{name}.{os.getpid()}"
    draft.write_text(written, encoding="utf-8")
    draft.replace(path)
    return path
