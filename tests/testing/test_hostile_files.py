"""Files of a stranger for the commands that read one: status 2 and one error, nothing written, nothing run."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mockserver.cli import main
from mockserver.judge.coverage.coverage import Coverage
from mockserver.report.trace_page import read_trace
from mockserver.scenario.documents import read_file
from mockserver.scenario.parsing import value_of
from mockserver.scenario.problems import ScenarioError
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.testing.report.replay import replay, replay_in
from mockserver.version import TRACE_VERSION

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
    ["open", "--port", "0"],
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
    if (kind, command[0]) == ("empty", "open"):
        pytest.skip("a run without a call is one")

    error = refusal(command, "hostile.json", FILES[kind], capsys)

    assert error.startswith("mockserver: ") and "Traceback" not in error
    assert "hostile.json" in error or (kind, command) == ("empty", ["replay-calls"])


@pytest.mark.parametrize(
    ("text", "received"),
    [("scenario: " + "x" * 131_072, "131,082"), ('{"scenario": ' + "1," * 1_000_000, "2,000,013")],
    ids=["YAML", "not quite JSON"],
)
def test_a_long_text_that_is_not_json_is_refused_before_the_slow_parser_reads_it(text: str, received: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        value_of(text, "long")

    assert f"got {received} characters that are not an object of JSON; expected at most 131,072 of YAML" in str(
        refused.value
    )


def test_the_places_of_a_long_document_are_not_searched_by_the_slow_parser(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(
        json.dumps({"scenario": "x", "summary": 1, "given": {"chats": [{"name": "x" * 131_072}]}}), encoding="utf-8"
    )

    with pytest.raises(ScenarioError) as refused:
        read_file(file)

    assert "/summary" in str(refused.value)
    assert "line" not in str(refused.value)


def test_a_text_of_json_may_have_any_length() -> None:
    assert {"scenario": "x" * 1_048_577} == value_of(f'{{"scenario": "{"x" * 1_048_577}"}}', "long")


@pytest.mark.parametrize("command", [["replay-calls"], ["open", "--port", "0"]], ids=" ".join)
@pytest.mark.parametrize("kind", ENTRIES)
def test_a_hostile_entry_of_a_run_is_refused(command: list[str], kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"scenario": "../../out", "calls": [ENTRIES[kind]]}

    error = refusal(command, "run.json", json.dumps(document).encode(), capsys)

    assert error.startswith("mockserver: ") and "; expected " in error


def trace(data: object) -> bytes:
    return f'<script type="application/json" id="trace">{json.dumps(data)}</script>'.encode()


def trace_of(calls: object, before: object = 0) -> bytes:
    return trace({"version": TRACE_VERSION, "before": before, "document": {"scenario": "x", "calls": calls}})


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"<html>",
        trace([]),
        trace({"version": TRACE_VERSION}),
        trace_of([{"call": "GET /v1/campaigns"}], before=True),
        trace_of([{"call": "GET /v1/campaigns"}], before="0"),
        trace_of("x"),
        trace_of([{"do": []}]),
        trace_of([{"do": "removeSandbox"}]),
        b'<script type="application/json" id="trace">' + DEEP.encode() + b"</script>",
    ],
)
def test_a_hostile_trace_is_refused(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert "; expected " in refusal(["open", "--port", "0"], "trace.html", content, capsys)


def test_a_trace_of_many_beginnings_without_an_end_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(str):
        """A text that counts how often it is searched."""

        searches = 0

        def partition(self, *arguments: Any) -> tuple[str, str, str]:
            Counted.searches += 1
            before, found, after = super().partition(*arguments)
            return before, found, Counted(after)

    assert read_trace(Counted('<script type="application/json" id="trace">' * 10_000)) is None
    assert 2 == Counted.searches


def test_a_wait_longer_than_time_itself_is_a_long_one() -> None:
    entry = {"call": "GET /v1/campaigns", "waits": 1e308, "answer": {"status": 200, "body": {"campaigns": []}}}

    assert [[]] == [each.differences for each in replay({"scenario": "x", "calls": [entry]})]


@pytest.mark.parametrize("value", [None, "", -1, 1e308, True, [], {}, "../..", "9" * 30, 10**25], ids=repr)
def test_each_command_of_a_run_is_run_or_refused_whatever_its_arguments_are(value: object) -> None:
    names = sorted(
        {"id", "sessionId", "name", "by", "to", "rate", "label", "given", "choices", "url", "path", "untilIdle"}
    )
    for route in (route for route in ROUTES if route.recorded and route.target == "sandbox"):
        for arguments in ({}, *({name: value} for name in names), *({"id": "x", name: value} for name in names)):
            entry = {"do": route.recorded, "with": arguments}
            assert 1 == len(list(replay({"scenario": "x", "calls": [entry]})))


def test_the_state_after_a_run_has_no_endpoint_that_a_document_has_set_up() -> None:
    document = {"scenario": "x", "calls": [{"do": "create_webhook", "with": {"url": "http://127.0.0.1:631/"}}]}
    hosted = SandboxHost().create(SandboxConfig(document))
    list(replay_in(hosted, document))

    assert [] == [id for tenant in hosted.sandbox.tenants.values() for id in tenant.webhooks]


@pytest.mark.parametrize("value", [None, 1, "x", [], [[]], {"a": 1}, float("nan")], ids=repr)
def test_a_coverage_with_a_value_of_another_kind_is_refused(value: object, capsys: pytest.CaptureFixture[str]) -> None:
    for dimension in Coverage().as_json()["dimensions"]:
        document = Coverage().as_json()
        document["dimensions"][dimension] = value
        Path("cov.json").unlink(missing_ok=True)
        assert "; expected " in refusal(["coverage", "html"], "cov.json", json.dumps(document).encode(), capsys)
