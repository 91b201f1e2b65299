"""The traces of tests: HTML files beside the documents that repeat their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.contract.text import printable
from mockserver.pytest_plugin.reported_run import ReportedRun
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.report.failures import frames, message
from mockserver.testing.report.folder import write_file


def write(item: pytest.Item, folder: Path, run: ReportedRun, replay: str) -> str:
    """
    Write the trace of a sandbox, and return a line about it; never an error of its own.

    Args:
        replay: The path of the document in this folder that repeats the run, with a HAR beside it; empty if it was not written.
    """
    try:
        har = f"{run.file}.har" if replay else ""
        file = write_file(folder / f"{run.file}.html", item.config.rootpath, render(_traced(run, replay, har)))
    except Exception as problem:  # noqa: BLE001 - a trace must not hide the failure that it is about
        return printable(f"no trace was written: {type(problem).__name__}: {problem}")
    item.user_properties.append(("mockserver_trace", file))
    return f"to see it step by step: {file}"


def _traced(run: ReportedRun, replay: str, har: str) -> TracedRun:
    backend = run.sandbox._backend
    hosted = getattr(backend, "hosted", None)  # None for a sandbox on another server
    return TracedRun(
        name=run.name,
        snapshot=run.views,
        report=run.report,
        document=run.document,
        secrets=[backend.secret_key, backend.public_key, *(hosted.sandbox.secrets() if hosted else ())],
        base_url=hosted.base_url if hosted else backend.base_url(),
        failure=message(run.failure),
        frames=frames(run.failure),
        replay=replay,
        har=har,
    )
