"""
The runs of an explored test, inside the call of its item, so that it stays one item for pytest and for other plugins.

1. The first run is the item's own: its setup, its call, and its ordinary failure.
2. If it passes, its fixtures of function scope are torn down, and clones of the item run by the same hooks, each with
   fixtures of its own; fixtures of a wider scope stay.
3. A clone has no report: no other plugin gets to know its output, its warnings or its outcome.
4. The sandbox of a run is open until the exploration has recorded it.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest

from mockserver._settings import EXPLORE_NAMES
from mockserver.pytest_plugin import failure_report, options, sweep
from mockserver.pytest_plugin.clones import clone_item, is_unittest
from mockserver.pytest_plugin.explore import EXPLORATION, INNER_RUN, MARK, RESULTS, is_inner
from mockserver.pytest_plugin.explore_results import TITLE, ExploreResults, verdicts
from mockserver.pytest_plugin.progress import progress
from mockserver.server.errors import causes
from mockserver.testing.runs.faults import EndedRun, Exploration, ExploreOptions, Placement

if TYPE_CHECKING:
    from _pytest.capture import CaptureManager

    from mockserver.pytest_plugin.ownership import SandboxOwnership
    from mockserver.testing.runs.faults import ExploreReport
    from mockserver.testing.runs.investigation import ControlledRun
    from mockserver.testing.sandbox import Sandbox

FIXTURE = "mockserver"
_SUBTESTS = "subtests"
_OTHER_FIXTURE = (
    f"explore: got a fixture {FIXTURE} that makes its own sandbox; expected the plugin's, or one that uses it"
)


class ItemExploration:
    """
    The exploration of one item.

    Lifetime: that of one execution of the item; a repeated execution has another one.

    Attributes:
        exploration: Judges the runs.
        now: the instant at which the first run's clock was frozen; None if it follows another clock.
        is_over: all runs have ended.
        teardown_error: what the fixtures of the first run have raised when they were torn down.
    """

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self.now: datetime | None = None
        self.is_over = False
        self.teardown_error: BaseException | None = None
        self._placement = Placement()
        self._control: ControlledRun | None = None  # of the current run, once its fixture is set up

    @contextmanager
    def own(self, sandbox: Sandbox) -> Iterator[None]:
        """Prepare a fresh sandbox for the current run, which stays open until the run is judged."""
        if self.now is None and sandbox.state()["clock"]["frozen"]:
            self.now = sandbox.now
        try:
            self._control = self.exploration.prepare(sandbox, self._placement)
        except BaseException:
            sandbox.close()
            raise
        yield

    @property
    def has_sandbox(self) -> bool:
        """True if the fixture of the current run has made a sandbox."""
        return self._control is not None

    @contextmanager
    def run(self, item: pytest.Function, placement: Placement) -> Iterator[EndedRun]:
        """Run a clone of the item; the item's own run, which has passed, is the first."""
        raised: BaseException | None = None
        if self._control is None:
            self._placement = placement
            raised = _run(item, self)
        if raised is not None and _limit_of_test(raised) is not None:
            raise raised
        control, self._control = self._control, None
        if control is None:
            raise raised or ValueError(_OTHER_FIXTURE)
        with control.sandbox:
            yield EndedRun.of(control, raised)

    def close(self) -> None:
        """End a run that was not judged, and close its sandbox."""
        if self._control is not None:
            self._control.stop()
            self._control.sandbox.close()


