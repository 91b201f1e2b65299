"""`serve --failures-dir FOLDER`: what is left of a sandbox that its client ends as failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest

from mockserver import MockServer
from mockserver.scenario import documents
from mockserver.testing.report import failed_runs
from mockserver.testing.report.failed_runs import FailedRuns
from mockserver.testing.report.replay import print_replay
from mockserver.testing.report.trace_page import read_trace
from tests.server.control_calls import NOON, Made, control, make, refused

FAILURE = "?failure=expected+a+campaign&name=TestReads"
ENDED = f"{FAILURE}&failed=true"
FILES = ["TestReads.har", "TestReads.html", "TestReads.txt", "TestReads.yaml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "failures"


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with MockServer() as server:
        server._host.failures = FailedRuns(folder)
        yield server.url


def ran(url: str) -> Made:
    """A sandbox whose client has read a campaign that does not exist."""
    made = make(url, clock={"freeze": NOON})
    assert 404 == made.api("GET", "/v1/campaigns/none").status_code
    return made


def end(made: Made, query: str = "") -> int:
    return control(made.server, "DELETE", f"/sandboxes/{made.id}{query}").status_code


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def test_a_sandbox_that_ends_as_failed_leaves_its_files(url: str, folder: Path) -> None:
    assert 204 == end(ran(url), ENDED)

    assert FILES == files(folder)
    lines = (folder / "TestReads.txt").read_text("utf-8").splitlines()
    assert "the test failed: expected a campaign" == lines[0]
    assert "Call #1 readCampaign was refused: 404 CAMPAIGN_NOT_FOUND" == lines[1]
    assert 0 == print_replay(documents.read(folder / "TestReads.yaml"), StringIO())
    trace = (folder / "TestReads.html").read_text("utf-8")
    assert "readCampaign GET /v1/campaigns/none" in trace
    document, steps = read_trace(trace) or ({}, [])
    assert ("TestReads", [1]) == (document["scenario"], steps)
    assert 'href="TestReads.har"' in trace
    (entry,) = json.loads((folder / "TestReads.har").read_text("utf-8"))["log"]["entries"]
    assert 404 == entry["response"]["status"]


def test_a_report_of_a_failure_keeps_the_same_files(url: str, folder: Path) -> None:
    made = ran(url)

    text = made.control("GET", f"/report{FAILURE}").text

    assert text == (folder / "TestReads.txt").read_text("utf-8")
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    assert FILES == [*before]
    end(made)
    assert before == {name: (folder / name).read_bytes() for name in files(folder)}


def test_the_lines_name_the_files_and_no_address(url: str, folder: Path) -> None:
    made = ran(url)
    made.session()  # pending, which the report explains by a command

    *_, repeat, step_by_step, own = made.control("GET", f"/report{FAILURE}").text.splitlines()

    path = (folder / "TestReads").as_posix()
    assert f"to repeat its calls, without the client: mockserver replay-calls {path}.yaml" == repeat
    assert f"to see it step by step: {path}.html; mockserver open {path}.html serves its last state" == step_by_step
    assert f"this report: {path}.txt" == own
    assert [] == [name for name in FILES[1:] if made.base in (folder / name).read_text("utf-8")]


def test_json_has_the_paths_of_the_files(url: str, folder: Path) -> None:
    made = ran(url)
    as_json = {"headers": {"Accept": "application/json"}}

    report = made.control("GET", f"/report{FAILURE}", **as_json).json()

    endings = {"replay": "yaml", "har": "har", "report": "txt", "trace": "html"}
    assert {kind: (folder / f"TestReads.{end}").as_posix() for kind, end in endings.items()} == report["files"]
    assert made.control("GET", "/report", **as_json).json()["files"] is None


def test_the_end_after_a_report_keeps_its_name_and_words_and_has_the_later_calls(url: str, folder: Path) -> None:
    made = ran(url)
    made.control("GET", f"/report{FAILURE}")
    made.api("GET", "/v1/campaigns")

    end(made, "?failed=true")

    assert FILES == files(folder)
    text = (folder / "TestReads.txt").read_text("utf-8")
    assert text.startswith("the test failed: expected a campaign\n")
    assert "#2 listCampaigns" in text


@pytest.mark.parametrize("query", ["", "?failed=false", "?failed=false&name=TestReads"])
def test_a_sandbox_that_ends_otherwise_leaves_nothing(url: str, folder: Path, query: str) -> None:
    made = ran(url)
    made.control("GET", "/report")
    made.control("GET", "/report?failure=%20&name=TestReads")

    assert 204 == end(made, query)

    assert [] == files(folder)


def test_two_sandboxes_of_one_name_have_files_of_their_own(url: str, folder: Path) -> None:
    for number in (1, 2):
        made = ran(url)
        made.api("GET", f"/v1/campaigns/{number}")
        end(made, ENDED.replace("Reads", "READS") if number == 2 else ENDED)

    assert {"TestReads.txt", "TestREADS.2.txt"} <= {*files(folder)}
    assert "/v1/campaigns/1" in (folder / "TestReads.txt").read_text("utf-8")
    assert "/v1/campaigns/2" in (folder / "TestREADS.2.txt").read_text("utf-8")


def test_without_a_name_the_files_have_that_of_the_sandbox(url: str, folder: Path) -> None:
    made = ran(url)
    end(made, "?failed=true")

    assert f"{made.id}.txt" in files(folder)


def test_a_run_without_a_call_leaves_its_report_alone(url: str, folder: Path) -> None:
    end(make(url), ENDED)

    assert ["TestReads.txt"] == files(folder)


@pytest.mark.parametrize(
    "name", ["../../up", "/etc/passwd", "a/b\\c:d*e?f", "nul", "..", "x\x00\n\x1by", "ü" * 200, "."]
)
def test_no_name_leads_out_of_the_folder(url: str, folder: Path, name: str) -> None:
    assert 204 == end(ran(url), f"?failed=true&name={quote(name)}")

    assert 4 == len(files(folder))
    assert [folder] == [path for path in folder.parent.iterdir() if path.name != ".gitignore"]
    assert [] == [file for file in files(folder) if not file.removesuffix(".html").isprintable() or "/" in file]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?failed=ture", "failed: got 'ture'; expected true or false; did you mean 'true'?"),
        ("?name=TestReads", "got name without failed; expected failed=true with it"),
        ("?failure=x", "got failure without failed; expected failed=true with it"),
    ],
)
def test_a_wrong_query_is_refused_and_ends_nothing(url: str, folder: Path, query: str, message: str) -> None:
    made = ran(url)
    reply = control(url, "DELETE", f"/sandboxes/{made.id}{query}")

    assert (400, "MOCK_BAD_QUERY") == refused(reply)
    assert message in reply.json()["message"]
    assert 200 == made.control("GET", "/clock").status_code
    assert [] == files(folder)


def test_no_file_and_no_name_of_one_contains_a_key(url: str, folder: Path) -> None:
    made = make(url, scenario="demo")
    made.api("POST", "/v1/campaigns", {"name": made.secret_key, "platform": made.public_key})
    made.control(
        "POST", "/webhooks", {"url": "http://127.0.0.1:9/", "secret": "whsec_dGhlIHNlY3JldCBvZiBhbiBlbmRwb2ludA=="}
    )

    end(made, f"?failed=true&name=Test+{made.secret_key}&failure=got+{made.public_key}")

    assert 4 == len(files(folder))
    written = "".join(name + (folder / name).read_text("utf-8") for name in files(folder))
    secrets = (made.secret_key, made.public_key, "dGhlIHNlY3JldCBvZiBhbiBlbmRwb2ludA")
    assert [] == [secret for secret in secrets if secret in written]


def test_files_that_cannot_be_written_are_named_with_the_reason(url: str, folder: Path) -> None:
    folder.write_text("a file where the folder is to be", "utf-8")
    made = ran(url)

    text = made.control("GET", f"/report{FAILURE}").text

    path = (folder / "TestReads").as_posix()
    not_written = [line.partition(" was not written: ")[0] for line in text.splitlines()[-4:]]
    assert [f"{path}.yaml", f"{path}.har", f"{path}.html", f"{path}.txt"] == not_written
    assert "to repeat" not in text
    assert 204 == end(made, ENDED)


def test_a_run_beyond_the_bound_keeps_no_file(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_runs, "RUNS_MAX", 1)
    end(ran(url), ENDED)
    other = ran(url)

    lines = other.control("GET", "/report?failure=x&name=Other").text.splitlines()

    assert "no file was written: this server has kept 1 failed runs; start it again to keep others" == lines[-1]
    assert FILES == files(folder)


def test_without_a_folder_the_lines_say_how_long_the_address_lasts(mockserver_server: MockServer) -> None:
    made = ran(mockserver_server.url)

    lines = made.control("GET", f"/report{FAILURE}").text.splitlines()[-3:]

    assert f"while the sandbox is open: {made.base}/_mock/calls/1" == lines[0]
    assert lines[1].startswith("to repeat its calls, while the sandbox is open: curl -s ")
    assert "to keep files of it after that: start the server with --failures-dir FOLDER" == lines[2]
    assert 204 == end(made, ENDED)
