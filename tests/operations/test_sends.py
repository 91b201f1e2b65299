"""Sending: even pace in exact arithmetic, ceilings, counts, failures at their place, and how a campaign ends."""

from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil, floor

import pytest

from mockserver import MockServer, Sandbox
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.campaigning import (
    EXACT_NOON,
    NOON,
    counts,
    due_us,
    entry,
    messages,
    progress,
    read,
    run,
    statuses,
)

MAX_CADENCE = 2**53 - 1
PLAIN = {"id": "template_plain"}
pytestmark = pytest.mark.mockserver(now=NOON, given={"templates": [PLAIN], "chats": {"count": 9}})


def _in(sandbox: Sandbox, microseconds: int, since: datetime) -> None:
    sandbox.advance(to=since + timedelta(microseconds=microseconds))


@pytest.mark.clause("send.cadence")
@pytest.mark.parametrize("cadence", [1, 7, 11, 60, 61, 997, 4799, 4800])
@pytest.mark.parametrize("start_us", [0, 1, 333, 543])  # within the millisecond of the clock
def test_sends_are_spread_evenly_from_the_start_on_to_the_microsecond(
    mockserver: Sandbox, cadence: int, start_us: int
) -> None:
    mockserver.advance(timedelta(microseconds=start_us))
    started = mockserver.now.replace(microsecond=0)  # as startedAt shows it
    ids = run(mockserver, cadence=cadence)

    for position in range(1, 9):
        due = due_us(position, cadence)
        for neighbour in (ceil(due) - 1, ceil(due), ceil(due) + 1):
            _in(mockserver, neighbour, started)
            assert (9, position + (neighbour >= due), 0) == counts(mockserver, ids), (position, neighbour)


CEILINGS = [("chatapp", 4800), ("photoapp", 18000), ("chatapp_lite", 30)]


@pytest.mark.clause("send.cadence", "campaigns.cadence-kept")
@each_row(("platform", "ceiling"), CEILINGS)
@each_row("above", [-1, 0, 1, None])
def test_no_cadence_exceeds_the_platforms_ceiling_and_it_reads_back_as_sent(
    mockserver_server: MockServer, platform: str, ceiling: int, above: int | None
) -> None:
    cadence = MAX_CADENCE if above is None else ceiling + above
    given = {"templates": [PLAIN], "chats": {"count": 1000, "each": {"platform": platform}}}
    with mockserver_server.sandbox(now=NOON, given=given) as sandbox:
        ids = run(sandbox, platform=platform, cadence=cadence)
        last = due_us(999, min(cadence, ceiling))

        assert cadence == read(sandbox, ids[0])["cadence"]
        _in(sandbox, ceil(last) - 1, sandbox.now.replace(microsecond=0))
        assert (1000, 999, 0) == counts(sandbox, ids)
        sandbox.advance(0.000001)
        assert (1000, 1000, 0) == counts(sandbox, ids)


