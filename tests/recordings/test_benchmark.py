"""The benchmark's recording is one of a service that breaks nothing."""

from __future__ import annotations

from pathlib import Path

from mockserver.report.recording import RecordingReport
from mockserver.trace.reading import read_recording
from tests.recordings.benchmark import MEGABYTE, write


def test_the_benchmark_reads_calls_and_leaves_out_the_rest(tmp_path: Path) -> None:
    count = write(tmp_path / "large.har", MEGABYTE)
    report = RecordingReport(read_recording(tmp_path / "large.har"))

    assert (count, []) == (len(report.recording.exchanges) + report.recording.left_out["other"], report.service.broken)
    assert () == report.client.findings
