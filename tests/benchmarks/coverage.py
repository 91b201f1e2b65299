"""
What `--mockserver-cov` adds to a suite, as a ratio of processor time: `python -m tests.benchmarks.coverage`.

Two suites, each in one process: 800 tests of two calls each, and the tests that play the library. The coverage is on for
every other test, and in the next run for the others, so that what else the machine does falls on both halves. A first run
is not measured, since its tests pay for imports. Each test is timed with its fixtures, and its shortest time counts; the
ratio is that of the medians, or of the sums where the tests differ.
What a session pays once, for imports and the report, is printed in milliseconds.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from mockserver.judge.coverage.coverage import Coverage
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from tests.wheels import ROOT

COUNT = 800
RUNS = 4
SUITE = f"""
import pytest

GIVEN = {{"templates": [{{"id": "template_hello"}}]}}
BODY = {{"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}}


@pytest.mark.parametrize("number", range({COUNT}))
@pytest.mark.mockserver(given=GIVEN)
def test_it(mockserver, number):
    with mockserver.requests_session() as session:
        session.headers["X-API-Key"] = mockserver.secret_key
        made = session.post(f"{{mockserver.base_url}}/v1/campaigns", json=BODY).json()
        read = session.get(f"{{mockserver.base_url}}/v1/campaigns/{{made['campaignId']}}").json()
        assert "draft" == read["status"]
"""


class Turns:
    """A plugin that turns the coverage on for every other test, and times each test."""

    def __init__(self, first: int) -> None:
        self.seconds: dict[bool, dict[str, float]] = {True: {}, False: {}}
        self._number = first
        self._coverage = Coverage()

    def pytest_configure(self) -> None:
        create = self._create = SandboxHost.create

        def created(host: SandboxHost, *arguments: Any, **options: Any) -> HostedSandbox:
            host.coverage = self._coverage if self._is_on else None
            return create(host, *arguments, **options)

        SandboxHost.create = created  # type: ignore[assignment, method-assign]

    def pytest_unconfigure(self) -> None:
        SandboxHost.create = self._create  # type: ignore[method-assign]

    @property
    def _is_on(self) -> bool:
        return self._number % 2 == 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._number += 1
        gc.disable()  # a full collection takes longer than a test, and falls on either half
        began = time.process_time()
        result = yield
        self.seconds[self._is_on][item.nodeid] = time.process_time() - began
        gc.enable()
        return result


def run(arguments: Sequence[str], first: int) -> Turns:
    """Run a suite in this process."""
    turns = Turns(first)
    options = ["-q", "-W", "ignore:Module already imported", "-p", "no:randomly", "-p", "no:cacheprovider"]
    if pytest.main([*options, *arguments], plugins=[turns]) != 0:
        raise SystemExit("the suite fails")
    return turns


def compare(name: str, arguments: Sequence[str], total: Callable[[Sequence[float]], float]) -> str:
    """Return the ratio of a suite; the same tests are in both halves."""
    run(arguments, 0)
    on, off = dict[str, float](), dict[str, float]()
    for number in range(RUNS):
        turns = run(arguments, number % 2)
        for shortest, is_on in ((on, True), (off, False)):
            for test, seconds in turns.seconds[is_on].items():
                shortest[test] = min(seconds, shortest.get(test, seconds))
    tests = on.keys() & off.keys()
    without, with_coverage = total([off[test] for test in tests]), total([on[test] for test in tests])
    return f"{name}: {len(tests)} tests, with coverage {with_coverage / without:.3f} times the processor time"


def once() -> str:
    """Return what a session pays once."""
    from mockserver.report import coverage_text as render

    coverage, began = Coverage(), time.process_time()
    render.table(coverage, None)
    coverage.save(Path(tempfile.mkdtemp()) / "coverage.json")
    return f"once in a session: table and file {(time.process_time() - began) * 1000:.0f} ms"


def main() -> None:
    played = sorted(str(path) for path in (ROOT / "tests" / "scenario").glob("test_*_played.py"))
    lines = [once()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_it.py"
        file.write_text(SUITE, encoding="utf-8")
        lines.append(compare("two calls each", [str(file), f"--rootdir={folder}"], median))
    lines.append(compare("the library", played, sum))
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    main()
