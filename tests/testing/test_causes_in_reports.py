"""The first lines of a report: the failure with its place in the code, then what bent the world, then the calls."""

from __future__ import annotations

import re

import pytest

from mockserver import MockServer
from mockserver.testing.sandbox import Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.lines import lacking
from tests.testing.conftest import Suite
from tests.testing.test_reports import WORLD, whole_section


def summary(suite: Suite, test: str) -> list[str]:
    found = whole_section(suite.run(WORLD + test))
    return found[: next(at for at, line in enumerate(found) if line.startswith("sandbox_1: clock at"))]


def test_an_assertion_is_first_with_its_source_and_the_line_of_the_test_that_led_there(suite: Suite) -> None:
    first, *_ = summary(
        suite,
        """
    def check(count):
        assert count == 0

    def test_it(mockserver):
        create(mockserver)
        check(3)
    """,
    )

    assert re.fullmatch(
        r"The test failed at test_mine\.py:\d+ `assert count == 0` from test_mine\.py:\d+: assert 3 == 0", first
    )


def test_an_exception_of_the_client_is_first_with_its_place_also_after_a_call(suite: Suite) -> None:
    first, second, *_ = summary(
        suite,
        """
    def test_it(mockserver):
        mockserver.call("GET", "/v1/campaigns/none").json()["campaign"]
    """,
    )

    assert first.startswith("The test raised KeyError: 'campaign' at test_mine.py:")
    assert [] == lacking([second], [("#1 readCampaign", "404 CAMPAIGN_NOT_FOUND")])


def test_a_rule_on_the_state_follows_with_what_it_caused(suite: Suite) -> None:
    _, second, *others = summary(
        suite,
        """
    def test_it(mockserver):
        mockserver.on("startCampaign").fail_sends()
        campaign = create(mockserver, cadence=60)
        start(mockserver, campaign)
        mockserver.advance(hours=1)
        execution = mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["executions"][0]
        assert execution["sentCount"] == 2
    """,
    )

    assert "rule rule_1 (fail-sends at each startCampaign) fired at #2: 2 of 2 sends of execution fail" == second
    assert [] == others


def test_a_rule_that_ends_a_campaign_is_named_with_the_campaign(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.on("listCampaigns").cancel_campaign()
        mockserver.call("GET", "/v1/campaigns")
        assert mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"] == "completed"
    """,
    )

    assert (
        "rule rule_1 (cancel-campaign at each listCampaigns) fired at #3: campaign campaign: processing -> canceled"
        in lines[1]
    )


def test_the_call_that_one_rule_changed_is_explained_once(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        mockserver.on("createCampaign").error("INTERNAL_ERROR")
        assert mockserver.call("POST", "/v1/campaigns", json=NEW).status == 201
    """,
    )

    assert 1 == sum("rule_1" in line for line in lines)
    assert lines[1].startswith("Call #1 createCampaign matched rule_1: error")


def test_a_campaign_that_the_test_ended_itself_is_named_without_a_rule(mockserver: Sandbox) -> None:
    mockserver.apply(
        given={"templates": [{"id": "template_one"}], "chats": {"count": 100}},
    )
    body = {"name": "One", "platform": "chatapp", "templateId": "template_one", "cadence": 1}
    campaign = mockserver.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{campaign}/start")
    mockserver.admin.fail_campaign(campaign)

    first, second, *_ = mockserver.report("sent too few").splitlines()

    assert "the test failed: sent too few" == first
    assert f"campaign {campaign}: processing -> failed (forced fail)" == second


def test_a_rule_that_no_call_matched_is_among_the_first_lines(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        mockserver.on("readCampaign").may_fire().drop(when="before")
        with pytest.raises(Exception):
            mockserver.call("GET", "/v1/campaigns")
    """,
    )

    assert "rule rule_1 (drop before at each readCampaign) never fired: nothing matched" == lines[1]


def test_a_rule_whose_call_never_came_is_named_with_the_assertion_on_calls(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        mockserver.on("startCampaign").nth(2).may_fire().drop("after")
        start(mockserver, create(mockserver))
        mockserver.calls("startCampaign").times(2)
    """,
    )

    assert "rule rule_1 (drop after at the 2nd startCampaign) never fired: matched once" == lines[-1]


