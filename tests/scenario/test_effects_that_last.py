"""Effects on the state afterwards: how long they last, in which order, and which rule caused which transition."""

from __future__ import annotations

import pytest

from mockserver import Sandbox
from tests.operations.world import DRAFT, GIVEN, running, upload
from tests.scenario.effects import apply_now, counts

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def test_a_template_paused_midrun_fails_messages_until_it_is_approved_again(mockserver: Sandbox) -> None:
    ids = running(mockserver, templateId="template_official", cadence=1)
    seen = []
    for status in ("PAUSED", "APPROVED"):
        mockserver.advance("1m")
        apply_now(mockserver, "set-template", {"id": "template_official", "status": status})
        seen.append(counts(mockserver, ids))
        mockserver.advance(0)
    other = running(mockserver, templateId="template_plain", name="Other")
    mockserver.advance("10m")

    assert [("processing", 2, 0), ("completed", 2, 1)] == seen
    assert ("completed", 3, 0) == counts(mockserver, other)


def test_storage_fails_for_the_very_upload_that_a_rule_fires_at(mockserver: Sandbox) -> None:
    mockserver.on("uploadMedia").nth(2).do({"fail-media": {"every": 1}, "set-tenant": {"name": "After"}})
    files = ("a.txt", "text/plain", b"nota")

    assert [[True], [False], [True]] == [
        [each["success"] for each in upload(mockserver, files).json()] for _ in range(3)
    ]
    assert 1 == len(mockserver.state()["tenants"][0]["media"]) - 1


def test_a_general_storage_failure_continues_after_an_upload_with_its_own_rule(mockserver: Sandbox) -> None:
    apply_now(mockserver, "fail-media", {"names": ["a.txt"]})
    mockserver.on("uploadMedia").times(1).do(
        {"fail-media": {"names": ["b.txt"]}, "set-tenant": {"subscription": "suspended"}}
    )
    files = [(f"{each}.txt", "text/plain", b"nota") for each in "ab"]

    first = upload(mockserver, *files)
    mockserver.admin.set_tenant(subscription="active")

    assert [[True, False], [False, True]] == [
        [each["success"] for each in reply.json()] for reply in (first, upload(mockserver, *files))
    ]


def test_a_call_deferred_by_a_rule_has_its_own_number_and_transitions(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").nth(1).delay("10s")
    mockserver.on("createCampaign").nth(2).advance("1h")
    with pytest.raises(TimeoutError):
        mockserver.call("POST", "/v1/campaigns", json=DRAFT, timeout=1)
    mockserver.call("POST", "/v1/campaigns", json=DRAFT | {"name": "Second"})

    exchanges, moves = mockserver.log.journal["exchanges"], mockserver.log.journal["transitions"]
    names = {each["id"]: each["name"] for each in mockserver.state()["tenants"][0]["campaigns"]}
    assert [(1, "Second"), (2, DRAFT["name"])] == [(each["n"], each["request"]["body"]["name"]) for each in exchanges]
    assert [(1, "Second"), (2, DRAFT["name"])] == [(each["cause"]["exchange"], names[each["id"]]) for each in moves]


def test_effects_of_a_rule_are_applied_in_the_order_of_the_document(mockserver: Sandbox) -> None:
    ids = running(mockserver)
    mockserver.on("listCampaigns").do(
        {"stall-sends": {}, "advance": "1h", "resume-sends": {}, "given": {"chats": [{"id": "chat_x"}]}}
    )
    mockserver.call("GET", "/v1/campaigns")

    assert ("processing", 2, 0) == counts(mockserver, ids)
    assert "chat_x" in [each["id"] for each in mockserver.state()["tenants"][0]["chats"]]


def test_an_effect_at_a_read_of_an_execution_goes_on_after_the_messages_that_are_sent(mockserver: Sandbox) -> None:
    ids = running(mockserver, cadence=1)
    mockserver.advance("1m")
    mockserver.on("readExecution").do({"stall-sends": {}})

    assert [("processing", 2, 0)] * 2 == [counts(mockserver, ids) for _ in range(2)]


def test_a_deferred_call_runs_at_its_instant_though_its_rule_is_removed(mockserver: Sandbox) -> None:
    delay = mockserver.on("createCampaign").delay("10s")
    with pytest.raises(TimeoutError):
        mockserver.call("POST", "/v1/campaigns", json=DRAFT, timeout=1)
    delay.remove()
    mockserver.advance("8s")
    before = len(mockserver.log.journal["exchanges"])
    mockserver.advance("1s")

    [exchange] = mockserver.log.journal["exchanges"]
    assert (0, True) == (before, exchange["applied"])


def test_an_effect_with_invalid_seed_data_changes_nothing_and_the_call_is_answered(mockserver: Sandbox) -> None:
    rule = mockserver.on("createCampaign").do(
        {"given": {"chats": [{"id": "chat_new"}, {"id": "chat_ana"}]}, "set-tenant": {"name": "Next"}}
    )

    assert 201 == mockserver.call("POST", "/v1/campaigns", json=DRAFT).status
    tenant = mockserver.state()["tenants"][0]
    assert ("Next", 3, 1) == (tenant["name"], len(tenant["chats"]), len(tenant["campaigns"]))
    assert "chat_ana" in str(rule.no_target)
