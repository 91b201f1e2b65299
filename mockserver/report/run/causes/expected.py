"""An assertion on the calls that does not hold: the call that is nearest to the expected one, or those that are too many."""

from __future__ import annotations

from collections.abc import Iterator

from mockserver.report.problem import Problem
from mockserver.report.run import words
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot


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
        first, *others = failure.extra
        yield Problem(headline=first.strip(), rank="cause", got=[line.strip() for line in others])
