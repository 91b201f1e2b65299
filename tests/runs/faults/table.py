"""Writes docs/explored-bugs.md from what explorations find: `python -m tests.runs.faults.table` (some minutes)."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from mockserver import MockServer
from tests.clients import planted_pairs
from tests.runs.faults import working_day
from tests.runs.faults.planted import KNOWN, PAIRS, SHOWS, Explored, hunt
from tests.runs.faults.working_day import BUGS, ORDINARY

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explored-bugs.md"
SINGLES = [bug for bug in ORDINARY if bug not in planted_pairs.BUGS]
BY_VERDICT = Counter(SHOWS[bug][0] for bug in SINGLES)
*_FIRST, _LAST = (f"`{bug}`" for bug in SINGLES if SHOWS[bug][0] == "advice")
ADVISED = f"{', '.join(_FIRST)} and {_LAST}"
HEAD = f"""# Seeded bugs, explored

This page shows what [Explore](explore.md) finds in the clients and receivers of [Seeded bugs](planted-bugs.md).
Each client has one bug, and an ordinary test that passes (`tests/runs/faults/working_day.py`); only for `naive-dates` does the API refuse the calls.
"Smallest case" is the smallest placement, such as a lost answer at one call, at which the exploration finds the bug.

- A bug is found if the report lists it, whatever its verdict. An outdated read alone (`stale`) does not count, since the careful client reports that too.
- Of the {len(SINGLES)} bugs that need one fault at most, {BY_VERDICT["silent"] + BY_VERDICT["breach"]} fail the test as silent or breach, and {BY_VERDICT["crashed"]} more with `strict=True` as crashed.
- {BY_VERDICT["advice"]} fail nothing: {ADVISED} are findings of the severity "noise", which the report lists as `advice`.
- The last six bugs need two faults; their runs include up to {PAIRS} pairs. Two faults of one kind in a row are a single placement too: `rate-limit-twice` and `outage` find two of the six.

"Calls" counts those of the clean run, and "runs" those of the whole exploration; "seconds" is processor time.
`python -m tests.runs.faults.table` measures the figures and writes this page.

| bug | what the client does | test | verdict | cause | smallest case | calls | runs | seconds |
| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: |
"""


def row(bug: str, explored: Explored) -> str:
    report, verdict, cause = explored.report, *SHOWS[bug]
    case = explored.case.describe() if explored.case is not None else "not found"
    cells = (
        bug, str(BUGS[bug].__doc__), ORDINARY[bug].__name__, verdict, f"`{cause}`", case,
        str(report.clean.calls), str(report.runs), f"{report.seconds:.1f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def careful(server: MockServer) -> str:
    """Return a sentence on the careful clients: what the same explorations find in them."""
    tests = dict.fromkeys(test for bug, test in ORDINARY.items() if bug not in planted_pairs.BUGS)
    reports = [server.explore(test, test=test.__name__, tolerates=KNOWN) for test in [*tests, working_day.working_day]]
    failing = [report.test for report in reports if report.failed]
    runs, seconds, last = sum(report.runs for report in reports), sum(report.seconds for report in reports), reports[-1]
    outcome = f"findings that fail in {', '.join(failing)}" if failing else "nothing that fails a test was found"
    return (
        f"\nThe clients without a bug: {outcome}, in {runs} runs and {seconds:.1f} seconds.\n"
        f"All these tests of a client in one run have {last.clean.calls} calls: {last.runs} runs, {last.seconds:.1f} seconds,"
        f" {1000 * last.seconds / last.runs:.1f} ms each.\n"
    )


def main() -> None:
    server = MockServer()
    rows = []
    for bug in ORDINARY:
        rows.append(row(bug, hunt(server, bug)))
        print(rows[-1], end="", flush=True)
    rows.append(careful(server))
    print(rows[-1], file=sys.stderr)
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
