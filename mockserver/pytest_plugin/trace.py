"""
The traces of tests: HTML files in `.mockserver/traces`.

The plugin imports this module only if `--mockserver-trace` asks for traces.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from mockserver.contract.text import printable
from mockserver.pytest_plugin.reported_run import ReportedRun
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.report.failures import frames, message
from mockserver.testing.report.folder import FOLDER, write_file

_FOLDER: Final = Path(FOLDER, "traces")


def write(item: pytest.Item, run: ReportedRun, replay: str = "") -> str:
    """
    Write the trace of a sandbox, and return a line about it; never an error of its own.

    Args:
        replay: The path of the document that repeats the run; empty if it was not written.
    """
    try:
        root, har = item.config.rootpath, f"{run.file}.har"
        page = render(_traced(run, replay, har))
        file = write_file(root / _FOLDER / f"{run.file}.html", root, page)
        write_file(root / _FOLDER / har, root, run.har())
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
