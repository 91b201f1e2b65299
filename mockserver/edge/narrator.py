"""Telling on a terminal what happens in a sandbox: calls, rules that fire, records that move, events that leave."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.contract.printable import printable
from mockserver.core.instants import exact_text
from mockserver.core.script import listed
from mockserver.edge.hosting import Hosted

_WIDTH = 100
_IDS_SHOWN = 8
_CONDITIONS = ("where", "while", "skip", "nth", "every", "times", "chance", "from", "until")


class Narrator:
    """
    Tells what is new each time it is asked to look. Lives as long as the server that it watches.

    `tell` gets one line at a time. Nothing is told twice, also after a reset.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell: Callable[[str], None] = lambda line: tell(printable(line))
        self._fired: dict[str, int] = {}
        self._transitions = 0
        self._events = 0

    def introduce(self, document: Mapping[str, Any], created: Mapping[str, Sequence[str]]) -> None:
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
            self._tell(f"  rule {number}: {describe(rule)}")

    def look(self, hosted: Hosted) -> None:
        """Tell what has happened since the last look."""
        with hosted.sandbox.lock:
            sandbox = hosted.sandbox
            rules = listed(sandbox.script)
            transitions = [each for each in sandbox.journal.transitions if each.n > self._transitions]
            events = sandbox.events[self._events :]
            self._transitions, self._events = sandbox.journal.last_transition, len(sandbox.events)
        for rule in rules:
            if rule["fired"] > self._fired.get(rule["id"], 0):
                self._tell(f"    * {rule['id']} fires: {describe(rule)}{_unmet(rule)}")
            self._fired[rule["id"]] = rule["fired"]
        for moved in transitions:
            source = f"{moved.source} -> " if moved.source else ""
            cause = ", ".join(f"{key} {value}" for key, value in moved.cause.items())
            self._tell(f"    {exact_text(moved.at)[11:19]} {moved.kind} {moved.id}: {source}{moved.target}  ({cause})")
        for event in events:
            self._tell(f"    {exact_text(event.at)[11:19]} event {event.kind} of {event.session.id}")


def _unmet(rule: Mapping[str, Any]) -> str:
    return f" - but {rule['unmet']}" if "unmet" in rule else ""


def describe(rule: Mapping[str, Any]) -> str:
    """A rule in one line: when, and what."""
    if "at" in rule:
        when = f"{rule['at']} from the start"
    elif "after" in rule:
        when = f"after {rule['after']['sent']} sent"
    else:
        when = f"on {rule['on']}"
    conditions = "".join(f", {key} {_inline(rule[key])}" for key in _CONDITIONS if key in rule)
    return f"{when}{conditions}: {_inline(rule['do'])}"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} {_inline(each)}".strip() for key, each in value.items())
        return inner or ""
    text = "yes" if value is True else str(value)
    return textwrap.shorten(text, 60, placeholder="...")
