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

from mockserver.pytest_plugin import conduct, options
from mockserver.testing.settings import NAMES, Layer, check_clock, did_you_mean, setting_error

if TYPE_CHECKING:
    from mockserver.pytest_plugin.ownership import SandboxOwnership
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer

_OF_A_MARK = (*NAMES, "conduct")
MARKERS = (
    f"mockserver(*, {', '.join(_OF_A_MARK)}): how this test's sandbox is made.",
    "mockserver_sweep(*names): run the test once for each option of these choices or families, or of those 'touched'.",
)
_SWEEP_WANTED = '@pytest.mark.mockserver_sweep takes names of choices, of families, or \'touched\', such as ("dual-status", "sessions")'
_BOOK: pytest.StashKey[SandboxOwnership] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)
    conduct.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(conduct.ConductPlugin(config), conduct.NAME)
    try:
        for layer in options.layers(config):  # a misspelt option ends the run before any test, with the nearest name
            check_clock(layer)
    except ValueError as refusal:
        raise pytest.UsageError(str(refusal)) from None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse an unknown setting before the first test, with the nearest name."""
    for item in items:
        for marker in item.iter_markers("mockserver"):
            _check(item, marker)
        for marker in item.iter_markers("mockserver_sweep"):
            if not marker.args or marker.kwargs:
                raise pytest.UsageError(f"{item.nodeid}: {_SWEEP_WANTED}")


def _check(item: pytest.Item, marker: pytest.Mark) -> None:
    if marker.args:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.mockserver takes keywords only; it was given {marker.args!r}"
        )
    for name, value in marker.kwargs.items():
        wrong = _wrong(name, value)
        if wrong:
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")
    try:
        check_clock(Layer("@pytest.mark.mockserver", marker.kwargs))
    except ValueError as refusal:
        raise pytest.UsageError(f"{item.nodeid}: {refusal}") from None


def _wrong(name: str, value: Any) -> str | None:
    """What is wrong with a setting of a mark, with the nearest name."""
    if name not in _OF_A_MARK:
        known = ", ".join(_OF_A_MARK)
        return f"@pytest.mark.mockserver has no {name!r}; it has {known}{did_you_mean(name, _OF_A_MARK)}"
    if name == "conduct":
        wrong = conduct.problem(value)
        return f"conduct={wrong}" if wrong else None
    return setting_error(name, value)


@pytest.hookimpl(trylast=True)  # so that the test's own parameters come first in its ids
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = _swept(metafunc.definition)
    if names:
        from mockserver.pytest_plugin import sweep

        sweep.parametrize(metafunc, names)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    names = _swept(item)
    if not names:
        return None
    from mockserver.pytest_plugin import sweep

    return sweep.run_touched(item, nextitem, names)


def _swept(item: pytest.Item) -> list[str]:
    return [name for marker in item.iter_markers("mockserver_sweep") for name in marker.args]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test answers for its own sandboxes alone; Ctrl-C in a fixture leaves its report."""
    if _BOOK in item.config.stash:
        item.config.stash[_BOOK].open(item.nodeid)
    try:
        return (yield)
    except KeyboardInterrupt as interrupt:
        _keep_report(item, interrupt)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A rule that had to fire and has not, fails the test that passed otherwise; Ctrl-C leaves its report."""
    try:
        result = yield
    except KeyboardInterrupt as interrupt:
        _keep_report(item, interrupt)
        raise
    if _BOOK in item.config.stash:
        item.config.stash[_BOOK].judge()
    return result


def _keep_report(item: pytest.Item, interrupt: KeyboardInterrupt) -> None:
    if _BOOK in item.config.stash:
        from mockserver.pytest_plugin import stopping

        stopping.keep(item, interrupt, item.config.stash[_BOOK])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the report of a test that Ctrl-C has stopped: pytest makes none of its own."""
    if _BOOK in config.stash:
        from mockserver.pytest_plugin import stopping

        stopping.show(terminalreporter, config)


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Where pytest-timeout's method ends the whole process, print the test's report before that."""
    if settings.method != "thread" or "mockserver_server" not in getattr(item, "fixturenames", ()):
        return None
    from mockserver.pytest_plugin import stopping

    return stopping.set_timer(item, settings, _BOOK)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add to a failure what happened in the test's sandboxes, and the option of a sweep."""
    report = yield
    if _swept(item):
        from mockserver.pytest_plugin import sweep

        sweep.add_option_section(item, report)
    if report.failed and _BOOK in item.config.stash:
        from mockserver.pytest_plugin import failure_report

        failure_report.add_report_sections(item, report, call.excinfo, item.config.stash[_BOOK])
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    result = yield
    _book_late_calls(item.config)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    _book_late_calls(session.config)


def _book_late_calls(config: pytest.Config) -> None:
    if _BOOK in config.stash:
        config.stash[_BOOK].close(config)


@pytest.fixture(scope="session")
def mockserver_settings() -> dict[str, Any]:
    """Settings for every sandbox, to override: scenario, profile, choices, now, clock, seed, given, own_port, strict."""
    return {}


@pytest.fixture(scope="session")
def mockserver_server(pytestconfig: pytest.Config, mockserver_settings: dict[str, Any]) -> Iterator[MockServer]:
    """The session's server; `mockserver_server.sandbox(...)` is a context manager, for use with `@given`."""
    from mockserver.pytest_plugin import ownership

    server = ownership.server(pytestconfig, mockserver_settings)
    book = pytestconfig.stash[_BOOK] = ownership.SandboxOwnership(server)
    book.open(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
    yield server
    server.close()


@pytest.fixture
def mockserver_option(request: pytest.FixtureRequest) -> dict[str, str]:
    """The choices of this run of a sweep, for `mockserver_server.sandbox(choices=...)`; none outside a sweep."""
    if not _swept(request.node):
        return {}
    from mockserver.pytest_plugin import sweep

    return sweep.option(request)


@pytest.fixture
def mockserver(
    request: pytest.FixtureRequest, mockserver_server: MockServer, mockserver_option: dict[str, str]
) -> Iterator[Sandbox]:
    """Sandbox of this test alone, its clock frozen at the present; `@pytest.mark.mockserver(...)` has its settings."""
    from mockserver.pytest_plugin import ownership

    layers = [*mockserver_server.layers]
    for mark in reversed(list(request.node.iter_markers("mockserver"))):
        layers.append(Layer("mark", {name: value for name, value in mark.kwargs.items() if name != "conduct"}))
    layers.append(Layer("sweep", {"choices": mockserver_option}))
    if _BOOK not in request.config.stash:  # the server is one of the suite's own
        request.config.stash[_BOOK] = ownership.SandboxOwnership(mockserver_server)
    with mockserver_server.make(layers) as sandbox:
        request.config.stash[_BOOK].enter(request.node, sandbox)
        unittest = sys.modules.get("unittest")
        if unittest is not None and isinstance(request.instance, unittest.TestCase):
            request.instance.mockserver = sandbox  # its class takes no fixtures as arguments
        yield sandbox
