"""What a run in this process leaves behind - reports, documents, traces, pages - shows no credentials that a client has sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mockserver import MockServer, Sandbox
from mockserver.scenario import documents
from mockserver.testing.report.replay import replay

CREDENTIAL = "Zm9vOmJhcg-a-client-of-its-own"
HEADERS = {
    "authorization": f"Basic {CREDENTIAL}",  # as `requests` adds it from `.netrc`
    "cookie": f"sid={CREDENTIAL}",
    "proxy-authorization": f"Basic {CREDENTIAL}",
}
WORDS = (
    f"got http://a.example/?access_token={CREDENTIAL}",
    f"got http://a.example/?next=https://b.example/?access_token={CREDENTIAL}",
    f"got http://user:{CREDENTIAL}@a.example/",
    f"sent Authorization: Basic {CREDENTIAL}",
    f"sent {{'Authorization': 'Basic {CREDENTIAL}', 'password': '{CREDENTIAL}'}}",
    f"sent Cookie: a=b; sid={CREDENTIAL}",
)
DRAFT = {"name": "a", "platform": "chatapp", "templateId": "none", "cadence": 60}


def creates(sandbox: Any) -> None:
    """A client that sends credentials of its own, and raises with the address that it called, as client libraries do."""
    response = sandbox.call("POST", f"/v1/campaigns?access_token={CREDENTIAL}", json=DRAFT, headers=HEADERS)
    if response.status != 404:
        raise RuntimeError(f"{response.status} for url: http://a.example/v1/campaigns?access_token={CREDENTIAL}")
    sandbox.call("GET", f"/v1/campaigns?access_token={CREDENTIAL}", headers=HEADERS)


def texts_in(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text("utf-8") for file in folder.rglob("*") if file.is_file()}


def check_documents(folder: Path) -> None:
    """Each document sends the same calls to the same answers."""
    files = [*folder.rglob("*.yaml"), *folder.rglob("*.json")]
    assert files
    for file in files:
        assert [] == [line for row in replay(documents.to_plain(documents.read(file))) for line in row.differences]


def test_the_report_and_the_document_of_a_sandbox(mockserver: Sandbox) -> None:
    creates(mockserver)
    failure = AssertionError(f"401 Client Error for url: http://a.example/?access_token={CREDENTIAL}")
    shown = {
        "report": mockserver.report(failure),
        **{f"report of {words}": mockserver.report(words) for words in WORDS},
        "document": json.dumps(mockserver.log.replay_document()),
        "journal": repr(list(mockserver.log.exchanges)),
        "steps": json.dumps(mockserver.call("GET", "/_mock/steps").json()),
    }

    assert [] == [place for place, text in shown.items() if CREDENTIAL in text]
    assert [] == [row.label for row in replay(mockserver.log.replay_document()) if row.differences]


def test_the_report_and_the_files_of_an_exploration(tmp_path: Path) -> None:
    report = MockServer().explore(creates, faults=("internal-error",), choices=(), failures=tmp_path)
    shown = {"report": report.text(), "json": json.dumps(report.as_json()), **texts_in(tmp_path)}

    assert report.findings
    assert [] == [place for place, text in shown.items() if CREDENTIAL in text]
    check_documents(tmp_path)


def test_the_report_and_the_files_of_an_interleaving(tmp_path: Path) -> None:
    def check(sandbox: Sandbox) -> None:
        raise AssertionError(f"got http://a.example/?access_token={CREDENTIAL}")

    clients = {"one": creates, "other": creates}
    report = MockServer().interleave(clients=clients, check=check, failures=tmp_path, runs=4)
    shown = {"report": report.text(), **texts_in(tmp_path)}

    assert report.failed
    assert [] == [place for place, text in shown.items() if CREDENTIAL in text]
