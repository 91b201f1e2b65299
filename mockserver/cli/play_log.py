"""Telling on a terminal what happens in a sandbox: calls, rules that fire, records that move, events that leave."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.contract.text import printable
from mockserver.core.instants import format_exact
from mockserver.core.state.rule_set import describe_rules
from mockserver.scenario.rule_parser import describe_rule
from mockserver.server.hosting.host import HostedSandbox

_WIDTH = 100
_IDS_SHOWN = 8


class PlayLog:
    """
    Tells what is new each time it is asked to look. Lives as long as the server that it watches.

    `tell` gets one line at a time. Nothing is told twice, also after a reset.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell: Callable[[str], None] = lambda line: tell(printable(line))
        self._fired: dict[str, int] = {}
        self._transitions = 0
        self._events = 0

    def print_scenario(self, document: Mapping[str, Any], created: Mapping[str, Sequence[str]]) -> None:
        """What the scenario shows, by which clauses, the ids that it has seeded, and what its script will do."""
        self._tell(f"Scenario {document.get('scenario', 'without a name')}")
        for line in textwrap.wrap(document.get("summary", ""), _WIDTH):
            self._tell(f"  {line}")
        if document.get("clauses"):
            self._tell(f"  shows: {', '.join(document['clauses'])}")
        for kind, ids in created.items():
            rest = f", ... ({len(ids)} in all)" if len(ids) > _IDS_SHOWN else ""
            self._tell(f"  {kind}: {', '.join(ids[:_IDS_SHOWN])}{rest}")
        for number, rule in enumerate(document.get("script", ()), start=1):
            self._tell(f"  rule {number}: {describe_rule(rule)}")

    def print_new(self, hosted: HostedSandbox) -> None:
        """Tell what has happened since the last look."""
        with hosted.sandbox.lock:
            sandbox = hosted.sandbox
            rules = describe_rules(sandbox.rule_set)
            transitions = [each for each in sandbox.journal.transitions if each.n > self._transitions]
            events = sandbox.events[self._events :]
            self._transitions, self._events = sandbox.journal.last_transition, len(sandbox.events)
        for rule in rules:
            if rule["fired"] > self._fired.get(rule["id"], 0):
                self._tell(f"    * {rule['id']} fires: {describe_rule(rule)}{_no_target(rule)}")
            self._fired[rule["id"]] = rule["fired"]
        for moved in transitions:
            source = f"{moved.source} -> " if moved.source else ""
            cause = ", ".join(f"{key} {value}" for key, value in moved.cause.items())
            self._tell(
                f"    {format_exact(moved.at)[11:19]} {moved.kind} {moved.id}: {source}{moved.target}  ({cause})"
            )
        for event in events:
            self._tell(f"    {format_exact(event.at)[11:19]} event {event.kind} of {event.session.id}")


def _no_target(rule: Mapping[str, Any]) -> str:
    return f" - but {rule['noTarget']}" if "noTarget" in rule else ""
