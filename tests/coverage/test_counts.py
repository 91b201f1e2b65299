"""What a test has covered, counted by hand: each test names everything that its calls have met, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from mockserver import Coverage, MockServer, Sandbox
from mockserver.judge.coverage.dimensions import DIMENSIONS, Dimension
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON, TAGGED

CONNECTED, FAILED = "entrypoints.chatapp.connected", "entrypoints.chatapp.connection_failed"
RUNNING = {"campaigns": [{"id": "campaign_r", "templateId": "template_t", "status": "processing"}]}
COUNTED: tuple[Dimension, ...] = ("operations", "answers", "steps", "deliveries", "filters", "faults")


class Counted:
    """A sandbox with its client, and after its end what was covered."""

    def __init__(self, sandbox: Sandbox, coverage: Coverage) -> None:
        self.sandbox, self.client, self._coverage = sandbox, Client(sandbox), coverage

    def __getitem__(self, dimension: Dimension) -> list[str]:
        self.sandbox.close()
        return sorted(self._coverage.covered(dimension))

    def everything(self) -> dict[str, list[str]]:
        """The covered items of the dimensions that are counted by hand, without the empty ones."""
        return {name: self[name] for name in COUNTED if self[name]}


@contextmanager
def run(**settings: object) -> Iterator[Counted]:
    coverage = Coverage()
    settings = {"given": GIVEN, "now": NOON, **settings}
    with MockServer(coverage=coverage) as server, server.sandbox(**settings) as sandbox:  # type: ignore[arg-type]
        yield Counted(sandbox, coverage)


@pytest.fixture
def counted() -> Iterator[Counted]:
    with run() as counted:
        yield counted


def test_a_read(counted: Counted) -> None:
    counted.client.campaigns()

    assert {"operations": ["listCampaigns"], "answers": ["listCampaigns success"]} == counted.everything()


def test_an_injected_refusal_is_an_answer_and_a_fault(counted: Counted) -> None:
    counted.sandbox.on("listCampaigns").nth(1).error("RATE_LIMIT_EXCEEDED")
    counted.client.campaigns()

    assert {
        "operations": ["listCampaigns"],
        "answers": ["listCampaigns RATE_LIMIT_EXCEEDED"],
        "faults": ["listCampaigns error"],
    } == counted.everything()


def test_a_code_that_the_operation_does_not_declare_is_no_answer_of_it(counted: Counted) -> None:
    counted.sandbox.on("listCampaigns").nth(1).error("FORM_INACTIVE")
    counted.client.campaigns()

    assert {"operations": ["listCampaigns"], "faults": ["listCampaigns error"]} == counted.everything()


def test_an_answer_that_is_lost_is_not_received_and_its_step_counts(counted: Counted) -> None:
    counted.sandbox.on("startCampaign").nth(1).drop("after")
    counted.client.start(counted.client.create())

    assert {
        "operations": ["createCampaign", "startCampaign"],
        "answers": ["createCampaign success"],
        "faults": ["startCampaign drop after"],
        "steps": ["campaign draft start"],
    } == counted.everything()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_read_that_is_dropped_before_or_after_its_operation_is_one_item(
    counted: Counted, when: Literal["before", "after"]
) -> None:
    """Explore tries one of them, as they leave the same state."""
    counted.sandbox.on("listCampaigns").nth(1).drop(when)
    counted.client.campaigns()

    assert ["listCampaigns drop"] == counted.everything()["faults"]


def test_a_read_of_the_execution_shows_its_end_and_not_the_campaign_s(counted: Counted) -> None:
    pair = counted.client.launch()
    counted.client.wait("1h")
    counted.client.execution(pair)

    assert ["campaign draft start", "execution processing finish"] == counted["steps"]


def test_a_read_of_the_campaign_shows_both_ends(counted: Counted) -> None:
    campaign, _ = counted.client.launch()
    counted.client.wait("1h")
    counted.client.campaign(campaign)

    assert ["campaign draft start", "campaign processing finish", "execution processing finish"] == counted["steps"]


@pytest.mark.parametrize(
    "encode", [str.encode, lambda text: text.replace("c", "\\u0063").encode()], ids=["plain", "escaped"]
)
def test_a_reply_of_a_rule_shows_a_state_however_it_is_encoded(
    counted: Counted, encode: Callable[[str], bytes]
) -> None:
    campaign, _ = counted.client.launch()
    counted.client.wait("1h")
    body = encode('{"status": "completed"}').decode()
    counted.sandbox.on("readCampaign").reply(200, body=body)
    counted.client.campaign(campaign)

    assert ["campaign draft start", "campaign processing finish"] == counted["steps"]


def test_a_read_before_the_end_does_not_show_it(counted: Counted) -> None:
    pair = counted.client.launch()
    counted.client.execution(pair)
    counted.client.wait("1h")

    assert ["campaign draft start"] == counted["steps"]


def test_a_cancel_causes_the_steps_of_campaign_and_execution(counted: Counted) -> None:
    campaign, _ = counted.client.launch()
    counted.client.cancel(campaign)

    steps = ["campaign draft start", "campaign processing cancel", "execution processing cancel"]
    assert steps == counted["steps"]


def test_an_act_of_another_counts_where_a_read_shows_it(counted: Counted) -> None:
    unread, read = counted.client.connect(), counted.client.connect(funnelStepId="funnel_step_a")
    counted.sandbox.complete_session(unread)
    counted.sandbox.fail_session(read)
    counted.client.session(read)

    assert ["session pending fail"] == counted["steps"]


def test_an_expiry_by_the_deadline_is_two_items_and_a_forced_one_is_one() -> None:
    with run() as counted:
        session = counted.client.connect()
        counted.client.wait("21m")
        counted.client.session(session)
        assert ["session pending deadline", "session pending expire"] == counted["steps"]
    with run() as counted:
        session = counted.client.connect()
        counted.sandbox.expire_session(session)
        counted.client.session(session)
        assert ["session pending expire"] == counted["steps"]


def test_seed_data_and_the_mock_alone_cover_nothing() -> None:
    with run(given={**GIVEN, **RUNNING}) as counted:
        counted.client.wait("2h")
        assert [] == [item for name in DIMENSIONS for item in counted[name]]


def test_filters_count_where_they_are_accepted(counted: Counted) -> None:
    refused = [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "between", "value": 1}]}]
    date = {"field": "chat.virtual.lastMessageAt", "operator": "less-than", "value": "2026-01-01T00:00:00Z"}
    counted.client.preview(filters=TAGGED)
    counted.client.preview(filters=refused)
    counted.client.create(filters=[{"combinator": "or", "statements": [date, *TAGGED[0]["statements"]]}])

    expected = ["chat.tagIds has-any", "chat.virtual.lastMessageAt less-than"]
    assert expected == counted["filters"]
    assert "previewAudience CAMPAIGN_INVALID_FILTERS" in counted["answers"]


def test_an_event_that_a_receiver_accepts(counted: Counted) -> None:
    counted.sandbox.receive_webhooks(lambda webhook: 204)
    counted.sandbox.complete_session(counted.client.connect())

    assert {
        "operations": ["createConnectionSession"],
        "answers": ["createConnectionSession success"],
        "deliveries": [f"{CONNECTED} delivered"],
        "steps": ["delivery due accept", "session pending complete"],
    } == counted.everything()


def test_an_event_that_is_accepted_at_the_second_attempt(counted: Counted) -> None:
    answers = iter((500, 204))
    counted.sandbox.receive_webhooks(lambda webhook: next(answers))
    counted.sandbox.fail_session(counted.client.connect())
    counted.client.wait("1h")

    assert [f"{FAILED} delivered"] == counted["deliveries"]
    steps = ["delivery due accept", "delivery due wait", "delivery waiting wake", "session pending fail"]
    assert steps == counted["steps"]


def test_a_preflight_is_no_call(counted: Counted) -> None:
    counted.sandbox.call("OPTIONS", "/v1/campaigns")
    counted.sandbox.call("HEAD", "/v1/campaigns")

    assert {} == counted.everything()


def test_what_a_reset_discards_has_counted(counted: Counted) -> None:
    counted.client.campaigns()
    counted.sandbox.reset()
    counted.client.create()

    assert ["createCampaign", "listCampaigns"] == counted["operations"]
