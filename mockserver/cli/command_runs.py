"""
The runs of `mockserver explore`: a command in a process of its own, with the address and the keys of a fresh sandbox.

A test of a suite makes its own sandbox at the server: the first one that a command makes is explored in place of that one.
A command that runs longer than its timeout is ended with all its child processes, and so is the current one at Ctrl-C.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from mockserver.testing.runs.faults import ExploreReport, Placement, RunEnded
from mockserver.testing.sandbox import Sandbox

if TYPE_CHECKING:
    from mockserver.server.hosting.config import SandboxConfig
    from mockserver.server.hosting.host import HostedSandbox
    from mockserver.testing.runs.investigation import ControlledRun

_FOLLOW_EVERY_S = 0.02
_OUTPUT_MAX_BYTES = 8192  # of each run, its end
_REASON_CHARS: Final = 120
# Where the output of a program says why it has failed, the surest place first: the line in which Python, Node, Java, Ruby or Go
# names the error that has ended it, the `error` of a test of TAP, a message of a test of Go, of Minitest, of RSpec and of PHPUnit.
_REASONS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^\s*((?:Uncaught |Exception in thread \S+ |.*: )?[\w.:]*(?:Error|Exception|panic|fatal)\b.*)",
        r"^\s*error: (?:\|-\s*\n\s*)?['\"]?(.+?)['\"]?$",
        r"^\s*\w+_test\.go:\d+: (.+)",
        r"^.*\bFailure:\n.*\n(.+)",
        r"^\s*Failure/Error: (.+)",
        r"^\d+\) \S+::.+\n(.+)",
    )
)
# Lines that a runner ends with whatever has failed: diagnostics of TAP, and the sums of Go, Minitest, PHPUnit and others.
_SUMS: Final = re.compile(
    r"# .*|FAIL\b.*|FAILURES!|ERRORS!|Tests: \d+, .*|exit status \d+|\d+ (?:runs|tests|examples|passed|failed)\b.*"
)
# What differs between equal failures: ids, addresses, times, ports.
_VARYING: Final = re.compile(r"\b(?:[a-z]+_[a-z0-9]{6,}|0x[0-9a-f]+|\d+(?:[.:]\d+)+|\d{5,})")
# The exit statuses, and a pattern of the output, with which a command reports a failure.
Reported = tuple[Collection[int], re.Pattern[str] | None]
_VERDICTS_SHOWN: Final = ("silent", "breach", "crashed")


class CommandFailed(Exception):
    """
    The command ended with another status than 0.

    Attributes:
        explore_cause: The status with the line of the output that says why, by which cases are counted apart.
    """

    def __init__(self, status: int, output: str) -> None:
        line = _reason(output)
        text = f"exit status {status}" + (f": {line}" if line else "")
        super().__init__(text)
        self.explore_cause = _VARYING.sub("...", text)


class CommandReported(CommandFailed):
    """The command ended as it does when it reports a failure, by its status or its output."""


class CommandTimeout(Exception):
    """The command did not end in time."""


class CommandRuns:
    """
    The runs of one command.

    Lifetime: that of the exploration.

    Args:
        command: The program and its arguments.
        timeout: Real seconds after which a run is ended.
        follow: Seconds of the sandbox's clock for each real one; None freezes it.
        reported: The exit statuses, and a pattern of the output, with which it reports a failure.

    Attributes:
        count: The number of runs so far.
        own_sandboxes: The number of sandboxes that the first run has made by itself; the first of them is explored.
    """

    def __init__(
        self,
        command: Sequence[str],
        timeout: float,
        follow: float | None,
        reported: Reported = ((), None),
    ) -> None:
        self.command = command
        self.count = self.own_sandboxes = 0
        self._timeout, self._follow, self._reported = timeout, follow, reported
        self._outputs: dict[Placement, str] = {}

    def run(
        self, own: ControlledRun, placement: Placement, create: Callable[[SandboxConfig], ControlledRun]
    ) -> tuple[ControlledRun, Exception | None]:
        """
        Run the command once.

        Args:
            own: The run in the sandbox at MOCKSERVER_URL.
            placement: Where the run has its faults.
            create: Returns one with the same faults, for the first sandbox that the command makes by itself.

        Returns:
            The run in the sandbox that the command has called, and how the command failed: None if it ended with the status 0.
        """
        self.count += 1
        sandbox = own.sandbox
        explored, lock = own, threading.Lock()

        def explored_instead(config: SandboxConfig) -> HostedSandbox | None:
            nonlocal explored
            with lock:
                self.own_sandboxes += 1 if self.count == 1 else 0
                if explored is not own or sandbox.log.call_count:
                    return None
                explored = create(config)
            return explored.hosted

        host = own.hosted.host
        host.on_creation = explored_instead
        variables = {
            "MOCKSERVER_URL": sandbox.base_url,
            "MOCKSERVER_SERVER": host.origin,
            "MOCKSERVER_KEY": sandbox.secret_key,
            "MOCKSERVER_PUBLIC_KEY": sandbox.public_key,
        }
        with tempfile.TemporaryFile() as output, following(lambda: explored.sandbox, self._follow):
            status = run_command(self.command, {**os.environ, **variables}, self._timeout, output.fileno())
            output.seek(max(output.seek(0, os.SEEK_END) - _OUTPUT_MAX_BYTES, 0))
            text = self._outputs[placement] = output.read().decode("utf-8", "replace")
        return explored, failure(status, text, self._timeout, self._reported)

    def output_of(self, placement: Placement) -> str:
        """Return what the command has printed in the run of this placement, its end if it is long."""
        return self._outputs.get(placement, "")

    def outputs_of(self, report: ExploreReport) -> Iterator[str]:
        """Yield what the command has printed in the smallest case of each finding."""
        shown: set[Placement] = set()
        for finding in report.findings:
            placement = finding.placements[0]
            text = self._outputs.get(placement, "").strip()
            if finding.verdict in _VERDICTS_SHOWN and text and placement not in shown:
                shown.add(placement)
                yield from ("", f"output of the command, {placement.describe()}:", *text.splitlines())


def failure(status: int | None, output: str, timeout: float, as_reported: Reported) -> Exception | None:
    """Return how a command failed by its exit status, None if it was ended after its timeout; None for the status 0."""
    if status is None:
        return CommandTimeout(f"the command had not ended after {timeout:g} s")
    statuses, pattern = as_reported
    is_reported = status in statuses or (pattern is not None and pattern.search(output) is not None)
    return (CommandReported if is_reported else CommandFailed)(status, output) if status else None


def _reason(output: str) -> str:
    """Return what the output says of why a program ended, the last of it; else its last line."""
    for pattern in _REASONS:
        if found := pattern.findall(output):
            return str(found[-1]).strip()[:_REASON_CHARS]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return ([line for line in lines if not _SUMS.fullmatch(line)] or lines or [""])[-1][:_REASON_CHARS]


def run_command(command: Sequence[str], variables: Mapping[str, str], timeout: float, output: int) -> int | None:
    """
    Run a command to its end, and return its exit status; None if it was ended after its timeout.

    Args:
        command: The program and its arguments.
        variables: Its environment.
        timeout: Real seconds.
        output: The descriptor of the file that gets what it prints.
    """
    process = subprocess.Popen(
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=os.name == "posix",
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.returncode is None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command with its child processes. An interrupt may have left `Popen.wait` locked: it is not called again."""
    if sys.platform == "win32":
        process.kill()
        process.wait()
        return
    with suppress(ProcessLookupError, ChildProcessError):
        os.killpg(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)
    process.returncode = -signal.SIGKILL


@contextmanager
def following(sandbox: Callable[[], Sandbox], rate: float | None) -> Iterator[None]:
    """
    Let time pass in the sandbox while the block runs.

    Args:
        sandbox: Returns the sandbox.
        rate: Seconds of its clock for each real one; None lets none pass.
    """
    if rate is None:
        yield
        return
    ended = threading.Event()

    def follow() -> None:
        before = time.monotonic()
        with suppress(RunEnded):  # its bound on the sandbox's time: the next call finds the sandbox closed
            while not ended.wait(_FOLLOW_EVERY_S):
                now = time.monotonic()
                sandbox().advance((now - before) * rate)
                before = now

    thread = threading.Thread(target=follow, name="mockserver follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
