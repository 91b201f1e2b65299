"""The run of one sandbox of a test, as its report, its document and its trace read it."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, replace
from functools import cached_property

import pytest

from mockserver._json import JSON
from mockserver.pytest_plugin import conduct
from mockserver.pytest_plugin.ownership import SandboxOwnership
from mockserver.report.run import text
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.testing.report.folder import file_name
from mockserver.testing.report.snapshots import UndoneRun, snapshot
from mockserver.testing.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """
    The run of one sandbox of a test, which its report, document and trace are made of.

    Attributes:
        name: Of the test.
        sandbox: The sandbox.
        file: The name of the run's files, without an ending.
        views: What the report reads.
        described: The failure of the test as the report reads it; None for a test that has passed.
        failure: The exception that has ended the test, for the last sandbox of one that failed; else None.
        undone: The run that was undone since, if this is that one.
    """

    name: str
    sandbox: Sandbox
    file: str
    views: SandboxSnapshot
    described: Failure | None
    failure: BaseException | None
    undone: UndoneRun | None

    @cached_property
    def report(self) -> text.Report:
        """Its report."""
        return text.report(self.views, self.described)

    @cached_property
    def document(self) -> JSON:
        """The document that repeats it."""
        if self.undone is None:
            return self.sandbox.log.replay_document(self.name)
        return {**self.undone.document, "scenario": self.name}

    def har(self) -> bytes:
        """Return its calls as a HAR."""
        return json.dumps(self.undone.har if self.undone else self.sandbox.log.har(), indent=1).encode()


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
        name=item.nodeid,
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
        undone=undone,
    )
