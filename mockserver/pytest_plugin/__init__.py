"""
The pytest plugin: a fresh sandbox per test, its server, sweeps, and a report for each failing test.

Nothing heavy is imported before a test requests a fixture; `mockserver.testing` implements what the hooks call.
PYTEST_DONT_REWRITE: there is no assertion here, and pytest 8 warns where it finds the module imported already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.pytest_plugin.assert_rewrite import load_as_written

load_as_written()  # before any other import of this package

from mockserver.pytest_plugin import conduct, explore, options
from mockserver.testing.settings import NAMES, Layer, check_clock, did_you_mean, setting_error

if TYPE_CHECKING:
    from mockserver.coverage.coverage import Coverage
    from mockserver.pytest_plugin.ownership import SandboxOwnership
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer

_OF_A_MARK = (*NAMES, "conduct")
MARKERS = (
    f"mockserver(*, {', '.join(_OF_A_MARK)}): settings of this test's sandbox.",
    "mockserver_sweep(*names): run the test once for each option of these choices or families, or of those 'touched'.",
    f"mockserver_explore(*, {', '.join(explore.ARGUMENTS)}): run the test once for each fault at each of its calls.",
)
_OWNERSHIP: pytest.StashKey[SandboxOwnership] = pytest.StashKey()
_STOPPED: pytest.StashKey[list[tuple[str, str]]] = pytest.StashKey()  # the report of a test that Ctrl-C has stopped


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)
    conduct.pytest_addoption(parser)
    explore.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(conduct.ConductPlugin(config), conduct.NAME)
    if _may_select_runs(config):
        from mockserver.pytest_plugin import selection

        selection.register(config)
    explore.configure(config)
    if options.covers(config):
        from mockserver.pytest_plugin import coverage

        config.pluginmanager.register(coverage.CoveragePlugin(config), options.COVERAGE_PLUGIN)
    try:
        for layer in options.layers(config):  # an unknown option ends the run before any test, with the nearest name
            check_clock(layer)
        options.trace_mode(config)
    except ValueError as refusal:
        raise pytest.UsageError(str(refusal)) from None


def _may_select_runs(config: pytest.Config) -> bool:
    """Return True if the run may select single options of sweeps, or gets reports on them from xdist's workers."""
    is_cached = config.getoption("lf", False) or config.getoption("failedfirst", False)
    return bool(is_cached) or explore.is_controller(config) or any("=" in argument for argument in config.args)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse an unknown setting before the first test, with the nearest name."""
    for item in items:
        for marker in item.iter_markers("mockserver"):
            _check(item, marker)
    if any(map(_is_swept, items)):
        from mockserver.pytest_plugin import sweep

        config.pluginmanager.register(sweep.MarkCheck(), "mockserver-sweep")
    if explore.is_wanted(config, items):
        from mockserver.pytest_plugin.explore_runs import ExploreRuns

        explore.register_results(config)
        config.pluginmanager.register(ExploreRuns(config, _OWNERSHIP), "mockserver-explore-runs")


def _check(item: pytest.Item, marker: pytest.Mark) -> None:
    if marker.args:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.mockserver: got {marker.args!r}; expected keyword arguments only"
        )
    for name, value in marker.kwargs.items():
        error = _mark_error(name, value)
        if error:
            raise pytest.UsageError(f"{item.nodeid}: {error}")
    try:
        check_clock(Layer("@pytest.mark.mockserver", marker.kwargs))
    except ValueError as refusal:
        raise pytest.UsageError(f"{item.nodeid}: {refusal}") from None


def _mark_error(name: str, value: Any) -> str | None:
    """Return the error message for a setting of a mark, with the nearest name, or None."""
    if name not in _OF_A_MARK:
        known = ", ".join(_OF_A_MARK)
        return f"@pytest.mark.mockserver has no {name!r}; it has {known}{did_you_mean(name, _OF_A_MARK)}"
    if name == "conduct":
        error = conduct.problem(value)
        return f"conduct: {error}" if error else None
    return setting_error(name, value)


@pytest.hookimpl(trylast=True)  # so that the test's own parameters come first in its ids
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if _is_swept(metafunc.definition):
        from mockserver.pytest_plugin import sweep

        sweep.parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not _is_swept(item):
        return None
    from mockserver.pytest_plugin import sweep

    return sweep.run_touched(item, nextitem)


def _is_swept(item: pytest.Item) -> bool:
    return item.get_closest_marker("mockserver_sweep") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Start the test's list of sandboxes; Ctrl-C in a fixture stores the test's report."""
    if _OWNERSHIP in item.config.stash and not explore.is_inner(item):
        item.config.stash[_OWNERSHIP].start_test(item.nodeid)
    try:
        return (yield)
    except KeyboardInterrupt as interrupt:
        _store_report(item, interrupt)
        raise
    except Exception as failure:
        _skip_on_running_server(item, failure)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed otherwise for a rule that must fire or an assertion in a receiver; Ctrl-C stores the test's report."""
    try:
        result = yield
    except KeyboardInterrupt as interrupt:
        _store_report(item, interrupt)
        raise
    except Exception as failure:
        _skip_on_running_server(item, failure)
        raise
    if _OWNERSHIP in item.config.stash and not explore.is_inner(item):
        item.config.stash[_OWNERSHIP].check_must_fire()
        item.config.stash[_OWNERSHIP].check_receivers()
    return result


