"""What commands write for a person at a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from mockserver.cli.terminal import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_of_a_terminal_that_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress() as show:
        show("1 of 2")
        show("2 of 2")

    assert "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K" == stderr.getvalue()
