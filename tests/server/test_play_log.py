"""The lines that `mockserver play` prints about a scenario, each event once."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.cli.play_log import PlayLog
from mockserver.contract.effects.descriptions import describe_rule
from mockserver.testing.sandbox import Sandbox
from tests.harness.lines import lacking

DOCUMENT = {
    "scenario": "short-run",
    "summary": "A run that fails midway.",
    "clauses": ["send.failed"],
    "given": {"templates": [{"id": "template_t", "name": "T"}], "chats": {"count": 10}},
    "script": [
        {"after": {"sent": 3}, "do": {"fail-campaign": {}}},
        {"at": "5m", "do": {"resume-sends": {}}},
    ],
}


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.mark.mockserver(scenario=DOCUMENT, now="2026-03-01T12:00:00Z")
def test_what_happened_since_the_last_print_is_printed_once(mockserver: Sandbox, lines: list[str]) -> None:
    narrator = PlayLog(lines.append)
    body = {"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
    campaign = mockserver.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    execution = mockserver.call("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]
    mockserver.advance("10s")

    narrator.print_new(mockserver._hosted)
    narrator.print_new(mockserver._hosted)

    assert [] == lacking(
        lines,
        [
            ("rule_1", "fail-campaign after 3 sent"),
            ("12:00:00", campaign, "draft", "exchange 1"),
            ("12:00:00", execution, "processing", "exchange 2"),
            ("12:00:00", campaign, "draft", "processing", "exchange 2"),
            ("12:00:02", campaign, "processing", "failed", "rule_1"),
            ("12:00:02", execution, "processing", "failed", "rule_1"),
        ],
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"on": "*", "chance": 0.2, "do": {"garble": True}}, "garble at each call, with chance 0.2"),
        (
            {"on": "startCampaign", "where": {"path.id": "c"}, "nth": 2, "do": {"drop": "after"}},
            "drop after at the 2nd startCampaign, where path.id c",
        ),
        (
            {"on": "readCampaign", "while": {"sent": ">=2"}, "do": {"error": "INTERNAL_ERROR", "delay": "5s"}},
            "error INTERNAL_ERROR, delay 5s at each readCampaign, while sent >=2",
        ),
    ],
)
def test_a_rule_reads_in_one_line(rule: dict[str, Any], words: str) -> None:
    assert describe_rule(rule) == words
