"""
The cost of an exploration: `python -m tests.benchmarks.exploring`.

One test of some forty-five calls runs alone and within an exploration, by turns in this process. The figures are processor
time for each run; their ratio is what Explore adds.
"""

from __future__ import annotations

from statistics import median
from time import process_time

from mockserver import MockServer
from tests.runs.faults.working_day import working_day

GIVEN = {"templates": [{"id": "template_t"}], "chats": {"count": 3}}
ROUNDS = 3
FAULTS = ("internal-error",)
CALLS = 45


def by_requests(sandbox: object) -> None:
    """Run all ordinary tests of the careful client, which calls by requests."""
    working_day(sandbox)  # type: ignore[arg-type]


def by_calls(sandbox: object) -> None:
    """Make as many calls without a client library: what the mock itself takes."""
    call = sandbox.call  # type: ignore[attr-defined]
    sandbox.apply(given=GIVEN)  # type: ignore[attr-defined]
    body = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 1}
    campaign = call("POST", "/v1/campaigns", json=body, timeout=5).json().get("campaignId")
    execution = call("POST", f"/v1/campaigns/{campaign}/start", timeout=5).json().get("executionId")
    for _ in range(CALLS - 2):
        sandbox.sleep(15)  # type: ignore[attr-defined]
        call("GET", f"/v1/campaigns/{campaign}/executions/{execution}", timeout=5)


def main() -> None:
    server = MockServer()
    for test in (by_requests, by_calls):
        alone, explored = [], []
        for _ in range(ROUNDS):
            begun = process_time()
            report = server.explore(test, faults=FAULTS, choices=())
            explored.append((process_time() - begun) / report.runs)
            begun = process_time()
            for _ in range(10):
                with server.sandbox(now="2026-03-01T12:00:00Z") as sandbox:
                    test(sandbox)
            alone.append((process_time() - begun) / 10)
        ratio = median(one / other for one, other in zip(explored, alone, strict=True))
        print(
            f"{test.__name__}: {len(report.clean.calls)} calls, {1000 * median(alone):.1f} ms alone,"
            f" {1000 * median(explored):.1f} ms explored, ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
