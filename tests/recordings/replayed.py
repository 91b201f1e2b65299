"""
How many answers a written scenario gives otherwise than recorded: `python -m tests.recordings.replayed [LIVES [FIRST]]`, 150 by default.

Prints for each kind of random life the number of calls that differ in 1,000 calls, then one line for each reason with its lives' seeds.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mockserver import MockServer
from mockserver.recordings.report import report_on
from mockserver.recordings.worlds import REASON, world
from mockserver.verify.histories.exchanges import Recording
from tests.recordings.lives import life_of
from tests.recordings.random_lives import life_of_two

KINDS: Mapping[str, Callable[[MockServer, Path, int], Recording]] = {"one tenant": life_of, "two tenants": life_of_two}
SEEDS_MAX = 6  # of a line


def reasons(recording: Recording) -> Iterator[str]:
    """Yield for each answer that differs its operation and the reason, without the numbers and ids of the life."""
    report = report_on(recording)
    for comment in world(report.recording, report.choices).comments:
        if comment.startswith(REASON):
            _, _, said = comment.partition(" (")
            yield re.sub(r"#\d+", "#N", re.sub(r"\b[a-z]+_[a-z0-9]{20}\b", "ID", said)).replace("): ", ": ", 1)


def lines(server: MockServer, kind: str, seeds: range) -> Iterator[str]:
    """Yield the lines of a kind of life, the most frequent reason first."""
    calls, found = 0, defaultdict[str, list[int]](list)
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            recording = KINDS[kind](server, Path(folder), seed)
        calls += len(recording.exchanges)
        for reason in reasons(recording):
            found[reason].append(seed)
    count = sum(map(len, found.values()))
    yield f"{kind}: {len(seeds)} lives, {calls} calls, {count} differ ({count * 1000 / calls:.2f} in 1,000 calls)"
    for reason, of in sorted(found.items(), key=lambda row: -len(row[1])):
        some = ", ".join(map(str, dict.fromkeys(of[:SEEDS_MAX])))
        yield f"  {len(of) * 1000 / calls:5.2f}  {reason} (seeds {some})"


def main(arguments: list[str]) -> None:
    """Print the lines of each kind of life."""
    given = [int(argument) for argument in arguments]
    lives, first = (*given, *(150, 0)[len(given) :])
    with MockServer() as server:
        for kind in KINDS:
            print(*lines(server, kind, range(first, first + lives)), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
