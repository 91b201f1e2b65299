"""The preview looks and touches nothing; its number is exact, rough or remembered, and a start counts again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mockserver import Sandbox
from tests.harness.options import in_force
from tests.operations.filter_world import CREATE, NOW, PREVIEW, TEMPLATE, alone, estimated, statement, targets

OPEN = alone(statement("chat.status", "equals", "open"))
THREE = {"templates": [TEMPLATE], "chats": {"count": 3}}
MANY = {"templates": [TEMPLATE], "chats": {"count": 400, "vary": {"monetization": list(range(100))}}}


def below(amount: int) -> list[dict[str, Any]]:
    return alone(statement("chat.monetization", "less-than", amount))


@pytest.mark.clause("audience.preview")
@pytest.mark.mockserver(given=THREE, now=NOW)
def test_a_preview_makes_no_campaign_and_sends_nothing(mockserver: Sandbox) -> None:
    before = mockserver.state()

    reply = mockserver.call("POST", PREVIEW, json={"filters": OPEN})

    assert (200, {"estimatedCount": 3}) == (reply.status, reply.json())
    assert before == mockserver.state()
    assert [] == mockserver.call("GET", CREATE).json()["campaigns"]
    assert [] == mockserver.advance(hours=1)
    assert [] == mockserver.log.journal["transitions"]


@pytest.mark.clause("audience.preview", "audience.same-filters")
@pytest.mark.option("estimated-count-exactness", "exact")
@pytest.mark.mockserver(given=THREE, now=NOW)
def test_the_target_is_the_estimate_unless_chats_change_between(mockserver: Sandbox) -> None:
    assert 3 == estimated(mockserver, OPEN)
    with mockserver.checkpoint():
        assert 3 == len(targets(mockserver, OPEN))

    mockserver.apply({"given": {"chats": [{"id": "chat_late"}, {"status": "closed"}]}})

    assert ["chat_late"] == targets(mockserver, OPEN)[3:]
    assert 4 == estimated(mockserver, OPEN)


@pytest.mark.mockserver(given={**THREE, "chats": {"count": 40, "vary": {"status": ["open", "closed"]}}}, now=NOW)
def test_chats_that_are_added_to_a_pattern_are_in_the_next_preview(mockserver: Sandbox) -> None:
    assert 20 == estimated(mockserver, OPEN)

    mockserver.apply({"given": {"chats": [{"id": "chat_new"}]}})
    mockserver.apply({"given": {"chats": {"count": 3, "vary": {"status": ["open", "closed"]}}}})

    assert 23 == estimated(mockserver, OPEN) == len(targets(mockserver, OPEN))


@pytest.mark.clause("audience.preview")
@in_force("estimated-count-exactness", "rough")
@pytest.mark.mockserver(given=MANY, now=NOW)
def test_a_rough_estimate_is_at_most_five_per_cent_off_and_sometimes_is(mockserver: Sandbox) -> None:
    counted = {amount: estimated(mockserver, below(amount)) for amount in range(101)}

    assert [] == [(amount, found) for amount, found in counted.items() if abs(found - 4 * amount) > 0.05 * 4 * amount]
    assert any(found != 4 * amount for amount, found in counted.items())
    assert counted == {amount: estimated(mockserver, below(amount)) for amount in range(101)}
    assert 200 == len(targets(mockserver, below(50)))


@pytest.mark.clause("audience.preview")
@in_force("estimated-count-exactness", "cached")
@pytest.mark.mockserver(given=THREE, now=NOW)
def test_a_cached_estimate_lags_behind_the_chats_for_a_minute_and_a_start_does_not(mockserver: Sandbox) -> None:
    assert 3 == estimated(mockserver, OPEN)
    mockserver.apply({"given": {"chats": [{"id": "chat_late"}]}})

    assert 4 == estimated(mockserver, [])
    assert 4 == len(targets(mockserver, OPEN))
    mockserver.advance(timedelta(minutes=1, microseconds=-1))
    assert 3 == estimated(mockserver, OPEN)
    mockserver.advance(timedelta(microseconds=1))
    assert 4 == estimated(mockserver, OPEN)


@pytest.mark.clause("filters.semantics")
@pytest.mark.mockserver(
    given={
        "chats": [
            {"id": "chat_a"},
            {"id": "chat_b", "lastMessageAt": "2026-02-01T10:00:00Z"},
            {"id": "chat_c", "lastMessageAt": "2026-02-20T10:00:00Z"},
            {"id": "chat_d"},
        ],
        "messages": [
            {"chatId": "chat_a", "createdAt": "2026-02-10T10:00:00Z"},
            {"chatId": "chat_a", "createdAt": "2026-02-09T10:00:00Z"},
            {"chatId": "chat_b", "createdAt": "2026-02-10T10:00:00.000900Z"},
            {"chatId": "chat_c", "createdAt": "2026-02-10T10:00:00Z"},
        ],
    }
)
def test_the_last_message_of_a_chat_is_no_older_than_its_messages(mockserver: Sandbox) -> None:
    day = "2026-02-{:02}T10:00:00Z".format

    def since(number: int) -> int:
        made = statement("chat.virtual.lastMessageAt", "greater-than-or-equal", day(number))
        return estimated(mockserver, alone(made))

    counts = [since(number) for number in (9, 10, 11, 20, 21)]
    with mockserver.checkpoint():
        mockserver.apply({"given": {"messages": [{"chatId": "chat_d", "createdAt": day(25)}]}})
        moved = since(21)

    assert ([3, 3, 1, 1, 0], 1, 0) == (counts, moved, since(21))
