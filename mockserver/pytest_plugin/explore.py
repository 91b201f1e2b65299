"""
Explore in pytest: its mark and options, and what the fixture `mockserver` does in a test that is explored.

`explore_runs` runs the test again and again; each start of pytest imports this module, which therefore is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.pytest_plugin import options
from mockserver.testing.settings import Layer

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

MARK = "mockserver_explore"
EXPLORATION: pytest.StashKey[Any] = pytest.StashKey()  # of the item's `explore_runs.ItemExploration`
INNER_RUN: pytest.StashKey[bool] = pytest.StashKey()  # of an item that runs inside another item's call
RESULTS = "mockserver-explore-results"


def register_results(config: pytest.Config) -> None:
    """Register the plugin that prints and writes the results, if it is not registered yet."""
    if not config.pluginmanager.has_plugin(RESULTS):
        from mockserver.pytest_plugin.explore_results import ExploreResults

        config.pluginmanager.register(ExploreResults(config), RESULTS)


def is_controller(config: pytest.Config) -> bool:
    """Return True in the process of xdist that collects the reports of its workers and runs no test."""
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")


def configure(config: pytest.Config) -> None:
    """Register the results where no collection does: in the process that runs no test, and for a file."""
    if config.getoption("mockserver_explore") and options.run_option(config, "url") is not None:
        raise pytest.UsageError("--mockserver-explore: got --mockserver-url too; expected sandboxes in this process")
    is_written = any(config.getoption(f"mockserver_explore_{form}") is not None for form in ("json", "html"))
    if is_controller(config) or is_written:
        register_results(config)


def is_wanted(config: pytest.Config, items: Iterable[pytest.Item]) -> bool:
    """Return True if a test of the run is explored."""
    return config.getoption("mockserver_explore") or any(item.get_closest_marker(MARK) is not None for item in items)


def is_inner(item: pytest.Item) -> bool:
    """Return True for a run inside another item's call, whose results belong to the exploration alone."""
    return INNER_RUN in item.stash


def layers(item: pytest.Item) -> Iterator[Layer]:
    """Yield the settings of a further run: its clock is frozen at the instant of the first run."""
    exploration = item.stash.get(EXPLORATION, None)
    if exploration is not None and exploration.now is not None:
        yield Layer("explore", {"now": exploration.now})


def prepared(item: pytest.Item, sandbox: Sandbox) -> AbstractContextManager[Any]:
    """Return a context manager that closes the sandbox of a test, or prepares it for a run that records it before."""
    exploration = item.stash.get(EXPLORATION, None)
    if exploration is None:
        return sandbox
    context: AbstractContextManager[None] = exploration.own(sandbox)
    return context
