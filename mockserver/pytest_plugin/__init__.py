"""
The pytest plugin: a fresh sandbox per test, its server, sweeps, and a report for each failing test.

Nothing heavy is imported before a test requests a fixture; `mockserver.testing` implements what the hooks call.
PYTEST_DONT_REWRITE: there is no assertion here, and pytest 8 warns where it finds the module imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from mockserver._collision import find_collision

if _collision := find_collision():
    # Any other exception, also pytest's own for a wrong usage, would be shown with a traceback here.
    print(f"ERROR: {_collision}", file=sys.stderr)
    raise SystemExit(pytest.ExitCode.USAGE_ERROR)

from mockserver._settings import EXPLORE_NAMES, INTERLEAVE_NAMES, set_in
from mockserver.pytest_plugin import conduct, explore, options
from mockserver.testing.settings import NAMES, Layer, check_clock, reads_limit

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage
    from mockserver.pytest_plugin.ownership import SandboxOwnership
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer

_OF_A_MARK = tuple(setting.attribute for setting in set_in("mark"))
MARKERS = (
    f"mockserver(*, {', '.join(_OF_A_MARK)}): settings of this test's sandbox.",
    "mockserver_sweep(*names): run the test once for each option of these choices or families, or, for 'all', of every choice on which its first run has depended.",
    f"mockserver_explore(*, {', '.join(EXPLORE_NAMES)}): run the test once for each fault at each of its calls.",
    f"mockserver_interleave(*, {', '.join(INTERLEAVE_NAMES)}): run the clients that the test returns in every order of their calls.",
)
_WIDER = "mockserver is the sandbox of one test; for a wider scope: `with mockserver_server.sandbox() as sandbox: yield sandbox`"
_OWNERSHIP: pytest.StashKey[SandboxOwnership] = pytest.StashKey()
_JUDGE: pytest.StashKey[conduct.ConductPlugin] = pytest.StashKey()
_STOPPED: pytest.StashKey[list[tuple[str, str]]] = pytest.StashKey()  # the report of a test that Ctrl-C has stopped


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    try:
        options.check_flags(config)
        options.run_option(config, "url")
    except ValueError as refusal:
        raise pytest.UsageError(str(refusal)) from None
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    judge = config.stash[_JUDGE] = conduct.ConductPlugin()
    config.pluginmanager.register(judge, conduct.NAME)
    config.pluginmanager.register(_MarkCheck(), "mockserver-marks")
    explore.configure(config)
    if options.covers(config):
        from mockserver.pytest_plugin import coverage

        config.pluginmanager.register(coverage.CoveragePlugin(config), options.COVERAGE_PLUGIN)
    try:
        for layer in options.layers(config):  # an unknown option ends the run before any test, with the nearest name
            check_clock(layer)
        options.poll_limit(config)
        options.conduct_mode(config)
    except ValueError as refusal:
        raise pytest.UsageError(str(refusal)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Register what only tests with a mark need."""
    if any(item.get_closest_marker("mockserver_interleave") is not None for item in items):
        from mockserver.pytest_plugin.interleave import InterleavedTests

        config.pluginmanager.register(InterleavedTests(_OWNERSHIP), "mockserver-interleave")
    if explore.is_wanted(config, items):
        from mockserver.pytest_plugin.explore_runs import ExploreRuns

        explore.register_results(config)
        config.pluginmanager.register(ExploreRuns(config, _OWNERSHIP), "mockserver-explore-runs")


