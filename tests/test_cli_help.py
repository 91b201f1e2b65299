"""The help of each command ends with examples that run, and groups its options if there are many."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from mockserver import MockServer
from mockserver._settings import SERVER
from mockserver.cli import build_parser, main
from mockserver.scenario import documents
from tests.harness.rows import each_row

RECORDING = Path(__file__).parent / "recordings" / "clinic.har"
COMMANDS = tuple(re.findall(r"^    ([a-z][a-z-]+) ", build_parser().format_help(), re.MULTILINE))
FORMS = ("report", "html", "combine")
ALL = (*COMMANDS, *(f"coverage {form}" for form in FORMS))
# Their examples serve until a signal, call a server or a service, or run a command of the reader: they are parsed alone.
PARSED = {"serve", "play", "health", "report", "explore", "probe"}
UNGROUPED_MAX = 8


def help_of(command: str) -> str:
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    assert 0 == end.value.code
    return out.getvalue()


def examples_of(command: str) -> list[str]:
    _, _, block = help_of(command).rpartition("\n\nexample")
    return re.findall(r"^  (mockserver .*)$", block, re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name."""
    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.call("GET", "/v1/campaigns")
        coverage = sandbox.call("GET", "/_mock/coverage").body
        replay = documents.dump(sandbox.log.replay_document())
    for name in (".mockserver/coverage.json", "test-1.json", "test-2.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(coverage)
    (tmp_path / "failure.json").write_text(replay, encoding="utf-8")
    shutil.copy(RECORDING, tmp_path / "calls.har")
    monkeypatch.chdir(tmp_path)


@each_row("command", ALL)
def test_the_help_of_a_command_ends_with_one_or_two_examples_of_it(command: str) -> None:
    examples = examples_of(command)

    assert 1 <= len(examples) <= 2
    assert [] == [example for example in examples if not example.startswith(f"mockserver {command}")]
    assert help_of(command).endswith(f"  {examples[-1]}\n")


@pytest.mark.usefixtures("folder")
@each_row("example", [each for name in ALL if name not in PARSED for each in examples_of(name)])
def test_an_example_runs_as_written(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (0, "") == (main(shlex.split(example)[1:]), capsys.readouterr().err)


@pytest.mark.parametrize("example", [each for name in sorted(PARSED) for each in examples_of(name)])
def test_an_example_that_calls_a_server_is_a_command_line(example: str) -> None:
    _, name, *_ = words = shlex.split(example)

    assert name == build_parser().parse_args(words[1:]).chosen.name


@each_row("command", ALL)
def test_no_group_of_a_help_has_more_than_eight_options(command: str) -> None:
    groups = re.split(r"\n\n", help_of(command))

    assert [] == [group for group in groups if len(re.findall(r"^  -", group, re.MULTILINE)) > UNGROUPED_MAX]


@each_row("command", ALL)
def test_a_help_says_in_plain_words_what_each_option_does(command: str) -> None:
    text = help_of(command)

    assert [] == re.findall(r"\b(tell|tells|demands|stand|stands|what is there)\b", text)
    assert [] == re.findall(r"^  (--[a-z-]+)(?: [A-Z|=]+)?$\n  -", text, re.MULTILINE)


def test_each_setting_is_in_a_group_of_the_help_of_serve() -> None:
    _, _, groups = help_of("serve").partition("\ndata and behaviour:\n")

    assert [] == [row.name for row in SERVER if f"\n  --{row.name} " not in f"\n{groups}"]


@each_row("columns", [80, 120])
@each_row("command", ALL)
def test_a_help_fits_the_terminal(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    assert [] == [line for line in help_of(command).splitlines() if len(line) > columns]
