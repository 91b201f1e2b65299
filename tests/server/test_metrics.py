"""`GET /_mock/metrics`: the names and figures, as Prometheus parses them."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mockserver.server.control import webhooks
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from tests.clients.operations import SESSIONS
from tests.server.hosts import host_of, key_of, send

NAMES = {
    "mockserver_sandboxes": "gauge",
    "mockserver_evictions": "counter",
    "mockserver_calls": "counter",
    "mockserver_deliveries": "counter",
    "mockserver_memory_bytes": "gauge",
}


@pytest.fixture
def host() -> SandboxHost:
    return host_of("demo")


def call(host: SandboxHost, method: str, path: str, hosted: HostedSandbox | None = None, **headers: str) -> Any:
    prefix, key = (hosted.prefix, hosted.tenant.secret_key) if hosted else ("", key_of(host))
    return send(host, method, prefix + path, x_api_key=key, **headers)


def samples(host: SandboxHost) -> dict[tuple[str, tuple[str, ...]], float]:
    text = call(host, "GET", "/_mock/metrics").body.decode()
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_metric_has_its_name_and_kind(host: SandboxHost) -> None:
    response = call(host, "GET", "/_mock/metrics")

    assert "text/plain; charset=utf-8" == dict(response.headers)["Content-Type"]
    assert NAMES == {each.name: each.type for each in text_string_to_metric_families(response.body.decode())}


def test_calls_are_counted_by_operation_and_status_and_no_reset_or_end_takes_them_back(host: SandboxHost) -> None:
    hosted = host.create(SandboxConfig())
    for _ in range(2):
        call(host, "GET", "/v1/campaigns", hosted)
    call(host, "GET", "/v1/campaigns/none", hosted)
    hosted.reset()
    host.close(hosted.id)
    call(host, "GET", "/v1/nowhere")

    counted = samples(host)

    assert 2 == counted["mockserver_calls_total", ("listCampaigns", "200")]
    assert 1 == counted["mockserver_calls_total", ("readCampaign", "404")]
    assert 1 == counted["mockserver_calls_total", ("none", "404")]


def test_attempts_at_deliveries_are_counted_by_the_state_that_they_lead_to(host: SandboxHost) -> None:
    hosted = host.create(SandboxConfig(clock={"freeze": "2026-03-01T12:00:00Z"}))
    statuses = iter([500, 204])
    webhooks.register(hosted, lambda request: next(statuses), "tenant_default", ("entrypoints",), None, "/own")
    call(host, "POST", SESSIONS, hosted, content_type="application/json")
    session_id = next(iter(hosted.tenant.sessions))
    call(host, "POST", f"/_mock/sessions/{session_id}/expire", hosted)
    hosted.dispatch.advance(until_idle=True)

    counted = samples(host)

    assert [1, 1] == [counted["mockserver_deliveries_total", (state,)] for state in ("waiting", "delivered")]


def test_sandboxes_and_bytes_are_those_of_now(host: SandboxHost) -> None:
    host.create(SandboxConfig())
    before = samples(host)
    call(host, "GET", "/v1/campaigns")
    after = samples(host)

    assert 2 == before["mockserver_sandboxes", ()]
    assert before["mockserver_memory_bytes", ()] < after["mockserver_memory_bytes", ()]
