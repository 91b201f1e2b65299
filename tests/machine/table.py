"""Writes docs/planted-bugs.md from what the machine finds: `python -m tests.machine.table` (some minutes)."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from mockserver import MockServer
from mockserver.testing.machine import INVARIANTS
from tests.machine.campaigns import Campaigns
from tests.machine.planted import BUGS, ROUNDS, SHOWS, Found, hunt
from tests.machine.receiving import Receiving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "planted-bugs.md"
HEAD = f"""# Seeded bugs

A careful client (`tests/clients/planted.py`) and a careful receiver (`tests/clients/planted_receivers.py`) each have subclasses with one bug of real clients.
This page shows how soon a [state machine](hypothesis.md) finds each bug.
One machine runs around the client with every invariant (`tests/machine/campaigns.py`), and another around the receiver (`tests/machine/receiving.py`).
Each search takes at most {ROUNDS.max_examples} examples of {ROUNDS.stateful_step_count} steps.

- "Needed" is the number of examples up to the first that failed.
- "Seconds" is the processor time of the whole search, shrinking included.
- "Script" is the number of rules in the scenario document that replays the shrunk example.

`python -m tests.machine.table` measures the figures and writes this page.

| bug | what the client does | found by | needed | seconds | script |
| --- | --- | --- | ---: | ---: | ---: |
"""


def row(bug: str, found: Found) -> str:
    shown = str(found.failure).partition("\n")[0]
    words = next((each for each in SHOWS[bug] if shown.startswith(each)), None)
    if words is None:
        by = f"not found ({shown[:60]})"
    else:
        by = f"`{words}`" if words in INVARIANTS else "the machine's own assertion"
    needed = str(found.examples_needed) if words else "-"
    rules = len(found.scenario.get("script", ()))
    return f"| {bug} | {BUGS[bug]} | {by} | {needed} | {found.seconds:.1f} | {rules} |\n"


def main() -> None:
    warnings.simplefilter("ignore")
    server = MockServer(strict=True)
    rows = []
    for bug in BUGS:
        rows.append(row(bug, hunt(server, bug)))
        print(rows[-1], end="", flush=True)
    for what, machine in (("client", Campaigns), ("receiver", Receiving)):
        clean = hunt(server, None, machine=machine)
        result = "nothing was found" if clean.failure is None else str(clean.failure)
        rows.append(
            f"\nThe {what} without a bug: {result} in {clean.examples} examples, {clean.seconds:.1f} seconds.\n"
        )
        print(rows[-1], file=sys.stderr, flush=True)
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
