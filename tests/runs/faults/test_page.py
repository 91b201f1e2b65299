"""docs/explored-bugs.md lists every seeded bug as found, within the bounds that the project has set itself."""

from __future__ import annotations

import re

from tests.clients import planted_pairs
from tests.runs.faults.planted import SHOWS
from tests.runs.faults.table import PAGE

ROWS = re.findall(
    r"^\| ([a-z0-9-]+) \| (.*) \| (\d+) \| (\d+) \| ([\d.]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def test_the_page_lists_every_bug_as_found() -> None:
    assert list(SHOWS) == [bug for bug, *_ in ROWS]
    assert [] == [bug for bug, cells, *_ in ROWS if "not found" in cells]


def test_singles_of_a_test_take_at_most_six_seconds() -> None:
    assert [] == [
        (bug, seconds) for bug, _, _, _, seconds in ROWS if bug not in planted_pairs.BUGS and float(seconds) > 6
    ]


def test_the_bugs_of_two_faults_are_found_by_pairs_or_by_two_faults_of_one_kind() -> None:
    several = re.compile(r" call \d+ \(\w+\) and | rate-limit-twice at | outage at ")
    assert list(planted_pairs.BUGS) == [bug for bug, cells, *_ in ROWS if several.search(cells)]


def test_the_page_states_how_many_bugs_fail_the_test_and_how_many_are_advice() -> None:
    singles = [cells for bug, cells, *_ in ROWS if bug not in planted_pairs.BUGS]
    counts = {
        word: sum(f" | {word} | " in cells for cells in singles) for word in ("silent", "breach", "crashed", "advice")
    }

    assert len(singles) == sum(counts.values())
    assert counts["advice"] == 3
    text = PAGE.read_text(encoding="utf-8")
    assert (
        f"{counts['silent'] + counts['breach']} fail the test as silent or breach, and {counts['crashed']} more" in text
    )
