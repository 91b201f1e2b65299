"""
Examples per second of one state machine: around the mock in process, over its socket, and around a bare dict.

`python -m tests.benchmarks.machines` prints them; the machine, its rules and its draws are the same in all three.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPConnection
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from mockserver import MockServer
from mockserver.testing.machine import INVARIANTS, GatewayMachine

EXAMPLES, STEPS = 100, 20
ROUNDS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
Call = Callable[[str, str, Any], Mapping[str, Any]]
_AIMLESS = ("no-clone", "no-duplicate-execution", "no-duplicate-send", "no-restart-of-ended", "audience-on-platform")
_RUNS = st.runner().flatmap(lambda self: st.sampled_from(self.campaigns))


class Rules:
    """What is done in all of them; `call` makes a request and answers its JSON."""

    call: Call

    def begin(self) -> None:
        self.campaigns: list[str] = []

    @rule(cadence=st.integers(1, 600))
    def create(self, cadence: int) -> None:
        name = f"Campanha {len(self.campaigns)}"
        body = {"name": name, "platform": "chatapp", "templateId": "template_internal", "cadence": cadence}
        self.campaigns.append(self.call("POST", "/v1/campaigns", body)["campaignId"])

    @precondition(lambda self: self.campaigns)
    @rule(campaign=_RUNS)
    def start(self, campaign: str) -> None:
        self.call("POST", f"/v1/campaigns/{campaign}/start", {})

    @precondition(lambda self: self.campaigns)
    @rule(campaign=_RUNS)
    def read(self, campaign: str) -> None:
        assert self.call("GET", f"/v1/campaigns/{campaign}", None)["id"] == campaign

    @rule()
    def list(self) -> None:
        assert len(self.call("GET", "/v1/campaigns", None)["campaigns"]) == len(self.campaigns)


class OnDict(Rules, RuleBasedStateMachine):
    """No HTTP and no mock: what Hypothesis itself takes."""

    def __init__(self) -> None:
        super().__init__()
        self.begin()
        self.rows: dict[str, dict[str, Any]] = {}

    def call(self, method: str, path: str, body: Any) -> Mapping[str, Any]:
        if path == "/v1/campaigns" and method == "POST":
            campaign_id = f"campaign_{len(self.rows)}"
            self.rows[campaign_id] = {"id": campaign_id, "status": "draft", **body}
            return {"campaignId": campaign_id}
        if path == "/v1/campaigns":
            return {"campaigns": list(self.rows.values())}
        row = self.rows[path.split("/")[3]]
        if method == "POST":
            row["status"] = "processing"
        return row


class OnMock(Rules, GatewayMachine):
    """Around the mock, without actors or faults, so that Hypothesis draws the same rules."""

    time = end_user = operator = False
    faults = ()
    failures = None

    def make_client(self) -> None:
        self.begin()
        self.key = self.sandbox.secret_key

    def call(self, method: str, path: str, body: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.sandbox.call(method, path, json=body).json()
        return found


class Judged(OnMock):
    """The same with the invariants on that its random calls satisfy."""

    invariants = tuple(set(INVARIANTS) - set(_AIMLESS))  # type: ignore[assignment]


class OnSocket(OnMock):
    """Over the socket, on one persistent connection per example."""

    def make_client(self) -> None:
        super().make_client()
        parts = urlsplit(self.sandbox.base_url)
        self.prefix, self.wire = parts.path, HTTPConnection(parts.hostname or "", parts.port)

    def call(self, method: str, path: str, body: Any) -> Mapping[str, Any]:
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        self.wire.request(method, self.prefix + path, None if body is None else json.dumps(body), headers)
        found: Mapping[str, Any] = json.loads(self.wire.getresponse().read())
        return found

    def teardown(self) -> None:
        self.wire.close()
        super().teardown()


def per_second(run: Callable[[], object]) -> float:
    """Examples per second of the best of three runs."""
    best = 0.0
    for _ in range(3):
        begun = perf_counter()
        run()
        best = max(best, EXAMPLES / (perf_counter() - begun))
    return best


def main() -> None:
    with MockServer() as server:
        floor = per_second(lambda: run_state_machine_as_test(OnDict, settings=ROUNDS))
        print(f"{EXAMPLES} examples of up to {STEPS} steps, examples per second")
        print(f"{'a bare dict':<32}{floor:8.1f}")
        for name, machine in (
            ("in process", OnMock),
            ("in process, invariants on", Judged),
            ("over the socket", OnSocket),
        ):
            found = per_second(partial(machine.check, server, settings=ROUNDS))
            print(f"{name:<32}{found:8.1f}{found / floor:8.0%}")


if __name__ == "__main__":
    main()
