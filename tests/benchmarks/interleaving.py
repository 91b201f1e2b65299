"""
The cost of a search for races: `python -m tests.benchmarks.interleaving [CALLS]`.

Two clients of 22 calls each are interleaved with at most two preemptions, in process. The figures are processor time. Readers
have nothing in conflict, and rivals create what none of them lists, so that most of their orders are merged; senders are as a
working day is: they list, create, start, read progress and cancel.
"""

from __future__ import annotations

import sys
from functools import partial
from time import process_time

from mockserver import MockServer, Sandbox
from tests.runs.orders.pairs import BODY, DRAFT

CALLS = 22
BOUND = 2
GIVEN = {
    **DRAFT,
    "campaigns": [
        {"id": f"campaign_{number}", "name": f"Campaign {number}", "templateId": "template_hello"}
        for number in range(CALLS)
    ],
}


def readers(sandbox: Sandbox, name: str, calls: int) -> None:
    """Read campaigns alone: each two calls commute."""
    for number in range(calls):
        sandbox.call("GET", f"/v1/campaigns/campaign_{number % CALLS}")


def rivals(sandbox: Sandbox, name: str, calls: int) -> None:
    """Create campaigns by every call: each two of them exchange places in a list that nobody reads."""
    for number in range(calls):
        sandbox.call("POST", "/v1/campaigns", json={**BODY, "name": f"{name} {number}"})


def senders(sandbox: Sandbox, name: str, calls: int) -> None:
    """List, create, start, read and cancel, until the calls are made."""
    made = 0
    while made < calls:
        campaign = execution = ""
        for step in ("list", "create", "start", "read", "cancel")[: calls - made]:
            made += 1
            if step == "list":
                sandbox.call("GET", "/v1/campaigns")
            elif step == "create":
                body = {**BODY, "name": f"{name} {made}"}
                campaign = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
            elif step == "start":
                execution = sandbox.call("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]
            elif step == "read":
                sandbox.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")
            else:
                sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel")


PAIRS = (readers, rivals, senders)


def main(calls: int = CALLS) -> None:
    with MockServer() as server:
        for client in PAIRS:
            begun = process_time()
            report = server.interleave(
                clients={name: partial(client, name=name, calls=calls) for name in ("worker", "cron")},
                settings={"given": GIVEN},
                bound=BOUND,
            )
            spent = process_time() - begun
            merged = sum(row.merged for row in report.bounds.values())
            print(
                f"{client.__name__}: {report.runs + merged} orders, {merged} merged, {report.left} left,"
                f" {len(report.findings)} findings, {spent:.1f} s of processor time"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
