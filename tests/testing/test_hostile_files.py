"""Files of a stranger for the commands that read one: status 2 and one error, nothing written, nothing run."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mockserver.cli import main
from mockserver.judge.coverage.coverage import Coverage
from tests.harness.rows import each_row

DEEP = "[" * 100_000
BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FILES: dict[str, bytes] = {
    "aliases": BOMB.encode(),
    "alias of itself": b"calls: &a\n - *a\n",
    "deep": DEEP.encode(),
    "deep and whole": (DEEP + "]" * 100_000).encode(),
    "deep calls": ('{"calls":' + DEEP).encode(),
    "not a number": b'{"scenario": "x", "seed": NaN}',
    "beyond numbers": b'{"scenario": "x", "seed": 1e999}',
    "long number": b'{"scenario": "x", "seed": ' + b"9" * 100_000 + b"}",
    "a billion chats": b'{"scenario": "x", "given": {"chats": {"count": 1000000000000}}}',
    "bytes": b"\xff\xfe\x00\x01" * 100,
    "UTF-16": '{"scenario": "x"}'.encode("utf-16"),
    "Latin-1": "scenario: café".encode("latin-1"),
    "NUL": b"a: \0",
    "gzip": b"\x1f\x8b\x08" + b"\0" * 100,
    "zip": b"PK\x03\x04" + b"\0" * 100,
    "object of Python": b"!!python/object/apply:os.system ['touch run']\n",
    "name of Python": b"scenario: !!python/name:os.system\n",
    "two documents": b"--- {}\n--- {}\n",
    "a list": b"[1, 2]",
    "empty": b"",
}
COMMANDS = (
    ["replay-calls"],
    ["play", "--port", "0"],
    ["coverage", "combine", "-o", "out.json"],
    ["coverage", "html"],
)
ENTRIES: dict[str, Any] = {
    "unknown command": {"do": "nope"},
    "command of the server": {"do": "removeSandbox", "with": {"id": "default"}},
    "command that reads": {"do": "readScenario", "with": {"name": "../../etc/passwd"}},
    "body that is not base64": {"call": "POST /v1/messaging/media", "base64": "%%%a"},
    "wait that is text": {"call": "GET /v1/campaigns", "waits": "for ever"},
    "wait below zero": {"call": "GET /v1/campaigns", "waits": -1},
    "call that is a number": {"call": 5},
    "file": {"call": "POST /v1/messaging/media", "file": "../../etc/passwd"},
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(command: list[str], name: str, content: bytes, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints about the file, which is all that it does."""
    file = Path(name)
    file.write_bytes(content)
    status = main([*command, name])
    written = [each.name for each in Path().iterdir()]
    assert (2, [name]) == (status, written)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        # Each file for one command and each command for one file in the test line, every pair of them in the deep run.
        pytest.param(kind, command, marks=[pytest.mark.deep] * (kind != "aliases" and command != COMMANDS[-1]))
        for kind, command in product(FILES, COMMANDS)
    ],
)
def test_a_hostile_file_is_refused_and_named(kind: str, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if (kind, command[0]) == ("empty", "play"):
        pytest.skip("an empty scenario is one")

    error = refusal(command, "hostile.json", FILES[kind], capsys)

    assert error.startswith("mockserver: ") and "Traceback" not in error
    assert "hostile.json" in error or (kind, command) == ("empty", ["replay-calls"])


@each_row("kind", ENTRIES)
def test_a_hostile_entry_of_a_run_is_refused(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"scenario": "../../out", "calls": [ENTRIES[kind]]}

    error = refusal(["replay-calls"], "run.json", json.dumps(document).encode(), capsys)

    assert error.startswith("mockserver: ") and "; expected " in error


@pytest.mark.parametrize("value", [None, 1, "x", [], [[]], {"a": 1}, float("nan")], ids=repr)
def test_a_coverage_with_a_value_of_another_kind_is_refused(value: object, capsys: pytest.CaptureFixture[str]) -> None:
    for dimension in Coverage().as_json()["dimensions"]:
        document = Coverage().as_json()
        document["dimensions"][dimension] = value
        Path("cov.json").unlink(missing_ok=True)
        assert "; expected " in refusal(["coverage", "html"], "cov.json", json.dumps(document).encode(), capsys)
