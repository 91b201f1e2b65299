"""The one table of what answers and events show of records."""

from __future__ import annotations

from typing import Any

from mockserver.contract.endpoints import OPERATIONS
from mockserver.trace.sightings import READERS, sightings_of
from tests.harness.rows import each_row
from tests.trace.traces import call

# Their answers show no record: counts, schemas and policies.
WITHOUT_RECORDS = {"previewAudience", "readFilterSchema", "readFormPolicy"}


def test_the_table_has_every_operation_whose_answer_shows_a_record() -> None:
    assert set(OPERATIONS) - WITHOUT_RECORDS == set(READERS)


@each_row(
    ("operation", "changes", "seen"),
    [
        (
            "createCampaign",
            {"sent": {"name": "n"}, "answer": {"campaignId": "c", "status": "draft"}},
            [("campaign", "c", "created", ("draft",))],
        ),
        (
            "listCampaigns",
            {"answer": {"campaigns": [{"id": "c", "status": "failed"}, {"name": "no id"}]}},
            [("campaign", "c", "listed", ("failed",))],
        ),
        (
            "startCampaign",
            {"answer": {"executionId": "e", "status": "processing"}},
            [("campaign", "campaign_1", "started", ("processing",)), ("execution", "e", "started", ("processing",))],
        ),
        (
            "cancelCampaign",
            {"status": 204, "response_body": b""},
            [("campaign", "campaign_1", "canceled", ("completed", "canceled", "failed"))],
        ),
        (
            "startCampaign",
            {"status": 422, "answer": {"statusCode": 422, "code": "CAMPAIGN_NOT_DRAFT"}},
            [("campaign", "campaign_1", "refused", ("processing", "completed", "canceled", "failed"))],
        ),
        ("startCampaign", {"status": 422, "answer": {"statusCode": 422, "code": "VALIDATION_ERROR"}}, []),
        ("readCampaign", {"status": None}, []),
        ("readCampaign", {"status": 502, "response_body": b"<html>"}, []),
        ("readCampaign", {"answer": [1]}, []),
        (
            "uploadMedia",
            {"answer": [{"id": "m", "success": True}, {"success": False}]},
            [("media", "m", "created", ())],
        ),
    ],
)
def test_an_answer_shows_the_records_that_the_document_says(
    operation: str, changes: dict[str, Any], seen: list[tuple[object, ...]]
) -> None:
    rows = sightings_of(call(1, operation, **changes))

    assert seen == [(row.kind, row.id, row.how, row.statuses) for row in rows]


def test_what_a_creation_sent_is_shown_by_its_answer() -> None:
    sent = {"name": "Natal", "templateId": "t", "cadence": 60, "filters": None}
    created = call(1, "createCampaign", sent=sent, answer={"campaignId": "c", "status": "draft"})

    assert [("Natal", "t", 60, False)] == [
        (row.shown["name"], row.shown["templateId"], row.shown["cadence"], "filters" in row.shown)
        for row in sightings_of(created)
    ]
