"""`mockserver play` in a process of its own: it greets, introduces the scenario, and prints what happens in it."""

from __future__ import annotations

import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.test_cli_serve import Served

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
    options = ("--freeze", "2026-03-01T12:00:00Z", "--log-format", "off")
    with closing(Served(str(document), *options, command="play")) as served:
        out, introduction = served.process.stdout, ""
        assert out is not None
        while "rule 1" not in introduction:
            introduction += out.readline()
        body = {"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
        with pytest.raises(requests.ConnectionError):
            served.ask("POST", "/v1/campaigns", json=body)
        fires, made = out.readline(), out.readline()
        assert 0 == served.stop(signal.SIGTERM)

    assert "Scenario lost-answer\n  The draft is made, but its answer never comes.\n" in introduction
    assert "  templates: template_t\n" in introduction
    assert "  rule 1: drop after at the 1st createCampaign\n" in introduction
    assert "    * rule_1 fires: drop after at the 1st createCampaign\n" == fires
    assert made.startswith("    12:00:00 campaign campaign_") and made.endswith(": draft  (exchange 1)\n")


@pytest.mark.deep
def test_logs_that_are_not_read_block_neither_calls_nor_the_end(document: Path) -> None:
    with closing(Served(str(document), command="play", errors=subprocess.PIPE)) as served:
        for _ in range(900):  # a line of either log has at least 90 bytes, and a pipe takes 64 KiB
            assert 202 == served.ask("POST", "/v1/entrypoints/chatapp/connection-sessions").status_code

        assert 0 == served.stop(signal.SIGTERM)
