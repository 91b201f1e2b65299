"""Triggers of rules, which rule owns the wire, and the counts of a rule that is removed or restored."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, OTHER_KEY, draft, running, session

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00.000000Z")

CAMPAIGNS = ("GET", "/v1/campaigns")


def _status(sandbox: Sandbox, **options: Any) -> int:
    return sandbox.call(*CAMPAIGNS, **options).status


@each_row("operation", OPERATIONS)
def test_an_asterisk_takes_every_operation(mockserver: Sandbox, operation: str) -> None:
    rule = mockserver.on("*").error("INTERNAL_ERROR")

    assert 500 == mockserver.call(*OPERATIONS[operation]).status
    assert 1 == rule.fired


def test_a_path_of_no_operation_counts_for_none(mockserver: Sandbox) -> None:
    rule = mockserver.on("*").error("INTERNAL_ERROR")

    assert 404 == mockserver.call("GET", "/v1/nothing").status
    assert 0 == rule.matched


def test_a_method_and_path_match_only_their_operation(mockserver: Sandbox) -> None:
    mockserver.on("GET /v1/campaigns").error("INTERNAL_ERROR")

    assert [500, 404, 201] == [
        _status(mockserver),
        mockserver.call("GET", "/v1/campaigns/nobody").status,
        mockserver.call("POST", "/v1/campaigns", json=DRAFT).status,
    ]


def test_a_refused_call_counts_too(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").nth(3).error("INTERNAL_ERROR")

    assert [401, 401, 500] == [
        _status(mockserver, key=""),
        _status(mockserver, key="sk_nobody"),
        _status(mockserver, key=""),
    ]


def test_only_the_first_rule_modifies_the_response_and_the_state_effects_of_all_run(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").set_tenant(name="First")
    first = mockserver.on("listCampaigns").do({"error": "INTERNAL_ERROR", "set-tenant": {"developersEnabled": False}})
    second = mockserver.on("listCampaigns").do({"reply": {"status": 299}, "set-tenant": {"subscription": "suspended"}})

    assert 500 == _status(mockserver)
    assert [1, 1] == [first.fired, second.fired]
    tenant = mockserver.state()["tenants"][0]
    assert ("First", False, "suspended") == (tenant["name"], tenant["developersEnabled"], tenant["subscription"])
    assert first.id == mockserver.log.journal["exchanges"][0]["fault"]["rule"]


def test_state_effects_run_after_or_before_the_operation(mockserver: Sandbox) -> None:
    after = mockserver.on("listCampaigns").times(1).set_tenant(subscription="suspended")
    assert [200, 403] == [_status(mockserver), _status(mockserver)]
    assert 1 == after.fired

    mockserver.on("listCampaigns").when("before").set_tenant(subscription="active")
    assert 200 == _status(mockserver)


def test_effects_after_the_operation_precede_the_response_and_do_not_change_it(mockserver: Sandbox) -> None:
    """The answer is of one piece: as of the operation, though an hour has passed since."""
    campaign_id, _ = running(mockserver, cadence=1)
    mockserver.on("readCampaign").times(1).advance("1h")

    read = [mockserver.call("GET", f"/v1/campaigns/{campaign_id}").json() for _ in range(2)]

    assert [("processing", 1), ("completed", 3)] == [
        (each["status"], each["executions"][0]["sentCount"]) for each in read
    ]


def test_where_compares_the_values_of_a_call_by_path(mockserver: Sandbox) -> None:
    path = "/v1/messaging/chats/chat_ana"
    taken: dict[str, list[Any]] = {
        "path.chatId": ["chat_ana", "~ana", "!=chat_bia"],
        "query.limit": [20, "20", ">=9", "<100"],
        "header.x-trace": ["one", "~n"],
        "query.cursor": [],
    }
    left: dict[str, list[Any]] = {
        "path.chatId": ["chat_bia"],
        "query.limit": [2, ">=100", "<9"],
        "header.x-trace": ["two"],
        "query.cursor": ["x", None],
    }
    for wanted, status in ((taken, 500), (left, 200)):
        for key, values in wanted.items():
            for value in values:
                rule = mockserver.on("listMessages").where({key: value}).error("INTERNAL_ERROR")
                got = mockserver.call("GET", path + "?limit=20", headers={"X-Trace": "one"})
                assert status == got.status, (key, value)
                rule.remove()


def test_where_reads_the_body_as_json_and_distinguishes_true_from_one(mockserver: Sandbox) -> None:
    rule = mockserver.on("createCampaign").where(cadence=1).error("INTERNAL_ERROR")

    bodies = [DRAFT | {"cadence": each, "name": str(each)} for each in (1, 1.0, True, "1")]
    assert [500, 500, 400, 400] == [mockserver.call("POST", "/v1/campaigns", json=each).status for each in bodies]
    assert 2 == rule.matched


@pytest.mark.parametrize("body", [b"[" * 200_000, b"{", b"\xff\xfe", b'{"name": ' + b"9" * 10_000 + b"}", b""])
def test_an_unreadable_body_matches_nothing_and_gets_its_own_refusal(mockserver: Sandbox, body: bytes) -> None:
    rule = mockserver.on("createCampaign").where(name="x").error("INTERNAL_ERROR")

    reply = mockserver.call("POST", "/v1/campaigns", body=body, headers={"Content-Type": "application/json"})

    assert (400, 0) == (reply.status, rule.matched)


def test_all_conditions_of_where_must_match(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").where(name="a", cadence=">=50").error("INTERNAL_ERROR")

    bodies = [DRAFT | each for each in ({"name": "a"}, {"name": "a", "cadence": 5}, {"name": "b"})]
    assert [500, 201, 201] == [mockserver.call("POST", "/v1/campaigns", json=each).status for each in bodies]


def test_a_rule_applies_only_while_its_condition_is_true(mockserver: Sandbox) -> None:
    campaign_id, _ = running(mockserver, cadence=1)
    rule = mockserver.on("readCampaign").while_(campaign="processing", sent=">=2").error("INTERNAL_ERROR")
    path = f"/v1/campaigns/{campaign_id}"

    seen = []
    for _ in range(3):
        seen.append(mockserver.call("GET", path).status)
        mockserver.advance("1m")
    seen.append(mockserver.call("GET", path).status)

    assert [200, 500, 200, 200] == seen  # 1 sent, 2 sent, completed
    assert 1 == rule.matched


def test_conditions_on_sessions_and_subscriptions(mockserver: Sandbox) -> None:
    mockserver.on("listTemplates").while_(session="pending").error("INTERNAL_ERROR")
    mockserver.on("listCampaigns").while_(subscription="active").error("INTERNAL_ERROR")

    assert [200, 500] == [mockserver.call(*OPERATIONS["listTemplates"]).status, _status(mockserver)]
    session(mockserver)
    mockserver.admin.set_tenant(subscription="suspended")
    assert [500, 403] == [mockserver.call(*OPERATIONS["listTemplates"]).status, _status(mockserver)]


def test_a_removed_rule_is_absent_and_the_others_continue_to_count(mockserver: Sandbox) -> None:
    first = mockserver.on("listCampaigns").nth(1).error("INTERNAL_ERROR")
    second = mockserver.on("listCampaigns").nth(2).error("FORM_NOT_FOUND")
    third = mockserver.on("listCampaigns").where({"query.a": "1"}).error("INTERNAL_ERROR")
    first.remove()
    third.remove()

    assert [200, 404] == [mockserver.call("GET", "/v1/campaigns?a=1").status, _status(mockserver)]
    assert [second.id] == [each["id"] for each in mockserver.rules]
    with pytest.raises(ValueError, match=f"rule: got '{first.id}'; expected {second.id}"):
        first.remove()
    mockserver.admin.remove_rules()
    assert [] == mockserver.rules


def test_counters_are_part_of_a_checkpoint(mockserver: Sandbox) -> None:
    rule = mockserver.on("listCampaigns").nth(3).error("INTERNAL_ERROR")
    late = mockserver.on("listCampaigns").where({"query.a": "1"}).every(2).error("FORM_NOT_FOUND")

    def statuses() -> list[int]:
        return [mockserver.call("GET", "/v1/campaigns?a=1").status for _ in range(2)]

    assert 200 == mockserver.call("GET", "/v1/campaigns?a=1").status
    with mockserver.checkpoint():
        inside = statuses()
        mockserver.on("listCampaigns").error("RATE_LIMIT_EXCEEDED")

    assert [404, 500] == inside == statuses()
    assert [(3, 1), (3, 1)] == [(each.matched, each.fired) for each in (rule, late)]


def test_an_effect_without_a_target_is_reported_in_its_rule_until_it_has_one(mockserver: Sandbox) -> None:
    rule = mockserver.on("listCampaigns").fail_campaign()
    assert None is rule.no_target
    _status(mockserver)
    assert "fail-campaign: no campaign is processing" == rule.no_target

    running(mockserver)
    _status(mockserver)
    assert None is rule.no_target


def test_effects_act_on_what_the_call_is_about_else_on_all(mockserver: Sandbox) -> None:
    one, other = (running(mockserver, name=name)[0] for name in "AB")
    mockserver.on("readCampaign").times(1).fail_campaign()
    mockserver.call("GET", f"/v1/campaigns/{other}")
    states = {each["id"]: each["status"] for each in mockserver.state()["tenants"][0]["campaigns"]}
    assert {one: "processing", other: "failed"} == states

    third, _ = running(mockserver, name="C")
    mockserver.on("listCampaigns").fail_campaign()
    _status(mockserver)
    states = {each["id"]: each["status"] for each in mockserver.state()["tenants"][0]["campaigns"]}
    assert {one: "failed", other: "failed", third: "failed"} == states


def test_the_tenant_is_the_calls_unless_one_is_named(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").set_tenant(name="Called")
    mockserver.on("listTemplates").set_tenant(name="Named", tenant="tenant_default")
    mockserver.on("listCampaigns").when("before").do({"revoke-key": {}})
    _status(mockserver, key=OTHER_KEY)
    mockserver.call(*OPERATIONS["listTemplates"], key=OTHER_KEY)

    assert ["Named", "Called"] == [each["name"] for each in mockserver.state()["tenants"]]


def test_an_instant_is_counted_from_when_the_rule_was_applied(mockserver: Sandbox) -> None:
    mockserver.advance("1m")
    rule = mockserver.at("5m").set_tenant(subscription="suspended")

    mockserver.advance("4m59.999999s")
    assert (200, 0) == (_status(mockserver), rule.fired)
    mockserver.advance(0.000001)
    assert (403, 1) == (_status(mockserver), rule.fired)


def test_effects_at_an_instant_are_returned_by_the_clock_and_happen_once(mockserver: Sandbox) -> None:
    rule = mockserver.at("5s").set_tenant(name="Later")

    happened = mockserver.advance("1h")

    assert [{"at": "2026-03-01T12:00:05.000000Z", "what": "rule.fire", "id": rule.id}] == [
        {**each, "at": each["at"].replace(".000Z", ".000000Z")} for each in happened
    ]
    assert [] == mockserver.advance("1h")


def test_an_instant_of_a_following_clock_retains_the_time_that_a_rule_added(mockserver_server: MockServer) -> None:
    """The clock continues from where the rule has set it, and does not stop until the process catches up."""
    with mockserver_server.sandbox(clock="follow", given=GIVEN) as sandbox:
        began = sandbox.now
        sandbox.at("1s").advance("1h")
        sandbox.advance("2s")
        reached = sandbox.now
        while sandbox.now == reached:
            pass  # it moves by itself, or the test never ends

        assert 3600.999 <= (sandbox.now - began).total_seconds() < 3700


def test_a_rule_for_another_tenants_campaign_acts_on_that_one(mockserver: Sandbox) -> None:
    theirs = draft(mockserver, key=OTHER_KEY, templateId="template_other")
    mockserver.on("readCampaign").do({"remove-template": {"tenant": "tenant_other"}})

    assert 404 == mockserver.call("GET", f"/v1/campaigns/{theirs}").status
    assert [] == mockserver.state()["tenants"][1]["templates"]


def test_timers_have_their_own_instant_even_if_a_rule_advances_the_clock(mockserver: Sandbox) -> None:
    mockserver.at("5s").advance("1h")
    mockserver.at("30m").set_tenant(name="Later")

    happened = mockserver.advance("10s")

    assert ["2026-03-01T12:00:05.000Z", "2026-03-01T12:30:00.000Z"] == [each["at"] for each in happened]
    assert "2026-03-01T13:00:05" == f"{mockserver.now:%Y-%m-%dT%H:%M:%S}"


@pytest.mark.parametrize("rules", [150, 2000])
def test_rules_that_advance_within_one_another_end_at_a_bound_and_break_nothing(
    mockserver: Sandbox, rules: int
) -> None:
    mockserver.apply({"script": [{"at": f"{n}s", "do": {"advance": "1s"}} for n in range(1, rules + 1)]})

    mockserver.advance("1s")

    assert 200 == mockserver.call("GET", "/v1/campaigns").status
    mockserver.advance("1h")
    assert [1] * rules == [rule["fired"] for rule in mockserver.rules]
    refused = {rule["noTarget"] for rule in mockserver.rules if "noTarget" in rule}
    assert {
        "advance: got 21 rules that advance the clock, one within another; expected at most 20 (the mock's own bound)"
    } == refused


def test_a_rule_that_advances_by_a_call_may_do_so_at_every_call(mockserver: Sandbox) -> None:
    mockserver.apply({"script": [{"on": "listCampaigns", "do": {"advance": "1s"}}]})
    began = mockserver.now

    for _ in range(50):
        assert 200 == mockserver.call("GET", "/v1/campaigns").status

    assert 50 == (mockserver.now - began).total_seconds()


def test_a_fault_that_finds_nothing_to_act_on_says_so_in_its_rule(mockserver: Sandbox) -> None:
    mockserver.on("createConnectionSession").stale()
    mockserver.on("listTemplates").truncate(100_000)
    mockserver.on("listCampaigns").fail_sends(chats=["chat_nobody"])
    mockserver.apply(given={"chats": {"count": 3}, "campaigns": [{"status": "processing", "cadence": 1}]})

    assert 202 == mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).status
    assert 200 == mockserver.call("GET", "/v1/campaigns").status
    size_bytes = len(mockserver.call("GET", "/v1/message-templates").body)

    assert [
        "stale: the call is no read",
        f"truncate: the body has {size_bytes} bytes",
        "fail-sends: got the chats chat_nobody; expected one of a running campaign's audience",
    ] == [rule["noTarget"] for rule in mockserver.rules]
