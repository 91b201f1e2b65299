"""Size and processor time of the trace of 200 calls: `python -m tests.benchmarks.traces`."""

from __future__ import annotations

import time

from mockserver import MockServer
from mockserver.testing.report import trace_page
from mockserver.testing.report.replay import replay
from mockserver.testing.report.trace import trace
from tests.testing.test_traces import NOW, SEED, campaigns, run_of

ROUNDS = 5


def main() -> None:
    with MockServer() as server, server.sandbox(now=NOW, given=SEED) as sandbox:
        campaigns(sandbox, 200)
        run = run_of(sandbox)
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        page = trace_page.render(trace(run))
        spent.append(time.process_time() - began)
    began = time.process_time()
    list(replay(run.document))
    replayed = time.process_time() - began
    print(
        f"200 calls: {len(page):,} bytes; {spent[0] * 1000:.0f} ms for the first trace of a process, which imports the"
    )
    print(f"templates, then {min(spent) * 1000:.0f} ms, of which a replay alone takes {replayed * 1000:.0f} ms")


if __name__ == "__main__":
    main()
