"""An assertion on the calls that does not hold: the call that is nearest to the expected one, or those that are too many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mockserver.report.problem import Problem
from mockserver.report.run import words
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot

_NUMBER: Final = re.compile(r"#([0-9]+)\b")
_UP_TO_NUMBER: Final = 6  # words of `the last of them is #2 startCampaign POST ...`, whose call has a line of its own


def expected_calls(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield what explains an assertion on the calls best."""
    if failure is None or failure.expected is None:
        return
    near = next((call for call in snapshot.exchanges if call.n == failure.nearest), None)
    if near is not None:
        differences = failure.extra[1:2]
        yield Problem(
            headline=f"the nearest call differs: {differences[0].strip()}" if differences else "another call was made",
            rank="cause",
            calls=[words.call_line(near)],
            got=[f"it was refused: {shorten(near.reason)}"] if near.reason else (),
        )
    elif failure.extra:
        headline = failure.extra[-1].strip()
        numbers = map(int, _NUMBER.findall(headline.partition(": ")[0]))
        calls = words.lines_of(snapshot.exchanges, numbers)
        if len(failure.extra) == 1:
            headline = " ".join(headline.split()[:_UP_TO_NUMBER])
        yield Problem(headline=headline, rank="cause", calls=calls)
