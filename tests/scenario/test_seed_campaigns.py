"""Campaigns in seed data: each state with its past, as if it had been played, and what contradicts itself is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.operations.campaigning import cancel, counts, entry, messages, progress, read, run, start, statuses

NOON = "2026-03-01T12:00:00Z"
WORLD = {"templates": [{"id": "template_plain"}], "chats": [{"id": f"chat_{n}"} for n in range(9)]}
CHATS = [f"chat_{n}" for n in range(9)]
IDS = ("campaign_a", "execution_a")
pytestmark = pytest.mark.mockserver(now=NOON, given=WORLD)


def seed(sandbox: Sandbox, **fields: str | int) -> JSON:
    campaign = {"id": "campaign_a", **fields}
    if fields.get("status", "draft") not in ("draft", "canceled") or "startedAt" in fields:
        campaign |= {"executionId": "execution_a"}
    created: JSON = sandbox.apply({"given": {"campaigns": [campaign]}})["created"]
    return created


def refused(sandbox: Sandbox, **fields: Any) -> list[str]:
    """The path of each problem; nothing is there afterwards."""
    with pytest.raises(ScenarioError) as refusal:
        sandbox.apply({"given": {"campaigns": [{"id": "campaign_a", **fields}]}})
    assert [] == sandbox.state()["tenants"][0]["campaigns"]
    return [problem.path for problem in refusal.value.problems]


@pytest.mark.clause("campaigns.detail")
def test_everything_has_a_default_and_a_draft_starts(mockserver: Sandbox) -> None:
    (campaign_id,) = mockserver.apply({"given": {"campaigns": [{}]}})["created"]["campaigns"]

    detail = read(mockserver, campaign_id)
    assert ("draft", "template_plain", 60, "chatapp", []) == tuple(
        detail[key] for key in ("status", "templateId", "cadence", "platform", "executions")
    )
    assert 202 == start(mockserver, campaign_id).status


@pytest.mark.clause("send.completed")
@pytest.mark.parametrize(
    ("instants", "shown"),
    [
        ({"startedAt": "2026-03-01T11:00:00Z"}, ("2026-03-01T11:00:00.000Z", "2026-03-01T11:00:08.000Z")),
        ({"completedAt": "2026-03-01T11:00:08Z"}, ("2026-03-01T11:00:00.000Z", "2026-03-01T11:00:08.000Z")),
        (
            {"startedAt": "2026-03-01T11:00:00Z", "completedAt": "2026-03-01T11:00:08Z"},
            ("2026-03-01T11:00:00.000Z", "2026-03-01T11:00:08.000Z"),
        ),
        ({}, ("2026-03-01T11:59:52.000Z", "2026-03-01T12:00:00.000Z")),
        ({"cadence": 7, "completedAt": "2026-03-01T11:00:08.571Z"}, (None, "2026-03-01T11:00:08.571Z")),
    ],
)
def test_one_that_completed_has_sent_to_everyone_by_its_end(
    mockserver: Sandbox, instants: JSON, shown: tuple[str | None, str]
) -> None:
    seed(mockserver, status="completed", **instants)

    ended = entry(mockserver, "campaign_a")
    assert ("completed", "completed") == statuses(mockserver, IDS)
    assert (9, 9, 0) == counts(mockserver, IDS)
    assert 100 == progress(mockserver, IDS)["progress"]
    assert shown[1] == ended["completedAt"]
    assert shown[0] in (None, ended["startedAt"])
    assert [1] * 9 == [len(messages(mockserver, chat)) for chat in CHATS]
    assert [] == mockserver.advance("1h")


@pytest.mark.clause("send.failed", "cancel.processing")
@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_one_that_was_interrupted_has_sent_what_was_due_by_its_end(mockserver: Sandbox, status: str) -> None:
    seed(mockserver, status=status, startedAt="2026-03-01T11:00:00Z", completedAt="2026-03-01T11:00:03.500Z")
    mockserver.advance("1h")

    assert (status, status) == statuses(mockserver, IDS)
    assert (9, 4, 0) == counts(mockserver, IDS)
    assert "2026-03-01T11:00:03.500Z" == entry(mockserver, "campaign_a")["completedAt"]


@pytest.mark.clause("cancel.draft")
def test_one_that_was_canceled_as_a_draft_has_no_execution(mockserver: Sandbox) -> None:
    seed(mockserver, status="canceled")

    assert ("canceled", []) == tuple(read(mockserver, "campaign_a")[key] for key in ("status", "executions"))
    assert 422 == cancel(mockserver, "campaign_a").status


@each_row(
    ("fields", "path"),
    [
        (
            {"status": "completed", "startedAt": "2026-03-01T11:00:00Z", "completedAt": "2026-03-01T10:00:00Z"},
            "completedAt",
        ),
        (
            {"status": "completed", "startedAt": "2026-03-01T11:00:00Z", "completedAt": "2026-03-01T11:00:09Z"},
            "completedAt",
        ),
        ({"status": "completed", "startedAt": "2026-03-01T11:59:59Z"}, "status"),
        ({"status": "processing", "startedAt": "2026-03-01T11:00:00Z"}, "status"),
        ({"status": "processing", "startedAt": "2026-03-01T12:00:01Z"}, "startedAt"),
        ({"status": "processing", "completedAt": "2026-03-01T11:00:00Z"}, "completedAt"),
        ({"status": "failed", "startedAt": "2026-03-01T11:00:00Z"}, "status"),
        ({"status": "canceled", "completedAt": "2026-03-01T11:00:00Z"}, "completedAt"),
        ({"startedAt": "2026-03-01T11:00:00Z"}, "startedAt"),
        ({"commonVariables": {}}, "commonVariables"),
        ({"createdAt": "2026-03-01T12:00:01Z"}, "createdAt"),
        (
            {"status": "processing", "createdAt": "2026-03-01T11:59:59Z", "startedAt": "2026-03-01T11:59:58Z"},
            "startedAt",
        ),
        ({"templateId": "template_nowhere"}, "templateId"),
        ({"filters": [{"combinator": "and"}]}, "filters/0/statements"),
        (
            {"filters": [{"combinator": "and", "statements": [{"field": "x", "operator": "equals", "value": 1}]}]},
            "filters/0/statements/0/field",
        ),
    ],
)
def test_what_contradicts_itself_or_could_not_be_is_refused_at_its_place(
    mockserver: Sandbox, fields: JSON, path: str
) -> None:
    assert [f"/given/campaigns/0/{path}"] == refused(mockserver, **fields)


def test_seed_data_that_a_creation_or_a_start_would_refuse_is_refused(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"campaigns": [{"name": "Taken"}]}})
    for campaign, words in (
        ({"name": "Taken"}, "CAMPAIGN_NAME_ALREADY_EXISTS"),
        ({"templateId": "template_asking", "status": "completed"}, "CAMPAIGN_MISSING_COMMON_VARIABLES"),
        ({"status": "completed", "executionId": "chat_1"}, "an id that is not in use in the sandbox"),
    ):
        asking = {"id": "template_asking", "variables": [{"key": "var1", "required": True}]}
        with pytest.raises(ScenarioError, match=words):
            mockserver.apply({"given": {"templates": [asking], "campaigns": [campaign]}})


def test_a_restart_next_to_a_seeded_run_is_judged_without_its_create_call(mockserver: Sandbox) -> None:
    seed(mockserver, status="completed")
    run(mockserver, name="Again")
    mockserver.advance("1m")

    assert mockserver.conduct is not None
    assert 2 == len(mockserver.ledger.executions)


@pytest.mark.clause("send.cadence")
@given(
    cadence=st.integers(1, 400),
    milliseconds=st.integers(0, 3000),
    then_us=st.integers(0, 20_000_000),
    end=st.sampled_from(["processing", "failed", "canceled"]),
)
def test_a_seeded_run_counts_as_the_played_one_at_every_instant(
    mockserver_server: MockServer, cadence: int, milliseconds: int, then_us: int, end: str
) -> None:
    """Whatever the cadence and the instant; one whose sends are over by then is refused, and reads `completed` if played."""
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    now = began + timedelta(milliseconds=milliseconds)
    with mockserver_server.sandbox(now=f"{began:%Y-%m-%dT%H:%M:%S}.000000Z", given=WORLD) as played:
        ids = run(played, name="campaign_a", cadence=cadence)
        played.advance(to=now)
        was_over = statuses(played, ids)[0] == "completed"
        if not was_over and end != "processing":
            played.admin.fail_campaign(ids[0]) if end == "failed" else cancel(played, ids[0])
        with mockserver_server.sandbox(now=f"{now:%Y-%m-%dT%H:%M:%S.%f}Z", given=WORLD) as seeded:
            fields: JSON = {"status": end, "startedAt": began.isoformat(), "cadence": cadence}
            if was_over:
                assert ["/given/campaigns/0/status"] == refused(seeded, **fields)
                return
            seed(seeded, **fields)
            for wait in (0, then_us):
                played.advance(timedelta(microseconds=wait))
                seeded.advance(timedelta(microseconds=wait))
                assert entry(played, ids[0]) | {"id": ""} == entry(seeded, "campaign_a") | {"id": ""}
