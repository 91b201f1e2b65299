"""
Record of a machine's actions, written as a scenario document that repeats them: rules, clock moves and choices, no keys.

An action between two calls becomes a rule on the later call, one after the last call a rule on that call. So a client
that makes the same calls gets the same responses, whatever its own clock is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mockserver._files import write_whole
from mockserver._json import JSON
from mockserver.contract.effects import DELIVERY
from mockserver.core.run import Run
from mockserver.core.state.sandbox import SandboxState as Core
from mockserver.testing.sandbox import Sandbox
from mockserver.wire.response import redactor

_SECRET = frozenset(("secretKey", "publicKey", "secret"))
_NOW = "0s"


class ExampleRecording:
    """Actions of a machine on one sandbox, in order."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._planned: list[JSON] = []
        self._done: list[tuple[int, JSON]] = []  # calls made before it, effects

    def add_rule(self, rule: Mapping[str, Any]) -> None:
        """Record a new rule on an operation, which has counted no call yet."""
        before = self._calls(rule["on"])
        self._planned.append({**rule, "skip": rule.get("skip", 0) + before})

    def add_effects(self, effects: Mapping[str, Any]) -> None:
        """Record effects that the machine has just applied."""
        self._done.append((self._calls(None), dict(effects)))

    def _calls(self, operation: str | None) -> int:
        """Count the calls of an operation or, without one, of all; or the attempts to deliver."""
        if operation == DELIVERY:
            deliveries = (delivery for event in self._sandbox.events for delivery in event["deliveries"])
            return sum(len(delivery["attempts"]) for delivery in deliveries)
        run = Run.of(self._sandbox.local("a state machine").sandbox)
        operations = [exchange.operation for exchange in run.exchanges]
        operations += [
            deferred.call.endpoint.id if deferred.call.endpoint else None for deferred in run.deferred.values()
        ]
        return sum(name == operation if operation else name is not None for name in operations)

    def script(self) -> list[JSON]:
        """Return the rules that repeat the actions."""
        calls, script = self._calls(None), [_shortest(rule) for rule in self._planned]
        for before, effects in self._done:
            if before < calls:
                script.append({"on": "*", "nth": before + 1, "when": "before", "do": effects})
            else:
                script.append({"on": "*", "nth": before, "do": effects} if before else {"at": _NOW, "do": effects})
        return script


def _shortest(rule: JSON) -> JSON:
    """Return the rule in its shortest form: with `nth` if it fires once."""
    rest = {key: value for key, value in rule.items() if key not in ("skip", "times")}
    if rule["times"] == 1:
        return {"on": rest.pop("on"), "nth": rule["skip"] + 1, **rest}
    skip = {"skip": rule["skip"]} if rule["skip"] else {}
    return {"on": rest.pop("on"), **skip, "times": rule["times"], **rest}


def document(sandbox: Core, name: str, summary: str, settings: Mapping[str, Any], script: Sequence[JSON]) -> JSON:
    """Return the whole document without keys and secrets; `settings` contains seed, clock, choices and given."""
    parts = {key: _without_secrets(value) for key, value in settings.items() if value not in ({}, None)}
    redacted: JSON = redactor(sandbox).value({"scenario": name, "summary": summary, **parts, "script": list(script)})
    return redacted


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(member) for key, member in value.items() if key not in _SECRET}
    return [_without_secrets(member) for member in value] if isinstance(value, list | tuple) else value


def write(folder: str | Path, name: str, text: str) -> Path:
    """Write a document into the folder in a single step; under pytest-xdist each worker has its own folder."""
    place = Path(folder) / os.environ.get("PYTEST_XDIST_WORKER", "")
    path = place / f"{name}.json"
    write_whole(path, text)
    return path
