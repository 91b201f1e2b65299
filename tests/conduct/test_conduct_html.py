"""The page of findings on conduct: one file that shows what the report has, and runs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer
from mockserver.judge.client.judge import finding as finding_of
from mockserver.judge.client.rules import RULES
from mockserver.report import conduct_page
from mockserver.report.findings import as_row
from tests.runs.faults.test_explore_page import XSS, Reader

CAMPAIGN = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}


def finding(text: str, severity: int = 1) -> dict[str, Any]:
    """A finding with a text in every place where a run can have one."""
    rule = next(rule.id for rule in RULES.values() if rule.severity == severity)
    return {"test": text, **as_row(finding_of(rule, text, (1, 2)))}


def started_twice() -> list[dict[str, Any]]:
    """The findings on a client that starts a campaign again after the answer was lost, and has its key in the query."""
    with MockServer() as server, server.sandbox(given={"templates": [{"id": "template_hello"}]}) as sandbox:
        campaign = sandbox.call("POST", "/v1/campaigns", json=CAMPAIGN).json()["campaignId"]
        sandbox.on("startCampaign").nth(1).do({"drop": "before"})
        with pytest.raises(ConnectionError):
            sandbox.call("POST", f"/v1/campaigns/{campaign}/start")
        sandbox.call("POST", f"/v1/campaigns/{campaign}/start?key={sandbox.secret_key}")
        return [{"test": "test_launch", **as_row(row)} for row in sandbox.conduct]


def test_the_page_shows_each_finding_with_its_calls_clause_and_advice() -> None:
    findings = started_twice()
    texts = Reader(conduct_page.render(findings, [*RULES])).texts

    assert {"duplicate-start", "key-in-wrong-place"} <= {row["rule"] for row in findings}
    for row in findings:
        assert {row["rule"], row["message"], row["advice"], row["clause"]} <= set(texts)
    assert "test_launch, #2, #3" in texts


@pytest.mark.parametrize("text", XSS)
def test_no_text_of_a_run_is_more_than_text(text: str) -> None:
    plain, page = (Reader(conduct_page.render([finding(each)], [])) for each in ("plain", text))

    assert plain.tags == page.tags
    assert [] == [name for name, _ in page.attributes if name in ("src", "style") or name.startswith("on")]


def test_equal_findings_of_several_tests_are_one_card_with_their_count() -> None:
    equal = [{**finding("twice"), "test": f"test_{n}", "exchanges": [n]} for n in (1, 2)]
    texts = Reader(conduct_page.render([*equal, finding("once")], [])).texts

    assert ["×2", "test_1, #1", "test_2, #2"] == [text for text in texts if text == "×2" or text.startswith("test_")]