@pytest.mark.clause("send.cadence")
@pytest.mark.parametrize(
    ("coexistences", "platform", "ceiling"),
    [
        ([], "chatapp", 4800),
        ([True], "chatapp", 1200),
        ([True, True], "chatapp", 1200),
        ([True, False], "chatapp", 4800),
        ([True], "photoapp", 18000),
    ],
)
def test_the_coexistence_ceiling_applies_if_every_chatapp_channel_is_one(
    mockserver_server: MockServer, coexistences: list[bool], platform: str, ceiling: int
) -> None:
    entrypoints = [{"platform": "chatapp", "isCoexistence": each} for each in coexistences] + [{"platform": "photoapp"}]
    chats = {"count": 500, "each": {"platform": platform}}
    given = {"templates": [PLAIN], "chats": chats, "entrypoints": entrypoints}
    with mockserver_server.sandbox(now=NOON, given=given) as sandbox:
        ids = run(sandbox, platform=platform, cadence=MAX_CADENCE)
        sandbox.advance(seconds=1)

        assert (500, ceiling // 60 + 1, 0) == counts(sandbox, ids)


@pytest.mark.clause("send.cadence")
@pytest.mark.mockserver(now=EXACT_NOON)
def test_a_chosen_ceiling_applies_and_none_removes_it(mockserver: Sandbox) -> None:
    mockserver.choose({"throughput-ceilings": {"chatapp": 2, "chatapp_lite": None}})
    slow = run(mockserver, name="Slow", cadence=MAX_CADENCE)
    fast = run(mockserver, name="Fast", cadence=MAX_CADENCE, platform="chatapp_lite")
    mockserver.advance(0.000001)

    assert (9, 1, 0) == counts(mockserver, slow)
    assert (9, 0, 9) == counts(mockserver, fast)  # all of them processed; chatapp chats are off the lite channel
    mockserver.advance(29.999998)
    assert (9, 1, 0) == counts(mockserver, slow)
    mockserver.advance(0.000001)
    assert (9, 2, 0) == counts(mockserver, slow)


OFF_AND_ON = {"platform": ["photoapp", "chatapp", "chatapp", "botapp", "chatapp_lite", "chatapp"]}


@pytest.mark.clause("send.counts", "send.failures", "audience.platform-free")
@pytest.mark.option("audience-off-channel", "fail")
@pytest.mark.mockserver(given={"templates": [PLAIN], "chats": {"count": 6, "vary": OFF_AND_ON}})
def test_a_chat_off_the_channel_is_counted_and_fails_at_its_place(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=60)
    seen = [counts(mockserver, ids)]
    for _ in range(5):
        mockserver.advance(seconds=1)
        seen.append(counts(mockserver, ids))

    assert [(6, 0, 1), (6, 1, 1), (6, 2, 1), (6, 2, 2), (6, 2, 3), (6, 3, 3)] == seen
    assert ("completed", "completed") == statuses(mockserver, ids)


@pytest.mark.clause("send.failures", "audience.preview")
@in_force("audience-off-channel", "exclude")
@pytest.mark.mockserver(given={"templates": [PLAIN], "chats": {"count": 6, "vary": OFF_AND_ON}})
def test_chats_off_the_channel_may_be_left_out_of_the_target_and_not_of_the_preview(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=1)

    assert (3, 2, 0) == counts(mockserver, ids)
    assert {"estimatedCount": 6} == mockserver.call("POST", "/v1/campaigns/audience-preview", json={}).json()


@pytest.mark.clause("send.cadence")
@pytest.mark.mockserver(now=EXACT_NOON)
def test_the_ceiling_of_a_run_is_that_of_its_start(mockserver: Sandbox) -> None:
    mockserver.choose({"throughput-ceilings": {"chatapp": 2}})
    ids = run(mockserver, cadence=MAX_CADENCE)
    mockserver.choose({"throughput-ceilings": {"chatapp": None}})
    mockserver.advance(seconds=31)

    assert (9, 2, 0) == counts(mockserver, ids)


@pytest.mark.clause("send.failures")
@in_force("audience-off-channel", "send")
@pytest.mark.mockserver(given={"templates": [PLAIN], "chats": [{"id": "chat_photo", "platform": "photoapp"}]})
def test_chats_off_the_channel_may_be_sent_to(mockserver: Sandbox) -> None:
    ids = run(mockserver)

    assert (1, 1, 0) == counts(mockserver, ids)
    assert 1 == len(messages(mockserver, "chat_photo"))


@pytest.mark.clause("send.completed", "campaigns.detail-executions")
def test_a_campaign_completes_with_its_last_send_and_not_a_microsecond_before(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=7)
    last = Fraction(60_000_000 * 8, 7)  # 68.571428571... s
    _in(mockserver, floor(last), mockserver.now.replace(microsecond=0))

    running = entry(mockserver, ids[0])
    assert ("processing", "processing") == statuses(mockserver, ids)
    assert {
        "id": ids[1],
        "status": "processing",
        "targetCount": 9,
        "sentCount": 8,
        "failedCount": 0,
        "startedAt": "2026-03-01T12:00:00.000Z",
        "completedAt": None,
    } == running

    mockserver.advance("1h")
    assert ("completed", "completed") == statuses(mockserver, ids)
    ended = {"status": "completed", "sentCount": 9, "completedAt": "2026-03-01T12:01:08.571Z"}
    assert running | ended == entry(mockserver, ids[0])


@pytest.mark.clause("send.failed", "send.counts", "execution.read", "send.progress")
def test_an_unrecoverable_error_fails_the_campaign_immediately(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=3)

    assert "failed" == mockserver.admin.fail_campaign(ids[0])["status"]
    mockserver.advance("1h")
    assert ("failed", "failed") == statuses(mockserver, ids)
    assert {
        "id": ids[1],
        "status": "failed",
        "targetCount": 9,
        "sentCount": 4,
        "failedCount": 0,
        "progress": 44,
    } == progress(mockserver, ids)
    assert "2026-03-01T12:00:03.000Z" == entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("send.completed", "send.cadence")
def test_an_end_a_fraction_of_a_microsecond_before_a_millisecond_is_cut_not_rounded(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=2243)  # the last of nine is due 213999.1 microseconds later
    mockserver.advance(until="idle")

    assert "2026-03-01T12:00:00.214000Z" == f"{mockserver.now:%Y-%m-%dT%H:%M:%S.%f}Z"
    assert "2026-03-01T12:00:00.213Z" == entry(mockserver, ids[0])["completedAt"]
