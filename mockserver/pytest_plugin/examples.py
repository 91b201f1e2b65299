"""
The examples of a Hypothesis test: how many have passed and failed, so that the reported one is compared with the others.

1. Counted by a function in place of the test's `hypothesis.inner_test`, which Hypothesis documents for runners of tests.
2. Hypothesis explains a failure by the lines that only failing examples run. What counts runs the same lines for each.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from traceback import StackSummary, walk_tb
from types import TracebackType
from typing import Any

import pytest
from hypothesis.errors import HypothesisException

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_FAILURES = (Exception, SystemExit, pytest.fail.Exception)  # what Hypothesis takes for a failure of an example
_EXAMPLES: pytest.StashKey[_Examples] = pytest.StashKey()

_Ending = tuple[type[BaseException] | None, tuple[tuple[str, int | None], ...]]  # the exception, and its frames


class _Examples:
    """
    The examples of one test as a context manager, which each of them enters.

    Attributes:
        passed: The number of runs that passed.
    """

    def __init__(self) -> None:
        self._endings: Counter[_Ending] = Counter()
        self._tried: set[tuple[type[BaseException] | None, int]] = set()  # until one has passed
        self._input = 0  # a hash of the current one's text
        self._last: type[BaseException] | None = None  # with which the latest one ended

    @property
    def passed(self) -> int:
        return self._endings[None, ()]

    def of(self, arguments: Mapping[str, Any]) -> _Examples:
        """Name the arguments of the next example; the text of each is only needed until one has passed."""
        self._input = hash(_text(arguments)) if not self.passed else 0
        return self

    def __enter__(self) -> None:
        """Begin an example."""

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, frames: TracebackType | None
    ) -> None:
        rows = StackSummary.extract(walk_tb(frames), lookup_lines=False)
        self._endings[kind, tuple((row.filename, row.lineno) for row in rows)] += 1
        self._tried.add((kind, self._input))
        self._last = kind

    def compared(self, raised: BaseException) -> str | None:
        """Return what the other examples show about a failure; None if that is nothing."""
        # Hypothesis runs the example that it reports at the end; the test may also have failed after its examples.
        if isinstance(raised, HypothesisException) or not _is_failure(self._last):
            return None
        if self.passed:
            these = "these examples" if isinstance(raised, BaseExceptionGroup) else "this example"
            others = "1 run with another example" if self.passed == 1 else f"{self.passed} runs with other examples"
            return f"fails for {these}; {others} passed"
        ways = [kind for kind, _ in self._endings if _is_failure(kind)]
        inputs = [kind for kind, _ in self._tried if _is_failure(kind)]
        if len(ways) == 1 and len(inputs) > 1:
            return f"all {len(inputs)} examples that were tried failed in the same way, so not by this input"
        return None


def _text(arguments: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal arguments; also for some others, such as objects without one of their own."""
    try:
        return _ADDRESS.sub("", repr(arguments))
    except Exception:  # noqa: BLE001 - of a class of the suite
        return ""


def _is_failure(kind: type[BaseException] | None) -> bool:
    return kind is not None and issubclass(kind, _FAILURES) and not issubclass(kind, HypothesisException)


@contextmanager
def counted(item: pytest.Item) -> Iterator[None]:
    """Count the examples of a test while it runs; nothing for a test of coroutines, which end later."""
    handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
    inner = getattr(handle, "inner_test", None)
    if inner is None or inspect.iscoroutinefunction(inner):
        yield
        return
    fixtures = frozenset(getattr(item, "funcargs", None) or ())
    examples = item.stash[_EXAMPLES] = _Examples()

    @wraps(inner)
    def counting(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with examples.of({name: value for name, value in kwargs.items() if name not in fixtures}):
            return inner(*args, **kwargs)

    handle.inner_test = counting
    try:
        yield
    finally:
        handle.inner_test = inner


def add_section(item: pytest.Item, report: pytest.TestReport, raised: BaseException) -> None:
    """Add a section about the other examples of a failing test."""
    examples = item.stash.get(_EXAMPLES, None)
    text = None if examples is None else examples.compared(raised)
    if text is not None:
        report.sections.append(("mockserver", text))
