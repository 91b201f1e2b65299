"""The report of a sandbox for a test without the plugin."""

from __future__ import annotations

from mockserver.contract.text import printable
from mockserver.server.report import text
from mockserver.server.report.failure import in_words
from mockserver.testing.backend import Backend
from mockserver.testing.report.failures import describe
from mockserver.testing.report.snapshots import snapshot
from mockserver.testing.settings import Settings


def report_text(
    backend: Backend, settings: Settings, failure: BaseException | str | None, run_ended: str | None = None
) -> str:
    """Return the report as text, about an exception, the message of a test, or neither, and why the mock has ended it."""
    described = describe(failure) if isinstance(failure, BaseException) else in_words(failure) if failure else None
    summary, sections = text.report(
        snapshot(backend, settings)._replace(name="sandbox", run_ended=run_ended), described
    )
    return printable("\n".join([*summary, *sections]), keep="\n")
