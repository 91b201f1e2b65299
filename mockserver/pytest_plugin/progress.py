"""How far the runs of one test are, in the current line of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.capture import CaptureManager


@contextmanager
def progress(config: pytest.Config) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text in the current line of a terminal, and clear that line at the end."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture: CaptureManager | None = config.pluginmanager.get_plugin("capturemanager")
    if reporter is None or not reporter.isatty:
        yield lambda _: None
        return

    def show(text: str) -> None:
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            reporter.rewrite(text, erase=True)

    yield show
    show("")
    reporter.currentfspath = None  # the line of its file begins anew