def _skip_on_running_server(item: pytest.Item, failure: Exception) -> None:
    """Skip a test that needs its sandbox in this process, if the suite runs with `--mockserver-url`; the reason names the need."""
    backend = sys.modules.get("mockserver.testing.backend")
    if (
        backend is None
        or not isinstance(failure, backend.NotInThisProcess)
        or not options.run_option(item.config, "url")
    ):
        return
    raise pytest.skip.Exception(str(failure), _use_item_location=True) from None


def _store_report(item: pytest.Item, interrupt: KeyboardInterrupt) -> None:
    if _OWNERSHIP in item.config.stash:
        from mockserver.pytest_plugin import stopping

        item.config.stash[_STOPPED] = stopping.sections(item, interrupt, item.config.stash[_OWNERSHIP])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report of a test that Ctrl-C has stopped: pytest creates none of its own."""
    if _STOPPED in config.stash:
        from mockserver.pytest_plugin import stopping

        stopping.print_sections(terminalreporter, config.stash[_STOPPED])
    if options.trace_mode(config) != "off":
        from mockserver.pytest_plugin import trace

        trace.write_job_summary(terminalreporter)


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Print the test's report before pytest-timeout's `thread` method ends the whole process."""
    if settings.method != "thread" or "mockserver_server" not in getattr(item, "fixturenames", ()):
        return None
    from mockserver.pytest_plugin import stopping

    return stopping.set_timer(item, settings, _OWNERSHIP)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add to a failure what happened in the test's sandboxes, and the option of a sweep."""
    report = yield
    if _is_swept(item):
        from mockserver.pytest_plugin import sweep

        sweep.add_option_section(item, report)
    if report.failed and _OWNERSHIP in item.config.stash:
        from mockserver.pytest_plugin import failure_report

        failure_report.add_report_sections(item, report, call.excinfo, item.config.stash[_OWNERSHIP])
    elif report.passed and report.when == "call" and _OWNERSHIP in item.config.stash:
        _trace_passed(item, report)
    return report


def _trace_passed(item: pytest.Item, report: pytest.TestReport) -> None:
    if options.trace_mode(item.config) == "always":
        from mockserver.pytest_plugin import failure_report

        failure_report.trace_passed(item, report, item.config.stash[_OWNERSHIP])


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    result = yield
    if not explore.is_inner(item):
        _end_test(item.config)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    _end_test(session.config)


def _end_test(config: pytest.Config) -> None:
    if _OWNERSHIP in config.stash:
        config.stash[_OWNERSHIP].end_test(config)


def _ownership(config: pytest.Config) -> SandboxOwnership:
    """Return the sandboxes of the session's tests, which the first fixture of the plugin creates."""
    if _OWNERSHIP not in config.stash:
        from mockserver.pytest_plugin.ownership import SandboxOwnership

        owned = config.stash[_OWNERSHIP] = SandboxOwnership()
        owned.start_test(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
    return config.stash[_OWNERSHIP]


@pytest.fixture(scope="session")
def mockserver_settings() -> dict[str, Any]:
    """Settings for every sandbox, to override: scenario, profile, choices, now, clock, seed, given, own_port, strict."""
    return {}


@pytest.fixture(scope="session")
def mockserver_server(pytestconfig: pytest.Config, mockserver_settings: dict[str, Any]) -> Iterator[MockServer]:
    """The session's server; `mockserver_server.sandbox(...)` is a context manager, for use with `@given`."""
    from mockserver.pytest_plugin import ownership

    server = ownership.server(pytestconfig, mockserver_settings)
    _ownership(pytestconfig).add(server)
    yield server
    server.close()


@pytest.fixture(scope="session")
def mockserver_coverage(pytestconfig: pytest.Config) -> Coverage | None:
    """The coverage of the session for servers that a suite makes, `MockServer(coverage=...)`; None without `--mockserver-cov`."""
    from mockserver.pytest_plugin import ownership

    return ownership.coverage(pytestconfig)


@pytest.fixture
def mockserver_option(request: pytest.FixtureRequest) -> dict[str, str]:
    """The choices of this run of a sweep, for `mockserver_server.sandbox(choices=...)`; none outside a sweep."""
    if not _is_swept(request.node):
        return {}
    from mockserver.pytest_plugin import sweep

    return sweep.option(request)


@pytest.fixture
def mockserver(
    request: pytest.FixtureRequest, mockserver_server: MockServer, mockserver_option: dict[str, str]
) -> Iterator[Sandbox]:
    """A sandbox of this test only, its clock frozen at the present; `@pytest.mark.mockserver(...)` has its settings."""
    layers = [*mockserver_server.layers]
    for mark in reversed(list(request.node.iter_markers("mockserver"))):
        layers.append(Layer("mark", {name: value for name, value in mark.kwargs.items() if name != "conduct"}))
    layers += [Layer("sweep", {"choices": mockserver_option}), *explore.layers(request.node)]
    sandbox = mockserver_server.make(layers)
    with explore.prepared(request.node, sandbox):
        if not explore.is_inner(request.node):
            _ownership(request.config).assign(request.node, mockserver_server, sandbox)
        unittest = sys.modules.get("unittest")
        if unittest is not None and isinstance(request.instance, unittest.TestCase):
            request.instance.mockserver = sandbox  # its class takes no fixtures as arguments
        yield sandbox
