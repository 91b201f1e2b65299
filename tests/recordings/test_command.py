"""`mockserver judge`: what it prints, its exit status, and what it never shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mockserver as package
from mockserver import cli
from mockserver.contract.choices import CHOICES
from mockserver.judge.client.rules import RULES
from mockserver.scenario.choices import load_profile
from mockserver.trace.trace import Trace
from tests.recordings.hars import KEY, entry, write

NAME, PHONE = "Maria Aparecida", "+55 11 98765-4321"
CAMPAIGN = {"id": "campaign_1", "name": NAME, "description": PHONE, "status": "draft", "platform": "chatapp",
            "templateId": "template_1", "cadence": 60}  # fmt: skip
LIST = entry("GET /v1/campaigns", 200, {"campaigns": [CAMPAIGN]})
DENIED = {"statusCode": 404, "code": "CAMPAIGN_NOT_FOUND", "message": f"A campanha {NAME} não existe."}
NOT_FOUND = entry("GET /v1/campaigns/campaign_2", 404, DENIED)
WRONG = entry("GET /v1/campaigns", 200, {"campaigns": [CAMPAIGN | {"cadence": NAME}]})
START = "POST /v1/campaigns/campaign_1/start"
STARTS = [
    entry(START, 0, at="2026-03-01T12:00:00Z", time=10),
    entry(START, 202, {"executionId": "execution_1", "status": "processing"}, at="2026-03-01T12:00:05Z"),
]


def report(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Return the exit status and what the command printed, errors too."""
    status = cli.main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_the_report_has_what_was_read_the_service_the_client_and_the_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, LIST, entry("GET /logo.png", 200, "png", address="https://cdn.example"), NOT_FOUND)
    status, text = report(capsys, "judge", file)
    heads = [line.partition(":")[0] for line in text.splitlines() if line[0] != " "]

    assert 0 == status
    assert ["recording.har", "service", "client", "choices"] == heads
    assert "recording.har: 2 exchanges of 2 operations in 5 ms (1 other left out)" == text.splitlines()[0]
    assert "dual-status" not in text.partition("choices:")[0]
    assert re.search(r"message-text +reworded  \(#2\)", text)


def test_json_has_each_clause_each_rule_and_each_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = report(capsys, "judge", write(tmp_path, *STARTS, NOT_FOUND), "--json")
    printed: Any = json.loads(text)

    assert 0 == status
    assert (3, "https://crm.example/api", {"no-answer": 1}) == (
        printed["exchanges"], printed["prefix"], printed["notTheService"],
    )  # fmt: skip
    assert {"holds", "not observed"} == {row["verdict"] for row in printed["service"]["clauses"]}
    assert ["duplicate-start"] == [row["rule"] for row in printed["client"]["findings"]]
    assert [*CHOICES] == [row["id"] for row in printed["choices"]]
    assert {"settled", "not-shown"} == {row["state"] for row in printed["choices"]}
    assert ("settled", ["reworded"]) == next(
        (row["state"], row["options"]) for row in printed["choices"] if row["id"] == "message-text"
    )


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_text_number_or_key_of_the_recording_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: tuple[str, ...]
) -> None:
    rows = [LIST, WRONG, NOT_FOUND, entry("POST /v1/campaigns", 201, {"name": NAME}, sent={"name": PHONE})]
    _, text = report(capsys, "judge", write(tmp_path, *rows), *form)

    assert [] == [private for private in (NAME, PHONE, "98765", KEY, KEY[3:]) if private in text]


def test_the_profile_has_what_is_settled_and_the_rest_as_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": id, "isOfficial": False, "createdAt": f"2026-01-0{3 - n}T00:00:00.000Z"} for n, id in enumerate("ab")
    ]
    templates = entry("GET /v1/message-templates", 200, {"templates": rows})
    profile = tmp_path / "profile.yaml"
    _, text = report(capsys, "judge", write(tmp_path, templates, NOT_FOUND), "--profile-out", profile)

    chosen = load_profile(profile)
    assert ("reworded", "absent", False) == (
        chosen["message-text"], chosen["provider-status-internal"], "list-order" in chosen,
    )  # fmt: skip
    assert "#   list-order: newest-first or shuffled\n" in profile.read_text("utf-8")
    assert f"written: {profile}" == text.splitlines()[-1]


def test_errors_alone_with_a_further_key_break_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, entry("GET /v1/campaigns/campaign_2", 404, DENIED | {"traceId": "a"}))

    status, text = report(capsys, "judge", file)

    assert (0, False) == (status, "contradicted  error-extra-keys" in text)


def test_a_client_is_judged_alone_and_a_severe_finding_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    severe, text = report(capsys, "judge", "--client", write(tmp_path, *STARTS))
    clean, _ = report(capsys, "judge", "--client", write(tmp_path, LIST, name="clean.har"))

    assert (1, 0) == (severe, clean)
    assert f"of {len(RULES)} rules judged, 1 broken\n  duplicate-start (severity 1)" in text
    assert "service:" not in text
    assert "not assessed: no-verify" in text


def test_the_package_reads_a_recording(tmp_path: Path) -> None:
    recording: Trace = package.read_recording(write(tmp_path, LIST))

    assert ["listCampaigns"] == [exchange.operation for exchange in recording.exchanges]
