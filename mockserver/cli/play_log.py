"""The lines of `mockserver play`: the rules that fire, the records that change their state, and the events."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.contract.effects.descriptions import describe_rule
from mockserver.contract.text import printable
from mockserver.core.instants import format_exact
from mockserver.core.state.rule_set import describe_rules
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.response import redactor

_WIDTH = 100
_IDS_SHOWN = 8
_MARGIN = "  "


class PlayLog:
    """
    Prints what is new in a sandbox since the last call, each line once, also after a reset.

    Lifetime: that of the server.

    Args:
        print_line: Gets one line without its line end.
    """

    def __init__(self, print_line: Callable[[str], object]) -> None:
        self._print: Callable[[str], object] = lambda line: print_line(printable(line))
        self._fired: dict[str, int] = {}
        self._transitions = 0
        self._events = 0

    def print_scenario(self, document: Mapping[str, Any], created: Mapping[str, Sequence[str]]) -> None:
        """Print the summary of a scenario, its clauses, the ids of its seed data, and its rules."""
        self._print(f"Scenario {document.get('scenario', 'without a name')}")
        for line in textwrap.wrap(document.get("summary", ""), _WIDTH):
            self._print(f"{_MARGIN}{line}")
        if document.get("clauses"):
            self._print(f"  clauses: {', '.join(document['clauses'])}")
        for kind, ids in created.items():
            rest = f", ... ({len(ids)} in all)" if len(ids) > _IDS_SHOWN else ""
            self._print(f"  {kind}: {', '.join(ids[:_IDS_SHOWN])}{rest}")
        for number, rule in enumerate(document.get("script", ()), start=1):
            self._print(f"  rule {number}: {describe_rule(rule)}")

    def print_new(self, hosted: HostedSandbox) -> None:
        """Print the firings, transitions and events since the last call."""
        with hosted.sandbox.lock:
            sandbox = hosted.sandbox
            rules = describe_rules(sandbox.rule_set)
            transitions = [row for row in sandbox.journal.transitions if row.n > self._transitions]
            events = sandbox.events[self._events :]
            self._transitions, self._events = sandbox.journal.last_transition, len(sandbox.events)
        hide = redactor(sandbox)
        for rule in rules:
            if rule["fired"] > self._fired.get(rule["id"], 0):
                without = f"; no effect: {rule['noTarget']}" if "noTarget" in rule else ""
                self._print(hide.text(f"    * {rule['id']} fires: {describe_rule(hide.value(rule))}{without}"))
            self._fired[rule["id"]] = rule["fired"]
        for transition in transitions:
            source = f"{transition.source} -> " if transition.source else ""
            cause = ", ".join(f"{key} {value}" for key, value in transition.cause.items())
            self._print(
                f"    {format_exact(transition.at)[11:19]} {transition.kind} {transition.id}: {source}{transition.target}  ({cause})"
            )
        for event in events:
            self._print(f"    {format_exact(event.at)[11:19]} event {event.kind} of {event.record.id}")
