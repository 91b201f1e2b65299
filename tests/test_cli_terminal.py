"""Lines that commands print fit the terminal, and are those of a file or a pipe without one."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.cli.terminal import fit, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def printed(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, *arguments: str) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert 0 == main(arguments)
    return out.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [
        "scenarios", "scenarios demo", "scenarios campaign-canceled-by-another", "choices", "clauses", "clauses --conduct",
        "docs", "coverage report", "coverage report --operations startCampaign",
    ],
)  # fmt: skip
def test_a_list_fits_the_terminal_with_the_words_of_a_pipe(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with MockServer() as server, server.sandbox() as sandbox:
        coverage = sandbox.call("GET", "/_mock/coverage").body
    (tmp_path / ".mockserver").mkdir()
    (tmp_path / ".mockserver" / "coverage.json").write_bytes(coverage)

    piped = printed(monkeypatch, io.StringIO(), *arguments.split())
    shown = printed(monkeypatch, Terminal(), *arguments.split())

    assert max(map(len, piped.splitlines())) > 80
    assert [] == [line for line in shown.splitlines() if len(line) > 80 and len(line.split()) > 1]
    assert piped.split() == shown.split()


@pytest.mark.parametrize(
    ("line", "fitted"),
    [
        ("  short", "  short"),
        (f"name{' ' * 16}{'word ' * 14}end", f"name{' ' * 16}{'word ' * 11}word\n{' ' * 20}word word end"),
        (f"  why: {'word ' * 15}end", f"  why: {'word ' * 13}word\n      word end"),
        (f"  {'x' * 90} end", f"  {'x' * 90}\n      end"),
        (f"{' ' * 70}some words", f"{' ' * 70}some words"),
        (f"{' ' * 76}some words", f"{' ' * 76}some\n{' ' * 48}words"),
        (f"  repeat: curl -s {'u' * 70} > run.json", f"  repeat: curl -s {'u' * 70} > run.json"),
    ],
    ids=["short", "column", "indented", "long word", "just fits", "deep", "command to paste"],
)
def test_a_line_is_wrapped_below_its_last_column_or_its_indent(line: str, fitted: str) -> None:
    assert fitted == fit(line, Terminal())
    assert line == fit(line, io.StringIO())


def test_a_narrow_terminal_gets_lines_of_sixty_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    assert "word " * 11 + "word\n    word" == fit("word " * 12 + "word", Terminal())


def test_progress_is_one_line_of_a_terminal_that_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress() as show:
        show("1 of 2")
        show("2 of 2")

    assert "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K" == stderr.getvalue()
