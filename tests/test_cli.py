"""The command line: the lists that it prints, and its errors."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.contract.choices import CHOICES
from mockserver.contract.clauses import read, sentence_of
from mockserver.version import VERSION
from tests.harness.rows import each_row

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 60


def test_every_scenario_is_listed_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted(path.stem for path in (ROOT / "scenarios").glob("*.yaml"))

    assert 0 == main(["scenarios"])
    lines = capsys.readouterr().out.splitlines()
    assert names == sorted(line.split()[0] for line in lines)
    assert all(len(line.split()) > 3 for line in lines)

    assert 0 == main(["scenarios", "--json"])
    assert names == sorted(row["name"] for row in json.loads(capsys.readouterr().out))


def test_every_choice_is_listed_with_its_options_default_and_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["choices"])
    text = capsys.readouterr().out
    assert [] == [
        row.id for row in CHOICES.values() if row.id not in text or row.question not in text or row.why not in text
    ]
    assert re.search(r"dual-status\b.*\n.*\n.*catalog \(default\), guide", text)

    assert 0 == main(["choices", "--json"])
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(CHOICES) == list(rows)
    assert ["catalog", "guide"] == rows["dual-status"]["options"]
    assert "catalog" == rows["dual-status"]["default"]


def test_every_clause_is_listed_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["clauses"])
    lines = capsys.readouterr().out.splitlines()
    assert [clause.id for clause in read()] == [line.split()[0] for line in lines]
    assert [str(sentence_of(clause.id)) for clause in read()] == [line[30:] for line in lines]

    assert 0 == main(["clauses", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [(clause.id, clause.is_quoted) for clause in read()] == [(row["id"], row["isQuoted"]) for row in rows]


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])

    assert 0 == end.value.code
    assert f"mockserver {VERSION}\n" == capsys.readouterr().out


def test_without_a_command_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main([])
    help_text = capsys.readouterr().out
    assert help_text.startswith("usage: mockserver ")
    assert {"serve", "play", "probe"} <= set(help_text.split())

    command = [sys.executable, "-m", "mockserver"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (0, help_text.split(), "") == (ran.returncode, ran.stdout.split(), ran.stderr)


def run_without_reader(*command: str) -> tuple[int, bytes]:
    """Return the status of a command whose reader has left before it prints, and what it prints to standard error."""
    read_end, write_end = os.pipe()
    os.close(read_end)

    done = subprocess.run(
        [sys.executable, "-m", "mockserver", *command],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    os.close(write_end)

    return done.returncode, done.stderr


@pytest.mark.parametrize("command", [("choices",), ("scenarios", "all-sends-fail")], ids=["long", "short"])
def test_a_reader_that_leaves_early_gets_no_traceback(command: tuple[str, ...]) -> None:
    """A short output is written when the interpreter ends, unless the command has flushed it."""
    assert (0, b"") == run_without_reader(*command)


def test_every_option_and_command_has_a_help_text_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    texts = [capsys.readouterr().out]
    commands = re.findall(r"^    ([a-z]+)", texts[0], re.MULTILINE)
    for command in commands:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        texts.append(capsys.readouterr().out)

    assert {"serve", "probe"} < set(commands)
    assert [] == [text for text in texts if re.search(r"\b(tell|tells|demands|stand|stands|what is there)\b", text)]
    assert [] == [
        option for text in texts for option in re.findall(r"^  (--[a-z-]+)(?: [A-Z|=]+)?$\n  -", text, re.MULTILINE)
    ]


def test_a_taken_port_is_named_with_the_mend(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code = main(["serve", "--port", str(port)])

    output = capsys.readouterr()
    assert 2 == code
    assert "" == output.out
    assert (
        f"mockserver: got port {port} of 127.0.0.1, which is taken; expected a free port, such as --port 0 takes\n"
        == output.err
    )


@each_row(
    ("arguments", "names"),
    [
        (["--scenario", "dem"], ["dem", "'demo'"]),
        (["--choose", "dual-statu=guide"], ["--choose dual-statu=guide is refused", "'dual-status'"]),
        (["--choose", "dual-status=gide"], ["gide", "'guide'"]),
        (["--choose", "dual-status"], ["dual-status", "ID=OPTION"]),
        (["--scenario", "missing.yaml"], ["missing.yaml"]),
        (["--profile", "missing.yaml"], ["missing.yaml"]),
        (["--profile", "hostil"], ["hostil", "'hostile'"]),
        (["--freeze", "yesterday"], ["got --freeze 'yesterday'; expected an RFC 3339 instant, such as 2026-"]),
        (
            ["--host", "192.0.2.1"],
            ["got 192.0.2.1 port 0, which is refused (", "); expected an address of this machine"],
        ),
        (["--journal-max-entries", "0"], ["got --journal-max-entries 0; expected at least 1"]),
        (["--journal-max-bytes", "-5"], ["got --journal-max-bytes -5; expected at least 1"]),
        (["--port", "99999"], ["99999"]),
    ],
)
def test_what_it_cannot_do_ends_it_with_2_and_the_nearest_name(
    capsys: pytest.CaptureFixture[str], arguments: list[str], names: list[str]
) -> None:
    code = main(["serve", "--port", "0", *arguments])

    output = capsys.readouterr()
    assert 2 == code
    assert "" == output.out
    assert [] == [name for name in names if name not in output.err]


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("choices: {dual-statu: guide}", ["dual-statu", "'dual-status'"]),
        ("choices: {dual-status: gide}", ["gide", "'guide'"]),
        ("choice: {dual-status: guide}", ["choice", "'choices'"]),
        ("given: {}", ["/given", "choices"]),
        ("[dual-status]", ["object"]),
        ("choices: {dual-status: guide", ["line 1"]),
    ],
)
def test_a_wrong_profile_ends_it_with_2_and_the_nearest_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, document: str, names: list[str]
) -> None:
    (tmp_path / "profile.yaml").write_text(document, encoding="utf-8")

    code = main(["serve", "--port", "0", "--profile", str(tmp_path / "profile.yaml")])

    output = capsys.readouterr()
    assert 2 == code
    assert [] == [name for name in names if name not in output.err]
