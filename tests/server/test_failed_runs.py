"""`serve --failures-dir FOLDER`: what is left of a run that its client reports as failed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest

from mockserver import MockServer
from mockserver.scenario import documents
from mockserver.testing.report import failed_runs
from mockserver.testing.report.failed_runs import FailedRuns
from mockserver.testing.report.folder import claim_file
from mockserver.testing.report.replay import print_replay
from tests.server.control_calls import NOON, Made, control, make

FAILURE = "?failure=expected+a+campaign&name=TestReads"
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


def end(made: Made) -> int:
    return control(made.server, "DELETE", f"/sandboxes/{made.id}").status_code


def fail(made: Made, query: str = FAILURE) -> int:
    """Report the test as failed, and end its sandbox."""
    assert 200 == made.control("POST", f"/report{query}").status_code
    return end(made)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def test_a_run_that_is_reported_leaves_its_files(url: str, folder: Path) -> None:
    assert 204 == fail(ran(url))

    assert FILES == files(folder)
    lines = (folder / "TestReads.txt").read_text("utf-8").splitlines()
    assert "the test failed: expected a campaign" == lines[0]
    assert "readCampaign got the campaign id 'none'; expected one of the key's tenant, which has none" == lines[1]
    assert 0 == print_replay(documents.read(folder / "TestReads.yaml"), StringIO())
    trace = (folder / "TestReads.html").read_text("utf-8")
    assert "readCampaign GET /v1/campaigns/none" in trace
    assert 'href="TestReads.har"' in trace
    (entry,) = json.loads((folder / "TestReads.har").read_text("utf-8"))["log"]["entries"]
    assert 404 == entry["response"]["status"]
    assert "<pre>mockserver replay-calls TestReads.yaml</pre>" in trace


@pytest.mark.parametrize(
    "name", ["../../up", "/etc/passwd", "a/b\\c:d*e?f", "nul", "..", "x\x00\n\x1by", "ü" * 200, "."]
)
def test_no_name_leads_out_of_the_folder(url: str, folder: Path, name: str) -> None:
    assert 204 == fail(ran(url), f"?name={quote(name)}")

    assert 4 == len(files(folder))
    assert [folder] == [path for path in folder.parent.iterdir() if path.name != ".gitignore"]
    assert [] == [file for file in files(folder) if not file.removesuffix(".html").isprintable() or "/" in file]


def test_no_file_and_no_name_of_one_contains_a_key(url: str, folder: Path) -> None:
    made = make(url, scenario="demo")
    made.api("POST", "/v1/campaigns", {"name": made.secret_key, "platform": made.public_key})
    made.control(
        "POST", "/webhooks", {"url": "http://127.0.0.1:9/", "secret": "whsec_dGhlIHNlY3JldCBvZiBhbiBlbmRwb2ludA=="}
    )

    fail(made, f"?name=Test+{made.secret_key}&failure=got+{made.public_key}")

    assert 4 == len(files(folder))
    written = "".join(name + (folder / name).read_text("utf-8") for name in files(folder))
    secrets = (made.secret_key, made.public_key, "dGhlIHNlY3JldCBvZiBhbiBlbmRwb2ludA")
    assert [] == [secret for secret in secrets if secret in written]


def test_files_that_cannot_be_written_are_named_with_the_reason(url: str, folder: Path) -> None:
    folder.write_text("a file where the folder is to be", "utf-8")
    made = ran(url)

    text = made.control("POST", f"/report{FAILURE}").text

    path = (folder / "TestReads").as_posix()
    not_written = [line.partition(" was not written: ")[0] for line in text.splitlines()[-4:]]
    assert [f"{path}.yaml", f"{path}.har", f"{path}.html", f"{path}.txt"] == not_written
    assert "to repeat" not in text
    assert 204 == end(made)


def keep(made: Made, name: str) -> str:
    """Keep the files of a failed test by its report; the last lines of it."""
    return made.control("POST", f"/report?failure=x&name={name}").text


def size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def test_beyond_the_bound_on_their_number_the_oldest_run_goes(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_runs, "RUNS_MAX", 3)
    made = ran(url)
    for number in range(1, 5):
        keep(made, f"Test{number}")
    fail(ran(url))

    assert 12 == len(files(folder))
    assert {"Test3.txt", "Test4.txt", "TestReads.txt"} == {name for name in files(folder) if name.endswith(".txt")}


def test_beyond_the_bound_on_their_bytes_the_oldest_runs_go(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ran(url)
    keep(made, "Test1")
    bound = 3 * size_bytes(folder)
    monkeypatch.setattr(failed_runs, "BYTES_MAX", bound)

    for number in range(2, 9):
        keep(made, f"Test{number}")
        assert size_bytes(folder) <= bound
    fail(ran(url))

    assert size_bytes(folder) <= bound
    assert "Test1.txt" not in files(folder)
    assert {"Test8.txt", "TestReads.txt"} <= {*files(folder)}


def test_two_servers_that_run_at_once_write_files_of_their_own(folder: Path) -> None:
    with MockServer() as one, MockServer() as other:
        one._host.failures, other._host.failures = FailedRuns(folder), FailedRuns(folder)
        first, second = ran(one.url), ran(other.url)
        second.api("GET", "/v1/campaigns")
        for made in (first, second, first):  # the report of the first one is renewed where it is
            keep(made, "Test")

    assert {"Test.txt", "Test.2.txt"} == {name for name in files(folder) if name.endswith(".txt")}
    assert "#2 listCampaigns" not in (folder / "Test.txt").read_text("utf-8")
    assert "#2 listCampaigns" in (folder / "Test.2.txt").read_text("utf-8")


def test_a_later_server_replaces_the_files_of_an_earlier_one(folder: Path) -> None:
    for calls in (1, 2):
        with MockServer() as server:
            server._host.failures = FailedRuns(folder)
            made = ran(server.url)
            for _ in range(1, calls):
                made.api("GET", "/v1/campaigns")
            keep(made, "TestReads")
        for file in folder.iterdir():
            os.utime(file, (0, 0))  # long ago

    assert FILES == files(folder)
    assert "#2 listCampaigns" in (folder / "TestReads.txt").read_text("utf-8")


def test_of_several_that_claim_an_old_file_one_gets_it(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_text("old", "utf-8")
    os.utime(file, (0, 0))
    since_ns = time.time_ns() - 10**9

    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: claim_file(file, since_ns), range(64)))

    assert 1 == claimed.count(True)
    assert [file] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ("POST /rules: on: got 'startCampain'", False),
        ("IllegalArgumentException: PATCH /tenants/tenant_none: got 'tenant_none'", False),
        ("POST /journal/verify: expected exactly 1 call of listCampaigns, got 0", True),
        ("GET /v1/campaigns: connection refused", True),
        ("got 0; expected 1", True),
    ],
)
def test_a_command_that_was_refused_is_no_call_that_is_missing(url: str, failure: str, says: bool) -> None:
    text = make(url).control("POST", f"/report?failure={quote(failure)}").text

    assert says == ("no call reached sandbox_" in text)
