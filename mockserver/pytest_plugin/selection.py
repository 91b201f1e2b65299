"""
Selection of single runs of a sweep over all choices, which no collection has, by the id that an earlier run has printed.

1. The ids of the command line, and for `--lf` and `--ff` those of the last failures, may have an option as a parameter.
2. Under xdist the process that collects the reports restores the ids of these runs, since a worker may report only under
   the id of a collected test.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator
from typing import Any

import pytest

from mockserver.pytest_plugin.explore import is_controller


def register(config: pytest.Config) -> None:
    """Register the plugins of this module that the run needs."""
    nodeids = selected_ids(config)
    if nodeids:
        config.pluginmanager.register(SelectedRuns(nodeids), "mockserver-selected-runs")
    if is_controller(config):
        config.pluginmanager.register(ReportsOfWorkers(), "mockserver-reports-of-workers")


def selected_ids(config: pytest.Config) -> set[str]:
    """Return the ids whose parameter may be an option, of the command line and, if it asks for them, the last failures."""
    named = {_from_root(config, argument) for argument in config.args if _may_be_option(argument)}
    if config.getoption("lf", False) or config.getoption("failedfirst", False):
        named.update(filter(_may_be_option, config.cache.get("cache/lastfailed", {})))
    return named


def _may_be_option(nodeid: str) -> bool:
    return nodeid.endswith("]") and "=" in nodeid.partition("[")[2]


def _from_root(config: pytest.Config, argument: str) -> str:
    path, mark, names = argument.partition("::")
    try:
        relative = os.path.relpath(config.invocation_params.dir / path, config.rootpath)
    except ValueError:  # on another drive of Windows
        return argument
    return f"{relative.replace(os.sep, '/')}{mark}{names}"


class SelectedRuns:
    """Adds the runs with these ids to the collection. Lifetime: that of the session."""

    def __init__(self, nodeids: Collection[str]) -> None:
        self._nodeids = nodeids

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pycollect_makeitem(self) -> Generator[None, Any, Any]:
        made = yield
        if not isinstance(made, list) or not any(item.get_closest_marker("mockserver_sweep") for item in made):
            return made
        from mockserver.pytest_plugin import sweep

        return [*made, *(run for item in made for run in sweep.selected_runs(item, self._nodeids))]


class ReportsOfWorkers:
    """Restores the ids of the reports of sweeps, which xdist's workers send under those of their tests."""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        nodeid = getattr(report, "mockserver_nodeid", None)
        if nodeid is not None:
            report.nodeid = nodeid
            self._session.testscollected += report.when == "setup"