@pytest.mark.parametrize("effect", ["lose=True", "delay='5m'", "duplicate=1"])
def test_a_rule_on_deliveries_that_fired_is_named(suite: Suite, effect: str) -> None:
    lines = summary(
        suite,
        f"""
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        got = []
        mockserver.on("delivery").deliver({effect})
        mockserver.receive_webhooks(lambda webhook: got.append(webhook) or 204)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={{}}).json()
        mockserver.complete_session(session["sessionId"])
        assert len(got) == 7
    """,
    )

    assert lines[1].startswith(f"rule rule_1 (deliver {effect.partition('=')[0]} ")
    assert lines[1].endswith(" fired")


def test_a_receiver_that_got_an_event_again_is_named_with_its_answers(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    def test_it(mockserver):
        answers, got = iter((500,)), []
        mockserver.receive_webhooks(lambda webhook: got.append(webhook) or next(answers, 204))
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
        mockserver.complete_session(session["sessionId"])
        mockserver.advance(hours=1)
        assert len(got) == 1
    """,
    )

    assert re.fullmatch(
        r"the receiver webhook_\w+ got entrypoints.chatapp.connected event 2 times: it answered 500, 204", lines[1]
    )


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        (", events=['entrypoints.chatapp.connection_failed']", None, "entrypoints.chatapp.connection_failed"),
        (None, "", "what happens in its tenant once it is registered"),
    ],
)
def test_an_event_that_no_endpoint_takes_is_named_with_what_they_take(
    suite: Suite, before: str | None, after: str | None, takes: str
) -> None:
    def register(arguments: str | None) -> str:
        return "pass" if arguments is None else f"mockserver.receive_webhooks(lambda webhook: 204{arguments})"

    lines = summary(
        suite,
        f"""
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        {register(before)}
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={{}}).json()
        mockserver.complete_session(session["sessionId"])
        {register(after)}
        assert 0
    """,
    )

    assert re.match(
        rf"entrypoints.chatapp.connected event went to no endpoint: webhook_\w+ takes {re.escape(takes)}", lines[1]
    )


@pytest.mark.parametrize(
    ("filters", "because"),
    [
        ("[{'combinator': 'and', 'statements': [{'field': 'chat.tagIds', 'operator': 'has-any', 'value': ['vip']}]}]", "none matches the filters of its campaign, [{\"combinator\": \"and\","),
        ("None", "the tenant has none"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", ["", "/executions/{execution}"])
def test_an_audience_without_a_chat_is_named_with_its_filters(
    suite: Suite, filters: str, because: str, read: str
) -> None:
    lines = summary(
        suite,
        f"""
    @pytest.mark.mockserver(conduct="off", given={{**GIVEN, "chats": [{{"id": "one"}}]}} if {filters} else {{"templates": GIVEN["templates"]}})
    def test_it(mockserver):
        campaign = create(mockserver, **({{"filters": {filters}}} if {filters} else {{}}))
        execution = start(mockserver, campaign).json()["executionId"]
        mockserver.advance(until="idle")
        assert 1 == mockserver.call("GET", f"/v1/campaigns/{{campaign}}{read}").json()
    """,
    )

    assert f"execution has no chat: {because}" in lines[1] + lines[2]


def test_an_audience_of_seed_data_is_not_said_to_be_a_tenant_without_chats(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    FILTERS = [{"combinator": "and", "statements": [{"field": "chat.tagIds", "operator": "has-any", "value": ["vip"]}]}]
    SEEDED = {"id": "seeded", "name": "S", "templateId": "t", "platform": "chatapp", "cadence": 1, "filters": FILTERS}
    @pytest.mark.mockserver(conduct="off", given={**GIVEN, "campaigns": [SEEDED]})
    def test_it(mockserver):
        start(mockserver, "seeded")
        assert 1 == mockserver.call("GET", "/v1/campaigns/seeded").json()
    """,
    )

    assert lines[1].endswith(" has no chat: none matched its campaign at the start")


