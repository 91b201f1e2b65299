"""Choices that a recording shows: never another option than that of the service, and no guess where it shows none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.judge.choices.learning import NOT_LEARNT, LearnedChoice, learn
from mockserver.trace.reading import read_recording
from tests.depth import at_depth
from tests.harness.rows import each_row
from tests.recordings.hars import entry, write
from tests.recordings.random_lives import life_of_two, random_profile
from tests.recordings.tour import toured

OPTIONS = [
    pytest.param(id, option, id=f"{id}={option}")
    for id, choice in CHOICES.items()
    if id not in NOT_LEARNT
    for option in choice.options
]
# Of the options that the tour does not settle, those that remain; all others are not shown.
IN_SETS: Mapping[tuple[str, str], set[str]] = {
    ("name-uniqueness-scope", "exact"): {"exact", "free-when-ended"},
    ("name-uniqueness-scope", "case-insensitive"): {"exact", "case-insensitive", "free-when-ended"},
    ("name-uniqueness-scope", "trimmed"): {"exact", "trimmed", "free-when-ended"},
    ("common-vars-extra-keys", "ignore"): {"ignore", "fail-sends"},
    ("common-vars-extra-keys", "fail-sends"): {"ignore", "fail-sends"},
    ("date-only-and-naive", "midnight-utc"): {"midnight-utc", "midnight-brazil"},
    ("date-only-and-naive", "midnight-brazil"): {"midnight-utc", "midnight-brazil"},
    ("group-no-statements", "vacuous"): {"vacuous", "ignore"},
    ("group-no-statements", "ignore"): {"vacuous", "ignore"},
    ("wh-idempotency", "same-per-event"): {"same-per-event", "new-per-try"},
    ("wh-idempotency", "new-per-try"): {"same-per-event", "new-per-try"},
}
NOT_IN_TOUR = {"subscription-scope", "rate-limit-headers"}  # which need a limit of requests or an inactive subscription
NOT_IN_TOUR_BY_OPTION = {
        ("cross-tenant-code", "not-found"), ("progress-zero-target", "zero"),
    ("progress-zero-target", "hundred"), ("message-required-fields", "text-always"), ("funnel-checked-when", "completion"),
    ("unapproved-template", "not-found"),
}  # fmt: skip


def wrong(learnt: tuple[LearnedChoice, ...], chosen: Mapping[str, object]) -> list[str]:
    """Return the choices that are taken for others, or for contradicted."""
    actual = {id: chosen.get(id, choice.default) for id, choice in CHOICES.items()}
    return [
        row.id for row in learnt if row.state == "contradicted" or (row.options and actual[row.id] not in row.options)
    ]


@pytest.mark.law
@each_row("seed", range(at_depth(5, 200)))
def test_no_option_of_the_service_is_excluded(mockserver_server: MockServer, tmp_path: Path, seed: int) -> None:
    assert [] == wrong(learn(life_of_two(mockserver_server, tmp_path, seed)), random_profile(Random(seed)))


@pytest.mark.deep
@pytest.mark.parametrize(("id", "option"), OPTIONS)
def test_each_option_is_settled_or_in_a_set_or_not_shown(
    mockserver_server: MockServer, tmp_path: Path, id: str, option: str
) -> None:
    learnt = learn(toured(mockserver_server, {id: option}, tmp_path))
    row = next(row for row in learnt if row.id == id)

    assert [] == wrong(learnt, {id: option})
    if id in NOT_IN_TOUR or (id, option) in NOT_IN_TOUR_BY_OPTION:
        assert "not-shown" == row.state
    else:
        assert IN_SETS.get((id, option), {option}) == set(row.options)


def test_each_choice_is_shown_by_a_tour_or_by_other_traffic_or_has_a_reason(
    mockserver_server: MockServer, tmp_path: Path
) -> None:
    """A new choice fails this, until traffic shows it or a reason why none can is written."""
    learnt = learn(toured(mockserver_server, {}, tmp_path))
    shown = {row.id for row in learnt if row.state != "not-shown"}
    defaults = {(id, str(choice.default)) for id, choice in CHOICES.items()}
    others = NOT_IN_TOUR | {id for id, _ in NOT_IN_TOUR_BY_OPTION & defaults}

    assert {"settled": 51, "set": 3, "not-shown": 35} == Counter(row.state for row in learnt)
    assert [] == wrong(learnt, {})
    assert set() == shown & others | shown & {*NOT_LEARNT} | others & {*NOT_LEARNT}
    assert {*CHOICES} == shown | others | {*NOT_LEARNT}


def learnt_from(folder: Path, *rows: JSON) -> dict[str, LearnedChoice]:
    return {row.id: row for row in learn(read_recording(write(folder, *rows)))}


def refused(call: str, status: int, code: str, second: int = 0, **more: Any) -> JSON:
    body = {"statusCode": status, "code": code, "message": ""}
    return entry(call, status, body, at=f"2026-03-01T12:00:{second:02}Z", **more)


def test_answers_that_contradict_each_other_are_cited(tmp_path: Path) -> None:
    rows = [refused("GET /v1/campaigns/c", 404, "CAMPAIGN_NOT_FOUND")]
    rows += [
        refused("POST /v1/campaigns/c/start", status, "CAMPAIGN_MISSING_COMMON_VARIABLES", 1) for status in (400, 422)
    ]
    row = learnt_from(tmp_path, *rows)["dual-status"]

    assert ("contradicted", (), (2, 3)) == (row.state, row.options, row.exchanges)
    assert "the answers contradict each other" == row.why


CREATED = entry(
    "POST /v1/campaigns", 201, {"campaignId": "c", "status": "draft"},
    sent={"name": "x", "platform": "chatapp", "templateId": "t", "cadence": 1},
)  # fmt: skip
DETAIL = {
    "id": "c",
    "name": "x",
    "status": "canceled",
    "platform": "chatapp",
    "templateId": "t",
    "cadence": 1,
    "executions": [],
}


def canceled(second: int) -> JSON:
    return entry("POST /v1/campaigns/c/cancel", 204, at=f"2026-03-01T12:00:{second:02}Z")


def read(second: int, time: int = 5) -> JSON:
    return entry("GET /v1/campaigns/c", 200, DETAIL, at=f"2026-03-01T12:00:{second:02}Z", time=time)


AGAIN = refused("POST /v1/campaigns/c/cancel", 422, "UNPROCESSABLE_REQUEST", 3)


def test_calls_that_overlap_show_nothing_of_a_status(tmp_path: Path) -> None:
    assert ("unprocessable",) == learnt_from(tmp_path, CREATED, read(2), AGAIN)["repeat-cancel"].options
    assert () == learnt_from(tmp_path, CREATED, read(2, time=5_000), AGAIN)["repeat-cancel"].options


@pytest.mark.parametrize(("count", "options"), [(9, ("newest-first", "shuffled")), (10, ("newest-first",))])
def test_a_short_list_may_be_in_order_by_chance(tmp_path: Path, count: int, options: tuple[str, ...]) -> None:
    rows = [
        {"id": str(n), "name": "", "description": None, "isOfficial": False, "createdAt": f"2026-01-{30 - n}T12:00:00.000Z",
         "updatedAt": "2026-02-01T12:00:00.000Z"}
        for n in range(count)
    ]  # fmt: skip

    assert (
        options
        == learnt_from(tmp_path, entry("GET /v1/message-templates", 200, {"templates": rows}))["list-order"].options
    )


@pytest.mark.parametrize(
    ("header", "value", "option"),
    [
        ("Retry-After", "7", "seconds"), ("Retry-After", "Sun, 01 Mar 2026 13:00:00 GMT", "http-date"),
        ("Retry-After", "soon", "garbage"), ("RateLimit", '"default";r=0;t=7', "draft-fields"), ("Date", "x", "none"),
    ],
)  # fmt: skip
def test_a_429_shows_where_the_wait_is(tmp_path: Path, header: str, value: str, option: str) -> None:
    limited = refused("GET /v1/campaigns", 429, "RATE_LIMIT_EXCEEDED")
    limited["response"]["headers"].append({"name": header, "value": value})

    assert (option,) == learnt_from(tmp_path, limited)["rate-limit-headers"].options
