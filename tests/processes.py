"""Processes of the suite that end in order, as by Ctrl-C or by the system: on POSIX by a signal, on Windows by Ctrl-Break."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Options of `subprocess.Popen` for a process that `interrupt` is to end without ending this one.
OWN_GROUP: dict[str, Any] = {}
if sys.platform == "win32":
    OWN_GROUP["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP


@contextmanager
def in_a_terminal() -> Iterator[None]:
    """Let the processes that the block starts end at SIGHUP: they would inherit that a suite under `nohup` ignores it."""
    number = getattr(signal, "SIGHUP", None)
    if number is None:
        yield
        return
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


def run_apart(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own with these options; return its status and what it printed."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, check=False)


def interrupt(process: subprocess.Popen[Any], number: int = signal.SIGTERM) -> None:
    """Send the signal; on Windows, where a process of another group gets no signal, send Ctrl-Break."""
    if sys.platform == "win32":
        number = signal.CTRL_BREAK_EVENT
    process.send_signal(number)
