"""Histories of a recording: which orders prove something, what may be another's doing, and bodies of any shape."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mockserver._json import JSON
from mockserver.judge.service.judge import judge_scopes, judge_service
from mockserver.judge.service.verdicts import Verdicts
from mockserver.report.recording import RecordingReport, lines
from mockserver.trace.facts import LACKING
from mockserver.trace.reading import read_recording
from tests.depth import at_depth
from tests.recordings.hars import entry, write
from tests.recordings.honest import Bent

C = "/v1/campaigns/campaign_1"
E = f"{C}/executions/execution_1"
DRAFT: JSON = {"name": "A", "platform": "chatapp", "templateId": "template_1", "cadence": 60}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def at(second: float) -> str:
    minute, rest = divmod(second, 60)
    return f"2026-03-01T12:{int(minute):02}:{rest:06.3f}Z"


def judged(folder: Path, *entries: JSON) -> Verdicts:
    return judge_scopes(read_recording(write(folder, *entries)), "tenant", "trace")


def why(folder: Path, *entries: JSON) -> str:
    """Return why the clause is not judged that no campaign is unknown that was there."""
    results = judge_service(read_recording(write(folder, *entries)))
    return next(row.why for row in results if row.id == "start.unknown")


def clauses(verdicts: Verdicts) -> list[str]:
    return [row.clause for row in verdicts.breaches]


def campaign(status: str, **more: Any) -> JSON:
    return {"id": "campaign_1", "name": "A", "status": status, "cadence": 60, "executions": [], **more}


def execution(sent: int, failed: int = 0, status: str = "processing", **more: Any) -> JSON:
    return {"id": "execution_1", "status": status, "targetCount": 90, "sentCount": sent, "failedCount": failed, **more}


def read(body: Any, start: float, *, path: str = C, seconds: float = 0.005, **more: Any) -> JSON:
    return entry(f"GET {path}", 200, body, at=at(start), time=seconds * 1000, **more)


def refused(call: str, code: str, start: float, status: int = 422, **more: Any) -> JSON:
    body = {"statusCode": status, "code": code, "message": "Não."}
    return entry(call, status, body, at=at(start), **more)


def with_date(row: JSON, second: float) -> JSON:
    row["response"]["headers"].append(
        {"name": "Date", "value": f"Sun, 01 Mar 2026 12:{int(second) // 60:02}:{int(second) % 60:02} GMT"}
    )
    return row


def test_calls_within_the_precision_of_the_recorder_prove_none(tmp_path: Path) -> None:
    rows = read(campaign("completed"), 1, seconds=0.0004), read(campaign("processing"), 1.001)

    assert [] == clauses(judged(tmp_path, *rows))


def test_two_ends_contradict_each_other_in_any_order(tmp_path: Path) -> None:
    rows = read(campaign("completed"), 1, seconds=9), read(campaign("canceled"), 2)

    assert ["campaigns.status-values"] == clauses(judged(tmp_path, *rows))


def test_counts_that_no_order_explains_contradict_each_other_although_they_overlap(tmp_path: Path) -> None:
    rows = [read(execution(5, 3), 1, path=E, seconds=9), read(execution(6, 2), 2, path=E)]
    others = [read(execution(5, 2), 1, path=E, seconds=9), read(execution(4, 2), 2, path=E)]

    assert ["send.counts"] == clauses(judged(tmp_path, *rows))
    assert [] == clauses(judged(tmp_path, *others))


def test_a_cassette_has_the_order_of_its_calls(tmp_path: Path) -> None:
    calls = [
        {"request": {"method": "GET", "uri": f"https://crm.example{C}", "body": None, "headers": {}},
         "response": {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps(campaign(status))}}}
        for status in ("completed", "processing")
    ]  # fmt: skip
    (tmp_path / "cassette.json").write_text(json.dumps({"version": 1, "interactions": calls}), encoding="utf-8")

    assert ["campaigns.status-values"] == clauses(
        judge_scopes(read_recording(tmp_path / "cassette.json"), "tenant", "trace")
    )


def test_one_call_in_the_files_of_two_recorders_is_one_call(tmp_path: Path) -> None:
    made = created(1)
    start = entry(f"POST {C}/start", 202, {"executionId": "execution_1", "status": "processing"}, at=at(2))
    files = [write(tmp_path, made, start, name=name) for name in ("client.har", "proxy.har")]

    assert [] == clauses(judge_scopes(read_recording(*files), "tenant", "trace"))


def test_keys_are_tenants_of_their_own(tmp_path: Path) -> None:
    other = read(campaign("processing"), 2, key="sk_of_another_tenant_0001")

    assert [] == clauses(judged(tmp_path, read(campaign("completed"), 1), other))


def test_without_keys_nothing_is_judged_that_needs_one_tenant(tmp_path: Path) -> None:
    rows = created(1, key=None), read({"campaigns": []}, 2, path="/v1/campaigns", key=None)
    with_keys, without = created(1), read({"campaigns": []}, 2, path="/v1/campaigns")

    assert [] == clauses(judged(tmp_path, *rows))
    assert f"not visible: {LACKING['tenants']}" == why(tmp_path, *rows)
    assert ["campaigns.list"] == clauses(judged(tmp_path, with_keys, without))
    assert "not met: no call of the recording concerns it" == why(
        tmp_path, with_keys, refused("GET /v1/campaigns", "API_KEY_MISSING", 3, 401, key=None)
    )


def created(start: float, id: str = "campaign_1", name: str = "A", **more: Any) -> JSON:
    body = {"campaignId": id, "status": "draft"}
    return entry("POST /v1/campaigns", 201, body, at=at(start), sent=DRAFT | {"name": name}, **more)


def test_a_start_without_an_answer_may_have_taken_effect(tmp_path: Path) -> None:
    lost = entry(f"POST {C}/start", 0, at=at(2))
    missing = refused(f"POST {C}/start", "CAMPAIGN_MISSING_COMMON_VARIABLES", 3, 400)

    assert [] == clauses(judged(tmp_path, created(1), lost, missing, read(campaign("processing"), 4)))
    (found,) = judged(tmp_path, created(1), missing, read(campaign("processing"), 4)).breaches
    assert ("start.refused-changes-nothing", "no other caller, whom the recording does not show, did it") == (
        found.clause, found.assumption,
    )  # fmt: skip


def test_a_name_that_is_refused_may_be_that_of_a_lost_creation(tmp_path: Path) -> None:
    lost = entry("POST /v1/campaigns", 0, at=at(2), sent={"name": "A"})
    again = refused("POST /v1/campaigns", "CAMPAIGN_NAME_ALREADY_EXISTS", 3, 400, sent={"name": "A"})
    listings = [
        read({"campaigns": rows}, start, path="/v1/campaigns") for start, rows in ((1, []), (4, [campaign("draft")]))
    ]

    assert [] == clauses(judged(tmp_path, listings[0], lost, again, listings[1]))


def test_a_name_is_free_after_an_end_by_choice_alone(tmp_path: Path) -> None:
    ended = judged(tmp_path, created(1), read(campaign("canceled"), 2), created(3, "campaign_2"))
    unknown = judged(tmp_path, created(1), created(3, "campaign_2"))
    alive = judged(tmp_path, created(1), created(3, "campaign_2"), read(campaign("draft"), 4))

    assert ([], []) == (clauses(ended), clauses(unknown))
    assert {"campaigns.name": "name-uniqueness-scope"} == ended.excused == unknown.excused
    assert ["campaigns.name"] == clauses(alive)


def test_a_repetition_with_one_idempotency_key_may_get_one_answer(tmp_path: Path) -> None:
    start = [
        entry(
            f"POST {C}/start",
            202,
            {"executionId": "execution_1", "status": "processing"},
            at=at(second),
            headers=headers,
        )
        for second, headers in ((1, {"Idempotency-Key": "k"}), (2, {"Idempotency-Key": "k"}), (3, {}))
    ]

    assert [] == clauses(judged(tmp_path, *start[:2]))
    assert ["start.once", "base.ids"] == clauses(judged(tmp_path, *start[1:]))


def paced(sent: int, date: float, start: float) -> list[JSON]:
    """A campaign of sixty a minute that started at 12:00:00 by the service, and a read with a Date."""
    rows = [execution(0, startedAt="2026-03-01T12:00:00.000Z", completedAt=None)]
    return [read(campaign("processing", executions=rows), 0), with_date(read(execution(sent), start, path=E), date)]


def test_a_rate_is_judged_by_the_clock_of_the_service_alone(tmp_path: Path) -> None:
    """The recorder shows a second; the service's clock, which a test has moved, a minute."""
    assert [] == clauses(judged(tmp_path, *paced(61, date=60, start=1)))
    assert ["send.cadence"] == clauses(judged(tmp_path, *paced(61, date=1, start=60)))


