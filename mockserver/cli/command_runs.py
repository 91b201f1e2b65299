"""
The runs of `mockserver explore`: a command in a process of its own, with the address and the keys of a fresh sandbox.

A command that runs longer than its timeout is ended with all its child processes, and so is the current one at Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from mockserver.testing.explore import ExploreReport, Placement, RunEnded
from mockserver.testing.sandbox import Sandbox

_FOLLOW_EVERY_S = 0.02
_OUTPUT_MAX_BYTES = 8192  # of each run, its end
_VERDICTS_SHOWN: Final = ("silent", "breach", "crashed")


class CommandFailed(Exception):
    """The command ended with another status than 0."""


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

    Attributes:
        count: The number of runs so far.
    """

    def __init__(self, command: Sequence[str], timeout: float, follow: float | None) -> None:
        self.command = command
        self.count = 0
        self._timeout, self._follow = timeout, follow
        self._outputs: dict[Placement, str] = {}

    def run(self, sandbox: Sandbox, placement: Placement) -> Exception | None:
        """Run the command once, and return how it failed; None if it ended with the status 0."""
        self.count += 1
        own = {
            "MOCKSERVER_URL": sandbox.base_url,
            "MOCKSERVER_KEY": sandbox.secret_key,
            "MOCKSERVER_PUBLIC_KEY": sandbox.public_key,
        }
        with tempfile.TemporaryFile() as output, following(sandbox, self._follow):
            status = run_command(self.command, {**os.environ, **own}, self._timeout, output.fileno())
            output.seek(max(output.seek(0, os.SEEK_END) - _OUTPUT_MAX_BYTES, 0))
            self._outputs[placement] = output.read().decode("utf-8", "replace")
        if status is None:
            return CommandTimeout(f"the command had not ended after {self._timeout:g} s")
        return CommandFailed(f"exit status {status}") if status else None

    def outputs_of(self, report: ExploreReport) -> Iterator[str]:
        """Yield what the command has printed in the smallest case of each finding."""
        shown: set[Placement] = set()
        for finding in report.findings:
            placement = finding.placements[0]
            text = self._outputs.get(placement, "").strip()
            if finding.verdict in _VERDICTS_SHOWN and text and placement not in shown:
                shown.add(placement)
                yield from ("", f"output of the command, {placement.describe()}:", *text.splitlines())
        yield ""


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
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)  # with its child processes
            process.wait()


@contextmanager
def following(sandbox: Sandbox, rate: float | None) -> Iterator[None]:
    """
    Let time pass in the sandbox while the block runs.

    Args:
        sandbox: The sandbox.
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
                sandbox.advance((now - before) * rate)
                before = now

    thread = threading.Thread(target=follow, name="mockserver follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
