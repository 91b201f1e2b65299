"""The arithmetic of what many jobs need, as the page on shared use has it."""

from __future__ import annotations

from tests.benchmarks.fleet import UTILIZATION, Figures, Job, need

FIGURES = Figures(per_second=10_000, shard_us=100, proxy_us=50)


def test_shards_and_proxy_follow_from_the_time_of_a_call_and_memory_from_the_sandboxes() -> None:
    result = need(1_000, Job(calls_per_second=13, sandboxes=2, sandbox_mb=0.5), FIGURES, 100)

    assert 13_000 == result.calls_per_second
    assert 2 == result.shards  # 1.3 cores, loaded by 0.7
    assert 100 + 1_000 * 2 * 0.5 / 2 == result.shard_mb
    assert 0.65 / UTILIZATION == result.proxy_cores


def test_one_job_needs_one_shard() -> None:
    assert 1 == need(1, Job(0.1, 1, 0.5), FIGURES, 100).shards
