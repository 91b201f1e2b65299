"""`mockserver interleave -- COMMAND -- COMMAND`: clients in other processes, each known by its port."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mockserver.cli import main

SCENARIO = """
scenario: one-template
summary: One template.
given: {templates: [{id: template_t, name: T}], chats: {count: 2}}
"""
PYTHON = """
import json
import os
import sys
import urllib.request


def call(path, body=None):
    headers = {"X-API-Key": os.environ["MOCKSERVER_KEY"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["MOCKSERVER_URL"] + path, data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if not call("/v1/campaigns")["campaigns"]:
    body = {"name": NAME, "platform": "chatapp", "templateId": "template_t", "cadence": 60}
    campaign = call("/v1/campaigns", body)["campaignId"]
    call(f"/v1/campaigns/{campaign}/start", {})
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def program(name: str, text: str) -> list[str]:
    Path(name).write_text(text, encoding="utf-8")
    return ["--", sys.executable, name]


def workers(name: str = "sys.argv[0]") -> list[str]:
    text = PYTHON.replace("NAME", name)
    return ["--scenario", "one.yaml", *program("worker.py", text), *program("cron.py", text)]


def test_two_programs_race_and_are_named_as_they_were_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    python = Path(sys.executable).name
    given = [word if word != sys.executable else python for word in workers()]

    status = main(["interleave", "--bound", "1", "--json", "report.json", *given])

    assert 1 == status
    (finding,) = json.loads(Path("report.json").read_text("utf-8"))["findings"]
    assert ("duplicate", "a*2 b") == (finding["verdict"], finding["schedule"])
    assert Path(finding["document"]).is_file()
    assert Path(finding["document"]).name.startswith(f"{python}-worker.py-and-{python}-cron.py-")
    again = f'  > mockserver interleave --schedule "a*2 b" --scenario one.yaml -- {python} worker.py -- '
    assert again in capsys.readouterr().out


@pytest.mark.deep
def test_a_schedule_runs_programs_in_one_order(capsys: pytest.CaptureFixture[str]) -> None:
    statuses = [main(["interleave", "--schedule", text, *workers()]) for text in ("a*2 b", "a*4 b")]

    assert [1, 0] == statuses


def test_a_program_that_fails_in_every_order_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["interleave", *program("one.py", "raise SystemExit(3)"), *program("two.py", "raise SystemExit(0)")])

    assert 1 == status
    assert "nothing is compared: a fails in every serial run: exit status 3" in capsys.readouterr().out


@pytest.mark.deep
def test_a_program_may_report_by_its_status_that_another_was_first() -> None:
    crashes = workers("'Promotion'")
    reports = workers("'Promotion'")

    assert 1 == main(["interleave", "--bound", "1", *crashes])
    assert 0 == main(["interleave", "--bound", "1", "--reported-output", "HTTP Error 400", *reports])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", sys.executable], "got 1 command(s); expected at least two"),
        ([], "got 0 command(s); expected at least two"),
        (["--", "no-such-program", "--", sys.executable], "got 'no-such-program'; expected a program that is on PATH"),
    ],
)
def test_wrong_commands_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["interleave", *words])
    assert message in capsys.readouterr().err


def test_programs_that_make_no_call_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["interleave", *program("one.py", ""), *program("two.py", "")])
    assert "the commands made no call; expected calls to MOCKSERVER_URL" in capsys.readouterr().err