class ExploreRuns:
    """Runs the tests that are explored. Lifetime: that of the session."""

    def __init__(self, config: pytest.Config, ownership: pytest.StashKey[SandboxOwnership]) -> None:
        self._config = config
        self._ownership = ownership

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin the exploration of a test; a wrong mark is an error of its own test."""
        if is_inner(item):
            return
        if item.get_closest_marker(MARK) is None:
            names = () if is_unittest(item) else getattr(item, "fixturenames", ())
            can_be_explored = isinstance(item, pytest.Function) and FIXTURE in names and _SUBTESTS not in names
            if not (can_be_explored and self._config.getoption("mockserver_explore")):
                return
        message: str | None = None
        try:
            exploration = Exploration(_options(item), test=item.nodeid)
        except (TypeError, ValueError) as refusal:
            message = f"@pytest.mark.{MARK}: {refusal}"
        if message is not None:
            pytest.fail(message, pytrace=False)
        item.stash[EXPLORATION] = ItemExploration(exploration)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Explore a test that has passed."""
        result = yield
        if EXPLORATION in item.stash and not is_inner(item):
            assert isinstance(item, pytest.Function)
            self._explore(item, item.stash[EXPLORATION])
        return result

    def _explore(self, item: pytest.Function, exploration: ItemExploration) -> None:
        """Run the test again for each placement; fail for what the report fails for."""
        ended = _tear_down(item)
        if ended.excinfo is not None:
            exploration.teardown_error = ended.excinfo.value
            return
        if not exploration.has_sandbox:
            pytest.fail(_OTHER_FIXTURE, pytrace=False)
        report = exploration.exploration.report
        ownership = self._config.stash[self._ownership]
        try:
            with warnings.catch_warnings(record=True), progress(self._config) as show:
                exploration.exploration.run(partial(exploration.run, item), show)
        except KeyboardInterrupt:
            results = self._config.pluginmanager.get_plugin(RESULTS)
            assert isinstance(results, ExploreResults)
            results.interrupted[item.nodeid] = report
            raise
        except BaseException as end:
            report.investigation.ended = _limit_of_test(end)
            if report.ended is None:
                raise
        finally:
            ownership.start_test()  # the sandboxes of the further runs are not those of the test
        exploration.is_over = True
        failure_report.write_documents(item.config, report)
        if report.failed:
            pytest.fail(f"explore: {_why(report)}", pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Raise what the fixtures of the first run have raised when they were torn down."""
        exploration = item.stash.get(EXPLORATION, None)
        if exploration is None or is_inner(item):
            return (yield)
        try:
            result = yield
        finally:
            del item.stash[EXPLORATION]
            exploration.close()
        if exploration.teardown_error is not None:
            raise exploration.teardown_error
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Add the result of the exploration to the report of the call."""
        report = yield
        exploration = item.stash.get(EXPLORATION, None)
        if call.when == "call" and exploration is not None and exploration.is_over:
            explored = exploration.exploration.report
            report.mockserver_explore = explored.entry()
            if explored.failed:
                report.sections.append((TITLE, explored.text()))
        return report


def _why(report: ExploreReport) -> str:
    """Return why an exploration fails its test, in one line."""
    clean = report.clean
    if report.ended is not None:
        return f"ended early, {report.ended}; {verdicts(report.entry())}"
    if clean.failure is not None:
        return f"the second clean run failed: {clean.failure}"
    return verdicts(report.entry()) if clean.unexplored is None else f"not explored: {clean.unexplored}"


def _options(item: pytest.Item) -> ExploreOptions:
    """Return the options of a test by its marks, of which the nearest take precedence; ValueError if it cannot be explored."""
    if is_unittest(item):
        raise ValueError("got a method of unittest.TestCase; expected a function, or a method of another class")
    if not isinstance(item, pytest.Function) or FIXTURE not in item.fixturenames:
        raise ValueError(f"got a test without the fixture {FIXTURE}; expected one that uses it")
    if _SUBTESTS in item.fixturenames:
        raise ValueError(
            f"got a test with the fixture {_SUBTESTS}, which reports each run by itself; expected one without"
        )
    if options.run_option(item.config, "url") is not None:
        raise ValueError("got --mockserver-url; expected sandboxes in this process")
    return ExploreOptions(**options.mark_arguments(item, MARK, EXPLORE_NAMES))


def _tear_down(item: pytest.Function) -> pytest.CallInfo[None]:
    """Tear down the fixtures of function scope; what they print is a section of the item's report."""
    capture: CaptureManager | None = item.config.pluginmanager.getplugin("capturemanager")
    following = clone_item(item, item.name, item.nodeid)
    with nullcontext() if capture is None else capture.item_capture("teardown", item):
        return _outcome(lambda: item.session._setupstate.teardown_exact(following), "teardown")


def _run(item: pytest.Function, exploration: ItemExploration) -> BaseException | None:
    """Run a clone of the item by the hooks of its three phases, and return what it has raised."""
    clone = clone_item(item, item.name, item.nodeid)
    clone.stash[EXPLORATION], clone.stash[INNER_RUN] = exploration, True
    if sweep.CASE in item.stash:
        clone.stash[sweep.CASE] = item.stash[sweep.CASE]
    hooks = item.ihook
    setup = _outcome(lambda: hooks.pytest_runtest_setup(item=clone), "setup")
    # The fixture tmp_path reads when it is torn down what this hook has stored, so it runs without an error to format.
    hooks.pytest_runtest_makereport(item=clone, call=_outcome(lambda: None, "setup"))
    calls = [setup]
    if setup.excinfo is None:
        calls.append(_outcome(lambda: hooks.pytest_runtest_call(item=clone), "call"))
    calls.append(_outcome(lambda: hooks.pytest_runtest_teardown(item=clone, nextitem=item), "teardown"))
    return next((call.excinfo.value for call in calls if call.excinfo is not None), None)


def _limit_of_test(raised: BaseException) -> str | None:
    """Return how pytest-timeout has ended the test, also if the client has made another exception of it; None if it has not."""
    for cause in causes(raised):
        frames = (frame for frame, _ in traceback.walk_tb(cause.__traceback__))
        if any(frame.f_globals.get("__name__") == "pytest_timeout" for frame in frames):
            return f"by a limit of the test: {cause}"
    return None


def _outcome(function: Callable[[], Any], when: Literal["setup", "call", "teardown"]) -> pytest.CallInfo[None]:
    return pytest.CallInfo.from_call(function, when=when, reraise=(pytest.exit.Exception, KeyboardInterrupt))
