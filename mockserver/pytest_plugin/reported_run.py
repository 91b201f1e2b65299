"""The run of one sandbox of a test, as its report, its document and its trace read it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from mockserver._json import JSON, View
from mockserver.pytest_plugin import conduct
from mockserver.pytest_plugin.ownership import SandboxOwnership
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.testing.report.folder import file_name
from mockserver.testing.report.snapshots import UndoneRun, snapshot
from mockserver.testing.sandbox import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """
    The run of one sandbox of a test, which its report, document and trace are made of.

    Attributes:
        sandbox: The sandbox.
        file: The name of the run's files, without an ending.
        views: What the report reads.
        described: The failure of the test as the report reads it; None for a test that has passed.
        failure: The exception that has ended the test, for the last sandbox of one that failed; else None.
        document: Repeats the run.
        undone: The run that was undone since, if this is that one.
    """

    sandbox: Sandbox
    file: str
    views: SandboxSnapshot
    described: Failure | None
    failure: BaseException | None
    document: JSON
    undone: UndoneRun | None

    def har(self) -> bytes:
        """Return its calls as a HAR."""
        return json.dumps(self.undone.har if self.undone else self.sandbox.log.har(), indent=1).encode()

    def journal(self) -> Sequence[View]:
        """Return the exchanges of its journal."""
        journal: JSON = self.undone.journal if self.undone else self.sandbox._backend.run("readJournal")
        exchanges: Sequence[View] = journal["exchanges"]
        return exchanges


def reported_run(
    item: pytest.Item,
    sandbox: Sandbox,
    place: int,
    ownership: SandboxOwnership,
    described: Failure | None = None,
    failure: BaseException | None = None,
) -> ReportedRun:
    """Return the run of a sandbox of the test, the `place`th of those that are reported."""
    undone = sandbox._undone_by(failure)
    views = undone.snapshot if undone else snapshot(sandbox._backend, sandbox.settings)
    return ReportedRun(
        sandbox=sandbox,
        file=f"{file_name(item.nodeid)}{f'.{place + 1}' if place else ''}",
        views=replace(
            views,
            name=ownership.name(item, sandbox),
            is_async=inspect.iscoroutinefunction(getattr(item, "obj", None)),
            calls_without_prefix=ownership.calls_without_prefix,
            run_ended=sandbox._run_ended,
            findings=() if conduct.mode(item) == "off" else views.findings,
        ),
        described=described,
        failure=failure,
        document={**undone.document, "scenario": item.nodeid} if undone else sandbox.log.replay_document(item.nodeid),
        undone=undone,
    )
