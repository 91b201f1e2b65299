"""
The traces of tests: HTML files in `.mockserver/traces`, with links in pytest-html, Allure and the summary of a CI job.

The plugin imports this module only if `--mockserver-trace` asks for traces.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from mockserver.contract.text import printable
from mockserver.pytest_plugin.reported_run import ReportedRun
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.report.failures import frames, message
from mockserver.testing.report.folder import FOLDER, write_file

_FOLDER: Final = Path(FOLDER, "traces")
_PROPERTY: Final = "mockserver_trace"
_NAME: Final = "mockserver trace"
_FILES: pytest.StashKey[list[str]] = pytest.StashKey()  # of the current phase


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
    item.stash.setdefault(_FILES, []).append(file)
    item.user_properties.append((_PROPERTY, file))
    return f"to see it step by step: {file}; mockserver open {file} serves its last state"


def _traced(run: ReportedRun, replay: str, har: str) -> TracedRun:
    backend = run.sandbox._backend
    hosted = getattr(backend, "hosted", None)  # None for a sandbox on another server
    return TracedRun(
        name=run.name,
        is_failed=run.described is not None,
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


def add_links(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add links to the traces of this phase to the report, and to the reports of pytest-html and Allure."""
    files = item.stash.get(_FILES, [])
    item.stash[_FILES] = []
    page, with_allure = item.config.getoption("htmlpath", None), item.config.getoption("allure_report_dir", None)
    for file in files:
        report.user_properties.append((_PROPERTY, file))
        if page:
            extras = import_module("pytest_html").extras
            link = Path(os.path.relpath(file, Path(page).absolute().parent)).as_posix()
            report.extras = [*getattr(report, "extras", []), extras.url(link, name=_NAME)]  # type: ignore[attr-defined]
        if with_allure:
            allure: Any = import_module("allure")
            allure.attach.file(file, name=_NAME, attachment_type=allure.attachment_type.HTML)


def write_job_summary(reporter: pytest.TerminalReporter) -> None:
    """Append the failed tests that have a trace to the Markdown summary of a GitHub job, if this is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    lines: list[str] = []
    for report in (*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())):
        files = [_code(str(value)) for name, value in report.user_properties if name == _PROPERTY]
        cause = next((told.partition("\n")[0] for title, told in report.sections if title.startswith("mockserver")), "")
        if files:
            lines += [f"- {_code(report.nodeid)}: {_code(cause)}  ", f"  trace {', '.join(files)}"]
    if not path or not lines:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write("\n".join(["### Failed against mockserver", "", *lines, "", ""]))
    except OSError as problem:
        reporter.write_line(f"mockserver: no summary of the job was written: {problem}")


def _code(text: str) -> str:
    """Return the text as code of Markdown, in which nothing is interpreted."""
    return f"`{printable(text).replace('`', chr(39))}`"
