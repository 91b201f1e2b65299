"""The failure of a Python test, by its exception."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import FrameSummary, extract_tb
from typing import Final

from mockserver.contract.text import brief
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.failure import Failure
from mockserver.server.hosting.host import IN_PROCESS_HOST
from mockserver.testing.calls import CallMismatch

_TIMEOUTS: Final = ("Timeout >", "Timeout (>")  # the messages of pytest-timeout before version 2.4 and since

_LIBRARIES: Final = (
    Path(__file__).parents[2],
    Path(extract_tb.__code__.co_filename).parent,
)  # the mock's, and Python's
_MESSAGE_CHARS: Final = 4_000
_CALLERS_SHOWN: Final = 2  # of the frames that led to an exception, besides the test's own


class SelfExplainingError(AssertionError):
    """A failure whose own first lines contain its cause, such as an invariant that does not hold."""


class Stopped(Exception):
    """The end of a test that was stopped while it ran, for a test without an exception that shows this."""


def describe(failure: BaseException | None) -> Failure:
    """Return the failure of a test that ended with this exception, or that shows none."""
    if failure is None:
        return Failure()
    place = place_of(failure)
    if isinstance(failure, CallMismatch):
        return Failure(expected=failure.expected, extra=failure.extra, nearest=failure.nearest, place=place)
    is_stop = _is_stop(failure)
    if _is_pytest_failure(failure) and not is_stop and len(str(failure).splitlines()) == 1:
        return Failure(str(failure), place=place)  # the words of the test, which seldom name the cause
    is_self_explaining = isinstance(failure, SelfExplainingError) or _is_pytest_failure(failure)
    if (is_self_explaining and str(failure)) or _is_own_refusal(failure):
        return Failure(is_stop=is_stop, own_lines=str(failure).splitlines())
    if isinstance(failure, AssertionError):
        return Failure(is_stop=is_stop, asserted=_asserted(str(failure)) or "an assertion does not hold", place=place)
    if not isinstance(failure, Exception) or isinstance(failure, Stopped):
        return Failure(is_stop=is_stop)
    return Failure(is_stop=is_stop, raised=_raised(failure), is_unresolved=_is_unresolved(failure), place=place)


def _is_unresolved(failure: BaseException) -> bool:
    """Return True if a client without the sandbox's transport has called an url of a call in process."""
    causes = list(_causes(failure))
    texts = [text for cause in causes for text in (str(cause), _requested(cause))]
    has_name = any(IN_PROCESS_HOST in text for text in texts)
    return has_name and any(isinstance(cause, socket.gaierror) for cause in causes)


def _causes(failure: BaseException) -> Iterator[BaseException]:
    """Yield the exception and those that led to it; of a group its first one."""
    seen: set[int] = set()
    cause: BaseException | None = failure
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        led_here = cause.__cause__ or cause.__context__
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else led_here


def _requested(failure: BaseException) -> str:
    """Return the url of the request that an exception of httpx or requests names; empty without one."""
    try:
        return str(getattr(getattr(failure, "request", None), "url", ""))
    except RuntimeError:  # of httpx, for an exception without a request
        return ""


def _raised(failure: BaseException) -> str:
    """Return type and message of an exception; of a group those of its first one."""
    if isinstance(failure, BaseExceptionGroup):
        count = len(failure.exceptions)
        of = f" (the first of {count} in {type(failure).__name__})" if count > 1 else f" (in {type(failure).__name__})"
        return f"{_raised(failure.exceptions[0])}{of}"
    first = shorten(str(failure).partition("\n")[0])
    return f"{type(failure).__name__}{f': {first}' if first else ''}"


def _asserted(message: str) -> str:
    """Return an assertion's message in one line: the test's own words, and the comparison."""
    first, *others = message.splitlines() or [""]
    if first.startswith("assert ") or not others or not others[0].startswith("assert "):
        return shorten(first)
    return f"{first}: {shorten(others[0])}"


def _is_stop(failure: BaseException) -> bool:
    """Return True if the test was stopped while it ran, by a person or by its time limit."""
    is_timeout = _is_pytest_failure(failure) and str(failure).startswith(_TIMEOUTS)
    return is_timeout or isinstance(failure, KeyboardInterrupt | Stopped)


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


def message(failure: BaseException | None) -> str:
    """Return the type and the whole message of an exception, cut to what a page shows; empty without one."""
    if failure is None or isinstance(failure, Stopped):
        return ""
    words = str(failure)
    return brief(f"{type(failure).__name__}{f': {words}' if words else ''}", _MESSAGE_CHARS)


def frames(failure: BaseException | None) -> list[str]:
    """Return file, line and source of the frames of client and test that led to an exception, the last ones first: at most three."""
    if failure is None:
        return []
    own = [frame for frame in extract_tb(failure.__traceback__) if is_of_test(frame.filename)]
    shown = [*own[:1], *own[1:][-_CALLERS_SHOWN:]]
    return [f"{_located(frame)}{f' `{shorten(frame.line)}`' if frame.line else ''}" for frame in reversed(shown)]


def is_of_test(filename: str) -> bool:
    """Return True for a file of the test or its client: neither of the mock, nor of Python or of an installed library."""
    file = Path(filename)
    return (
        not filename.startswith("<")
        and "site-packages" not in file.parts
        and not any(map(file.is_relative_to, _LIBRARIES))
    )


def place_of(failure: BaseException) -> str:
    """Return the last of the frames, and the lines of the others."""
    shown = frames(failure)
    return " from ".join([*shown[:1], *(frame.partition(" `")[0] for frame in shown[1:])])


def _located(frame: FrameSummary) -> str:
    """Return file and line of a frame; the file from the working directory if it is in it, else its name."""
    file, folder = Path(frame.filename), Path.cwd()
    shown = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name
    return f"{shown}:{frame.lineno}"