class _MarkCheck:
    """Refuses wrong marks, each as an error of its own test. Lifetime: that of the session."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for marker in item.iter_markers("mockserver"):
            for message in _mark_errors(marker):
                pytest.fail(message, pytrace=False)
        if _is_swept(item):
            from mockserver.pytest_plugin import sweep

            sweep.check_mark(item)


def _mark_errors(marker: pytest.Mark) -> Iterator[str]:
    """Yield the error messages for a mark, with the nearest names."""
    if marker.args:
        yield f"@pytest.mark.mockserver: got {marker.args!r}; expected keyword arguments only"
    from mockserver.testing.setting_checks import setting_error

    errors = (setting_error(name, value, _OF_A_MARK) for name, value in marker.kwargs.items())
    yield from (f"@pytest.mark.mockserver: {error}" for error in errors if error)
    try:
        check_clock(Layer("@pytest.mark.mockserver", marker.kwargs))
    except ValueError as refusal:
        yield str(refusal)


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

    return sweep.run_over_choices_read(item, nextitem)


def _is_swept(item: pytest.Item) -> bool:
    return item.get_closest_marker("mockserver_sweep") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Start the test's list of sandboxes; Ctrl-C in a fixture stores the test's report."""
    if _OWNERSHIP in item.config.stash and not explore.is_inner(item):
        item.config.stash[_OWNERSHIP].start_test()
    with _explained(item):
        result = yield
    instance: Any = getattr(item, "instance", None)
    if _is_sandbox_case(instance):
        # The sandbox that its `setUp` will make is the test's: a failure has its report, document and trace.
        instance._adopt = partial(_ownership(item.config).assign, item)
        if instance.mockserver_poll_limit is None:
            instance.mockserver_poll_limit = options.poll_limit(item.config) or "off"
    return result


@contextmanager
def _explained(item: pytest.Item) -> Iterator[None]:
    """
    Say more about the end of a test's phase.

    Ctrl-C stores the test's report. Where a fixture of a module, a class or the session asks for `mockserver`, the failure
    names the way to a sandbox of a wider scope. A test that needs its sandbox in this process is skipped if the suite runs
    with `--mockserver-url`; the reason names the need.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if _OWNERSHIP in item.config.stash:
            from mockserver.pytest_plugin import stopping

            item.config.stash[_STOPPED] = stopping.sections(item, interrupt, item.config.stash[_OWNERSHIP])
        raise
    except pytest.fail.Exception as failure:
        message = str(failure)
        if message.startswith("ScopeMismatch") and "scoped fixture mockserver with" in message:
            pytest.fail(f"{message}\n{_WIDER}", pytrace=False)
        raise
    except Exception as failure:
        backend = sys.modules.get("mockserver.testing.backend")
        is_refused = backend is not None and isinstance(failure, backend.NotInThisProcess)
        if is_refused and options.run_option(item.config, "url"):
            raise pytest.skip.Exception(str(failure), _use_item_location=True) from None
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Let the keys of a sandbox of a wider scope follow from its fixture, and not from the test that is the first with it."""
    if fixturedef.scope == "function" or _OWNERSHIP not in request.config.stash:
        return (yield)
    name = f"{fixturedef.scope} {fixturedef.baseid}::{fixturedef.argname}"
    with request.config.stash[_OWNERSHIP].within_fixture(name):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """
    Fail a test that passed otherwise for a rule that must fire, an assertion in a receiver, or its client's conduct.

    Ctrl-C stores the test's report.
    """
    if explore.is_inner(item):
        with _explained(item):
            return (yield)
    if _OWNERSHIP in item.config.stash:
        item.config.stash[_OWNERSHIP].start_function()
    has_passed = False
    try:
        with _explained(item):
            result = yield
        if _OWNERSHIP in item.config.stash:  # also if the function itself has asked for its first fixture
            owned = item.config.stash[_OWNERSHIP]
            owned.check_ended()
            owned.check_rules(expects=_expects_firing(item))
            owned.check_receivers()
        has_passed = True
    finally:
        item.config.stash[_JUDGE].judge_call(item, _created(item.config), has_passed=has_passed)
    return result


def _expects_firing(item: pytest.Item) -> bool:
    """
    Return True if each rule with a bounded count must fire that the test function makes.

    Not in a test that may fail, nor under another option of a sweep than the default. `setUp` of a `unittest.TestCase` runs
    in the same phase as its test, so that rules of such a class are not known to be the test's own.
    """
    if not item.config.getini("mockserver_must_fire") or item.get_closest_marker("xfail") is not None:
        return False
    if _is_swept(item):
        from mockserver.pytest_plugin import sweep

        case = item.stash.get(sweep.CASE, None)
        return case is None or case.is_default
    instance: Any = getattr(item, "instance", None)
    if _is_sandbox_case(instance):
        return not instance._may_miss
    unittest = sys.modules.get("unittest")
    return unittest is None or not isinstance(instance, unittest.TestCase)


