"""The mark of a test that returns clients: they run at once, in every order of their calls that matters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from mockserver._settings import INTERLEAVE_NAMES
from mockserver.pytest_plugin import failure_report, options
from mockserver.pytest_plugin.progress import progress
from mockserver.testing.runs.orders import interleaving
from mockserver.testing.settings import NAMES

if TYPE_CHECKING:
    from mockserver.pytest_plugin.ownership import SandboxOwnership
    from mockserver.testing.runs.orders import InterleaveReport
    from mockserver.testing.server import MockServer

MARK = "mockserver_interleave"


class InterleavedTests:
    """Runs the tests with the mark. Lifetime: that of the session."""

    def __init__(self, ownership: pytest.StashKey[SandboxOwnership]) -> None:
        self._ownership = ownership

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Call the test for its clients, and interleave them; fail for a finding."""
        if pyfuncitem.get_closest_marker(MARK) is None:
            return None
        report, wrong = None, ""
        try:
            report = _report(pyfuncitem)
        except ValueError as refusal:
            wrong = f"@pytest.mark.{MARK}: {refusal}"
        finally:
            stash = pyfuncitem.config.stash
            if self._ownership in stash:  # the sandboxes of the runs are not those of the test
                stash[self._ownership].start_test()
        if report is None:  # outside of the handler, or the report would have both exceptions
            pytest.fail(wrong, pytrace=False)
        if report.failed:
            pytest.fail(f"interleave: {report.text()}", pytrace=False)
        return True


def _report(item: pytest.Function) -> InterleaveReport:
    """Return the report of a test; ValueError for a wrong mark, or a test that returns no clients."""
    if options.run_option(item.config, "url") is not None:
        raise ValueError("got --mockserver-url; expected sandboxes in this process")
    arguments = options.mark_arguments(item, MARK, INTERLEAVE_NAMES)
    settings: dict[str, Any] = {}
    for mark in reversed([*item.iter_markers("mockserver")]):  # the nearest takes precedence
        settings.update((name, value) for name, value in mark.kwargs.items() if name in NAMES)
    server: MockServer = item._request.getfixturevalue("mockserver_server")
    search = interleaving(
        server.sandbox,
        clients=_clients(item),
        settings=settings,
        test=item.nodeid,
        line=f"@pytest.mark.{MARK}({'..., ' if arguments else ''}",
        **arguments,
    )
    with progress(item.config) as show:
        report = search.run(show)
    failure_report.write_documents(item.config, report)
    return report


def _clients(item: pytest.Function) -> Mapping[str, Any]:
    names = item._fixtureinfo.argnames
    returned: Any = item.obj(**{name: item.funcargs[name] for name in names})
    if inspect.iscoroutine(returned):
        returned.close()
        raise ValueError("got a coroutine; expected a function that returns clients, which may be coroutine functions")
    if not isinstance(returned, Mapping) or not all(map(callable, returned.values())):
        raise ValueError(f"got a test that returns {type(returned).__name__}; expected clients: functions by name")
    return returned
