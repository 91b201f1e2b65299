"""The command line: the lists that it prints, and its errors."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.contract.choices import CHOICES
from mockserver.contract.clauses import read, sentence_of
from mockserver.judge.client.rules import RULES
from mockserver.version import VERSION

ROOT = Path(__file__).resolve().parents[1]


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


def test_every_rule_of_conduct_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["clauses", "--conduct", "--json"])
    assert list(RULES) == [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert 0 == main(["clauses", "--conduct"])
    assert len(RULES) == len(capsys.readouterr().out.splitlines())


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


@pytest.mark.parametrize("command", [["choices"], ["scenarios", "all-sends-fail"]], ids=["long", "short"])
def test_a_reader_that_leaves_early_is_no_error(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short output would be written when the stream is closed, unless the command had flushed it."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as pipe, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", pipe)
        assert 0 == main(command)

    assert "" == capsys.readouterr().err


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