def _is_sandbox_case(instance: Any) -> bool:
    module = sys.modules.get("mockserver.unittest_case")
    return module is not None and isinstance(instance, module.SandboxTestCase)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report of a test that Ctrl-C has stopped: pytest creates none of its own."""
    if _STOPPED in config.stash:
        from mockserver.pytest_plugin import stopping

        stopping.print_sections(terminalreporter, config.stash[_STOPPED])


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Print the test's report before pytest-timeout's `thread` method ends the whole process."""
    if settings.method != "thread" or "mockserver_server" not in getattr(item, "fixturenames", ()):
        return None
    from mockserver.pytest_plugin import stopping

    return stopping.set_timer(item, settings, _OWNERSHIP)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add to a failure what happened in the test's sandboxes, the option of a sweep, and findings on the client's conduct."""
    report = yield
    judge = None if report.when != "call" or explore.is_inner(item) else item.config.stash[_JUDGE]
    if judge is not None and report.failed:
        judge.judge_failure(item, _created(item.config))
    if _is_swept(item):
        from mockserver.pytest_plugin import sweep

        sweep.add_option_section(item, report, call.excinfo.value if call.excinfo else None)
    if report.failed and _OWNERSHIP in item.config.stash:
        from mockserver.pytest_plugin import failure_report

        failure_report.add_report_sections(item, report, call.excinfo, item.config.stash[_OWNERSHIP])
    if judge is not None:
        judge.add_findings(item, report)
    return report


def _created(config: pytest.Config) -> Sequence[Sandbox]:
    """Return the sandboxes that the current test has created."""
    return config.stash[_OWNERSHIP].created if _OWNERSHIP in config.stash else ()


def _ownership(config: pytest.Config) -> SandboxOwnership:
    """Return the sandboxes of the session's tests, which the first fixture of the plugin creates."""
    if _OWNERSHIP not in config.stash:
        from mockserver.pytest_plugin.ownership import SandboxOwnership

        owned = config.stash[_OWNERSHIP] = SandboxOwnership()
        owned.start_test()
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
def mockserver_sweep_choices(request: pytest.FixtureRequest) -> dict[str, str]:
    """The choices of this run of a sweep, for `mockserver_server.sandbox(choices=...)`; none outside a sweep."""
    if not _is_swept(request.node):
        return {}
    from mockserver.pytest_plugin import sweep

    return sweep.option(request)


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox of this test only, its clock frozen at the present; `@pytest.mark.mockserver(...)` has its settings."""

    layers = [*mockserver_server.layers]
    marks = list(request.node.iter_markers("mockserver"))
    for mark in reversed(marks):
        layers.append(Layer("mark", {name: value for name, value in mark.kwargs.items() if name in NAMES}))
    # Not an argument: a fixture takes a tenth of the time of a small test, and few tests are swept.
    choices = request.getfixturevalue("mockserver_sweep_choices") if _is_swept(request.node) else {}
    layers += [Layer("sweep", {"choices": choices}), *explore.layers(request.node)]
    sandbox = mockserver_server.make(layers)
    with explore.prepared(request.node, sandbox):
        if not explore.is_inner(request.node):
            _ownership(request.config).assign(request.node, mockserver_server, sandbox)
            limits = [mark.kwargs["poll_limit"] for mark in marks if "poll_limit" in mark.kwargs]
            sandbox._limit_reads(reads_limit(limits[0]) if limits else options.poll_limit(request.config))
        unittest = sys.modules.get("unittest")
        if unittest is not None and isinstance(request.instance, unittest.TestCase):
            request.instance.mockserver = sandbox  # its class takes no fixtures as arguments
        yield sandbox