def session(status: str, **more: Any) -> JSON:
    return {"sessionId": "session_1", "status": status, **more}


def event(start: float, **data: Any) -> JSON:
    body = {"event": "entrypoints.chatapp.connection_failed", "data": {"sessionId": "session_1", **data}}
    return entry("POST /hooks", 204, at=at(start), sent=body, key=None, address="https://me.example")


def test_an_event_proves_an_end_a_little_after_its_delivery(tmp_path: Path) -> None:
    made = entry(f"POST {SESSIONS}", 202, session("pending", url="https://x", expiresAt=at(1_201)), at=at(1))
    expired = event(10, status="expired", reason="expired")

    for second, expected in ((11, []), (13, ["session.final"])):
        pending = read(session("pending"), second, path=f"{SESSIONS}/session_1")
        assert expected == clauses(judged(tmp_path, made, expired, pending))


VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    [],
    {},
    [None],
    {"id": []},
    [[]],
    "2026-03-01T12:00:00Z",
    "9" * 400,
)


def bend_anything(value: Any, chance: random.Random) -> Any:
    """Return a JSON value of which some part has another shape."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        return value | {key: bend_anything(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], bend_anything(value[place], chance), *value[place + 1 :]]
    return chance.choice(VALUES)


@pytest.mark.law
def test_bodies_of_any_shape_are_judged_without_a_failure(life: dict[str, JSON], tmp_path: Path) -> None:
    for seed in range(at_depth(5, 300)):
        chance = random.Random(seed)
        bent = Bent(life)
        for name in chance.sample(list(life), 12):
            row = bent.entries[name]
            posted = row["request"].get("postData")
            if posted is not None and posted["text"].startswith("{"):
                posted["text"] = json.dumps(bend_anything(json.loads(posted["text"]), chance))
            if row["response"]["content"].get("text", "").startswith(("{", "[")):
                bent.reply(name, bend_anything(bent.answer(name), chance))
        report = RecordingReport(bent.recording(tmp_path))
        assert all(isinstance(line, str) for line in lines(report, ["service"]))
        json.dumps(report.as_json(["service"]))
