"""The permissions of a run: what it sends without one, what it cleans up, how fast, and how long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.probe.context import RunContext
from mockserver.probe.run import run_probes
from mockserver.probe.transport import RateLimiter
from mockserver.testing.transports.in_process import Response
from tests.probe.test_learning import HOSTILE
from tests.probe.test_violations import ModifiedService, Sent
from tests.probe.worlds import FakeClock, run, settings, world


class Watched:
    """Notes every call on its way, and when it went out."""

    def __init__(self, sandbox: ModifiedService | Sandbox, clock: FakeClock | None = None, takes_s: float = 0) -> None:
        self.sandbox, self.clock, self.takes_s = sandbox, clock, takes_s
        self.calls: list[tuple[str, str]] = []
        self.times_s: list[float] = []

    def call(self, method: str, path: str, **rest: Any) -> Response:
        self.calls.append((method, path))
        if self.clock is not None:
            self.times_s.append(self.clock())
            self.clock.now_s += self.takes_s
        return self.sandbox.call(method, path, **rest)

    def posts(self) -> set[str]:
        return {path for method, path in self.calls if method != "GET"}


def _statuses(sandbox: Sandbox) -> dict[str, str]:
    rows = sandbox.call("GET", "/v1/campaigns").json()["campaigns"]
    return {row["name"]: row["status"] for row in rows if row["name"].lower().startswith("mockserver probe")}


@pytest.mark.parametrize("chosen", [{}, HOSTILE], ids=["default", "hostile"])
def test_without_permission_to_write_the_preview_is_the_only_post(mockserver_server: MockServer, chosen: JSON) -> None:
    with world(mockserver_server, chosen) as sandbox:
        watched = Watched(sandbox)
        before = sandbox.call("GET", "/v1/campaigns").body
        run(sandbox, watched, allow_writes=False, allow_sends=False)
        after = sandbox.call("GET", "/v1/campaigns").body

    assert {"/v1/campaigns/audience-preview"} == watched.posts()
    assert {"GET", "POST"} == {method for method, _ in watched.calls}
    assert before == after


def test_without_leave_to_send_nothing_is_started(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)
    run(sandbox, watched, allow_sends=False)

    assert [] == [path for path in watched.posts() if path.endswith("/start")]
    assert "/v1/campaigns" in watched.posts()


@pytest.mark.parametrize("operation", ["createCampaign", "startCampaign", "createConnectionSession", "uploadMedia"])
def test_a_probe_that_writes_without_leave_is_stopped_before_the_call(sandbox: Sandbox, operation: str) -> None:
    clock, watched = FakeClock(), Watched(sandbox)
    context = RunContext(watched, settings(sandbox, allow_writes=False), RateLimiter(10, clock, clock.sleep))
    with pytest.raises(PermissionError, match="--allow-writes"):
        context.call(operation, *(["campaign_1"] if operation == "startCampaign" else []))

    assert [] == watched.calls


def test_only_campaigns_without_recipients_are_started(sandbox: Sandbox) -> None:
    run(sandbox)
    campaigns = sandbox.call("GET", "/v1/campaigns").json()["campaigns"]
    own = [row["id"] for row in campaigns if row["name"].startswith("mockserver probe")]
    details = [sandbox.call("GET", f"/v1/campaigns/{id}").json() for id in own]

    targets = [execution["targetCount"] for detail in details for execution in detail["executions"]]
    assert targets
    assert {0} == set(targets)


def test_a_start_with_recipients_is_canceled_immediately_and_ends_the_run(sandbox: Sandbox) -> None:
    def lose_filters(sent: Sent) -> Sent:
        if (sent.method, sent.path) != ("POST", "/v1/campaigns") or not isinstance(sent.json, dict):
            return sent
        return sent._replace(body=json.dumps({k: v for k, v in sent.json.items() if k != "filters"}).encode())

    watched = Watched(ModifiedService(sandbox, lose_filters))
    probed = run(sandbox, watched)
    made = _statuses(sandbox)

    started = [path for path in watched.posts() if path.endswith("/start") and "mockserver_probe" not in path]
    assert 1 == len(started)
    assert "started with targets" in probed.run.stopped
    assert any("it was canceled immediately" in line for line in probed.run.not_cleaned_up)
    assert {"canceled"} == set(made.values())


@pytest.mark.parametrize(
    ("given", "probe", "reason"),
    [
        ({"other_key": ""}, "other tenant", "it needs --other-key"),
        ({"other_key": "the same"}, "other tenant", "two keys of one tenant"),
        ({"chat": "chat_of_nobody"}, "messages", "got 404 CHAT_NOT_FOUND for "),
        ({"public_key": "pk_of_nobody_at_all"}, "", ""),
    ],
)
def test_a_wrong_key_or_id_is_not_a_violation(sandbox: Sandbox, given: JSON, probe: str, reason: str) -> None:
    changes: JSON = {name: sandbox.secret_key if value == "the same" else value for name, value in given.items()}
    probed = run(sandbox, allow_writes=False, allow_sends=False, **changes)

    assert reason in probed.run.incomplete.get(probe, "")
    assert [] == probed.broken


def test_campaigns_of_a_run_have_an_unmistakable_name_and_are_canceled(sandbox: Sandbox) -> None:
    probed = run(sandbox)
    made = _statuses(sandbox)

    assert 6 <= len(made)
    assert {"canceled", "completed"} == set(made.values())
    assert all("t35t" in name.lower() for name in made)
    assert () == probed.run.not_cleaned_up
    assert 0 < probed.run.sessions


def test_drafts_that_a_service_does_not_cancel_are_named(mockserver_server: MockServer) -> None:
    with world(mockserver_server, {"cancel-draft": "unprocessable"}) as sandbox:
        probed = run(sandbox)
        made = _statuses(sandbox)

    drafts = [name for name, status in made.items() if status == "draft"]
    assert 0 < len(drafts) <= 8
    assert len(drafts) == len(probed.run.not_cleaned_up)
    assert all(any(repr(name) in line for line in probed.run.not_cleaned_up) for name in drafts)


@pytest.mark.parametrize("rate", [10, 25])
def test_the_rate_per_second_and_per_minute_is_respected(sandbox: Sandbox, rate: int) -> None:
    clock = FakeClock()
    watched = Watched(sandbox, clock)
    rate_limiter = RateLimiter(rate, clock, clock.sleep)
    probed = run_probes(watched, settings(sandbox), rate_limiter)

    gaps = [later - earlier for earlier, later in zip(watched.times_s, watched.times_s[1:], strict=False)]
    assert 1 / rate - 1e-9 <= min(gaps)
    assert 60 > rate_limiter.elapsed_s
    assert not probed.stopped


def test_a_slow_service_ends_the_run_within_the_minute_and_is_still_cleaned(sandbox: Sandbox) -> None:
    clock = FakeClock()
    watched = Watched(sandbox, clock, takes_s=0.35)
    rate_limiter = RateLimiter(10, clock, clock.sleep)
    probed = run_probes(watched, settings(sandbox), rate_limiter)
    made = _statuses(sandbox)

    assert "were over" in probed.stopped
    assert 60 > rate_limiter.elapsed_s
    assert "draft" not in made.values()
    assert "were over" in probed.incomplete["unapproved template"]


def test_the_run_ends_if_a_service_does_not_answer(sandbox: Sandbox) -> None:
    class Silent:
        calls = 0

        def call(self, method: str, path: str, **rest: Any) -> None:
            self.calls += 1
            raise ConnectionError("no response (TimeoutError)")

    silent = Silent()
    probed = run(sandbox, silent)

    assert "GET /v1/campaigns: no response (TimeoutError)" in probed.run.stopped
    assert 3 == silent.calls
    assert {"no-answer": 3} == probed.run.recording.troubles


def test_a_refused_key_ends_the_run_immediately(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)
    probed = run(sandbox, watched, key="sk_of_somebody_else")

    assert "the service refused the key: API_KEY_INVALID" == probed.run.stopped
    assert 1 == len(watched.calls)


def test_a_retry_after_is_respected_up_to_a_few_seconds() -> None:
    clock = FakeClock()
    rate_limiter = RateLimiter(10, clock, clock.sleep)
    rate_limiter.back_off(3600)
    rate_limiter.wait()

    assert [5.0] == clock.sleeps
