"""Report of a failing test: the first lines and the record of each of its sandboxes, and a document that repeats the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mockserver.contract.text import printable
from mockserver.pytest_plugin import options, trace
from mockserver.pytest_plugin.ownership import SandboxOwnership
from mockserver.pytest_plugin.reported_run import ReportedRun, reported_run
from mockserver.scenario import documents
from mockserver.testing.report.failures import describe
from mockserver.testing.report.folder import (
    folder_for_documents,
    make_folder,
    shown_path,
    write_file,
)
from mockserver.testing.report.notes import has_notes
from mockserver.testing.runs.findings import ReportOfFindings
from mockserver.testing.sandbox import Sandbox

_SANDBOXES_MAX = 3  # of one test; of more, as under `@given`, the last one is that of the failure


def add_report_sections(
    item: pytest.Item,
    report: pytest.TestReport,
    raised: pytest.ExceptionInfo[BaseException] | None,
    ownership: SandboxOwnership,
) -> None:
    """Add a section for each sandbox of the test, and properties for JUnit XML; never an error of its own."""
    report.sections.extend(sections(item, raised.value if raised else None, ownership))


def sections(
    item: pytest.Item, failure: BaseException | None, ownership: SandboxOwnership
) -> Iterator[tuple[str, str]]:
    """Yield title and text for each sandbox of the test; of many only for the latest."""
    sandboxes = ownership.sandboxes_of_test
    reported = sandboxes if len(sandboxes) <= _SANDBOXES_MAX else sandboxes[-1:]
    for place, sandbox in enumerate(reported):
        own = failure if sandbox is reported[-1] else None
        title = "mockserver" if len(sandboxes) == 1 else f"mockserver {sandbox.id}"
        try:
            lines = list(_lines(item, sandbox, place, own, ownership))
        except Exception as problem:  # noqa: BLE001 - a report must not hide the failure that it is about
            lines = [f"no report of {sandbox.id}: {type(problem).__name__}: {problem}"]
        yield title, printable("\n".join(lines), keep="\n")
    if len(sandboxes) > len(reported):
        yield "mockserver", f"this is the last of {len(sandboxes)} sandboxes that the test has created"


def _lines(
    item: pytest.Item, sandbox: Sandbox, place: int, failure: BaseException | None, ownership: SandboxOwnership
) -> Iterator[str]:
    run = reported_run(item, sandbox, place, ownership, describe(failure), failure)
    if not (run.views.name == "self.mockserver" and has_notes(failure)):  # else the report is part of the error above
        yield from run.report.summary
        yield from run.report.sections
    page = sandbox._backend.page_url
    if page is not None:
        yield f"while the sandbox is open: {page}"
    folder = home(item.config)
    if folder is None or not run.document.get("calls"):
        return
    yield from filter(None, [run.document.get("summary")])  # set if the document is not the whole run
    replay = ""
    try:
        replay = _write(item, folder, run)
    except OSError as problem:
        yield f"no replay document was written: {type(problem).__name__}: {problem}"
    else:
        yield f"to repeat its calls, without the client: mockserver replay-calls {replay}"
        yield f"to run the client on the same initial state: @pytest.mark.mockserver(scenario={replay!r})"
    yield trace.write(item, folder, run, replay)


def _write(item: pytest.Item, folder: Path, run: ReportedRun) -> str:
    """Write the document that repeats the run, and its calls as a HAR; return the path of the former."""
    root = item.config.rootpath
    file = write_file(folder / f"{run.file}.yaml", root, documents.dump(run.document).encode())
    write_file(folder / f"{run.file}.har", root, run.har())
    item.user_properties.append(("mockserver_replay", file))
    return file


def write_documents(config: pytest.Config, report: ReportOfFindings[Any]) -> None:
    """Write a document for each finding of a report, whose path is in the report then."""
    folder = home(config)
    if folder is None or not report.findings:
        return
    with suppress(OSError):  # the documents themselves fail by the same cause
        make_folder(folder, config.rootpath)
    report.try_to_write_documents(shown_path(folder))


def home(config: pytest.Config) -> Path | None:
    """Return the folder for the files of failing tests; None if the run writes none."""
    return folder_for_documents(options.run_option(config, "failures-dir"), config.rootpath)
