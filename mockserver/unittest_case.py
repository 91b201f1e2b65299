"""A `unittest.TestCase` with a sandbox of its own for each test, whose report is printed with a failure."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mockserver._settings import READS_MAX
from mockserver.testing.report.notes import add_notes
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.settings import reads_limit

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage

_FAILURES = (
    "addError",
    "addFailure",
    "addSubTest",
)  # the methods of a result that get an exception, as the last argument


class SandboxTestCase(unittest.TestCase):
    """
    A test case with a fresh sandbox for each test; a failure, also one of a subtest or of `setUp`, has its report as a note.

    For coroutines inherit from this class and from `unittest.IsolatedAsyncioTestCase`. A `setUp` of your own calls
    `super().setUp()` first.

    Attributes:
        mockserver: The sandbox of the running test.
        mockserver_settings: The arguments of `MockServer.sandbox` for each test.
        mockserver_poll_limit: The number of equal reads of one record in a row that ends a test, or "off"; by default 1000, and
            under pytest that of the ini file.
        mockserver_coverage: Gets what the calls have covered; under pytest with `--mockserver-cov` that of the session.

    Example:
        >>> class TestCampaigns(SandboxTestCase):
        ...     mockserver_settings = {"scenario": "demo", "now": "2026-03-01T12:00:00Z"}
        ...
        ...     def test_there_is_none_yet(self):
        ...         self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns").status)
    """

    mockserver: Sandbox
    mockserver_settings: ClassVar[Mapping[str, Any]] = {}
    mockserver_poll_limit: int | Literal["off"] | None = None
    mockserver_coverage: Coverage | None = None
    # Of the pytest plugin: gets the server and the sandbox of the running test.
    _adopt: Callable[[MockServer, Sandbox], None] | None = None
    _server: MockServer | None = None
    _may_miss = True  # a rule of the test; False from the beginning of the test method until the first failure

    def setUp(self) -> None:
        """Create the sandbox; it is closed after the test's own cleanups."""
        super().setUp()
        server = self._server = MockServer(coverage=self.mockserver_coverage)
        self.addCleanup(server.close)
        self.mockserver = server.sandbox(**self.mockserver_settings)
        limit = self.mockserver_poll_limit
        self.mockserver._limit_reads(READS_MAX if limit is None else reads_limit(limit))
        if self._adopt is not None:
            self._adopt(server, self.mockserver)

    def _callTestMethod(self, method: Callable[[], Any]) -> Any:
        if "mockserver" in self.__dict__:  # else its own `setUp` makes none
            self.mockserver._own_rules.expected.clear()  # those of `setUp`
            self._may_miss = False
        return super()._callTestMethod(method)  # type: ignore[misc]  # not in its stubs

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """
        Run the test, and add the report to the exception of each failure.

        Args:
            result: Collects the outcome; by default a new one.
        """
        if result is None:
            return super().run()
        self.__dict__.pop("mockserver", None)  # of an earlier run
        self._may_miss = True
        return super().run(_ReportingResult(result, self))  # type: ignore[arg-type]  # it has every attribute of a result


class _ReportingResult:
    """The result of a run, whose failures get the report before they are recorded."""

    def __init__(self, result: unittest.TestResult, case: SandboxTestCase) -> None:
        self.__dict__.update(_result=result, _case=case)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._result, name)
        return partial(self._record, attribute) if name in _FAILURES else attribute

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._result, name, value)

    def _record(self, method: Callable[..., Any], *arguments: Any) -> Any:
        sandbox, raised = self._case.__dict__.get("mockserver"), arguments[-1]
        if raised is None:  # a subtest that succeeds
            return method(*arguments)
        self._case._may_miss = True
        if sandbox is not None and isinstance(raised, tuple):
            add_notes(raised[1], [sandbox])
        return method(*arguments)
