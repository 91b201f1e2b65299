"""`mockserver play` in a process of its own: it greets, introduces the scenario, and prints what happens in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.processes import OWN_GROUP, interrupt

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 60
DOCUMENT = """
scenario: lost-answer
summary: The draft is made, but its answer never comes.
given: {templates: [{id: template_t, name: T}]}
script:
  - {on: createCampaign, nth: 1, do: {drop: after}}
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "lost-answer.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    return path


def test_play_prints_the_calls_of_a_scenario(document: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "mockserver", "play", str(document), "--port", "0"]
    command += ["--freeze", "2026-03-01T12:00:00Z", "--log-format", "off"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", **OWN_GROUP) as process:
        assert process.stdout is not None
        greeting = ""
        while "rule 1" not in greeting:
            greeting += process.stdout.readline()
        url = greeting.split()[4]
        key = greeting.partition("secret key")[2].split()[0]
        body = {"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
        with pytest.raises(requests.ConnectionError):
            requests.post(f"{url}/v1/campaigns", json=body, headers={"X-API-Key": key}, timeout=DEADLINE_SECONDS)
        fires, made = process.stdout.readline(), process.stdout.readline()
        interrupt(process)
        assert 0 == process.wait(DEADLINE_SECONDS)

    assert "Scenario lost-answer\n  The draft is made, but its answer never comes.\n" in greeting
    assert "  templates: template_t\n" in greeting
    assert "  rule 1: drop after at the 1st createCampaign\n" in greeting
    assert "    * rule_1 fires: drop after at the 1st createCampaign\n" == fires
    assert made.startswith("    12:00:00 campaign campaign_") and made.endswith(": draft  (exchange 1)\n")


@pytest.mark.deep
def test_an_unread_play_log_blocks_neither_calls_nor_the_exit(document: Path) -> None:
    command = [sys.executable, "-m", "mockserver", "play", str(document), "--port", "0", "--log-format", "off"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", **OWN_GROUP)
    assert process.stdout is not None
    try:
        greeting = ""
        while "rule 1" not in greeting:
            greeting += process.stdout.readline()
        url, key = greeting.split()[4], greeting.partition("secret key")[2].split()[0]
        client = requests.Session()
        client.headers["X-API-Key"] = key
        for _ in range(900):  # a session's line has 90 bytes, and a pipe takes 64 KiB
            answer = client.post(f"{url}/v1/entrypoints/chatapp/connection-sessions", timeout=DEADLINE_SECONDS)
            assert 202 == answer.status_code
        interrupt(process)
        assert 0 == process.wait(DEADLINE_SECONDS)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
