"""The report as a whole: every rule is judged or not assessed, legitimate look-alikes pass, every interface agrees."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from mockserver.contract.clauses import read as clauses
from mockserver.contract.clauses import sentence_of
from mockserver.judge.client.rules import BLAMED, RULES
from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct import provocations_of_campaigns
from tests.conduct.provocation import GIVEN, NOON, TAGGED
from tests.conduct.records import Watched
from tests.conduct.test_provocations import PROVOCATIONS

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)

PROVOKED = {each.rule for each in PROVOCATIONS}


def assessed_not(sandbox: Sandbox) -> dict[str, str]:
    return {each.rule: each.why for each in sandbox.conduct.not_assessed}


def test_every_rule_is_provoked_or_blamed_for_an_option() -> None:
    assert set(RULES) == PROVOKED | set(BLAMED)
    assert {rule.id for rule in RULES.values() if rule.judge is not None} == PROVOKED


def test_a_rule_names_a_clause_and_one_line_of_advice() -> None:
    known = {each.id for each in clauses()}

    assert [] == [row.id for row in RULES.values() if row.clause not in known]
    assert [] == [row.id for row in RULES.values() if row.severity not in (1, 2, 3)]
    assert [] == [row.id for row in RULES.values() if "\n" in row.advice or not row.advice.endswith(".")]


def test_a_rule_without_evidence_is_not_a_pass(mockserver: Sandbox) -> None:
    reported = assessed_not(mockserver)

    assert {row.id for row in RULES.values() if {*row.needs} & {"deliveries", "visits"}} <= set(reported)
    assert "no hosted page was visited" == reported["iframe"]
    assert "nothing was delivered to a receiver" == reported["no-verify"]
    assert "explore its choices" in reported["match-on-message"]


def test_without_a_forged_request_a_receiver_is_not_judged(mockserver: Sandbox) -> None:
    client = Watched(mockserver)
    session = client.connect()
    client.deliver(session, 204)

    reported = {each.rule: each.why for each in client.judged().not_assessed}
    assert "no such delivery was sent: no-signature" == reported["missing-header-passes"]


def test_polls_with_no_time_between_them_are_not_judged(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    pair = client.launch(cadence=1)
    for _ in range(5):
        client.execution(pair)

    assert "no clock moved between the polls of 1 executions or sessions" == assessed_not(mockserver)["poll-too-fast"]


def test_a_progress_of_all_sends_at_the_end_of_a_run_is_not_judged(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    pair = client.launch(cadence=1)
    mockserver.on("readExecution").reply(200, {"id": pair[1], "status": "processing", "progress": 100})
    client.execution(pair)

    assert assessed_not(mockserver)["progress-is-done"].endswith(
        "returned a progress of 100 %, and the run ended there"
    )


def test_real_time_judges_polls_only_in_runs_of_sufficient_length(mockserver: Sandbox) -> None:
    client, core = Client(mockserver), mockserver._hosted.sandbox
    ticks = iter(range(0, 1000, 1))
    stopwatch = SimpleNamespace(monotonic_us=lambda: next(ticks) * 4_000_000, process_frozen_at=lambda: None)
    stopwatch.end_epoch, stopwatch.calls = core.runtime.end_epoch, core.runtime.calls
    stopwatch.attempts = core.runtime.attempts
    core.runtime = stopwatch  # type: ignore[assignment]
    pair = client.launch(cadence=1)
    for _ in range(12):
        client.execution(pair)

    assert [("poll-too-fast", (3, 4, 5))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


def test_an_unreadable_retry_after_is_not_judged(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    mockserver.on("listTemplates").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=7)
    for _ in range(2):
        client.ask("GET", "/v1/message-templates")

    assert [] == list(mockserver.conduct)
    assert "no clock moved" in assessed_not(mockserver)["ignore-retry-after"]


def test_a_last_poll_that_failed_at_the_end_of_the_run_is_not_judged(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    mockserver.on("readExecution").nth(2).error("INTERNAL_ERROR")
    pair = client.launch(cadence=1)
    for _ in range(2):
        client.execution(pair)

    assert [] == list(mockserver.conduct)
    assert "the run ended there" in assessed_not(mockserver)["poll-dies-on-error"]


@pytest.mark.mockserver(choices={"name-uniqueness-scope": "free-when-ended"})
def test_a_repeated_create_that_makes_a_second_campaign_is_found(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    mockserver.on("createCampaign").nth(1).drop("after")
    client.create()
    (first,) = mockserver._hosted.tenant.campaigns
    client.cancel(first)
    client.create()
    client.campaigns()

    (found,) = mockserver.conduct
    assert ("blind-post-retry", (1, 3)) == (found.rule, found.exchanges)
    assert found.message.endswith("and a second campaign was created")


class TestLegitimateLookAlikes:
    @pytest.mark.parametrize("effect", [{"drop": "before"}, {"error": "INTERNAL_ERROR"}])
    def test_a_repeated_create_whose_first_call_had_no_effect(
        self, mockserver: Sandbox, effect: dict[str, object]
    ) -> None:
        client = Client(mockserver)
        mockserver.on("createCampaign").nth(1).do(effect)
        client.create()
        client.create()

        assert [] == list(mockserver.conduct)

    def test_workers_that_share_a_key_each_read_the_end(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        pair = client.launch()
        mockserver.advance("10s")
        for worker in ("a", "b", "c"):
            for _ in range(2):
                client.execution(pair, headers={"user-agent": worker})

        assert [] == list(mockserver.conduct)

    def test_a_restarted_client_reads_again_much_later(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        pair = client.launch()
        mockserver.advance("10s")
        for _ in range(4):
            client.execution(pair)
            mockserver.advance("1h")

        assert [] == list(mockserver.conduct)

    def test_a_failed_last_read_and_its_repetition_are_one_read(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        mockserver.on("readExecution").nth(2).error("INTERNAL_ERROR")
        mockserver.on("readExecution").nth(3).drop("before")
        pair = client.launch()
        mockserver.advance("10s")
        for _ in range(4):
            client.execution(pair)
            mockserver.advance("15s")

        assert [] == list(mockserver.conduct)

    def test_one_read_after_the_event_is_good_practice(self, mockserver: Sandbox) -> None:
        client = Watched(mockserver)
        session = client.connect()
        client.session(session)
        mockserver.advance("5s")
        mockserver.complete_session(session)
        client.deliver(session, 204)
        client.session(session)

        assert () == client.judged().findings

    def test_a_copy_is_no_clone_after_trouble_with_another_campaign_or_before_its_own(
        self, mockserver: Sandbox
    ) -> None:
        client = Client(mockserver)
        mockserver.on("createCampaign").nth(1).drop("after")
        client.create("Other", cadence=7)
        spring, copy = client.create("Spring"), client.create("Spring (2)")
        mockserver.on("startCampaign").nth(1).drop("after")
        client.start(spring)
        client.start(copy)

        assert [] == list(mockserver.ledger.cloned_campaigns)

    def test_who_cancels_again_much_later_has_not_misread_the_204(self, mockserver: Sandbox) -> None:
        client = Client(mockserver)
        campaign, _ = client.launch(cadence=1)
        client.cancel(campaign)
        client.wait("6m")
        client.cancel(campaign)

        assert [] == list(mockserver.conduct)


class TestWaysToRead:
    def provoke(self, sandbox: Sandbox) -> None:
        client = Client(sandbox)
        provocations_of_campaigns.started_again(client)
        client.create("Another", filter=TAGGED, cadence=0.5)
        client.create("Third", cadence=0.5)

    def test_the_control_plane_returns_the_same_report(self, mockserver: Sandbox) -> None:
        self.provoke(mockserver)
        answer = mockserver.call("GET", "/_mock/conduct", key="").json()

        assert ["rule", "clause", "severity", "message", "exchanges"] == list(answer["findings"][0])
        assert [each["rule"] for each in answer["findings"]] == [each.rule for each in mockserver.conduct]
        assert {"rule": "iframe", "why": "no hosted page was visited"} in answer["notAssessed"]

    def test_a_finding_reads_well(self, mockserver: Sandbox) -> None:
        provocations_of_campaigns.started_again(Client(mockserver))

        assert str(mockserver.conduct).splitlines()[:3] == [
            "duplicate-start, severity 1 (money, spam or security): campaign "
            + mockserver.ledger.executions[0]["campaignId"]
            + " was started again without a read, after a start without an answer, which had taken effect (calls #2, #3)",
            f"  breaks advice.read-before-restart: {sentence_of('advice.read-before-restart')}",
            "  advice: After a start without an answer read the campaign; start it again only while it is a draft.",
        ]
        assert "1 findings (duplicate-start)" in repr(mockserver.conduct)

    def test_no_message_contains_a_key(self, mockserver: Sandbox) -> None:
        mockserver.call(
            "POST", "/v1/campaigns", json={"name": "A", mockserver.secret_key: 1, "cadence": mockserver.secret_key}
        )

        reported = str(mockserver.conduct) + json.dumps(mockserver.call("GET", "/_mock/conduct", key="").json())
        assert {"cadence-units", "key-in-wrong-place"} <= {each.rule for each in mockserver.conduct}
        assert mockserver.secret_key not in reported and mockserver.secret_key[:20] not in reported


class TestAssertion:
    def test_its_first_line_names_the_worst_bug(self, mockserver: Sandbox) -> None:
        TestWaysToRead().provoke(mockserver)

        with pytest.raises(AssertionError, match=r"\A(duplicate-start|lost-filters), severity 1 ") as raised:
            mockserver.assert_conduct()
        assert "cadence-units" in str(raised.value)

    @pytest.mark.parametrize(("most", "passes"), [(3, True), (2, True), (1, True), (None, False)])
    def test_noise_passes_where_it_may(self, mockserver: Sandbox, most: int | None, passes: bool) -> None:
        Client(mockserver).create(cadence=0.5)

        if passes:
            mockserver.assert_conduct(max_severity=most)
        else:
            with pytest.raises(AssertionError, match="cadence-units"):
                mockserver.assert_conduct(max_severity=most)

    def test_another_severity_is_refused(self, mockserver: Sandbox) -> None:
        with pytest.raises(ValueError, match="expected 1, 2 or 3"):
            mockserver.assert_conduct(max_severity=0)


def test_a_start_after_an_end_is_not_assessed_if_an_earlier_one_was_lost(mockserver: Sandbox) -> None:
    client = Client(mockserver)
    mockserver.on("startCampaign").nth(1).drop("after")
    campaign, _ = client.launch(cadence=1)
    client.campaign(campaign)
    client.cancel(campaign)
    client.start(campaign)

    assert "restart-canceled" in {each.rule for each in mockserver.conduct.not_assessed}


def test_the_findings_of_a_rule_that_does_not_exist_are_refused_with_the_nearest(mockserver: Sandbox) -> None:
    with pytest.raises(
        ValueError, match="got 'polls-too-fast'; expected the id of a rule of conduct; did you mean 'poll-too-fast'"
    ):
        mockserver.conduct.of("polls-too-fast")
