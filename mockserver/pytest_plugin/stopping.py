"""
The report of a test that is stopped from outside: by Ctrl-C, or by pytest-timeout.

Neither the first nor the `thread` method of the second makes a report of the test; the first is printed in the
terminal's summary, the second when the time is over, since pytest-timeout ends the process then.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.pytest_plugin import failure_report
from mockserver.testing.report.failures import Stopped

if TYPE_CHECKING:
    from _pytest.capture import CaptureManager

    from mockserver.pytest_plugin.ownership import SandboxOwnership

_TIMEOUT_S = 5.0  # the stopped thread may hold a lock that the report needs


def sections(item: pytest.Item, interrupt: KeyboardInterrupt, ownership: SandboxOwnership) -> list[tuple[str, str]]:
    """Return the sections of a test that Ctrl-C has stopped, for the terminal's summary; under --pdb it has a report."""
    if item.config.getoption("usepdb", default=False):
        return []
    return list(failure_report.sections(item, interrupt, ownership))


def print_sections(reporter: pytest.TerminalReporter, stopped: list[tuple[str, str]]) -> None:
    """Print the sections of the test that was stopped."""
    for title, text in stopped:
        reporter.write_sep("-", title)
        reporter.write_line(text)


def set_timer(item: pytest.Item, settings: Any, key: pytest.StashKey[SandboxOwnership]) -> bool:
    """Set the timer of pytest-timeout's `thread` method, which prints the sections before the process ends."""
    timer = threading.Timer(settings.timeout, _end, (item, settings, key))
    timer.name = f"{__name__} {item.nodeid}"
    timer.daemon = True

    def cancel() -> None:
        timer.cancel()
        timer.join()

    item.cancel_timeout = cancel  # type: ignore[attr-defined]  # pytest-timeout reads it there
    timer.start()
    return True


def _end(item: pytest.Item, settings: Any, key: pytest.StashKey[SandboxOwnership]) -> None:
    pytest_timeout: Any = import_module("pytest_timeout")
    is_stopped = settings.disable_debugger_detection or not pytest_timeout.is_debugging()
    if is_stopped and key in item.config.stash:
        ownership, found = item.config.stash[key], list[tuple[str, str]]()
        reading = threading.Thread(
            target=lambda: found.extend(failure_report.sections(item, Stopped(), ownership)), daemon=True
        )
        reading.start()
        reading.join(_TIMEOUT_S)
        capture: CaptureManager | None = item.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture()
        terminal = item.config.get_terminal_writer()
        for title, text in found:
            terminal.line()
            terminal.sep("-", title)
            terminal.line(text)
    pytest_timeout.timeout_timer(item, settings)
