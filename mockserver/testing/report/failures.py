"""The failure of a Python test, by its exception."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import extract_tb
from typing import Final

from mockserver.server.report.exchanges import shorten
from mockserver.server.report.failure import Failure
from mockserver.testing.calls import CallMismatch

_TIMEOUTS: Final = ("Timeout >", "Timeout (>")  # the messages of pytest-timeout before version 2.4 and since


class SelfExplainingError(AssertionError):
    """A failure whose own first lines contain its cause, such as an invariant that does not hold."""


class Stopped(Exception):
    """The end of a test that was stopped while it ran, for a test without an exception that shows this."""


def describe(failure: BaseException | None) -> Failure:
    """Return the failure of a test that ended with this exception, or that shows none."""
    if failure is None:
        return Failure()
    if isinstance(failure, CallMismatch):
        return Failure(expected=failure.expected, extra=failure.extra, nearest=failure.nearest)
    is_stop = isinstance(failure, KeyboardInterrupt | Stopped) or (
        _is_pytest_failure(failure) and str(failure).startswith(_TIMEOUTS)
    )
    if _is_pytest_failure(failure) and not is_stop and len(str(failure).splitlines()) == 1:
        return Failure(str(failure))  # the words of the test, which seldom name the cause
    is_self_explaining = isinstance(failure, SelfExplainingError) or _is_pytest_failure(failure)
    if (is_self_explaining and str(failure)) or _is_own_refusal(failure):
        return Failure(is_stop=is_stop, own_lines=str(failure).splitlines())
    is_error = isinstance(failure, Exception) and not isinstance(failure, AssertionError | Stopped)
    return Failure(is_stop=is_stop, raised=_raised(failure) if is_error else None)


def _is_pytest_failure(failure: BaseException) -> bool:
    """Return True for the exception of `pytest.fail`, without an import of pytest."""
    pytest = sys.modules.get("pytest")
    return pytest is not None and isinstance(failure, pytest.fail.Exception)


def _is_own_refusal(failure: BaseException) -> bool:
    """Return True for an error of the mock's own interface, such as a scenario with an unknown name."""
    trace = failure.__traceback__ if isinstance(failure, ValueError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("mockserver.")


def _raised(failure: BaseException) -> str:
    """Return the exception, its message and its place in the test, on one line."""
    frames = [frame for frame in extract_tb(failure.__traceback__) if not _is_library(Path(frame.filename))]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    message = str(failure).partition("\n")[0]
    return f"{type(failure).__name__}{f': {shorten(message)}' if message else ''}{place}"


def _is_library(file: Path) -> bool:
    """Return True for a file of an installed package, of this one or of Python: the test is not wrong there."""
    places = (Path(__file__).parents[1], Path(extract_tb.__code__.co_filename).parent)
    return "site-packages" in file.parts or any(file.is_relative_to(place) for place in places)
