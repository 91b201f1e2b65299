"""Size and processor time of the trace of 200 calls: `python -m tests.benchmarks.traces`."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mockserver import MockServer
from mockserver.report.trace_page import render
from tests.testing.test_replay import NOW
from tests.testing.test_traces import SEED, campaigns, run_of

ROUNDS = 5


@contextmanager
def timed_collections() -> Iterator[list[float]]:
    """Yield the processor times of the garbage collections in the block; a list without one has none."""
    spent: list[float] = []
    began = 0.0

    def note(phase: str, _: object) -> None:
        nonlocal began
        if phase == "start":
            began = time.process_time()
        else:
            spent.append(time.process_time() - began)

    gc.callbacks.append(note)
    yield spent
    gc.callbacks.remove(note)


def main() -> None:
    with MockServer() as server, server.sandbox(now=NOW, given=SEED) as sandbox:
        campaigns(sandbox, 200)
        run = run_of(sandbox)
    spent, collecting = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        with timed_collections() as collections:
            page = render(run)
        spent.append(time.process_time() - began)
        collecting.append(sum(collections))
    print(
        f"200 calls: {len(page):,} bytes; the first trace of a process {spent[0] * 1000:.0f} ms, of which the garbage"
    )
    print(
        f"collector takes {collecting[0] * 1000:.0f} ms, for all that the process has imported; then {min(spent) * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
