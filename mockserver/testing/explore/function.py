"""The exploration of a Python function: one fresh sandbox per run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from mockserver.testing.explore.exploration import Exploration
from mockserver.testing.explore.options import ExploreOptions
from mockserver.testing.explore.report import ExploreReport
from mockserver.testing.sandbox import Sandbox

Explored = Callable[[Sandbox], Any]


def explore(
    make_sandbox: Callable[[], Sandbox], function: Explored, options: ExploreOptions, test: str
) -> ExploreReport:
    """
    Run a function at each placement, and return the report.

    Args:
        make_sandbox: Returns a fresh sandbox of this process; each with the same seed and the same instant.
        function: The test: it takes a sandbox and raises if the client fails. A coroutine function runs on a loop of its own.
        options: What to try.
        test: The name in the report.
    """
    exploration = Exploration(options, test=test)
    for placement in exploration.placements():
        with make_sandbox() as sandbox:
            exploration.prepare(sandbox, placement)
            exploration.record(placement, sandbox, _run(function, sandbox))
    return exploration.report()


def _run(function: Explored, sandbox: Sandbox) -> BaseException | None:
    """Return the exception with which the function ends; an interrupt by the user ends the exploration."""
    try:
        result = function(sandbox)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
        return failure
    return None