def test_a_failure_that_is_about_no_expiry_does_not_name_the_process_clock(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(now="2020-01-01T12:00:00Z")
    def test_it(mockserver):
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        raise RuntimeError("no account")
    """,
    )

    assert [] == [line for line in lines if "process's clock" in line]


def test_a_forged_request_is_no_repetition_of_its_event(mockserver: Sandbox) -> None:
    answers = iter((401, 204))
    mockserver.on("delivery").deliver(forge="wrong-secret")
    mockserver.receive_webhooks(lambda webhook: next(answers))
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.call("GET", "/v1/campaigns/none")

    assert "times: it answered" not in mockserver.call("GET", "/_mock/report").body.decode()


def test_a_session_that_the_process_takes_for_expired_is_named_with_both_clocks(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    @pytest.mark.mockserver(now="2020-01-01T12:00:00Z")
    def test_it(mockserver):
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        raise RuntimeError("the link has expired")
    """,
    )

    assert (
        "  by the process's clock it expired at 2020-01-01T12:20:00.000Z: this sandbox is at 2020-01-01T12:00:00.000Z;"
        in lines[2]
    )


def test_a_success_that_a_rule_changed_is_explained_in_words(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        mockserver.on("readCampaign").stale()
        start(mockserver, campaign)
        assert mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"] == "processing"
    """,
    )

    assert "  the operation took effect, and the client got 200: answer a read as before the last change" == lines[2]


def test_the_entry_of_a_rule_lists_its_effects_on_the_state() -> None:
    with (
        MockServer() as server,
        server.sandbox(
            given={"templates": [{"id": "template_one"}], "chats": {"count": 4}}, now="2026-03-01T12:00:00Z"
        ) as sandbox,
    ):
        sandbox.on("startCampaign").fail_sends(every=2)
        body = {"name": "One", "platform": "chatapp", "templateId": "template_one", "cadence": 1}
        campaign = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
        execution = sandbox.call("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]

        (rule,) = sandbox.rules

    did = {
        "at": "2026-03-01T12:00:00.000Z",
        "exchange": 2,
        "effect": "fail-sends",
        "sends": [{"execution": execution, "failing": 2, "of": 4}],
    }
    assert [did] == rule["did"]


def test_of_a_rule_that_fires_without_end_the_newest_effects_are_kept(mockserver: Sandbox) -> None:
    mockserver.apply(script=[{"on": "listCampaigns", "do": {"set-tenant": {"name": "Other"}}}])
    for _ in range(12):
        mockserver.call("GET", "/v1/campaigns")

    (rule,) = mockserver.rules

    assert [*range(3, 13)] == [one["exchange"] for one in rule["did"]]


def test_an_event_that_arrived_before_the_answer_is_shown_before_it(suite: Suite) -> None:
    found = whole_section(
        suite.run(
            WORLD
            + """
    @pytest.mark.mockserver(scenario="connect-complete-before-202")
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: 204)
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        assert 0
    """
        )
    )
    happened = found[found.index("what happened:") + 1 : found.index("events:")]

    assert [] == lacking(
        happened[-6:],
        [
            ("#1", "createConnectionSession", "arrives"),
            ("session", "pending"),
            ("session", "pending", "completed", "rule_1"),
            ("delivery", "due", "event"),
            ("delivery", "due", "delivered", "attempt 1", "before", "#1"),
            ("#1", "createConnectionSession", "202"),
        ],
    )


def test_a_misspelt_key_is_named_with_the_one_that_is_missing(suite: Suite) -> None:
    found = summary(
        suite,
        """
    def test_it(mockserver):
        body = {"name": "x", "platform": "chatapp", "template_id": "template_a"}
        mockserver.call("POST", "/v1/campaigns", json=body)
        assert 0
    """,
    )

    assert found[2].endswith(
        "campaigns.template at /templateId: got nothing; expected a string that is required; "
        "the unknown key 'template_id' is ignored; did you mean 'templateId'?"
    )
